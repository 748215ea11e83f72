#!/usr/bin/env python3
"""Reruns everything behind results/engine.md and rewrites it.

Ends with 1 when a bound is missed. `--only PART` (repeatable) runs a part and prints what it would
write, or with `--update` puts it in its place in the page, where each part says which program made
it; `--reduced` runs all parts on small cases, with bounds on counts and generous ones on ratios, and
writes nothing: what the test suite does.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench_runs import Bench
from engine_one_core import idle_part, one_core
from engine_ranks import policies, ranks
from engine_runs import checkpoint, digests, predictions, tracing
from page import (ROOT, Report, Runner, load_average, machine, missed_text, part_lines, put_in,
                  version)

PARTS = {"one-core": one_core, "idle": idle_part, "ranks": ranks, "policies": policies,
         "digests": digests, "tracing": tracing, "checkpoint": checkpoint, "scale": predictions}
# Load average above which figures per wall second mean little.
BUSY = 0.5


@dataclass
class Setting:
    reduced: bool
    counts_only: bool  # no bound on any time: for builds that are slow on purpose


@dataclass
class Tools:
    root: Path
    program: str
    bench: Bench
    runner: Runner
    folder: Path


def introduce(report, options):
    load = load_average()
    report.say("# The engine")
    report.say()
    report.say("Made by `scripts/validate engine`; below each part stands which program made it.")
    report.say()
    report.say(f"Machine: {machine()}. Load average of the last minute before the start: {load:.2f}.")
    report.say()
    if load > BUSY:
        warning = (f"The machine was busy (load average {load:.2f} > {BUSY}): figures per second, "
                   "above all per wall second, are too low.")
        print(f"warning: {warning}", flush=True)
        report.say(f"**{warning}**")
        report.say()
    report.say("How it was measured: rates are the best of several runs, since whatever else a machine "
               "does only slows a run down; medians stand beside them. Ratios come from runs in one "
               "process or in turns, never from another day. Processor seconds are used on one rank, "
               "wall seconds wherever ranks wait for each other. Parts run one after the other, and "
               "nothing else should be started meanwhile.")
    report.say()


def part_of_page(name, part, tools, setting):
    """What a part says, and the bounds it misses."""
    report = Report()
    started = time.time()
    print(f"part    {name}", flush=True)
    part(report, tools, setting)
    report.say(f"*Made in {time.time() - started:.0f} s by {version(tools.program)}; "
               f"{missed_text(report.missed)}.*")
    report.say()
    return report.lines, report.missed


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/tessera"))
    parser.add_argument("--bench", default=str(ROOT / "build/release/tessera-bench"))
    parser.add_argument("--only", action="append", choices=list(PARTS))
    parser.add_argument("--update", action="store_true", help="with --only: rewrite it in the page")
    parser.add_argument("--reduced", action="store_true")
    parser.add_argument("--counts-only", action="store_true",
                        help="with --reduced: no bound on any ratio of times")
    options = parser.parse_args()
    if options.update and (options.reduced or not options.only):
        parser.error("--update goes with --only, and not with --reduced")
    setting = Setting(options.reduced, options.counts_only)
    report = Report()
    introduce(report, options)
    page = ROOT / "results" / "engine.md"
    missed = []
    with tempfile.TemporaryDirectory(prefix="tessera-validate-") as folder:
        tools = Tools(ROOT, options.program, Bench(options.bench), Runner(options.program, folder),
                      Path(folder))
        for name in options.only or PARTS:
            lines, missed_here = part_of_page(name, PARTS[name], tools, setting)
            missed += missed_here
            if options.only and options.update:
                put_in(page, name, lines)
            report.lines += part_lines(name, lines)
    print(missed_text(missed), flush=True)
    if options.only and not options.update:
        print("\n".join(report.lines))
    elif not options.only and not options.reduced:
        page.write_text("\n".join(report.lines) + "\n", encoding="utf-8")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
