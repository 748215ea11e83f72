"""Parameter counts of the transformer generator beside published ones."""

import re

from page import ROOT, Runner, percent, rows_of


def sections(report, program, folder, _):
    runner = Runner(program, folder)
    report.say("## Parameter counts of the transformer generator")
    report.say()
    report.say("Command: `tessera check configs/experiments/quickstart.yaml --set "
               "workload=workloads/NAME.yaml`, line `parameters`. Reference: Narayanan et al., SC'21, "
               "arXiv:2104.04473, table 1 (one decimal).")
    report.say()
    rows = []
    for row in rows_of("megatron_parameters.csv"):
        workload = ROOT / "workloads" / f"{row['workload']}.yaml"
        text = runner.check("quickstart", ["--set", f"workload={workload}", "--set",
                                           "strategy.capacity=ignore"]).stdout
        ours = int(re.search(r"^parameters +(\d+)$", text, re.M).group(1)) / 1e9
        reference = float(row["parameters_billion"])
        rows.append([row["workload"], f"{ours:.4f}", reference, percent(ours, reference)])
        report.bound(abs(ours - reference) <= 0.051, f"{row['workload']}: {ours:.3f} · 10⁹ parameters")
    report.table(["model", "ours [10⁹]", "published [10⁹]", "difference"], rows)
