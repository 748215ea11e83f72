"""Pages made of parts, each of which can be made again by itself.

Each part NAME of a page is a module PREFIX_NAME beside this one with a function

    sections(report, program, folder, setting)

that writes its sections, headed `## ...`, into a page.Report, states its bounds there, and has
`folder` for its files.
"""

import argparse
import importlib
import os
import platform
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from page import ROOT, Report, missed_text, part_lines, put_in, version


NOT_MADE = "This part has not been made yet"


@dataclass
class Setting:
    reduced: bool
    counts_only: bool


def part_of_page(prefix, name, options, folder):
    """What a part says, and the bounds it misses."""
    report = Report()
    started = time.time()
    importlib.import_module(f"{prefix}_{name}").sections(
        report, options.program, folder, Setting(options.reduced, options.counts_only))
    report.say(f"*Made in {time.time() - started:.0f} s by {version(options.program)}, on "
               f"{os.cpu_count()} processors ({platform.machine()}); {missed_text(report.missed)}.*")
    report.say()
    return report.lines, report.missed


def make_page(description, prefix, heading, parts):
    """Of `results/PREFIX.md`, by the command line; what the program ends with."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/tessera"))
    parser.add_argument("--reduced", action="store_true", help="the quick part; writes nothing")
    parser.add_argument("--part", action="append", choices=parts,
                        help="only this part (repeatable); writes to standard output")
    parser.add_argument("--update", action="store_true", help="with --part: rewrite it in the page")
    parser.add_argument("--counts-only", action="store_true",
                        help="no bound on any time that a run takes: for builds that are slow on purpose")
    options = parser.parse_args()
    if options.update and (options.reduced or not options.part):
        parser.error("--update goes with --part, and not with --reduced")
    report = Report()
    report.say(f"# {heading}")
    report.say()
    report.say(f"Made by `scripts/validate {prefix}`; below each part stands which program made it.")
    report.say()
    page = ROOT / "results" / f"{prefix}.md"
    if options.update and not page.exists():
        page.write_text("\n".join(report.lines + [line for name in parts for line in
                                                  part_lines(name, [f"{NOT_MADE}: {name}.", ""])]) + "\n",
                        encoding="utf-8")
    missed = []
    with tempfile.TemporaryDirectory(prefix="tessera-validate-") as folder:
        for name in options.part or parts:
            own = Path(folder) / name
            own.mkdir()
            lines, missed_here = part_of_page(prefix, name, options, own)
            missed += missed_here
            if options.update:
                put_in(page, name, lines)
            report.lines += part_lines(name, lines)
    print(missed_text(missed), flush=True)
    if options.part and not options.update:
        print("\n".join(report.lines))
    elif not options.part and not options.reduced:
        page.write_text("\n".join(report.lines) + "\n", encoding="utf-8")
    if options.update and NOT_MADE in page.read_text(encoding="utf-8"):
        print(f"{page} is not whole: some parts were not made")
        return 1
    return 1 if missed else 0
