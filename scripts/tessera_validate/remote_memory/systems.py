"""Figures 8, 10 and 11: batches a second by scale, bandwidth and latency of the CXL fabric."""

from functools import partial

from line_chart import line_chart
from page import ROOT, Runner, beside
from remote_memory.experiments import TYPES, batches, part_of_workload, seconds

SCALES = (64, 128, 256, 512, 1024)
FIG_10 = ("16GB/s", "32GB/s", "64GB/s", "128GB/s", "256GB/s", "512GB/s")
FIG_11 = ("200ns", "1us", "10us", "100us", "1ms")
SWEPT = (64, 128, 256)
USUAL = {"bandwidth": "128GB/s", "latency": "200ns"}  # of configs/machines/hcsim_cxl.yaml
FLAT = 1.02  # a gain below it counts as none
KNEE = {64: ("1ms", "2ms", "4ms", "16ms"), 256: ("100us", "250us", "1ms", "2ms")}
DECODERS = 40
HIDDEN = 2.5  # sums, of 40, that may be seen when all others are behind the backward pass


def draw(report, number, across, names, lines):
    """Curves in a picture beside the page; `lines` are (label, values)."""
    picture = ROOT / "results" / f"remote-memory_fig{number}.svg"
    line_chart(picture, f"LLaMA2-13B, as Fig. {number} of HCSim's paper", across, "batches a second",
               [(label, list(enumerate(values))) for label, values in lines], names)
    report.say()
    report.say(f"![Fig. {number}]({picture.name})")


def draw_figure_8(report, found, scales):
    draw(report, 8, "XPUs", [str(xpus) for xpus in scales],
         [(f"{system}, {'with' if coherent else 'without'} coherence",
           [found[system, xpus][coherent] for xpus in scales])
          for system in TYPES for coherent in (0, 1)])


def draw_swept(report, number, across, values, found):
    """Systems of one type at all scales; mixed ones, which are so from two racks on, at the largest."""
    draw(report, number, across, values,
         [(f"{system}, {xpus} XPUs", row) for (system, xpus), row in found.items()
          if system == "H100" or xpus == SWEPT[-1]])


def figure_8(report, runner, folder, scales):
    report.say("## HCSim's Fig. 8: with and without coherence")
    report.say()
    report.say("Batches per second of the whole system, for LLaMA2-13B as printed in Table 4 and CXL links of "
               "128 GB/s and 200 ns. Systems of up to 128 XPUs are one rack, of one type.")
    report.say()
    def without_and_with(system, xpus):
        return [batches(runner, folder, coherent, system, xpus) for coherent in (False, True)]
    cases = [(system, xpus) for system in TYPES for xpus in scales]
    found = dict(zip(cases, beside([partial(without_and_with, *case) for case in cases])))
    rows = [[*case, f"{both[0]:.2f}", f"{both[1]:.2f}", f"{both[1] / both[0]:.3f}"]
            for case, both in found.items()]
    report.table(["system", "XPUs", "without coherence", "with", "ratio"], rows)
    claim(report, all(b > a for a, b in found.values()),
          "coherent beats non-coherent in every configuration")
    if 256 in scales:
        mixed = [system for system in TYPES if system != "H100"]
        claim(report, all(found[system, 256][1] < found[system, 128][1] for system in mixed),
              "throughput drops from 128 to 256 XPUs in mixed systems: the second rack is slower, and "
              "all wait for it")
    return found


def claim(report, holds, text):
    report.say(f"- {'Holds' if holds else '**Does not hold**'}: {text}.")
    report.bound(holds, text)


def swept(report, runner, folder, heading, key, values):
    """A table of systems and scales by one setting of the fabric; batches a second."""
    report.say()
    report.say(f"## {heading}")
    report.say()
    cases = [(system, xpus) for system in TYPES for xpus in SWEPT]
    # What the machine has anyway is a run of Fig. 8.
    runs = iter(beside([partial(batches, runner, folder, True, *case,
                                **({} if value == USUAL[key] else {key: value}))
                        for case in cases for value in values]))
    found = {case: [next(runs) for _ in values] for case in cases}
    report.table(["system", "XPUs", *values],
                 [[*case, *(f"{value:.2f}" for value in row)] for case, row in found.items()])
    return found


def figure_10(report, runner, folder):
    found = swept(report, runner, folder, "HCSim's Fig. 10: bandwidth of the CXL fabric", "bandwidth", FIG_10)
    gains = {key: [b / a for a, b in zip(row, row[1:])] for key, row in found.items()}
    claim(report, all(gain > 1 - 1e-6 for row in gains.values() for gain in row) and
          all(row[-1] < row[0] for row in gains.values()),
          "more bandwidth gains, and gains flatten: "
          f"{min(row[0] for row in gains.values()):.2f} times or more for the first doubling, "
          f"{max(row[-1] for row in gains.values()):.2f} at most for the last")
    claim(report, all(found["H100", more][i] > found["H100", less][i] for i in range(len(FIG_10))
                      for less, more in zip(SWEPT, SWEPT[1:])), "more XPUs gain, of one type")
    total = {key: row[-1] / row[0] for key, row in found.items()}
    claim(report, all(total[system, 256] < total["H100", 256] for system in TYPES if system != "H100"),
          "heterogeneity weakens the gain: of all the bandwidth at 256 XPUs "
          + ", ".join(f"{system} {total[system, 256]:.2f}" for system in TYPES))
    draw_swept(report, 10, "bandwidth of the CXL fabric", FIG_10, found)


def figure_11(report, runner, folder):
    found = swept(report, runner, folder, "HCSim's Fig. 11: latency of the CXL fabric", "latency", FIG_11)
    lost = {key: [value / row[0] for value in row] for key, row in found.items()}
    limit = f"{100 * (FLAT - 1):.0f} %"
    at_100_us = [100 * (1 - row[FIG_11.index("100us")]) for row in lost.values()]
    claim(report, all(row[FIG_11.index("10us")] > 1 / FLAT for row in lost.values()),
          f"up to 10 us latency costs less than {limit}")
    claim(report, all(row[FIG_11.index("100us")] < 1 / FLAT for row in lost.values()),
          f"above that it matters: at 100 us it costs more than {limit} of every system "
          f"({min(at_100_us):.1f} to {max(at_100_us):.1f} %)")
    claim(report, all(row[-1] < 1 / FLAT for row in lost.values()),
          f"at 1 ms it costs more than {limit} of every system")
    claim(report, all(lost["H100", more][-1] < lost["H100", less][-1]
                      for less, more in zip(SWEPT, SWEPT[1:])), "more for larger systems")
    draw_swept(report, 11, "latency of the CXL fabric", FIG_11, found)


def knee(report, runner, folder):
    report.say()
    report.say("## HCSim's Fig. 11: where latency begins to matter")
    report.say()
    report.say("The paper says why latency matters, but not from what value on. If sums run one after the other "
               "(`lanes.collective: 1`), a decoder's sum of gradients is hidden as long as it takes less than the "
               "backward pass of the next decoder; beyond that, each decoder waits. The table has the time of one "
               "sum alone, that of one decoder's backward pass without sums, and the additional time of an "
               "iteration with sums, in units of one sum. All XPUs are H100s. Here rings go through XPU switches "
               "within servers, so that one edge in eight incurs the latency of the fabric, four times: 2 (N - 1) "
               "path latencies are N times the latency of a link. Where all sums may run at once (the default), "
               "latencies overlap and the knee disappears.")
    report.say()
    rows, holds = [], True
    for xpus, latencies in KNEE.items():
        for latency in latencies:
            def time(letters, label, lanes=1, xpus=xpus, latency=latency):
                return seconds(runner, folder, True, "H100", xpus, latency=latency,
                               written=part_of_workload(folder, letters, label),
                               more=(f"execution.lanes.collective={lanes}",))
            ring, backward = time("S", "sum"), time("B", "backward") / DECODERS
            without = time("FB", "passes")
            seen = [(time("FBS", "all", lanes) - without) / ring for lanes in (1, 0)]
            holds = holds and (seen[0] < HIDDEN) == (ring < backward)
            rows.append([xpus, latency, f"{1e3 * ring:.1f}", f"{1e3 * backward:.1f}",
                         "yes" if ring > backward else "no", f"{seen[0]:.1f}", f"{seen[1]:.1f}"])
    report.table(["XPUs", "latency", "sum [ms]", "backward of a decoder [ms]", "beyond the knee",
                  "sums seen, one by one", "all at once"], rows)
    claim(report, holds, "the knee is where the sum of a decoder's gradients, 2 (N - 1) path latencies and "
          "what they carry, exceeds a decoder's backward time")


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    if setting.reduced:
        figure_8(report, runner, folder, (64,))
        return
    report.say("HCSim's figures are plots, and its text does not give their values, so the comparison is with its "
               "claims.")
    report.say()
    draw_figure_8(report, figure_8(report, runner, folder, SCALES), SCALES)
    figure_10(report, runner, folder)
    figure_11(report, runner, folder)
    knee(report, runner, folder)
    report.say()
