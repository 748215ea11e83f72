#!/usr/bin/env python3
"""Disturbs runs at random, many times, and writes their part of results/soak.md. They are those of
tests/faults; the test suite makes a few of each."""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import made
from catalogue import PAGES
from page import ROOT, version

CHECK = ROOT / "tests" / "faults" / "check_faults.py"
# Trial, what it must show, and how often it is made: in full, and by --quick.
TRIALS = [
    ("delayed_ranks", "1, 2, 3, 4, 7, 8 ranks, both synchronizations, two partitions, each rank "
     "delayed or stopped at random: same results, same sorted trace", 120, 8),
    ("crowded_processors", "8 ranks: same results, a round within 3 ms", 10, 2),
    ("killed_rank", "`kill -9` of a rank: all gone within 5 s; every committed row readable, and a row "
     "of the uninterrupted run", 100, 2),
    ("failing_rank", "overflow, abort, out of memory, file too large in one rank: the exit code that the "
     "manual states, rank and cause in the message", 60, 4),
    ("full_disk", "a file system for 5 to 60 % of what the run writes, 1 to 3 ranks: one message, exit code 74; every "
     "committed row readable, and a row of the uninterrupted run", 60, 3),
    ("stopped_rank", "SIGSTOP of a rank: reported by the others, exit code 70", 30, 1),
    ("suspended_run", "SIGSTOP of all ranks for longer than the watchdog: the run continues", 10, 1),
    ("requested_stop", "SIGUSR1, SIGTERM, SIGINT to mpirun or a rank: orderly stop, same "
     "results when resumed", 60, 3),
    ("killed_while_stopping", "`kill -9` of all ranks once the summary says \"stopped\": an index exists, same "
     "results when resumed", 30, 3),
    ("interrupted_runs", "killed and stopped repeatedly, each time on 1 to 4 ranks: same "
     "results, same sorted trace", 60, 1),
    ("killed_in_checkpoint", "killed while a checkpoint is written: the previous one is valid, same "
     "results", 60, 1),
    ("long_run", "ten times longer, on 1 and 2 ranks: memory grows by less than 1 %", 4, 1)]


# Of the full count, what is made at a time: a sitting that is interrupted loses no more.
BATCHES = 6


class Ledger:
    """What has been done of each trial; kept in a file, if there is one, from sitting to sitting."""

    def __init__(self, path, version):
        self.path = path
        self.version = version
        self.entries = {name: {"trials": 0, "seconds": 0, "figures": {}} for name, *_ in TRIALS}
        if path and path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["version"] != version:
                sys.exit(f"error: {path} is of {kept['version']}, this is {version}")
            self.entries.update(kept["entries"])

    def not_provoked(self):
        """Trials in none of which happened what they are about."""
        return [f"{name}: not provoked" for name, entry in self.entries.items()
                if entry["trials"] and not entry.get("provoked", True)]

    def done(self, name):
        return self.entries[name]["trials"]

    def seconds(self):
        return sum(entry["seconds"] for entry in self.entries.values())

    def keep(self):
        if self.path:
            aside = self.path.with_name(self.path.name + ".new")
            aside.write_text(json.dumps({"version": self.version, "entries": self.entries}),
                             encoding="utf-8")
            aside.replace(self.path)

    def add(self, report):
        entry = self.entries[report["trial"]]
        entry["trials"] += report["trials"]
        entry["seconds"] += report["seconds"]
        entry["provoked"] = entry.get("provoked", False) or report["provoked"]
        for name, value in report["figures"].items():
            before = entry["figures"].get(name)
            if before is None:
                entry["figures"][name] = value
            else:
                # Whole numbers are counts, others the worst.
                entry["figures"][name] = (before + value if isinstance(value, int)
                                          else max(before, value))
        self.keep()


def run_trials(options, name, count, seed, folder):
    """The report of so many trials; None when the process itself failed."""
    path = Path(folder) / "report.json"
    path.unlink(missing_ok=True)
    subprocess.run([sys.executable, str(CHECK), options.program, options.mpiexec, name, "--count",
                    str(count), "--seed", str(seed), "--report", str(path)], check=False)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def plan(options, ledger):
    """Batches of trials: what is left of each kind, or few of each kind again and again until time
    is up."""
    seeds = random.Random(options.seed)
    deadline = time.time() + 60 * options.minutes
    few = options.quick or options.minutes > 0
    while True:
        for name, _, full, quick in TRIALS:
            left = quick if few else full - ledger.done(name)
            batch = left if few else -(-full // BATCHES)
            while left > 0:
                yield name, min(batch, left), seeds.randrange(1 << 32)
                left -= batch
                if options.minutes > 0 and time.time() > deadline:
                    return
        if options.minutes == 0:
            return


def shown(name, value):
    return f"{name}: {value if isinstance(value, int) else format(value, '.3g')}"


def part_of_page(options, ledger, made_by):
    counts = " ".join(f"{name} {full}," for name, _, full, _ in TRIALS).rstrip(",")
    lines = [f"Seed {options.seed}. Full counts: {counts}. Figures are counts, and worst-case times.", "",
             "| trial | must show | trials | minutes | figures |", "|---|---|---|---|---|"]
    for name, meaning, *_ in TRIALS:
        entry = ledger.entries[name]
        figures = "; ".join(shown(*item) for item in sorted(entry["figures"].items()))
        lines.append(f"| {name} | {meaning} | {entry['trials']} | {entry['seconds'] / 60:.1f} | "
                     f"{figures} |")
    return [*lines, "", "No trial failed.", "", made.footer(ledger.seconds(), made_by, ledger.not_provoked()), ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=str(ROOT / "build/release/tessera"))
    parser.add_argument("--mpiexec", default="mpirun")
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--ledger", type=Path)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    made_by = version(options.program)
    ledger = Ledger(options.ledger, made_by)
    with tempfile.TemporaryDirectory(prefix="tessera-soak-") as folder:
        for name, count, seed in plan(options, ledger):
            report = run_trials(options, name, count, seed, folder)
            if report is None or not report["good"]:
                print(f"error: {name} failed; again with: check_faults.py {options.program} "
                      f"{options.mpiexec} {name} --count {count} --seed {seed}", file=sys.stderr)
                return 1
            ledger.add(report)
    made.put(PAGES["soak"], "trials", part_of_page(options, ledger, made_by))
    return 0


if __name__ == "__main__":
    sys.exit(main())
