"""What is computed.

Written by scripts/python_stubs.py from what the program declares; do not edit.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from .sections import Section
from . import parts
from . import schedulers

GraphTensors = TypedDict("GraphTensors", {"name": str | int | float, "bytes": str, "priority": int, "at": Sequence[Any]}, total=False)

GraphVertices = TypedDict("GraphVertices", {"name": str | int | float, "start": bool, "at": Any, "flops": str, "bytes": Any, "remote": str, "remote_written": str, "uses": Sequence[Any], "collective": Literal["all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "reduce", "gather", "scatter", "barrier", "reduce-scatter-block"], "root": int, "gather": Literal["sent", "read", "free"], "from": int, "to": int}, total=False)

GraphEdges = TypedDict("GraphEdges", {"from": str | int | float, "to": str | int | float, "first": bool}, total=False)

TransformerLatent = TypedDict("TransformerLatent", {"kv_rank": int, "q_rank": int, "nope_width": int, "rope_width": int, "value_width": int}, total=False)

TransformerSsm = TypedDict("TransformerSsm", {"state": int, "heads": int, "head_width": int, "groups": int, "kernel": int, "chunk": int}, total=False)

TransformerExperts = TypedDict("TransformerExperts", {"count": int, "top_k": int, "every": int, "dense_first": int, "capacity_factor": float, "shared": int, "ffn": int, "room": Literal["padded", "dropped", "unlimited"], "loads": Literal["even", "zipf", "exponential"], "skew": float, "seed": int, "shares": Sequence[float]}, total=False)

class Workload(Section):
    """what is computed"""

class Chakra(Workload):
    """Chakra execution traces, one per NPU."""

    traces: str | PathLike[str]
    """trace files PREFIX.<npu>.et; file"""
    name: str | int | float | None
    """a title; text"""
    groups: str | PathLike[str] | None
    """JSON file of communicators; file; default: those in the traces"""
    samples: int | None
    """samples per iteration, from which throughput is computed; integer, 1 to 1000000000; default: 1"""
    def __init__(
        self,
        *,
        traces: str | PathLike[str],
        name: str | int | float | None = ...,
        groups: str | PathLike[str] | None = ...,
        samples: int | None = ...,
    ) -> None: ...

class Collective(Workload):
    """One collective of all NPUs."""

    collective: Literal["all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "reduce", "gather", "scatter", "barrier", "reduce-scatter-block"]
    """all-reduce, reduce, all-gather, gather, scatter, broadcast, all-to-all, reduce-scatter, reduce-scatter-block or barrier; name, one of all-reduce, reduce-scatter, all-gather, all-to-all, broadcast, reduce, gather, scatter, barrier, reduce-scatter-block"""
    name: str | int | float | None
    """a title; text"""
    size: str | None
    """vector of a member; for all-gather, gather and scatter the part of a member; not used by a barrier; size, 0 B to 1024 TiB"""
    sizes: Sequence[Any] | None
    """for all-to-all, instead of size: for each NPU, a list of the sizes that it sends to each NPU; list of lists of size; default: none"""
    repeat: int | None
    """number of times that the collective runs, one after the other; integer, 1 to 1000000000; default: 1"""
    root: int | None
    """number of the root NPU, for collectives that have one; integer, at least 0; default: 0"""
    samples: int | None
    """samples per iteration, from which throughput is computed; integer, 1 to 1000000000; default: 1"""
    def __init__(
        self,
        *,
        collective: Literal["all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "reduce", "gather", "scatter", "barrier", "reduce-scatter-block"],
        name: str | int | float | None = ...,
        size: str | None = ...,
        sizes: Sequence[Any] | None = ...,
        repeat: int | None = ...,
        root: int | None = ...,
        samples: int | None = ...,
    ) -> None: ...

class Graph(Workload):
    """Vertices that compute and communicate, in a graph with cycles (HCSim)."""

    vertices: Sequence[GraphVertices]
    """vertices, each a mapping; list"""
    name: str | int | float | None
    """a title; text"""
    access: Literal["move", "coherent"] | None
    """access to remote bytes: move (read before computing, written afterwards) or coherent (while computing); name, one of move, coherent; default: move"""
    iterations: int | None
    """number of times that each vertex runs; integer, 1 to 1000000000; default: 1"""
    samples: int | None
    """samples per iteration, from which throughput is computed; integer, 1 to 1000000000; default: 1"""
    tensors: Sequence[GraphTensors] | None
    """tensors that vertices can use, each a mapping; list"""
    local_capacity: str | None
    """capacity for tensors of the NPUs' own memory, where the machine does not state it; size, at least 1 B; default: unlimited"""
    edges: Sequence[GraphEdges] | None
    """edges from vertex to vertex, each a mapping; list"""
    def __init__(
        self,
        *,
        vertices: Sequence[GraphVertices],
        name: str | int | float | None = ...,
        access: Literal["move", "coherent"] | None = ...,
        iterations: int | None = ...,
        samples: int | None = ...,
        tensors: Sequence[GraphTensors] | None = ...,
        local_capacity: str | None = ...,
        edges: Sequence[GraphEdges] | None = ...,
    ) -> None: ...

class Layers(Workload):
    """A chain of layers listed one by one, such as a convolutional network."""

    batch: int
    """samples of one step, over all replicas; integer, 1 to 4294967296"""
    input: Any
    """shape of a sample: [height, width, channels], [tokens, features] or [tokens]; shape"""
    layers: Sequence[Mapping[str, Any]]
    """the layers in order; pipeline stages are cut between them; mapping"""
    name: str | int | float | None
    """a title; text"""
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
    def __init__(
        self,
        *,
        batch: int,
        input: Any,
        layers: Sequence[Mapping[str, Any]],
        name: str | int | float | None = ...,
        mode: Literal["training", "inference"] | None = ...,
        data_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None = ...,
        optimizer: Literal["adam", "sgd"] | None = ...,
        update: Literal["fused", "eager"] | None = ...,
        gradient_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None = ...,
        master_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None = ...,
        moment_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None = ...,
    ) -> None: ...

class Onnx(Workload):
    """An ONNX model: its operators are shared by NPU cores or, with a strategy, distributed over tiles."""

    model: str | PathLike[str]
    """ONNX file; file"""
    name: str | int | float | None
    """a title; text"""
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
    message: str | None
    """NPU cores: size of a message that begins or ends a core's share of an operator; size, 1 B to 1 GiB; default: 64 B"""
    drain: bool | None
    """NPU cores: a node begins only when the previous node has ended; boolean; default: false"""
    free: Sequence[str | int | float] | None
    """NPU cores: types of nodes that take no time; list of text; default: []"""
    samples: int | None
    """with a strategy: samples per iteration, over all replicas; integer, 1 to 4294967296; default: 1"""
    batch: str | int | float | None
    """with a strategy: name of the batch dimension, which is bound to one sample; text"""
    mode: Literal["training", "inference"] | None
    """with a strategy: inference; training is refused; name, one of training, inference; default: inference"""
    def __init__(
        self,
        *,
        model: str | PathLike[str],
        name: str | int | float | None = ...,
        dimensions: Mapping[str, Any] | None = ...,
        shapes: Mapping[str, Any] | None = ...,
        values: Mapping[str, Any] | None = ...,
        branches: Mapping[str, Any] | None = ...,
        loops: Mapping[str, Any] | None = ...,
        optimize: Literal["none", "basic", "extended", "all"] | None = ...,
        unknown: Literal["refuse", "traffic"] | None = ...,
        data_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "model"] | None = ...,
        message: str | None = ...,
        drain: bool | None = ...,
        free: Sequence[str | int | float] | None = ...,
        samples: int | None = ...,
        batch: str | int | float | None = ...,
        mode: Literal["training", "inference"] | None = ...,
    ) -> None: ...

class Operators(Workload):
    """A list of operators that the NPU cores of a machine share."""

    operators: Sequence[Mapping[str, Any]]
    """each a mapping; mapping"""
    name: str | int | float | None
    """a title; text"""
    data_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None
    """data type of all operands; name, one of fp64, fp32, tf32, fp16, bf16, fp8, int8; default: fp16"""
    message: str | None
    """NPU cores: size of a message that begins or ends a core's share of an operator; size, 1 B to 1 GiB; default: 64 B"""
    def __init__(
        self,
        *,
        operators: Sequence[Mapping[str, Any]],
        name: str | int | float | None = ...,
        data_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None = ...,
        message: str | None = ...,
    ) -> None: ...

class Serving(Workload):
    """Inference requests to models, served in batches."""

    tenants: Sequence[parts.ServedTenant | Mapping[str, Any]]
    """the served models, each with its requests; mapping"""
    name: str | int | float | None
    """a title; text"""
    seed: int | None
    """seed of random arrivals and lengths; integer, at least 0; default: 1"""
    npu_cores: int | None
    """cores of an NPU: this many consecutive computing nodes; integer, at least 1; default: all; 1 on tiles with other compute models than npu"""
    message: str | None
    """size of a control message: two begin a core's share of an operator, one ends it; on tiles six begin a step, one ends it; size, 1 B to 1 GiB; default: 32 B"""
    all_reduce: Literal["direct", "double-binary-tree", "halving-doubling", "line", "ring", "ring-bidirectional", "ring-relay"] | None
    """all-reduce algorithm between NPUs; name, one of direct, double-binary-tree, halving-doubling, line, ring, ring-bidirectional, ring-relay; default: ring"""
    steps: Literal["walked", "whole"] | None
    """whole: a step is one event that takes as long as its operators and exchanges without contention; name, one of walked, whole; default: walked"""
    scheduler: schedulers.Scheduler | Mapping[str, Any] | None
    """how served models share cores; mapping"""
    def __init__(
        self,
        *,
        tenants: Sequence[parts.ServedTenant | Mapping[str, Any]],
        name: str | int | float | None = ...,
        seed: int | None = ...,
        npu_cores: int | None = ...,
        message: str | None = ...,
        all_reduce: Literal["direct", "double-binary-tree", "halving-doubling", "line", "ring", "ring-bidirectional", "ring-relay"] | None = ...,
        steps: Literal["walked", "whole"] | None = ...,
        scheduler: schedulers.Scheduler | Mapping[str, Any] | None = ...,
    ) -> None: ...

class Tenants(Workload):
    """Several concurrent workloads, each on tiles of its own."""

    tenants: Sequence[parts.Tenant | Mapping[str, Any]]
    """each a mapping; mapping"""
    name: str | int | float | None
    """a title; text"""
    def __init__(
        self,
        *,
        tenants: Sequence[parts.Tenant | Mapping[str, Any]],
        name: str | int | float | None = ...,
    ) -> None: ...

class Traffic(Workload):
    """Synthetic traffic between tiles, without computation."""

    rate: float
    """offered load in flits per tile and cycle; number, at least 0"""
    cycles: int
    """number of cycles in which messages are injected; integer, 1 to 1000000000000"""
    name: str | int | float | None
    """a title; text"""
    pattern: Literal["bit-complement", "hotspot", "neighbour", "tornado", "transpose", "uniform"] | None
    """pattern of the destinations of messages; name, one of bit-complement, hotspot, neighbour, tornado, transpose, uniform; default: uniform"""
    process: Literal["bernoulli", "on-off"] | None
    """process by which messages are injected; name, one of bernoulli, on-off; default: bernoulli"""
    message: int | None
    """flits per message; integer, 1 to 1000000; default: 1"""
    flit_size: str | None
    """size of a flit; size, at least 1 B; default: the network's, else 32 B"""
    cycle: str | None
    """cycle time, the unit of rates and latencies; time, at least 1 ps; default: time of a flit on the fastest link"""
    seed: int | None
    """seed of the random numbers; integer, at least 0; default: 1"""
    spots: Sequence[int] | None
    """nodes to which this share is sent; list of integer; default: [0]"""
    share: float | None
    """share of the messages; number, 0 to 1; default: 0.1"""
    burst: float | None
    """mean length of a burst, in cycles; number, at least 1; default: 16"""
    on: float | None
    """share of time spent in bursts; number, 0.001 to 0.999; default: 0.5"""
    def __init__(
        self,
        *,
        rate: float,
        cycles: int,
        name: str | int | float | None = ...,
        pattern: Literal["bit-complement", "hotspot", "neighbour", "tornado", "transpose", "uniform"] | None = ...,
        process: Literal["bernoulli", "on-off"] | None = ...,
        message: int | None = ...,
        flit_size: str | None = ...,
        cycle: str | None = ...,
        seed: int | None = ...,
        spots: Sequence[int] | None = ...,
        share: float | None = ...,
        burst: float | None = ...,
        on: float | None = ...,
    ) -> None: ...

class Transformer(Workload):
    """A language model of decoders, encoders or both (GPT, Llama, BERT, T5)."""

    layers: int
    """layers of the decoder, or of an encoder alone; integer, 1 to 16384"""
    hidden: int
    """width of the residual stream; without head_width, a multiple of heads; integer, 1 to 1048576"""
    sequence: int
    """tokens of a sample; integer, 1 to 16777216"""
    vocabulary: int
    """rows of the word embedding; integer, 1 to 268435456"""
    batch: int
    """samples of one step, over all replicas; integer, 1 to 4294967296"""
    name: str | int | float | None
    """a title; text"""
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
    latent: TransformerLatent | None
    ssm: TransformerSsm | None
    experts: TransformerExperts | None
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
    def __init__(
        self,
        *,
        layers: int,
        hidden: int,
        sequence: int,
        vocabulary: int,
        batch: int,
        name: str | int | float | None = ...,
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
        latent: TransformerLatent | None = ...,
        ssm: TransformerSsm | None = ...,
        experts: TransformerExperts | None = ...,
        mode: Literal["training", "inference"] | None = ...,
        data_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None = ...,
        optimizer: Literal["adam", "sgd"] | None = ...,
        update: Literal["fused", "eager"] | None = ...,
        gradient_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None = ...,
        master_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None = ...,
        moment_type: Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"] | None = ...,
    ) -> None: ...
