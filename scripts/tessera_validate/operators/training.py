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

MISSING = (
    "ZeRO-3 (SC'21, table 2): 768 and 1536 GPUs took the same time with half of the work each. What DeepSpeed of that time "
    "does besides explains most of it: lists of a tensor for every rank in each collective, whose handling takes the host "
    "time in proportion to ranks; a collective for each parameter, and each waits for all before; weights gathered again "
    "between recomputation and backward pass; norms of gathered weights for messages that nobody prints; biases and norms "
    "reduced one by one, and gathered and copied so after each update; and NICs that carry half of their rate at that scale "
    "(section 5.9 of the paper). The model of 530 billion "
    "parameters stays 11 to 14 % too fast at any number of GPUs, as if each gigabyte gathered took 5 ms more; 175 billion "
    "on 1536 GPUs are 13 % too slow. Three things are not modelled, and each would take time away, where it is missing: lists "
    "of gradients are made while the device computes; copies out of a gather's buffer are issued while it is under way; and "
    "the next parameter is gathered ahead where fewer than 10⁹ are there (`max_live_parameters`), which some of 175 billion "
    "are and of 530 billion hardly any (with all gathered ahead the former are 9 to 22 % too fast, the latter 26 to 33 %).",
    "vTrain, one node: the 695 rows add up some 32 profiles of one layer (`training-clusters.md`, part `measured`), which "
    "scatter. Width 2048 with tensor degree 4 takes 2.99 ms with one sample and 2.75 with two, degree 2 as long as degree "
    "1 with two samples (4.63 and 4.76 ms): Each was profiled once. Five "
    "of nineteen layers take 0.6 to 0.9 ms longer than ours, two of width 2048 with tensor degree 4 take 0.5 and 1.1 ms less "
    "(`training-clusters.md`, part `measured`).",
    "vTrain, several nodes: five rows took up to twice the time of their neighbours, which makes half of the error "
    "(`training-clusters.md`, part `measured`).",
    "llm-foundry, A100: the model of 760 million with 512 and 1024 tokens reaches 45 and 48 % of the peak, and 57 % with "
    "2048. It is counted at 71.8 GB of 80, as are the rows of H100 that are far off: an allocator that frees what it has "
    "and asks again costs time, and how often it does hangs on the order of blocks, which is not modelled.",
    "llm-foundry, H100: the model of 30 billion takes a quarter longer than ours with 8192 tokens, and is published to fall "
    "behind its rate with 4096 on A100 too: its state alone fills three quarters of the memory, and an allocator that frees "
    "and asks again is not modelled. 760 million with 2048 tokens (9 %) reach less than with 4096 and 1024.",
    "llm-foundry, H100, several nodes: 1 billion on 64 and 512 GPUs is 4 and 7 % too fast.",
    "NeMo: GPT-3 of 175 billion on 128 GPUs takes 15 % less time than ours, where Llama 2 and 3 of 70 billion on 64 take 4 % "
    "less.",
)


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
    report.say("Sets of one publication together:")
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
    report.say("Whole sets. The machine files of clusters have the constants of the device "
               "(`a100_server`, `h100_server`): one set a device, from single operators alone. What software "
               "does besides is set with its source in `scripts/tessera_validate/training_clusters/clusters.py`: "
               "kernels of attention, fused losses, FP8 products, prefetch, and the host of vTrain's stack. Bounds are "
               "those of `sets.py`, and 3 % of the mean error, whichever its sign.")
    report.say()
    table, by_degree, by_source = [], defaultdict(list), defaultdict(list)
    chosen = sets()[:QUICK if setting.reduced else None]
    for number, each in enumerate(chosen):
        name, rows = each.name, each.rows
        if setting.reduced:
            rows = rows[::EVERY]
        found = run_rows(program, folder / str(number), each.machine, rows, each.run)
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
    report.say("What is missing, as far as it is known:")
    report.say()
    for line in MISSING:
        report.say(f"- {line}")
    report.say()
