"""NPU cores: ONNXim's products and convolutions, what each operator costs, cores on a mesh, ranks."""

import re

from page import ROOT, Runner, call, percent, rows_of, summary_of, trace_rows

MACHINES = ROOT / "configs" / "machines"
# Products and convolutions of onnxim_cycles.csv with its simple network: rows x columns x depth, as
# their traffic shows ("matmul_512_2048_128": 512 x 2048 outputs).
CONVOLUTIONS = {"conv3x3_64_56": (56, 64, 64), "conv3x3_128_28": (28, 128, 128)}
# A core's port alone, of 32 bytes a cycle; the channels as they are.
ONE_PORT = ("[{from: core, to: crossbar, bandwidth: 32 GB/s, latency: 1 ns}, "
            "{from: hbm, to: crossbar, bandwidth: 2048 GB/s, latency: 1 ns}]")
QUICK = 250_000  # cycles of theirs, in a reduced run
SPEED = 20  # times less CPU time, the goal for N = 2048 on the Server
RANKS = (1, 2, 3, 4)
# One of each kind, as in a GPT-3-small layer of 512 tokens or a ResNet-50, and what it must move.
KINDS = (
    ("gemm", "rows: 512, columns: 3072, depth: 768, bias: true, then: gelu"),
    ("convolution", "input: 56, channels: 64, outputs: 64, kernel: 3, padding: 1, residual: true, then: relu"),
    ("convolution", "input: 56, channels: 64, outputs: 64, kernel: 3, padding: 1, im2col: explicit"),
    ("convolution", "input: 56, channels: 64, outputs: 64, kernel: 3, padding: 1, groups: 64"),
    ("attention", "heads: 12, queries: 512, keys: 512, head_width: 64"),
    ("attention", "heads: 32, queries: 1, keys: 1024, head_width: 128, append: 1"),
    ("attention", "heads: 32, kv_heads: 8, queries: 1, keys: 1024, head_width: 128, append: 1"),
    ("norm", "rows: 512, columns: 768, skip: true"),
    ("norm", "rows: 512, columns: 768, type: rms"),
    ("softmax", "rows: 6144, columns: 512"),
    ("elementwise", "operation: gelu, elements: 1572864"),
    ("elementwise", "operation: silu, elements: 1572864"),
    ("elementwise", "operation: add, inputs: 2, elements: 393216"),
    ("pool", "height: 112, width: 112, channels: 64, kernel: 3, stride: 2, padding: 1"),
    ("pool", "height: 7, width: 7, channels: 2048, type: average, global: true"),
    ("embedding", "tokens: 512, width: 768, positions: true"),
    ("transpose", "rows: 512, columns: 768"),
    ("concat", "rows: 512, columns: [768, 768, 768]"),
    ("reshape", "elements: 393216"),
)
WAFER = ROOT / "tests" / "validation" / "npu_wafer.yaml"


def operators_text(operators):
    """The section `workload` of operators one after the other."""
    return "  kind: operators\n  operators:\n" + "".join(f"    - {{{one}}}\n" for one in operators)


class Chip:
    """Runs of operators on a machine."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.number = 0

    def run(self, machine, operators, extra=(), ranks=1):
        """The summary, the cores and the CPU seconds of a run."""
        folder, cpu = self.workload(machine, operators_text(operators), extra, ranks)
        return summary_of(folder), trace_rows(folder, "cores"), cpu

    def experiment(self, machine, text):
        """The file of an experiment with any workload."""
        self.number += 1
        path = self.folder / f"chip{self.number}.yaml"
        path.write_text(f"name: chip\nmachine: {machine}\nworkload:\n{text}", encoding="utf-8")
        return path

    def workload(self, machine, text, extra=(), ranks=1):
        """The folder and the CPU seconds of a run of any workload."""
        path = self.experiment(machine, text)
        output = path.with_suffix("")
        runner = Runner(self.program, self.folder)
        done = call(runner.command(path, output, ranks, ["-q", "-q", *extra]))
        return output, done.user_s + done.system_s


def machine_of(row):
    return MACHINES / f"onnxim_{row['config'].split('_')[0]}.yaml"


def onnxim_rows(reduced):
    for row in rows_of("onnxim_cycles.csv"):
        known = re.fullmatch(r"matmul_(\d+)_(\d+)_(\d+)|(conv3x3_\w+)", row["model"])
        if known is None or "_simple" not in row["config"]:
            continue
        if reduced and int(row["core_cycles"] or 0) > QUICK:
            continue
        if row["model"] in CONVOLUTIONS:
            side, channels, outputs = CONVOLUTIONS[row["model"]]
            yield row, (f"kind: convolution, input: {side}, channels: {channels}, outputs: {outputs}, "
                        "kernel: 3, padding: 1")
        else:
            rows, columns, depth = known.groups()[:3]
            yield row, f"kind: gemm, rows: {rows}, columns: {columns}, depth: {depth}"


def like_onnxim(report, chip, setting):
    report.say("## NPU cores: ONNXim's products and convolutions")
    report.say()
    report.say("Four cores of ONNXim's Mobile or Server NPU (its Table II), with the timing and tiling of its public "
               "code (`timing: onnxim`, `tiling: onnxim`), and DRAM by banks and rows. `active`: cycles that the "
               "products of the busiest core would take on a full array. `end to end`: all cycles, ours and "
               "theirs. ONNXim crashes on 100 × 300 × 200 on Server cores.")
    report.say()
    table, same, times, offs = [], [], [], []
    for row, operator in onnxim_rows(setting.reduced):
        one_port = ["--set", f"machine.topology.links={ONE_PORT}"] if row["config"].endswith("1port") else []
        summary, cores, cpu = chip.run(machine_of(row), [operator], one_port)
        active = max(core["matrix_active"] for core in cores)
        cycles = summary["simulated_time_ps"] // 1000
        busy = max(core["matrix_busy"] for core in cores) / summary["simulated_time_ps"]
        if row["core_cycles"]:
            same.append(active == int(row["busiest_matmul_active"]))
            times.append((row, cpu))
            offs.append(100 * (cycles / int(row["core_cycles"]) - 1))
            theirs = (row["busiest_matmul_active"], row["core_cycles"],
                      percent(cycles, int(row["core_cycles"])), row["busiest_systolic_util_pct"] + " %",
                      row["user_s"])
        else:
            theirs = ("crash", "crash", "", "", "")
        table.append((row["config"].replace("_simple", ""), row["model"], active, theirs[0], cycles, theirs[1], theirs[2],
                      f"{100 * busy:.1f} %", theirs[3], f"{cpu:.2f}", theirs[4]))
    report.table(("NPU", "operator", "active", "theirs", "end to end", "theirs", "", "array busy", "theirs",
                  "CPU [s]", "theirs"), table)
    report.say("The largest end-to-end difference is "
               + report.at_most(max(map(abs, offs)), 10, "% off end to end at worst") + " %. Rows with one port test "
               "the cores alone, because that port, not the DRAM, is the limit. In `matmul_512_2048_128` four cores "
               "store strips of columns, and the time depends on whether they store to the same rows of the DRAM at "
               "about the same time: if not, more bursts open a row. Its end-to-end time is therefore sensitive to "
               "small differences in timing.")
    report.say()
    report.say("Active matrix cycles equal ONNXim's wherever it has them: "
               + report.bound(bool(same) and all(same), f"{sum(same)} of {len(same)} equal ONNXim's") + ".")
    report.say()
    slow = [(row, cpu) for row, cpu in times if row["model"] == "matmul_2048_2048_2048"]
    if slow and not setting.counts_only:
        row, cpu = slow[0]
        report.say("CPU time of ONNXim over ours, 2048³ on Server cores: "
                   + report.at_least(float(row["user_s"]) / cpu, SPEED, "times less CPU time than ONNXim")
                   + ".")
        report.say()


def kinds(report, chip, setting):
    report.say("## NPU cores: what each kind of operator costs")
    report.say()
    report.say("Each operator alone on the Server NPU, with our own timing and tiling, fp16 and operands in DRAM. "
               "Busy shares are those of the busiest core while the operator runs.")
    report.say()
    table, costly = [], []
    own = ["--set", "machine.compute.timing=deterministic", "--set", "machine.compute.tiling=fitted"]
    for kind, keys in KINDS[::4] if setting.reduced else KINDS:
        summary, cores, _ = chip.run(MACHINES / "onnxim_server.yaml", [f"kind: {kind}, {keys}"], own)
        end = summary["simulated_time_ps"]
        moved = sum(core["loaded"] + core["stored"] for core in cores)
        costly.append(end > 0 and moved > 0)
        table.append((kind, f"`{keys}`", end // 1000, f"{moved / 1e6:.2f}", f"{moved / end * 1000:.0f}",
                      *(f"{100 * max(core[unit] for core in cores) / end:.0f} %"
                        for unit in ("matrix_busy", "vector_busy", "dma_busy"))))
    report.table(("kind", "keys", "cycles", "moved [MB]", "GB/s", "array", "vector", "DMA"), table)
    report.say("Each operator costs time and traffic: " + report.bound(all(costly), "no operator is for nothing") + ".")
    report.say()


def meshes(report, chip, setting):
    report.say("## NPU cores: on a mesh, and on ranks")
    report.say()
    side = 512 if setting.reduced else 2048
    report.say(f"{side}³ on cores of 32 × 32 MACs at 1 GHz in a mesh of 64 GB/s links, with a memory of 64 GB/s at "
               "every tile of the west and east edges.")
    report.say()
    table, busy = [], []
    for number in (1, 2, 4, 8):
        machine = (f"{{topology: {{kind: mesh, rows: {number}, columns: {number}, bandwidth: 64 GB/s, "
                   "latency: 5 ns}, dram: {at: edge, edges: [west, east], bandwidth: 64 GB/s, latency: 60 ns}, "
                   "compute: {model: npu, array: [32, 32], vector_width: 128, scratchpad: 512 KiB, "
                   "accumulator: 128 KiB}}")
        summary, cores, cpu = chip.run(machine, [f"kind: gemm, rows: {side}, columns: {side}, depth: {side}"])
        end = summary["simulated_time_ps"]
        ideal = side ** 3 / 1024 / number ** 2
        share = ideal / (end / 1000)
        busy.append(share)
        table.append((f"{number} × {number}", end // 1000, f"{100 * share:.1f} %",
                      f"{sum(core['loaded'] for core in cores) / 1e6:.0f}", f"{cpu:.2f}"))
    report.table(("cores", "cycles", "of the arrays' peak", "loaded [MB]", "CPU [s]"), table)
    report.say("One core reaches " + report.at_least(100 * busy[0], 90, "% of its peak") + " % of its peak. Many cores "
               "share the memory at the edges, and tiles smaller than a core's share load operands more often.")
    report.say()
    runner = Runner(chip.program, chip.folder)
    levels = {name: runner.run(WAFER, 1, ["--set", f"machine.compute.model={name}"])
              for name in ("npu", "roofline", "gemm")}
    npu = levels["npu"]["iteration_time_ps"]
    report.say("A transformer's training step on a 4 × 4 mesh of cores with 32 × 32 MACs, operands in their SRAM "
               f"(`{WAFER.relative_to(ROOT)}`), by level of detail:")
    report.say()
    report.table(("compute", "iteration [ms]", "against npu"),
                 [(name, f"{one['iteration_time_ps'] / 1e9:.3f}", percent(one["iteration_time_ps"], npu))
                  for name, one in levels.items()])
    off = 100 * abs(levels["roofline"]["iteration_time_ps"] / npu - 1)
    report.say("Cores overlap DMA with the array, as a roofline assumes. The two differ by "
               + report.at_most(off, 10, "% between npu and roofline")
               + " %. `gemm` with an array pays for filling and draining at each fold of the weights, which a core "
               "hides behind the previous fold.")
    report.say()
    for name in ("npu_chip", "npu_wafer"):
        path = ROOT / "tests" / "parallel" / f"{name}.yaml"
        counts = RANKS[:2] if setting.reduced else RANKS
        digests = {runner.run(path, ranks)["result_digest"] for ranks in counts}
        report.say(f"- Digests of `{path.relative_to(ROOT)}` on {', '.join(map(str, counts))} ranks are equal: "
                   + report.bound(len(digests) == 1, f"{name}: equal digests") + ".")
    report.say()


def sections(report, program, folder, setting):
    chip = Chip(program, folder)
    like_onnxim(report, chip, setting)
    kinds(report, chip, setting)
    meshes(report, chip, setting)
