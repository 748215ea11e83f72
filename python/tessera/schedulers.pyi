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
    """A boundary between cores for tenants with a target and cores for others moves as targets are met."""

    slack: float | None
    """a step that takes less than this fraction of its target has time to spare; number, 0 to 1; default: 0.8"""
    patience: int | None
    """consecutive steps with time to spare after which others get one more core; integer, 1 to 1000000; default: 32"""
    def __init__(
        self,
        *,
        slack: float | None = ...,
        patience: int | None = ...,
    ) -> None: ...

class FirstCome(Scheduler):
    """Everything that is ready begins at once on all cores."""

    def __init__(
        self,
    ) -> None: ...

class Spatial(Scheduler):
    """Each tenant has its own cores (tenants.cores)."""

    def __init__(
        self,
    ) -> None: ...

class SpatialSplit(Scheduler):
    """Cores are divided evenly among tenants that have work, layer by layer."""

    def __init__(
        self,
    ) -> None: ...

class TimeSharing(Scheduler):
    """One layer of one tenant at a time, on all cores, in turn."""

    def __init__(
        self,
    ) -> None: ...
