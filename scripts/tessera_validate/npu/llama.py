"""Fig. 5 of ONNXim's paper, Llama 3 8B with grouped-query and with multi-head
attention, one token of 128 sequences after 1023."""

import sys

from npu.cores import Chip
from npu.cycles import OWN, SERVER, model_text
from page import ROOT, summary_of, trace_rows

sys.path.insert(0, str(ROOT / "scripts"))

import onnx_models

# Kind of attention, model, minutes of ONNXim (section III-E), most CPU seconds.
CASES = (("grouped-query, 8 heads of keys", "llama3-8b", 17, 60),
         ("multi-head, 32 heads of keys", "llama3-8b-mha", 45, 180))
EXTRA = (*OWN, "--set", "machine.memory.transfer=4 KiB")
# About what `dram` reaches with these streams, as the rate of a channel that serves in order.
RATE = 450  # GB/s
LEVELS = (("dram", (), False), ("channel", ("--set", "machine.memory.model=channel",
                                            "--set", f"machine.dram.bandwidth={RATE} GB/s"), True))


def token_text(model, folder, batch, past):
    """The section `workload` of one token of each sequence."""
    dimensions = {"batch": batch, "sequence": 1, "past": past, "total": past + 1}
    return model_text(onnx_models.write(model, folder), dimensions, {}, "all")


def layer(report, chip, folder, batch, past):
    report.say("One layer of 32, with a full trace, messages of up to 4 KiB and DRAM simulated burst by burst. "
               "Attention is the operator that takes longest (except in a reduced run).")
    report.say()
    table, attention, rates = [], [], []
    for kind, model, _, _ in CASES:
        output, cpu = chip.workload(SERVER, token_text(model + "-layer", folder, batch, past),
                                    (*EXTRA, "--set", "run.trace=full"))
        end = summary_of(output)["simulated_time_ps"]
        spans = {}
        for row in trace_rows(output, "operators"):
            begin, last = spans.get(row["name"], (row["start"], row["end"]))
            spans[row["name"]] = (min(begin, row["start"]), max(last, row["end"]))
        longest = max(last - begin for begin, last in spans.values())
        attention.append(longest)
        channels = trace_rows(output, "channels")
        moved = sum(one["read"] + one["written"] for one in channels)
        rates.append(f"{moved / end * 1000:.0f}")
        busy = max(core["matrix_busy"] for core in trace_rows(output, "cores"))
        table.append((kind, f"{end / 1e9:.3f}", f"{longest / 1e9:.3f} ({100 * longest / end:.0f} %)",
                      f"{moved / 1e6:.0f}", rates[-1], f"{100 * busy / end:.0f} %", f"{cpu:.1f}"))
    report.table(("attention", "time [ms]", "of it attention [ms]", "moved [MB]", "GB/s", "array", "CPU [s]"), table)
    return attention, rates


def whole(report, chip, folder, batch, past, rates, setting):
    report.say("All 32 layers, embedding and logits, without a trace: with the memory `dram`, and with `channel` at "
               f"{RATE} GB/s instead of its peak (`dram` reaches {' and '.join(rates)} GB/s above). CPU seconds are of "
               "one core; ONNXim's are those of the paper. The bounds of one and three minutes apply to `channel`.")
    report.say()
    table = []
    for kind, model, minutes, most in CASES:
        text = token_text(model, folder, batch, past)
        times = {}
        for level, settings, bounded in LEVELS:
            if setting.reduced and not bounded:
                continue
            output, cpu = chip.workload(SERVER, text, (*EXTRA, "--set", "run.trace=none", *settings))
            times[level] = summary_of(output)["simulated_time_ps"]
            off = 100 * (times[level] / times["dram"] - 1) if "dram" in times else 0
            spent = (report.at_most(cpu, most, f"CPU seconds, {kind}") if bounded and not setting.counts_only
                     else f"{cpu:.1f}")
            table.append((kind, f"`{level}`", f"{times[level] / 1e9:.2f}", f"{off:+.1f} %", spent, minutes * 60,
                          f"{minutes * 60 / cpu:.0f}"))
    report.table(("attention", "memory", "time [ms]", "to `dram`", "CPU [s]", "ONNXim's [s]", "times less"), table)


def sections(report, program, folder, setting):
    batch, past = (2, 63) if setting.reduced else (128, 1023)
    report.say("## Llama 3 8B: grouped-query against multi-head attention")
    report.say()
    report.say(f"One token of each of {batch} sequences after {past} tokens on the Server NPU (Fig. 5 of ONNXim's "
               "paper), in fp16, with our own timing and tiling.")
    report.say()
    chip = Chip(program, folder)
    attention, rates = layer(report, chip, folder, batch, past)
    if not setting.reduced:  # else attention is not the longest
        ratio = attention[1] / attention[0]
        report.say("Attention is memory-bound and takes "
                   + report.at_least(ratio, 2.5, "times as long with multi-head attention")
                   + " times as long with four times the keys and values, as in the paper's figure.")
        report.say()
    whole(report, chip, folder, batch, past, rates, setting)
