"""A transformer layer on a wafer in full detail, at coarser levels, and with one tile in detail."""

import json
from dataclasses import dataclass, field

from page import ROOT, Runner, call, percent, summary_of, trace_rows

LAYER = "npu_wafer_layer"
SMALL = ROOT / "tests" / "parallel" / "npu_flit_wafer.yaml"
DETAIL = ROOT / "tests" / "parallel" / "npu_detail.yaml"
RANKS = (1, 2, 3, 4)
NEAR = 10  # %, the goal for packet, channel and systolic together
PRESET = "LPDDR5"  # of the machine
# Four times the multiply-adds: memory is most of the time.
LARGE_CORES = ("machine.tile.peak.fp16=2.048 TFLOP/s", "machine.tile.sram_bandwidth=256 GB/s",
               "machine.compute.array=[32, 32]", "machine.compute.vector_width=512")
# The node looked at, and its core, which is that of the machine.
NODE = 5
ALONE = ("machine.types={detailed: {nodes: [5], compute: {model: npu, array: [16, 16], vector_width: 256, "
         "scratchpad: 128 KiB, accumulator: 32 KiB, operands: sram}}}")
SAME = ("matrix_busy", "matrix_active", "vector_busy", "loaded", "stored", "tiles")
SHOWN = ("compute", "memory", "tensor", "data", "bubble")


@dataclass
class Levels:
    network: str = "flit"
    memory: str = "dram"
    compute: str = "npu"
    reached: bool = False  # channels have the bandwidth that the device reaches, not its peak
    more: tuple = field(default=())

    def settings(self, bandwidth):
        chosen = [f"machine.{part}.model={getattr(self, part)}" for part in ("network", "memory", "compute")]
        if self.reached:
            chosen.append(f"machine.dram.bandwidth={bandwidth} B/s")
        return [word for one in (*chosen, *self.more) for word in ("--set", one)]


ONE_BY_ONE = (Levels(network="packet"), Levels(network="crossbar"), Levels(network="analytical"),
              Levels(memory="channel"), Levels(memory="channel", reached=True), Levels(memory="bandwidth"),
              Levels(compute="systolic"), Levels(compute="gemm"), Levels(compute="roofline"))
COARSE = (Levels("packet", "channel", "systolic"), Levels("packet", "channel", "systolic", True))
COARSER = (Levels("packet", "channel", "roofline", True), Levels("crossbar", "channel", "roofline", True),
           Levels("analytical", "channel", "roofline", True), Levels("analytical", "bandwidth", "roofline"))


def digests(report, runner, setting):
    report.say("## A wafer in full detail: on ranks")
    report.say()
    report.say(f"`configs/experiments/{LAYER}.yaml`: a training step of a transformer layer (hidden 256, 4 heads, 4 "
               "samples of 128 tokens) on 4 × 4 NPU cores with `flit` between them and `dram` at the west and east "
               "edges, from which the cores fill their SRAM.")
    report.say()
    experiment = SMALL if setting.reduced else LAYER
    table = []
    for ranks in RANKS:
        one = runner.run(experiment, ranks)
        table.append((ranks, one["events"], one["packet_hops"], f"{one['iteration_time_ps'] / 1e6:.3f}",
                      f"`{one['result_digest']}`"))
    report.table(("ranks", "events", "flit hops", "iteration [µs]", "digest"), table)
    report.say("Equal on 1, 2, 3, 4 ranks: "
               + report.bound(len({row[1:] for row in table}) == 1, "wafer in detail: equal digests") + ".")
    report.say()


def device_bandwidth(report, runner):
    """What the device reaches alone, with the run's share of writes [B/s]."""
    folder = runner.new_folder(LAYER)
    call(runner.command(LAYER, folder, 1, ["-q", "-q"]))
    channels = trace_rows(folder, "channels")
    read, written = (sum(row[name] for row in channels) for name in ("read", "written"))
    hits, others = (sum(row[name] for row in channels for name in names)
                    for names in (("row_hits",), ("row_misses", "row_conflicts")))
    share = 100 * written / (read + written)
    alone = json.loads(call([str(runner.program), "dram", "--preset", PRESET, "--writes", f"{share:.0f} %",
                             "--json"]).stdout)
    reached = alone["bandwidth_bytes_per_s"]
    report.say(f"The run reads {read / 1e6:.1f} MB and writes {written / 1e6:.1f} MB ({share:.0f} %); "
               f"{100 * hits / (hits + others):.0f} % of the bursts find their row open. A device alone reaches "
               f"{reached / 1e9:.1f} of its 51.2 GB/s in a stream with as many writes (`tessera dram --preset {PRESET} "
               f"--writes '{share:.0f} %'`), which is not fitted to the run: `reached` below. The other rows have "
               "the peak.")
    report.say()
    return reached


def row_of(levels, one, full):
    parts = one["breakdown"]["total"]
    channel = levels.memory if levels.memory == "dram" else \
        f"{levels.memory}, {'reached' if levels.reached else 'peak'}"
    return (levels.network, channel, levels.compute, f"{one['iteration_time_ps'] / 1e6:.1f}",
            percent(one["iteration_time_ps"], full["iteration_time_ps"]),
            *(f"{parts[part]['mean_ps'] / 1e6:.1f}" for part in SHOWN), one["events"])


def at_levels(report, runner, setting):
    report.say("## A wafer in full detail: the same layer at coarser levels")
    report.say()
    bandwidth = device_bandwidth(report, runner)

    def run(levels):
        return runner.run(LAYER, 1, levels.settings(bandwidth))

    full = run(Levels())
    chosen = COARSE if setting.reduced else (*ONE_BY_ONE, *COARSE, *COARSER)
    report.table(("network", "memory", "compute", "iteration [µs]", "against full detail", *SHOWN, "events"),
                 [row_of(levels, run(levels), full) for levels in (Levels(), *chosen)])
    off = {levels.reached: 100 * abs(run(levels)["iteration_time_ps"] / full["iteration_time_ps"] - 1)
           for levels in COARSE}
    report.say("`packet`, `channel` and `systolic` together are off by "
               + report.at_most(off[True], NEAR, "% off, packet, channel and systolic")
               + f" %. With the device's peak it is {off[False]:.1f} %: `channel` has no refresh, no turning of the bus "
               "between reads and writes and no rows to open. Columns of parts: mean time of a tile [µs]. They part "
               "more than their sum: where tiles share a `channel`, less of their waiting is for memory and more for "
               "each other (`tensor`, `bubble`).")
    report.say()
    if setting.reduced:
        return
    report.say("By one level at a time: the network matters least; its models part most where "
               "gradients are summed (`data`). `bandwidth` knows no other tile at the channel, which two tiles "
               "share. Of compute models `gemm` parts, as it pays for filling and draining the array for each fold "
               "of the weights, which the core hides behind the fold before. `systolic` and `roofline` compute as "
               "long as the core within 0.4 %; what they add next to `dram` is waiting for the slowest tile of a "
               "group (`bubble`), which depends on the order in which tiles come to a shared device.")
    report.say()
    large = [Levels(more=LARGE_CORES), *(Levels("packet", "channel", "systolic", one, LARGE_CORES)
                                         for one in (False, True))]
    full = run(large[0])
    report.say("With cores of 32 × 32 MACs, so that memory is two thirds of the time:")
    report.say()
    report.table(("network", "memory", "compute", "iteration [µs]", "against full detail", *SHOWN, "events"),
                 [row_of(levels, run(levels), full) for levels in large])
    report.say("Off by "
               + report.at_most(100 * abs(run(large[2])["iteration_time_ps"] / full["iteration_time_ps"] - 1), NEAR,
                                "% off, large cores") + " %.")
    report.say()
    direct = Levels(more=("machine.compute.operands=memory", "machine.tile.sram=0 B"))
    one = run(direct)
    report.say("Cores that load operands from DRAM themselves, tile by tile (`operands: memory`, no SRAM beside the "
               f"scratchpad), take {one['iteration_time_ps'] / 1e6:.1f} µs: every operator's inputs and outputs "
               "pass the network, not what does not fit only. No coarser model has this case at all.")
    report.say()


def one_in_detail(report, runner):
    report.say("## One tile in detail among coarse ones")
    report.say()
    report.say(f"The same layer with `packet` and `channel`. `one`: node {NODE} is an NPU core by a type of its own "
               "(`machine.types.detailed`), all others are `systolic`.")
    report.say()
    coarse = Levels("packet", "channel", "systolic")
    table, cores = [], {}
    for name, levels in (("none", coarse),
                         ("one", Levels("packet", "channel", "systolic", more=(ALONE,))),
                         ("all", Levels("packet", "channel", "npu"))):
        folder = runner.new_folder(LAYER)
        call(runner.command(LAYER, folder, 1, ["-q", "-q", *levels.settings(0)]))
        rows = trace_rows(folder, "cores") if levels is not coarse else []
        cores[name] = next((row for row in rows if row["node"] == NODE), None)
        one = summary_of(folder)
        table.append((name, len(rows), f"{one['iteration_time_ps'] / 1e6:.1f}", one["events"]))
    report.table(("in detail", "cores in the trace", "iteration [µs]", "events"), table)
    same = all(cores["one"][key] == cores["all"][key] for key in SAME)
    report.say(f"Of node {NODE}, {', '.join(f'`{key}`' for key in SAME)} are as with all tiles in detail: "
               + report.bound(same, "one tile in detail: counts as among detailed ones") + ".")
    report.say()
    found = {runner.run(DETAIL, ranks)["result_digest"] for ranks in RANKS}
    report.say(f"`{DETAIL.relative_to(ROOT)}`, whose detailed tile loads its operands from memory, on 1, 2, 3, 4 "
               "ranks: " + report.bound(len(found) == 1, "one tile in detail: equal digests") + ".")
    report.say()


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    digests(report, runner, setting)
    at_levels(report, runner, setting)
    one_in_detail(report, runner)
