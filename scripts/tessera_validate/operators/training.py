"""Training iterations with the constants of the devices, beside those of the cluster files."""

import re
from collections import defaultdict
from dataclasses import dataclass

from operators.rows import errors
from page import ROOT
from training_clusters.clusters import run_rows
from training_clusters.sets import sets

HOST = "100 us"  # an operation, a collective: vTrain's stack, from its smallest runs on one GPU
EVERY = 100      # one row in so many in the reduced form,
QUICK = 3        # and so many of the sets: sharded weights over many servers take minutes

MISSING = (
    "vTrain, one node: one GPU's host takes some 3 ms a layer and 8 ms a micro-batch beside the "
    "layers (width 1024, one sample: 43.8 ms with 12 layers, 79.9 ms with 24), and for the latter no "
    "operators stand. With tensor degree 8 it takes half as long again as with 4, but less with "
    "micro-batches of two than of one; the reason is not known.",
    "vTrain, several nodes: with tensor degree 16 all-reduces between servers are too fast here, "
    "for which the cluster file's launch overhead of 38 us makes up in part.",
    "A100, the largest models and Korthikanti's: up to 11 % too slow. Products of more than 3 ms "
    "reach 249 TFLOP/s at the most in Vidur's rows, others' best 268 to 271 (`gemm_rates.csv`), H100's 728 "
    "and 780 to 795; which clocks and libraries Vidur had is not said.",
    "ZeRO-3: 768 and 1536 GPUs took the same measured time, with half of the work each: gathers of "
    "weights decide, which are all but hidden here.",
    "H100: too fast throughout, where weights are shared out (gathers that are not hidden) and in "
    "Llama 3's runs, where they are not. Clocks under power, kernels of each kind and what the "
    "framework adds are not modelled; which of them it is, is not known.",
)


def constants_of(server):
    """The section `compute` of a machine file, as settings."""
    text = (ROOT / "configs" / "machines" / f"{server}.yaml").read_text(encoding="utf-8")
    keys = re.findall(r"^  (\w+): ([^#\n]*?)\s*(?:#.*)?$", text[text.index("compute:\n"):], re.MULTILINE)
    return [f"machine.compute.{key}={value}" for key, value in keys if key != "model"]


@dataclass(frozen=True)
class Iteration:
    """Measured in milliseconds; `us` is what operators.rows.errors compares with."""
    row: dict
    us: float


def degree(row):
    return next((row[key] for key in ("tensor parallelism", "tp") if isinstance(row, dict) and key in row), None)


def sections(report, program, folder, setting):
    report.say("## Training with the constants of devices")
    report.say()
    report.say("Whole sets, each run three times: with the constants of the cluster files, two "
               "of which were fitted to training iterations (`results/training-clusters.md`); "
               "with those of single operators (`a100_server`, `h100_server`); and with these "
               f"and a host that takes {HOST} to issue an operation or a collective "
               "(`compute.issue`), which is of vTrain's stack and no property of the device. "
               "No bound: this says what is missing before the second or third can replace the "
               "first.")
    report.say()
    table, by_degree = [], defaultdict(list)
    chosen = sets()[:QUICK if setting.reduced else None]
    for number, each in enumerate(chosen):
        name, rows = each.name, each.rows
        device = constants_of(each.server)
        if setting.reduced:
            rows = rows[::EVERY]
        cells = []
        for kind, settings in (("cluster", []), ("device", device),
                               ("host", [*device, f"machine.compute.issue={HOST}"])):
            own = folder / f"{number}-{kind}"
            found = run_rows(program, own, each.machine, rows, each.run, settings)
            whole = errors([(Iteration(row, measured), ours) for row, ours, measured in found])
            print(f"run     {name}, {kind}: {whole.absolute:.1f} %, {whole.bias:+.1f} %", flush=True)
            cells += [f"{whole.absolute:.1f} %", f"{whole.bias:+.1f} %"]
            for row, ours, measured in found:
                if degree(row):
                    by_degree[name, int(degree(row)), kind].append((Iteration(row, measured), ours))
        table.append([name, len(rows), *cells])
    report.table(["set", "rows", "cluster file", "bias", "device", "bias", "device and host", "bias"], table)
    report.say("Mean errors of A100 by tensor degree:")
    report.say()
    names = sorted({key[:2] for key in by_degree}, key=lambda key: ([each.name for each in sets()].index(key[0]), key[1]))
    report.table(["set", "tensor degree", "rows", "cluster file", "device", "device and host"],
                 [[name, size, len(by_degree[name, size, "device"]),
                   *(f"{errors(by_degree[name, size, kind]).bias:+.1f} %" for kind in ("cluster", "device", "host"))]
                  for name, size in names])
    report.say("What is missing, as far as it is known:")
    report.say()
    for line in MISSING:
        report.say(f"- {line}")
    report.say()
