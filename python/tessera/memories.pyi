"""Models of how memory is accessed.

Written by scripts/python_stubs.py from what the program declares; do not edit.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from .sections import Section

class Memory(Section):
    """how memory is accessed"""

class Bandwidth(Memory):
    """Latency + size / bandwidth for each access, nothing shared."""

    def __init__(
        self,
    ) -> None: ...

class Channel(Memory):
    """DRAM channels at nodes, shared by the tiles around them; data crosses the network."""

    burst: str | None
    """an access is served and transferred in bursts of this size; size, at least 1 B; default: 64 KiB"""
    max_bursts: int | None
    """maximum number of bursts per access; larger accesses use larger bursts; integer, 1 to 1000000; default: 16"""
    request: str | None
    """size of a read request or write acknowledgement on the network; size, 0 B to 1 MiB; default: 64 B"""
    arbitration: Literal["first-come", "fair", "fair-tenants"] | None
    """order of the bursts that wait for a channel; fair: equal shares of its bytes for the requesting tiles; fair-tenants: equal shares for their tenants; name, one of first-come, fair, fair-tenants; default: first-come"""
    def __init__(
        self,
        *,
        burst: str | None = ...,
        max_bursts: int | None = ...,
        request: str | None = ...,
        arbitration: Literal["first-come", "fair", "fair-tenants"] | None = ...,
    ) -> None: ...

class Dram(Memory):
    """DRAM with banks, rows, timing and refresh at nodes, shared by tiles; data crosses the network."""

    transfer: str | None
    """an access is split into messages at multiples of this size; size, 1 B to 256 KiB; default: 4 KiB"""
    window: str | None
    """maximum number of bytes in flight per tile; size, at least 1 B; default: 64 KiB, a transfer at least"""
    request: str | None
    """size of a read request or write acknowledgement on the network; size, 0 B to 1 MiB; default: 64 B"""
    latency: str | None
    """latency of a message between network and controller; time, at least 0 ps; default: 0 ps"""
    port: str | None
    """rate at which a channel accepts bursts, from requesters in turn; 0 B/s: in order of arrival, without delay; bandwidth; default: 0 B/s"""
    spread: Literal["nearest", "all"] | None
    """nearest, or all: addresses are spread over all memories of the machine; name, one of nearest, all; default: nearest"""
    memories: Mapping[str, Any] | None
    """device at nodes of kind memory, with the keys of a device; none: the same device as at other nodes; mapping; default: none"""
    preset: str | None
    """the device, see `tessera list dram-presets`; name; default: HBM2"""
    channels: int | None
    """channels, each with its own controller; integer, 1 to 4096; default: from the preset"""
    pseudo_channels: int | None
    """data buses of a channel, which share its command bus; integer, 1 to 64; default: from the preset"""
    ranks: int | None
    """ranks of a pseudo-channel; integer, 1 to 64; default: from the preset"""
    groups: int | None
    """bank groups of a rank; integer, 1 to 64; default: from the preset"""
    banks: int | None
    """banks of a group; integer, 1 to 64; default: from the preset"""
    rows: int | None
    """rows of a bank; integer, 1 to 2147483648; default: from the preset"""
    row_bursts: int | None
    """bursts of a row; integer, 1 to 1048576; default: from the preset"""
    access: str | None
    """bytes of a burst: the access granularity; size, 1 B to 4 KiB; default: from the preset"""
    clock: str | None
    """command clock; frequency, 1 Hz to 1 THz; default: from the preset"""
    timing: Mapping[str, Any] | None
    """timing constraints in cycles: BL, tCL, tCWL, tRCDRD, tRCDWR, tRP, tRAS, …; mapping; default: from the preset"""
    refresh: bool | None
    """whether ranks are refreshed, each once per tREFI; boolean; default: true"""
    scheduler: str | None
    """oldest-ready or bank-queues; name; default: oldest-ready"""
    page: Literal["open", "closed", "strict"] | None
    """open; closed: a row for which no request waits is closed at once; strict: every row is closed by the request that opened it; name, one of open, closed, strict; default: open"""
    commands: int | None
    """commands per cycle; 2: one for rows and one for columns; integer, 1 to 2; default: from the preset"""
    mapping: Sequence[str] | None
    """fields of an address, from the highest; list of name; default: from the preset"""
    hash: Literal["none", "ipoly"] | None
    """none, or ipoly: pseudo-random channels; name, one of none, ipoly; default: none"""
    read_queue: int | None
    """reads that a channel can queue; integer, 1 to 1048576; default: 64"""
    write_queue: int | None
    """writes that a channel can queue; integer, 1 to 1048576; default: 64"""
    bank_queue: int | None
    """requests that a bank can queue, with bank-queues; integer, 1 to 1024; default: 8"""
    write_high: int | None
    """number of queued writes at which writing begins; integer, 1 to 1048576; default: 4/5 of write_queue"""
    write_low: int | None
    """number of queued writes at which writing ends; integer, 0 to 1048576; default: 1/4 of write_high"""
    def __init__(
        self,
        *,
        transfer: str | None = ...,
        window: str | None = ...,
        request: str | None = ...,
        latency: str | None = ...,
        port: str | None = ...,
        spread: Literal["nearest", "all"] | None = ...,
        memories: Mapping[str, Any] | None = ...,
        preset: str | None = ...,
        channels: int | None = ...,
        pseudo_channels: int | None = ...,
        ranks: int | None = ...,
        groups: int | None = ...,
        banks: int | None = ...,
        rows: int | None = ...,
        row_bursts: int | None = ...,
        access: str | None = ...,
        clock: str | None = ...,
        timing: Mapping[str, Any] | None = ...,
        refresh: bool | None = ...,
        scheduler: str | None = ...,
        page: Literal["open", "closed", "strict"] | None = ...,
        commands: int | None = ...,
        mapping: Sequence[str] | None = ...,
        hash: Literal["none", "ipoly"] | None = ...,
        read_queue: int | None = ...,
        write_queue: int | None = ...,
        bank_queue: int | None = ...,
        write_high: int | None = ...,
        write_low: int | None = ...,
    ) -> None: ...
