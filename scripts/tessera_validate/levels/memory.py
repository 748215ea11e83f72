"""Steps whose weights and activations are in DRAM, through every memory."""

from levels.cases import Family, Rule, transformer

LATENCY = 60


def memory(model, **more):
    def change(experiment):
        experiment["machine"]["memory"] = {"model": model, **more}
    return change


def experiment(draw):
    # One LPDDR5 device a tile, so that all three have the same peak.
    return {"machine": {"topology": {"kind": "mesh", "rows": 2, "columns": 4, "bandwidth": "1000 GB/s",
                                     "latency": "1 ns"},
                        "tile": {"peak": {"fp16": f"{draw.choice([100, 1000])} GFLOP/s"}, "sram": "1 KiB"},
                        "dram": {"at": "each", "bandwidth": "PEAK", "latency": f"{LATENCY} ns"},
                        "network": {"model": "packet"}},
            "workload": transformer(draw, draw.random() < 0.7),
            "strategy": draw.choice([{"pipeline": 2, "tensor": 2, "data": 2}, {"tensor": 4, "data": 2},
                                     {"pipeline": 2, "data": 4}])}, \
        {"bandwidth": memory("bandwidth"), "channel": memory("channel"),
         "dram": memory("dram", preset="LPDDR5", channels=1, transfer="1 KiB")}


def with_peak(draw):
    case, levels = experiment(draw)
    case["machine"]["dram"]["bandwidth"] = "12.8 GB/s"  # 16 bits at 6400 MT/s
    return case, levels


def sections(report, program, folder, setting):
    report.say("## Memories")
    report.say()
    family = Family(program, folder, "memory", [
        Rule("channel", "bandwidth", 1, 2, "a tile prefetches: outstanding accesses share the channel, whereas "
                                              "`bandwidth` gives each of them all of it"),
        Rule("dram", "channel", 1, 1.25, "row activation, refresh and turnaround between reads and writes")])
    family.many(3 if setting.reduced else 40, with_peak)
    family.report(report)
