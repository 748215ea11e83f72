"""Ranks, threads and synchronisation policies."""

import statistics

from bench_runs import millions, result_of
from page import processors
from scale import DENSE

POLICIES = ("window", "null-message")
# Wall time at which ranks that share processors count as hanging [s].
HANGING = 1200
# Share of one rank's speed that four ranks on fewer processors must keep.
CRAWL = 0.5

# name, case, reduced case, what 2 ranks must reach of 1
SPEED_UP = [
    ("mesh 633×633, 800 k in flight", "mesh --side 633 --in-flight 800000 --events 80000000",
     "mesh --side 100 --in-flight 40000 --events 1000000", 1.8),
    ("PHOLD, 1 M LPs, 25 % remote", "phold --lps 1048576 --remote 0.25 --events 40000000",
     "phold --lps 20000 --remote 0.25 --events 500000", 1.7),
]

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


def variants(reduced):
    """Title, ranks, threads, policy."""
    found = [("1 rank", 1, 1, "window")]
    for policy in POLICIES:
        found.append(("2 ranks", 2, 1, policy))
        found.append(("2 threads", 1, 2, policy))
    for policy in POLICIES:
        found.append(("3 ranks" if reduced else "4 ranks", 3 if reduced else 4, 1, policy))
    return found


def alternate(bench, words, reduced):
    """Runs of each variant, taken in turns so that a slow spell of the machine hits all alike."""
    runs = {variant: [] for variant in variants(reduced)}
    for _ in range(1 if reduced else 5):
        for (title, ranks, threads, policy), times in runs.items():
            times.append(
                bench.run(words, ranks, threads, policy, timeout=HANGING))
    return runs


def best(runs):
    return max(runs, key=lambda run: run["events_per_wall_s"])


def rates(report, name, runs, bound, setting):
    single = runs["1 rank", 1, 1, "window"]
    one = best(single)["events_per_wall_s"]
    rows = []
    for (title, ranks, threads, policy), taken in runs.items():
        run = best(taken)
        ratio = run["events_per_wall_s"] / one
        ratio_cell = f"{ratio:.2f}"
        what = f"{name}, {title}, {policy}: events per wall second over 1 rank"
        if not setting.reduced and ranks == 2 and policy == "window" and processors() >= 2:
            ratio_cell = report.at_least(ratio, bound, what, "{:.2f}")
        if not setting.reduced and ranks == 4 and processors() < ranks:
            ratio_cell = report.at_least(ratio, CRAWL, what, "{:.2f}")
        median = statistics.median(each["events_per_wall_s"] for each in taken)
        rows.append([name, title, policy if max(ranks, threads) > 1 else "",
                     millions(run["events_per_wall_s"]), millions(median), ratio_cell,
                     f"{run['cpu_s']:.2f}", f"{run['wall_s']:.2f}", waiting_share(run),
                     run["rounds"], millions(run["remote_messages"])])
    same = all(result_of(run) == result_of(single[0]) for taken in runs.values() for run in taken)
    report.bound(same, f"{name}: one result on ranks, threads and under both policies")
    return rows


def waiting_share(run):
    total = run["wall_s"] * run["ranks"]
    return f"{100 * run['waiting_s'] / total:.0f} %" if total > 0 else ""


def conclusion(measured):
    """Whether two threads beat two ranks, in words that follow from the figures."""
    parts = []
    for name, runs in measured:
        ranks = max(best(taken)["events_per_wall_s"]
                    for (_, count, _, _), taken in runs.items() if count == 2)
        threads = max(best(taken)["events_per_wall_s"]
                      for (_, _, count, _), taken in runs.items() if count == 2)
        parts.append((name, threads / ranks))
    text = "; ".join(f"{name}: {ratio:.2f}×" for name, ratio in parts)
    if all(ratio > 1.05 for _, ratio in parts):
        verdict = ("Threads beat ranks: the engine's note 2, which keeps one thread a rank, should be "
                   "looked at again.")
    elif all(ratio < 1.05 for _, ratio in parts):
        verdict = "Threads do not beat the same cores used as ranks, so a rank has one thread."
    else:
        verdict = "Neither is faster throughout, so a rank has one thread."
    return (f"Two threads of one process (`--threads 2`: ranks that share memory) over two MPI ranks, "
            f"best policy of each: {text}. {verdict}")


def title_of(row, setting):
    return row[2] if setting.reduced else row[0]


def ranks(report, tools, setting):
    report.say("## Ranks and threads")
    report.say()
    report.say("Command: `mpirun -n RANKS build/release/tessera-bench CASE --policy POLICY --json`, or "
               "`--threads 2` in place of `mpirun`. CASE: " +
               "; ".join(f"{name}: `{full}`" for name, full, _, _ in SPEED_UP) +
               ". Best and median of 5 runs of each row, taken in turns; ratios are best over best. "
               f"This machine has {processors()} processors, so four ranks share them: they "
               f"must keep {CRAWL} of one rank's speed. Quoted, not measured here: ROSS 1.95× on 2 "
               "ranks (conservative, with 2.7–3.0 all-reduces a window), SST-core 2.3×, prototype "
               "1.9–2.2× on the mesh.")
    report.say()
    measured, rows = [], []
    for row in SPEED_UP:
        name, (_, full, reduced, bound) = title_of(row, setting), row
        runs = alternate(tools.bench, reduced if setting.reduced else full, setting.reduced)
        measured.append((name, runs))
        rows += rates(report, name, runs, bound, setting)
    report.table(["case", "as", "policy", "best [M events per wall s]", "median", "over 1 rank",
                  "CPU, all [s]", "wall [s]", "waiting", "rounds", "events between ranks [M]"], rows)
    report.say(conclusion(measured))
    report.say()


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
               "wall time of 3 runs of the benchmark, one of the experiments. Windows are those that "
               "held an event, a rank; a round ends when a rank asks how far it may go. Reductions are "
               "counted by the benchmark as the policies make them: `window` makes one a round and "
               "nothing else, and where windows without events are jumped or a rank's bound reaches "
               "over several windows, fewer than one a window; `null-message` makes one now and then. "
               "Where windows hold one event, as in the sparse case, a rank has nothing to do in most of the "
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
