#!/usr/bin/env python3
"""What NCCL's own model of times leaves to be measured: an overhead and the rate of a server's links.

    library_fit.py --program LIBRARY_TIMES [--check]

With `machine.network.library: nccl` a collective takes C, `collective_overhead`, and what NCCL's tuning model says
for links of B GB/s (tests/validation/library_times.cpp). C and B come from a least-squares fit of the relative error
of measured all-reduces in a server (nccl_times.csv) of all sizes, with 2, 4 and 8 workers. Beside it stands the
error of a ring with three fitted numbers (nccl_fit.py), over the same sizes. With --check, ends with 1 when NETWORK
below states other numbers.
"""
import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from training_clusters.nccl_fit import fit_servers, read_groups

DEVICE = {"a100": "ampere", "h100": "hopper"}  # as library_times.cpp has it; none of these times is NVLS's
# (collective_overhead [us], bandwidth of a link in a server [GB/s]) that sets are run with.
NETWORK = {"a100": (17.9, 197.0), "h100": (6.7, 395.0)}


def points_of(groups, gpu):
    """(workers, bytes, microseconds)"""
    return [(workers, size, 1e6 * time) for (name, kind, workers, per_node), rows in sorted(groups.items())
            if (name, kind) == (gpu, "all_reduce") and workers == per_node for size, time in rows]


def model_of(program, device, points, rate):
    """[microseconds] and [algorithm protocol]"""
    lines = "".join(f"all_reduce {device} {workers} 1 {size} {rate}\n" for workers, size, _ in points)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    words = [line.split() for line in done.stdout.splitlines()]
    return [float(word[0]) for word in words], [" ".join(word[1:]) for word in words]


def overhead_of(points, model):
    """The C with the smallest relative error, and the sum of its squares."""
    weights = [1 / time for _, _, time in points]
    best = sum(w * (1 - m * w) for w, m in zip(weights, model)) / sum(w * w for w in weights)
    return best, sum(((best + m) * w - 1) ** 2 for w, m in zip(weights, model))


def fit(program, device, points, low=100.0, high=600.0):
    """C and B: of B by thirds, of C in closed form."""
    while high - low > 0.5:
        a, b = low + (high - low) / 3, high - (high - low) / 3
        if overhead_of(points, model_of(program, device, points, a)[0])[1] < overhead_of(points, model_of(program, device, points, b)[0])[1]:
            high = b
        else:
            low = a
    rate = round((low + high) / 2)
    return overhead_of(points, model_of(program, device, points, rate)[0])[0], rate


def ring_errors(groups, gpu, points):
    (start, step, rate), _ = fit_servers({key: [row for row in rows if row[0] >= 4 << 20] for key, rows in groups.items()}, gpu)
    return [(start * 1e6 + 2 * (n - 1) * (step * 1e6 + size / n / rate * 1e6)) / time - 1 for n, size, time in points]


def show(label, points, errors):
    for low, high in ((0, 1 << 20), (1 << 20, 4 << 20), (4 << 20, 1 << 62), (0, 1 << 62)):
        part = [error for (_, size, _), error in zip(points, errors) if low <= size < high]
        print(f"  {label}, {low >> 20} MiB to {'all' if high > 1 << 40 else f'{high >> 20} MiB'}: {len(part)} times, mean "
              f"absolute {100 * sum(map(abs, part)) / len(part):.1f} %, signed {100 * sum(part) / len(part):+.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--check", action="store_true", help="compare with NETWORK")
    options = parser.parse_args()
    groups, missed = read_groups(0), False
    for gpu, (stated_overhead, stated_rate) in NETWORK.items():
        points = points_of(groups, gpu)
        overhead, rate = fit(options.program, DEVICE[gpu], points)
        print(f"{gpu}: C {overhead:.1f} us, B {rate} GB/s")
        model, _ = model_of(options.program, DEVICE[gpu], points, rate)
        show("library", points, [(overhead + m) / time - 1 for m, (_, _, time) in zip(model, points)])
        show("ring", points, ring_errors(groups, gpu, points))
        if options.check and (abs(overhead - stated_overhead) > 0.3 or abs(rate - stated_rate) > 2):
            print(f"{gpu}: stated {stated_overhead} us and {stated_rate} GB/s")
            missed = True
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
