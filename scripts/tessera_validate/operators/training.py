"""Training iterations, whole sets, with the constants of the devices."""

from collections import defaultdict
from dataclasses import dataclass

from operators.rows import HEAD, errors
from training_clusters.clusters import run_rows
from training_clusters.sets import sets

MOST_BIAS = 3    # of a set [%]
TOGETHER = {"Megatron SC'21": 5, "llm-foundry, H100": 7}  # publications with several sets, and the bound [%]
EVERY = 100      # one row in so many in the reduced form,
QUICK = 3        # and so many of the sets: sharded weights over many servers take minutes

# Known errors; braces stand for errors of ours, of rows that known_errors names.
ZERO_3 = (
    "ZeRO-3 (SC'21, table 2): 1536 GPUs with half of the work each took as long as 768. Most of this comes from what "
    "DeepSpeed did at that time: each collective handles lists with one tensor per rank, which takes host time in "
    "proportion to the number of ranks; each parameter has its own collective, which waits for everything before it; "
    "weights are gathered again between recomputation and backward pass; norms of gathered weights are computed for "
    "messages that are never printed; biases and norms are reduced one by one, and after each update gathered and "
    "copied in the same way; and NICs reach half of their rate at that scale (section 5.9 of the paper).{} Three "
    "things are not modelled, each of which would shorten simulated times: lists of gradients are made while the "
    "device computes; copies out of a gather's buffer are issued while the gather is in progress; and the next "
    "parameter is prefetched while fewer than 10⁹ are gathered (`max_live_parameters`), which applies to some "
    "parameters of 175 billion and to hardly any of 530 billion.")
ZERO_3_ERRORS = (
    " The error is {}, {} and {} % for 530 billion parameters on 640, 1120 and 2240 GPUs, and {}, {} and {} % for 175 "
    "billion on 384, 768 and 1536.")
ZERO_3_ROWS = tuple({"model": model, "gpus": gpus} for model, gpus in (
    ("T-530B", "640"), ("T-530B", "1120"), ("T-530B", "2240"),
    ("T-175B", "384"), ("T-175B", "768"), ("T-175B", "1536")))
VTRAIN = (
    "vTrain, one node: the 695 rows add up about 32 profiles of one layer (`training-clusters.md`, part `measured`), "
    "which scatter. Width 2048 with tensor degree 4 takes 2.99 ms with one sample and 2.75 with two; with two "
    "samples, degree 2 takes as long as degree 1 (4.63 and 4.76 ms). Each was profiled once. The table of layers in "
    "`training-clusters.md`, part `measured`, has the error of each.",
    "vTrain, several nodes: five rows took up to twice the time of comparable rows; `training-clusters.md`, part "
    "`measured`, says how much of the error they account for.")
FOUNDRY_A100 = (
    "llm-foundry, A100: the model of 760 million with 512 and 1024 tokens reaches 45 and 48 % of the peak, and 57 % "
    "with 2048. A possible cause is an allocator that frees blocks and allocates them again: this costs time where "
    "memory is nearly full, and how often it happens depends on the order of blocks, which is not modelled.")
FOUNDRY_H100 = (
    "llm-foundry, H100: the error of the model of 30 billion with 8192 tokens is {} %, and its published rate is below "
    "that with 4096 tokens on A100 too: its state alone fills three quarters of the memory, and an allocator that "
    "frees and allocates again is not modelled. The error of 760 million with 2048 tokens is {} %; it reaches less "
    "than with 4096 and 1024.")
FOUNDRY_NODES = "llm-foundry, H100, several nodes: the error of 1 billion on 64 and 512 GPUs is {} and {} %."
NEMO = (
    "NeMo: the error of GPT-3 of 175 billion on 128 GPUs is {} %, that of Llama 2 and 3 of 70 billion on 64 GPUs {} "
    "and {} %.")


def stated(text, found, rows):
    """`text` with the errors of the rows that have these values; None where one of them was not run."""
    off = [f"{100 * (ours / measured - 1):+.0f}" for keys in rows for row, ours, measured in found
           if all(row[key] == value for key, value in keys.items())]
    return text.format(*off) if len(off) == len(rows) else None


def known_errors(by_set):
    """`by_set`: of the name of each set, what run_rows gives. None in place of what has rows that were not run."""
    zero_3 = stated(ZERO_3_ERRORS, by_set["Megatron SC'21, table 2, ZeRO-3"], ZERO_3_ROWS)
    return [
        zero_3 and ZERO_3.format(zero_3),
        *VTRAIN,
        FOUNDRY_A100,
        stated(FOUNDRY_H100, by_set["llm-foundry, H100, one node"],
               ({"model": "30b", "sequence": "8192"}, {"model": "760m", "sequence": "2048"})),
        stated(FOUNDRY_NODES, by_set["llm-foundry, H100, several nodes"],
               ({"model": "1b", "gpus": "64"}, {"model": "1b", "gpus": "512"})),
        stated(NEMO, by_set["NeMo, FP8, H100"],
               ({"model": "GPT3-175B"}, {"model": "LLAMA2-70B"}, {"model": "LLAMA3-70B"}))]


@dataclass(frozen=True)
class Iteration:
    """Measured in milliseconds; `us` is what operators.rows.errors compares with."""
    row: dict
    us: float


def degree(row):
    names = ("tensor parallelism", "tp", "tensor")
    return next((row[name] for name in names if isinstance(row, dict) and name in row), None)


def source(name):
    return next((whole for whole in TOGETHER if name.startswith(whole)), None)


def together(report, by_source):
    report.say("Sets of one publication combined:")
    report.say()
    table = []
    for whole, bound in TOGETHER.items():
        found = errors(by_source[whole])
        rows, _, bias, worst = found.cells()
        table.append([whole, rows, report.at_most(found.absolute, bound, f"{whole}, all sets: mean absolute error [%]"),
                      f"{bias} (" + report.bound(abs(found.bias) <= MOST_BIAS,
                                                 f"{whole}, all sets: mean error {found.bias:+.1f} %, at most {MOST_BIAS} %")
                      + ")", worst])
    report.table(["source", *HEAD], table)


def sections(report, program, folder, setting):
    report.say("## Training with the constants of devices")
    report.say()
    report.say("Whole sets. The machine files of clusters have the constants of the device (`a100_server`, "
               "`h100_server`): one set per device, from single operators alone. Other behaviour of the software is "
               "set, with its source, in `scripts/tessera_validate/training_clusters/clusters.py`: attention kernels, "
               "fused losses, FP8 products, prefetch, and the host of vTrain's stack. The bounds are those of "
               "`sets.py`, and 3 % for the mean error of either sign.")
    report.say()
    table, by_degree, by_source, by_set = [], defaultdict(list), defaultdict(list), defaultdict(list)
    chosen = sets()[:QUICK if setting.reduced else None]
    for number, each in enumerate(chosen):
        name, rows = each.name, each.rows
        if setting.reduced:
            rows = rows[::EVERY]
        found = by_set[name] = run_rows(program, folder / str(number), each.machine, rows, each.run)
        whole = errors([(Iteration(row, measured), ours) for row, ours, measured in found])
        print(f"run     {name}: {whole.absolute:.1f} %, {whole.bias:+.1f} %", flush=True)
        for row, ours, measured in found:
            by_source[source(name)].append((Iteration(row, measured), ours))
            if degree(row):
                by_degree[name, int(degree(row))].append((Iteration(row, measured), ours))
        cells = whole.cells()
        if not setting.reduced:
            cells[1] = report.at_most(whole.absolute, each.bound, f"{name}: mean absolute error [%]")
            cells[2] += " (" + report.bound(abs(whole.bias) <= MOST_BIAS,
                                            f"{name}: mean error {whole.bias:+.1f} %, at most {MOST_BIAS} %") + ")"
        table.append([name, each.machine, *cells])
    report.table(["set", "machine", *HEAD], table)
    if not setting.reduced:
        together(report, by_source)
    report.say("By tensor degree:")
    report.say()
    order = [each.name for each in sets()]
    report.table(["set", "tensor degree", *HEAD],
                 [[name, size, *errors(by_degree[name, size]).cells()]
                  for name, size in sorted(by_degree, key=lambda key: (order.index(key[0]), key[1]))])
    report.say("Known errors and, where known, their causes:")
    report.say()
    for entry in known_errors(by_set):
        if entry:
            report.say(f"- {entry}")
        elif not setting.reduced:
            report.not_run("rows that a known error names")
    report.say()
