"""Requests to a served model: what is asked, and when.

Written by scripts/python_stubs.py from what the program declares; do not edit.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from .sections import Section

ClosedPrefix = TypedDict("ClosedPrefix", {"tokens": int, "count": int}, total=False)

FixedPrefix = TypedDict("FixedPrefix", {"tokens": int, "count": int}, total=False)

ListList = TypedDict("ListList", {"at": str, "prompt": int, "generate": int, "prefix": str | int | float, "prefix_tokens": int, "samples": int}, total=False)

PoissonPrefix = TypedDict("PoissonPrefix", {"tokens": int, "count": int}, total=False)

class Requests(Section):
    """kind of arrivals, with its keys beside"""

class Closed(Requests):
    """Clients that each ask again when they have been served."""

    count: int | None
    """requests; none for a tenant in the background; integer, 1 to 10000000"""
    clients: int | None
    """requests under way at a time; integer, 1 to 1048576; default: 1"""
    prompt: Any | None
    """tokens of a prompt: a number, or [LEAST, MOST]; integer or range"""
    generate: Any | None
    """tokens to generate: a number, or [LEAST, MOST]; integer or range"""
    prefix: ClosedPrefix | None
    samples: Any | None
    """of models that are no language models; integer or range; default: 1"""
    def __init__(
        self,
        *,
        count: int | None = ...,
        clients: int | None = ...,
        prompt: Any | None = ...,
        generate: Any | None = ...,
        prefix: ClosedPrefix | None = ...,
        samples: Any | None = ...,
    ) -> None: ...

class Fixed(Requests):
    """One request after the other at even times."""

    count: int
    """requests; integer, 1 to 10000000"""
    interval: str | None
    """between two of them; time; default: 0 ps"""
    begin: str | None
    """arrival of the first; time; default: 0 ps"""
    prompt: Any | None
    """tokens of a prompt: a number, or [LEAST, MOST]; integer or range"""
    generate: Any | None
    """tokens to generate: a number, or [LEAST, MOST]; integer or range"""
    prefix: FixedPrefix | None
    samples: Any | None
    """of models that are no language models; integer or range; default: 1"""
    def __init__(
        self,
        *,
        count: int,
        interval: str | None = ...,
        begin: str | None = ...,
        prompt: Any | None = ...,
        generate: Any | None = ...,
        prefix: FixedPrefix | None = ...,
        samples: Any | None = ...,
    ) -> None: ...

class List(Requests):
    """Each request as given."""

    list: Sequence[ListList] | str | PathLike[str]
    """requests, or a CSV, YAML or JSON file of them; list"""
    def __init__(
        self,
        *,
        list: Sequence[ListList] | str | PathLike[str],
    ) -> None: ...

class Poisson(Requests):
    """Requests that arrive independently of each other."""

    count: int
    """requests; integer, 1 to 10000000"""
    rate: float
    """requests a second, on average; number, 0.001 to 1e+09"""
    prompt: Any | None
    """tokens of a prompt: a number, or [LEAST, MOST]; integer or range"""
    generate: Any | None
    """tokens to generate: a number, or [LEAST, MOST]; integer or range"""
    prefix: PoissonPrefix | None
    samples: Any | None
    """of models that are no language models; integer or range; default: 1"""
    def __init__(
        self,
        *,
        count: int,
        rate: float,
        prompt: Any | None = ...,
        generate: Any | None = ...,
        prefix: PoissonPrefix | None = ...,
        samples: Any | None = ...,
    ) -> None: ...
