#!/usr/bin/env python3
"""Fits the constants of a device to single operators, measured on it.

    fit.py DEVICE --program TESSERA [--check]

TESSERA is the program, beside whose folder tests/ the built gemm_rates stands.

DEVICE is one of those of operators/rows.py, or `all`. The constants of products have the smallest mean
absolute relative error over the device's rows, found by a search that multiplies and divides each
constant in turn by ever smaller steps, from the machine file's own. vector_memory_efficiency is bytes
over time of all norms, activations, rotations and sums from LARGE tokens on, over the memory's
bandwidth, and 1 at most. sustained_clock of the device's cluster file is ours over the measured time in
the mean of all products of more than LONG microseconds: isolated ones are over before the clock falls
under the power limit. With --check nothing is searched: ends with 1 where the file's constants are
more than a twentieth worse than neighbours of theirs, a tenth up and down, or the share is off by
that.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from machine_file import value_of
from operators.rows import DEVICES, PRODUCTS, VECTORS, errors, measured, times_us

STEPS = (1.3, 1.1, 1.03, 1.01)
# Of products: the key and how a setting says what the file's number is read as.
CONSTANTS = {"matrix_efficiency": lambda value: f"{value:.4f}",
             "memory_efficiency": lambda value: f"{value:.4f}",
             "launch_overhead": lambda value: f"{1e9 * value:.0f} ns",
             "fill": lambda value: f"{value:.0f}",
             "cache_bandwidth": lambda value: f"{value / 1e9:.0f} GB/s"}
SHARES = ("matrix_efficiency", "memory_efficiency")
CHECKED, WITHIN = 1.1, 1.05
LONG = 2000
CLUSTERS = {"H100": "h100_cluster"}  # files that state a sustained_clock
LARGE = 2048  # tokens: launches and caches say little then


def settings_of(point):
    return [f"compute.{key}={CONSTANTS[key](value)}" for key, value in point.items()]


class Search:
    def __init__(self, device, program):
        self.device, self.program, self.machine = device, program, DEVICES[device][1]
        self.rows = measured(device, PRODUCTS)

    def stated(self):
        return {key: value_of(self.machine, "compute", key) for key in CONSTANTS}

    def error(self, point):
        ours = times_us(self.program, self.device, self.rows, settings_of(point))
        return errors(zip(self.rows, ours)).absolute

    def around(self, point, step):
        near = [{**point, key: point[key] * factor} for key in point for factor in (step, 1 / step)]
        return [each for each in near if max(each[key] for key in SHARES) <= 1]

    def best(self):
        point = self.stated()
        least = self.error(point)
        for step in STEPS:
            moved = True
            while moved:
                tried = [(self.error(near), near) for near in self.around(point, step)]
                error, near = min(tried, key=lambda pair: pair[0])
                moved = error < least
                if moved:
                    least, point = error, near
                print(f"{step}: {least:.3f} % {', '.join(settings_of(point))}", flush=True)
        return point

    def holds(self):
        point = self.stated()
        least = self.error(point)
        nearest = min(self.error(near) for near in self.around(point, CHECKED))
        print(f"{self.device}: {least:.2f} %, beside it {nearest:.2f} %")
        return least <= WITHIN * nearest


def vector_share(device):
    machine = DEVICES[device][1]
    rows = [each for each in measured(device, VECTORS) if each.tokens >= LARGE]
    rate = sum(each.bytes for each in rows) / sum(each.us for each in rows) * 1e6
    return min(1.0, rate / value_of(machine, "dram", "bandwidth"))


def vector_share_holds(device):
    share, stated = vector_share(device), value_of(DEVICES[device][1], "compute", "vector_memory_efficiency")
    print(f"{device}: vector_memory_efficiency {share:.3f}, the file states {stated}")
    return 1 / WITHIN <= stated / share <= WITHIN


def clock_holds(device, program):
    if device not in CLUSTERS:
        return True
    rows = [each for each in measured(device, PRODUCTS) if each.us > LONG]
    share = 1 + errors(zip(rows, times_us(program, device, rows))).bias / 100
    stated = value_of(CLUSTERS[device], "compute", "sustained_clock")
    print(f"{device}: sustained_clock {share:.3f} of {len(rows)} products, the file states {stated}")
    return 1 / WITHIN <= stated / share <= WITHIN


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device", choices=[*DEVICES, "all"])
    parser.add_argument("--program", required=True)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    held = True
    for device in DEVICES if options.device == "all" else (options.device,):
        search = Search(device, options.program)
        if options.check:
            held = all([held, search.holds(), vector_share_holds(device),
                        clock_holds(device, options.program)])
        else:
            search.best()
            print(f"vector_memory_efficiency {vector_share(device):.3f}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
