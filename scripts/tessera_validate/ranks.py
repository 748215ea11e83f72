"""Real experiments on one rank and on two: wall time, waits, digests. Writes results/ranks.md.

    python3 scripts/tessera_validate/ranks.py [--program TESSERA] [--only NAME]... [--repeats N]
                                              [--counts-only] [--short] [--output FILE]

Wall times are of the simulation alone (`wall_s` of summary.json), one rank and two in turns, the best
of each; they mean something on two processors that nothing else uses. Whether that was so is what
`room` says: how much more two runs of one rank do side by side than one alone, 2 where neither hinders
the other. No cut can gain more. Waits are of the rank that waits most often, beside those of perfect
lookahead for the same cut, which `tessera scale` replays. Digests are compared on 1, 2, 3 and 4 ranks
under every synchronization.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from page import EXPERIMENTS, ROOT, Report, launched, missed_text, version

EVERY_TILE = ("strategy.aggregation=none", "run.replay=none")
SYNCHRONIZATIONS = ("promise", "window", "null-message")


class Case:
    """An experiment, the least gain on two ranks, and the most waits in those of perfect lookahead."""

    def __init__(self, name, gain, waits=None, settings=(), file=None, long=False):
        self.name, self.gain, self.waits, self.long = name, gain, waits, long
        self.settings = [word for setting in settings for word in ("--set", setting)]
        self.path = file or EXPERIMENTS / f"{name}.yaml"


CASES = [
    Case("wafer_training", 1.7, 3, long=True),
    Case("full_wafer", 1.5, 3, long=True),
    Case("cluster_16384", 1.4, 3, long=True),
    Case("palm_wafer_t_145b", 1.35, 3, EVERY_TILE),
    Case("palm_wafer_t_18b", 1.35, 3, EVERY_TILE),
    Case("dojo_tile_gpt2_small", 1.3, 5),
    Case("grayskull_tiny", 1.2, 5),
    # Faster, or on one rank within a tenth.
    Case("npu_wafer_layer", 0.9),
    Case("tenants_wafer", 0.9),
    Case("serving", 0.9),
    Case("quickstart", 0.9),
]


def run(program, case, ranks, folder, settings=()):
    output = Path(folder) / f"{case.name}-{ranks}-{time.time_ns()}"
    words = [program, "run", case.path, "-q", "-q", "-o", output, *case.settings, "--trace", "none"]
    for setting in settings:
        words += ["--set", setting]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(launched(ranks, words), stdin=subprocess.DEVNULL, env=environment,
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {case.name} on {ranks} rank(s): exit code {done.returncode}\n{done.stderr}")
    return json.loads((output / "summary.json").read_text(encoding="utf-8"))


def side_by_side(program, case, folder):
    """Wall time of the longer one of two runs of one rank at the same time."""
    folders = [Path(folder) / name for name in ("left", "right")]
    for one_of_them in folders:
        one_of_them.mkdir(exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(run, program, case, 1, one_of_them) for one_of_them in folders]
        return max(summary.result()["wall_s"] for summary in runs)


def perfect_waits(program, case, partition, folder):
    """Of the region that waits most often, on two ranks with this cut."""
    output = Path(folder) / f"{case.name}-scale.json"
    done = subprocess.run([str(word) for word in
                           (program, "scale", case.path, "--ranks", "2", "--partition", partition,
                            "-o", output, *case.settings)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: tessera scale of {case.name}: exit code {done.returncode}\n{done.stderr}")
    report = json.loads(output.read_text(encoding="utf-8"))
    return next(row["perfect"]["waits"] for row in report["predictions"] if row["ranks"] == 2)


def compare(report, options, case, folder):
    """A row of the table."""
    one, two, pairs = [], [], []
    for _ in range(1 if case.long or options.counts_only else options.repeats):
        one.append(run(options.program, case, 1, folder))
        two.append(run(options.program, case, 2, folder))
        if not case.long and not options.counts_only:
            pairs.append(side_by_side(options.program, case, folder))
    same = {summary["result_digest"] for summary in one + two}
    report.bound(len(same) == 1, f"{case.name}: one digest on 1 and 2 ranks")
    best = [min(summary["wall_s"] for summary in runs) for runs in (one, two)]
    gain = best[0] / best[1]
    gain_cell = f"{gain:.2f}" if options.counts_only else report.at_least(
        gain, case.gain, f"{case.name}: two ranks against one", "{:.2f}")
    waits = two[0]["waits"]
    waits_cell = f"{waits}"
    if case.waits and two[0]["ranks"] == 2:
        perfect = perfect_waits(options.program, case, two[0]["partition"], folder)
        waits_cell = report.at_most(waits, case.waits * perfect, f"{case.name}: waits", "{:.0f}")
    return [case.name, two[0]["partition"] if two[0]["ranks"] > 1 else "one rank", one[0]["events"],
            f"{best[0]:.3f}", f"{best[1]:.3f}", gain_cell,
            f"{2 * best[0] / min(pairs):.2f}" if pairs else "", two[0]["rounds"], waits_cell,
            two[0]["remote_events"]]


def compare_digests(report, options, case, folder):
    """Whether all ranks and synchronizations give one digest."""
    expected = run(options.program, case, 1, folder)["result_digest"]
    rows = []
    for ranks in (2, 3, 4):
        for synchronization in SYNCHRONIZATIONS:
            partition = ("stages", "stripes", "metis")[ranks - 2]
            settings = (f"run.partition={partition}", f"run.synchronization={synchronization}")
            summary = run(options.program, case, ranks, folder, settings)
            rows.append([case.name, ranks, partition, synchronization,
                         report.bound(summary["result_digest"] == expected,
                                      f"{case.name}: digest on {ranks} ranks, {partition}, "
                                      f"{synchronization}")])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/tessera"))
    parser.add_argument("--only", action="append", metavar="NAME", help="only this experiment")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--counts-only", action="store_true", help="no bounds on wall times")
    parser.add_argument("--short", action="store_true",
                        help="leave out what takes minutes; the page says so, and counts as missed")
    parser.add_argument("--output", default=str(ROOT / "results" / "ranks.md"))
    options = parser.parse_args()
    names = {case.name for case in CASES}
    for name in options.only or ():
        if name not in names:
            parser.error(f"no experiment {name}; there are {', '.join(sorted(names))}")
    cases = [case for case in CASES if case.name in (options.only or names)]
    left_out = [case.name for case in cases if options.short and case.long]
    cases = [case for case in cases if case.name not in left_out]
    report = Report()
    report.say("# Ranks that pay")
    report.say()
    report.say("Made by `scripts/validate ranks`. " + " ".join(__doc__.split("\n\n")[2].split()))
    report.say()
    started = time.time()
    with tempfile.TemporaryDirectory(prefix="tessera-validate-") as folder:
        rows = [compare(report, options, case, folder) for case in cases]
        report.table(["experiment", "cut", "events", "one rank [s]", "two ranks [s]", "gain",
                      "room", "meetings", "waits", "events that cross"], rows)
        if left_out:
            report.bound(False, f"not run: {', '.join(left_out)}")
            report.say(f"Left out: {', '.join(left_out)}.")
            report.say()
        report.say("## Digests")
        report.say()
        small = [case for case in cases if case.name in ("quickstart", "grayskull_tiny")]
        digests = [row for case in small for row in compare_digests(report, options, case, folder)]
        report.table(["experiment", "ranks", "cut", "synchronization", "digest of one rank"], digests)
    report.say(f"*Made in {time.time() - started:.0f} s by {version(options.program)}, on "
               f"{os.cpu_count()} processors; {missed_text(report.missed)}.*")
    text = "\n".join(report.lines) + "\n"
    if options.only:
        print(text)
    else:
        Path(options.output).write_text(text, encoding="utf-8")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
