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
               "samples of 128 tokens) on 4 × 4 NPU cores, connected by `flit`, with `dram` at the west and east "
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
               f"{100 * hits / (hits + others):.0f} % of the bursts are row hits. A device alone sustains "
               f"{reached / 1e9:.1f} of its 51.2 GB/s on a stream with the same share of writes (`tessera dram "
               f"--preset {PRESET} --writes '{share:.0f} %'`), a figure that is not fitted to the run; rows marked "
               "`reached` use it, the others the peak.")
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
    report.say("With `packet`, `channel` and `systolic` together, the error is "
               + report.at_most(off[True], NEAR, "% off, packet, channel and systolic")
               + f" %. With the device's peak bandwidth it is {off[False]:.1f} %, since `channel` models no refresh, "
               "no bus turnaround between reads and writes and no row activation. The columns of parts give the mean "
               "time of a tile [µs]. They differ more than their sum does: tiles that share a `channel` wait less for "
               "memory and more for each other (`tensor`, `bubble`).")
    report.say()
    if setting.reduced:
        return
    report.say("Changing one level at a time: the network matters least, and its models differ most where "
               "gradients are summed (`data`). `bandwidth` ignores contention for a channel, which two tiles "
               "share. Of the compute models, `gemm` differs, since it charges filling and draining the array for "
               "each fold of the weights, which the core overlaps with the previous fold. The compute times of "
               "`systolic` and `roofline` are within 0.4 % of the core's; the time that they add with `dram` is "
               "waiting for the slowest tile of a group (`bubble`), which depends on the order in which tiles "
               "access a shared device.")
    report.say()
    large = [Levels(more=LARGE_CORES), *(Levels("packet", "channel", "systolic", one, LARGE_CORES)
                                         for one in (False, True))]
    full = run(large[0])
    report.say("With cores of 32 × 32 MACs, where memory takes two thirds of the time:")
    report.say()
    report.table(("network", "memory", "compute", "iteration [µs]", "against full detail", *SHOWN, "events"),
                 [row_of(levels, run(levels), full) for levels in large])
    report.say("The error is "
               + report.at_most(100 * abs(run(large[2])["iteration_time_ps"] / full["iteration_time_ps"] - 1), NEAR,
                                "% off, large cores") + " %.")
    report.say()
    direct = Levels(more=("machine.compute.operands=memory", "machine.tile.sram=0 B"))
    one = run(direct)
    report.say("Cores that load operands from DRAM themselves, tile by tile (`operands: memory`, no SRAM beside the "
               f"scratchpad), take {one['iteration_time_ps'] / 1e6:.1f} µs: all inputs and outputs of every "
               "operator cross the network, not only those that do not fit. No coarser model covers this case.")
    report.say()


def one_in_detail(report, runner):
    report.say("## One tile in detail among coarse ones")
    report.say()
    report.say(f"The same layer with `packet` and `channel`. `one`: node {NODE} is an NPU core, with a node type of "
               "its own (`machine.types.detailed`); all others are `systolic`.")
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
    report.say(f"Node {NODE}'s {', '.join(f'`{key}`' for key in SAME)} are the same as with all tiles in detail: "
               + report.bound(same, "one tile in detail: counts as among detailed ones") + ".")
    report.say()
    found = {runner.run(DETAIL, ranks)["result_digest"] for ranks in RANKS}
    report.say(f"`{DETAIL.relative_to(ROOT)}`, whose detailed tile loads its operands from memory, is equal on "
               "1, 2, 3, 4 ranks: " + report.bound(len(found) == 1, "one tile in detail: equal digests") + ".")
    report.say()


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    digests(report, runner, setting)
    at_levels(report, runner, setting)
    one_in_detail(report, runner)
