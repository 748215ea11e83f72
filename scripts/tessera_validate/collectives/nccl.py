"""All-reduces of NCCL on 8 A100, 8 H100 and 16 A100, against a ring with the protocols of a library.

An all-reduce of S bytes on a ring of n takes (2n - 1) E + 2 (n - 1) (L + S / (n d B)) on links of
rate B and latency L, E being the delay of a message and d the share of data in what the protocol
sends. A library takes one protocol up to some size and another beyond, so that times are straight
lines between a few sizes. Sizes, E and d come from every second message size by least squares of the
relative error; the other half of the sizes tests them.
"""

from statistics import median

from page import Runner, rows_of

TIMES = "nccl_all_reduce.csv"
LARGE = 8 << 20
BOUND_LARGE, BOUND_SMALL = 10, 25
# NCCL 2.x has rings and trees with three protocols each.
PROTOCOLS = 4
FEWEST = 8  # sizes that one protocol is fitted to
LATENCY_NS = 1
# Name, GPU, workers, stack, rate of an NPU into its switch [B/s] (NVLink 3: 12 links of 25 GB/s,
# NVLink 4: 18 of them; NVIDIA's data sheets). A ring goes as fast as its slowest link: that between
# the two nodes of 16 GPUs is not known; it is what the fastest protocol gets, and all others have it.
SYSTEMS = [("8 A100", "a100", 8, "Switch(8)", 300e9),
           ("8 H100", "h100", 8, "Switch(8)", 450e9),
           ("16 A100, slow fabric", "a100", 16, "Switch(16)", None)]


def measured(gpu, workers):
    """(bytes, us) in order of size."""
    return sorted((int(row["bytes"]), float(row["time_us"])) for row in rows_of(TIMES)
                  if (row["gpu"], int(row["workers"])) == (gpu, workers))


class Lines:
    """Straight lines with the least squared relative error, over any range of points."""

    def __init__(self, points):
        self.sums = [(0.0,) * 5]
        for size, time in points:
            terms = (1 / time ** 2, size / time ** 2, size ** 2 / time ** 2, 1 / time, size / time)
            self.sums.append(tuple(a + b for a, b in zip(self.sums[-1], terms)))

    def fit(self, begin, end):
        """(start, slope, squared error) for points[begin:end], with neither below zero."""
        a, b, c, d, e = (last - first for first, last in zip(self.sums[begin], self.sums[end]))
        determinant = a * c - b * b
        start, slope = (((c * d - b * e) / determinant, (a * e - b * d) / determinant)
                        if determinant > 1e-12 * a * c else (-1, 0))
        if start < 0:
            start, slope = 0, e / c
        elif slope <= 0:
            start, slope = d / a, 0
        error = (start ** 2 * a + 2 * start * slope * b + slope ** 2 * c
                 - 2 * start * d - 2 * slope * e + (end - begin))
        return start, slope, error


def fit(points):
    """[(largest size, start, slope), ...], the best lines over at most PROTOCOLS ranges of sizes."""
    lines = Lines(points)
    count = len(points)
    best = [{0: (0.0, None)}]
    for _ in range(PROTOCOLS):
        row = {}
        for end in range(FEWEST, count + 1):
            found = [(cost + lines.fit(begin, end)[2], begin)
                     for begin, (cost, _) in best[-1].items() if begin + FEWEST <= end]
            if found:
                row[end] = min(found)
        best.append(row)
    ranges = min(range(1, PROTOCOLS + 1), key=lambda k: best[k].get(count, (1e300, 0))[0])
    result, end = [], count
    while end > 0:
        begin = best[ranges][end][1]
        result.append((points[end - 1][0], *lines.fit(begin, end)[:2]))
        end, ranges = begin, ranges - 1
    return result[::-1]


def experiment_of(shape, rate, protocols, size):
    listed = ", ".join("{" + (f"up_to: {up_to} B, " if up_to else "") +
                       f"endpoint_delay: {delay_ps} ps, data_share: {share:.6f}}}"
                       for up_to, delay_ps, share in protocols)
    return f"""\
machine:
  name: nccl
  topology:
    kind: stack
    shape: {shape}
    dimensions: [{{bandwidth: {round(rate)} B/s, latency: {LATENCY_NS} ns}}]
  network: {{model: analytical}}
workload: {{kind: collective, collective: all-reduce, size: {size} B}}
execution:
  collectives:
    algorithms: [ring]
    protocols: [{listed}]
run: {{trace: none}}
"""


def protocols_of(lines, workers, rate):
    """What the lines mean on a ring whose slowest link has this rate [B/s]; times in us."""
    steps = 2 * (workers - 1)
    found = []
    for number, (largest, start, slope) in enumerate(lines):
        delay = max(0.0, start - steps * 2 * LATENCY_NS * 1e-3) / (2 * workers - 1)
        share = min(1.0, steps / workers / rate / (slope * 1e-6)) if slope > 0 else 1.0
        found.append((largest if number + 1 < len(lines) else None, round(delay * 1e6), share))
    return found


# The paper's rings: GPUs, sizes [MB], rate of a link [B/s]. Latency assumed.
RINGS, RING_SIZES_MB, RING_RATE, RING_LATENCY_NS = (4, 16), (64, 128, 256, 512, 1024, 1536), 150e9, 500


def rings(report, runner, folder):
    report.say("## V100 rings")
    report.say()
    report.say("ASTRA-sim 2.0 compares all-reduces of 64 MB to 1.5 GB on rings of 4 and 16 V100 with NVLink at "
               "150 GB/s, with a mean error of 5 %. The measurements are given only in a figure, so ours cannot "
               "be compared with them, but with the paper's own equation, summed over the steps of a "
               f"ring, 2 (n - 1) (L + S / n / B), with L = {RING_LATENCY_NS} ns assumed.")
    report.say()
    rows = []
    for gpus in RINGS:
        for size_mb in RING_SIZES_MB:
            size = size_mb * 10 ** 6
            path = folder / f"ring-{gpus}-{size_mb}.yaml"
            path.write_text(f"""\
machine:
  name: ring
  topology:
    kind: stack
    shape: Ring({gpus})
    dimensions: [{{bandwidth: {RING_RATE:.0f} B/s, latency: {RING_LATENCY_NS} ns}}]
  network: {{model: analytical}}
workload: {{kind: collective, collective: all-reduce, size: {size} B}}
run: {{trace: none}}
""", encoding="utf-8")
            ours = runner.run(str(path))["simulated_time_ps"] / 1e6
            theirs = 2 * (gpus - 1) * (RING_LATENCY_NS * 1e-3 + size / gpus / RING_RATE * 1e6)
            said = report.bound(abs(ours / theirs - 1) < 1e-4,
                                f"ring of {gpus}, {size_mb} MB: the equation to 0.01 %")
            rows.append([gpus, size_mb, f"{theirs:.1f}", f"{ours:.1f}", said])
    report.table(["GPUs", "MB", "equation [us]", "ours [us]", "within 0.01 %"], rows)


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    rings(report, runner, folder)
    report.say("## NCCL all-reduces")
    report.say()
    report.say("Medians measured on DGX A100 and DGX H100 (Vidur's profiles), compared with a ring with up "
               f"to {PROTOCOLS} protocols fitted to every second size; errors are at "
               "the other half, which the fit has not seen. All links of the ring of 16 have the rate that "
               "its fastest protocol reaches. ASTRA-sim's own pages state mean errors of "
               "9.7 to 20.6 % on HGX H100.")
    report.say()
    fitted, tested = [], []
    for name, gpu, workers, shape, rate in SYSTEMS:
        points = measured(gpu, workers)
        lines = fit(points[::2])
        rate = rate or max(2 * (workers - 1) / workers / (slope * 1e-6)
                           for _, _, slope in lines if slope > 0)
        protocols = protocols_of(lines, workers, rate)
        for up_to, delay_ps, share in protocols:
            fitted.append([name, f"{up_to / 2 ** 20:.2f}" if up_to else "beyond",
                           f"{delay_ps / 1e6:.2f}", f"{share:.3f}", f"{rate / 1e9:.1f}"])
        errors = {True: [], False: []}
        for size, time in points[1::40 if setting.reduced else 2]:
            path = folder / f"{gpu}-{workers}-{size}.yaml"
            path.write_text(experiment_of(shape, rate, protocols, size), encoding="utf-8")
            ours = runner.run(str(path))["simulated_time_ps"] / 1e6
            errors[size >= LARGE].append(abs(ours / time - 1) * 100)
        row = [name, len(points)]
        for is_large, bound in ((True, BOUND_LARGE), (False, BOUND_SMALL)):
            of_size = errors[is_large]
            what = f"NCCL on {name}, {'from' if is_large else 'below'} 8 MiB: median error in %"
            row += [len(of_size), report.at_most(median(of_size), bound, what),
                    f"{sum(of_size) / len(of_size):.1f}", f"{max(of_size):.0f}"]
        tested.append(row)
    report.table(["system", "sizes", "tested from 8 MiB", "median error [%]", "mean", "largest",
                  "tested below", "median error [%]", "mean", "largest"], tested)
    report.say("The constants, fitted to the first half:")
    report.say()
    report.table(["system", "up to [MiB]", "delay of a message [us]", "share of data",
                  "rate of the slowest link [GB/s]"], fitted)
