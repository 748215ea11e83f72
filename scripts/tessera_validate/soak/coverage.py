#!/usr/bin/env python3
"""Lines and branches that the tests of the preset coverage reached, by room, into results/trust.md.

Counts are gcov's, read by gcovr; lines of public headers count to the room they are of. Branches that only
exceptions take are left out.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import made
from catalogue import PAGES
from page import ROOT, text_of, unit_tests, version

BOUND = 90  # % of the lines of these rooms
HELD = ("pdes", "network", "memory", "executor", "trace")


def room_of(name):
    parts = Path(name).parts
    return parts[2] if parts[:2] == ("include", "tessera") else parts[1]


def summary(folder):
    command = ["gcovr", "--root", str(ROOT), "--filter", "src/", "--filter", "include/", "--json-summary", "-",
               "--exclude-throw-branches", "--exclude-unreachable-branches", "--gcov-ignore-parse-errors", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"error: gcovr: {done.stderr[-3000:]}")
    return json.loads(done.stdout)["files"]


def by_room(files):
    rooms = {}
    for file in files:
        counts = rooms.setdefault(room_of(file["filename"]), [0, 0, 0, 0])
        for place, name in enumerate(("line_covered", "line_total", "branch_covered", "branch_total")):
            counts[place] += file[name]
    return rooms


def share(covered, total):
    return f"{100 * covered / total:.1f} %" if total else "none"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "coverage")
    parser.add_argument("--what", default="all tests of the preset `coverage`")
    parser.add_argument("--failed", type=Path, help="where ctest names tests that failed, if any did")
    parser.add_argument("--began", type=float, default=time.time(), help="when the call began [s since 1970]")
    options = parser.parse_args()
    files = summary(options.folder)
    rooms = by_room(files)
    lines = [f"Reached by {options.what}, built without optimisation; unit tests: git tree {unit_tests()}. "
             f"Bound: {BOUND} % of the lines of {', '.join(HELD)}.", "",
             "| room | lines | reached | branches | reached | least reached files |",
             "|---|---|---|---|---|---|"]
    missed = [f"{line.partition(':')[2]} failed" for line in text_of(options.failed).splitlines()] if options.failed else []
    for room, (covered, total, taken, branches) in sorted(rooms.items()):
        least = sorted((file for file in files if room_of(file["filename"]) == room and file["line_total"] >= 20),
                       key=lambda file: file["line_covered"] / file["line_total"])[:2]
        told = ", ".join(f"`{file['filename']}` {share(file['line_covered'], file['line_total'])}" for file in least)
        lines.append(f"| {room} | {total} | {share(covered, total)} | {branches} | {share(taken, branches)} | {told} |")
        if room in HELD and 100 * covered < BOUND * total:
            missed.append(f"{room}: {share(covered, total)} of the lines")
    sums = [sum(counts[place] for counts in rooms.values()) for place in range(4)]
    lines.append(f"| all | {sums[1]} | {share(*sums[:2])} | {sums[3]} | {share(*sums[2:])} | |")
    program = version(options.folder / "tessera")
    made.put(PAGES["trust"], "coverage",
             [*lines, "", made.footer(time.time() - options.began, program, missed), ""])
    print("\n".join(lines))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
