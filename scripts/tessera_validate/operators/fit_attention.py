#!/usr/bin/env python3
"""Fits the constants of attention of RTX PRO 6000 to single steps, measured on it.

    fit_attention.py --program TESSERA [--check]

TESSERA is the program, beside whose folder tests/ the built attention_rates stands. The constants have
the smallest sum of mean absolute relative errors of three sets (prompts alone, generating alone, both
where keys of a head fit the cache), found by a search that multiplies and divides each in turn by ever
smaller steps, from the machine file's own. With --check nothing is searched: ends with 1 where the
file's constants are more than a twentieth worse than neighbours of theirs, a tenth up and down.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from machine_file import value_of
from operators.attention import MACHINE, errors, fitted, generates, is_prompt, keeps_keys, measured, times_us

STEPS = (1.1, 1.03)
CHECKED, WITHIN = 1.1, 1.05
CONSTANTS = {"attention_efficiency": lambda value: f"{value:.4f}",
             "attention_fill": lambda value: f"{value:.0f}",
             "attention_skip": lambda value: f"{value:.0f}",
             "attention_memory_efficiency": lambda value: f"{value:.4f}",
             "attention_launch_overhead": lambda value: f"{1e9 * value:.0f} ns"}


def error(program, steps, point):
    settings = [f"compute.{key}={CONSTANTS[key](value)}" for key, value in point.items()]
    pairs = list(zip(steps, times_us(program, steps, settings)))
    total = 0
    for belongs in (is_prompt, generates, keeps_keys):
        total += errors(*zip(*(pair for pair in pairs if belongs(pair[0])))).absolute
    return total


def around(point, step):
    return [{**point, key: point[key] * factor} for key in point for factor in (step, 1 / step)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    steps = fitted(measured())
    point = {key: value_of(MACHINE, "compute", key) for key in CONSTANTS}
    least = error(options.program, steps, point)
    if options.check:
        nearest = min(error(options.program, steps, near) for near in around(point, CHECKED))
        print(f"{least:.2f} %, beside it {nearest:.2f} %")
        return 0 if least <= WITHIN * nearest else 1
    for step in STEPS:
        moved = True
        while moved:
            best, near = min(((error(options.program, steps, near), near) for near in around(point, step)),
                             key=lambda pair: pair[0])
            moved = best < least
            if moved:
                least, point = best, near
            print(f"{step}: {least:.3f} % {point}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
