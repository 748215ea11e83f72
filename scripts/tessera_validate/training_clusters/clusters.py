"""Training on clusters of A100 and H100: experiments made from tables of measured runs."""

import concurrent.futures
import json
from pathlib import Path

from page import ROOT, call, processors, summary_of

MACHINES = ROOT / "configs" / "machines"
VOCABULARY = 51200  # Megatron's GPT-2 vocabulary, padded (arXiv:2104.04473, section 5)
GPUS_A_NODE = 8


def gpt(layers, hidden, heads, sequence, batch, **more):
    return {"kind": "transformer", "layers": int(layers), "hidden": int(hidden), "heads": int(heads),
            "sequence": int(sequence), "vocabulary": VOCABULARY, "batch": int(batch), **more}


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
        self.count += 1
        tiles = plan["pipeline"] * plan["tensor"] * plan["data"] * plan.get("context", 1)
        experiment = {"name": name, "machine": str(self.machine), "workload": workload,
                      "strategy": plan, "run": {"trace": "none", "replay": "exact"}}
        path = self.folder / f"{self.count}.yaml"
        path.write_text(json.dumps(experiment), encoding="utf-8")
        output = self.folder / f"{self.count}"
        nodes = max(1, -(-tiles // GPUS_A_NODE))
        extra = [f"machine.topology.nodes={nodes}", "machine.network.model=analytical",
                 *self.settings, *settings]
        words = [word for setting in extra for word in ("--set", setting)]
        call([str(self.program), "run", str(path), "-o", str(output), "-q", "-q", *words])
        return summary_of(output)


def vtrain_plan(row, recompute="full"):
    """As its artifact configures these runs: 1F1B, gradients reduced at the end. DeepSpeed cuts the
    boundary activations of tensor groups (deepspeed/runtime/pipe/engine.py: is_pipe_partitioned)."""
    tensor = int(row["tensor parallelism"])
    plan = strategy(row["pipeline parallelism"], tensor, row["data parallelism"],
                    row["micro batch"], recompute=recompute,
                    boundary="scattered" if tensor > 1 else "full", capacity="ignore")
    return equal_stages(plan, int(row["# layers"]))


def vtrain_workload(row):
    return gpt(row["# layers"], row["hidden size"], row["attention heads"],
               row["sequence length"], row["global batch"])


def run_vtrain(cluster, rows, settings=(), recompute="full"):
    """[(row, ours in ms, measured in ms)]"""
    found = []
    for row in rows:
        summary = cluster.run("vtrain", vtrain_workload(row), vtrain_plan(row, recompute), settings)
        found.append((row, summary["iteration_time_ps"] / 1e9, float(row["iteration time (ms)"])))
    return found


def mean_error(found):
    """Mean absolute error in percent."""
    errors = [abs(ours / measured - 1) for _, ours, measured in found]
    return 100 * sum(errors) / len(errors)


def run_foundry(cluster, rows, settings=()):
    """[(row, ours in ms, measured in ms)] of MosaicML's runs: FSDP over one node."""
    found = []
    for row in rows:
        tokens, micro_batch = int(row["sequence"]), int(row["micro_batch"])
        batch = GPUS_A_NODE * micro_batch * int(row["accumulation"])
        # MPT: flash attention, no biases, no dropout; vocabulary of 50368 (the same repository).
        work = gpt(row["layers"], row["hidden"], row["heads"], tokens, batch, data_type="bf16",
                   attention="flash", causal=True, biases=False, dropout=False)
        work["vocabulary"] = 50368
        plan = strategy(1, 1, GPUS_A_NODE, micro_batch, zero=3, overlap_gradients=True,
                        recompute=row["recompute"], capacity="ignore")
        summary = cluster.run(row["model"], work, plan, settings)
        measured = batch * tokens / GPUS_A_NODE / float(row["tokens_per_s_per_gpu"])
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
