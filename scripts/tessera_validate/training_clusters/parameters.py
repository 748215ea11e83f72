"""Parameter counts of the transformer generator beside published ones."""

import json
import re

from page import ROOT, Runner, percent, rows_of
from training_clusters.clusters import MACHINES
from training_clusters.plans import megatron_plan


def runs():
    """Of table 1, by the name of the workload."""
    return {row["model"].lower().replace("-", "_").replace(".", "_"): row for row in rows_of("megatron_sc21.csv")
            if row["source"] == "SC21 Table1"}


def sections(report, program, folder, _):
    runner = Runner(program, folder)
    report.say("## Parameter counts of the transformer generator")
    report.say()
    report.say("Command: `tessera check` (line `parameters`) of an experiment with `workloads/NAME.yaml` on "
               "`configs/machines/a100_cluster.yaml`, with the parallelism degrees of the paper's run. Reference: "
               "Narayanan et al., SC'21, arXiv:2104.04473, table 1 (one decimal).")
    report.say()
    rows, plans = [], runs()
    for row in rows_of("megatron_parameters.csv"):
        path = folder / f"{row['workload']}.yaml"
        path.write_text(json.dumps({"name": row["workload"], "machine": str(MACHINES / "a100_cluster.yaml"),
                                    "workload": str(ROOT / "workloads" / path.name),
                                    "strategy": megatron_plan(plans[row["workload"]])}), encoding="utf-8")
        text = runner.check(path).stdout
        ours = int(re.search(r"^parameters +(\d+)$", text, re.M).group(1)) / 1e9
        reference = float(row["parameters_billion"])
        rows.append([row["workload"], f"{ours:.4f}", reference, percent(ours, reference)])
        report.bound(abs(ours - reference) <= 0.051, f"{row['workload']}: {ours:.3f} · 10⁹ parameters")
    report.table(["model", "ours [10⁹]", "published [10⁹]", "difference"], rows)
