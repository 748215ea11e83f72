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
    """A pool behind switches outside of nodes and one in each node (ASTRA-sim 2.0)."""

    nodes: int
    """servers; integer, 1 to 1000000000"""
    npus: int
    """of a server; integer, 1 to 1000000000"""
    switches: int
    """outside of nodes; integer, 1 to 1000000000"""
    groups: int
    """memories; integer, 1 to 1000000000"""
    memory_bandwidth: str
    """from a memory to a switch; bandwidth, at least 1 B/s"""
    node_bandwidth: str
    """from a switch to a node; bandwidth, at least 1 B/s"""
    npu_bandwidth: str
    """from the switch of a node to an NPU; bandwidth, at least 1 B/s"""
    latency: str | None
    """of the first byte; time, at least 0 ps; default: 0 ps"""
    chunk: str | None
    """unit in which tensors are passed on; size, at least 1 B; default: 4 KiB"""
    group_bandwidth: str | None
    """of a memory to all switches together; absent: no limit; bandwidth, at least 1 B/s; default: none"""
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
    """of the mesh; integer, 1 to 1000000000"""
    columns: int
    """of the mesh; integer, 1 to 1000000000"""
    bandwidth: str
    """of a link, each way; bandwidth, at least 1 B/s"""
    latency: str | None
    """of the first byte; time, at least 0 ps; default: 0 ps"""
    chunk: str | None
    """unit in which tensors are passed on; size, at least 1 B; default: 4 KiB"""
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
    """A memory for the NPUs of a server, which share its bandwidth."""

    npus: int
    """of a server; integer, 1 to 1000000000"""
    bandwidth: str
    """of the memory; bandwidth, at least 1 B/s"""
    latency: str | None
    """of the first byte; time, at least 0 ps; default: 0 ps"""
    def __init__(
        self,
        *,
        npus: int,
        bandwidth: str,
        latency: str | None = ...,
    ) -> None: ...

class PerNpu(RemoteMemory):
    """A memory of each NPU's own, behind a link."""

    bandwidth: str
    """of the link; bandwidth, at least 1 B/s"""
    latency: str | None
    """of the first byte; time, at least 0 ps; default: 0 ps"""
    def __init__(
        self,
        *,
        bandwidth: str,
        latency: str | None = ...,
    ) -> None: ...

class Ring(RemoteMemory):
    """NPUs and as many memories, in pairs, on a ring."""

    npus: int
    """on the ring; integer, 1 to 1000000000"""
    bandwidth: str
    """of a link, each way; bandwidth, at least 1 B/s"""
    latency: str | None
    """of the first byte; time, at least 0 ps; default: 0 ps"""
    chunk: str | None
    """unit in which tensors are passed on; size, at least 1 B; default: 4 KiB"""
    def __init__(
        self,
        *,
        npus: int,
        bandwidth: str,
        latency: str | None = ...,
        chunk: str | None = ...,
    ) -> None: ...

class Switches(RemoteMemory):
    """A tree of switches with all memory at its root."""

    levels: Sequence[SwitchesLevels]
    """[{members, bandwidth}, …], from the NPUs up; list"""
    latency: str | None
    """of the first byte; time, at least 0 ps; default: 0 ps"""
    chunk: str | None
    """unit in which tensors are passed on; size, at least 1 B; default: 4 KiB"""
    def __init__(
        self,
        *,
        levels: Sequence[SwitchesLevels],
        latency: str | None = ...,
        chunk: str | None = ...,
    ) -> None: ...
