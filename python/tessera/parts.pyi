"""Sections of a machine and of an experiment that have one form.

Written by scripts/python_stubs.py from what the program declares; do not edit.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from .sections import Section
from . import arrivals
from . import computes
from . import memories
from . import networks
from . import remote_memories
from . import topologies
from . import workloads

TileTypeDram = TypedDict("TileTypeDram", {"bandwidth": str, "latency": str, "capacity": str}, total=False)

DramMemories = TypedDict("DramMemories", {"bandwidth": str, "latency": str}, total=False)

FaultsLinks = TypedDict("FaultsLinks", {"from": str | int | float, "to": str | int | float, "dead": bool, "bandwidth": float | str, "directions": Literal["both", "one"]}, total=False)

FaultsNodes = TypedDict("FaultsNodes", {"node": str | int | float, "speed": float | str}, total=False)

FaultsRandom = TypedDict("FaultsRandom", {"seed": int, "share": float | str, "speed": float | str}, total=False)

ServedTenantBatchingTier = TypedDict("ServedTenantBatchingTier", {"capacity": str, "swap": bool, "prefixes": bool}, total=False)

ServedTenantBatching = TypedDict("ServedTenantBatching", {"continuous": bool, "sequences": int, "tokens": int, "chunk": int, "block": int, "cache": str, "cache_type": Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "int2", "int3", "int4", "fp4", "fp6", "model"], "key_type": Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "int2", "int3", "int4", "fp4", "fp6", "cache"], "value_type": Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "int2", "int3", "int4", "fp4", "fp6", "cache"], "cache_group_size": int, "cache_scale": str, "state_type": Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "model"], "host": str, "samples": int, "order": Literal["first-come", "priority"], "tier": ServedTenantBatchingTier}, total=False)

ServedTenantSpeculation = TypedDict("ServedTenantSpeculation", {"tokens": int, "acceptance": float, "time": str}, total=False)

ServedTenantTarget = TypedDict("ServedTenantTarget", {"first_token": str, "between_tokens": str, "latency": str}, total=False)

ServedTenantScalingPrefill = TypedDict("ServedTenantScalingPrefill", {"least": int, "requests": int, "start_up": str, "idle": str}, total=False)

ServedTenantScaling = TypedDict("ServedTenantScaling", {"least": int, "requests": int, "start_up": str, "idle": str, "prefill": ServedTenantScalingPrefill}, total=False)

ServedTenantClassesTarget = TypedDict("ServedTenantClassesTarget", {"first_token": str, "between_tokens": str, "latency": str}, total=False)

ServedTenantClasses = TypedDict("ServedTenantClasses", {"name": str | int | float, "priority": int, "share": float, "target": ServedTenantClassesTarget}, total=False)

ServedTenantAdapters = TypedDict("ServedTenantAdapters", {"count": int, "rank": int, "loaded": int, "share": float}, total=False)

ServedTenantWeightsAttention = TypedDict("ServedTenantWeightsAttention", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsMlp = TypedDict("ServedTenantWeightsMlp", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsExperts = TypedDict("ServedTenantWeightsExperts", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsRouter = TypedDict("ServedTenantWeightsRouter", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsHead = TypedDict("ServedTenantWeightsHead", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsWord_Embedding = TypedDict("ServedTenantWeightsWord_Embedding", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsPosition_Embedding = TypedDict("ServedTenantWeightsPosition_Embedding", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsQkv = TypedDict("ServedTenantWeightsQkv", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsQ_Down = TypedDict("ServedTenantWeightsQ_Down", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsKv_Down = TypedDict("ServedTenantWeightsKv_Down", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsQ = TypedDict("ServedTenantWeightsQ", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsQ_Up = TypedDict("ServedTenantWeightsQ_Up", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsKv_Up = TypedDict("ServedTenantWeightsKv_Up", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsAttention_Output = TypedDict("ServedTenantWeightsAttention_Output", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsSsm_Input = TypedDict("ServedTenantWeightsSsm_Input", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsSsm_Output = TypedDict("ServedTenantWeightsSsm_Output", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsMlp_Up = TypedDict("ServedTenantWeightsMlp_Up", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsMlp_Down = TypedDict("ServedTenantWeightsMlp_Down", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsExpert_Up = TypedDict("ServedTenantWeightsExpert_Up", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsExpert_Down = TypedDict("ServedTenantWeightsExpert_Down", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsShared_Up = TypedDict("ServedTenantWeightsShared_Up", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsShared_Down = TypedDict("ServedTenantWeightsShared_Down", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeightsLm_Head = TypedDict("ServedTenantWeightsLm_Head", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str}, total=False)

ServedTenantWeights = TypedDict("ServedTenantWeights", {"type": Literal["int2", "int3", "int4", "fp4", "fp6", "int8", "fp8"], "group_size": int, "scale": str, "attention": ServedTenantWeightsAttention, "mlp": ServedTenantWeightsMlp, "experts": ServedTenantWeightsExperts, "router": ServedTenantWeightsRouter, "head": ServedTenantWeightsHead, "word_embedding": ServedTenantWeightsWord_Embedding, "position_embedding": ServedTenantWeightsPosition_Embedding, "qkv": ServedTenantWeightsQkv, "q_down": ServedTenantWeightsQ_Down, "kv_down": ServedTenantWeightsKv_Down, "q": ServedTenantWeightsQ, "q_up": ServedTenantWeightsQ_Up, "kv_up": ServedTenantWeightsKv_Up, "attention_output": ServedTenantWeightsAttention_Output, "ssm_input": ServedTenantWeightsSsm_Input, "ssm_output": ServedTenantWeightsSsm_Output, "mlp_up": ServedTenantWeightsMlp_Up, "mlp_down": ServedTenantWeightsMlp_Down, "expert_up": ServedTenantWeightsExpert_Up, "expert_down": ServedTenantWeightsExpert_Down, "shared_up": ServedTenantWeightsShared_Up, "shared_down": ServedTenantWeightsShared_Down, "lm_head": ServedTenantWeightsLm_Head}, total=False)

LanguageModelLatent = TypedDict("LanguageModelLatent", {"kv_rank": int, "q_rank": int, "nope_width": int, "rope_width": int, "value_width": int}, total=False)

LanguageModelSsm = TypedDict("LanguageModelSsm", {"state": int, "heads": int, "head_width": int, "groups": int, "kernel": int, "chunk": int}, total=False)

LanguageModelExperts = TypedDict("LanguageModelExperts", {"count": int, "top_k": int, "every": int, "dense_first": int, "capacity_factor": float, "shared": int, "ffn": int, "room": Literal["padded", "dropped", "unlimited"], "loads": Literal["even", "zipf", "exponential"], "skew": float, "seed": int, "shares": Sequence[float]}, total=False)

StrategySharding = TypedDict("StrategySharding", {"samples": int, "rows": int, "columns": int, "depth": int}, total=False)

StrategyCollectives = TypedDict("StrategyCollectives", {"tensor": Literal["halving-doubling", "line", "ring", "ring-relay"], "data": Literal["halving-doubling", "line", "ring", "ring-relay"]}, total=False)

StrategyOffload = TypedDict("StrategyOffload", {"layers": int, "fraction": float | str}, total=False)

StrategySoftware = TypedDict("StrategySoftware", {"sharding": Literal["plain", "fsdp2"], "compiled": bool, "gathered_inputs": Literal["again", "kept"], "narrow_inputs": Literal["as_they_come", "narrow"], "boundary_buffers": Literal["passing", "all"], "kv_heads": Literal["once", "repeated"], "context_sums": Literal["whole", "passed"], "freed_blocks": Literal["any", "fitting"], "early_stop": bool, "host_waits": Literal["passes", "layers", "profiles"]}, total=False)

StrategyWires = TypedDict("StrategyWires", {"dispatch": Literal["as_kept", "fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "mxfp8"], "combine": Literal["as_kept", "fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "mxfp8"], "weights": Literal["as_kept", "fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "mxfp8"], "gradients": Literal["as_kept", "fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "mxfp8"], "tensor_gathers": Literal["as_kept", "fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "mxfp8"], "tensor_sums": Literal["as_kept", "fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "mxfp8"]}, total=False)

StrategyPlacement = TypedDict("StrategyPlacement", {"layout": Literal["given", "line", "linear", "optimized", "replicas", "s-shape"], "group": Any, "tensor_group": Any, "tensor_members": Literal["near", "far"], "band": int, "replica_order": Literal["rows", "columns", "ring"], "tiles": Sequence[Any] | str | PathLike[str], "seed": int, "moves": int, "start": Literal["best", "line", "linear", "replicas", "s-shape"]}, total=False)

ExecutionRemote = TypedDict("ExecutionRemote", {"request": Literal["sent", "free"], "stores": Literal["acknowledged", "posted"]}, total=False)

ExecutionLanes = TypedDict("ExecutionLanes", {"host": int, "compute": int, "memory": int, "collective": int, "message": int, "collective_queue": Literal["fifo", "lifo"]}, total=False)

ExecutionCollectivesProtocols = TypedDict("ExecutionCollectivesProtocols", {"up_to": str, "endpoint_delay": str, "data_share": float}, total=False)

ExecutionCollectives = TypedDict("ExecutionCollectives", {"shape": Sequence[int], "algorithms": Sequence[str], "all_to_all": Sequence[str], "communicators": Literal["dimensions", "flat"], "other_algorithm": str | int | float, "algorithm_window": int, "programs": Sequence[str | PathLike[str]], "chunks": int, "active_chunks": int, "queues": Sequence[int], "queue": Literal["fifo", "lifo", "smallest-first"], "order": Literal["ascending", "round-robin", "themis"], "decomposition": Literal["bandwidth-aware", "baseline"], "bandwidths": Sequence[str], "endpoint_delay": str, "protocols": Sequence[ExecutionCollectivesProtocols], "local_memory": str, "compatible": Literal["none", "astra"]}, total=False)

class Machine(Section):
    """The simulated machine."""

    topology: topologies.Topology | Mapping[str, Any]
    """nodes and links; mapping"""
    name: str | int | float | None
    """title; text; default: machine"""
    tile: Tile | Mapping[str, Any] | None
    """rates and memory of each computing node; mapping"""
    types: Mapping[str, TileType | Mapping[str, Any]] | None
    """tiles of several types, by name; mapping"""
    dram: Dram | Mapping[str, Any] | None
    """memory channels; mapping"""
    faults: Faults | Mapping[str, Any] | None
    """slow and dead links, slow nodes; mapping"""
    power: Power | Mapping[str, Any] | None
    """power that a device draws; mapping"""
    framework: Framework | Mapping[str, Any] | None
    """device memory that software uses in addition to tensors; mapping"""
    host: Host | Mapping[str, Any] | None
    """memory of a device's host, and the link to it; mapping"""
    network: networks.Network | Mapping[str, Any] | None
    """how messages travel; mapping"""
    memory: memories.Memory | Mapping[str, Any] | None
    """how memory is accessed; mapping"""
    compute: computes.Compute | Mapping[str, Any] | None
    """how long operators take; mapping"""
    remote_memory: remote_memories.RemoteMemory | Mapping[str, Any] | None
    """memory of servers and pools; mapping"""
    coherence: Coherence | Mapping[str, Any] | None
    """cache-line access to nodes of kind memory; mapping"""
    def __init__(
        self,
        *,
        topology: topologies.Topology | Mapping[str, Any],
        name: str | int | float | None = ...,
        tile: Tile | Mapping[str, Any] | None = ...,
        types: Mapping[str, TileType | Mapping[str, Any]] | None = ...,
        dram: Dram | Mapping[str, Any] | None = ...,
        faults: Faults | Mapping[str, Any] | None = ...,
        power: Power | Mapping[str, Any] | None = ...,
        framework: Framework | Mapping[str, Any] | None = ...,
        host: Host | Mapping[str, Any] | None = ...,
        network: networks.Network | Mapping[str, Any] | None = ...,
        memory: memories.Memory | Mapping[str, Any] | None = ...,
        compute: computes.Compute | Mapping[str, Any] | None = ...,
        remote_memory: remote_memories.RemoteMemory | Mapping[str, Any] | None = ...,
        coherence: Coherence | Mapping[str, Any] | None = ...,
    ) -> None: ...

class Tile(Section):
    """Rates and memory of each computing node."""

    peak: Mapping[str, Any]
    """a mapping from data types to dense rates; types: fp64, fp32, tf32, fp16, bf16, fp8, int8, mxfp8; mapping"""
    efficiency: float | str | None
    """share of the peak that operators reach, the same for all of them; fraction, at least 1e-06; default: 1"""
    sram: str | None
    """capacity, with operands in it; 0: not stated, everything fits; size; default: 0 B"""
    sram_bandwidth: str | None
    """bandwidth to the core; 0: never the limit; bandwidth; default: 0 B/s"""
    operands: Literal["sram", "dram"] | None
    """memory that holds the operands of running operations: sram, or dram: the tile's own DRAM channel; name, one of sram, dram; default: sram"""
    def __init__(
        self,
        *,
        peak: Mapping[str, Any],
        efficiency: float | str | None = ...,
        sram: str | None = ...,
        sram_bandwidth: str | None = ...,
        operands: Literal["sram", "dram"] | None = ...,
    ) -> None: ...

class TileType(Section):
    """Tiles of several types, by name."""

    peak: Mapping[str, Any] | None
    """a mapping from data types to dense rates; types: fp64, fp32, tf32, fp16, bf16, fp8, int8, mxfp8; mapping; default: that of 'tile' for a type without a peak"""
    efficiency: float | str | None
    """share of the peak that operators reach, the same for all of them; fraction, at least 1e-06; default: that of 'tile' for a type without a peak"""
    sram: str | None
    """capacity, with operands in it; 0: not stated, everything fits; size; default: that of 'tile' for a type without a peak"""
    sram_bandwidth: str | None
    """bandwidth to the core; 0: never the limit; bandwidth; default: that of 'tile' for a type without a peak"""
    operands: Literal["sram", "dram"] | None
    """memory that holds the operands of running operations: sram, or dram: the tile's own DRAM channel; name, one of sram, dram; default: that of 'tile' for a type without a peak"""
    nodes: Sequence[str | int | float] | None
    """numbers or names of the tiles of this type; list of text; default: none"""
    dram: TileTypeDram | Mapping[str, Any] | None
    """DRAM channels of these tiles, with 'dram: {at: each}'; mapping"""
    compute: computes.Compute | Mapping[str, Any] | None
    """how long operators take; mapping"""
    def __init__(
        self,
        *,
        peak: Mapping[str, Any] | None = ...,
        efficiency: float | str | None = ...,
        sram: str | None = ...,
        sram_bandwidth: str | None = ...,
        operands: Literal["sram", "dram"] | None = ...,
        nodes: Sequence[str | int | float] | None = ...,
        dram: TileTypeDram | Mapping[str, Any] | None = ...,
        compute: computes.Compute | Mapping[str, Any] | None = ...,
    ) -> None: ...

class Dram(Section):
    """Memory channels."""

    at: Literal["edge", "each", "memories", "nodes", "none"]
    """location of channels: edge, each (computing node), memories (nodes of kind memory), nodes (those listed) or none; name, one of edge, each, memories, nodes, none"""
    edges: Sequence[str] | None
    """with edge: any of west, east, north, south; list of name"""
    nodes: Sequence[str | int | float] | None
    """with nodes: numbers or names of nodes; list of text"""
    bandwidth: str | None
    """bandwidth of one channel, shared by reads and writes; bandwidth, at least 1 B/s"""
    latency: str | None
    """access latency of an idle channel; not of operands that stream (tile.operands: dram); time, at least 0 ps"""
    capacity: str | None
    """capacity of one channel; 0: not stated; size; default: 0 B"""
    memories: DramMemories | Mapping[str, Any] | None
    """with each: bandwidth and latency of additional channels, one at each node of kind memory; mapping"""
    def __init__(
        self,
        *,
        at: Literal["edge", "each", "memories", "nodes", "none"],
        edges: Sequence[str] | None = ...,
        nodes: Sequence[str | int | float] | None = ...,
        bandwidth: str | None = ...,
        latency: str | None = ...,
        capacity: str | None = ...,
        memories: DramMemories | Mapping[str, Any] | None = ...,
    ) -> None: ...

class Faults(Section):
    """Slow and dead links, slow nodes."""

    links: Sequence[FaultsLinks] | None
    nodes: Sequence[FaultsNodes] | None
    random: FaultsRandom | None
    def __init__(
        self,
        *,
        links: Sequence[FaultsLinks] | None = ...,
        nodes: Sequence[FaultsNodes] | None = ...,
        random: FaultsRandom | None = ...,
    ) -> None: ...

class Power(Section):
    """Power that a device draws."""

    idle: float | None
    """power of an idle device; number, 0 to 1e+06; default: 0"""
    compute: float | None
    """additional power while the device computes; number, 0 to 1e+06; default: 0"""
    memory: float | None
    """additional power at the memory's peak bandwidth; number, 0 to 1e+06; default: 0"""
    link: float | None
    """additional power while the device waits for messages; number, 0 to 1e+06; default: 0"""
    host: float | None
    """the device's share of the server's power; number, 0 to 1e+06; default: 0"""
    def __init__(
        self,
        *,
        idle: float | None = ...,
        compute: float | None = ...,
        memory: float | None = ...,
        link: float | None = ...,
        host: float | None = ...,
    ) -> None: ...

class Framework(Section):
    """Device memory that software uses in addition to tensors."""

    context: str | None
    """memory of the driver and the framework; size; default: 0 B"""
    communicator: str | None
    """communication buffers for each group that a device belongs to; size; default: 0 B"""
    block: str | None
    """unit to which the allocator rounds up its reserved memory; 0: no rounding; size; default: 0 B"""
    fragmentation: float | str | None
    """share of the allocator's reserved memory that no tensor can use; fraction; default: 0"""
    pools: Literal["shared", "by_stream"] | None
    """memory pools of the allocator: shared; by_stream: gathered and scattered tensors each have a pool of their own, which never shrinks; name, one of shared, by_stream; default: shared"""
    def __init__(
        self,
        *,
        context: str | None = ...,
        communicator: str | None = ...,
        block: str | None = ...,
        fragmentation: float | str | None = ...,
        pools: Literal["shared", "by_stream"] | None = ...,
    ) -> None: ...

class Host(Section):
    """Memory of a device's host, and the link to it."""

    bandwidth: str
    """bandwidth of the link between a device and its host, in each direction; bandwidth, at least 1 B/s"""
    latency: str | None
    """latency of a copy between device and host; time, at least 0 ps; default: 0 ps"""
    memory: str | None
    """memory of the host, for all its devices; 0: unlimited; size; default: 0 B"""
    devices: int | None
    """devices that share a host; integer, 1 to 1048576; default: 1"""
    memory_bandwidth: str | None
    """bandwidth of the host's memory, shared by the copies of its devices in both directions; 0: never the limit; bandwidth; default: 0 B/s"""
    def __init__(
        self,
        *,
        bandwidth: str,
        latency: str | None = ...,
        memory: str | None = ...,
        devices: int | None = ...,
        memory_bandwidth: str | None = ...,
    ) -> None: ...

class Coherence(Section):
    """Cache-line access to nodes of kind memory."""

    line: str | None
    """size of a cache line, the unit of access and coherence; size, 16 B to 1 MiB; default: 64 B"""
    outstanding: int | None
    """outstanding lines of an NPU, over all its accesses; integer, 1 to 1000000000; default: none"""
    device_latency: str | None
    """time from request to data at the device; time, at least 0 ps; default: 0 ps"""
    flit: Literal["none", "68 B", "256 B"] | None
    """flits: none, or of 68 B or 256 B as in CXL; name, one of none, 68 B, 256 B; default: none"""
    headers: int | None
    """message headers per slot of a flit; integer, 1 to 4; default: 1"""
    reads: float | str | None
    """share of the lines of a load that are read; the others are written; fraction; default: 1"""
    sharers: float | None
    """mean number of other caches that hold a line; number, 0 to 1000; default: 0"""
    dirty: float | str | None
    """share of lines that another cache has modified; fraction; default: 0"""
    filter_miss: float | str | None
    """share of lines that miss in the snoop filter; fraction; default: 0"""
    hit_rate: float | str | None
    """share of the bytes found in local memory; fraction; default: 0"""
    used_of_line: float | str | None
    """share of the bytes of a line that are used; fraction, 1e-06 to 1; default: 1"""
    piece: str | None
    """maximum size of one request to a device with a DRAM channel; size, 64 B to 4 MiB; default: 4 KiB, a line at least"""
    def __init__(
        self,
        *,
        line: str | None = ...,
        outstanding: int | None = ...,
        device_latency: str | None = ...,
        flit: Literal["none", "68 B", "256 B"] | None = ...,
        headers: int | None = ...,
        reads: float | str | None = ...,
        sharers: float | None = ...,
        dirty: float | str | None = ...,
        filter_miss: float | str | None = ...,
        hit_rate: float | str | None = ...,
        used_of_line: float | str | None = ...,
        piece: str | None = ...,
    ) -> None: ...

class ServedTenant(Section):
    """The served models, each with its requests."""

    requests: arrivals.Requests | Mapping[str, Any]
    """kind of arrivals; its keys are given beside it; mapping"""
    name: str | int | float | None
    """name of the served model, without commas and slashes; text; default: kind and place"""
    batching: ServedTenantBatching | None
    speculation: ServedTenantSpeculation | None
    tensor: int | None
    """NPUs that share each layer; integer, 1 to 4096; default: 1"""
    pipeline: int | None
    """pipeline stages, each of 'tensor' NPUs; integer, 1 to 4096; default: 1"""
    expert: int | None
    """NPUs over which experts are spread, each with its own sequences; integer, 1 to 4096; default: 1"""
    replicas: int | None
    """replicas of the model, each on its own NPUs, for the same requests; where steps are walked, 64 of all models; integer, 1 to 4096; default: 1"""
    router: Literal["round-robin", "least-work", "prefix"] | None
    """how requests are sent to replicas: round-robin: in turn; least-work: to the one whose unfinished requests have the fewest prompt tokens; prefix: the same plus the request's own, less the prefix that it shares with requests sent there before; name, one of round-robin, least-work, prefix; default: round-robin"""
    prefill: int | None
    """number of replicas, the first ones, that compute only prompts; the others generate, with keys and values sent over the network; 0: all do both; integer, 0 to 4095; default: 0"""
    handover: Literal["whole", "layers"] | None
    """when keys and values are sent with 'prefill': whole: once a prompt is computed; layers: each layer's while later layers are computed, where steps are walked; name, one of whole, layers; default: whole"""
    npus: Sequence[int] | None
    """NPUs on which the model runs, replica by replica and stage by stage; list of integer; default: from 0 on"""
    cores: str | int | float | None
    """cores FIRST-LAST of an NPU, for the policy spatial; text; default: an equal share"""
    target: ServedTenantTarget | None
    background: bool | None
    """requests are sent until all other tenants are served; boolean; default: false"""
    price: float | None
    """price of an NPU per hour, in any currency; number, 0 to 1e+09; default: 0"""
    scaling: ServedTenantScaling | None
    classes: Sequence[ServedTenantClasses] | None
    """classes of requests to a language model, which differ in priority and targets; list"""
    adapters: ServedTenantAdapters | None
    weights: ServedTenantWeights | None
    language_model: LanguageModel | Mapping[str, Any] | str | PathLike[str] | None
    """keys of the workload transformer; mapping"""
    onnx: ServedOnnx | Mapping[str, Any] | None
    """keys of an ONNX model, and data_type; mapping"""
    def __init__(
        self,
        *,
        requests: arrivals.Requests | Mapping[str, Any],
        name: str | int | float | None = ...,
        batching: ServedTenantBatching | None = ...,
        speculation: ServedTenantSpeculation | None = ...,
        tensor: int | None = ...,
        pipeline: int | None = ...,
        expert: int | None = ...,
        replicas: int | None = ...,
        router: Literal["round-robin", "least-work", "prefix"] | None = ...,
        prefill: int | None = ...,
        handover: Literal["whole", "layers"] | None = ...,
        npus: Sequence[int] | None = ...,
        cores: str | int | float | None = ...,
        target: ServedTenantTarget | None = ...,
        background: bool | None = ...,
        price: float | None = ...,
        scaling: ServedTenantScaling | None = ...,
        classes: Sequence[ServedTenantClasses] | None = ...,
        adapters: ServedTenantAdapters | None = ...,
        weights: ServedTenantWeights | None = ...,
        language_model: LanguageModel | Mapping[str, Any] | str | PathLike[str] | None = ...,
        onnx: ServedOnnx | Mapping[str, Any] | None = ...,
    ) -> None: ...

class LanguageModel(Section):
    """Keys of the workload transformer."""

    layers: int
    """layers of the decoder, or of an encoder alone; integer, 1 to 16384"""
    hidden: int
    """width of the residual stream; without head_width, a multiple of heads; integer, 1 to 1048576"""
    sequence: int
    """tokens of a sample; integer, 1 to 16777216"""
    vocabulary: int
    """rows of the word embedding; integer, 1 to 268435456"""
    architecture: Literal["decoder", "encoder", "encoder-decoder"] | None
    """decoder, encoder or encoder-decoder; name, one of decoder, encoder, encoder-decoder; default: decoder"""
    encoder_layers: int | None
    """encoder-decoder only; integer, 1 to 16384; default: layers"""
    heads: int | None
    """attention heads; integer, 1 to 1048576; default: required if layers have attention"""
    kv_heads: int | None
    """heads of keys and values, a divisor of heads; integer, 1 to 1048576; default: heads"""
    head_width: int | None
    """elements of a head's query; integer, 1 to 65536; default: hidden / heads"""
    encoder_sequence: int | None
    """encoder-decoder only; integer, 1 to 16777216; default: sequence"""
    token_types: int | None
    """rows of a second embedding for segments; 0: none; integer, 0 to 1048576; default: 0"""
    positions: Literal["learned", "rotary", "none"] | None
    """learned (a vector for each position), rotary or none; name, one of learned, rotary, none; default: learned"""
    normalisation: Literal["layer_norm", "rms_norm"] | None
    """layer_norm or rms_norm; name, one of layer_norm, rms_norm; default: layer_norm"""
    normalise: Literal["before", "after"] | None
    """before: a norm before each sublayer and one in the head; after: a norm after each sublayer and one after the embedding (BERT); name, one of before, after; default: before"""
    attention: Literal["plain", "eager", "flash"] | None
    """plain: scale, mask and softmax in one kernel; eager: a kernel for each, in fp32; flash: attention weights are never in memory; name, one of plain, eager, flash; default: plain"""
    causal: bool | None
    """flash attention of decoders skips the masked half; boolean; default: false"""
    mlp: Literal["gelu", "relu", "swiglu"] | None
    """gelu, relu or swiglu; name, one of gelu, relu, swiglu; default: gelu"""
    ffn: int | None
    """hidden width of the MLP; integer, 1 to 16777216; default: 4 * hidden"""
    head: Literal["language_model", "bert", "pooler", "none"] | None
    """language_model, bert, pooler or none; name, one of language_model, bert, pooler, none; default: language_model; none for an encoder alone"""
    tie_embeddings: bool | None
    """the head uses the word embedding's weights; boolean; default: true"""
    biases: bool | None
    """the products of attention and MLP have biases; boolean; default: true"""
    query_key_norms: bool | None
    """self-attention normalises each head's queries and keys, before positions (Qwen 3, Gemma 3); boolean; default: false"""
    dropout: bool | None
    """in training, dropout masks are computed and kept; boolean; default: true"""
    loss: Literal["plain", "fused", "eager"] | None
    """plain: one operation at a time over logits in fp32; fused: one kernel each forward and backward; eager: in fp32 and nothing in place, as PyTorch's cross_entropy; name, one of plain, fused, eager; default: plain"""
    loss_metrics: int | None
    """additional losses over the same logits, without gradients, in fp32 as PyTorch's cross_entropy: metrics that a framework logs for each batch; integer, 0 to 4; default: 0"""
    join_gradients: bool | None
    """gradients of queries, keys and values are computed separately, then joined for the product that computed all three (PyTorch's split and chunk); boolean; default: false"""
    bias_gradients: Literal["fused", "apart"] | None
    """in training, gradients of the biases of self-attention and of MLPs without experts: fused: computed with those of weights; apart: by separate kernels that read the gradients of outputs again (PyTorch's sums); name, one of fused, apart; default: fused"""
    layout_copies: Literal["none", "context", "layers"] | None
    """what is copied into another layout; context: the output of plain or eager attention, from heads to rows of tokens (Megatron-LM); layers: also the input and output of each layer, between samples first and tokens first, and the incoming gradient (profiles of single layers); name, one of none, context, layers; default: none"""
    product_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "mxfp8"] | None
    """type to which the inputs of a layer's products with weights are cast before each product; mxfp8: fp8 in blocks of 32 that share a scale of 1 B; name, one of fp64, fp32, tf32, fp16, bf16, fp8, int8, mxfp8; default: data_type"""
    product_group_size: int | None
    """adjacent elements in product_type that share a scale; for weights, the side of a square of elements; none: no scales except those of mxfp8; integer, 1 to 65536; default: none"""
    product_scale: str | None
    """size of the scale of a group, with product_group_size; size, 1 B to 8 B; default: 4 B"""
    pattern: Sequence[str | int | float] | None
    """kinds of the layers of a decoder, repeated over all of them: attention, local or ssm, each followed by an MLP or experts; attention-alone, local-alone, ssm-alone or mlp-alone; empty: attention; list of text; default: []"""
    window: int | None
    """tokens that a token of a local layer sees, including itself; integer, 0 to 16777216; default: 0"""
    latent: LanguageModelLatent | None
    ssm: LanguageModelSsm | None
    experts: LanguageModelExperts | None
    batch: int | None
    """samples of one step, over all replicas; integer, 1 to 4294967296"""
    mode: Literal["training", "inference"] | None
    """training or inference; name, one of training, inference; default: training"""
    data_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None
    """type of weights, activations and gradients; name, one of fp64, fp32, tf32, fp16, bf16, fp8, int8; default: fp16"""
    optimizer: Literal["adam", "sgd"] | None
    """adam or sgd; has no effect in inference, nor have the keys below; name, one of adam, sgd; default: adam"""
    update: Literal["fused", "eager"] | None
    """fused: one kernel reads and writes everything once; eager: one operation at a time in fp32, after gradient clipping by norm; name, one of fused, eager; default: fused"""
    gradient_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None
    """type in which weight gradients are kept and accumulated; name, one of fp64, fp32, tf32, fp16, bf16, fp8, int8; default: data_type"""
    master_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None
    """type of the weights that the optimizer updates; if no wider than data_type, weights are updated in place; name, one of fp64, fp32, tf32, fp16, bf16, fp8, int8; default: fp32; data_type if that is wider"""
    moment_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None
    """type in which both moments of adam are kept; name, one of fp64, fp32, tf32, fp16, bf16, fp8, int8; default: fp32; data_type if that is wider"""
    kind: Literal["transformer"] | None
    """kind, as in a workload, so that the file of a workload can be named; name, one of transformer; default: transformer"""
    name: str | int | float | None
    """title; text; default: the kind"""
    def __init__(
        self,
        *,
        layers: int,
        hidden: int,
        sequence: int,
        vocabulary: int,
        architecture: Literal["decoder", "encoder", "encoder-decoder"] | None = ...,
        encoder_layers: int | None = ...,
        heads: int | None = ...,
        kv_heads: int | None = ...,
        head_width: int | None = ...,
        encoder_sequence: int | None = ...,
        token_types: int | None = ...,
        positions: Literal["learned", "rotary", "none"] | None = ...,
        normalisation: Literal["layer_norm", "rms_norm"] | None = ...,
        normalise: Literal["before", "after"] | None = ...,
        attention: Literal["plain", "eager", "flash"] | None = ...,
        causal: bool | None = ...,
        mlp: Literal["gelu", "relu", "swiglu"] | None = ...,
        ffn: int | None = ...,
        head: Literal["language_model", "bert", "pooler", "none"] | None = ...,
        tie_embeddings: bool | None = ...,
        biases: bool | None = ...,
        query_key_norms: bool | None = ...,
        dropout: bool | None = ...,
        loss: Literal["plain", "fused", "eager"] | None = ...,
        loss_metrics: int | None = ...,
        join_gradients: bool | None = ...,
        bias_gradients: Literal["fused", "apart"] | None = ...,
        layout_copies: Literal["none", "context", "layers"] | None = ...,
        product_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "mxfp8"] | None = ...,
        product_group_size: int | None = ...,
        product_scale: str | None = ...,
        pattern: Sequence[str | int | float] | None = ...,
        window: int | None = ...,
        latent: LanguageModelLatent | None = ...,
        ssm: LanguageModelSsm | None = ...,
        experts: LanguageModelExperts | None = ...,
        batch: int | None = ...,
        mode: Literal["training", "inference"] | None = ...,
        data_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None = ...,
        optimizer: Literal["adam", "sgd"] | None = ...,
        update: Literal["fused", "eager"] | None = ...,
        gradient_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None = ...,
        master_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None = ...,
        moment_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None = ...,
        kind: Literal["transformer"] | None = ...,
        name: str | int | float | None = ...,
    ) -> None: ...

class ServedOnnx(Section):
    """Keys of an ONNX model, and data_type."""

    model: str | PathLike[str]
    """ONNX file; file"""
    dimensions: Mapping[str, Any] | None
    """sizes of dynamic dimensions, by name or INPUT.AXIS; mapping; default: none"""
    shapes: Mapping[str, Any] | None
    """complete shapes of inputs, by name; mapping; default: those in the file"""
    values: Mapping[str, Any] | None
    """values of inputs that determine shapes or branches; mapping; default: none"""
    branches: Mapping[str, Any] | None
    """branch taken, then or else, by name of the If node or "*"; mapping; default: by the condition"""
    loops: Mapping[str, Any] | None
    """number of iterations, by name of the Loop node or "*"; mapping; default: as the file says"""
    optimize: Literal["none", "basic", "extended", "all"] | None
    """level of graph optimizations: none, basic, extended or all; name, one of none, basic, extended, all; default: none"""
    unknown: Literal["refuse", "traffic"] | None
    """refuse: an unknown operator is an error; traffic: it counts as memory traffic only; name, one of refuse, traffic; default: refuse"""
    data_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "model"] | None
    """type of floating-point numbers; model: as in the model; name, one of fp64, fp32, tf32, fp16, bf16, fp8, int8, model; default: model"""
    batch: str | int | float | None
    """name of the model's dimension for the samples of a batch; text"""
    def __init__(
        self,
        *,
        model: str | PathLike[str],
        dimensions: Mapping[str, Any] | None = ...,
        shapes: Mapping[str, Any] | None = ...,
        values: Mapping[str, Any] | None = ...,
        branches: Mapping[str, Any] | None = ...,
        loops: Mapping[str, Any] | None = ...,
        optimize: Literal["none", "basic", "extended", "all"] | None = ...,
        unknown: Literal["refuse", "traffic"] | None = ...,
        data_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "model"] | None = ...,
        batch: str | int | float | None = ...,
    ) -> None: ...

class Tenant(Section):
    """Each a mapping."""

    name: str | int | float
    """title, without commas and slashes; text"""
    tiles: Any
    """tiles of the tenant: a list of tiles, ranges and rectangles, a type of tiles, or all; list or name"""
    workload: workloads.Workload | Mapping[str, Any] | str | PathLike[str]
    """what is computed; mapping"""
    start: str | None
    """time at which the tenant begins; time, at least 0 ps; default: 0 ps"""
    iterations: int | None
    """number of iterations; requests are served once; integer, 1 to 1000000; default: run.iterations"""
    strategy: Strategy | Mapping[str, Any] | str | PathLike[str] | None
    """how the workload is cut and placed on the machine; mapping"""
    execution: Execution | Mapping[str, Any] | None
    """how graphs are executed; mapping"""
    def __init__(
        self,
        *,
        name: str | int | float,
        tiles: Any,
        workload: workloads.Workload | Mapping[str, Any] | str | PathLike[str],
        start: str | None = ...,
        iterations: int | None = ...,
        strategy: Strategy | Mapping[str, Any] | str | PathLike[str] | None = ...,
        execution: Execution | Mapping[str, Any] | None = ...,
    ) -> None: ...

class Strategy(Section):
    """How the workload is cut and placed on the machine."""

    pipeline: int | None
    """stages of the pipeline; integer, 1 to 2147483647; default: 1"""
    tensor: int | None
    """tensor-parallel degree; integer, 1 to 2147483647; default: 1"""
    data: int | None
    """data-parallel degree; integer, 1 to 2147483647; default: 1"""
    context: int | None
    """context-parallel degree: parts into which the tokens of a sample are cut; integer, 1 to 2147483647; default: 1"""
    expert: int | None
    """expert-parallel degree: replicas (of data * context) over which experts are distributed; integer, 1 to 2147483647; default: 1"""
    sequence_parallel: bool | None
    """cut along the tokens what tensor parallelism leaves whole; boolean; default: false"""
    micro_batch: int | None
    """size of a micro-batch in one replica; integer, 1 to 2147483647; default: 1"""
    chunks: int | None
    """chunks of layers in each stage; integer, 1 to 2147483647; default: 1"""
    schedule: Literal["1f1b", "dualpipe", "dualpipe-v", "gpipe", "interleaved", "layer-wise", "streaming", "zb-h1", "zb-v"] | None
    """order of forward and backward passes, and placement of chunks; default with chunks: interleaved; in inference: streaming; name, one of 1f1b, dualpipe, dualpipe-v, gpipe, interleaved, layer-wise, streaming, zb-h1, zb-v; default: 1f1b"""
    order: Sequence[str | int | float] | None
    """instead of schedule: for each stage a text with its passes in order; list of text; default: []"""
    recompute: Literal["none", "selective", "full", "alternate"] | None
    """what the backward pass recomputes: none; selective: what is cheap for the memory it saves; full: all but the layers' inputs; alternate: all but these and the results of attention and of every other product; name, one of none, selective, full, alternate; default: none"""
    zero: int | None
    """what is sharded over the replicas: 1: optimizer state; 2: also gradients; 3: also weights; integer, 0 to 3; default: 0"""
    shard: int | None
    """replicas (of data * context) in a sharding group of zero; gradients are also summed over the groups (hybrid sharding); 0: all; integer, 0 to 2147483647; default: 0"""
    shard_members: Literal["near", "across"] | None
    """members of a group of shard: near: consecutive replicas (a server); across: replicas whose distance is the number of groups (the same position in each server: a rail); name, one of near, across; default: near"""
    prefetch: Literal["both", "forward", "none"] | None
    """with zero 3: passes that gather a layer's weights while the layer before it is computed: both, forward or none; in other passes the gather begins when that layer has ended; name, one of both, forward, none; default: both"""
    prefetch_layers: int | None
    """with prefetch and gather layer: layers whose weights are gathered or in flight while one is computed; 1 is the bound of FSDP's limit_all_gathers; integer, 1 to 16; default: 1"""
    scatter: Literal["each", "run"] | None
    """with zero 2 and 3: each: gradients are scattered after each micro-batch; run: accumulated whole over consecutive micro-batches of a chunk (interleaved: as many as stages), then scattered; name, one of each, run; default: each"""
    gather: Literal["layer", "operator"] | None
    """with zero 3: weights are gathered by layer (FSDP) or by operator (DeepSpeed's parameters), each in its own collective; name, one of layer, operator; default: layer"""
    keep_below: int | None
    """with gather operator: operators with fewer parameters are kept on every replica and not gathered; integer, at least 0; default: 0"""
    reuse_distance: int | None
    """with gather operator: operators with more parameters than this between recomputation and backward pass are gathered for each of the two; integer, at least 0; default: 9223372036854775807"""
    list_copies: float | None
    """with gather operator: memory traffic for each byte of weights gathered and gradients reduced, where a framework copies between tensors and communication buffers; number, 0 to 100; default: 0"""
    keep_apart: bool | None
    """with keep_below: gradients of what is kept are reduced tensor by tensor; each replica updates a part, and then all of it is gathered and copied tensor by tensor; boolean; default: false"""
    gradient_copies: float | None
    """with zero 2 and 3: memory traffic for each byte of gradients before they are reduced, where a framework joins them in one buffer; number, 0 to 100; default: 0"""
    overlap_gradients: bool | None
    """reduce gradients of a layer during the backward pass of earlier layers; boolean; default: false"""
    overlap_tensor: bool | None
    """reduce the gradient of inputs while that of weights is computed; with sequence_parallel, gather an input while its gradient is computed; boolean; default: false"""
    overlap_passes: bool | None
    """with schedules dualpipe and dualpipe-v: a forward pass and the backward pass after it alternate, so that tokens of one travel to experts while the other computes; boolean; default: false"""
    async_tensor: bool | None
    """with sequence_parallel, else no effect: gather and scatter along the tokens piece by piece, overlapped with the adjacent products; boolean; default: false"""
    boundary: Literal["full", "scattered", "broadcast", "reduced"] | None
    """full: each shard sends the whole boundary activation; scattered: each sends its part, and the next stage gathers them; broadcast: adapters send it, and the receiving ones broadcast it; reduced: adapters send sums over parts of the group, which the next stage adds up; name, one of full, scattered, broadcast, reduced; default: full"""
    adapters: int | None
    """adapters in a tensor group, with boundary broadcast or reduced; integer, 1 to 2147483647; default: 1"""
    sharding: Mapping[str, StrategySharding] | Sequence[Any] | None
    """explicit parallelism of operators: {operator: {samples, rows, columns, depth}}; mapping"""
    sram: Literal["resident", "algorithm-1"] | None
    """what streams from DRAM where SRAM is too small: resident: what is kept from pass to pass; algorithm-1: all operands of an operator, as in PALM's Algorithm 1; name, one of resident, algorithm-1; default: resident"""
    capacity: Literal["check", "ignore"] | None
    """check: SRAM and DRAM must be large enough; ignore: run even if they are too small; name, one of check, ignore; default: check"""
    aggregation: Literal["none", "tensor", "stage"] | None
    """tensor or stage: one tile represents its tensor group or its stage; none: every tile is simulated; name, one of none, tensor, stage; default: none"""
    collectives: StrategyCollectives | None
    offload: StrategyOffload | None
    software: StrategySoftware | None
    wires: StrategyWires | None
    placement: StrategyPlacement | None
    def __init__(
        self,
        *,
        pipeline: int | None = ...,
        tensor: int | None = ...,
        data: int | None = ...,
        context: int | None = ...,
        expert: int | None = ...,
        sequence_parallel: bool | None = ...,
        micro_batch: int | None = ...,
        chunks: int | None = ...,
        schedule: Literal["1f1b", "dualpipe", "dualpipe-v", "gpipe", "interleaved", "layer-wise", "streaming", "zb-h1", "zb-v"] | None = ...,
        order: Sequence[str | int | float] | None = ...,
        recompute: Literal["none", "selective", "full", "alternate"] | None = ...,
        zero: int | None = ...,
        shard: int | None = ...,
        shard_members: Literal["near", "across"] | None = ...,
        prefetch: Literal["both", "forward", "none"] | None = ...,
        prefetch_layers: int | None = ...,
        scatter: Literal["each", "run"] | None = ...,
        gather: Literal["layer", "operator"] | None = ...,
        keep_below: int | None = ...,
        reuse_distance: int | None = ...,
        list_copies: float | None = ...,
        keep_apart: bool | None = ...,
        gradient_copies: float | None = ...,
        overlap_gradients: bool | None = ...,
        overlap_tensor: bool | None = ...,
        overlap_passes: bool | None = ...,
        async_tensor: bool | None = ...,
        boundary: Literal["full", "scattered", "broadcast", "reduced"] | None = ...,
        adapters: int | None = ...,
        sharding: Mapping[str, StrategySharding] | Sequence[Any] | None = ...,
        sram: Literal["resident", "algorithm-1"] | None = ...,
        capacity: Literal["check", "ignore"] | None = ...,
        aggregation: Literal["none", "tensor", "stage"] | None = ...,
        collectives: StrategyCollectives | None = ...,
        offload: StrategyOffload | None = ...,
        software: StrategySoftware | None = ...,
        wires: StrategyWires | None = ...,
        placement: StrategyPlacement | None = ...,
    ) -> None: ...

class Execution(Section):
    """How graphs are executed."""

    times: Literal["model", "recorded"] | None
    """times of nodes that compute: from the model, or as recorded in the trace; name, one of model, recorded; default: model"""
    sends: Literal["eager", "delivered"] | None
    """when sends complete: eager: at once; delivered: after the time of their message, occupying the lane of collectives; name, one of eager, delivered; default: eager"""
    remote: ExecutionRemote | None
    data_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None
    """type of work for which a graph states no type; name, one of fp64, fp32, tf32, fp16, bf16, fp8, int8; default: fp16; with a strategy, that of its workload"""
    window: int | None
    """nodes of an NPU that are read at a time; more where dependencies require it; integer, 1 to 1000000; default: 512"""
    lanes: ExecutionLanes | None
    collectives: ExecutionCollectives | None
    def __init__(
        self,
        *,
        times: Literal["model", "recorded"] | None = ...,
        sends: Literal["eager", "delivered"] | None = ...,
        remote: ExecutionRemote | None = ...,
        data_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None = ...,
        window: int | None = ...,
        lanes: ExecutionLanes | None = ...,
        collectives: ExecutionCollectives | None = ...,
    ) -> None: ...

class RunOptions(Section):
    """How the experiment is simulated."""

    iterations: int | None
    """training steps to simulate; integer, 1 to 1000000; default: 1"""
    trace: Literal["none", "summary", "full"] | None
    """how much is traced: none, summary or full; name, one of none, summary, full; default: summary"""
    bins: int | None
    """target number of time bins of links and channels; integer, 1 to 100000; default: 64"""
    bin: str | None
    """length of a bin, instead of bins; time, at least 1 ps; default: from bins"""
    partition: Literal["auto", "blocks", "columns", "communicators", "groups", "metis", "npus", "replicas", "servers", "stages", "stages-replicas", "stripes", "tenants", "traffic"] | None
    """how the machine is partitioned over ranks; name, one of auto, blocks, columns, communicators, groups, metis, npus, replicas, servers, stages, stages-replicas, stripes, tenants, traffic; default: auto"""
    idle_ranks: bool | None
    """with partition auto: leave ranks idle that would not make the run faster; boolean; default: true"""
    weights: str | int | float | None
    """source of the weights of nodes in a partition: none, predicted, or the folder of an earlier run; text; default: predicted"""
    synchronization: Literal["null-message", "promise", "window"] | None
    """how ranks are synchronised: promise, window or null-message; name, one of null-message, promise, window; default: promise"""
    replay: Literal["none", "exact"] | None
    """exact: micro-batches that repeat previous ones are not simulated; none: all are simulated; name, one of none, exact; default: none"""
    def __init__(
        self,
        *,
        iterations: int | None = ...,
        trace: Literal["none", "summary", "full"] | None = ...,
        bins: int | None = ...,
        bin: str | None = ...,
        partition: Literal["auto", "blocks", "columns", "communicators", "groups", "metis", "npus", "replicas", "servers", "stages", "stages-replicas", "stripes", "tenants", "traffic"] | None = ...,
        idle_ranks: bool | None = ...,
        weights: str | int | float | None = ...,
        synchronization: Literal["null-message", "promise", "window"] | None = ...,
        replay: Literal["none", "exact"] | None = ...,
    ) -> None: ...
