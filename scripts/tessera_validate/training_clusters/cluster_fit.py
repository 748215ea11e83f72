#!/usr/bin/env python3
"""Fits constants of a machine to iterations measured on one node: what a user does who has those alone. The
shipped files do without (results/operators.md).

    cluster_fit.py a100|a100-recompute|h100 [--program TESSERA] [--every N]

The constants are those of the `gemm` compute model that data sheets and single products say nothing
of: launch_overhead and memory_efficiency for A100; for H100 memory_efficiency alone, as its set does
not determine both (from 40 to 90 us the error stays within 0.2 %). They are those with the smallest
mean absolute error over the fit set, found by a search that steps up and down each constant in turn,
with ever smaller steps, from the file's own. --every N takes one row in N. Runs on several nodes are never looked at.

The fit set for A100 is vTrain's single-node set, as far as the device bounds an iteration and not the
host (DEVICE_BOUND), as without recomputation, or with it for comparison; for H100 MosaicML's runs with up to LONGEST tokens.
"""
import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from machine_file import value_of
from page import ROOT, rows_of
from training_clusters.clusters import mean_error, run_foundry, run_profiled, run_rows, run_vtrain

DEVICE_BOUND = 4096  # micro-batch * hidden / tensor degree: work of a kernel, in rows of the output
LONGEST = 2048  # beyond, attention decides, of which these runs had an early kernel
# Constants: unit of a setting, values a unit, and steps of the search, in units.
CONSTANTS = {"launch_overhead": ("us", 1e6, (8, 4, 2, 1)),
             "memory_efficiency": ("", 1, (0.08, 0.04, 0.02, 0.01))}


def vtrain_rows():
    return [row for row in rows_of("vtrain_single.csv")
            if int(row["micro batch"]) * int(row["hidden size"])
            >= DEVICE_BOUND * int(row["tensor parallelism"])]


def foundry_rows():
    return [row for row in rows_of("llm_foundry_h100.csv") if int(row["sequence"]) <= LONGEST]


# Machine, rows, how to run them, what is fitted.
SETS = {"a100": ("a100_cluster_4nic", vtrain_rows, run_profiled, tuple(CONSTANTS)),
        "a100-recompute": ("a100_cluster_4nic", vtrain_rows, run_vtrain, tuple(CONSTANTS)),
        "h100": ("h100_cluster", foundry_rows, run_foundry, ("memory_efficiency",))}


def stated(machine, key):
    """The constant in its unit, as the file has it."""
    return round(value_of(machine, "compute", key) * CONSTANTS[key][1], 6)


def run_set(name, program, folder, rows, settings=()):
    machine, _, run, _ = SETS[name]
    return run_rows(program, folder, machine, rows, run, settings)


class Search:
    def __init__(self, name, program, rows):
        self.name = name
        self.program = program
        self.rows = rows
        self.keys = SETS[name][3]
        self.known = {}

    def text(self, point):
        return [f"{key}={value:g} {CONSTANTS[key][0]}".rstrip()
                for key, value in zip(self.keys, point)]

    def error(self, point):
        point = tuple(round(value, 4) for value in point)
        if min(point) <= 0:
            return float("inf")
        if point not in self.known:
            with tempfile.TemporaryDirectory(prefix="tessera-fit-") as folder:
                found = run_set(self.name, self.program, folder, self.rows,
                                [f"machine.compute.{text}" for text in self.text(point)])
            self.known[point] = mean_error(found)
            print(f"{', '.join(self.text(point))}: {self.known[point]:.3f} %", flush=True)
        return self.known[point]

    def run(self, best):
        for steps in zip(*(CONSTANTS[key][2] for key in self.keys)):
            moved = True
            while moved:
                around = [tuple(value + sign * step * (index == which)
                                for index, (value, step) in enumerate(zip(best, steps)))
                          for which in range(len(best)) for sign in (1, -1)]
                nearest = min(around, key=self.error)
                moved = self.error(nearest) < self.error(best)
                best = nearest if moved else best
        return best


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--program", default=str(ROOT / "build/release/tessera"))
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one row in N")
    options = parser.parse_args()
    machine, rows_of_set, _, keys = SETS[options.set]
    rows = rows_of_set()[::options.every]
    print(f"{len(rows)} rows")
    search = Search(options.set, options.program, rows)
    best = search.run(tuple(stated(machine, key) for key in keys))
    print(f"best: {', '.join(search.text(best))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
