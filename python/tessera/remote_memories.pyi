"""Memories of servers and pools.

Written by scripts/python_stubs.py from what the program declares; do not edit.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from .sections import Section

SwitchesLevels = TypedDict("SwitchesLevels", {"members": int, "bandwidth": str}, total=False)

class RemoteMemory(Section):
    """memory of servers and pools"""

class Hierarchical(RemoteMemory):
    """A memory pool behind switches outside the servers and one switch in each server (ASTRA-sim 2.0)."""

    nodes: int
    """number of servers; integer, 1 to 1000000000"""
    npus: int
    """NPUs of a server; integer, 1 to 1000000000"""
    switches: int
    """switches outside the servers; integer, 1 to 1000000000"""
    groups: int
    """number of memories; integer, 1 to 1000000000"""
    memory_bandwidth: str
    """bandwidth from a memory to a switch; bandwidth, at least 1 B/s"""
    node_bandwidth: str
    """bandwidth from a switch to a server; bandwidth, at least 1 B/s"""
    npu_bandwidth: str
    """bandwidth from the switch of a server to an NPU; bandwidth, at least 1 B/s"""
    latency: str | None
    """latency of the first byte; time, at least 0 ps; default: 0 ps"""
    chunk: str | None
    """unit in which tensors are forwarded; size, at least 1 B; default: 4 KiB"""
    group_bandwidth: str | None
    """bandwidth from a memory to all switches together; none: no limit; bandwidth, at least 1 B/s; default: none"""
    def __init__(
        self,
        *,
        nodes: int,
        npus: int,
        switches: int,
        groups: int,
        memory_bandwidth: str,
        node_bandwidth: str,
        npu_bandwidth: str,
        latency: str | None = ...,
        chunk: str | None = ...,
        group_bandwidth: str | None = ...,
    ) -> None: ...

class Mesh(RemoteMemory):
    """NPUs and as many memories, in pairs, on a mesh."""

    rows: int
    """rows of the mesh; integer, 1 to 1000000000"""
    columns: int
    """columns of the mesh; integer, 1 to 1000000000"""
    bandwidth: str
    """bandwidth of a link, in each direction; bandwidth, at least 1 B/s"""
    latency: str | None
    """latency of the first byte; time, at least 0 ps; default: 0 ps"""
    chunk: str | None
    """unit in which tensors are forwarded; size, at least 1 B; default: 4 KiB"""
    def __init__(
        self,
        *,
        rows: int,
        columns: int,
        bandwidth: str,
        latency: str | None = ...,
        chunk: str | None = ...,
    ) -> None: ...

class PerNode(RemoteMemory):
    """One memory for the NPUs of each server, which share its bandwidth."""

    npus: int
    """NPUs of a server; integer, 1 to 1000000000"""
    bandwidth: str
    """bandwidth of the memory; bandwidth, at least 1 B/s"""
    latency: str | None
    """latency of the first byte; time, at least 0 ps; default: 0 ps"""
    def __init__(
        self,
        *,
        npus: int,
        bandwidth: str,
        latency: str | None = ...,
    ) -> None: ...

class PerNpu(RemoteMemory):
    """A separate memory for each NPU, behind a link."""

    bandwidth: str
    """bandwidth of the link; bandwidth, at least 1 B/s"""
    latency: str | None
    """latency of the first byte; time, at least 0 ps; default: 0 ps"""
    def __init__(
        self,
        *,
        bandwidth: str,
        latency: str | None = ...,
    ) -> None: ...

class Ring(RemoteMemory):
    """NPUs and as many memories, in pairs, on a ring."""

    npus: int
    """NPUs on the ring; integer, 1 to 1000000000"""
    bandwidth: str
    """bandwidth of a link, in each direction; bandwidth, at least 1 B/s"""
    latency: str | None
    """latency of the first byte; time, at least 0 ps; default: 0 ps"""
    chunk: str | None
    """unit in which tensors are forwarded; size, at least 1 B; default: 4 KiB"""
    def __init__(
        self,
        *,
        npus: int,
        bandwidth: str,
        latency: str | None = ...,
        chunk: str | None = ...,
    ) -> None: ...

class Switches(RemoteMemory):
    """A tree of switches, with all memory at its root."""

    levels: Sequence[SwitchesLevels]
    """[{members, bandwidth}, …], from the NPUs up; list"""
    latency: str | None
    """latency of the first byte; time, at least 0 ps; default: 0 ps"""
    chunk: str | None
    """unit in which tensors are forwarded; size, at least 1 B; default: 4 KiB"""
    def __init__(
        self,
        *,
        levels: Sequence[SwitchesLevels],
        latency: str | None = ...,
        chunk: str | None = ...,
    ) -> None: ...
