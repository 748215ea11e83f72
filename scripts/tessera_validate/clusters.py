"""Training on clusters of A100 and H100: experiments made from tables of measured runs."""

import csv
import json
from pathlib import Path

from page import ROOT, call, summary_of

REFERENCE = ROOT / "tests" / "validation" / "reference"
MACHINES = ROOT / "configs" / "machines"
VOCABULARY = 51200  # Megatron's GPT-2 vocabulary, padded (arXiv:2104.04473, section 5)
GPUS_A_NODE = 8


def rows_of(name):
    with open(REFERENCE / name, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def gpt(layers, hidden, heads, sequence, batch, **more):
    return {"kind": "transformer", "layers": int(layers), "hidden": int(hidden), "heads": int(heads),
            "sequence": int(sequence), "vocabulary": VOCABULARY, "batch": int(batch), **more}


def strategy(pipeline, tensor, data, micro_batch, **more):
    """One tile stands for its stage, and equal micro-batches are not simulated again."""
    return {"pipeline": int(pipeline), "tensor": int(tensor), "data": int(data),
            "micro_batch": int(micro_batch), "aggregation": "stage", **more}


class Cluster:
    """Runs experiments on a machine file, on as many of its nodes as they need."""

    def __init__(self, program, folder, machine):
        self.program = program
        self.folder = Path(folder)
        self.machine = MACHINES / f"{machine}.yaml"
        self.settings = []  # of all runs, key=value
        self.count = 0

    def run(self, name, workload, plan, settings=()):
        """The summary of a run, or the message of its refusal."""
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
        done = call([str(self.program), "run", str(path), "-o", str(output), "-q", "-q", *words],
                    (0, 2))
        if done.returncode != 0:
            return {"refused": done.stderr.strip().splitlines()[0]}
        return summary_of(output)


def vtrain_plan(row):
    """As its artifact configures these runs: 1F1B, full recomputation, gradients reduced at the
    end."""
    return strategy(row["pipeline parallelism"], row["tensor parallelism"],
                    row["data parallelism"], row["micro batch"], recompute="full",
                    boundary="full")


def vtrain_workload(row):
    return gpt(row["# layers"], row["hidden size"], row["attention heads"],
               row["sequence length"], row["global batch"])


def run_vtrain(cluster, rows, settings=()):
    """[(row, ours in ms or None, measured in ms)]"""
    found = []
    for row in rows:
        summary = cluster.run("vtrain", vtrain_workload(row), vtrain_plan(row), settings)
        ours = None if "refused" in summary else summary["iteration_time_ps"] / 1e9
        found.append((row, ours, float(row["iteration time (ms)"])))
    return found


def mean_error(found):
    errors = [abs(ours - measured) / measured for _, ours, measured in found if ours is not None]
    return 100 * sum(errors) / len(errors)
