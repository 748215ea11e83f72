"""Makes every part of every page with one commit: `scripts/validate all`.

What a commit has made is recorded in the footers of the pages and nowhere else, so it may take several
calls: parts that the commit of the tree has already made are left as they are. A commit that changes
only documents, pages and tests that no page runs does not count as another one (cmake/git_hash.cmake).
"""

import argparse
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import figures
import made
import moved
from catalogue import PAGES
from commit import CHANGED, commit_of_tree, refuse_changed_tree, refuse_other_program
from page import ROOT
from parts import PROGRAM, build

QUICK_S = 120


def chosen_parts(options):
    """(page, part) in the order of the catalogue; quick are those that were when they were made."""
    chosen = []
    for page in PAGES.values():
        blocks = made.read(page)
        for part in page.parts:
            seconds = made.made_of(blocks.get(part, "")).seconds
            named = not options.only or {page.name, f"{page.name}/{part}"} & set(options.only)
            if named and (options.at_most is None or (seconds is not None and seconds <= options.at_most)):
                chosen.append((page, part))
    return chosen


def command_of(page, part, program, reduced):
    python = [sys.executable, ROOT / "scripts" / "tessera_validate", page.name, "--part", part,
              "--program", program]
    if reduced:
        return [*python, "--reduced", "--counts-only"]
    if part in page.scripts:
        script, *words = page.scripts[part]
        return [ROOT / script, *words, *(() if words else ("--program", program))]
    return [*python, "--update"]


def state(page, part):
    return made.made_of(made.read(page).get(part, ""))


def written_at(page):
    return page.path.stat().st_mtime_ns if page.path.exists() else None


def row_of(page, part, commit, failed=()):
    """Of the table at the end, and whether all is well."""
    now = state(page, part)
    present = now.commit == commit
    verdict = "did not run to its end" if (page.name, part) in failed else now.verdict
    good = present and not now.misses and (page.name, part) not in failed
    seconds = "" if now.seconds is None else f"{now.seconds} s"
    mark = "this" if present else ("another" if now.commit else "")
    return (f"{page.name}/{part}", now.commit or "not made", mark, seconds, verdict), good


def show(rows):
    head = ("part", "made by commit", "", "took", "bounds")
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(4)]
    for row in (head, *rows):
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[4]]).rstrip(),
              flush=True)


def lacking(chosen, commit):
    """Parts that the commit has not made."""
    return [(page, part) for page, part in chosen if state(page, part).commit != commit]


def duration(seconds):
    minutes = round(seconds / 60)
    return (f"{seconds:.0f} s" if seconds < 120 else
            f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min")


def time_left(parts):
    """By how long they took when they were last made, one after the other."""
    known = [seconds for seconds in (state(page, part).seconds for page, part in parts) if seconds is not None]
    unknown = len(parts) - len(known)
    return (f"{len(parts)} parts left, about {duration(sum(known))}"
            + (f" and {unknown} of unknown length" if unknown else ""))


class Making:
    """Makes parts, until time is up or the tree is another one; keeps which did not run to their end."""

    def __init__(self, options, program, commit, parts):
        self.options, self.program, self.commit = options, program, commit
        self.left = list(parts)
        self.failed = set()
        self.deadline = time.time() + 60 * options.minutes if options.minutes else None
        self.is_over = False
        self.lock = threading.Lock()

    def may_begin(self, page, part):
        """Says why not, once."""
        if self.is_over:
            return False
        if self.deadline and time.time() > self.deadline:
            print(f"time is up before {page.name}/{part}; call it again to go on", flush=True)
        elif not self.options.reduced and commit_of_tree() != self.commit:
            print(f"the tree is no longer {self.commit}: nothing more is made", flush=True)
        else:
            print(f"== {page.name}/{part} ({time_left(self.left)})", flush=True)
            return True
        self.is_over = True
        return False

    def make(self, page, part, beside=False):
        with self.lock:
            if not self.may_begin(page, part):
                return
        words = [str(word) for word in command_of(page, part, self.program, self.options.reduced)]
        before = state(page, part), written_at(page)
        # Beside others what a part prints waits for its end.
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=beside, text=True, check=False)
        with self.lock:
            if beside:
                print(f"== end of {page.name}/{part}\n{done.stdout}{done.stderr}", end="", flush=True)
            self.left.remove((page, part))
            # A missed bound ends with 1, too, but has written its part of the page, which says so.
            now = state(page, part), written_at(page)
            is_written = now[0] != before[0] or ((not beside or self.options.again) and now[1] != before[1])
            if done.returncode != 0 and (self.options.reduced or not is_written):
                self.failed.add((page.name, part))


def run_parts(chosen, options, program, commit):
    """The parts that did not run to their end; all are tried. With `--jobs`, those that hold no time go
    beside each other first, the others alone behind them."""
    parts = [(page, part) for page, part in chosen if not (options.reduced and part in page.scripts)]
    if not options.reduced and not options.again:
        parts = lacking(parts, commit)
    making = Making(options, program, commit, parts)
    together = [(page, part) for page, part in parts if options.jobs > 1 and part in page.counted]
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda one: making.make(*one, beside=True), together))
    for page, part in parts:
        if (page, part) not in together:
            making.make(page, part)
    return making.failed


def parse(words):
    parser = argparse.ArgumentParser(prog="scripts/validate all", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true",
                        help="show which commit made each part and how long it took, and make nothing")
    parser.add_argument("--missing", action="store_true",
                        help="show the parts that this commit has not made and how long they took when they were "
                             "last made, and make nothing; exits with 1 if there are any")
    parser.add_argument("--resume", action="store_true",
                        help="continue what this commit has begun; an error if it has made no part, so that "
                             "pages that another commit has half made are not started again")
    parser.add_argument("--jobs", type=int, default=1, metavar="N",
                        help="run N at a time of the parts that hold counts, digests and errors but no times of runs; "
                             "the others follow one at a time")
    parser.add_argument("--only", action="append", metavar="PAGE[/PART]", help="only these (repeatable)")
    parser.add_argument("--quick", dest="at_most", action="store_const", const=QUICK_S,
                        help=f"only parts that took at most {QUICK_S} s when they were last made")
    parser.add_argument("--at-most", dest="at_most", type=int, metavar="SECONDS",
                        help="the same, with another number of seconds")
    parser.add_argument("--minutes", type=float, help="start no part after this many minutes")
    parser.add_argument("--again", action="store_true", help="also remake what this commit has already made")
    parser.add_argument("--program", help="use this program; nothing is built")
    parser.add_argument("--reduced", action="store_true",
                        help="a trial: the quick part of each, with any program; writes nothing")
    options = parser.parse_args(words)
    known = {name for page in PAGES.values()
             for name in (page.name, *(f"{page.name}/{part}" for part in page.parts))}
    if options.jobs < 1:
        parser.error("--jobs: at least 1")
    for name in set(options.only or ()) - known:
        parser.error(moved.told(name) or f"no page or part {name}; --list has them")
    return options


def listing(chosen, commit):
    show([row_of(page, part, commit)[0] for page, part in chosen])
    told = (f"{commit}, a tree with changes: by it no page can be made" if commit.endswith(CHANGED)
            else commit)
    print(f"\nthis commit: {told}")
    return 0


def missing(chosen, commit):
    parts = lacking(chosen, commit)
    if parts:
        show([row_of(page, part, commit)[0] for page, part in parts])
    print(f"\nthis commit: {commit}; {time_left(parts)}")
    return 1 if parts else 0


def refuse_another_begin(chosen, commit):
    """Who made the pages, where this commit has no part in them."""
    made_by = {}
    for page, part in chosen:
        made_by.setdefault(state(page, part).commit, []).append(f"{page.name}/{part}")
    if commit not in made_by:
        others = ", ".join(f"{other} {len(parts)}" for other, parts in made_by.items() if other)
        sys.exit(f"error: {commit} has made no part, so that there is nothing to go on with; parts made by "
                 f"others: {others or 'none'}. Without --resume all are begun by {commit}")


def conclude(chosen, commit, failed):
    rows = [row_of(page, part, commit, failed) for page, part in chosen]
    print()
    show([row for row, _ in rows])
    bad = [row[0] for row, good in rows if not good]
    print(f"\n{len(rows) - len(bad)} of {len(rows)} parts are made by {commit} and hold their bounds"
          + (f"; not: {', '.join(bad)}" if bad else ""))
    stale = figures.rewrite()
    print("".join(f"{line}\n" for line in stale), end="")
    return 1 if bad or stale else 0


def main(words):
    options = parse(words)
    commit = commit_of_tree()
    chosen = chosen_parts(options)
    if options.list:
        return listing(chosen, commit)
    if options.missing:
        return missing(chosen, commit)
    if options.resume:
        refuse_another_begin(chosen, commit)
    if not options.reduced:
        refuse_changed_tree(commit)
    if not options.program:
        build(sorted({"tessera", *(target for page, _ in chosen for target in page.targets)}))
    program = str(Path(options.program or PROGRAM).resolve())
    if options.reduced:
        failed = run_parts(chosen, options, program, commit)
        print("did not run, or missed: " + ", ".join("/".join(each) for each in sorted(failed))
              if failed else "all held")
        return 1 if failed else 0
    refuse_other_program(program, commit, "--reduced")
    failed = run_parts(chosen, options, program, commit)
    return conclude(chosen, commit, failed)
