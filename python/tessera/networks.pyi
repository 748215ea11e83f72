"""Models of how messages travel.

Written by scripts/python_stubs.py from what the program declares; do not edit.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from .sections import Section

class Network(Section):
    """how messages travel"""

class Analytical(Network):
    """Hops * latency + size / bandwidth for each message, no contention."""

    routing: str | None
    """xy, yx (dimension order, grids only), cluster (clusters only), stack (stacks only), hierarchy (graphs of templates), given (graphs with routes), ecmp (shortest, spread) or shortest (smallest latency); name; default: as the topology says"""
    message_overhead: str | None
    """time that a message takes at its ends beyond that on the links, which it does not hold; time, at least 0 ps; default: 0 ps"""
    collective_overhead: str | None
    """time that every member of a collective takes before its first message; time, at least 0 ps; default: 0 ps"""
    collective_member_overhead: str | None
    """the same for each member of the group: what a framework does to lists with an entry a member; time, at least 0 ps; default: 0 ps"""
    collective_fill: str | None
    """at which the part of a member (the vector over the group's size) goes once more in each all-reduce, reduce-scatter and all-gather: a step of a library's loops that no other is beside; 0 B/s: none; bandwidth; default: 0 B/s"""
    library: Literal["none", "nccl"] | None
    """none: collectives are the algorithms that are named, step by step; nccl: all-reduces, all-gathers and reduce-scatters as NCCL chooses them by size, ranks and servers: of plans with aggregation with its algorithm, protocol and latency, of graphs rings or trees, simulated, or where switches add up with its time; name, one of none, nccl; default: none"""
    nvswitch_generation: int | None
    """of the servers' switches, for library: nccl: with the third (H100) or a later one accelerators are taken for Hopper and the switches add up what they send (NVLink SHARP); before it, for Ampere; integer, 1 to 16; default: 2"""
    nvls: bool | None
    """with library: nccl: whether it takes NVLS and NVLSTree, where switches in servers add up (nvswitch_generation); NCCL before 2.17, or with NCCL_NVLS_ENABLE=0, does not; boolean; default: true"""
    message_tick: str | None
    """times of messages on links are cut to a multiple of it (1 ns: as ASTRA-sim 2.0); time, at least 1 ps; default: 1 ps"""
    ports: Literal["free", "shared"] | None
    """free: messages share nothing; shared: those that leave a node by one link go one after the other, and so do those that come in by one. By topology: shared on clusters, else free; name, one of free, shared; default: by topology"""
    def __init__(
        self,
        *,
        routing: str | None = ...,
        message_overhead: str | None = ...,
        collective_overhead: str | None = ...,
        collective_member_overhead: str | None = ...,
        collective_fill: str | None = ...,
        library: Literal["none", "nccl"] | None = ...,
        nvswitch_generation: int | None = ...,
        nvls: bool | None = ...,
        message_tick: str | None = ...,
        ports: Literal["free", "shared"] | None = ...,
    ) -> None: ...

class Crossbar(Network):
    """One ideal switch: latency, and a bandwidth of each node's port that its messages share."""

    routing: str | None
    """xy, yx (dimension order, grids only), cluster (clusters only), stack (stacks only), hierarchy (graphs of templates), given (graphs with routes), ecmp (shortest, spread) or shortest (smallest latency); name; default: as the topology says"""
    message_overhead: str | None
    """time that a message takes at its ends beyond that on the links, which it does not hold; time, at least 0 ps; default: 0 ps"""
    collective_overhead: str | None
    """time that every member of a collective takes before its first message; time, at least 0 ps; default: 0 ps"""
    collective_member_overhead: str | None
    """the same for each member of the group: what a framework does to lists with an entry a member; time, at least 0 ps; default: 0 ps"""
    collective_fill: str | None
    """at which the part of a member (the vector over the group's size) goes once more in each all-reduce, reduce-scatter and all-gather: a step of a library's loops that no other is beside; 0 B/s: none; bandwidth; default: 0 B/s"""
    library: Literal["none", "nccl"] | None
    """none: collectives are the algorithms that are named, step by step; nccl: all-reduces, all-gathers and reduce-scatters as NCCL chooses them by size, ranks and servers: of plans with aggregation with its algorithm, protocol and latency, of graphs rings or trees, simulated, or where switches add up with its time; name, one of none, nccl; default: none"""
    nvswitch_generation: int | None
    """of the servers' switches, for library: nccl: with the third (H100) or a later one accelerators are taken for Hopper and the switches add up what they send (NVLink SHARP); before it, for Ampere; integer, 1 to 16; default: 2"""
    nvls: bool | None
    """with library: nccl: whether it takes NVLS and NVLSTree, where switches in servers add up (nvswitch_generation); NCCL before 2.17, or with NCCL_NVLS_ENABLE=0, does not; boolean; default: true"""
    port_bandwidth: str | None
    """of a node's port, each way; bandwidth, at least 1 B/s; default: of the fastest link"""
    port_latency: str | None
    """of the switch; it is the lookahead; time, at least 1 ps; default: of the fastest link"""
    packet_size: str | None
    """payload of a packet; smaller ones share ports more evenly; size, at least 1 B; default: 4 KiB"""
    def __init__(
        self,
        *,
        routing: str | None = ...,
        message_overhead: str | None = ...,
        collective_overhead: str | None = ...,
        collective_member_overhead: str | None = ...,
        collective_fill: str | None = ...,
        library: Literal["none", "nccl"] | None = ...,
        nvswitch_generation: int | None = ...,
        nvls: bool | None = ...,
        port_bandwidth: str | None = ...,
        port_latency: str | None = ...,
        packet_size: str | None = ...,
    ) -> None: ...

class Flit(Network):
    """Virtual-channel wormhole routers with credits, cycle by cycle."""

    routing: str | None
    """as of `packet`, and on meshes west-first and odd-even (minimal, adaptive); name; default: as the topology says"""
    message_overhead: str | None
    """time that a message takes at its ends beyond that on the links, which it does not hold; time, at least 0 ps; default: 0 ps"""
    collective_overhead: str | None
    """time that every member of a collective takes before its first message; time, at least 0 ps; default: 0 ps"""
    collective_member_overhead: str | None
    """the same for each member of the group: what a framework does to lists with an entry a member; time, at least 0 ps; default: 0 ps"""
    collective_fill: str | None
    """at which the part of a member (the vector over the group's size) goes once more in each all-reduce, reduce-scatter and all-gather: a step of a library's loops that no other is beside; 0 B/s: none; bandwidth; default: 0 B/s"""
    library: Literal["none", "nccl"] | None
    """none: collectives are the algorithms that are named, step by step; nccl: all-reduces, all-gathers and reduce-scatters as NCCL chooses them by size, ranks and servers: of plans with aggregation with its algorithm, protocol and latency, of graphs rings or trees, simulated, or where switches add up with its time; name, one of none, nccl; default: none"""
    nvswitch_generation: int | None
    """of the servers' switches, for library: nccl: with the third (H100) or a later one accelerators are taken for Hopper and the switches add up what they send (NVLink SHARP); before it, for Ampere; integer, 1 to 16; default: 2"""
    nvls: bool | None
    """with library: nccl: whether it takes NVLS and NVLSTree, where switches in servers add up (nvswitch_generation); NCCL before 2.17, or with NCCL_NVLS_ENABLE=0, does not; boolean; default: true"""
    flit_size: str | None
    """what the fastest link carries in a cycle; size, at least 1 B; default: 32 B"""
    packet_size: str | None
    """packets that messages are cut into; two flits at least; size, at least 1 B; default: 512 B"""
    virtual_channels: int | None
    """of each port; integer, 1 to 32; default: 4"""
    buffer: int | None
    """flits that a virtual channel holds; integer, 1 to 255; default: 8"""
    routing_delay: int | None
    """cycles; 0: the router before looks ahead; integer, 0 to 64; default: 1"""
    vc_allocation_delay: int | None
    """cycles; integer, 1 to 64; default: 1"""
    switch_allocation_delay: int | None
    """cycles; integer, 1 to 64; default: 1"""
    traversal_delay: int | None
    """cycles through the switch; integer, 1 to 64; default: 1"""
    credit_delay: int | None
    """cycles that a credit takes beyond its way back; integer, 0 to 64; default: 0"""
    interface_delay: int | None
    """cycles between a node and its router; integer, 1 to 64; default: 1"""
    allocator: Literal["islip", "round-robin"] | None
    """islip, or round-robin: inputs choose before outputs; name, one of islip, round-robin; default: islip"""
    allocator_iterations: int | None
    """rounds of an allocator in a cycle; integer, 1 to 64; default: 1"""
    input_speedup: int | None
    """flits that may leave the buffers of an input in a cycle; integer, 1 to 32; default: 1"""
    output_speedup: int | None
    """flits that may come to an output in a cycle; integer, 1 to 32; default: 1"""
    speculative: bool | None
    """ask for the switch together with the virtual channel; boolean; default: false"""
    tail_credit: bool | None
    """a virtual channel is free when its buffer is empty again; boolean; default: false"""
    loopback: bool | None
    """messages to the own node go through its router; boolean; default: false"""
    def __init__(
        self,
        *,
        routing: str | None = ...,
        message_overhead: str | None = ...,
        collective_overhead: str | None = ...,
        collective_member_overhead: str | None = ...,
        collective_fill: str | None = ...,
        library: Literal["none", "nccl"] | None = ...,
        nvswitch_generation: int | None = ...,
        nvls: bool | None = ...,
        flit_size: str | None = ...,
        packet_size: str | None = ...,
        virtual_channels: int | None = ...,
        buffer: int | None = ...,
        routing_delay: int | None = ...,
        vc_allocation_delay: int | None = ...,
        switch_allocation_delay: int | None = ...,
        traversal_delay: int | None = ...,
        credit_delay: int | None = ...,
        interface_delay: int | None = ...,
        allocator: Literal["islip", "round-robin"] | None = ...,
        allocator_iterations: int | None = ...,
        input_speedup: int | None = ...,
        output_speedup: int | None = ...,
        speculative: bool | None = ...,
        tail_credit: bool | None = ...,
        loopback: bool | None = ...,
    ) -> None: ...

class Flow(Network):
    """Messages as flows that share links max-min fairly, latency paid first."""

    routing: str | None
    """xy, yx (dimension order, grids only), cluster (clusters only), stack (stacks only), hierarchy (graphs of templates), given (graphs with routes), ecmp (shortest, spread) or shortest (smallest latency); name; default: as the topology says"""
    message_overhead: str | None
    """time that a message takes at its ends beyond that on the links, which it does not hold; time, at least 0 ps; default: 0 ps"""
    collective_overhead: str | None
    """time that every member of a collective takes before its first message; time, at least 0 ps; default: 0 ps"""
    collective_member_overhead: str | None
    """the same for each member of the group: what a framework does to lists with an entry a member; time, at least 0 ps; default: 0 ps"""
    collective_fill: str | None
    """at which the part of a member (the vector over the group's size) goes once more in each all-reduce, reduce-scatter and all-gather: a step of a library's loops that no other is beside; 0 B/s: none; bandwidth; default: 0 B/s"""
    library: Literal["none", "nccl"] | None
    """none: collectives are the algorithms that are named, step by step; nccl: all-reduces, all-gathers and reduce-scatters as NCCL chooses them by size, ranks and servers: of plans with aggregation with its algorithm, protocol and latency, of graphs rings or trees, simulated, or where switches add up with its time; name, one of none, nccl; default: none"""
    nvswitch_generation: int | None
    """of the servers' switches, for library: nccl: with the third (H100) or a later one accelerators are taken for Hopper and the switches add up what they send (NVLink SHARP); before it, for Ampere; integer, 1 to 16; default: 2"""
    nvls: bool | None
    """with library: nccl: whether it takes NVLS and NVLSTree, where switches in servers add up (nvswitch_generation); NCCL before 2.17, or with NCCL_NVLS_ENABLE=0, does not; boolean; default: true"""
    weights: Literal["equal", "latency"] | None
    """of flows that share a link: equal, or latency: 1 / latency of the route (SimGrid's CM02); name, one of equal, latency; default: equal"""
    flow_limit: str | None
    """of the rate of each flow; bandwidth; default: none"""
    window: str | None
    """bytes of a flow under way at once: limits its rate to window / (2 latency of the route); size, at least 1 B; default: none"""
    pairs: Literal["collectives-in-turn", "together", "in-turn"] | None
    """messages from one node to another: together, in-turn, as through one connection, or those of collectives in turn and others together; name, one of collectives-in-turn, together, in-turn; default: collectives-in-turn"""
    uncontended_steps: Literal["each", "lumped"] | None
    """of rings (of graphs): each message is simulated, or those are lumped that nobody disturbs, with the same times but where messages end at the same picosecond; name, one of each, lumped; default: each"""
    def __init__(
        self,
        *,
        routing: str | None = ...,
        message_overhead: str | None = ...,
        collective_overhead: str | None = ...,
        collective_member_overhead: str | None = ...,
        collective_fill: str | None = ...,
        library: Literal["none", "nccl"] | None = ...,
        nvswitch_generation: int | None = ...,
        nvls: bool | None = ...,
        weights: Literal["equal", "latency"] | None = ...,
        flow_limit: str | None = ...,
        window: str | None = ...,
        pairs: Literal["collectives-in-turn", "together", "in-turn"] | None = ...,
        uncontended_steps: Literal["each", "lumped"] | None = ...,
    ) -> None: ...

class Packet(Network):
    """Packets over exclusive links in order of arrival, cut-through, unbounded buffers (the default)."""

    routing: str | None
    """xy, yx (dimension order, grids only), cluster (clusters only), stack (stacks only), hierarchy (graphs of templates), given (graphs with routes), ecmp (shortest, spread) or shortest (smallest latency); name; default: as the topology says"""
    message_overhead: str | None
    """time that a message takes at its ends beyond that on the links, which it does not hold; time, at least 0 ps; default: 0 ps"""
    collective_overhead: str | None
    """time that every member of a collective takes before its first message; time, at least 0 ps; default: 0 ps"""
    collective_member_overhead: str | None
    """the same for each member of the group: what a framework does to lists with an entry a member; time, at least 0 ps; default: 0 ps"""
    collective_fill: str | None
    """at which the part of a member (the vector over the group's size) goes once more in each all-reduce, reduce-scatter and all-gather: a step of a library's loops that no other is beside; 0 B/s: none; bandwidth; default: 0 B/s"""
    library: Literal["none", "nccl"] | None
    """none: collectives are the algorithms that are named, step by step; nccl: all-reduces, all-gathers and reduce-scatters as NCCL chooses them by size, ranks and servers: of plans with aggregation with its algorithm, protocol and latency, of graphs rings or trees, simulated, or where switches add up with its time; name, one of none, nccl; default: none"""
    nvswitch_generation: int | None
    """of the servers' switches, for library: nccl: with the third (H100) or a later one accelerators are taken for Hopper and the switches add up what they send (NVLink SHARP); before it, for Ampere; integer, 1 to 16; default: 2"""
    nvls: bool | None
    """with library: nccl: whether it takes NVLS and NVLSTree, where switches in servers add up (nvswitch_generation); NCCL before 2.17, or with NCCL_NVLS_ENABLE=0, does not; boolean; default: true"""
    switching: Literal["cut-through", "store-and-forward"] | None
    """cut-through, or store-and-forward: a packet goes on when all of it has come in; name, one of cut-through, store-and-forward; default: cut-through"""
    packet_size: str | None
    """payload of a packet; larger packets, fewer events; size, at least 1 B; default: 4 KiB"""
    max_packets: int | None
    """packets a message is cut into at most; larger messages get larger packets; integer, 1 to 1000000; default: 64"""
    arbitration: Literal["first-come", "fair", "fair-tenants"] | None
    """of the packets that wait for a link; fair: the tiles for which it is used get even parts of its bytes; fair-tenants: their tenants do; name, one of first-come, fair, fair-tenants; default: first-come"""
    def __init__(
        self,
        *,
        routing: str | None = ...,
        message_overhead: str | None = ...,
        collective_overhead: str | None = ...,
        collective_member_overhead: str | None = ...,
        collective_fill: str | None = ...,
        library: Literal["none", "nccl"] | None = ...,
        nvswitch_generation: int | None = ...,
        nvls: bool | None = ...,
        switching: Literal["cut-through", "store-and-forward"] | None = ...,
        packet_size: str | None = ...,
        max_packets: int | None = ...,
        arbitration: Literal["first-come", "fair", "fair-tenants"] | None = ...,
    ) -> None: ...
