"""Training iterations with the constants of the devices, beside those of the cluster files."""

import re
from collections import defaultdict
from dataclasses import dataclass

from operators.rows import errors
from page import ROOT, rows_of
from training_clusters.clusters import gpt, run_foundry, run_rows, run_vtrain, strategy
from training_clusters.measured import LLAMA, LLAMA_ROWS, megatron_plan

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


def of_vtrain(recompute):
    def run(cluster, rows, settings):
        return run_vtrain(cluster, rows, settings, recompute)
    return run


def zero_plan(row):
    return strategy(1, 1, row["dp"], row["micro_batch_per_replica"], zero=3, overlap_gradients=True,
                    recompute="full", capacity="ignore")


def of_megatron(plan_of):
    def run(cluster, rows, settings):
        found = []
        for row in rows:
            work = gpt(row["layers"], row["hidden"], row["heads"], row["seq"], row["batch"])
            summary = cluster.run(row["model"], work, plan_of(row), settings)
            found.append((row, summary["iteration_time_ps"] / 1e9, 1e3 * float(row["iter_time_s"])))
        return found
    return run


def run_llama(cluster, rows, settings):
    found = []
    for name, replicas, parts, tokens, samples, published in rows:
        plan = strategy(16, 8, replicas, 1, context=parts, sequence_parallel=True, chunks=8, zero=1,
                        overlap_gradients=True, capacity="ignore")
        summary = cluster.run(name, str(LLAMA), plan, [f"workload.batch={samples}",
                                                       f"workload.sequence={tokens}", *settings])
        ours = summary["achieved_flops_per_s"] / (128 * replicas * parts) / 1e12
        found.append((name, published / ours, 1.0))  # times go as 1 / rate
    return found


def megatron_rows(source, scheme=""):
    return [row for row in rows_of("megatron_sc21.csv")
            if source in row["source"] and scheme in row["scheme"]]


# Name, machine, server with the device's constants, rows, how to run them.
def sets():
    return [
        ("vTrain, one node, whole set", "a100_cluster_4nic", "a100_server", rows_of("vtrain_single.csv"),
         of_vtrain("none")),
        ("vTrain, several nodes", "a100_cluster_4nic", "a100_server", rows_of("vtrain_multi.csv"),
         of_vtrain("full")),
        ("Megatron SC'21, table 1", "a100_cluster", "a100_server", megatron_rows("Table1"),
         of_megatron(megatron_plan)),
        ("Megatron SC'21, table 2, PTD-P", "a100_cluster", "a100_server", megatron_rows("Table2", "PTD-P"),
         of_megatron(megatron_plan)),
        ("Megatron SC'21, table 2, ZeRO-3", "a100_cluster", "a100_server", megatron_rows("Table2", "ZeRO-3"),
         of_megatron(zero_plan)),
        ("Korthikanti, table 5", "a100_cluster", "a100_server", megatron_rows("Table5"),
         of_megatron(megatron_plan)),
        ("llm-foundry, H100, one node", "h100_cluster", "h100_server", rows_of("llm_foundry_h100.csv"),
         run_foundry),
        ("Llama 3 405B, H100", "h100_cluster", "h100_server", LLAMA_ROWS, run_llama),
    ]


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
    for number, (name, machine, server, rows, run) in enumerate(chosen):
        device = constants_of(server)
        if setting.reduced:
            rows = rows[::EVERY]
        cells = []
        for kind, settings in (("cluster", []), ("device", device),
                               ("host", [*device, f"machine.compute.issue={HOST}"])):
            own = folder / f"{number}-{kind}"
            found = run_rows(program, own, machine, rows, run, settings)
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
    names = sorted({key[:2] for key in by_degree}, key=lambda key: ([each[0] for each in sets()].index(key[0]), key[1]))
    report.table(["set", "tensor degree", "rows", "cluster file", "device", "device and host"],
                 [[name, size, len(by_degree[name, size, "device"]),
                   *(f"{errors(by_degree[name, size, kind]).bias:+.1f} %" for kind in ("cluster", "device", "host"))]
                  for name, size in names])
    report.say("What is missing, as far as it is known:")
    report.say()
    for line in MISSING:
        report.say(f"- {line}")
    report.say()
