"""DRAM beside DRAMsim3 and Ramulator 2, how fast it is, and what it does in a machine."""

import json
from pathlib import Path

from bench_runs import Bench, millions
from page import ROOT, Runner, call, percent, rows_of

DEVICES = ROOT / "configs" / "dram"
COMPOSED = ROOT / "tests" / "parallel" / "mesh_dram.yaml"
BANDWIDTH, LATENCY = 0.03, 0.05

# Where a run of the reference is told by its configuration: our device, and further words.
GROUPS_LOWEST = ("--set", "mapping=[row, rank, bank, channel, column, group, pseudo]")
CONFIGS = {
    "DDR4_8Gb_x8_2400": ("dramsim3_ddr4_2400", ()),
    "DDR4_2400_bg-lowest-map": ("dramsim3_ddr4_2400", GROUPS_LOWEST),
    "HBM2_8Gb_x128": ("dramsim3_hbm2", ()),
    "PSAL_HBM2_2.5Gbps": ("ramulator2_hbm2_2.5g", ()),
    "PSAL_HBM2_2Gbps": ("ramulator2_hbm2_2g", ()),
    "PSAL_DDR4_8Gb_x8_2400R": ("ramulator2_ddr4_2400r", ()),
    "PSAL_DDR4_16Gb_x4_1600J": ("ramulator2_ddr4_1600j", ()),
}
PATTERNS = {"seq": "stream", "rand": "random", "randq": "random", "rowconf1": "conflict",
            "rowconf": "conflict-each", "rowconfall": "conflict-each", "rowhit": "hit", "rowhit1": "hit"}
SEEDS = 8  # of what is random in several channels, where one run says little


def words_of(row):
    """What `tessera dram` is to be asked. How many requests the reference submitted in a cycle is not
    recorded: one a channel for Ramulator 2, and 16, from the second cycle on, for DRAMsim3 fit all rows."""
    device, words = CONFIGS[row["config"]]
    words = [str(DEVICES / f"{device}.yaml"), *words, "--set", f"channels={row['channels']}"]
    words += ["--pattern", PATTERNS[row["pattern"]], "--requests", row["requests"]]
    words += ["--outstanding", row["max_outstanding(0=queue-limited)"], "--writes", row["write_frac"]]
    words += ["--per-cycle", "16", "--start", "1"] if row["simulator"] == "dramsim3" \
        else ["--per-cycle", row["channels"]]
    return words + (["--by-channel"] if row["pattern"] == "randq" else [])


def measure(program, words):
    return json.loads(call([str(program), "dram", *words, "--json"]).stdout)


def is_spread(row):
    return row["pattern"].startswith("rand") and int(row["channels"]) > 1 \
        and row["max_outstanding(0=queue-limited)"] == "0"


def compare(report, program, row, spreads):
    """The row of the table; of random requests to several channels, how far a draw's mean latency is from that of
    all draws at most, is added to `spreads`."""
    words = words_of(row)
    seeds = range(1, SEEDS + 1) if is_spread(row) else (1,)
    runs = [measure(program, [*words, "--seed", str(seed)]) for seed in seeds]
    cycles = sum(run["cycles"] for run in runs) / len(runs)
    latencies = [run["mean_latency_cycles"] for run in runs]
    latency = sum(latencies) / len(latencies)
    name = f"{row['config']} {row['pattern']} × {row['channels']}, {row['requests']} requests" \
        f"{', one at a time' if row['max_outstanding(0=queue-limited)'] == '1' else ''}" \
        f"{', ' + row['write_frac'] + ' writes' if row['write_frac'] != '0.00' else ''}"
    cells = []
    for what, ours, theirs, bound in (
            ("bandwidth", 1 / cycles, 1 / float(row["cycles"]), BANDWIDTH),
            ("latency", latency, float(row["avg_latency_cycles"]), LATENCY)):
        holds = report.bound(abs(ours / theirs - 1) <= bound, f"{name}: {what} {percent(ours, theirs)}")
        cells.append(percent(ours, theirs) + ("" if holds == "holds" else f" {holds}"))
    if len(runs) > 1:
        spreads.append(max(abs(one / latency - 1) for one in latencies))
    spread = f" ({min(latencies):.0f} … {max(latencies):.0f})" if len(runs) > 1 else ""
    return [row["simulator"], name, row["cycles"], f"{cycles:.0f}", cells[0],
            row["avg_latency_cycles"], f"{latency:.2f}{spread}", cells[1]]


def references(report, program, setting):
    report.say("## DRAM beside DRAMsim3 and Ramulator 2")
    report.say()
    report.say("`tessera dram` with the devices of `configs/dram/` on every run of `dram_ref.csv`: bandwidth "
               f"within {100 * BANDWIDTH:.0f} %, mean latency within {100 * LATENCY:.0f} %. Random requests to "
               f"several channels are limited by the fullest channel, and draws differ; their rows are means of "
               f"{SEEDS} draws, with minimum and maximum.")
    report.say()
    spreads = []
    rows = rows_of("dram_ref.csv")
    if setting.reduced:
        rows = [row for row in rows if int(row["requests"]) <= 100000 and not is_spread(row)]
    report.table(["simulator", "run", "its cycles", "ours", "bandwidth", "its mean latency [cycles]", "ours",
                  "latency"], [compare(report, program, row, spreads) for row in rows])
    if spreads:
        report.say(f"Mean latencies of single draws differ by up to {100 * max(spreads):.0f} % from the mean of all "
                   "draws.")
        report.say()
    report.say("What had to be found out: Ramulator 2's buffers hold one entry more than their 512; writing begins at "
               "0.4 of them and ends at 0.1, which its latencies with writes imply; tRFC of its 8 Gb DDR4 is "
               "360 ns, as in its source, not the 350 ns in the table's last column; its HBM2 never refreshes. "
               "DRAMsim3 moves one request per cycle into the bank queues, merges reads of the same burst, "
               "regards a write as done when it is accepted, and drains more than 8 writes when no bank has a request.")
    report.say()


def closed_forms(report, program):
    report.say("## DRAM: closed forms")
    report.say()
    report.say("Closed forms for the presets, in cycles: a row conflict takes (tRAS + tRP) / (1 − tRFC / tREFI); a "
               "DDR4 burst in one bank group takes tCCD_L; there are four random reads of HBM2 in each tFAW; a stream "
               "over bank groups in turn reaches 1 − tRFC / tREFI of the peak. Exact forms of single requests are unit "
               "tests.")
    report.say()
    def cycles_each(words, requests=100000):
        return measure(program, [*words, "--requests", str(requests)])["cycles"] / requests
    table = []
    def row(name, ours, form, within):
        report.bound(abs(ours / form - 1) <= within, f"{name}: {ours:.3f}, closed form {form:.3f}")
        table.append([name, f"{ours:.3f}", f"{form:.3f}", percent(ours, form)])
    row("row conflict, DDR4", cycles_each(["--preset", "DDR4", "--pattern", "conflict"]),
        56 / (1 - 420 / 9360), 0.01)
    row("row conflict, HBM2", cycles_each(["--preset", "HBM2", "--pattern", "conflict"]),
        48 / (1 - 260 / 3900), 0.01)
    row("one bank group, DDR4",
        cycles_each(["--preset", "DDR4", "--pattern", "hit", "--set", "refresh=false"]), 6, 0.01)
    row("random, one channel of HBM2",
        cycles_each(["--preset", "HBM2", "--pattern", "random", "--set", "channels=1", "--set",
                     "refresh=false", "--set", "read_queue=1024"]), 30 / 4, 0.03)
    stream = measure(program, ["--preset", "DDR4", "--set", "ranks=1", *GROUPS_LOWEST])
    row("share of the peak, stream, DDR4", stream["utilization"], 1 - 420 / 9360, 0.03)
    stream = measure(program, ["--preset", "HBM3", "--requests", "1000000"])
    row("share of the peak, stream, HBM3", stream["utilization"], 1 - 560 / 6240, 0.03)
    report.table(["", "ours", "closed form", ""], table)


def speed(report, program, setting):
    binary = Path(program).parent / "tessera-bench"
    if setting.reduced:
        return
    if not binary.exists():
        report.not_run("speed of DRAM, for `tessera-bench` is not built beside the program")
        return
    report.say("## DRAM: speed")
    report.say()
    report.say("Requests per CPU second, outside a machine. DRAMsim3 reaches 0.12 to 0.25 million on streams of this "
               "kind, Ramulator 2 0.02 to 0.05 million.")
    report.say()
    bench = Bench(str(binary))
    rows = []
    for scheduler in ("oldest-ready", "bank-queues"):
        for preset in ("DDR4", "HBM2", "HBM2-PC", "HBM3"):
            stream, scattered = (
                bench.run(f"dram --preset {preset} --scheduler {scheduler} --pattern {pattern} "
                          f"--requests {requests}", repeat=3)["requests_per_cpu_s"]
                for pattern, requests in (("stream", 2000000), ("random", 300000)))
            cell = millions(stream)
            if not setting.counts_only:
                cell = report.at_least(stream / 1e6, 3.0, f"{preset} stream, {scheduler}: M requests a CPU second")
            rows.append([scheduler, preset, cell, millions(scattered)])
    report.table(["scheduler", "preset", "stream [M/s]", "random [M/s]"], rows)


def machines(report, program, folder, setting):
    report.say("## DRAM in a machine")
    report.say()
    report.say("A small transformer on a 4×5 mesh with LPDDR5 on one side and addresses spread over it: iteration "
               "time with each network and memory, and results on several ranks.")
    report.say()
    runner = Runner(program, folder)
    rows = []
    for network in ("analytical", "packet", "flow"):
        times = []
        for memory in ("bandwidth", "channel", "dram"):
            words = ("--set", f"machine.network.model={network}", "--set", f"machine.memory.model={memory}")
            times.append(runner.run(str(COMPOSED), 1, words)["iteration_time_ps"])
        report.bound(times[2] > 0, f"dram on {network} ends")
        rows.append([network, *(f"{time / 1e6:.1f}" for time in times)])
    report.table(["network", "bandwidth [µs]", "channel [µs]", "dram [µs]"], rows)
    ranks = (1, 2) if setting.reduced else (1, 2, 3, 4)
    digests = [runner.run(str(COMPOSED), count)["result_digest"] for count in ranks]
    report.say(f"Digests of `packet` with `dram` on {', '.join(map(str, ranks))} ranks: "
               + report.bound(len(set(digests)) == 1, "one digest on all ranks").replace("holds", "equal") + ".")
    report.say()


def sections(report, program, folder, setting):
    references(report, program, setting)
    closed_forms(report, program)
    speed(report, program, setting)
    machines(report, program, folder, setting)
