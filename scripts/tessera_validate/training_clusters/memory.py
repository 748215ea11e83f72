"""Peak memory of training: ours beside published figures, and whether what ran on 80 GB fits."""

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from operators.rows import listed
from page import call, rows_of
from training_clusters.clusters import GPUS_A_NODE, Cluster, llama, strategy
from training_clusters.measured import percent
from training_clusters.plans import LLAMA, LLAMA_ROWS, llama_plan
from training_clusters.sets import sets

GIB = 2 ** 30
DEVICE = 80998 * 2 ** 20  # of h100_cluster, the least of those that a process finds on 80 GB
BOUND = 0.10
LLAMA3 = {"8B": llama(32, 4096, 32, 8, 14336, 128256), "70B": llama(80, 8192, 64, 8, 28672, 128256),
          "405B": llama(126, 16384, 128, 8, 53248, 128256)}
# What is no tensor, and nothing that the allocator keeps.
OUTSIDE = ("communicators", "context")
SHOWN = ("weights", "gradients", "optimizer", "activations", "recomputed", "gathered", "scattered", "working",
         "reserve")


def titan_work(row):
    """FSDP2 keeps and adds up gradients in fp32, beside weights in fp32 that are the optimizer's; what is
    gathered is in bf16. PyTorch's cross_entropy is not compiled (torchtitan compiles blocks alone)."""
    work = {"kind": "transformer", "sequence": int(row["sequence"]), "data_type": "bf16",
            "gradient_type": "fp32", "attention": "flash", "causal": True, "loss": "eager",
            "batch": int(row["local_batch"]) * int(row["fsdp"]), **LLAMA3[row["model"]]}
    if row["float8"] == "yes":
        work["product_type"] = "fp8"
    return work


def titan_software(row):
    """fully_shard (parallelize_llama.py: apply_fsdp), DTensor (apply_tp), PipelineStage (pipeline_llama.py), the caching
    allocator, keys and values for each head of queries (models/llama/model.py: repeat_kv), and ring attention
    (config_manager.py: experimental.context_parallel_rotate_method, allgather by default)."""
    software = {"sharding": "fsdp2", "freed_blocks": "fitting",
                "compiled": row["compile"] == "yes" and row["recompute"] == "alternate"}
    software["kv_heads"] = "repeated"
    if int(row["context"]) > 1:
        software["context_sums"] = "passed"
    if int(row["tensor"]) > 1:
        software["gathered_inputs"] = "kept"
    if int(row["pipeline"]) > 1:
        software["boundary_buffers"] = "all"
    return software


def titan_stages(plan, layers):
    """Middle stages get what is left over (torchtitan/parallelisms/pipelining_utils.py: generate_split_points)."""
    stages, tiles = plan["pipeline"], plan["tensor"] * plan["data"] * plan.get("context", 1)
    share, more = divmod(layers, stages)
    counts = [share + (0 < stage <= more) for stage in range(stages)]
    names = ["embedding", *(f"layer {number}" for number in range(layers)), "head"]
    bound, first = [], 0
    for stage, count in enumerate(counts):
        end = first + count + (stage == 0) + (stage + 1 == stages)
        bound.append({"tiles": f"{stage * tiles}-{(stage + 1) * tiles - 1}", "layers": [names[first], names[end - 1]]})
        first = end
    return {**plan, "placement": {"layout": "given", "tiles": bound}}


def titan_plan(row):
    """With a pipeline FSDP2 keeps weights from the first forward pass to the last backward pass, and adds
    gradients up whole until the last micro-batch (reshard_after_forward, set_requires_gradient_sync): as ZeRO 1.
    As many micro-batches as parts of the model, the default (pipelining_utils.py: build_pipeline_schedule)."""
    pipeline, tensor, context = int(row["pipeline"]), int(row["tensor"]), int(row["context"])
    chunks = 2 if row["schedule"] == "interleaved" else 1
    micro_batch = max(1, int(row["local_batch"]) // (pipeline * chunks)) if pipeline > 1 else int(row["local_batch"])
    more = {"zero": 1 if pipeline > 1 else 3, "recompute": row["recompute"], "overlap_gradients": True,
            "software": titan_software(row)}
    if context > 1:
        more["context"] = context
    if tensor > 1:
        more["sequence_parallel"] = True
    if chunks > 1:
        more["chunks"] = chunks
    plan = strategy(pipeline, tensor, row["fsdp"], micro_batch, **more)
    return titan_stages(plan, LLAMA3[row["model"]]["layers"]) if chunks == 1 and pipeline > 1 else plan


@dataclass(frozen=True)
class Peak:
    name: str
    stage: dict  # the fullest
    refused: bool

    @property
    def gigabytes(self):
        return self.stage["bytes"] / 1e9

    @property
    def parts(self):
        return ", ".join(f"{part} {self.stage['parts'][part] / 1e9:.1f}" for part in SHOWN
                         if self.stage["parts"][part] >= 0.05e9)


class Peaks(Cluster):
    """Asks for memory only: `tessera check`, in closed form. What that refuses it asks about all the same."""

    def __init__(self, program, folder, machine):
        super().__init__(program, folder, machine)
        self.peaks = []

    def run(self, name, workload, plan, settings=()):
        self.count += 1
        tiles = plan["pipeline"] * plan["tensor"] * plan["data"] * plan.get("context", 1)
        path = Path(self.folder) / f"{self.count}.yaml"
        path.write_text(json.dumps({"name": name, "machine": str(self.machine), "workload": workload,
                                    "strategy": {**plan, "capacity": "check"}, "run": {"trace": "none"}}),
                        encoding="utf-8")
        extra = [f"machine.topology.nodes={max(1, -(-tiles // GPUS_A_NODE))}", *self.settings, *settings]
        words = [word for setting in extra for word in ("--set", setting)]
        command = [str(self.program), "check", str(path), "--json", *words]
        refused = call(command, (0, 2)).returncode == 2
        checked = json.loads(call([*command, "--set", "strategy.capacity=ignore"]).stdout)
        stages = checked["jobs"][0]["peak_memory"]
        self.peaks.append(Peak(name, max(stages, key=lambda stage: stage["bytes"]), refused))
        return {"iteration_time_ps": 1, "achieved_flops_per_s": 1.0}


def reserved(stage):
    """What the allocator holds [GiB]."""
    return (stage["bytes"] - sum(stage["parts"][part] for part in OUTSIDE)) / GIB


def longer_context(peaks):
    """How peaks of table 6 grow from its first row on, of (table, ours, published); nothing without its rows."""
    first, *longer = [peak[1:] for peak in peaks if peak[0] == "6"] or [None]
    if not longer:
        return ""
    ours, published = (listed([f"{peak[side] - first[side]:.1f}" for peak in longer]) for side in (0, 1))
    return f"; from the first row to the others ours grows by {ours} GiB, and the published peak by {published}"


def titan(report, program, folder, reduced):
    report.say("### torchtitan, Llama 3.1 on H100 of 96 GB")
    report.say()
    report.say("Published: the memory that PyTorch's allocator reserved on the fullest GPU (pytorch/torchtitan, "
               "benchmarks/llama3_h100_202412_torchtitan.md). Ours: `peak_memory` in the summary of a run "
               "(`aggregation: stage`, `replay: exact`), for the fullest stage, without context and communicators. "
               "`alternate` is torchtitan's selective checkpointing by operations. What PyTorch holds in addition is "
               "set by `strategy.software`, following its published code (docs/methods/peak-memory.md). In the model "
               "FP8 changes only the type of products. No constant was fitted to these rows, but what PyTorch holds "
               "was investigated with them in view. As in torchtitan's defaults, the number of micro-batches is that "
               "of the parts of the model, and middle stages get the layers left over; with two chunks, Tessera's "
               "stages are balanced by time.")
    report.say()
    cluster = Cluster(program, folder, "h100_cluster")
    table, held, peaks = [], 0, []
    rows = rows_of("torchtitan_memory.csv")
    for row in rows[:4:3] if reduced else rows:
        summary = cluster.run(f"{row['model']}", titan_work(row), titan_plan(row),
                              ["machine.dram.capacity=96 GiB"])
        stage = max(summary["peak_memory"]["stages"], key=lambda one: one["bytes"])
        ours, published = reserved(stage), float(row["memory_gib"])
        held += abs(ours / published - 1) <= BOUND
        peaks.append((row["table"], ours, published))
        table.append([row["table"], row["model"], f"{row['fsdp']}, {row['tensor']}, {row['pipeline']}, {row['context']}",
                      row["local_batch"], row["sequence"], row["recompute"] + (", " + row["schedule"] if row["schedule"] else ""),
                      f"{row['compile']}, {row['float8']}", f"{published:.1f}", f"{ours:.1f}", percent(ours, published),
                      "yes" if abs(ours / published - 1) <= BOUND else "**no**",
                      ", ".join(f"{part} {stage['parts'][part] / GIB:.1f}" for part in SHOWN
                                if stage["parts"][part] >= 0.05 * GIB)])
    report.table(["table", "model", "FSDP, tensor, pipeline, context", "batch", "tokens", "recompute", "compiled, FP8",
                  "published [GiB]", "ours [GiB]", "error", "within 10 %", "ours, by part"], table)
    report.bound(held == len(table), f"torchtitan, peak memory: {held} of {len(table)} rows within 10 %")
    report.say(f"Within 10 %: {held} of {len(table)}. Not modelled: temporaries of eager blocks beyond the largest "
               "operator's, and gathers in FP8. Table 6 has the same number of tokens per GPU in each row; what a "
               "longer context adds are the keys and values that ring attention gathers in full, each copied for its "
               f"16 heads (2 GiB in the last row), and fp32 sums of their gradients{longer_context(peaks)}. In table 2 "
               "the peak is after the loss, where the model still holds the block that attention gathered, which is "
               "too small for logits (4 GiB in the last row), and the published peak grows by 0.6. Table 5 with 1F1B "
               "has as many tokens as table 6; the reason for 82.5 rather than 75.3 GiB is not published.")
    report.say()


def refused_table(report, peaks, device):
    """What ran and does not fit by ours, each by name."""
    report.say("Runs that Tessera refuses although they ran, each by name; all others are simulated with the memory "
               f"check on. Missing memory is relative to {device / 1e9:.1f} GB:")
    report.say()
    report.table(["set", "run", "ours [GB]", "missing [GB]", "ours, by part [GB]"],
                 [[name, peak.name, f"{peak.gigabytes:.1f}", f"{peak.gigabytes - device / 1e9:.1f}", peak.parts]
                  for name, peak in peaks if peak.refused])


RUN, EACH, WHOLE = "`zero: 2`, `scatter: run`", "`zero: 2`, `scatter: each`", "`zero: 1`"


def outcome(runs):
    """How many of (fits, share of the published rate) fit, and the range of their rates."""
    rates = [100 * rate for _, rate in runs]
    return (f"{sum(fits for fits, _ in runs)} of {len(runs)} runs fit, and all reach {min(rates):.0f} to "
            f"{max(rates):.0f} % of the published rates")


def shared_gradients(report, program, folder, device):
    """Llama 3 with gradients as section 3.3.2 has them, and other ways to hold them."""
    table, by_way = [], defaultdict(list)
    ways = {RUN: {}, EACH: {"scatter": "each"}, WHOLE: {"zero": 1, "scatter": "each"}}
    for number, (way, keys) in enumerate(ways.items()):
        for name, replicas, parts, tokens, samples, published in LLAMA_ROWS:
            words = [f"workload.batch={samples}", f"workload.sequence={tokens}"]
            plan = {**llama_plan(replicas, parts), **keys, "capacity": "ignore"}
            own = folder / f"way{number}"
            own.mkdir(exist_ok=True)
            peaks = Peaks(program, own, "h100_cluster")
            peaks.run(name, str(LLAMA), plan, words)
            rate = Cluster(program, own, "h100_cluster").run(name, str(LLAMA), plan, words)["achieved_flops_per_s"]
            peak, rate = peaks.peaks[0].gigabytes, rate / (128 * replicas * parts) / 1e12
            by_way[way].append((peak <= device / 1e9, rate / published))
            table.append([name, way, f"{peak:.1f}", f"{max(0, peak - device / 1e9):.1f}", f"{rate:.0f}", published])
    report.say("Llama 3 405B without recomputation. Meta's FSDP \"shards optimizer states and gradients\" "
               "(arXiv:2407.21783, section 3.3.2) and keeps weights whole. The paper does not say when gradients are "
               f"scattered: if after each micro-batch, {outcome(by_way[EACH])}; if kept whole until the last "
               f"micro-batch (ZeRO 1), {outcome(by_way[WHOLE])}; if scattered once for all consecutive micro-batches "
               f"of a chunk, {outcome(by_way[RUN])}. The run on 8192 GPUs holds activations of 143 chunks in flight: "
               "in Meta's layout the embedding is a chunk of its own, which helps only the first stage, and the number "
               "of consecutive micro-batches (N in its figure 6; here the number of stages) is not published.")
    report.say()
    report.table(["run", "gradients", "ours [GB]", "missing [GB]", "ours [TFLOP/s a GPU]", "published"], table)


def fits(report, program, folder):
    report.say("### What ran on 80 GB")
    report.say()
    report.say("Every training run with a measured time here ran on GPUs of 80 GB, which are 80 GiB: PyTorch finds at "
               "least 79.1 GiB (84.9 GB), the capacity in the machine files. Ours: `tessera check --json`, the fullest "
               "stage, with context (723 MiB) and communicators (688 MB each). Products in FP8 keep their inputs in "
               "FP8 (`software.narrow_inputs`: NeMo and Megatron-Bridge use Transformer Engine).")
    report.say()
    table, every = [], []
    for number, one in enumerate(sets()):
        own = folder / f"set{number}"
        own.mkdir()
        cluster = Peaks(program, own, one.machine)
        one.run(cluster, one.rows, ())
        most = max(cluster.peaks, key=lambda peak: peak.gigabytes)
        every += [(one.name, peak) for peak in cluster.peaks]
        table.append([one.name, len(cluster.peaks), sum(not peak.refused for peak in cluster.peaks), most.name,
                      f"{most.gigabytes:.1f}", most.parts])
    report.table(["set", "runs", "fit", "fullest", "ours [GB]", "ours, by part [GB]"], table)
    fit = sum(not peak.refused for _, peak in every)
    report.bound(fit == len(every), f"peak memory: {fit} of {len(every)} runs that were measured fit their 80 GB")
    refused_table(report, every, DEVICE)
    (folder / "shared").mkdir()
    shared_gradients(report, program, folder / "shared", DEVICE)


def sections(report, program, folder, setting):
    report.say("## Peak memory")
    report.say()
    (folder / "titan").mkdir()
    (folder / "fits").mkdir()
    titan(report, program, folder / "titan", setting.reduced)
    if not setting.reduced:
        fits(report, program, folder / "fits")
