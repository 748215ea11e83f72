"""Other kinds of work, and runs of a moment: faster, or left to one rank."""

import math

from collectives import topologies
from ranks.cases import HEAD, Case, Runs, gain_row
from training_clusters import systems

NOT_SLOWER = 0.9
SIZES = (2, 8, 8, 8)  # 1024 NPUs, of Table III of the ASTRA-sim 2.0 paper


def trace_case(folder):
    """A step of GPT-3 as Chakra traces."""
    conv = topologies.CONV_4D
    path = folder / "chakra_1024.yaml"
    path.write_text(topologies.experiment_of(
        conv["blocks"], SIZES, conv["rates"], conv["latencies_ns"],
        workload=systems.write_workload(folder, "GPT-3", math.prod(SIZES)),
        chunks=systems.SCALING_CHUNKS, more=systems.TILE), encoding="utf-8")
    return Case("chakra_1024", NOT_SLOWER, path=path)


def sections(report, program, folder, setting):
    report.say("## Other kinds of work")
    report.say()
    runs = Runs(program, folder)
    cases = [Case("quickstart", NOT_SLOWER)]
    if not setting.reduced:
        cases += [Case(name, NOT_SLOWER) for name in ("npu_wafer_layer", "tenants_wafer", "serving")]
        cases.append(trace_case(folder))
        report.say("`chakra_1024` is a step of GPT-3 on 1024 accelerators, from traces like those of "
                   "results/training-clusters.md.")
        report.say()
    report.table(HEAD, [gain_row(report, runs, case, setting) for case in cases])
