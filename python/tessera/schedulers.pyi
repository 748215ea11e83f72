"""How tenants of served work share cores.

Written by scripts/python_stubs.py from what the program declares; do not edit.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from .sections import Section

class Scheduler(Section):
    """how served models share cores"""

class Deadline(Scheduler):
    """A border between cores for tenants with a target and others moves as targets are kept."""

    slack: float | None
    """a step below this part of its target has room to spare; number, 0 to 1; default: 0.8"""
    patience: int | None
    """steps with room to spare after which others get one more core; integer, 1 to 1000000; default: 32"""
    def __init__(
        self,
        *,
        slack: float | None = ...,
        patience: int | None = ...,
    ) -> None: ...

class FirstCome(Scheduler):
    """All that is ready begins at once on all cores."""

    def __init__(
        self,
    ) -> None: ...

class Spatial(Scheduler):
    """Each tenant has cores of its own (tenants.cores)."""

    def __init__(
        self,
    ) -> None: ...

class SpatialSplit(Scheduler):
    """Cores are shared out evenly to tenants that have work, layer by layer."""

    def __init__(
        self,
    ) -> None: ...

class TimeSharing(Scheduler):
    """A layer of one tenant at a time, on all cores, in turn."""

    def __init__(
        self,
    ) -> None: ...
