#!/usr/bin/env python3
"""Runs all training sets and prints mean absolute and signed errors, by set and by dimension.

    survey.py [--program TESSERA] [--set NAME]... [--every N] [--rows] [KEY=VALUE]...

--set NAME: only sets whose names contain it; --every N: one row in N of sets of more than
SMALL. KEY=VALUE are settings of all runs. --rows prints each.
"""
import argparse
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from operators.rows import Errors
from page import ROOT
from training_clusters.clusters import run_rows
from training_clusters.sets import sets

SMALL = 50
DIMENSIONS = {"tensor degree": ("tensor parallelism", "tp", "tensor"),
              "data degree": ("data parallelism", "dp"),
              "pipeline degree": ("pipeline parallelism", "pp", "pipeline"),
              "micro-batch": ("micro batch", "micro_batch_per_replica", "micro_batch"),
              "GPUs": ("gpus",), "sequence": ("sequence",), "recompute": ("recompute",)}


def value_in(row, names):
    return next((row[name] for name in names if isinstance(row, dict) and name in row), None)


def order(value):
    return (0, int(value), "") if str(value).isdigit() else (1, 0, str(value))


def label(row):
    return " ".join(map(str, row.values() if isinstance(row, dict) else [row]))[-110:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/tessera"))
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("settings", nargs="*")
    options = parser.parse_args()
    for each in sets():
        if options.set and not any(name in each.name for name in options.set):
            continue
        rows = each.rows[::options.every] if len(each.rows) > SMALL else each.rows
        with tempfile.TemporaryDirectory(prefix="tessera-survey-") as folder:
            found = run_rows(options.program, folder, each.machine, rows, each.run, options.settings)
        values = [(row, ours / measured - 1) for row, ours, measured in found]
        _, absolute, bias, worst = Errors(tuple(error for _, error in values)).cells()
        print(f"{each.name}: {len(rows)} rows, {absolute}, bias {bias}, worst {worst}", flush=True)
        for dimension, names in DIMENSIONS.items():
            groups = defaultdict(list)
            for row, error in values:
                value = value_in(row, names)
                if value is not None:
                    groups[value].append(error)
            if len(groups) > 1:
                print(f"    {dimension}: " + ", ".join(
                    f"{value}: {Errors(tuple(groups[value])).bias:+.1f} ({len(groups[value])})"
                    for value in sorted(groups, key=order)))
        if options.rows:
            for row, error in values:
                print(f"    {100 * error:+6.1f} %  {label(row)}")


if __name__ == "__main__":
    main()
