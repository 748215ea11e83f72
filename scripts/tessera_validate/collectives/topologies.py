"""ASTRA-sim 2.0's case study of conventional and wafer-scale systems: Tables I and III."""

from page import Runner, percent

GIB = 2 ** 30
# Table III: sizes, and collective time [us] of an all-reduce of 1 GB. (Its caption says All-Gather;
# text, message sizes and times are those of an all-reduce.)
TABLE_3 = [
    ((2, 8, 8, 4), 4392.85), ((2, 8, 8, 8), 4392.85), ((2, 8, 8, 16), 4392.85),
    ((2, 8, 8, 32), 4392.85), ((4, 8, 8, 4), 2212.60), ((8, 8, 8, 4), 1753.48),
    ((16, 8, 8, 4), 1879.17),
]
# What the paper leaves open, as a fit to this table finds it: chunks, latencies and endpoint delay.
# Rates are per link [GiB/s]: 200 of dimension 2 over 7 links.
CONV_4D = {"blocks": ("Ring", "FC", "Ring", "Switch"),
           "rates": (1000, 200 / 7, 100, 50), "latencies_ns": (1, 10, 25, 500)}

# Table I: blocks, sizes, rate of an NPU into each dimension [GB/s]; and the time [us] of the public
# code for 1 GiB in order, and with Themis told these rates.
TABLE_1 = [
    ("W-1D-350", ("Switch",), (512,), (350,), 5706.6, None),
    ("W-1D-500", ("Switch",), (512,), (500,), 3995.7, None),
    ("W-1D-600", ("Switch",), (512,), (600,), 3330.3, None),
    ("W-2D", ("Switch", "Switch"), (32, 16), (250, 250), 7758.8, 4071.1),
    ("Conv-3D", ("Ring", "FC", "Switch"), (16, 8, 4), (200, 100, 50), 9395.8, 5805.0),
    ("Conv-4D", ("Ring", "FC", "Ring", "Switch"), (2, 8, 8, 4), (250, 200, 100, 50), 4440.1, 3719.5),
]
# Of a link; not stated: what comes nearest to the times of the public code.
TABLE_1_LATENCY_NS = 10
ALGORITHM = {"Ring": "ring", "FC": "direct", "Switch": "halving-doubling"}
CHUNKS = 64
# Rows of Table III that the quick run takes.
REDUCED_ROWS = 1


def all_reduce(size):
    return f"{{kind: collective, collective: all-reduce, size: {size} B}}"


def experiment_of(blocks, sizes, rates, latencies_ns, order="ascending", told=None,
                  workload=all_reduce(GIB), chunks=CHUNKS, endpoint_ns=2, more=""):
    """A stack with rates per link [GiB/s]; `more` goes into its machine."""
    dimensions = ", ".join(f"{{bandwidth: {round(rate * GIB)} B/s, latency: {latency} ns}}"
                           for rate, latency in zip(rates, latencies_ns))
    bandwidths = ""
    if told is not None:
        bandwidths = f"\n    bandwidths: [{', '.join(f'{round(rate * GIB)} B/s' for rate in told)}]"
    return f"""\
machine:
  name: stack
  topology:
    kind: stack
    shape: {"_".join(f"{block}({n})" for block, n in zip(blocks, sizes))}
    dimensions: [{dimensions}]
  network: {{model: analytical, message_tick: 1 ns}}
  {more}
workload: {workload}
execution:
  collectives:
    algorithms: [{", ".join(ALGORITHM[block] for block in blocks)}]
    all_to_all: [{", ".join(["direct"] * len(blocks))}]
    chunks: {chunks}
    order: {order}{bandwidths}
    endpoint_delay: {endpoint_ns} ns
    compatible: astra
run: {{trace: none}}
"""


def system_of(blocks, sizes, npu_rates, order, chunks=CHUNKS, workload=all_reduce(GIB), more=""):
    """A system of Table I: what an NPU sends into a full mesh goes over all its links there."""
    rates = [rate / (size - 1) if block == "FC" else rate
             for block, size, rate in zip(blocks, sizes, npu_rates)]
    return experiment_of(blocks, sizes, rates, [TABLE_1_LATENCY_NS] * len(blocks), order,
                         npu_rates if order == "themis" else None, workload, chunks, more=more)


def run_us(runner, path, text, ranks=1):
    path.write_text(text, encoding="utf-8")
    return runner.run(str(path), ranks)["simulated_time_ps"] / 1e6


def table_3(report, runner, folder, reduced):
    report.say("## ASTRA-sim 2.0's Table III: scaling out and scaling up")
    report.say()
    report.say("All-reduce of 1 GiB on Ring_FC_Ring_Switch. The paper gives rates of 1000, 200, 100 "
               f"and 50 GB/s; latencies of {CONV_4D['latencies_ns']} ns, an endpoint delay of 2 ns, "
               f"{CHUNKS} chunks and GB = 2^30 B are fitted, as the paper does not state them.")
    report.say()
    rows = []
    for number, (sizes, theirs) in enumerate(TABLE_3[:REDUCED_ROWS] if reduced else TABLE_3):
        text = experiment_of(CONV_4D["blocks"], sizes, CONV_4D["rates"], CONV_4D["latencies_ns"])
        ours = run_us(runner, folder / f"scale{number}.yaml", text)
        off = 100 * (ours - theirs) / theirs
        name = "_".join(map(str, sizes))
        said = report.bound(abs(off) <= 2, f"Table III, {name}: {off:+.2f} %")
        npus = 1
        for size in sizes:
            npus *= size
        rows.append([name, npus, theirs, f"{ours:.2f}", percent(ours, theirs), said])
    report.table(["sizes", "NPUs", "paper [us]", "ours [us]", "off", "within 2 %"], rows)


def table_1(report, runner, folder):
    report.say("## ASTRA-sim 2.0's Table I: topologies with and without Themis")
    report.say()
    report.say("All-reduce of 1 GiB on 512 NPUs. The paper shows bars without figures, so our times are "
               "compared with those of its public code, whose latencies are not stated: "
               f"{TABLE_1_LATENCY_NS} ns per link come nearest; the endpoint delay is that of Table III. An "
               "NPU sends into a full mesh over seven links.")
    report.say()
    rows = []
    times = {}
    for number, (name, blocks, sizes, npu_rates, in_order, themis) in enumerate(TABLE_1):
        cells = [name, "_".join(blocks), "_".join(map(str, sizes))]
        for order, theirs in (("ascending", in_order), ("themis", themis)):
            if theirs is None:
                cells += ["", "", ""]
                continue
            text = system_of(blocks, sizes, npu_rates, order)
            ours = run_us(runner, folder / f"table1-{number}-{order}.yaml", text)
            times[name, order] = ours
            cells += [theirs, f"{ours:.1f}", percent(ours, theirs)]
        rows.append(cells)
    report.table(["system", "blocks", "sizes", "theirs [us]", "ours [us]", "off",
                  "theirs, Themis [us]", "ours, Themis [us]", "off"], rows)
    for name, blocks, _, _, _, themis in TABLE_1:
        if themis is not None:
            report.bound(times[name, "themis"] < times[name, "ascending"],
                         f"Table I: Themis helps {name}")
    report.bound(times["W-1D-350", "ascending"] > times["Conv-4D", "ascending"] >
                 times["W-1D-500", "ascending"],
                 "Table I: Conv-4D lies between W-1D-350 and W-1D-500")
    off = abs(times["Conv-4D", "themis"] / times["W-1D-600", "ascending"] - 1)
    report.say(f"With Themis, Conv-4D (600 GB/s per NPU) is {100 * off:.0f} % away from W-1D-600; the "
               "paper calls them identical.")
    report.say()


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    table_3(report, runner, folder, setting.reduced)
    if not setting.reduced:
        table_1(report, runner, folder)
