#!/usr/bin/env python3
"""Reruns everything behind results/astra.md and rewrites it.

Ends with 1 when a bound is missed. `--reduced` runs the quick part and writes nothing: what the test
suite does. Each part of the page is a module beside this one with a function

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

from page import ROOT, Report, version

@dataclass
class Setting:
    reduced: bool
    counts_only: bool


PARTS = ("astra_reference", "astra_tables", "astra_training", "astra_memory",
         "astra_nccl")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/tessera"))
    parser.add_argument("--reduced", action="store_true", help="the quick part; writes nothing")
    parser.add_argument("--part", action="append", choices=PARTS,
                        help="only this part (repeatable); writes to standard output")
    parser.add_argument("--counts-only", action="store_true",
                        help="no bound on any time that a run takes: for builds that are slow on purpose")
    options = parser.parse_args()
    report = Report()
    started = time.time()
    report.say("# Every part of ASTRA-sim 2.0")
    report.say()
    report.say(f"Made by `scripts/validate astra` with {version(options.program)}, on "
               f"{os.cpu_count()} processors ({platform.machine()}).")
    report.say()
    with tempfile.TemporaryDirectory(prefix="tessera-validate-") as folder:
        for name in options.part or PARTS:
            own = Path(folder) / name
            own.mkdir()
            importlib.import_module(name).sections(
                report, options.program, own, Setting(options.reduced, options.counts_only))
    report.say(f"{'All bounds hold' if not report.missed else 'MISSED: ' + '; '.join(report.missed)}. "
               f"The whole took {time.time() - started:.0f} s.")
    if options.part:
        print("\n".join(report.lines))
    elif not options.reduced:
        (ROOT / "results" / "astra.md").write_text("\n".join(report.lines) + "\n", encoding="utf-8")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
