#!/usr/bin/env python3
"""Plants faults in the sources of rooms, one at a time, and counts those that the tests of the room notice.

Faults are drawn at random over all places of a room. For each the room is compiled in a copy of the tree, with its unit
tests; where these pass, a few runs of whole experiments follow. A fault that does not compile is none. Which
were not noticed is kept in the ledger, and named in the part mutation of results/trust.md.
"""

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import made
from catalogue import PAGES
from page import ROOT, version
from soak.mutants import mutants_of

BOUND = 85  # %
EXPERIMENTS = {"pdes": ("parallel.mesh_packet", "parallel.ring_slow_link", "parallel.analytical"),
               "network": ("parallel.mesh_packet", "parallel.mesh_flit", "parallel.graph_flow",
                           "parallel.analytical", "golden.")}
ENVIRONMENT = ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
               "OMPI_MCA_rmaps_base_oversubscribe=1"]


def copy_tree(folder):
    """The sources, beside which there is a build of their own."""
    for name in ("CMakeLists.txt", "CMakePresets.json", "cmake", "include", "src", "tests", "configs", "workloads",
                 "scripts", "python", "docs", "README.md", "LICENSE", "bench"):
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True,
                            ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy2(source, target)


class Tree:
    def __init__(self, folder, lock):
        self.folder = folder
        self.build = folder / "build" / "o0"
        self.lock = ["flock", lock] if lock else []

    def make(self, targets):
        return subprocess.run([*self.lock, "nice", "ninja", "-C", str(self.build), "-j2", *targets],
                              capture_output=True, text=True, check=False)

    def prepare(self):
        if not (self.build / "build.ninja").exists():
            copy_tree(self.folder)
            subprocess.run(["cmake", "--preset", "o0", "-DTESSERA_BENCH=OFF", "-DTESSERA_TOGETHER=OFF"], cwd=self.folder,
                           check=True, stdout=subprocess.DEVNULL)

    def tests(self, room):
        listed = subprocess.run(["ninja", "-C", str(self.build), "-t", "targets", "all"], capture_output=True, text=True,
                                check=True).stdout
        return re.findall(rf"^(tests/{room}_\w+): CXX_EXECUTABLE_LINKER", listed, re.MULTILINE)

    def passes(self, room, programs):
        for program in programs:
            try:
                done = subprocess.run([str(self.build / program)], capture_output=True, timeout=120, check=False,
                                      cwd=self.build)
            except subprocess.TimeoutExpired:
                return False
            if done.returncode != 0:
                return False
        return self.runs_pass(room)

    def runs_pass(self, room):
        if self.make(["tessera"]).returncode != 0:
            return False
        for name in EXPERIMENTS.get(room, ()):
            done = subprocess.run([*ENVIRONMENT, "ctest", "--test-dir", str(self.build), "-R", f"^{re.escape(name)}",
                                   "--stop-on-failure", "--timeout", "200", "-j2"], capture_output=True, check=False)
            if done.returncode != 0:
                return False
        return True


def places_of(room):
    """Every fault of a room that can be planted: file, and its place among those of the file."""
    places = []
    for path in sorted((ROOT / "src" / room).rglob("*.[ch]pp")) + sorted((ROOT / "include/tessera" / room).rglob("*.[hi]*")):
        for index, _ in enumerate(mutants_of(path.read_text(encoding="utf-8"))):
            places.append((str(path.relative_to(ROOT)), index))
    return places


def try_one(tree, room, place, programs):
    """noticed, survived, or not compiled; with the line and what was changed."""
    name, index = place
    path = tree.folder / name
    original = (ROOT / name).read_text(encoding="utf-8")
    line, operator, text = list(mutants_of(original))[index]
    path.write_text(text, encoding="utf-8")
    try:
        built = tree.make(programs)
        if built.returncode != 0:
            outcome = "not compiled"
        else:
            outcome = "survived" if tree.passes(room, programs) else "noticed"
    finally:
        path.write_text(original, encoding="utf-8")
    return {"file": name, "line": line, "operator": operator, "outcome": outcome}


def part_of_page(ledger, program, seconds):
    lines = ["Faults planted one at a time (an operator or a constant of a line, `scripts/tessera_validate/soak/"
             "mutants.py`), drawn at random over a room; noticed by its unit tests, or by runs of whole experiments "
             f"({'; '.join(f'{room}: ' + ', '.join(names) for room, names in EXPERIMENTS.items())}). Bound: {BOUND} %.", "",
             "| room | places | planted | noticed | share | not compiled |", "|---|---|---|---|---|---|"]
    missed, survivors = [], []
    for room, entry in sorted(ledger.items()):
        count = {outcome: sum(one["outcome"] == outcome for one in entry["tried"])
                 for outcome in ("noticed", "survived", "not compiled")}
        planted = count["noticed"] + count["survived"]
        share = 100 * count["noticed"] / planted if planted else 0
        lines.append(f"| {room} | {entry['places']} | {planted} | {count['noticed']} | {share:.0f} % | "
                     f"{count['not compiled']} |")
        if share < BOUND:
            missed.append(f"{room}: {share:.0f} % noticed")
        survivors += [f"`{one['file']}:{one['line']}` ({one['operator']})" for one in entry["tried"]
                      if one["outcome"] == "survived"]
    return [*lines, "", f"Not noticed: {', '.join(survivors) or 'none'}.", "", made.footer(seconds, program, missed), ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", action="append")
    parser.add_argument("--count", type=int, default=200, help="faults of each room, over all sittings")
    parser.add_argument("--minutes", type=float, default=0, help="of this sitting")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutants")
    parser.add_argument("--lock", help="a file that is locked while something is compiled")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    tree = Tree(options.folder, options.lock)
    tree.prepare()
    path = options.folder / "ledger.json"
    ledger = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    began = time.time()
    for room in options.room or EXPERIMENTS:
        places = places_of(room)
        random.Random(f"{options.seed}:{room}").shuffle(places)
        programs = tree.tests(room)
        entry = ledger.setdefault(room, {"places": len(places), "tried": []})
        if tree.make(programs).returncode != 0 or not tree.passes(room, programs):
            sys.exit(f"error: the tests of {room} fail without a fault")
        for place in places[len(entry["tried"]):options.count]:
            if options.minutes and time.time() - began > 60 * options.minutes:
                break
            entry["tried"].append(try_one(tree, room, place, programs))
            path.write_text(json.dumps(ledger, indent=1) + "\n", encoding="utf-8")
            print(f"{room} {len(entry['tried'])}: {entry['tried'][-1]}", flush=True)
    made.put(PAGES["trust"], "mutation", part_of_page(ledger, version(tree.build / "tessera"), time.time() - began))
    return 0


if __name__ == "__main__":
    sys.exit(main())
