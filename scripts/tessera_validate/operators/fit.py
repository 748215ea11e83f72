#!/usr/bin/env python3
"""Fits the constants of a device to single operators, measured on it.

    fit.py DEVICE --program TESSERA [--check [--from MICROSECONDS]]

TESSERA is the program, beside whose folder tests/ the built gemm_rates stands.

DEVICE is one of those of operators/rows.py, or `all`. The five constants of products, and up to four of
each class of kernel without a product, have the smallest mean absolute relative error over the device's
rows of them, found by a search that multiplies and divides each constant in turn by ever smaller steps,
from the machine file's own. Threads of blocks and units are the library's and the device's, and stay. vector_memory_efficiency, of work without a class, is bytes over time of all
rows of layers without a product from LARGE tokens on, over the memory's bandwidth, and 1 at most. lookup_row_time is
what look-ups of SERIAL tokens take, the difference over that of the tokens. sustained_clock of the device's cluster file
is what the clock comes to
where products follow one another without end: a product that begins on an idle device begins at the full
clock, which falls by `loss` with a time constant, so that one of T has lost loss (1 - constant / T
(1 - exp(-T / constant))) of it in the mean. Both have the smallest mean absolute error of ours over the
measured time, of all products of more than FROM microseconds, or of as many as --from says. With --check nothing is searched: ends with 1 where the file's
constants are more than a twentieth worse than neighbours of theirs, a tenth up and down, or the share is off
by that.
"""

import argparse
import math
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from machine_file import value_of
from page import ROOT
from operators.rows import DEVICES, KERNELS, LOOKUPS, PRODUCTS, VECTORS, errors, measured, times_us

MACHINES = ROOT / "configs" / "machines"
STEPS = (1.3, 1.1, 1.03, 1.01)
# Of products, and of a class of kernels: the key and how a setting says what the file's number is read as.
PRODUCT_CONSTANTS = {"matrix_efficiency": lambda value: f"{value:.4f}",
                     "memory_efficiency": lambda value: f"{value:.4f}",
                     "launch_overhead": lambda value: f"{1e9 * value:.0f} ns",
                     "fill": lambda value: f"{value:.0f}",
                     "cache_bandwidth": lambda value: f"{value / 1e9:.0f} GB/s"}
KERNEL_CONSTANTS = {key: PRODUCT_CONSTANTS[key] for key in ("memory_efficiency", "cache_bandwidth", "launch_overhead")}
KERNEL_CONSTANTS["row_bandwidth"] = lambda value: f"{value / 1e6:.0f} MB/s"  # not of sums
SHARES = ("matrix_efficiency", "memory_efficiency")
CHECKED, WITHIN = 1.1, 1.05
CLOCK_WITHIN = 1.01
VECTOR_SHARE = "vector_memory_efficiency"
ROW_TIME = "lookup_row_time"
SERIAL = (4, 16)  # tokens, whose look-ups go one row after the other
LARGE = 2048  # tokens: launches and caches say little then
FROM = 200  # us: shorter products scatter by 10 % and have hardly lost anything
CONSTANTS = [100 * 1.05 ** step for step in range(80)]  # us, that are tried
CLUSTERS = {"H100": "h100_cluster"}  # files that state a sustained_clock


class Search:
    """Of products, or of the kernels of a class."""

    def __init__(self, device, program, kernel=None):
        self.device, self.program, self.machine = device, program, DEVICES[device][1]
        self.prefix, self.constants = (f"{kernel}_", KERNEL_CONSTANTS) if kernel else ("", PRODUCT_CONSTANTS)
        self.rows = [each for each in measured(device, VECTORS + LOOKUPS if kernel else PRODUCTS)
                     if not kernel or kernel == KERNELS[each.operator]]

    def stated(self):
        text = (MACHINES / f"{self.machine}.yaml").read_text(encoding="utf-8")
        return {key: value_of(self.machine, "compute", self.prefix + key) for key in self.constants
                if f"  {self.prefix}{key}:" in text}

    def settings_of(self, point):
        return [f"compute.{self.prefix}{key}={self.constants[key](value)}" for key, value in point.items()]

    def error(self, point):
        ours = times_us(self.program, self.device, self.rows, self.settings_of(point))
        return errors(zip(self.rows, ours)).absolute

    def around(self, point, step):
        near = [{**point, key: point[key] * factor} for key in point for factor in (step, 1 / step)]
        return [each for each in near if max(each.get(key, 0) for key in SHARES) <= 1]

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
        print(f"{least:.3f} % {', '.join(self.settings_of(point))}", flush=True)
        return point

    def holds(self):
        point = self.stated()
        least = self.error(point)
        nearest = min(self.error(near) for near in self.around(point, CHECKED))
        print(f"{self.device}, {self.prefix or 'products'}: {least:.2f} %, beside it {nearest:.2f} %")
        return least <= WITHIN * nearest


def searches(device, program):
    """Of products, and of each class of kernels that the device has rows of."""
    there = {KERNELS[each.operator] for each in measured(device, VECTORS + LOOKUPS)}
    return [Search(device, program, kernel) for kernel in (None, *sorted(there))]


def vector_share(device):
    rows = [each for each in measured(device, VECTORS) if each.tokens >= LARGE]
    rate = sum(each.bytes for each in rows) / sum(each.us for each in rows) * 1e6
    return min(1.0, rate / value_of(DEVICES[device][1], "dram", "bandwidth"))


def vector_share_holds(device):
    share, stated = vector_share(device), value_of(DEVICES[device][1], "compute", VECTOR_SHARE)
    print(f"{device}: {VECTOR_SHARE} {share:.3f}, the file states {stated}")
    return 1 / WITHIN <= stated / share <= WITHIN


def row_time(device):
    """What each further row takes of look-ups that go row by row [s]."""
    few, most = SERIAL
    means = {tokens: statistics.mean(each.us for each in measured(device, LOOKUPS) if each.tokens == tokens)
             for tokens in SERIAL}
    return (means[most] - means[few]) / (most - few) / 1e6


def row_time_holds(device):
    taken, stated = row_time(device), value_of(DEVICES[device][1], "compute", ROW_TIME)
    print(f"{device}: {ROW_TIME} {1e9 * taken:.0f} ns, the file states {1e9 * stated:.0f} ns")
    return 1 / WITHIN <= stated / taken <= WITHIN


def mean_loss(duration, constant):
    """Of the clock, over a product from an idle device on, as a share of what it comes to."""
    return 1 - constant / duration * (1 - math.exp(-duration / constant))


def least_loss(slow, weights):
    """(mean absolute error, loss) of the loss with the least sum of |slow - loss weight|: a weighted median."""
    ratios = sorted((lost / weight, weight) for lost, weight in zip(slow, weights))
    half, passed = sum(weights) / 2, 0.0
    for ratio, weight in ratios:
        passed += weight
        if passed >= half:
            break
    return sum(abs(lost - ratio * weight) for lost, weight in zip(slow, weights)) / len(slow), ratio


def sustained_clock(device, program, shortest=FROM):
    """(clock, time constant [us], products) of those that the constants of single products leave too fast."""
    rows = [each for each in measured(device, PRODUCTS) if each.us > shortest]
    slow = [1 - ours / each.us for each, ours in zip(rows, times_us(program, device, rows))]
    _, loss, constant = min((*least_loss(slow, [mean_loss(each.us, constant) for each in rows]), constant)
                            for constant in CONSTANTS)
    return 1 - loss, constant, len(rows)


def clock_holds(device, program, shortest):
    if device not in CLUSTERS:
        return True
    clock, constant, count = sustained_clock(device, program, shortest)
    stated = value_of(CLUSTERS[device], "compute", "sustained_clock")
    print(f"{device}: sustained_clock {clock:.3f}, after {constant:.0f} us, of {count} products, the file states {stated}")
    return 1 / CLOCK_WITHIN <= stated / clock <= CLOCK_WITHIN


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device", choices=[*DEVICES, "all"])
    parser.add_argument("--program", required=True)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--from", dest="shortest", type=float, default=FROM)
    options = parser.parse_args()
    held = True
    for device in DEVICES if options.device == "all" else (options.device,):
        found = searches(device, options.program)
        if options.check:
            held = all([held, *(search.holds() for search in found), vector_share_holds(device),
                        row_time_holds(device),
                        clock_holds(device, options.program, options.shortest)])
        else:
            for search in found:
                search.best()
            print(f"{VECTOR_SHARE} {vector_share(device):.3f}, {ROW_TIME} {1e9 * row_time(device):.0f} ns")
            if device in CLUSTERS:
                print(f"sustained_clock {sustained_clock(device, options.program, options.shortest)[0]:.3f}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
