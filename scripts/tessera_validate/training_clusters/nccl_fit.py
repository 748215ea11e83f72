#!/usr/bin/env python3
"""Fits overheads and bandwidth to measured NCCL times, for the machine files of clusters.

    nccl_fit.py [--from BYTES] [--check]

A ring all-reduce of S bytes over n workers of a server takes C + 2 (n - 1) (L + S / n / B) + F S / n / B: C is
what a collective takes before its first step, L a step beyond its bytes on the links (the overhead
and latency of a message), B the rate of the slowest link, and F the part of a step that is beside no
other, since a ring goes over chunks in loops: the more workers, the nearer comes it to B. One C, L
and B for 2, 4 and 8 workers come from a least-squares fit of the relative error over messages of at
least --from bytes: below, NCCL changes protocol and algorithm with size, which so few numbers cannot
follow; F, where FILLED has the machine, from trying multiples of 0.05. A send between servers takes
L + S / B, which is fitted by itself. With --check, ends with 1 when a machine file states other
numbers.
"""
import argparse
import collections
import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from machine_file import value_of
from page import ROOT

TIMES = ROOT / "tests" / "validation" / "reference" / "nccl_times.csv"


FILLED = {"a100_vtrain"}  # else F is 0


def read_groups(smallest):
    """(bytes, seconds) of each (gpu, collective, workers, per node)."""
    groups = collections.defaultdict(list)
    with open(TIMES, encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            key = (row["gpu"], row["collective"], int(row["workers"]), int(row["per_node"]))
            if int(row["bytes"]) >= smallest:
                groups[key].append((int(row["bytes"]), float(row["time_us"]) * 1e-6))
    return groups


def least_squares(rows):
    """The x with the smallest |A x - 1| for rows A: Gaussian elimination of the normal equations."""
    size = len(rows[0])
    system = [[sum(row[i] * row[j] for row in rows) for j in range(size)]
              + [sum(row[i] for row in rows)] for i in range(size)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(system[k][i]))
        system[i], system[pivot] = system[pivot], system[i]
        for k in range(size):
            if k != i:
                factor = system[k][i] / system[i][i]
                system[k] = [a - factor * b for a, b in zip(system[k], system[i])]
    return [system[i][size] / system[i][i] for i in range(size)]


def relative_fit(points):
    """Numbers x with the smallest relative error of time = terms . x for all (terms, time), and of
    each point that error."""
    found = least_squares([[term / time for term in terms] for terms, time in points])
    return found, [sum(term * x for term, x in zip(terms, found)) / time - 1
                   for terms, time in points]


def fit_servers(groups, gpu, fill=0.0):
    """C, L, B of all-reduces within a server, and the residuals of each number of workers."""
    workers = [n for (name, kind, n, per_node) in groups
               if (name, kind, per_node) == (gpu, "all_reduce", n)]
    points = [(n, [1, 2 * (n - 1), (2 * (n - 1) + fill) / n * size], time)
              for n in workers for size, time in groups[gpu, "all_reduce", n, n]]
    found, residuals = relative_fit([point[1:] for point in points])
    shares = {n: [abs(r) for (m, *_), r in zip(points, residuals) if m == n] for n in workers}
    return (found[0], found[1], 1 / found[2]), shares


def fit_fill(groups, gpu):
    """F with the least squares."""
    def squares(fill):
        return sum(error ** 2 for errors in fit_servers(groups, gpu, fill)[1].values() for error in errors)

    return min((0.05 * step for step in range(21)), key=squares) if gpu in FILLED else 0.0


def fit_sends(groups, gpu):
    """L, B of a send between servers, and the residuals."""
    found, residuals = relative_fit(
        [([1, size], time) for size, time in groups[gpu, "send_recv", 2, 1]])
    return (found[0], 1 / found[1]), [abs(r) for r in residuals]


def expected(servers, sends):
    """(machine, what, stated, fitted) of every number taken from a fit."""
    for machine, gpu in [("a100_cluster", "a100"), ("a100_cluster_4nic", "a100_vtrain"),
                         ("h100_cluster", "h100")]:
        start, step, rate, fill = servers[gpu]
        overhead = value_of(machine, "network", "message_overhead")
        hops = 2 * value_of(machine, "topology", "switch", "latency")
        yield machine, "collective", value_of(machine, "network", "collective_overhead"), start
        yield machine, "step in a server", overhead + hops, step
        yield (machine, "link to the switch",
               value_of(machine, "topology", "switch", "bandwidth"), rate)
        if fill:
            yield machine, "fill", value_of(machine, "network", "collective_fill"), rate / fill
    step, rate = sends["h100"]
    overhead = value_of("h100_cluster", "network", "message_overhead")
    hops = 2 * sum(value_of("h100_cluster", "topology", link, "latency")
                   for link in ("nic", "port"))
    yield "h100_cluster", "message between servers", overhead + hops, step
    yield ("h100_cluster", "port of a NIC",
           value_of("h100_cluster", "topology", "port", "bandwidth"), rate)


def faults(servers, sends):
    for machine, what, stated, fitted in expected(servers, sends):
        if abs(stated / fitted - 1) > 0.002:  # they are stated with three digits and more
            yield f"{machine}: {what}: stated {stated:.4g}, fitted {fitted:.4g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--from", dest="smallest", type=int, default=4 << 20, metavar="BYTES",
                        help="smallest message (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="compare with the machine files")
    options = parser.parse_args()
    groups = read_groups(options.smallest)
    servers, sends = {}, {}
    print("relative residuals: mean, largest")
    for gpu in ("a100", "a100_vtrain", "h100"):
        fill = fit_fill(groups, gpu)
        (start, step, rate), residuals = fit_servers(groups, gpu, fill)
        servers[gpu] = start, step, rate, fill
        print(f"{gpu} all-reduce in a server: C {start * 1e6:.2f} us, L {step * 1e6:.3f} us, "
              f"B {rate / 1e9:.1f} GB/s" + (f", F {fill:.2f}, F / B {rate / fill / 1e9:.1f} GB/s" if fill else ""))
        for workers, errors in residuals.items():
            print(f"  {workers} workers: {sum(errors) / len(errors):.1%}, {max(errors):.1%}")
        if (gpu, "send_recv", 2, 1) not in groups:
            continue
        sends[gpu], errors = fit_sends(groups, gpu)
        print(f"{gpu} send between servers: L {sends[gpu][0] * 1e6:.2f} us, "
              f"B {sends[gpu][1] / 1e9:.1f} GB/s: "
              f"{sum(errors) / len(errors):.1%}, {max(errors):.1%}")
    found = list(faults(servers, sends)) if options.check else []
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
