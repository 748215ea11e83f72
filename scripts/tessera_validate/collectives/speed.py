"""How fast it is: all-reduces on 3-D tori, and a training step on 16 384 NPUs."""

from collectives import topologies
from page import Runner

# Sizes, and CPU seconds at most; the paper takes 1.70 s and 3.14 s.
TORUS = [((4, 4, 4), 0.05), ((16, 16, 16), 1.0)]
LARGE_TORUS = (32, 32, 32)
NPU_KIB = 4
LARGE_STEP, LARGE_STEP_S = "cluster_16384", 600


def torus(sizes):
    return topologies.experiment_of(("Ring",) * 3, sizes, (100,) * 3, (500,) * 3, chunks=1,
                                      workload=topologies.all_reduce(2 ** 20), endpoint_ns=0)


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    report.say("## Speed: all-reduce of 1 MB on a 3-D torus")
    report.say()
    rows = []
    digests = {}
    cases = [(sizes, 1, bound) for sizes, bound in TORUS]
    if not setting.reduced:
        cases += [(LARGE_TORUS, 1, None), (LARGE_TORUS, 2, None)]
    first = None
    for sizes, ranks, bound in cases:
        name, npus = "x".join(map(str, sizes)), sizes[0] * sizes[1] * sizes[2]
        path = folder / f"torus-{name}.yaml"
        path.write_text(torus(sizes), encoding="utf-8")
        summary = runner.run(str(path), ranks)
        digests.setdefault(name, set()).add(summary["result_digest"])
        resident = sum(summary["peak_rss_bytes"])
        first = first or resident
        beyond = (resident - ranks * first) / npus / 1024
        cpu = f"{summary['cpu_s']:.3f}"
        if bound is not None and not setting.counts_only:
            cpu = report.at_most(summary["cpu_s"], bound, f"torus {name}: CPU s", "{:.3f}")
        rows.append([name, npus, ranks, f"{summary['simulated_time_ps'] / 1e6:.2f}",
                     summary["events"], cpu,
                     report.at_most(beyond, NPU_KIB, f"torus {name} on {ranks} rank(s): KiB an NPU")
                     if npus > 64 and not setting.counts_only else ""])
    report.bound(all(len(found) == 1 for found in digests.values()),
                 "tori: one digest on any number of ranks")
    report.table(["torus", "NPUs", "ranks", "simulated [us]", "events", "CPU [s]",
                  "memory an NPU beyond that of the program with 64 [KiB]"], rows)
    if setting.reduced:
        return
    summary = runner.run(LARGE_STEP, 2, ("--set", "execution.times=model"))
    wall = report.at_most(summary["wall_s"], LARGE_STEP_S, f"{LARGE_STEP} as graphs on 2 ranks: wall s")
    report.say(f"A GPT-3 step on 16 384 NPUs, made by the generator and run as graphs: `mpirun -n 2 tessera run "
               f"configs/experiments/{LARGE_STEP}.yaml --set execution.times=model` simulates "
               f"{summary['simulated_time_ps'] / 1e12:.3f} s with {summary['events']} events in {wall} s.")
    report.say()
