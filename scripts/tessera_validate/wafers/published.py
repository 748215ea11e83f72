"""PALM's own tables and figures of a wafer: the paper, its public code as run, and ours."""

import re

from page import percent
from palm_code import code_figure, code_rows, say_whose
from wafers.runs import Experiments, MessagePrograms, off, settings

EVERY_CORE = "strategy.aggregation=none"
WAFER = {"T-18B": "palm_wafer_t_18b", "T-76B": "palm_wafer_t_76b", "T-145B": "palm_wafer_t_145b"}
# PALM's micro-batch is the batch over its 20 stages (51, 89, 115 sequences); here the next multiple
# of 16, so that every degree of data parallelism divides it.
GLOBAL_MICRO_BATCH = {"T-18B": 48, "T-76B": 80, "T-145B": 112}
STAGES = 20
DEGREES = ((1, 16), (2, 8), (4, 4), (8, 2), (16, 1))  # tensor, data
HEAD = "HEAD; map=S (mapping2 S-shape, shipped); comm=comm1 TP groups contiguous (shipped)"


MISSING = re.compile(r"would hold (.+?), (.+?) more than its (.+?) \(")


def palm_like(model, tensor=8, data=2):
    """Settings that put an experiment on the wafer to PALM's micro-batches. None of them fits the DRAM that PALM states
    (what_is_missing), so that nothing is refused."""
    whole = GLOBAL_MICRO_BATCH[model]
    return [f"workload.batch={STAGES * whole}", f"strategy.tensor={tensor}", f"strategy.data={data}",
            f"strategy.micro_batch={whole // data}", "strategy.capacity=ignore"]


def table_vii(report, experiments, reduced):
    report.say("### Table VII: the wafer")
    report.say()
    report.say(
        "Command: `build/release/tessera run configs/experiments/palm_wafer_NAME.yaml` with `--set "
        "strategy.aggregation=stage --set run.replay=exact` and one more setting per column. "
        "PALM's micro-batch: `workload.batch`, `strategy.micro_batch` for 20 micro-batches of 48, "
        "80 and 112 sequences (PALM: 51, 89, 115), `strategy.capacity=ignore`; then without the head, "
        "which PALM does not have, `workload.head=none`; then with the DRAM traffic of PALM's own Algorithm "
        "1 in full bytes, `strategy.sram=algorithm-1`. The third column compares like with like and is bound "
        "to within 10 % of PALM's code.")
    report.say()
    code = code_rows("VII")
    fast = ("strategy.aggregation=stage", "run.replay=exact")
    rows = []
    for model in ("T-18B",) if reduced else WAFER:
        def rate(*words, model=model):
            return experiments.run(WAFER[model], *fast, *words)["throughput_samples_per_s"]

        shipped = rate()
        palms = rate(*palm_like(model))
        headless = rate(*palm_like(model), "workload.head=none")
        streams = rate(*palm_like(model), "workload.head=none", "strategy.sram=algorithm-1")
        paper = next(row for row in code if row["model"] == model and row["paper_palm"])
        as_run = float(code_figure(code, model, HEAD))
        rows.append([model, f"{shipped:.4f}", f"{palms:.4f}", f"{headless:.4f}", f"{streams:.4f}",
                     paper["paper_palm"], f"{as_run:.4f}", paper["paper_published"],
                     percent(headless, as_run),
                     report.at_most(off(headless, as_run), 10,
                                    f"table VII {model}: like for like, % off PALM's code"),
                     code_figure(code, model, "HEAD, chip name default"),
                     code_figure(code, model, "HEAD, chip name gpu")])
    report.table(["model", "ours, shipped", "PALM's micro-batch", "and no head",
                  "and Algorithm 1 in full bytes", "PALM, paper", "PALM, code",
                  "published (scaled GPUs)", "no head against the code", "off [%]",
                  "PALM, code, DRAM × 0.1", "PALM, code, DRAM × 0.5"], rows)
    report.say(
        "Causes of the differences: the micro-batches (20 of them in 20 stages leave half of the pipeline empty); the "
        "language model's head, which makes the last stage the slowest; and the DRAM traffic, which "
        "PALM's code multiplies by 0.005 because the chip is called `wafer` (the rightmost "
        "columns show its figures with other factors; ours with all bytes fall in the same way). Where PALM's "
        "figure is near the scaled GPUs, half of an unreached peak happens to be about what GPUs reach.")
    report.say()
    what_is_missing(report, experiments, reduced)


def what_is_missing(report, experiments, reduced):
    """Of a DRAM channel, by the message of a run that is refused; such a run was made by no machine, but by PALM's code."""
    report.say("PALM's code checks no capacity, and its micro-batches do not fit the DRAM of its own table VI, in "
               "which four cores share a channel. By our accounting, a channel would hold:")
    report.say()
    rows = []
    for model in ("T-18B",) if reduced else WAFER:
        for name, words in (("as shipped", ()), ("PALM's micro-batch", palm_like(model))):
            found = MISSING.search(experiments.runner.check(
                WAFER[model], settings(*words, "strategy.capacity=check"), (0, 2)).stderr)
            rows.append([model, name, *(found.groups() if found else ("fits", "", ""))])
    report.table(["model", "plan", "would hold", "missing", "has"], rows)


def figure_6(report, programs, reduced):
    report.say("### Figure 6: ring all-reduce on 4 and 16 tiles")
    report.say()
    report.say(
        "`build/release/tests/message_programs configs/machines/palm_wafer.yaml -- stack N N BYTES "
        "all-reduce`: a ring through N × N cores of one tile, `packet` network. Reference: 2 (n − 1) "
        "(latency + chunk / bandwidth). The paper's figure compares with measured GPUs (from "
        "ASTRA-sim 2.0) but prints no numbers; measured collectives are compared in the part on "
        "real clusters. PALM reports errors within 5 %.")
    report.say()
    rows = []
    for side in (2, 4):
        for size in (1_000_000,) if reduced else (1_000_000, 10_000_000, 100_000_000):
            ours, _, _ = programs.run("palm_wafer", ["stack", side, side, size, "all-reduce"])
            count = side * side
            form = 2 * (count - 1) * (1000 + size / count / 1.024)  # ps; 1.024 bytes a ps
            rows.append([count, size, f"{ours / 1e6:.3f}", f"{form / 1e6:.3f}", percent(ours, form),
                         report.at_most(off(ours, form), 5, f"figure 6, {count} tiles, {size} B: % off")])
    report.table(["tiles", "bytes", "ours [us]", "closed form [us]", "difference", "off [%]"], rows)


STACKS = {
    "network and DRAM": ("all-reduce", "all-to-all", "read", "write", "all-reduce"),
    "network": ("all-reduce", "all-to-all", "all-reduce", "all-to-all", "all-reduce")}


def figure_7(report, programs, reduced):
    report.say("### Figure 7: one to five tasks at once")
    report.say()
    report.say(
        "None of our workloads runs several tasks on a tile at once, so the experiment is a message program "
        "on the simulator's own network and memory: `build/release/tests/message_programs "
        "configs/machines/palm_wafer.yaml -- stack 4 4 BYTES TASK …`, once with `packet` and `channel`, "
        "once with `network.model=analytical memory.model=bandwidth`. All 16 cores of the corner tile "
        "start all tasks at time 0; the time is that of the last to end. Tasks are the first k of: *network and "
        "DRAM*: all-reduce, all-to-all, read, write, all-reduce; *network*: all-reduce and all-to-all "
        "alternately. PALM: the analytical model is at most 50 % too fast, 30 % with five tasks of "
        "5 MB.")
    report.say()
    rows = []
    for name, tasks in STACKS.items():
        for size in (1_000_000,) if reduced else (1_000_000, 5_000_000, 20_000_000):
            less = []
            for count in range(1, 6):
                words = ["stack", 4, 4, size, *tasks[:count]]
                shared, _, _ = programs.run("palm_wafer", words)
                alone, _, _ = programs.run("palm_wafer", words, "network.model=analytical",
                                           "memory.model=bandwidth")
                report.bound(alone <= shared if count > 1 else off(alone, shared) < 1,
                             f"figure 7, {name}, {size} B, {count} tasks: contention only delays")
                less.append(f"{100 * (1 - alone / shared):.1f} %")
            rows.append([name, size, *less])
    report.table(["tasks", "bytes", "1", "2", "3", "4", "5"], rows)
    report.say(
        "The table shows by how much the analytical model is too fast, for each number of tasks. Without "
        "contention only the longest task counts, so k equal tasks on the same links would be 1 − 1/k too "
        "fast, and DRAM channels shared by four cores three quarters even with a single task; PALM's smaller "
        "figures mean that its analytical model shares DRAM, or that its tasks have different lengths, "
        "which the paper does not state. As in the paper, the error stays the same as tasks grow.")
    report.say()


MAPPINGS = (("line", "near"), ("line", "far"), ("s-shape", "near"), ("s-shape", "far"),
            ("optimized", "near"))


def mapped(layout, members):
    return [f"strategy.placement.layout={layout}", f"strategy.placement.tensor_members={members}"]


def figure_8(report, experiments):
    report.say("### Figure 8: mappings")
    report.say()
    report.say(
        "Mean hops of a byte, and the sum over all links of the time that they take for an iteration of "
        "T-145B (tensor 8, data 2), from `tessera check configs/experiments/palm_wafer_t_145b.yaml --set "
        "strategy.aggregation=none --set strategy.placement.layout=… --set "
        "strategy.placement.tensor_members=…`; hops in Y count like "
        "those in X. `near` is PALM's comm1, `far` its comm2. For pictures, run the same with `tessera run` "
        "and draw them with `scripts/plot DIR --only placement`.")
    report.say()
    rows = []
    for layout, members in MAPPINGS:
        found = experiments.traffic(WAFER["T-145B"], EVERY_CORE, *mapped(layout, members))
        rows.append([layout, members, *(found[kind]["hops"] for kind in
                                        ("activation", "tensor", "data", "memory", "all")),
                     f"{found['all']['time_s']:.1f}"])
    report.table(["layout", "tensor groups", "hops: activations", "tensor", "data", "memory", "all",
                  "time of all links [s]"], rows)


def figure_9(report, experiments):
    report.say("### Figure 9: occupation of the network")
    report.say()
    report.say(
        "T-145B with the S-shape layout, tensor groups near and PALM's micro-batches; `tessera check` and "
        "`tessera run` of `configs/experiments/palm_wafer_t_145b.yaml` with `strategy.tensor`, `strategy.data` and "
        "`strategy.micro_batch` set (and `workload.batch=2240`, `strategy.capacity=ignore`, `strategy.aggregation=none`, "
        "`run.replay=exact`). Utilisation is the mean over all links, including those in Y.")
    report.say()
    rows, times, rates = [], {}, {}
    for tensor, data in DEGREES:
        words = [*palm_like("T-145B", tensor, data), EVERY_CORE]
        found = experiments.traffic(WAFER["T-145B"], *words)
        summary = experiments.run(WAFER["T-145B"], *words, "run.replay=exact")
        times[tensor] = found["all"]["time_s"]
        rates[tensor] = summary["throughput_samples_per_s"]
        mean = times[tensor] / found["links"]
        rows.append([tensor, data, f"{1e3 * mean:.3f}",
                     f"{100 * mean / (summary['iteration_time_ps'] / 1e12):.4f} %",
                     f"{rates[tensor]:.4f}"])
    report.table(["tensor", "data", "mean time of a link [ms]", "mean utilisation", "samples/s"], rows)
    least, best = min(times, key=times.get), max(rates, key=rates.get)
    report.say(
        f"Occupation is least with tensor {least}, throughput highest with tensor {best}. PALM: least occupation "
        "with tensor 2, as its equation (6) gives, and highest throughput with tensor 4. Equation (6) counts "
        "8BSH N_m for a tensor group of any size, although only (N_m − 1)/N_m of a ring's vector moves, and "
        "none with N_m = 1; ours also counts DRAM traffic and boundary tensors, which do not shrink.")
    report.say()


def figure_10(report, experiments, reduced):
    report.say("### Figure 10: mappings and degrees")
    report.say()
    report.say(
        "Samples/s with every core and packet simulated (`strategy.aggregation=none`), 20 stages and PALM's "
        "micro-batches, with `--set strategy.tensor=… --set strategy.data=… --set strategy.placement.layout=… --set "
        "strategy.placement.tensor_members=… --set run.replay=exact`; in the second half of the table, all links have "
        "a 64th of the bandwidth (`machine.topology.intra_tile.bandwidth=16 GB/s`, "
        "`machine.topology.inter_tile.bandwidth=4 GB/s`). PALM, code: its S-shape, then its line, "
        "both with comm1; neither counts hops between tiles in Y.")
    report.say()
    code = code_rows("VII/Fig10")
    narrow = ("machine.topology.intra_tile.bandwidth=16 GB/s",
              "machine.topology.inter_tile.bandwidth=4 GB/s")
    head = ["model", "links", "tensor", "data",
            *(f"{layout}, {members}" for layout, members in MAPPINGS), "spread", "PALM, code: S",
            "PALM, code: line"]
    rows, spans = [], {}
    for links, more in (("as stated", ()),) if reduced else (("as stated", ()), ("a 64th", narrow)):
        for model in ("T-18B",) if reduced else WAFER:
            rates = {}
            for tensor, data in ((8, 2),) if reduced else DEGREES:
                for mapping in MAPPINGS[1:3] if reduced else MAPPINGS:
                    if mapping[1] == "far" and 1 in (tensor, data):
                        continue  # the same as near
                    rates[tensor, mapping] = experiments.run(
                        WAFER[model], *palm_like(model, tensor, data), *mapped(*mapping), *more,
                        EVERY_CORE, "run.replay=exact")["throughput_samples_per_s"]
                here = [rates.get((tensor, mapping)) for mapping in MAPPINGS]
                known = [rate for rate in here if rate]
                line = HEAD.replace("S (mapping2 S-shape, shipped)",
                                    "line (mapping1 line, my re-implementation)")
                rows.append([model, links, tensor, data,
                             *(f"{rate:.4f}" if rate else "" for rate in here),
                             f"{100 * (max(known) / min(known) - 1):.2f} %",
                             *((code_figure(code, model, variant, tensor) for variant in
                                (HEAD, line)) if not more else ("", ""))])
            spans[model, links] = max(rates.values()) / min(rates.values())
    report.table(head, rows)
    report.say("Ratio of the fastest to the slowest over all degrees and mappings: " +
               "; ".join(f"{model}, links {links}: {span:.2f}×" for (model, links), span in
                         spans.items()) + ". " +
               "PALM's code: 1.15× (T-18B), 1.45× (T-76B), 1.64× (T-145B), nearly all of it from tensor "
               "16, where its ring is slow because a whole path is held while it waits; the paper says "
               "at least 2×. With all bytes moved in packets and Y counted, links as stated in Table VI "
               "are nearly idle (figure 9), so mappings cannot matter much; they do once links are "
               "narrow. The optimiser minimises hop-weighted traffic, which is not the same as "
               "maximising throughput.")
    report.say()


def sections(report, program, folder, setting):
    reduced = setting.reduced
    experiments, programs = Experiments(program, folder), MessagePrograms(program)
    report.say("## PALM's own tables and figures")
    report.say()
    say_whose(report)
    table_vii(report, experiments, reduced)
    figure_6(report, programs, reduced)
    figure_7(report, programs, reduced)
    if not reduced:
        figure_8(report, experiments)
        figure_9(report, experiments)
    figure_10(report, experiments, reduced)
