#!/usr/bin/env python3
"""Random experiments over all kinds of work, cut and disturbed at random (tests/parallel/random_works.py), as
many as asked for over as many sittings as it takes; writes the part works of results/trust.md.

The ledger remembers what was done, by which program: seeds go on where they ended. A failure is kept in it
too, and stays on the page until its seed has been run again and held (--again).
"""

import argparse
import concurrent.futures
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import made
from catalogue import PAGES
from page import ROOT, version

CHECK = ROOT / "tests" / "parallel" / "random_works.py"
BATCH = 10
KINDS = ("work", "topology", "network", "memory", "compute", "ranks", "synchronization", "partition")
SHOWN = (("straight", "on 2 to 4 ranks, cut and synchronized at random: equal to one rank"),
         ("interrupted", "killed or stopped and resumed on other ranks: equal to one rank, undisturbed"),
         ("kill", "kills of a rank"), ("stop", "stops by a signal to the launcher"),
         ("stop one", "stops by a signal to one rank"),
         ("launcher left alone", "launchers of MPI that waited on with no rank left, killed after 30 s"),
         ("resumed", "resumes"), ("committed rows compared", "rows that disturbed runs had committed, each a row of the undisturbed run"), ("no checkpoint yet", "killed before the first checkpoint, begun again"),
         ("cannot go on", "experiments whose model cannot go on (exit code 3), not compared"),
         ("refused", "drawn and refused by `tessera check`"), ("too long", "drawn and given up after 8 s of a processor"))


class Ledger:
    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        empty = {"done": 0, "next": 1, "seconds": 0, "counts": {}, "failed": [], "mended": [], "programs": {}}
        self.entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else empty

    def add(self, seed, count, seconds, report, program):
        entries = self.entries
        entries["done"] += count
        entries["next"] = max(entries["next"], seed + count)
        entries["seconds"] += seconds
        entries["programs"][program] = entries["programs"].get(program, 0) + count
        entries["failed"] += [failed for failed in report["failed"] if failed not in entries["failed"]]
        for name, value in report["counts"].items():
            entries["counts"][name] = entries["counts"].get(name, 0) + value
        self.save()

    def mend(self, seed):
        self.entries["failed"].remove(seed)
        self.entries["mended"].append(seed)
        self.save()

    def save(self):
        aside = self.path.with_name(self.path.name + ".new")
        aside.write_text(json.dumps(self.entries, indent=1) + "\n", encoding="utf-8")
        aside.replace(self.path)


def run(options, seed, count, folder):
    report = Path(folder) / f"report.{seed}.json"
    report.unlink(missing_ok=True)
    subprocess.run([sys.executable, str(CHECK), options.program, options.mpiexec, str(count), str(seed),
                    "--report", str(report)], check=False)
    if not report.exists():
        sys.exit(f"error: seeds {seed} to {seed + count - 1}: no report")
    return json.loads(report.read_text(encoding="utf-8"))


def side_by_side(options, ledger, folder, commit):
    """A batch for each job; the seconds are those until all have ended."""
    left, seed = options.count - ledger.entries["done"], ledger.entries["next"]
    batches = [(seed + begin, min(BATCH, left - begin)) for begin in range(0, min(options.jobs * BATCH, left), BATCH)]
    began = time.time()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        reports = list(pool.map(lambda batch: run(options, *batch, folder), batches))
    for batch, report in zip(batches, reports):
        ledger.add(*batch, (time.time() - began) / len(batches), report, commit)


def part_of_page(ledger, program):
    entries = ledger.entries
    counts = entries["counts"]
    made_by = ", ".join(f"{number} by {name}" for name, number in entries["programs"].items())
    lines = [f"Seeds 1 to {entries['next'] - 1} of `tests/parallel/random_works.py`, {made_by}: experiments of "
             "`tests/parallel` and of `random_runs.py` with one to four settings redrawn.", "",
             "| | |", "|---|---|", f"| experiments | {entries['done']} |"]
    lines += [f"| {text} | {counts.get(name, 0)} |" for name, text in SHOWN]
    lines += [f"| failures that are open | {len(entries['failed'])} |",
              f"| failures that were mended, and hold | {len(entries['mended'])} |", "",
              "| | of each kind |", "|---|---|"]
    for kind in KINDS:
        named = {name.split(": ")[1]: number for name, number in counts.items() if name.startswith(kind + ": ")}
        told = ", ".join(f"{name} {number}" for name, number in sorted(named.items(), key=lambda item: -item[1]))
        lines.append(f"| {kind} | {told} |")
    missed = [f"open failures: seeds {entries['failed']}"] if entries["failed"] else ()
    return [*lines, "", made.footer(entries["seconds"], program, missed), ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=str(ROOT / "build/release/tessera"))
    parser.add_argument("--mpiexec", default="mpirun")
    parser.add_argument("--count", type=int, default=5000, help="in all")
    parser.add_argument("--minutes", type=float, default=0, help="of this sitting")
    parser.add_argument("--jobs", type=int, default=1, help="experiments at a time")
    parser.add_argument("--ledger", type=Path, default=ROOT / "results/ledgers/works.json")
    parser.add_argument("--again", action="store_true", help="run the seeds that failed again, and no others")
    options = parser.parse_args()
    ledger = Ledger(options.ledger)
    program = version(options.program)
    commit = program.split("(")[1].split(")")[0]
    deadline = time.time() + 60 * options.minutes
    with tempfile.TemporaryDirectory(prefix="tessera-works-") as folder:
        for seed in list(ledger.entries["failed"]) if options.again else []:
            if not run(options, seed, 1, folder)["failed"]:
                ledger.mend(seed)
        while not options.again and ledger.entries["done"] < options.count:
            if options.minutes and time.time() > deadline:
                break
            side_by_side(options, ledger, folder, commit)
    made.put(PAGES["trust"], "works", part_of_page(ledger, program))
    return 1 if ledger.entries["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
