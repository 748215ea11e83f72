"""Synchronisation policies, on ranks."""

from bench_runs import millions, result_of
from measured import measured
from ranks.scale import DENSE
from ranks.threads import HANGING, POLICIES, best, waiting_share

# case, load, options, reduced
LOADS = [
    ("mesh", "200×200, 1000 in flight", "mesh --side 200 --in-flight 1000 --events 2000000",
     "mesh --side 40 --in-flight 100 --events 20000"),
    ("mesh", "200×200, 20 k in flight", "mesh --side 200 --in-flight 20000 --events 10000000",
     "mesh --side 40 --in-flight 3000 --events 100000"),
    ("mesh", "200×200, 400 k in flight", "mesh --side 200 --in-flight 400000 --events 40000000",
     ""),
    ("mesh", "200×200, 20 k in flight, neighbours only",
     "mesh --side 200 --in-flight 20000 --events 10000000 --pattern neighbour", ""),
    ("PHOLD", "65 536 LPs, 25 % remote", "phold --lps 65536 --events 10000000",
     "phold --lps 2000 --events 100000"),
    ("PHOLD", "65 536 LPs, 1 % remote", "phold --lps 65536 --remote 0.01 --events 10000000", ""),
    ("PHOLD", "1000 LPs, 25 % remote", "phold --lps 1000 --events 2000000", ""),
    ("ring", "256 accelerators", "ring --lps 256 --iterations 20", "ring --lps 32 --iterations 2"),
    ("cluster (LogGOPS)", "1024 processes, random pairs",
     "loggops --lps 1024 --iterations 100 --pattern random-pairs",
     "loggops --lps 64 --iterations 10 --pattern random-pairs"),
    ("sparse", "1000 accelerators, an event a microsecond", "sparse --events 50000",
     "sparse --events 1000"),
]
# Real experiments: what they are, name or path, settings.
EXPERIMENTS = [
    ("torus", "grayskull_tiny", ()),
    ("cluster", "tests/parallel/dgx_graph.yaml", ()),
    ("mesh of wafer tiles", *DENSE),
]


def bench_row(report, bench, load, ranks, policy, setting):
    case, text, full, reduced = load
    words = reduced if setting.reduced else full
    text = words if setting.reduced else text
    taken = [bench.run(words, ranks, 1, policy, timeout=HANGING)
             for _ in range(1 if setting.reduced else 3)]
    run = best(taken)
    if policy == "window":
        report.bound(run["reductions"] == run["rounds"],
                     f"{case}, {text}, {ranks} ranks: one reduction a round")
    else:
        report.bound(run["reductions"] <= run["rounds"],
                     f"{case}, {text}, {ranks} ranks: at most one reduction a round")
    windows = run["windows"] / ranks
    return [case, text, ranks, policy, millions(run["events_per_wall_s"], 3), f"{windows:.0f}",
            f"{run['events'] / run['windows']:.1f}", run["rounds"],
            f"{run['reductions'] / run['rounds']:.3f}", f"{run['reductions'] / windows:.3f}",
            waiting_share(run)], result_of(run)


def experiment_row(tools, what, experiment, extra, ranks, policy):
    title = experiment.rsplit("/", 1)[-1].removesuffix(".yaml")
    path = str(tools.root / experiment) if "/" in experiment else experiment
    run = tools.runner.run(path, ranks, (*extra, "--synchronization", policy))
    windows = max(run["windows"] / ranks, 1)
    waiting = 100 * run["waiting_s"] / ranks / run["wall_s"] if run["wall_s"] > 0 else 0
    return [what, title, ranks, policy, millions(run["events"] / run["wall_s"], 3), f"{windows:.0f}",
            f"{run['events'] / max(run['windows'], 1):.1f}", run["rounds"], "", "",
            f"{waiting:.0f} %"], run["result_digest"]


def policies(report, tools, setting):
    report.say("## Synchronisation policies")
    report.say()
    report.say("Commands: `mpirun -n RANKS build/release/tessera-bench CASE --policy POLICY --json` and "
               "`mpirun -n RANKS build/release/tessera run EXPERIMENT --synchronization POLICY`. Best "
               "wall time of 3 runs for the benchmark, of one for the experiments. Windows are those that "
               "held an event, per rank; a round ends when a rank asks how far it may advance. The benchmark "
               "counts reductions as the policies perform them: `window` performs exactly one per round, "
               "and fewer than one per window where windows without events are skipped or a rank's bound "
               "spans several windows; `null-message` performs one occasionally. "
               "Where windows hold one event, as in the sparse case, a rank has nothing to do in most "
               "rounds, and so has more rounds than windows of its own.")
    report.say()
    rows = []
    counts = (2,) if setting.reduced else (2, 4)
    for load in LOADS:
        if setting.reduced and not load[3]:
            continue
        found = []
        for ranks_ in counts:
            for policy in POLICIES:
                row, result = bench_row(report, tools.bench, load, ranks_, policy, setting)
                rows.append(row)
                found.append(result)
        report.bound(all(each == found[0] for each in found),
                     f"{load[0]}, {load[3] if setting.reduced else load[1]}: one result under "
                     "all policies")
    for what, experiment, extra in EXPERIMENTS[1:2] if setting.reduced else EXPERIMENTS:
        found = []
        for ranks_ in counts:
            for policy in POLICIES:
                row, digest = experiment_row(tools, what, experiment, extra, ranks_, policy)
                rows.append(row)
                found.append(digest)
        report.bound(len(set(found)) == 1, f"{experiment}: one digest under all policies")
    report.table(["case", "load", "ranks", "policy", "M events per wall s", "windows a rank",
                  "events a window", "rounds", "reductions a round", "reductions a window",
                  "waiting"], rows)
    say_which(report, rows)


def say_which(report, rows):
    """Which policy was faster where."""
    wins = {policy: [] for policy in POLICIES}
    for first, second in zip(rows[::2], rows[1::2]):
        if first[3] != POLICIES[0] or second[3] != POLICIES[1]:
            raise ValueError("rows of the two policies come in pairs")
        faster = max((first, second), key=lambda row: float(row[4]))
        share = float(faster[4]) / max(min(float(first[4]), float(second[4])), 0.001)
        if share > 1.05:
            wins[faster[3]].append(f"{faster[0]} ({faster[1]}) on {faster[2]} ranks, {share:.2f}×")
    for policy in POLICIES:
        report.say(f"`{policy}` was faster by more than 5 % on: " +
                   ("; ".join(wins[policy]) or "nothing") + ".")
        report.say()


sections = measured(policies)
