#!/usr/bin/env python3
"""Plants faults in the sources of rooms, one at a time, and counts those that tests notice.

Faults are drawn at random over all places of a room. For each the room is compiled in a copy of the tree, and the unit
tests of the room run, then those of the rooms that stand on it, then a few runs of whole experiments, until one of
them fails. A fault that does not compile is none; one that cannot change what a run does is named in
results/ledgers/equivalent_faults.json, with the reason. The ledger remembers what was tried over all sittings; what
was not noticed is named in the part mutation of results/trust.md.
"""

import argparse
import filecmp
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import made
from catalogue import PAGES
from page import ROOT, unit_tests, version
from soak.mutants import faults_of

BOUND = 85  # % of the faults of a room
# Unit tests in the order in which they run, and experiments that follow.
PROGRAMS = {"pdes": ("pdes", "memory", "executor"), "network": ("network", "executor")}
EXPERIMENTS = {"pdes": ("parallel.mesh_packet", "parallel.ring_slow_link", "parallel.analytical"),
               "network": ("golden\\..*", "parallel.mesh_packet", "parallel.mesh_flit", "parallel.graph_flow",
                           "parallel.analytical")}
ENVIRONMENT = ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
               "OMPI_MCA_rmaps_base_oversubscribe=1"]
PATIENCE = 5  # times what a test takes without a fault, and at least:
LEAST_S = 30
FIRST_S = 600  # of each test, while it is not known what it takes
LONG_S = 0.3  # a unit test that takes longer comes after those that do not
COPIED = ("CMakeLists.txt", "CMakePresets.json", "cmake", "include", "src", "tests", "configs", "workloads", "scripts",
          "python", "docs", "README.md", "LICENSE", "bench", "results", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
          ".tool-versions")


def files_of(folder):
    for name in COPIED:
        path = folder / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and "__pycache__" not in file.parts:
                yield file.relative_to(folder)


def make_same(folder):
    """The tree as it is now, also after sittings with another; what did not change keeps its time."""
    now = set(files_of(ROOT))
    for name in set(files_of(folder)) - now:
        (folder / name).unlink()
    for name in now:
        source, target = ROOT / name, folder / name
        if not target.exists() or not filecmp.cmp(source, target, shallow=False):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            shutil.copymode(source, target)


def of_session(leader):
    """The processes of a session that still run, by the state, parent, group and session in their stat."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # gone meanwhile
            state, _, _, session = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                yield int(path.parent.name)


def end_session(leader):
    """Ends all of a session. Its group alone would leave the ranks of a run, which have groups of their own."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
    while left := list(of_session(leader)):
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.01)


def exit_code_of(command, limit, folder):
    """The exit code of a command, none where it takes longer than `limit` [s]. All that it began ends with it."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          cwd=folder, start_new_session=True) as process:
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            end_session(process.pid)


class Tree:
    """A copy of the sources beside which there is a build of its own."""

    def __init__(self, folder, lock, units_alone):
        self.folder = folder
        self.units_alone = units_alone
        self.build = folder / "build"
        self.lock = ["flock", lock] if lock else []
        self.patience = {}
        self.long = {}  # unit tests of a program that take long
        self.tests = {}  # how many of ctest a pattern names
        self.commit = commit_of_tree(folder)
        make_same(folder)
        # Little optimisation: a fault costs one source to compile, and seconds of tests.
        subprocess.run(["cmake", "-S", str(folder), "-B", str(self.build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None",
                        "-DCMAKE_CXX_FLAGS=-Og", "-DTESSERA_BENCH=OFF", f"-DTESSERA_APART={';'.join(PROGRAMS)}"],
                       check=True, stdout=subprocess.DEVNULL)

    def make(self, targets):
        """Whether they can be made, and what the compiler says. The lock is for all that a sitting begins with: a
        fault is a source or few."""
        done = subprocess.run([*self.lock, "nice", "ninja", "-C", str(self.build), "-j2", *targets],
                              capture_output=True, text=True, check=False)
        return done.returncode == 0, done.stdout[-3000:]

    def ends_well(self, name, command, limit=None):
        """Within `limit` [s], or else within the patience with what has this name."""
        began = time.time()
        code = exit_code_of(command, limit or self.patience.get(name), self.build)
        if code is None:
            return False
        if name not in self.patience:
            self.patience[name] = max(LEAST_S, PATIENCE * (time.time() - began))
        return code == 0

    def unit_tests_pass(self, target):
        command = [*ENVIRONMENT, str(self.build / target), "--gtest_brief=1", "--gtest_fail_fast"]
        if target not in self.long:
            times = self.build / "unit_tests.json"
            if not self.ends_well(target, [*command, f"--gtest_output=json:{times}"]):
                return False
            suites = json.loads(times.read_text(encoding="utf-8"))["testsuites"]
            self.long[target] = ":".join(f"{suite['name']}.{test['name']}" for suite in suites
                                         for test in suite["testsuite"] if float(test["time"].rstrip("s")) > LONG_S)
            return True
        return (self.ends_well(target, [*command, f"--gtest_filter=-{self.long[target]}"]) and
                (not self.long[target] or self.ends_well(target, [*command, f"--gtest_filter={self.long[target]}"])))

    def count_of_tests(self, name):
        if name not in self.tests:
            listed = subprocess.run(["ctest", "--test-dir", str(self.build), "-N", "-R", f"^{name}$"],
                                    capture_output=True, text=True, check=True).stdout
            self.tests[name] = int(re.search(r"^Total Tests: (\d+)", listed, re.MULTILINE)[1])
        return self.tests[name]

    def experiments_pass(self, name):
        """ctest ends each test in time, but for those with a limit of their own; what goes on is ended with it."""
        limit = int(self.patience.get(name, FIRST_S))
        return self.ends_well(name, [*ENVIRONMENT, "ctest", "--test-dir", str(self.build), "-R", f"^{name}$",
                                     "--stop-on-failure", "--no-tests=error", "--timeout", str(limit)],
                              limit * self.count_of_tests(name) + 30)

    def first_that_notices(self, room):
        """The name of the first test that fails, or `the compiler`; none: all pass."""
        for program in PROGRAMS[room]:
            target = f"tests/{program}_tests"
            if not self.make([target])[0]:
                return "the compiler"
            if not self.unit_tests_pass(target):
                return f"unit.{program}"
        if self.units_alone:
            return None
        if not self.make(["tessera"])[0]:
            return "the compiler"
        for name in EXPERIMENTS[room]:
            if not self.experiments_pass(name):
                return name.replace("\\..*", "")
        return None

    def notices(self, room, fault):
        """What notices a fault that is planted for as long as it takes."""
        path = self.folder / fault.file
        original = path.read_text(encoding="utf-8")
        if not fault.is_in(original):
            sys.exit(f"error: {path}:{fault.line}: no longer the line that a fault was to be planted in: {fault.code}")
        path.write_text(fault.planted_in(original), encoding="utf-8")
        try:
            return self.first_that_notices(room)
        finally:
            path.write_text(original, encoding="utf-8")


def commit_of_tree(scratch):
    """What a program that is built from the tree says of its commit; that of a copy knows none."""
    output = scratch / "git_hash.inc"
    subprocess.run(["cmake", f"-DSOURCE_DIR={ROOT}", f"-DOUTPUT={output}", "-P", str(ROOT / "cmake/git_hash.cmake")],
                   check=True)
    return json.loads(output.read_text(encoding="utf-8"))


def program_of(tree):
    """What a program of the copy would say of itself, were it built from the tree."""
    program = tree.build / "tessera"
    return re.sub(r"\(\w+\)", f"({tree.commit})", version(program) if program.exists() else "tests ()")


def faults_of_room(root, room, seed):
    """Every fault of a room that can be planted in the sources in `root`, in the order of the draw."""
    files = sorted((root / "src" / room).rglob("*.[ch]pp")) + sorted((root / "include/tessera" / room).rglob("*.[hi]*"))
    faults = [fault for path in files
              for fault in faults_of(str(path.relative_to(root)), path.read_text(encoding="utf-8"))]
    return sorted(faults, key=lambda fault: fault.place_in_draw(seed))


def equivalent():
    """Why some faults are none, by name."""
    listed = json.loads((ROOT / "results/ledgers/equivalent_faults.json").read_text(encoding="utf-8"))
    return {name: why for why, names in listed.items() for name in names}


class Ledger:
    """What was tried in all sittings: by room and name of the fault what noticed it, and the program. What went
    unnoticed by unit tests alone counts as tried in sittings of unit tests alone."""

    def __init__(self, path, units_alone):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.units_alone = units_alone
        self.rooms = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def add(self, room, fault, by, seconds, commit):
        entry = {"by": by or "none", "seconds": round(seconds, 1), "commit": commit}
        faults = self.rooms.setdefault(room, {})
        if not by and self.units_alone:
            before = faults.get(fault.name, {})
            if before.get("by") == "none" and not before.get("units"):
                return  # all tests said so before
            entry["units"] = True
        faults[fault.name] = entry
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.rooms, indent=1) + "\n", encoding="utf-8")
        new.replace(self.path)

    def of(self, room, fault):
        entry = self.rooms.get(room, {}).get(fault.name)
        return entry if self.units_alone or not (entry or {}).get("units") else None


def rows_of(ledger, room, faults, reasons):
    """A row of the table, what was not noticed, the seconds and the programs of what is in the ledger."""
    tried = [(fault, ledger.of(room, fault)) for fault in faults if ledger.of(room, fault)]
    told = {fault.name: entry["by"] for fault, entry in tried}
    not_compiled = sum(by == "the compiler" for by in told.values())
    same = [fault for fault, entry in tried if entry["by"] == "none" and fault.name in reasons]
    survived = [fault for fault, entry in tried if entry["by"] == "none" and fault.name not in reasons]
    planted = len(tried) - not_compiled - len(same)
    noticed = planted - len(survived)
    share = 100 * noticed / planted if planted else 0
    by = Counter(by for by in told.values() if by not in ("none", "the compiler"))
    row = (f"| {room} | {len(faults)} | {planted} | {noticed} | {share:.1f} % | {len(same)} | {not_compiled} | "
           f"{', '.join(f'{name} {count}' for name, count in by.most_common())} |")
    return row, share, survived, [entry for _, entry in tried]


def part_of_page(ledger, root, seed, program):
    lines = ["Faults planted one at a time (an operator or a constant of a line, `scripts/tessera_validate/soak/"
             "mutants.py`), drawn at random over a room. Faults without effect cannot change what a run does: "
             "`results/ledgers/equivalent_faults.json` gives the reason for each; they count as not planted. "
             f"Bound: {BOUND} % noticed.", "",
             "| room | places | planted | noticed | share | without effect | not compiled | first noticed by |",
             "|---|---|---|---|---|---|---|---|"]
    missed, survivors, entries, reasons = [], [], [], equivalent()
    for room in sorted(ledger.rooms):
        row, share, survived, of_room = rows_of(ledger, room, faults_of_room(root, room, seed), reasons)
        lines.append(row)
        if share < BOUND:
            missed.append(f"{room}: {share:.1f} % noticed")
        survivors += [f"`{fault.file}:{fault.line}` ({fault.operator})" for fault in survived]
        entries += of_room
    commits = ", ".join(sorted({entry["commit"] for entry in entries}))
    return [*lines, "", f"Not noticed: {', '.join(survivors) or 'none'}.", "", f"Tried with the programs of {commits}; "
            f"unit tests: git tree {unit_tests()}.", "",
            made.footer(sum(entry["seconds"] for entry in entries), program, missed), ""]


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", action="append", choices=PROGRAMS)
    parser.add_argument("--count", type=int, default=200, help="faults of each room, over all sittings")
    parser.add_argument("--minutes", type=float, default=0, help="of this sitting, for each room")
    parser.add_argument("--again", action="store_true", help="try again what was not noticed, and nothing new")
    parser.add_argument("--units", action="store_true", help="unit tests alone: quicker, for a first look")
    parser.add_argument("--list", action="store_true", help="print what was not noticed, and try nothing")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutants")
    parser.add_argument("--ledger", type=Path, default=ROOT / "results/ledgers/mutation.json")
    parser.add_argument("--lock", help="a file that is locked while all is compiled")
    return parser.parse_args()


def chosen(given, root, room, ledger):
    """The faults of a room that this sitting is to try, of the sources in `root`."""
    faults, reasons = faults_of_room(root, room, given.seed), equivalent()
    survived = [fault for fault in faults if (ledger.of(room, fault) or {}).get("by") == "none"
                and fault.name not in reasons]
    if given.again or given.list:
        return survived
    return [fault for fault in faults[:given.count] if not ledger.of(room, fault)]


def main():
    given = options()
    given.folder.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(given.ledger, given.units)
    rooms = given.room or list(PROGRAMS)
    if given.list:
        for room in rooms:
            for fault in chosen(given, ROOT, room, ledger):
                print(f"{fault.file}:{fault.line}: {fault.operator}\n{fault.name}")
        return 0
    tree = Tree(given.folder, given.lock, given.units)
    programs = {f"tests/{program}_tests" for room in rooms for program in PROGRAMS[room]}
    built, said = tree.make([*sorted(programs), *([] if given.units else ["tessera"])])
    if not built:
        sys.exit(f"error: without a fault the tests cannot be made\n{said}")
    tree.lock = []
    for room in rooms:
        began = time.time()
        if by := tree.first_that_notices(room):
            sys.exit(f"error: without a fault {by} fails for {room}")
        print(f"{room}: all tests without a fault take {time.time() - began:.0f} s", flush=True)
        for fault in chosen(given, tree.folder, room, ledger):
            if given.minutes and time.time() - began > 60 * given.minutes:
                break
            start = time.time()
            by = tree.notices(room, fault)
            ledger.add(room, fault, by, time.time() - start, tree.commit)
            print(f"{fault.file}:{fault.line}: {fault.operator}: {by or 'NOT NOTICED'}, {time.time() - start:.0f} s",
                  flush=True)
    if given.units:
        return 0  # a page is of all tests
    made.put(PAGES["trust"], "mutation", part_of_page(ledger, tree.folder, given.seed, program_of(tree)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
