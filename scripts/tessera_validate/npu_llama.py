"""Part of results/npu.md: Fig. 5 of ONNXim's paper, Llama 3 8B with grouped-query and with multi-head
attention, one token of 128 sequences after 1023."""

import sys

from npu_cycles import OWN, SERVER, model_text
from page import ROOT, summary_of, trace_rows
from tiles_npu import Chip

sys.path.insert(0, str(ROOT / "scripts"))

import onnx_models  # noqa: E402

LAYERS = 32
# Kind of attention, model, minutes of ONNXim for the whole model (section III-E), CPU seconds aimed at.
CASES = (("grouped-query, 8 heads of keys", "llama3-8b-layer", 17, 60),
         ("multi-head, 32 heads of keys", "llama3-8b-mha-layer", 45, 180))
EXTRA = (*OWN, "--set", "machine.memory.transfer=4 KiB", "--set", "run.trace=full")


def sections(report, program, folder, setting):
    batch, past = (4, 127) if setting.reduced else (128, 1023)
    report.say("## Llama 3 8B: grouped-query against multi-head attention")
    report.say()
    report.say(f"One layer of {LAYERS} on the Server NPU, one token of each of {batch} sequences after {past} (Fig. 5 of "
               "ONNXim's paper), fp16, our own timing and tiling, DRAM burst by burst, messages of up to 4 KiB. "
               "Attention is the operator that takes longest (not in a reduced run). All layers are alike; the embedding and the scores of "
               "words are not in it.")
    report.say()
    chip = Chip(program, folder)
    table, attention = [], []
    for kind, model, minutes, aim in CASES:
        dimensions = {"batch": batch, "sequence": 1, "past": past, "total": past + 1}
        output, cpu = chip.workload(
            SERVER, model_text(onnx_models.write(model, folder), dimensions, {}, "all"), EXTRA)
        end = summary_of(output)["simulated_time_ps"]
        spans = {}
        for row in trace_rows(output, "operators"):
            begin, last = spans.get(row["name"], (row["start"], row["end"]))
            spans[row["name"]] = (min(begin, row["start"]), max(last, row["end"]))
        longest = max(last - begin for begin, last in spans.values())
        attention.append(longest)
        channels = trace_rows(output, "channels")
        moved = sum(one["read"] + one["written"] for one in channels)
        busy = max(core["matrix_busy"] for core in trace_rows(output, "cores"))
        table.append((kind, f"{end / 1e9:.3f}", f"{longest / 1e9:.3f} ({100 * longest / end:.0f} %)",
                      f"{moved / 1e6:.0f}", f"{moved / end * 1000:.0f}", f"{100 * busy / end:.0f} %", f"{cpu:.1f}",
                      f"{cpu * LAYERS:.0f}", aim, minutes * 60))
    report.table(("attention", "time [ms]", "of it attention [ms]", "moved [MB]", "GB/s", "array", "CPU [s]",
                  f"× {LAYERS}", "aim", "ONNXim's [s]"), table)
    if not setting.reduced:  # else attention is not the longest
        ratio = attention[1] / attention[0]
        report.say("Attention is bound by memory and takes "
                   + report.at_least(ratio, 2.5, "times as long with multi-head attention")
                   + " times as long with four times the keys and values, as in the paper's figure.")
        report.say()
        report.say("CPU time for the whole model is above what we aim at (a minute and three minutes): every burst of "
                   "32 bytes of 33 GB (85 GB) goes through the scheduler of its channel.")
        report.say()
