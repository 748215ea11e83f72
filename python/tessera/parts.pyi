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
    """What is simulated."""

    topology: topologies.Topology | Mapping[str, Any]
    """nodes and links; mapping"""
    name: str | int | float | None
    """title; text; default: machine"""
    tile: Tile | Mapping[str, Any] | None
    """what each computing node can do; mapping"""
    types: Mapping[str, TileType | Mapping[str, Any]] | None
    """tiles of several types, by name; mapping"""
    dram: Dram | Mapping[str, Any] | None
    """memory channels; mapping"""
    faults: Faults | Mapping[str, Any] | None
    """slow and dead links, slow nodes; mapping"""
    power: Power | Mapping[str, Any] | None
    """what a device draws; mapping"""
    framework: Framework | Mapping[str, Any] | None
    """what software takes of a device's memory; mapping"""
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
    """access to nodes of kind memory, by lines; mapping"""
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
    """What each computing node can do."""

    peak: Mapping[str, Any]
    """a mapping from data types to dense rates; types: fp64, fp32, tf32, fp16, bf16, fp8, int8, mxfp8; mapping"""
    efficiency: float | str | None
    """share of the peak that is reached, by all operators; fraction, at least 1e-06; default: 1"""
    sram: str | None
    """capacity; 0: not stated, all fits; size; default: 0 B"""
    sram_bandwidth: str | None
    """to the core; 0: never the limit; bandwidth; default: 0 B/s"""
    operands: Literal["sram", "dram"] | None
    """sram; or dram: in the tile's own DRAM channel while operations run; name, one of sram, dram; default: sram"""
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
    """a mapping from data types to dense rates; types: fp64, fp32, tf32, fp16, bf16, fp8, int8, mxfp8; mapping; default: as of tile, without a peak"""
    efficiency: float | str | None
    """share of the peak that is reached, by all operators; fraction, at least 1e-06; default: as of tile, without a peak"""
    sram: str | None
    """capacity; 0: not stated, all fits; size; default: as of tile, without a peak"""
    sram_bandwidth: str | None
    """to the core; 0: never the limit; bandwidth; default: as of tile, without a peak"""
    operands: Literal["sram", "dram"] | None
    """sram; or dram: in the tile's own DRAM channel while operations run; name, one of sram, dram; default: as of tile, without a peak"""
    nodes: Sequence[str | int | float] | None
    """numbers or names of tiles that are of this type; list of text; default: none"""
    dram: TileTypeDram | Mapping[str, Any] | None
    """their own channels, with 'dram: {at: each}'; mapping"""
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
    """edge, each (computing node), memories (nodes of that kind), nodes (listed) or none; name, one of edge, each, memories, nodes, none"""
    edges: Sequence[str] | None
    """for edge: some of west, east, north, south; list of name"""
    nodes: Sequence[str | int | float] | None
    """for nodes: numbers or names of nodes; list of text"""
    bandwidth: str | None
    """of one channel, shared by reads and writes; bandwidth, at least 1 B/s"""
    latency: str | None
    """response of an idle channel; time, at least 0 ps"""
    capacity: str | None
    """of one channel; 0: not stated; size; default: 0 B"""
    memories: DramMemories | Mapping[str, Any] | None
    """for each: bandwidth and latency of a channel at each node of kind memory as well; mapping"""
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
    """What a device draws."""

    idle: float | None
    """of a device at rest; number, 0 to 1e+06; default: 0"""
    compute: float | None
    """beyond that, while it computes; number, 0 to 1e+06; default: 0"""
    memory: float | None
    """beyond that, at its memory's peak bandwidth; number, 0 to 1e+06; default: 0"""
    link: float | None
    """beyond that, while it waits for messages; number, 0 to 1e+06; default: 0"""
    host: float | None
    """of the server, the device's part; number, 0 to 1e+06; default: 0"""
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
    """What software takes of a device's memory."""

    context: str | None
    """of the driver and the framework, beside tensors; size; default: 0 B"""
    communicator: str | None
    """buffers of each group of devices that a device communicates in; size; default: 0 B"""
    block: str | None
    """that the allocator rounds what it holds up to; 0: to nothing; size; default: 0 B"""
    fragmentation: float | str | None
    """of what the allocator holds, that no tensor can use; fraction; default: 0"""
    pools: Literal["shared", "by_stream"] | None
    """of the allocator: shared; by_stream: what is gathered and scattered keeps what it once held; name, one of shared, by_stream; default: shared"""
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
    """of the link between a device and its host, each way; bandwidth, at least 1 B/s"""
    latency: str | None
    """of a copy between them; time, at least 0 ps; default: 0 ps"""
    memory: str | None
    """of the host, for all its devices; 0: any; size; default: 0 B"""
    devices: int | None
    """that share the host; integer, 1 to 1048576; default: 1"""
    memory_bandwidth: str | None
    """of the host's memory, shared by what its devices copy both ways; 0: never the limit; bandwidth; default: 0 B/s"""
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
    """Access to nodes of kind memory, by lines."""

    line: str | None
    """of access and of coherence; size, 16 B to 1 MiB; default: 64 B"""
    outstanding: int | None
    """lines of an NPU under way at once, of all its accesses; integer, 1 to 1000000000; default: none"""
    device_latency: str | None
    """from request to data at the device; time, at least 0 ps; default: 0 ps"""
    flit: Literal["none", "68 B", "256 B"] | None
    """none, 68 B or 256 B, as CXL's; name, one of none, 68 B, 256 B; default: none"""
    headers: int | None
    """of messages, in one slot of a flit; integer, 1 to 4; default: 1"""
    reads: float | str | None
    """share of the lines of a load; the others are written; fraction; default: 1"""
    sharers: float | None
    """other caches that have a line, in the mean; number, 0 to 1000; default: 0"""
    dirty: float | str | None
    """share of lines that another cache has changed; fraction; default: 0"""
    filter_miss: float | str | None
    """share of lines that the snoop filter has lost; fraction; default: 0"""
    hit_rate: float | str | None
    """share of the bytes that local memory has; fraction; default: 0"""
    used_of_line: float | str | None
    """share of a line that is used; fraction, 1e-06 to 1; default: 1"""
    piece: str | None
    """that one message asks for at most, of a device with a channel; size, 64 B to 4 MiB; default: 4 KiB, a line at least"""
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
    """kind of arrivals, with its keys beside; mapping"""
    name: str | int | float | None
    """of the served model, without comma and slash; text; default: kind and place"""
    batching: ServedTenantBatching | None
    speculation: ServedTenantSpeculation | None
    tensor: int | None
    """NPUs that share each layer; integer, 1 to 4096; default: 1"""
    pipeline: int | None
    """stages, each of that many NPUs; integer, 1 to 4096; default: 1"""
    expert: int | None
    """NPUs that experts are spread over, each with sequences of its own; integer, 1 to 4096; default: 1"""
    replicas: int | None
    """of the model, each on NPUs of its own, for the same requests; where steps are walked, 64 of all models; integer, 1 to 4096; default: 1"""
    router: Literal["round-robin", "least-work", "prefix"] | None
    """of requests to replicas; least-work: whose unfinished requests have the fewest tokens of prompts; prefix: the same with the request's own, but for the beginning that requests sent there before share with it; name, one of round-robin, least-work, prefix; default: round-robin"""
    prefill: int | None
    """of the replicas, the first ones, which compute prompts alone; the others generate, with keys and values that come over the network; 0: all do both; integer, 0 to 4095; default: 0"""
    handover: Literal["whole", "layers"] | None
    """of keys and values with 'prefill'; whole: once a prompt is computed; layers: each layer's while later ones are computed, with steps that are walked; name, one of whole, layers; default: whole"""
    npus: Sequence[int] | None
    """NPUs that the model runs on, replica by replica, stage by stage; list of integer; default: from 0 on"""
    cores: str | int | float | None
    """FIRST-LAST of an NPU, for the policy spatial; text; default: an even part"""
    target: ServedTenantTarget | None
    background: bool | None
    """asks as long as others are not served; boolean; default: false"""
    price: float | None
    """of an NPU for an hour, in any currency; number, 0 to 1e+09; default: 0"""
    scaling: ServedTenantScaling | None
    classes: Sequence[ServedTenantClasses] | None
    """of requests to a language model, which differ in priority and targets; list"""
    adapters: ServedTenantAdapters | None
    weights: ServedTenantWeights | None
    language_model: LanguageModel | Mapping[str, Any] | str | PathLike[str] | None
    """keys of the workload transformer; mapping"""
    onnx: ServedOnnx | Mapping[str, Any] | None
    """keys of a model of ONNX, and data_type; mapping"""
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
    """of the decoder, or of an encoder alone; integer, 1 to 16384"""
    hidden: int
    """width of the residual stream, without head_width a multiple of heads; integer, 1 to 1048576"""
    sequence: int
    """tokens a sample; integer, 1 to 16777216"""
    vocabulary: int
    """rows of the word embedding; integer, 1 to 268435456"""
    architecture: Literal["decoder", "encoder", "encoder-decoder"] | None
    """decoder, encoder or encoder-decoder; name, one of decoder, encoder, encoder-decoder; default: decoder"""
    encoder_layers: int | None
    """encoder-decoder only; integer, 1 to 16384; default: layers"""
    heads: int | None
    """attention heads; integer, 1 to 1048576; default: must be given where layers have attention"""
    kv_heads: int | None
    """heads of keys and values, a divisor of heads; integer, 1 to 1048576; default: heads"""
    head_width: int | None
    """elements of a head's query; integer, 1 to 65536; default: hidden / heads"""
    encoder_sequence: int | None
    """encoder-decoder only; integer, 1 to 16777216; default: sequence"""
    token_types: int | None
    """rows of a second embedding for segments; 0: none; integer, 0 to 1048576; default: 0"""
    positions: Literal["learned", "rotary", "none"] | None
    """learned (a vector each), rotary or none; name, one of learned, rotary, none; default: learned"""
    normalisation: Literal["layer_norm", "rms_norm"] | None
    """layer_norm or rms_norm; name, one of layer_norm, rms_norm; default: layer_norm"""
    normalise: Literal["before", "after"] | None
    """before each part, with a last one in the head, or after it, with one after the embedding (as BERT); name, one of before, after; default: before"""
    attention: Literal["plain", "eager", "flash"] | None
    """plain: scale, mask and softmax in one kernel; eager: each on its own, in fp32; flash: attention weights are never in memory; name, one of plain, eager, flash; default: plain"""
    causal: bool | None
    """flash attention of decoders skips the masked half; boolean; default: false"""
    mlp: Literal["gelu", "relu", "swiglu"] | None
    """gelu, relu or swiglu; name, one of gelu, relu, swiglu; default: gelu"""
    ffn: int | None
    """width inside the MLP; integer, 1 to 16777216; default: 4 * hidden"""
    head: Literal["language_model", "bert", "pooler", "none"] | None
    """language_model, bert, pooler or none; name, one of language_model, bert, pooler, none; default: language_model; none of an encoder alone"""
    tie_embeddings: bool | None
    """the head uses the word embedding's weights; boolean; default: true"""
    biases: bool | None
    """the products of attention and MLP have biases; boolean; default: true"""
    query_key_norms: bool | None
    """self-attention has norms of each head's queries and keys, before positions (Qwen 3, Gemma 3); boolean; default: false"""
    dropout: bool | None
    """in training, masks of dropout are computed and kept; boolean; default: true"""
    loss: Literal["plain", "fused", "eager"] | None
    """plain: an operation at a time over logits in fp32; fused: one kernel each way; eager: in fp32 and nothing in place, as PyTorch's cross_entropy; name, one of plain, fused, eager; default: plain"""
    loss_metrics: int | None
    """losses over the same logits beside the loss, without gradients, in fp32 as PyTorch's cross_entropy: what a framework logs of each batch; integer, 0 to 4; default: 0"""
    join_gradients: bool | None
    """gradients of queries, keys and values are made one by one, and put together for the product that made all three (PyTorch's split and chunk); boolean; default: false"""
    bias_gradients: Literal["fused", "apart"] | None
    """in training, gradients of biases come with those of weights, or are kernels of their own that read gradients of outputs once more (PyTorch's sums): those of self-attention and of MLPs without experts; name, one of fused, apart; default: fused"""
    layout_copies: Literal["none", "context", "layers"] | None
    """what is copied into another layout; context: what plain or eager attention gives, from heads to rows of tokens (Megatron-LM); layers: input and output of each layer too, between samples first and tokens first, and the gradient that comes (profiles of single layers); name, one of none, context, layers; default: none"""
    product_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "mxfp8"] | None
    """of the inputs of a layer's products with weights, cast to it before each; mxfp8: fp8 in blocks of 32 that share a scale of 1 B; name, one of fp64, fp32, tf32, fp16, bf16, fp8, int8, mxfp8; default: data_type"""
    product_group_size: int | None
    """neighbours in product_type that share a scale, of weights the side of a square of them; none: no scales but those of mxfp8; integer, 1 to 65536; default: none"""
    product_scale: str | None
    """of a group, with product_group_size; size, 1 B to 8 B; default: 4 B"""
    pattern: Sequence[str | int | float] | None
    """of a decoder: what its layers are, repeated over all of them: attention, local or ssm, each with an MLP or experts behind it; attention-alone, local-alone, ssm-alone or mlp-alone; empty: attention; list of text; default: []"""
    window: int | None
    """tokens that a token of a local layer sees, itself too; integer, 0 to 16777216; default: 0"""
    latent: LanguageModelLatent | None
    ssm: LanguageModelSsm | None
    experts: LanguageModelExperts | None
    batch: int | None
    """samples of one step over all replicas; integer, 1 to 4294967296"""
    mode: Literal["training", "inference"] | None
    """training or inference; name, one of training, inference; default: training"""
    data_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None
    """of weights, activations and gradients; name, one of fp64, fp32, tf32, fp16, bf16, fp8, int8; default: fp16"""
    optimizer: Literal["adam", "sgd"] | None
    """adam or sgd; of no effect in inference, as those below; name, one of adam, sgd; default: adam"""
    update: Literal["fused", "eager"] | None
    """fused: one kernel reads and writes everything once; eager: an operation at a time in fp32, gradients clipped by their norm before; name, one of fused, eager; default: fused"""
    gradient_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None
    """of the gradients of weights as they are kept and added up; name, one of fp64, fp32, tf32, fp16, bf16, fp8, int8; default: data_type"""
    master_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None
    """of the weights that the optimizer updates; no wider than data_type: these themselves; name, one of fp64, fp32, tf32, fp16, bf16, fp8, int8; default: fp32; data_type where that is wider"""
    moment_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None
    """of both moments of adam as they are kept; name, one of fp64, fp32, tf32, fp16, bf16, fp8, int8; default: fp32; data_type where that is wider"""
    kind: Literal["transformer"] | None
    """as of a workload, so that its file can be named; name, one of transformer; default: transformer"""
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
    """Keys of a model of ONNX, and data_type."""

    model: str | PathLike[str]
    """ONNX file; file"""
    dimensions: Mapping[str, Any] | None
    """sizes of dynamic dimensions, by name or INPUT.AXIS; mapping; default: none"""
    shapes: Mapping[str, Any] | None
    """whole shapes of inputs, by name; mapping; default: those in the file"""
    values: Mapping[str, Any] | None
    """values of inputs that decide about shapes or branches; mapping; default: none"""
    branches: Mapping[str, Any] | None
    """then or else, by name of the If node or "*"; mapping; default: by the condition"""
    loops: Mapping[str, Any] | None
    """iterations, by name of the Loop node or "*"; mapping; default: as the file says"""
    optimize: Literal["none", "basic", "extended", "all"] | None
    """none, basic, extended or all; name, one of none, basic, extended, all; default: none"""
    unknown: Literal["refuse", "traffic"] | None
    """refuse operators that are not understood, or take them as memory traffic; name, one of refuse, traffic; default: refuse"""
    data_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "model"] | None
    """of floating-point numbers; model: as the model has them; name, one of fp64, fp32, tf32, fp16, bf16, fp8, int8, model; default: model"""
    batch: str | int | float | None
    """dimension of the model that the samples of a batch are; text"""
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
    """title, without comma and slash; text"""
    tiles: Any
    """a list of tiles, ranges and rectangles, a type of tiles, or all; list or name"""
    workload: workloads.Workload | Mapping[str, Any] | str | PathLike[str]
    """what is computed; mapping"""
    start: str | None
    """when it begins; time, at least 0 ps; default: 0 ps"""
    iterations: int | None
    """how often; requests are served once; integer, 1 to 1000000; default: run.iterations"""
    strategy: Strategy | Mapping[str, Any] | str | PathLike[str] | None
    """how the work is cut and laid out; mapping"""
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
    """How the work is cut and laid out."""

    pipeline: int | None
    """stages of the pipeline; integer, 1 to 2147483647; default: 1"""
    tensor: int | None
    """tensor-parallel degree; integer, 1 to 2147483647; default: 1"""
    data: int | None
    """data-parallel degree; integer, 1 to 2147483647; default: 1"""
    context: int | None
    """parts that the tokens of a sample are cut in; integer, 1 to 2147483647; default: 1"""
    expert: int | None
    """replicas (of data * context) that share out the experts; integer, 1 to 2147483647; default: 1"""
    sequence_parallel: bool | None
    """cut what tensor parallelism leaves whole along the tokens; boolean; default: false"""
    micro_batch: int | None
    """size of a micro-batch in one replica; integer, 1 to 2147483647; default: 1"""
    chunks: int | None
    """chunks of layers a stage holds; integer, 1 to 2147483647; default: 1"""
    schedule: Literal["1f1b", "dualpipe", "dualpipe-v", "gpipe", "interleaved", "layer-wise", "streaming", "zb-h1", "zb-v"] | None
    """order of forward and backward passes, and how chunks lie; with chunks: interleaved; in inference: streaming; name, one of 1f1b, dualpipe, dualpipe-v, gpipe, interleaved, layer-wise, streaming, zb-h1, zb-v; default: 1f1b"""
    order: Sequence[str | int | float] | None
    """instead: the passes of each stage, as text; list of text; default: []"""
    recompute: Literal["none", "selective", "full", "alternate"] | None
    """none; selective: what is cheap for the memory it saves; full: all but the layers' inputs; alternate: all but these and the results of attention and of every other product; name, one of none, selective, full, alternate; default: none"""
    zero: int | None
    """share out over data: 1 optimizer state, 2 and gradients, 3 and weights; integer, 0 to 3; default: 0"""
    shard: int | None
    """replicas (of data * context) that share out with zero; gradients are summed over the groups besides (hybrid sharding). 0: all; integer, 0 to 2147483647; default: 0"""
    shard_members: Literal["near", "across"] | None
    """of shard: near, replicas that follow each other (a server); across, replicas with as many between them as there are groups (the same place of each server: a rail); name, one of near, across; default: near"""
    prefetch: Literal["both", "forward", "none"] | None
    """of zero 3: passes that gather a layer's weights while the layer before is computed; both, forward, or none: a gather begins when that layer is over; name, one of both, forward, none; default: both"""
    prefetch_layers: int | None
    """of prefetch, by layer: whose weights are gathered, or are on their way, while one is computed; 1 is what FSDP's limit_all_gathers leaves; integer, 1 to 16; default: 1"""
    scatter: Literal["each", "run"] | None
    """of zero 2 and 3: gradients of each micro-batch are scattered, or, added up whole, those of micro-batches that follow one another through a chunk (interleaved: as many as stages); name, one of each, run; default: each"""
    gather: Literal["layer", "operator"] | None
    """of zero 3: weights are gathered by layer (FSDP), or by operator (DeepSpeed's parameters), each in a collective of its own; name, one of layer, operator; default: layer"""
    keep_below: int | None
    """of gather operator: those with fewer parameters stay with every replica and are not gathered; integer, at least 0; default: 0"""
    reuse_distance: int | None
    """of gather operator: recomputed operators with more parameters between the recomputation and the backward pass are gathered for each of the two; integer, at least 0; default: 9223372036854775807"""
    list_copies: float | None
    """of gather operator: bytes read and written for each byte of weights gathered and gradients reduced, where a framework copies between tensors and what the library sends; number, 0 to 100; default: 0"""
    keep_apart: bool | None
    """of keep_below: gradients of what is kept are reduced tensor by tensor, and after the update, of which each replica does a part, all is gathered and copied tensor by tensor; boolean; default: false"""
    gradient_copies: float | None
    """of zero 2 and 3: bytes read and written for each byte of gradients before they are reduced, where a framework puts them together in one buffer; number, 0 to 100; default: 0"""
    overlap_gradients: bool | None
    """reduce gradients of a layer while earlier layers go on; boolean; default: false"""
    overlap_tensor: bool | None
    """sum a gradient of inputs while that of weights is computed; with sequence_parallel, gather an input while its gradient is; boolean; default: false"""
    overlap_passes: bool | None
    """of schedules dualpipe and dualpipe-v: a forward pass and the backward one behind it take turns, so that tokens of one travel to experts while the other computes; boolean; default: false"""
    async_tensor: bool | None
    """with sequence_parallel, else of no effect: gather and scatter along the tokens piece by piece, beside the products around; boolean; default: false"""
    boundary: Literal["full", "scattered", "broadcast", "reduced"] | None
    """full: each shard sends the whole boundary activation; scattered: its part, gathered again by the next stage; broadcast: adapters send it, and broadcast it in the next stage; reduced: adapters send sums over parts of the group, added up in the next stage; name, one of full, scattered, broadcast, reduced; default: full"""
    adapters: int | None
    """of a tensor group, with boundary broadcast or reduced; integer, 1 to 2147483647; default: 1"""
    sharding: Mapping[str, StrategySharding] | Sequence[Any] | None
    """explicit parallelism: {operator: {samples, rows, columns, depth}}; mapping"""
    sram: Literal["resident", "algorithm-1"] | None
    """resident: what is kept from pass to pass streams from DRAM where SRAM is too small; algorithm-1: as PALM's Algorithm 1, all operands of an operator; name, one of resident, algorithm-1; default: resident"""
    capacity: Literal["check", "ignore"] | None
    """check, or ignore: run although SRAM and DRAM are too small; name, one of check, ignore; default: check"""
    aggregation: Literal["none", "tensor", "stage"] | None
    """none; tensor or stage: one tile stands for its group; name, one of none, tensor, stage; default: none"""
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
    """of nodes that compute: model, or recorded; name, one of model, recorded; default: model"""
    sends: Literal["eager", "delivered"] | None
    """are over: eager, at once; delivered, after the time of their message, in the lane of collectives; name, one of eager, delivered; default: eager"""
    remote: ExecutionRemote | None
    data_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None
    """of work whose type a graph does not tell; name, one of fp64, fp32, tf32, fp16, bf16, fp8, int8; default: fp16; of a strategy its workload's"""
    window: int | None
    """nodes of an NPU that are read at a time, more where dependencies ask for it; integer, 1 to 1000000; default: 512"""
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
    """none, summary or full; name, one of none, summary, full; default: summary"""
    bins: int | None
    """time bins of links and channels that are aimed at; integer, 1 to 100000; default: 64"""
    bin: str | None
    """length of a bin, instead of bins; time, at least 1 ps; default: by bins"""
    partition: Literal["auto", "blocks", "columns", "communicators", "groups", "metis", "npus", "replicas", "servers", "stages", "stages-replicas", "stripes", "tenants", "traffic"] | None
    """how the machine is cut over ranks; name, one of auto, blocks, columns, communicators, groups, metis, npus, replicas, servers, stages, stages-replicas, stripes, tenants, traffic; default: auto"""
    idle_ranks: bool | None
    """whether ranks stay idle that would not make the run faster, where partition is auto; boolean; default: true"""
    weights: str | int | float | None
    """what makes a node heavy: none, predicted, or the folder of an earlier run; text; default: predicted"""
    synchronization: Literal["null-message", "promise", "window"] | None
    """how ranks keep in step: promise, window or null-message; name, one of null-message, promise, window; default: promise"""
    replay: Literal["none", "exact"] | None
    """none, or exact: do not simulate micro-batches that repeat the ones before; name, one of none, exact; default: none"""
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
