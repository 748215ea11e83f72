#!/usr/bin/env python3
"""Fits latency and bandwidth of a step to measured NCCL times, for the machine files of clusters.

    nccl_fit.py [--from BYTES] [--check]

A ring all-reduce of S bytes over n workers takes 2 (n - 1) (L + S / n / B), a send S bytes takes
L + S / B. L is the time of a step beyond its bytes on the links (the overhead and latency of a
message), B the rate of the slowest link. Both come from a least-squares fit of the relative error,
for each number of workers, over messages of at least --from bytes: below, NCCL changes protocol
and algorithm with size, which two numbers cannot follow. With --check, ends with 1 when a machine
file states other numbers.
"""
import argparse
import collections
import csv
import sys

from machine_file import value_of
from page import ROOT

TIMES = ROOT / "tests" / "validation" / "reference" / "nccl_times.csv"


def read_groups(smallest):
    """(bytes, seconds) of each (gpu, collective, workers, per node)."""
    groups = collections.defaultdict(list)
    with open(TIMES, encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            key = (row["gpu"], row["collective"], int(row["workers"]), int(row["per_node"]))
            if int(row["bytes"]) >= smallest:
                groups[key].append((int(row["bytes"]), float(row["time_us"]) * 1e-6))
    return groups


def steps_and_share(collective, workers):
    """Steps one after the other, and the part of the message that each carries."""
    return (2 * (workers - 1), 1 / workers) if collective == "all_reduce" else (1, 1)


def relative_line(points):
    """a and b of time = a + b * bytes with the smallest sum of squared relative errors."""
    weights = [(1 / time**2, size, time) for size, time in points]
    w = sum(weight for weight, _, _ in weights)
    ws = sum(weight * size for weight, size, _ in weights)
    wss = sum(weight * size * size for weight, size, _ in weights)
    wt = sum(weight * time for weight, _, time in weights)
    wst = sum(weight * size * time for weight, size, time in weights)
    determinant = w * wss - ws * ws
    return (wss * wt - ws * wst) / determinant, (w * wst - ws * wt) / determinant


def fit(collective, workers, points):
    """Latency of a step [s], bandwidth [B/s], mean and largest relative residual."""
    constant, slope = relative_line(points)
    steps, share = steps_and_share(collective, workers)
    residuals = [abs((constant + slope * size) / time - 1) for size, time in points]
    return (constant / steps, steps * share / slope,
            sum(residuals) / len(residuals), max(residuals))


def expected(fits):
    """(machine, what, stated, fitted) of every number taken from a fit."""
    for machine, gpu in [("a100_cluster", "a100"), ("a100_cluster_4nic", "a100"),
                         ("h100_cluster", "h100")]:
        step, rate = fits[gpu, "all_reduce", 8, 8][:2]
        overhead = value_of(machine, "network", "message_overhead")
        hops = 2 * value_of(machine, "topology", "switch", "latency")
        yield machine, "step in a server", overhead + hops, step
        yield (machine, "link to the switch",
               value_of(machine, "topology", "switch", "bandwidth"), rate)
    step, rate = fits["h100", "send_recv", 2, 1][:2]
    overhead = value_of("h100_cluster", "network", "message_overhead")
    hops = 2 * sum(value_of("h100_cluster", "topology", link, "latency")
                   for link in ("nic", "port"))
    yield "h100_cluster", "message between servers", overhead + hops, step
    yield ("h100_cluster", "port of a NIC",
           value_of("h100_cluster", "topology", "port", "bandwidth"), rate)


def faults(fits):
    for machine, what, stated, fitted in expected(fits):
        if abs(stated / fitted - 1) > 0.002:  # they are stated with three digits and more
            yield f"{machine}: {what}: stated {stated:.4g}, fitted {fitted:.4g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--from", dest="smallest", type=int, default=4 << 20, metavar="BYTES",
                        help="smallest message (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="compare with the machine files")
    options = parser.parse_args()
    groups = read_groups(options.smallest)
    fits = {key: fit(key[1], key[2], points) for key, points in groups.items()}
    print("gpu   collective  workers  a node  points  L [us]  B [GB/s]  residual: mean    largest")
    for key, (latency, bandwidth, mean, largest) in fits.items():
        gpu, collective, workers, per_node = key
        print(f"{gpu:5} {collective:11} {workers:7} {per_node:7} {len(groups[key]):7} "
              f"{latency * 1e6:7.2f} {bandwidth / 1e9:9.1f} {mean:15.1%} {largest:10.1%}")
    found = list(faults(fits)) if options.check else []
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
