#!/usr/bin/env python3
"""Reruns everything behind results/astra.md and rewrites it.

Ends with 1 when a bound is missed. `--reduced` runs the quick part and writes nothing: what the test
suite does. Each part NAME of the page is a module astra_NAME beside this one with a function

    sections(report, program, folder, setting)

that writes its sections, headed `## ...`, into a page.Report, states its bounds there, and has
`folder` for its files.
"""

import argparse
import importlib
import os
import platform
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from page import ROOT, Report, missed_text, part_lines, put_in, version


@dataclass
class Setting:
    reduced: bool
    counts_only: bool


PARTS = ("reference", "tables", "training", "memory", "nccl", "speed")


def part_of_page(name, options, folder):
    """What a part says, and the bounds it misses."""
    report = Report()
    started = time.time()
    importlib.import_module(f"astra_{name}").sections(
        report, options.program, folder, Setting(options.reduced, options.counts_only))
    report.say(f"*Made in {time.time() - started:.0f} s by {version(options.program)}, on "
               f"{os.cpu_count()} processors ({platform.machine()}); {missed_text(report.missed)}.*")
    report.say()
    return report.lines, report.missed


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/tessera"))
    parser.add_argument("--reduced", action="store_true", help="the quick part; writes nothing")
    parser.add_argument("--part", action="append", choices=PARTS,
                        help="only this part (repeatable); writes to standard output")
    parser.add_argument("--update", action="store_true", help="with --part: rewrite it in the page")
    parser.add_argument("--counts-only", action="store_true",
                        help="no bound on any time that a run takes: for builds that are slow on purpose")
    options = parser.parse_args()
    if options.update and (options.reduced or not options.part):
        parser.error("--update goes with --part, and not with --reduced")
    report = Report()
    report.say("# Every part of ASTRA-sim 2.0")
    report.say()
    report.say("Made by `scripts/validate astra`; below each part stands which program made it.")
    report.say()
    page = ROOT / "results" / "astra.md"
    missed = []
    with tempfile.TemporaryDirectory(prefix="tessera-validate-") as folder:
        for name in options.part or PARTS:
            own = Path(folder) / name
            own.mkdir()
            lines, missed_here = part_of_page(name, options, own)
            missed += missed_here
            if options.update:
                put_in(page, name, lines)
            report.lines += part_lines(name, lines)
    print(missed_text(missed), flush=True)
    if options.part and not options.update:
        print("\n".join(report.lines))
    elif not options.part and not options.reduced:
        page.write_text("\n".join(report.lines) + "\n", encoding="utf-8")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
