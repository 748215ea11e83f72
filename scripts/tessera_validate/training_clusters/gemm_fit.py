#!/usr/bin/env python3
"""Fits matrix_efficiency of a machine file to measured rates of matrix products on one device.

    gemm_fit.py --program GEMM_RATES [--check]

GEMM_RATES is the program of tests/validation/gemm_rates.cpp. What the shape of a product costs
(tiles, waves, fill) comes from the model; the share of the peak that is left to explain is the
measured rate over the modelled one, and its mean over the products of a machine the constant for
the machine file. Their spread says how much of the rates the shape does not explain. With --check,
ends with 1 when a machine file's own constant is more than a tenth away from one of them.
"""
import argparse
import collections
import csv
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from machine_file import value_of
from page import ROOT

RATES = ROOT / "tests" / "validation" / "reference" / "gemm_rates.csv"


def read_rates():
    """Rows of each machine."""
    machines = collections.defaultdict(list)
    with open(RATES, encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            machines[row["machine"]].append(row)
    return machines


def modelled_rates(program, machine, rows):
    """TFLOP/s of each product at a matrix_efficiency of 1. Measured products follow each other without
    a gap, so that nothing is launched here; the clock is that at which matrix_efficiency was fitted."""
    shapes = [(int(row["rows"]), int(row["columns"]), int(row["depth"])) for row in rows]
    done = subprocess.run(
        [program, str(ROOT / "configs" / "machines" / (machine + ".yaml")),
         "compute.matrix_efficiency=1", "compute.sustained_clock=1", "compute.launch_overhead=0 us",
         "compute.kernel_gap=0 us"], check=True,
        input="".join("%d %d %d bf16\n" % shape for shape in shapes), capture_output=True,
        text=True)
    times_ps = [int(line) for line in done.stdout.split()]
    return [2 * rows_ * columns * depth / time
            for (rows_, columns, depth), time in zip(shapes, times_ps)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True, help="the built gemm_rates")
    parser.add_argument("--check", action="store_true", help="compare with the machine files")
    options = parser.parse_args()
    missed = 0
    for machine, rows in read_rates().items():
        shares = []
        print(f"{machine}\n  rows    columns depth   measured modelled share  source")
        for row, modelled in zip(rows, modelled_rates(options.program, machine, rows)):
            shares.append(float(row["tflops"]) / modelled)
            print(f"  {row['rows']:7} {row['columns']:7} {row['depth']:7} {row['tflops']:8} "
                  f"{modelled:8.1f} {shares[-1]:6.3f} {row['source']}")
        mean = sum(shares) / len(shares)
        stated = value_of(machine, "compute", "matrix_efficiency")
        print(f"  matrix_efficiency {mean:.3f}, from {min(shares):.3f} to {max(shares):.3f}; "
              f"the file states {stated}")
        missed += sum(abs(stated / share - 1) > 0.1 for share in shares)
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
