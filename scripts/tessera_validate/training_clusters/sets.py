"""Every set of measured training iterations that we hold, and how each is run."""

from collections.abc import Callable
from dataclasses import dataclass

from page import rows_of
from training_clusters.clusters import GPUS_A_NODE, ZERO_3, ZERO_3_HOST, gpt, run_foundry, run_mpt, run_nemo, run_profiled
from training_clusters.clusters import run_vtrain, strategy
from training_clusters.plans import LLAMA, LLAMA_ROWS, llama_plan, megatron_norms, megatron_plan


@dataclass(frozen=True)
class Set:
    name: str
    machine: str
    rows: list
    run: Callable  # (cluster, rows, settings): [(row, ours, measured)]
    bound: float   # wanted, of the mean absolute error [%]


def zero_plan(row):
    return strategy(1, 1, row["dp"], row["micro_batch_per_replica"], recompute="full", **ZERO_3)


def of_megatron(plan_of, *software):
    def run(cluster, rows, settings):
        found, settings = [], [*software, *settings]
        for row in rows:
            work = gpt(row["layers"], row["hidden"], row["heads"], row["seq"], row["batch"])
            summary = cluster.run(row["model"], work, plan_of(row), [megatron_norms(row), *settings])
            found.append((row, summary["iteration_time_ps"] / 1e9, 1e3 * float(row["iter_time_s"])))
        return found
    return run


def run_llama(cluster, rows, settings):
    found = []
    for name, replicas, parts, tokens, samples, published in rows:
        summary = cluster.run(name, str(LLAMA), llama_plan(replicas, parts),
                              [f"workload.batch={samples}", f"workload.sequence={tokens}", *settings])
        ours = summary["achieved_flops_per_s"] / (128 * replicas * parts) / 1e12
        found.append((name, published / ours, 1.0))  # times go as 1 / rate
    return found


def megatron_rows(source, scheme=""):
    return [row for row in rows_of("megatron_sc21.csv")
            if source in row["source"] and scheme in row["scheme"]]


def foundry_rows(gpu, several):
    return [row for row in rows_of("llm_foundry.csv")
            if row["gpu"] == gpu and (int(row["gpus"]) > GPUS_A_NODE) == several]


def sets():
    return [
        Set("vTrain, one node, whole set", "a100_cluster_4nic",
            rows_of("vtrain_single.csv"), run_profiled, 7),
        Set("vTrain, several nodes", "a100_cluster_4nic", rows_of("vtrain_multi.csv"), run_vtrain, 6),
        Set("Megatron SC'21, table 1", "a100_cluster", megatron_rows("Table1"),
            of_megatron(megatron_plan), 5),
        Set("Megatron SC'21, table 2, PTD-P", "a100_cluster",
            megatron_rows("Table2", "PTD-P"), of_megatron(megatron_plan), 5),
        Set("Megatron SC'21, table 2, ZeRO-3", "a100_cluster",
            megatron_rows("Table2", "ZeRO-3"), of_megatron(zero_plan, *ZERO_3_HOST), 5),
        Set("Korthikanti, table 5", "a100_cluster", megatron_rows("Table5"),
            of_megatron(megatron_plan), 4),
        Set("llm-foundry, A100", "a100_cluster",
            [*foundry_rows("a100", False), *foundry_rows("a100", True)], run_mpt, 7),
        Set("llm-foundry, H100, one node", "h100_cluster",
            rows_of("llm_foundry_h100.csv"), run_foundry, 7),
        Set("llm-foundry, H100, several nodes", "h100_cluster",
            foundry_rows("h100", True), run_mpt, 7),
        Set("NeMo, FP8, H100", "h100_cluster", rows_of("nemo_h100_fp8.csv"), run_nemo, 8),
        Set("Llama 3 405B, H100", "h100_cluster", LLAMA_ROWS, run_llama, 5),
    ]
