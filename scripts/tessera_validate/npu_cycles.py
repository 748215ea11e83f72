"""Part of results/npu.md: cycles of products, convolutions, ResNet-50 and layers of GPT-3 Small beside
ONNXim's, in the mode that follows its public code; real models on the same NPU."""

import sys

from npu_models import CASES, REAL
from page import ROOT, rows_of, summary_of, trace_rows
from tiles_npu import MACHINES, SPEED, Chip, operators_text
from tiles_npu import like_onnxim as operators_like_onnxim

sys.path.insert(0, str(ROOT / "scripts"))

import onnx_models  # noqa: E402

SERVER = MACHINES / "onnxim_server.yaml"
OWN = ("--set", "machine.compute.timing=deterministic", "--set", "machine.compute.tiling=fitted")
REQUESTS = 32 * 16  # bytes of a request, of each channel
WIDTH, HEADS, TOKENS = 768, 12, 512


def gemm(name, rows, columns, depth, more=""):
    return f"kind: gemm, name: {name}, rows: {rows}, columns: {columns}, depth: {depth}{more}"


def layer(rows, attention):
    """A layer of GPT-3 Small as the writes of ONNXim's show it: GELU and the first norm cost nothing."""
    return operators_text([
        gemm("qkv", rows, 3 * WIDTH, WIDTH, ", bias: true"), *attention,
        gemm("projection", rows, WIDTH, WIDTH, ", bias: true"),
        f"kind: norm, rows: {rows}, columns: {WIDTH}, skip: true",
        gemm("up", rows, 4 * WIDTH, WIDTH, ", bias: true"),
        gemm("down", rows, WIDTH, 4 * WIDTH, ", bias: true")])


def prompt():
    """Scores go to memory and back, head by head, and their softmax costs nothing."""
    return layer(TOKENS, [one for head in range(HEADS)
                          for one in (gemm(f"scores{head}", TOKENS, TOKENS, WIDTH // HEADS),
                                      gemm(f"values{head}", TOKENS, WIDTH // HEADS, TOKENS))])


def token():
    return layer(1, [f"kind: attention, heads: {HEADS}, queries: 1, keys: {TOKENS + 1}, "
                     f"head_width: {WIDTH // HEADS}, append: 1"])


def model_text(path, dimensions, values, level):
    """The section `workload` of an ONNX model."""
    def pairs(of):
        return ", ".join(f"{name}: {value}" for name, value in of.items())
    return (f"  kind: onnx\n  model: {path}\n  dimensions: {{{pairs(dimensions)}}}\n"
            f"  values: {{{pairs(values)}}}\n  optimize: {level}\n  data_type: fp16\n")


def path_of(file, folder):
    return REAL / file if file.endswith(".onnx") else onnx_models.write(file, folder)


def like_onnxim(report, chip, folder, setting):
    report.say("## Cycles: ResNet-50 and layers of GPT-3 Small beside ONNXim's")
    report.say()
    report.say("On the Server NPU as above. ResNet-50 is the model of `scripts/onnx_models.py`, optimised as "
               "`extended`; a layer of GPT-3 Small, for a prompt of 512 tokens and for the token after it, is its "
               "operators one after the other, as the traffic of theirs shows them. `reads, writes`: requests of 32 "
               "bytes of a channel.")
    report.say()
    theirs = {row["model"]: row for row in rows_of("onnxim_cycles.csv") if row["config"] == "server_simple"}
    cases = [("resnet50", model_text(path_of("resnet50", folder), {"batch": 1}, {}, "extended"), 10),
             ("gpt3s_s512_L1", prompt(), None), ("gpt3s_g512_L1", token(), None)]
    table = []
    for name, text, most in cases:
        row = theirs[name]
        output, cpu = chip.workload(SERVER, text)
        cycles = summary_of(output)["simulated_time_ps"] // 1000
        active = max(core["matrix_active"] for core in trace_rows(output, "cores"))
        channels = trace_rows(output, "channels")
        reads, writes = (round(sum(one[what] for one in channels) / REQUESTS) for what in ("read", "written"))
        off = 100 * (cycles / int(row["core_cycles"]) - 1)
        less = float(row["user_s"]) / cpu
        table.append((name, active, row["busiest_matmul_active"], cycles, row["core_cycles"],
                      report.at_most(abs(off), most, f"% off, {name}") if most else f"{off:+.1f}",
                      f"{reads}, {writes}", f"{row['ch0_reads']}, {row['ch0_writes']}", f"{cpu:.2f}", row["user_s"],
                      f"{less:.0f}" if setting.counts_only
                      else report.at_least(less, SPEED, f"times less CPU time, {name}", "{:.0f}")))
    report.table(("model", "active", "theirs", "end to end", "theirs", "off [%]", "reads, writes", "theirs",
                  "CPU [s]", "theirs", "times less"), table)
    report.say("What differs, and where it is not explained:")
    report.say()
    report.say("- ResNet-50: cores take the tiles that are left over as they ask there, and by the number of the layer "
               "here, so that the busiest has 2 % more. Its convolutions read only the rows and columns that a stride "
               "meets.")
    report.say("- Both layers of GPT-3: theirs reads 3.5 MB more, as much as the weights of the first product, as if it "
               "read them twice. At the rate of the rest that takes 9000 cycles; the token of theirs takes 6300 more.")
    report.say("- The prompt: the same bytes are written, but its busiest core has an array that is busy for 187 000 "
               "cycles, twice as long as ours with the same products, and 57 tiles in place of 28: its attention is in "
               "smaller pieces. What these are neither the paper nor the versions of its code that we have read say, "
               "so this row is not met. Its active cycles are those of a core that is the first in all products of "
               "all heads.")
    report.say()


def real_models(report, chip, folder, setting):
    report.say("## Cycles: models on the Server NPU")
    report.say()
    report.say("Models of the part above, without Llama 3, with our own timing and tiling, fp16, optimised as `all`. Busy: "
               "units of the busiest core, of the whole time.")
    report.say()
    table = []
    for name, file, dimensions, values, _ in CASES:
        if file.startswith("llama") or (setting.reduced and not file.endswith(".onnx")):
            continue
        output, cpu = chip.workload(SERVER, model_text(path_of(file, folder), dimensions, values, "all"), OWN)
        summary = summary_of(output)
        report.bound(summary["status"] == "finished", f"{name}: runs to its end")
        end = summary["simulated_time_ps"]
        cores = trace_rows(output, "cores")
        moved = sum(core["loaded"] + core["stored"] for core in cores)
        table.append((name, f"{end / 1e6:.1f}", f"{moved / 1e6:.1f}", f"{moved / end * 1000:.0f}",
                      *(f"{100 * max(core[unit] for core in cores) / end:.0f} %"
                        for unit in ("matrix_busy", "vector_busy", "dma_busy")), f"{cpu:.2f}"))
    report.table(("model", "time [µs]", "moved [MB]", "GB/s", "array", "vector", "DMA", "CPU [s]"), table)
    report.say("All run to their end. Depth-wise convolutions of the OCR models go through the vector unit, all channels "
               "together.")
    report.say()


def sections(report, program, folder, setting):
    chip = Chip(program, folder)
    if not setting.reduced:  # then they are made for results/tiles.md
        operators_like_onnxim(report, chip, setting)
    like_onnxim(report, chip, folder, setting)
    real_models(report, chip, folder, setting)
