"""Ranks and threads."""

import statistics

from bench_runs import millions, result_of
from measured import measured
from page import processors

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
        verdict = ("Threads beat ranks: the engine's design note 2, which keeps one thread per rank, should be "
                   "reconsidered.")
    elif all(ratio < 1.05 for _, ratio in parts):
        verdict = "Threads do not beat the same cores used as ranks, so a rank has one thread."
    else:
        verdict = "Neither is faster throughout, so a rank has one thread."
    return (f"Speed of two threads of one process (`--threads 2`: ranks that share memory) over that of two MPI "
            f"ranks, with the best policy of each: {text}. {verdict}")


def title_of(row, setting):
    return row[2] if setting.reduced else row[0]


def ranks(report, tools, setting):
    report.say("## Ranks and threads")
    report.say()
    report.say("Command: `mpirun -n RANKS build/release/tessera-bench CASE --policy POLICY --json`, or "
               "`--threads 2` in place of `mpirun`. CASE: " +
               "; ".join(f"{name}: `{full}`" for name, full, _, _ in SPEED_UP) +
               ". Best and median of 5 runs of each row, rows alternating; ratios are best over best. "
               f"This machine has {processors()} processors, so four ranks share them: they "
               f"must keep at least {CRAWL} of one rank's speed. Quoted, not measured here: ROSS 1.95× on 2 "
               "ranks (conservative, with 2.7–3.0 all-reduces per window), SST-core 2.3×, prototype "
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


sections = measured(ranks)
