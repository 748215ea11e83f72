"""Models of how long operators take.

Written by scripts/python_stubs.py from what the program declares; do not edit.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from .sections import Section

NpuLatencies = TypedDict("NpuLatencies", {"add": int, "mul": int, "exp": int, "div": int, "gelu": int, "tree": int, "scalar_mul": int, "scalar_sqrt": int}, total=False)

NpuDma = TypedDict("NpuDma", {"access": Literal["block", "row"], "request": str, "open": int}, total=False)

class Compute(Section):
    """how long operators take"""

class Gemm(Compute):
    """Matrix products by their shape (waves of output tiles, or folds of a systolic array), vector work by its bytes, and a launch overhead."""

    units: int | None
    """units that work in parallel and share the peak: SMs of a GPU; integer, 1 to 1048576; default: 1"""
    tiles: Sequence[str | int | float] | None
    """output tiles of one unit, e.g. [256x128, 128x128]; the fastest is taken; list of text; default: none"""
    tile_depth: int | None
    """tiles: the depth is rounded up to a multiple of this many elements; integer, 1 to 1048576; default: 1"""
    fill: int | None
    """tiles: start-up time of a tile, in elements of depth; integer, 0 to 1048576; default: 0"""
    max_split: int | None
    """tiles: maximum number of parts that the depth is split into where tiles are few (split-K); integer, 1 to 1048576; default: 1"""
    cache_bandwidth: str | None
    """tiles: bandwidth of the cache that tiles read from, for all units together; 0 B/s: never the limit; bandwidth; default: 0 B/s"""
    array: Any | None
    """instead of tiles: [rows, columns] of a weight-stationary systolic array; shape; default: none"""
    macs_per_pe: Mapping[str, Any] | None
    """multiply-accumulates per cycle of a processing element, by data type, e.g. {int8: 2}; mapping; default: 1 each"""
    matrix_efficiency: float | str | None
    """share of the peak that a full wave of products reaches; fraction, at least 1e-06; default: 1"""
    eight_bit_efficiency: float | str | None
    """the same for products of fp8 and int8; fraction, at least 1e-06; default: matrix_efficiency"""
    unaligned_efficiency: float | str | None
    """tiles: factor on matrix_efficiency or eight_bit_efficiency where rows of the operands are not multiples of 16 bytes; fraction, at least 1e-06; default: 1"""
    memory_efficiency: float | str | None
    """share of the operands' memory bandwidth that operations reach; fraction, at least 1e-06; default: 1"""
    attention_efficiency: float | str | None
    """share of the peak that fused (flash) attention reaches with long sequences; its time is then computed without tiles; fraction, at least 1e-06; default: as any product, by its tiles"""
    attention_fill: int | None
    """attention_efficiency: start-up time of a block of queries, in keys; integer, 0 to 1048576; default: 0"""
    attention_rows: int | None
    """attention_efficiency: queries per block; the blocks of all sequences of a batch then run in waves over the units, in one kernel (FlashAttention-2); 0: no waves; integer, 0 to 1048576; default: 0"""
    attention_skip: int | None
    """attention_rows: time of a block of the kernel's grid that lies beyond a sequence's last query, in keys; integer, 0 to 1048576; default: 0"""
    attention_memory_efficiency: float | str | None
    """attention_efficiency: share of the operands' memory bandwidth that fused attention reaches; fraction, at least 1e-06; default: memory_efficiency"""
    attention_launch_overhead: str | None
    """attention_efficiency: time before each kernel of fused attention; time, at least 0 ps; default: launch_overhead"""
    sustained_clock: float | str | None
    """share of the clock that remains under the power limit during consecutive products; fraction, at least 1e-06; default: 1"""
    collective_units: int | None
    """units that a background collective takes from the operations that run concurrently; integer, 0 to 1048576; default: 0"""
    collective_accesses: int | None
    """memory accesses per byte that a background collective brings, where its time is a closed form; operations that run concurrently have that much less memory bandwidth; integer, 0 to 16; default: 0"""
    persistent_products: bool | None
    """a product assigns its tiles to all units when it begins: tiles of units that a background collective occupies begin when the collective ends, or when the other units are done (persistent kernels); boolean; default: false"""
    vector_peak: str | None
    """rate of vector work; 0 FLOP/s: the tile's peak of the data type; rate of operations; default: 0 FLOP/s"""
    launch_overhead: str | None
    """time before each operation; time, at least 0 ps; default: 0 ps"""
    kernel_gap: str | None
    """time of a stream between the end of an operation and the beginning of the next; time, at least 0 ps; default: 0 ps"""
    issue: str | None
    """host time to issue an operation or a collective, while the device executes earlier ones; time, at least 0 ps; default: 0 ps"""
    issue_pass: str | None
    """host time for each pass of a micro-batch through its stage, in addition to issuing: a framework's schedule, batches, losses and timers; time, at least 0 ps; default: 0 ps"""
    unit_threads: int | None
    """threads that a unit can hold, in blocks of `vector_block_threads` and so on; 0: kernels without a product process all their rows concurrently; integer, 0 to 1048576; default: 0"""
    vector_memory_efficiency: float | str | None
    """share of the operands' memory bandwidth that kernels without a product reach: norms, activations, softmax; fraction, at least 1e-06; default: memory_efficiency"""
    vector_cache_bandwidth: str | None
    """rate of kernels without a product for data held in the cache (tile.sram, with operands in dram), at most half of its size; 0 B/s: that of the memory; bandwidth; default: 0 B/s"""
    vector_launch_overhead: str | None
    """time before each kernel without a product; time, at least 0 ps; default: launch_overhead"""
    vector_row_bandwidth: str | None
    """rate at which one block of threads of these kernels processes a row (token), where rows are known (served models); 0 B/s: never the limit; bandwidth; default: 0 B/s"""
    vector_block_threads: int | None
    """maximum number of threads per block; blocks run in waves of as many as unit_threads can hold; 0: all rows are processed concurrently; integer, 0 to 1048576; default: 0"""
    vector_thread_bytes: str | None
    """minimum number of bytes of a row that each thread moves, so that short rows have smaller blocks; 0 B: all blocks are alike; size; default: 0 B"""
    norm_memory_efficiency: float | str | None
    """share of the operands' memory bandwidth that norms reach; fraction, at least 1e-06; default: vector_memory_efficiency"""
    norm_cache_bandwidth: str | None
    """rate of these kernels for data held in the cache, where it exceeds that of the memory; bandwidth; default: vector_cache_bandwidth"""
    norm_launch_overhead: str | None
    """time before each of these kernels; time, at least 0 ps; default: vector_launch_overhead"""
    norm_row_bandwidth: str | None
    """rate at which one block of threads of these kernels processes a row (token); bandwidth; default: vector_row_bandwidth"""
    norm_block_threads: int | None
    """maximum number of threads per block of these kernels; integer, 0 to 1048576; default: vector_block_threads"""
    norm_thread_bytes: str | None
    """minimum number of bytes of a row that each thread of these kernels moves; size; default: vector_thread_bytes"""
    activation_memory_efficiency: float | str | None
    """share of the operands' memory bandwidth that activations reach; fraction, at least 1e-06; default: vector_memory_efficiency"""
    activation_cache_bandwidth: str | None
    """rate of these kernels for data held in the cache, where it exceeds that of the memory; bandwidth; default: vector_cache_bandwidth"""
    activation_launch_overhead: str | None
    """time before each of these kernels; time, at least 0 ps; default: vector_launch_overhead"""
    activation_row_bandwidth: str | None
    """rate at which one block of threads of these kernels processes a row (token); bandwidth; default: vector_row_bandwidth"""
    activation_block_threads: int | None
    """maximum number of threads per block of these kernels; integer, 0 to 1048576; default: vector_block_threads"""
    activation_thread_bytes: str | None
    """minimum number of bytes of a row that each thread of these kernels moves; size; default: vector_thread_bytes"""
    rotary_memory_efficiency: float | str | None
    """share of the operands' memory bandwidth that rotary positions reach; fraction, at least 1e-06; default: activation_memory_efficiency"""
    rotary_cache_bandwidth: str | None
    """rate of these kernels for data held in the cache, where it exceeds that of the memory; bandwidth; default: activation_cache_bandwidth"""
    rotary_launch_overhead: str | None
    """time before each of these kernels; time, at least 0 ps; default: activation_launch_overhead"""
    rotary_row_bandwidth: str | None
    """rate at which one block of threads of these kernels processes a row (token); bandwidth; default: activation_row_bandwidth"""
    rotary_block_threads: int | None
    """maximum number of threads per block of these kernels; integer, 0 to 1048576; default: activation_block_threads"""
    rotary_thread_bytes: str | None
    """minimum number of bytes of a row that each thread of these kernels moves; size; default: activation_thread_bytes"""
    sum_memory_efficiency: float | str | None
    """share of the operands' memory bandwidth that skip connections, dropout and the optimizer reach, which stream; fraction, at least 1e-06; default: vector_memory_efficiency"""
    sum_cache_bandwidth: str | None
    """rate of these kernels for data held in the cache, where it exceeds that of the memory; bandwidth; default: vector_cache_bandwidth"""
    sum_launch_overhead: str | None
    """time before each of these kernels; time, at least 0 ps; default: vector_launch_overhead"""
    sum_row_bandwidth: str | None
    """rate at which one block of threads of these kernels processes a row (token); bandwidth; default: vector_row_bandwidth"""
    sum_block_threads: int | None
    """maximum number of threads per block of these kernels; integer, 0 to 1048576; default: vector_block_threads"""
    sum_thread_bytes: str | None
    """minimum number of bytes of a row that each thread of these kernels moves; size; default: vector_thread_bytes"""
    lookup_memory_efficiency: float | str | None
    """share of the operands' memory bandwidth that table look-ups reach: rows of words and positions; fraction, at least 1e-06; default: vector_memory_efficiency"""
    lookup_cache_bandwidth: str | None
    """rate of these kernels for data held in the cache, where it exceeds that of the memory; bandwidth; default: vector_cache_bandwidth"""
    lookup_launch_overhead: str | None
    """time before each of these kernels; time, at least 0 ps; default: vector_launch_overhead"""
    lookup_row_bandwidth: str | None
    """rate at which one block of threads of these kernels processes a row (token); bandwidth; default: vector_row_bandwidth"""
    lookup_block_threads: int | None
    """maximum number of threads per block of these kernels; integer, 0 to 1048576; default: vector_block_threads"""
    lookup_thread_bytes: str | None
    """minimum number of bytes of a row that each thread of these kernels moves; size; default: vector_thread_bytes"""
    lookup_serial_rows: int | None
    """look-ups of up to this many rows (in served models) process them one after the other; 0: never; integer, 0 to 1048576; default: 0"""
    lookup_row_time: str | None
    """lookup_serial_rows: time per row; time, at least 0 ps; default: 0 ps"""
    def __init__(
        self,
        *,
        units: int | None = ...,
        tiles: Sequence[str | int | float] | None = ...,
        tile_depth: int | None = ...,
        fill: int | None = ...,
        max_split: int | None = ...,
        cache_bandwidth: str | None = ...,
        array: Any | None = ...,
        macs_per_pe: Mapping[str, Any] | None = ...,
        matrix_efficiency: float | str | None = ...,
        eight_bit_efficiency: float | str | None = ...,
        unaligned_efficiency: float | str | None = ...,
        memory_efficiency: float | str | None = ...,
        attention_efficiency: float | str | None = ...,
        attention_fill: int | None = ...,
        attention_rows: int | None = ...,
        attention_skip: int | None = ...,
        attention_memory_efficiency: float | str | None = ...,
        attention_launch_overhead: str | None = ...,
        sustained_clock: float | str | None = ...,
        collective_units: int | None = ...,
        collective_accesses: int | None = ...,
        persistent_products: bool | None = ...,
        vector_peak: str | None = ...,
        launch_overhead: str | None = ...,
        kernel_gap: str | None = ...,
        issue: str | None = ...,
        issue_pass: str | None = ...,
        unit_threads: int | None = ...,
        vector_memory_efficiency: float | str | None = ...,
        vector_cache_bandwidth: str | None = ...,
        vector_launch_overhead: str | None = ...,
        vector_row_bandwidth: str | None = ...,
        vector_block_threads: int | None = ...,
        vector_thread_bytes: str | None = ...,
        norm_memory_efficiency: float | str | None = ...,
        norm_cache_bandwidth: str | None = ...,
        norm_launch_overhead: str | None = ...,
        norm_row_bandwidth: str | None = ...,
        norm_block_threads: int | None = ...,
        norm_thread_bytes: str | None = ...,
        activation_memory_efficiency: float | str | None = ...,
        activation_cache_bandwidth: str | None = ...,
        activation_launch_overhead: str | None = ...,
        activation_row_bandwidth: str | None = ...,
        activation_block_threads: int | None = ...,
        activation_thread_bytes: str | None = ...,
        rotary_memory_efficiency: float | str | None = ...,
        rotary_cache_bandwidth: str | None = ...,
        rotary_launch_overhead: str | None = ...,
        rotary_row_bandwidth: str | None = ...,
        rotary_block_threads: int | None = ...,
        rotary_thread_bytes: str | None = ...,
        sum_memory_efficiency: float | str | None = ...,
        sum_cache_bandwidth: str | None = ...,
        sum_launch_overhead: str | None = ...,
        sum_row_bandwidth: str | None = ...,
        sum_block_threads: int | None = ...,
        sum_thread_bytes: str | None = ...,
        lookup_memory_efficiency: float | str | None = ...,
        lookup_cache_bandwidth: str | None = ...,
        lookup_launch_overhead: str | None = ...,
        lookup_row_bandwidth: str | None = ...,
        lookup_block_threads: int | None = ...,
        lookup_thread_bytes: str | None = ...,
        lookup_serial_rows: int | None = ...,
        lookup_row_time: str | None = ...,
    ) -> None: ...

class Npu(Compute):
    """Cores with a systolic array, a vector unit, a scratchpad and DMA, with double-buffered tiles."""

    clock: str | None
    """clock of the core; frequency, 1 Hz to 1 THz; default: 1 GHz"""
    array: Sequence[int] | None
    """[rows, columns] of the systolic array; list of integer; default: [128, 128]"""
    macs_per_pe: Mapping[str, Any] | None
    """multiply-accumulates per cycle of a processing element, by data type, e.g. {int8: 2}; mapping; default: 1 each"""
    vector_width: int | None
    """elements that the vector unit processes per cycle: lanes * ALUs; integer, 1 to 16777216; default: 2048"""
    latencies: NpuLatencies | None
    scratchpad: str | None
    """capacity, in two halves; size; default: 32 MiB"""
    accumulator: str | None
    """capacity, in two halves; size; default: 4 MiB"""
    scratchpad_word: str | None
    """bytes that a bank delivers per cycle; 0 B: never the limit; size; default: 0 B"""
    banks: int | None
    """banks of the scratchpad; with one, DMA takes cycles from the array; integer, 1 to 4096; default: 2"""
    queue: int | None
    """maximum number of blocks that are issued to the array and not completed; integer, 1 to 65536; default: 16"""
    timing: Literal["deterministic", "onnxim"] | None
    """timing rules of the array: deterministic or onnxim; name, one of deterministic, onnxim; default: deterministic"""
    tiling: Literal["fitted", "onnxim"] | None
    """rules for tile sizes: fitted or onnxim; name, one of fitted, onnxim; default: fitted"""
    operands: Literal["memory", "sram"] | None
    """location of the operands of programs: memory, or sram of the tile; name, one of memory, sram; default: memory"""
    dma: NpuDma | None
    def __init__(
        self,
        *,
        clock: str | None = ...,
        array: Sequence[int] | None = ...,
        macs_per_pe: Mapping[str, Any] | None = ...,
        vector_width: int | None = ...,
        latencies: NpuLatencies | None = ...,
        scratchpad: str | None = ...,
        accumulator: str | None = ...,
        scratchpad_word: str | None = ...,
        banks: int | None = ...,
        queue: int | None = ...,
        timing: Literal["deterministic", "onnxim"] | None = ...,
        tiling: Literal["fitted", "onnxim"] | None = ...,
        operands: Literal["memory", "sram"] | None = ...,
        dma: NpuDma | None = ...,
    ) -> None: ...

class Roofline(Compute):
    """The longer of FLOPs / (peak * efficiency) and bytes / bandwidth of the operands' memory; rates are the tile's."""

    def __init__(
        self,
    ) -> None: ...

class Systolic(Compute):
    """Matrix products in the cycles of a systolic array, in closed form; vector work by its bytes."""

    array: Any
    """[rows, columns] of multiply-accumulate units; shape"""
    macs_per_pe: Mapping[str, Any] | None
    """multiply-accumulates per cycle of a processing element, by data type, e.g. {int8: 2}; mapping; default: 1 each"""
    dataflow: str | None
    """how operands move through the array, see `tessera list dataflows`; name; default: tpu"""
    clock: str | None
    """clock of the array; 0 Hz: the clock at which the array has the tile's peak; frequency, 0 Hz to 1 THz; default: 0 Hz"""
    vector_peak: str | None
    """rate of vector work; 0 FLOP/s: the tile's peak of the data type; rate of operations; default: 0 FLOP/s"""
    variant: Literal["exact", "paper"] | None
    """exact, or paper: equations (2) to (8) of the paper; name, one of exact, paper; default: exact"""
    def __init__(
        self,
        *,
        array: Any,
        macs_per_pe: Mapping[str, Any] | None = ...,
        dataflow: str | None = ...,
        clock: str | None = ...,
        vector_peak: str | None = ...,
        variant: Literal["exact", "paper"] | None = ...,
    ) -> None: ...

class SystolicCycle(Compute):
    """As `systolic`, but with every unit of the array stepped cycle by cycle on data, once per shape."""

    array: Any
    """[rows, columns] of multiply-accumulate units; shape"""
    macs_per_pe: Mapping[str, Any] | None
    """multiply-accumulates per cycle of a processing element, by data type, e.g. {int8: 2}; mapping; default: 1 each"""
    dataflow: str | None
    """how operands move through the array, see `tessera list dataflows`; name; default: tpu"""
    clock: str | None
    """clock of the array; 0 Hz: the clock at which the array has the tile's peak; frequency, 0 Hz to 1 THz; default: 0 Hz"""
    vector_peak: str | None
    """rate of vector work; 0 FLOP/s: the tile's peak of the data type; rate of operations; default: 0 FLOP/s"""
    seed: int | None
    """seed of the data; integer, at least 0; default: 1"""
    def __init__(
        self,
        *,
        array: Any,
        macs_per_pe: Mapping[str, Any] | None = ...,
        dataflow: str | None = ...,
        clock: str | None = ...,
        vector_peak: str | None = ...,
        seed: int | None = ...,
    ) -> None: ...
