"""How long `tessera plan` takes for models and machines of real size."""

import json
from dataclasses import dataclass

from page import ROOT, call

HEAD = ("case", "candidates", "fit", "simulated", "the best", "iteration", "out by bounds", "by estimates alone",
        "certain gap", "margin", "processor seconds", "memory of it")


@dataclass(frozen=True)
class Case:
    name: str
    machine: str
    workload: str
    most_s: float  # of processor time
    settings: tuple = ()


CASES = (
    Case("Llama 2 70B on palm_wafer", "palm_wafer", "llama2_70b", 60),
    Case("Llama 2 70B on 512 H100", "h100_cluster", "llama2_70b", 60, ("machine.topology.nodes=64",)),
    Case("Llama 3 405B on 16 384 H100", "h100_cluster", "llama3_405b", 300),
)
# Of the reduced form: fewer candidates, of which few are simulated.
REDUCED = (Case("Llama 2 70B on 64 H100", "h100_cluster", "llama2_70b", 20, ("machine.topology.nodes=8",)),)
SIMULATED = 6
KEPT = ("context=1", "recompute=none,full", "schedule=1f1b,zb-h1,dualpipe-v")


def row(report, program, folder, number, setting, case):
    path = folder / f"case{number}.yaml"
    path.write_text(f"machine: {ROOT}/configs/machines/{case.machine}.yaml\n"
                    f"workload: {ROOT}/workloads/{case.workload}.yaml\n"
                    "strategy: {pipeline: 1}\n", encoding="utf-8")
    words = [word for one in case.settings for word in ("--set", one)]
    if setting.reduced:
        words += ["--top", str(SIMULATED), *(word for keys in KEPT for word in ("--keep", keys))]
    print(f"plan    {case.name}", flush=True)
    done = call([program, "plan", str(path), "-q", "--json", "-o", str(folder / f"best{number}.yaml"), "--folder",
                 str(folder / f"plan{number}"), *words])
    outcome = json.loads(done.stdout)
    best = outcome["proposals"][0]
    seconds = done.user_s + done.system_s
    shown = f"{seconds:.1f}" if setting.counts_only else report.at_most(seconds, case.most_s, f"{case.name} [s]")
    report.bound(outcome["violated"] == 0, f"{case.name}: no simulation shorter than its bound")
    gap = 100 * max(0, 1 - outcome["least_ps"] / best["iteration_time_ps"])
    return (case.name, outcome["candidates"], outcome["fitting"], len(outcome["proposals"]),
            f"{best['strategy']}, {best['layout']}", f"{best['iteration_time_ps'] / 1e12:.3f} s",
            outcome["bounded"], outcome["open"], f"{gap:.1f} %", f"{100 * outcome['margin']:.1f} %", shown,
            f"{best['memory_per_tile_bytes'] / 1e9:.1f} GB")


def sections(report, program, folder, setting):
    report.say("## Time")
    report.say()
    report.say("On one rank. Where simulating every tile would take more than a few seconds, one tile represents "
               "its stage (`strategy.aggregation: stage`). Candidates that were not simulated are excluded by their "
               "bounds, which is certain, or by their estimates alone, less the margin that simulations have shown; "
               "the certain gap is how far the smallest bound of these is below the best.")
    report.say()
    cases = REDUCED if setting.reduced else CASES
    report.table(HEAD, [row(report, program, folder, number, setting, case)
                        for number, case in enumerate(cases)])
