"""Training iterations, whole sets, with the constants of the devices."""

from collections import defaultdict
from dataclasses import dataclass

from operators.rows import HEAD, errors
from training_clusters.clusters import run_rows
from training_clusters.sets import sets

EVERY = 100      # one row in so many in the reduced form,
QUICK = 3        # and so many of the sets: sharded weights over many servers take minutes

MISSING = (
    "ZeRO-3 (SC'21, table 2): 768 and 1536 GPUs took the same time with half of the work each. Three things "
    "in DeepSpeed of that time explain two thirds of what was missing: lists of a tensor for every rank in each "
    "collective, whose handling takes the host time in proportion to ranks; a collective for each parameter, and "
    "each waits for all before; weights gathered again between recomputation and backward pass. The model of 530 "
    "billion parameters stays a quarter too fast at any number of GPUs. With up to 35 GB of stored activations and "
    "parameters of 3.4 GB, held twice while gathered, its memory is nearly full (a likely cause, not verified: "
    "allocations that fail first, and are tried again after everything is freed).",
    "vTrain, one node: with tensor degree 8 the host takes half as long again as with 4, but less with "
    "micro-batches of two than of one; the reason is not known.",
    "vTrain, several nodes: tensor degrees 2 and 4 with 16 and 32 replicas are too fast, and four rows took up "
    "to twice the time of their neighbours.",
    "H100: small micro-batches of FSDP and narrow models are too fast.",
)


@dataclass(frozen=True)
class Iteration:
    """Measured in milliseconds; `us` is what operators.rows.errors compares with."""
    row: dict
    us: float


def degree(row):
    names = ("tensor parallelism", "tp", "tensor")
    return next((row[name] for name in names if isinstance(row, dict) and name in row), None)


def sections(report, program, folder, setting):
    report.say("## Training with the constants of devices")
    report.say()
    report.say("Whole sets. The machine files of clusters have the constants of the device "
               "(`a100_server`, `h100_server`): one set a device, from single operators alone. What software "
               "does besides is set with its source in `scripts/tessera_validate/training_clusters/clusters.py`: "
               "kernels of attention, fused losses, FP8 products, prefetch, and the host of vTrain's stack. No "
               "bound.")
    report.say()
    table, by_degree = [], defaultdict(list)
    chosen = sets()[:QUICK if setting.reduced else None]
    for number, each in enumerate(chosen):
        name, rows = each.name, each.rows
        if setting.reduced:
            rows = rows[::EVERY]
        found = run_rows(program, folder / str(number), each.machine, rows, each.run)
        whole = errors([(Iteration(row, measured), ours) for row, ours, measured in found])
        print(f"run     {name}: {whole.absolute:.1f} %, {whole.bias:+.1f} %", flush=True)
        for row, ours, measured in found:
            if degree(row):
                by_degree[name, int(degree(row))].append((Iteration(row, measured), ours))
        table.append([name, each.machine, *whole.cells()])
    report.table(["set", "machine", *HEAD], table)
    report.say("By tensor degree:")
    report.say()
    order = [each.name for each in sets()]
    report.table(["set", "tensor degree", *HEAD],
                 [[name, size, *errors(by_degree[name, size]).cells()]
                  for name, size in sorted(by_degree, key=lambda key: (order.index(key[0]), key[1]))])
    report.say("What is missing, as far as it is known:")
    report.say()
    for line in MISSING:
        report.say(f"- {line}")
    report.say()
