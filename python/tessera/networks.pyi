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
    """xy, yx (dimension order, grids only), cluster (clusters only), stack (stacks only), hierarchy (graphs of templates), given (graphs with routes), ecmp (traffic spread over shortest paths) or shortest (smallest latency); name; default: as the topology says"""
    message_overhead: str | None
    """time that a message spends at its endpoints in addition to its time on the links; it occupies no link meanwhile; time, at least 0 ps; default: 0 ps"""
    collective_overhead: str | None
    """time that each member of a collective spends before its first message; time, at least 0 ps; default: 0 ps"""
    collective_member_overhead: str | None
    """additional time per member of the group: a framework's work on lists with one entry per member; time, at least 0 ps; default: 0 ps"""
    collective_fill: str | None
    """every all-reduce, reduce-scatter and all-gather takes an additional (vector / members) / collective_fill: a step at the ends of a library's loops that overlaps no other; 0 B/s: no additional time; bandwidth; default: 0 B/s"""
    library: Literal["none", "nccl"] | None
    """none: the configured algorithms, step by step; nccl: all-reduces, all-gathers and reduce-scatters as NCCL selects them by size, ranks and servers (plans with aggregation: with NCCL's algorithm, protocol and latency; graphs: as simulated rings or trees, or with NCCL's time where switches perform the reduction); name, one of none, nccl; default: none"""
    nvswitch_generation: int | None
    """generation of the servers' NVSwitches, for library: nccl; from 3 (H100) on, accelerators are modelled as Hopper, with reductions in the switches (NVLink SHARP), below 3 as Ampere; integer, 1 to 16; default: 2"""
    nvls: bool | None
    """with library: nccl, whether it may use NVLS and NVLSTree, where the switches of servers perform the reduction (nvswitch_generation); false for NCCL before 2.17 or with NCCL_NVLS_ENABLE=0; boolean; default: true"""
    message_tick: str | None
    """times of messages on links are truncated to a multiple of it (1 ns: as in ASTRA-sim 2.0); time, at least 1 ps; default: 1 ps"""
    ports: Literal["free", "shared"] | None
    """free: no contention; shared: messages that leave a node by the same link are serialised, and so are those that enter it by the same link; by topology: shared on clusters, free elsewhere; name, one of free, shared; default: by topology"""
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
    """One ideal switch: a latency, and a bandwidth of each node's port, shared by its messages."""

    routing: str | None
    """xy, yx (dimension order, grids only), cluster (clusters only), stack (stacks only), hierarchy (graphs of templates), given (graphs with routes), ecmp (traffic spread over shortest paths) or shortest (smallest latency); name; default: as the topology says"""
    message_overhead: str | None
    """time that a message spends at its endpoints in addition to its time on the links; it occupies no link meanwhile; time, at least 0 ps; default: 0 ps"""
    collective_overhead: str | None
    """time that each member of a collective spends before its first message; time, at least 0 ps; default: 0 ps"""
    collective_member_overhead: str | None
    """additional time per member of the group: a framework's work on lists with one entry per member; time, at least 0 ps; default: 0 ps"""
    collective_fill: str | None
    """every all-reduce, reduce-scatter and all-gather takes an additional (vector / members) / collective_fill: a step at the ends of a library's loops that overlaps no other; 0 B/s: no additional time; bandwidth; default: 0 B/s"""
    library: Literal["none", "nccl"] | None
    """none: the configured algorithms, step by step; nccl: all-reduces, all-gathers and reduce-scatters as NCCL selects them by size, ranks and servers (plans with aggregation: with NCCL's algorithm, protocol and latency; graphs: as simulated rings or trees, or with NCCL's time where switches perform the reduction); name, one of none, nccl; default: none"""
    nvswitch_generation: int | None
    """generation of the servers' NVSwitches, for library: nccl; from 3 (H100) on, accelerators are modelled as Hopper, with reductions in the switches (NVLink SHARP), below 3 as Ampere; integer, 1 to 16; default: 2"""
    nvls: bool | None
    """with library: nccl, whether it may use NVLS and NVLSTree, where the switches of servers perform the reduction (nvswitch_generation); false for NCCL before 2.17 or with NCCL_NVLS_ENABLE=0; boolean; default: true"""
    port_bandwidth: str | None
    """bandwidth of a node's port, in each direction; bandwidth, at least 1 B/s; default: that of the fastest link"""
    port_latency: str | None
    """latency of the switch, which is also the lookahead; time, at least 1 ps; default: that of the fastest link"""
    packet_size: str | None
    """payload of a packet; smaller packets share ports more evenly; size, at least 1 B; default: 4 KiB"""
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
    """as for `packet`, and on meshes also west-first and odd-even (minimal, adaptive); name; default: as the topology says"""
    message_overhead: str | None
    """time that a message spends at its endpoints in addition to its time on the links; it occupies no link meanwhile; time, at least 0 ps; default: 0 ps"""
    collective_overhead: str | None
    """time that each member of a collective spends before its first message; time, at least 0 ps; default: 0 ps"""
    collective_member_overhead: str | None
    """additional time per member of the group: a framework's work on lists with one entry per member; time, at least 0 ps; default: 0 ps"""
    collective_fill: str | None
    """every all-reduce, reduce-scatter and all-gather takes an additional (vector / members) / collective_fill: a step at the ends of a library's loops that overlaps no other; 0 B/s: no additional time; bandwidth; default: 0 B/s"""
    library: Literal["none", "nccl"] | None
    """none: the configured algorithms, step by step; nccl: all-reduces, all-gathers and reduce-scatters as NCCL selects them by size, ranks and servers (plans with aggregation: with NCCL's algorithm, protocol and latency; graphs: as simulated rings or trees, or with NCCL's time where switches perform the reduction); name, one of none, nccl; default: none"""
    nvswitch_generation: int | None
    """generation of the servers' NVSwitches, for library: nccl; from 3 (H100) on, accelerators are modelled as Hopper, with reductions in the switches (NVLink SHARP), below 3 as Ampere; integer, 1 to 16; default: 2"""
    nvls: bool | None
    """with library: nccl, whether it may use NVLS and NVLSTree, where the switches of servers perform the reduction (nvswitch_generation); false for NCCL before 2.17 or with NCCL_NVLS_ENABLE=0; boolean; default: true"""
    flit_size: str | None
    """bytes that the fastest link carries per cycle; size, at least 1 B; default: 32 B"""
    packet_size: str | None
    """size of the packets that messages are split into; at least two flits; size, at least 1 B; default: 512 B"""
    virtual_channels: int | None
    """virtual channels per port; integer, 1 to 32; default: 4"""
    buffer: int | None
    """flits that the buffer of a virtual channel holds; integer, 1 to 255; default: 8"""
    routing_delay: int | None
    """cycles; 0: look-ahead routing in the previous router; integer, 0 to 64; default: 1"""
    vc_allocation_delay: int | None
    """cycles; integer, 1 to 64; default: 1"""
    switch_allocation_delay: int | None
    """cycles; integer, 1 to 64; default: 1"""
    traversal_delay: int | None
    """cycles through the switch; integer, 1 to 64; default: 1"""
    credit_delay: int | None
    """cycles that a credit takes in addition to its time on the link; integer, 0 to 64; default: 0"""
    interface_delay: int | None
    """cycles between a node and its router; integer, 1 to 64; default: 1"""
    allocator: Literal["islip", "round-robin"] | None
    """islip, or round-robin: input-first separable allocation; name, one of islip, round-robin; default: islip"""
    allocator_iterations: int | None
    """iterations of an allocator per cycle; integer, 1 to 64; default: 1"""
    input_speedup: int | None
    """flits that may leave the buffers of an input per cycle; integer, 1 to 32; default: 1"""
    output_speedup: int | None
    """flits that may arrive at an output per cycle; integer, 1 to 32; default: 1"""
    speculative: bool | None
    """request the switch together with the virtual channel; boolean; default: false"""
    tail_credit: bool | None
    """a virtual channel is free again only when its buffer is empty; boolean; default: false"""
    loopback: bool | None
    """messages from a node to itself go through its router; boolean; default: false"""
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
    """Messages as flows that share links max-min fairly, each after its latency."""

    routing: str | None
    """xy, yx (dimension order, grids only), cluster (clusters only), stack (stacks only), hierarchy (graphs of templates), given (graphs with routes), ecmp (traffic spread over shortest paths) or shortest (smallest latency); name; default: as the topology says"""
    message_overhead: str | None
    """time that a message spends at its endpoints in addition to its time on the links; it occupies no link meanwhile; time, at least 0 ps; default: 0 ps"""
    collective_overhead: str | None
    """time that each member of a collective spends before its first message; time, at least 0 ps; default: 0 ps"""
    collective_member_overhead: str | None
    """additional time per member of the group: a framework's work on lists with one entry per member; time, at least 0 ps; default: 0 ps"""
    collective_fill: str | None
    """every all-reduce, reduce-scatter and all-gather takes an additional (vector / members) / collective_fill: a step at the ends of a library's loops that overlaps no other; 0 B/s: no additional time; bandwidth; default: 0 B/s"""
    library: Literal["none", "nccl"] | None
    """none: the configured algorithms, step by step; nccl: all-reduces, all-gathers and reduce-scatters as NCCL selects them by size, ranks and servers (plans with aggregation: with NCCL's algorithm, protocol and latency; graphs: as simulated rings or trees, or with NCCL's time where switches perform the reduction); name, one of none, nccl; default: none"""
    nvswitch_generation: int | None
    """generation of the servers' NVSwitches, for library: nccl; from 3 (H100) on, accelerators are modelled as Hopper, with reductions in the switches (NVLink SHARP), below 3 as Ampere; integer, 1 to 16; default: 2"""
    nvls: bool | None
    """with library: nccl, whether it may use NVLS and NVLSTree, where the switches of servers perform the reduction (nvswitch_generation); false for NCCL before 2.17 or with NCCL_NVLS_ENABLE=0; boolean; default: true"""
    weights: Literal["equal", "latency"] | None
    """weights of flows that share a link: equal, or latency: 1 / latency of the route (SimGrid's CM02); name, one of equal, latency; default: equal"""
    flow_limit: str | None
    """upper limit of the rate of each flow; bandwidth, at least 1 B/s; default: none"""
    window: str | None
    """bytes of a flow in flight at once, which limits its rate to window / (2 * latency of the route); size, at least 1 B; default: none"""
    pairs: Literal["collectives-in-turn", "together", "in-turn"] | None
    """messages from one node to another: together (concurrent), in-turn (serialised, as on one connection), or collectives-in-turn (those of collectives serialised, others concurrent); name, one of collectives-in-turn, together, in-turn; default: collectives-in-turn"""
    uncontended_steps: Literal["each", "lumped"] | None
    """steps of rings (in graphs): each (every message is simulated), or lumped (undisturbed ones are computed together, with the same times except where messages end at the same picosecond); name, one of each, lumped; default: each"""
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
    """Packets, each of which occupies a link alone, in order of arrival; cut-through, unbounded buffers (the default)."""

    routing: str | None
    """xy, yx (dimension order, grids only), cluster (clusters only), stack (stacks only), hierarchy (graphs of templates), given (graphs with routes), ecmp (traffic spread over shortest paths) or shortest (smallest latency); name; default: as the topology says"""
    message_overhead: str | None
    """time that a message spends at its endpoints in addition to its time on the links; it occupies no link meanwhile; time, at least 0 ps; default: 0 ps"""
    collective_overhead: str | None
    """time that each member of a collective spends before its first message; time, at least 0 ps; default: 0 ps"""
    collective_member_overhead: str | None
    """additional time per member of the group: a framework's work on lists with one entry per member; time, at least 0 ps; default: 0 ps"""
    collective_fill: str | None
    """every all-reduce, reduce-scatter and all-gather takes an additional (vector / members) / collective_fill: a step at the ends of a library's loops that overlaps no other; 0 B/s: no additional time; bandwidth; default: 0 B/s"""
    library: Literal["none", "nccl"] | None
    """none: the configured algorithms, step by step; nccl: all-reduces, all-gathers and reduce-scatters as NCCL selects them by size, ranks and servers (plans with aggregation: with NCCL's algorithm, protocol and latency; graphs: as simulated rings or trees, or with NCCL's time where switches perform the reduction); name, one of none, nccl; default: none"""
    nvswitch_generation: int | None
    """generation of the servers' NVSwitches, for library: nccl; from 3 (H100) on, accelerators are modelled as Hopper, with reductions in the switches (NVLink SHARP), below 3 as Ampere; integer, 1 to 16; default: 2"""
    nvls: bool | None
    """with library: nccl, whether it may use NVLS and NVLSTree, where the switches of servers perform the reduction (nvswitch_generation); false for NCCL before 2.17 or with NCCL_NVLS_ENABLE=0; boolean; default: true"""
    switching: Literal["cut-through", "store-and-forward"] | None
    """cut-through, or store-and-forward: a packet is forwarded after it has arrived in full; name, one of cut-through, store-and-forward; default: cut-through"""
    packet_size: str | None
    """payload of a packet; larger packets cause fewer events; size, at least 1 B; default: 4 KiB"""
    max_packets: int | None
    """maximum number of packets per message; larger messages use larger packets, and more of them where these would exceed 4 GiB or, with cut-through, 4.29 ms on the slowest link; integer, 1 to 1000000; default: 64"""
    arbitration: Literal["first-come", "fair", "fair-tenants"] | None
    """order of the packets that wait for a link; fair: equal shares of its bytes for the tiles that use it; fair-tenants: equal shares for their tenants; name, one of first-come, fair, fair-tenants; default: first-come"""
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
