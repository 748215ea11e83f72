#!/usr/bin/env python3
"""Fits the constants of a device to single operators, measured on it.

    fit.py DEVICE --program TESSERA [--check]

TESSERA is the program, beside whose folder tests/ the built gemm_rates stands.

DEVICE is one of those of operators/rows.py, or `all`. The constants of products have the smallest mean
absolute relative error over the device's rows, found by a search that multiplies and divides each
constant in turn by ever smaller steps, from the machine file's own. vector_memory_efficiency is bytes
over time of all norms, activations, rotations and sums from LARGE tokens on, over the memory's
bandwidth, and 1 at most; those of classes (norm_memory_efficiency and so on), where the file states
them, the same of the operators of a class. sustained_clock of the device's cluster file is ours over the measured time in
the mean of all products of more than LONG microseconds: isolated ones are over before the clock falls
under the power limit. With --check nothing is searched: ends with 1 where the file's constants are
more than a twentieth worse than neighbours of theirs, a tenth up and down, or the share is off by
that, one of a class by a tenth.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from machine_file import value_of
from page import ROOT
from operators.rows import DEVICES, KERNELS, PRODUCTS, VECTORS, errors, measured, times_us

MACHINES = ROOT / "configs" / "machines"
STEPS = (1.3, 1.1, 1.03, 1.01)
# Of products: the key and how a setting says what the file's number is read as.
CONSTANTS = {"matrix_efficiency": lambda value: f"{value:.4f}",
             "memory_efficiency": lambda value: f"{value:.4f}",
             "launch_overhead": lambda value: f"{1e9 * value:.0f} ns",
             "fill": lambda value: f"{value:.0f}",
             "cache_bandwidth": lambda value: f"{value / 1e9:.0f} GB/s"}
SHARES = ("matrix_efficiency", "memory_efficiency")
CHECKED, WITHIN = 1.1, 1.05
CLASS_WITHIN = 1.1  # norms alone are from 0.30 to 0.36 by model and tensor degree
LONG = 4000
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


def share_key(kernel=None):
    return f"{kernel or 'vector'}_memory_efficiency"


def vector_share(device, kernel=None):
    """Of a class of kernels, or of all."""
    machine = DEVICES[device][1]
    rows = [each for each in measured(device, VECTORS)
            if each.tokens >= LARGE and kernel in (None, KERNELS[each.operator])]
    rate = sum(each.bytes for each in rows) / sum(each.us for each in rows) * 1e6
    return min(1.0, rate / value_of(machine, "dram", "bandwidth"))


def stated_classes(device):
    """[None] and the classes that the file has a share for."""
    text = (MACHINES / f"{DEVICES[device][1]}.yaml").read_text(encoding="utf-8")
    return [None, *(kernel for kernel in sorted(set(KERNELS.values())) if f"  {share_key(kernel)}:" in text)]


def vector_shares_hold(device):
    held = True
    for kernel in stated_classes(device):
        key = share_key(kernel)
        share, stated = vector_share(device, kernel), value_of(DEVICES[device][1], "compute", key)
        within = CLASS_WITHIN if kernel else WITHIN
        held = held and 1 / within <= stated / share <= within
        print(f"{device}: {key} {share:.3f}, the file states {stated}")
    return held


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
            held = all([held, search.holds(), vector_shares_hold(device),
                        clock_holds(device, options.program)])
        else:
            search.best()
            for kernel in (None, *sorted(set(KERNELS.values()))):
                print(f"{share_key(kernel)} {vector_share(device, kernel):.3f}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
