"""Training on clusters of A100 and H100: experiments made from tables of measured runs."""

import concurrent.futures
import json
from pathlib import Path

from page import ROOT, call, processors, summary_of

MACHINES = ROOT / "configs" / "machines"
# Settings of software, not of devices. Megatron-DeepSpeed's host, from vTrain's profiles (vtrain_single.csv;
# profiles.py: host_times): the means of what fifteen of a layer, which the host bounds, take for each operation (54 to
# 100 us), and of what nineteen heads take beside operations for each pass.
DEEPSPEED = ("machine.compute.issue=79 us", "machine.compute.issue_pass=0.35 ms")
# Norms of training. apex's kernels, which Megatron-LM and DeepSpeed's fork have as MixedFusedLayerNorm, move 896 GB/s
# forward and 572 backward on GA100 (apex pull request 1037: 16384 rows of 1024 in fp16; two and three tensors). The seven
# tensors that a norm's operations move here then go at 936 GB/s, 0.46 of 2039; assumed: on 80 GB (with 40 GB it would be
# 0.60). PyTorch's own of 2022 move as much: forward and
# backward of 8192 rows of 1536 in fp16 in 186.1 us (PyTorch pull request 87445), 947 GB/s.
PLAIN_NORMS = "machine.compute.norm_memory_efficiency=0.46"
# Persistent ones, Megatron-LM's default since November 2021 for widths up to 65536 (fused_layer_norm.py): 1258 and 1163
# GB/s (the same pull request), the seven tensors at 1678.
PERSISTENT_NORMS = "machine.compute.norm_memory_efficiency=0.82"
# llm-foundry (scripts/train/benchmarking/submit_benchmarks.py): attn_impl triton. FlashAttention-2 is 1.3 to 2.5
# times as fast as FlashAttention in Triton (Dao, arXiv:2307.08691, section 4.1: 1.8 in the mean), and reaches 0.62
# of the peak on A100 and 0.338 on H100 (334 TFLOP/s, Shah et al., arXiv:2407.08608).
TRITON = {"a100": "0.34", "h100": "0.19"}
# DeepSpeed's ZeRO 3 of the first half of 2021 (0.3.13 to 0.3.16), as SC'21 has it. Each parameter is gathered, and its
# gradient reduced, in a collective of its own over lists with a tensor for every rank (partition_parameters.py:
# _allgather_param), and before each gather the host waits for all that is under way (torch.cuda.synchronize: "the
# async version is not async at all", DeepSpeed pull request 1188). A rank's entry of such a list is one to three views
# of a tensor (narrow; view and narrow; narrow, view and narrow), of 2 us each (PyTorch pull request 44908: 1.6 to 2.5
# us), and a copy between it and a flat buffer (ProcessGroupNCCL::allgather), of 5 us (PyTorch issue 41383, an
# operation without gradient): 9 us in the mean. Beside them a gather over 8 GPUs takes the host 130 + 250 us
# (DeepSpeed issue 1069), less the 8 entries.
ZERO_3_HOST = ("machine.network.collective_member_overhead=9 us", "machine.network.collective_overhead=308 us")
# Defaults of deepspeed/runtime/zero/stage3.py: param_persistence_threshold 1e5, max_reuse_distance 1e9. A gather zeroes
# its output and copies NCCL's buffer into it (_allgather_param), and the norm of what came is computed for a message
# that nobody prints (stage3.py: fetch_sub_module; taken out by DeepSpeed pull request 1188); a reduction copies its
# inputs into a buffer of its own or divides that (reduce_independent_p_g_buckets_and_remove_grads, average_tensor), and
# then into NCCL's: 4 bytes a byte; gradients are divided first (average_tensor): 2. What persists is reduced as all
# else, a tensor at a time, and after each update gathered (_post_step) and copied a tensor and a rank at a time
# (_allgather_params).
ZERO_3 = {"zero": 3, "gather": "operator", "keep_below": 100_000, "reuse_distance": 1_000_000_000, "list_copies": 4,
          "keep_apart": True, "gradient_copies": 2, "prefetch": "none"}
VOCABULARY = 51200  # Megatron's GPT-2 vocabulary, padded (arXiv:2104.04473, section 5)
GPT2_VOCABULARY = 50257
GPUS_A_NODE = 8


def gpt(layers, hidden, heads, sequence, batch, **more):
    """As Megatron-LM has it, Megatron-DeepSpeed too: queries, keys and values are views of one tensor (torch.split), so
    that autograd puts their gradients together; gradients of biases are sums of their own
    (tensor_parallel/layers.py: grad_output.sum; those of the jitted kernels by autograd), and what attention gives is
    copied into rows of tokens (transformer.py: permute, contiguous)."""
    return {"kind": "transformer", "layers": int(layers), "hidden": int(hidden), "heads": int(heads),
            "sequence": int(sequence), "vocabulary": VOCABULARY, "batch": int(batch), "join_gradients": True,
            "bias_gradients": "apart", "layout_copies": "context", **more}


def strategy(pipeline, tensor, data, micro_batch, **more):
    """One tile stands for its stage, and equal micro-batches are not simulated again."""
    return {"pipeline": int(pipeline), "tensor": int(tensor), "data": int(data),
            "micro_batch": int(micro_batch), "aggregation": "stage", **more}


def equal_stages(plan, layers):
    """Binds as many layers to each stage as Megatron does: equally many, whatever embedding and head
    add to the first and the last."""
    stages, tiles = plan["pipeline"], plan["tensor"] * plan["data"] * plan.get("context", 1)
    share = layers // stages
    names = ["embedding", *(f"layer {number}" for number in range(layers)), "head"]
    bound = []
    for stage in range(stages):
        first, end = 1 + stage * share, (stage + 1) * share
        bound.append({"tiles": f"{stage * tiles}-{(stage + 1) * tiles - 1}" if tiles > 1 else stage,
                      "layers": [names[0 if stage == 0 else first],
                                 names[-1 if stage + 1 == stages else end]]})
    return {**plan, "placement": {"layout": "given", "tiles": bound}}


# Of runs by what they were asked for: sections of a page ask for the same ones.
SUMMARIES = {}


class Cluster:
    """Runs experiments on a machine file, on as many of its nodes as they need."""

    def __init__(self, program, folder, machine):
        self.program = program
        self.folder = Path(folder)
        self.machine = MACHINES / f"{machine}.yaml"
        self.settings = []  # of all runs, key=value
        self.count = 0

    def run(self, name, workload, plan, settings=()):
        """The summary of a run."""
        tiles = plan["pipeline"] * plan["tensor"] * plan["data"] * plan.get("context", 1)
        experiment = {"name": name, "machine": str(self.machine), "workload": workload,
                      "strategy": plan, "run": {"trace": "none", "replay": "exact"}}
        nodes = max(1, -(-tiles // GPUS_A_NODE))
        extra = [f"machine.topology.nodes={nodes}",
                 *self.settings, *settings]
        text = json.dumps(experiment)
        key = (str(self.program), text, *extra)
        if key not in SUMMARIES:
            SUMMARIES[key] = self.made(text, extra)
        return SUMMARIES[key]

    def made(self, text, extra):
        self.count += 1
        path = self.folder / f"{self.count}.yaml"
        path.write_text(text, encoding="utf-8")
        output = self.folder / f"{self.count}"
        words = [word for setting in extra for word in ("--set", setting)]
        call([str(self.program), "run", str(path), "-o", str(output), "-q", "-q", *words])
        return summary_of(output)


def vtrain_plan(row, **more):
    """As its artifact configures these runs: 1F1B, gradients reduced at the end. DeepSpeed cuts the
    boundary activations of tensor groups (deepspeed/runtime/pipe/engine.py: is_pipe_partitioned)."""
    tensor = int(row["tensor parallelism"])
    plan = strategy(row["pipeline parallelism"], tensor, row["data parallelism"],
                    row["micro batch"], boundary="scattered" if tensor > 1 else "full", **more)
    return equal_stages(plan, int(row["# layers"]))


def vtrain_workload(row):
    """GPT-2's vocabulary is padded to a multiple of 128 times the tensor degree (Megatron-LM,
    megatron/tokenizer/tokenizer.py)."""
    multiple = 128 * int(row["tensor parallelism"])
    return gpt(row["# layers"], row["hidden size"], row["attention heads"], row["sequence length"],
               row["global batch"], vocabulary=-(-GPT2_VOCABULARY // multiple) * multiple)


def vtrain_summary(cluster, row, settings=()):
    return cluster.run("vtrain", vtrain_workload(row), vtrain_plan(row, recompute="full"),
                       [*DEEPSPEED, PLAIN_NORMS, *settings])


def run_vtrain(cluster, rows, settings=()):
    """[(row, ours in ms, measured in ms)]"""
    found = []
    for row in rows:
        summary = vtrain_summary(cluster, row, settings)
        found.append((row, summary["iteration_time_ps"] / 1e9, float(row["iteration time (ms)"])))
    return found


# What vTrain's table of one node was profiled with (its artifact, src/model/gpt_model.py and gpt_modeling.py): GPT-2's
# vocabulary as it is, of which a shard has the whole quotient, a head with weights of its own, apex's norms, a loss in
# fp16, and a fused softmax where samples times heads of a shard are a multiple of four (fused_softmax.py), else one by
# single operations in fp32.
FUSED_ROWS = 4


def profiled_workload(row):
    tensor = int(row["tensor parallelism"])
    fused = int(row["micro batch"]) * int(row["attention heads"]) // tensor % FUSED_ROWS == 0
    return {**vtrain_workload(row), "vocabulary": GPT2_VOCABULARY // tensor * tensor, "tie_embeddings": False,
            "loss": "fused", "attention": "plain" if fused else "eager",
            "layout_copies": "layers" if int(row["micro batch"]) > 1 else "context"}


# Its rows add up profiles of one layer and one head, in each of which host and device begin together.
PROFILED = {"recompute": "none", "software": {"host_waits": "profiles"}}


def run_profiled(cluster, rows, settings=()):
    """[(row, ours in ms, published in ms)] of that table; the last rank computes nothing again in its predictor
    (src/predictor.py), and no other does in the table."""
    found, settings = [], [*DEEPSPEED, PLAIN_NORMS, *settings]
    for row in rows:
        summary = cluster.run("vtrain", profiled_workload(row), vtrain_plan(row, **PROFILED), settings)
        found.append((row, summary["iteration_time_ps"] / 1e9, float(row["iteration time (ms)"])))
    return found


def mean_error(found):
    """Mean absolute error in percent."""
    errors = [abs(ours / measured - 1) for _, ours, measured in found]
    return 100 * sum(errors) / len(errors)


# Layers, width, heads: scripts/train/yamls of llm-foundry, the same commit.
MPT = {"125m": (12, 768, 12), "350m": (24, 1024, 16), "760m": (24, 1536, 12), "1b": (24, 2048, 16),
       "3b": (32, 2560, 20), "7b": (32, 4096, 32), "13b": (40, 5120, 40), "30b": (48, 7168, 56),
       "70b": (80, 8192, 64)}


def mpt(model, tokens, batch):
    """Flash attention, fused cross-entropy, no biases, no dropout, queries, keys and values as views (torch.chunk);
    vocabulary of 50368 (the same repository). Composer's
    DecoupledAdamW updates an operation at a time (composer/optim/decoupled_weight_decay.py), after clipping
    (scripts/train/yamls). Cross-entropy and perplexity are logged of each batch, and each computes the loss again
    (llmfoundry/models/mpt/modeling_mpt.py: use_train_metrics; composer/metrics/nlp.py: LanguageCrossEntropy)."""
    work = gpt(*MPT[model], tokens, batch, data_type="bf16", attention="flash", causal=True,
               biases=False, bias_gradients="fused", layout_copies="none", dropout=False, loss="fused", loss_metrics=2,
               update="eager")
    work["vocabulary"] = 50368
    return work


def fsdp_plan(gpus, micro_batch, recompute, zero=3, early_stop=True):
    """PyTorch 2.1 (`early_stop`) computes a layer again until all is there that its backward pass needs (pull request
    96866), where activation_checkpointing_reentrant is false, as scripts/train/benchmarking/submit_benchmarks.py has it.
    Composer's defaults: backward_prefetch BACKWARD_POST. Weights of a unit are views of one flat parameter, so that
    autograd puts their gradients together in a copy of its own (torch/distributed/fsdp/_flat_param.py: torch.split),
    which reads and writes them; before a gather a GPU casts its share from fp32 to bf16 (6 bytes a parameter, 3 for
    each byte of its gradient). That gradients are divided (_runtime_utils.py: _div_if_needed) and added up in fp32 is
    on a stream beside and not counted."""
    software = {"early_stop": True} if early_stop and recompute == "full" else {}
    return strategy(1, 1, gpus, micro_batch, zero=zero, overlap_gradients=True, recompute=recompute, software=software,
                    prefetch="forward", gradient_copies=2 + 3 / gpus)


# Tables of llm-foundry's benchmarks with their software. Those of H100 up to 64 GPUs and of one node of A100 were made
# with the image pytorch:2.1.0_cu121-nightly20230827 (a table of the same rows with their images: branch of commit
# beb8dee, h100new.md). The later one of many H100 came after Composer's pull request 2628 (October 2023), which has
# mixed_precision DEFAULT reduce gradients in fp32, as it was meant to; until then they went in bf16. Several nodes of
# A100 are of an earlier table, mixed_precision PURE and PyTorch 1.13.
LARGE = "Large Scale"


def is_early(row):
    return row["gpu"] == "a100" and int(row["gpus"]) > GPUS_A_NODE


def triton(gpu):
    return f"machine.compute.attention_efficiency={TRITON[gpu]}"


def run_foundry(cluster, rows, settings=()):
    """[(row, ours in ms, measured in ms)] of MosaicML's runs: FSDP over one node."""
    found = []
    for row in rows:
        tokens, micro_batch = int(row["sequence"]), int(row["micro_batch"])
        batch = GPUS_A_NODE * micro_batch * int(row["accumulation"])
        summary = cluster.run(row["model"], mpt(row["model"], tokens, batch),
                              fsdp_plan(GPUS_A_NODE, micro_batch, row["recompute"]),
                              [triton("h100"), *settings])
        measured = batch * tokens / GPUS_A_NODE / float(row["tokens_per_s_per_gpu"])
        found.append((row, summary["iteration_time_ps"] / 1e9, 1e3 * measured))
    return found


def run_mpt(cluster, rows, settings=()):
    """The same of the table with seconds an iteration, on any number of nodes."""
    found = []
    for row in rows:
        gpus, micro_batch = int(row["gpus"]), int(row["micro_batch"])
        plan = fsdp_plan(gpus, micro_batch, "full" if row["recompute"] == "True" else "none",
                         int(row["zero"]), early_stop=not is_early(row))
        work = mpt(row["model"], int(row["sequence"]), gpus * micro_batch * int(row["accumulation"]))
        if LARGE in row["section"]:
            work["gradient_type"] = "fp32"
        norms = [PLAIN_NORMS] if row["gpu"] == "a100" else []
        summary = cluster.run(row["model"], work, plan, [triton(row["gpu"]), *norms, *settings])
        found.append((row, summary["iteration_time_ps"] / 1e9,
                      1e3 * float(row["measured_s_per_iteration"])))
    return found


def llama(layers, hidden, heads, kv_heads, ffn, vocabulary):
    return {"layers": layers, "hidden": hidden, "heads": heads, "kv_heads": kv_heads, "ffn": ffn,
            "vocabulary": vocabulary, "positions": "rotary", "normalisation": "rms_norm",
            "mlp": "swiglu", "tie_embeddings": False, "biases": False, "dropout": False}


# NeMo's recipes: GPT-3 (Brown et al., arXiv:2005.14165, table 2.1; 5B: 24 layers of 4096), Llama 2
# (arXiv:2307.09288) and 3 (arXiv:2407.21783, table 3).
NEMO = {"GPT3-5B": {"layers": 24, "hidden": 4096, "heads": 32, "vocabulary": VOCABULARY},
        "GPT3-175B": {"layers": 96, "hidden": 12288, "heads": 96, "vocabulary": VOCABULARY},
        "LLAMA2-7B": llama(32, 4096, 32, 32, 11008, 32000),
        "LLAMA2-70B": llama(80, 8192, 64, 8, 28672, 32000),
        "LLAMA3-8B": llama(32, 4096, 32, 8, 14336, 128256),
        "LLAMA3-70B": llama(80, 8192, 64, 8, 28672, 128256)}


# NeMo's recipes and Megatron-Bridge's have buffers for these very runs (tp_overlap_configs/userbuffers.py:
# userbuffers_fp8_h100_h12288_tp4_mbs1_seqlen2048, ..._h8192_tp4_mbs1_seqlen8192): gathers and scatters of the forward
# pass go piece by piece beside their products (ring exchange, pipeline), and so do two of the backward pass; sums of
# inputs' gradients go beside products of the weights' (bulk).
TENSOR_OVERLAP = {"sequence_parallel": True, "overlap_tensor": True, "async_tensor": True}
# Transformer Engine has products beside them leave the SMs that they take (comm_gemm_overlap: set_sm_margin;
# nvte_cublas_gemm: math_sm_count), so that none waits for these.
SM_MARGIN = "machine.compute.persistent_products=false"


def run_nemo(cluster, rows, settings=()):
    """[(row, ours in ms, measured in ms)] of NVIDIA's runs in mixed FP8."""
    found = []
    for row in rows:
        gpus, batch, tokens = int(row["gpus"]), int(row["global_batch"]), int(row["sequence"])
        tensor, pipeline, context = (int(row[key]) for key in ("tensor", "pipeline", "context"))
        data, chunks = gpus // (tensor * pipeline * context), int(row["virtual_stages"])
        more = {"context": context} if context > 1 else {}
        if tensor > 1:
            more.update(TENSOR_OVERLAP)
        if chunks > 1:
            more["chunks"] = chunks
        plan = strategy(pipeline, tensor, data, row["micro_batch"], zero=1, overlap_gradients=True,
                        software={"narrow_inputs": "narrow"}, **more)  # Transformer Engine
        work = {"kind": "transformer", "sequence": tokens, "batch": batch, "data_type": "bf16",
                "attention": "flash", "causal": True, "product_type": "fp8", "loss": "fused",
                **NEMO[row["model"]]}
        software = [SM_MARGIN] if tensor > 1 else []
        summary = cluster.run(row["model"], work, plan, [*software, *settings])
        measured = batch * tokens / gpus / float(row["tokens_per_s_per_gpu"])
        found.append((row, summary["iteration_time_ps"] / 1e9, 1e3 * measured))
    return found


def run_rows(program, folder, machine, rows, run, settings=()):
    """[(row, ours in ms, measured in ms)], on all processors."""
    parts = max(1, processors())

    def run_part(part):
        own = Path(folder) / str(part)
        own.mkdir(parents=True, exist_ok=True)
        return run(Cluster(program, own, machine), rows[part::parts], settings)

    with concurrent.futures.ThreadPoolExecutor(parts) as pool:
        return [item for found in pool.map(run_part, range(parts)) for item in found]
