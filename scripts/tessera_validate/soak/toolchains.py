#!/usr/bin/env python3
"""Runs the tests of a preset that is built and puts a row for it into the part toolchains of results/trust.md."""

import argparse
import json
import re
import subprocess
import sys
import time
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import made
from catalogue import PAGES
from page import ROOT, call, version

MEANS = {"clang": "Clang instead of GCC, warnings as errors",
         "mpich": "MPICH instead of Open MPI, warnings as errors",
         "o0": "without optimisation", "assertions": "libstdc++ checks its preconditions",
         "asan": "GCC's AddressSanitizer (with leaks), UndefinedBehaviorSanitizer, libstdc++'s assertions",
         "tsan": "GCC's ThreadSanitizer",
         "fuzz": "Clang's AddressSanitizer and UndefinedBehaviorSanitizer, libstdc++'s assertions",
         "trixie": "Debian 13 instead of 12, without optimisation, warnings as errors",
         "i386": "32 bits: Python and HDF5 read old and new traces as those of 64 bits do, and CMake refuses to "
                 "build the program",
         "coverage": "without optimisation, and libstdc++ checks its preconditions"}
HEAD = ["| preset | tests | what is other | compiler, MPI, HDF5 | program | passed | failed | not built or skipped | minutes |",
        "|---|---|---|---|---|---|---|---|---|"]
ROW = re.compile(r"^\| (\w+ \| `[^|]+`) \|.*$", re.MULTILINE)


def compiler_of(folder):
    cache = (folder / "CMakeCache.txt").read_text(encoding="utf-8")
    path = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.+)$", cache, re.MULTILINE)[1]
    return call([path, "--version"]).stdout.splitlines()[0].strip()


def run_tests(preset, labels, tests):
    """Cases of ctest's report; those of programs that were not built are left out."""
    report = ROOT / "build" / preset / "trust.xml"
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", f"build/{preset}", "-L", labels, "--parallel", "2",
               "--output-on-failure", "--output-junit", str(report), *(["-R", tests] if tests else [])]
    environment = "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " \
                  "OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe".split()
    subprocess.run(environment + command, cwd=ROOT, check=False, stdin=subprocess.DEVNULL)
    counts = {"run": 0, "fail": 0, "skipped": 0}
    failed = []
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        status = case.get("status")
        if case.get("name").endswith("_NOT_BUILT") or status in ("notrun", "disabled"):
            counts["skipped"] += 1
        else:
            counts[status] += 1
            failed += [case.get("name")] if status == "fail" else []
    return counts, failed


def files_read(folder):
    """What tests/data/check_32_bits.py left: counts, what failed, by what, and the seconds it took."""
    found = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    counts = {"run": found["passed"], "fail": len(found["failed"]), "skipped": 0}
    return counts, found["failed"], f"{found['compiler']}; HDF5 {found['hdf5']}", found["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("preset")
    parser.add_argument("--labels", default="unit|parallel|faults")
    parser.add_argument("--tests")
    parser.add_argument("--program", help="which wrote the files that the preset i386 has read")
    options = parser.parse_args()
    folder = ROOT / "build" / options.preset
    began = time.time()
    program = version(Path(options.program or folder / "tessera"))
    commit, mpi, hdf5 = re.search(r"\(([^)]+)\), MPI: ([^,]+), HDF5 ([^,\s]+)", program).groups()
    if options.program:
        options.labels = "data"
        counts, failed, tools, seconds = files_read(folder)
        began -= seconds
    else:
        counts, failed = run_tests(options.preset, options.labels, options.tests)
        tools = f"{compiler_of(folder)}; {mpi}; HDF5 {hdf5}"
    key = f"{options.preset} | `{options.labels.replace('|', '`, `')}`"
    row = (f"| {key} | {MEANS.get(options.preset, '')} | {tools} | {commit} | "
           f"{counts['run']} | {counts['fail']}{' (' + ', '.join(failed) + ')' if failed else ''} | "
           f"{counts['skipped']} | {(time.time() - began) / 60:.1f} |")
    page = PAGES["trust"]
    rows = {match[1]: match[0] for match in ROW.finditer(made.read(page).get("toolchains", ""))}
    rows[key] = row
    missed = [name for name, text in rows.items() if not re.search(r"\| 0 \| \d+ \| [\d.]+ \|$", text)]
    lines = ["Tests of what was built, by label and toolchain: "
             "`scripts/toolchains PRESET`.", "", *HEAD, *(rows[name] for name in sorted(rows)), "",
             made.footer(time.time() - began, program, [f"{name.replace(' | ', ': ')}: tests failed" for name in missed]), ""]
    made.put(page, "toolchains", lines)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
