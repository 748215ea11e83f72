"""A page of the catalogue, made part by part."""

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import commit
import made
import moved
from page import ROOT, Report, version

DESCRIPTION = """Reruns everything behind {path} and rewrites it, part by part.

Exits with 1 when a bound is missed. `--reduced` runs the quick part of it and writes nothing, as the test
suite does. Pages are made by a commit: a tree with changes and a program of another commit are refused, and
may be tried with `--part PART` alone, which prints. Wall times are meaningful only on processors that nothing
else uses."""
PROGRAM = ROOT / "build" / "release" / "tessera"


@dataclass(frozen=True)
class Setting:
    reduced: bool = False
    counts_only: bool = False


def part_of_page(page, name, program, folder, setting):
    """What a part says, and the bounds it misses."""
    report = Report()
    started = time.time()
    print(f"part    {page.name} {name}", flush=True)
    page.sections(name)(report, program, folder, setting)
    report.say(made.footer(time.time() - started, version(program), report.missed))
    report.say()
    return report.lines, report.missed


def build(targets):
    words = [word for target in targets for word in ("--target", target)]
    if subprocess.run([ROOT / "scripts" / "build", *words], check=False).returncode != 0:
        sys.exit("error: the program could not be built")


def part_named(page):
    """Takes a part of the page and says where one went that has been there."""
    def checked(name):
        if name not in page.parts:
            raise argparse.ArgumentTypeError(moved.part_moved(page.name, name) or
                                             f"no part {name} (there are {', '.join(page.parts)})")
        if name in page.scripts:
            raise argparse.ArgumentTypeError(f"{' '.join(page.scripts[name])} makes it")
        return name
    return checked


def options_of(page, words):
    parser = argparse.ArgumentParser(prog=page.command, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description=DESCRIPTION.format(path=page.path.relative_to(ROOT)))
    parser.add_argument("--program", help="use this program; nothing is built (default: build/release/tessera)")
    parser.add_argument("--reduced", action="store_true", help="run only the quick part; writes nothing")
    parser.add_argument("--part", action="append", type=part_named(page), metavar="PART",
                        help="only this part (repeatable), one of " + ", ".join(page.parts)
                             + "; writes to standard output")
    parser.add_argument("--update", action="store_true", help="with --part: rewrite that part in the page")
    parser.add_argument("--counts-only", action="store_true",
                        help="put no bound on the times of runs, for builds that are slow on purpose")
    options = parser.parse_args(words)
    if page.scripts and not options.part:
        parser.error("; ".join(f"{' '.join(script)} makes {part}" for part, script in page.scripts.items()))
    if options.update and (options.reduced or not options.part):
        parser.error("--update goes with --part, and not with --reduced")
    return options


def make_page(page, words):
    """By the words of the command line; what the program ends with."""
    options = options_of(page, words)
    writes = not options.reduced and (options.update or not options.part)
    of_tree = commit.commit_of_tree() if writes else None
    if writes:
        commit.refuse_changed_tree(of_tree)
    if not options.program:
        build(("tessera", *page.targets))
    program = options.program or str(PROGRAM)
    if writes:
        commit.refuse_other_program(program, of_tree, "--part PART without --update")
    missed = []
    with tempfile.TemporaryDirectory(prefix="tessera-validate-") as folder:
        for name in options.part or page.parts:
            own = Path(folder) / name
            own.mkdir()
            lines, missed_here = part_of_page(page, name, program, own,
                                              Setting(options.reduced, options.counts_only))
            missed += missed_here
            if writes:
                made.put(page, name, lines)
            elif options.part:
                print("\n".join(lines))
    print(made.missed_text(missed), flush=True)
    return 1 if missed else 0
