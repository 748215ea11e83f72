"""Machines of tiles against published figures: Grayskull, and a reduction on a wafer."""

import math

from page import percent
from wafers.runs import Experiments, MessagePrograms, off, settings

CYCLE_PS = 910  # of configs/machines/wse2_fabric.yaml
ALGORITHMS = ("star", "chain", "tree", "two-phase")
PUBLISHED = {"ResNet-50": 22431, "BERT-base": 2830}
PAPER = {"ResNet-50": 23033.46, "BERT-base": 3190.12}  # PALM, table V
BOUND = {"ResNet-50": 2.5, "BERT-base": 10}  # [%]
INT8 = "workload.data_type=int8"

# One stage a bottleneck block, eight cores each; early layers are cut along the image, late ones by
# channels, so that most parts are whole tiles of 32 x 32 and the weights stay in SRAM.
RESNET = {"pipeline": 15, "tensor": 8, "micro_batch": 1, "schedule": "streaming",
          "sram": "algorithm-1",
          "sharding": {"conv1/*": {"rows": 8}, "conv2_x*/*": {"rows": 8},
                       "conv3_x*/*": {"rows": 2, "columns": 4}, "*": {"columns": 8}}}
# One stage a layer, ten cores each; products are cut as Megatron-LM does, the rest by samples.
BERT = {"pipeline": 12, "tensor": 10, "micro_batch": 10, "schedule": "streaming",
        "sram": "algorithm-1",
        "sharding": {"qkv": {"columns": 10}, "attention_output": {"depth": 10},
                     "mlp_up": {"columns": 10}, "mlp_down": {"depth": 10},
                     "embedding": {"columns": 10}, "*": {"samples": 10}}}


class Grayskull:
    def __init__(self, experiments):
        self.experiments = experiments
        self.paths = {
            "ResNet-50": experiments.write("resnet50", "grayskull", "resnet50", RESNET),
            "BERT-base": experiments.write("bert_base", "grayskull", "bert_base_inference", BERT)}

    def words(self, model, micro_batches, micro_batch, *more):
        words = [INT8, f"workload.batch={micro_batches * micro_batch}",
                 f"strategy.micro_batch={micro_batch}", *more]
        return words + (["workload.mode=inference"] if model == "ResNet-50" else
                        [] if any(word.startswith("workload.sequence") for word in more) else
                        ["workload.sequence=384"])

    def rate(self, model, micro_batches, micro_batch, *more):
        summary = self.experiments.run(self.paths[model],
                                       *self.words(model, micro_batches, micro_batch, *more))
        return summary["steady_throughput_samples_per_s"]


def grayskull(report, chip, reduced):
    report.say("### Grayskull, PALM's table V")
    report.say()
    report.say(
        "Streaming int8 inference through a pipeline, without fill and drain, with every core and "
        "every packet simulated. Machine: `configs/machines/grayskull.yaml`. ResNet-50: 15 stages of "
        "8 cores, image by image; BERT-base: 12 stages of 10 cores, 10 sentences of 384 tokens (the usual "
        "length for SQuAD 1.1, the task of the announcement; assumed) at a time; the strategies are "
        "`RESNET` and `BERT` in `scripts/tessera_validate/wafers/tiled.py`. Settings: `--set "
        "workload.data_type=int8`, for ResNet-50 `workload.mode=inference`, for BERT-base "
        "`workload.sequence=384`. **Nothing is fitted to the two figures**: the only efficiency "
        "constant, 0.93 of the peak for whole tiles, is the best single product on the next "
        "chip with the same matrix engine; the rate of vector work follows from the vector width, and "
        "products are charged in tiles of 32 × 32. Only the mapping was chosen with the published "
        "figure in view (as PALM did, section V-A); the next table shows what other mappings give.")
    report.say()
    rows = []
    count = 48 if reduced else 128
    for model, micro_batch in (("ResNet-50", 1), ("BERT-base", 10)):
        ours = chip.rate(model, count, micro_batch)
        error = off(ours, PUBLISHED[model])
        rows.append([model, f"{ours:.0f}", PUBLISHED[model], percent(ours, PUBLISHED[model]),
                     report.at_most(error, BOUND[model], f"Grayskull {model}: % off"),
                     PAPER[model]])
    report.table(["model", "ours [samples/s]", "published", "difference", "off [%]",
                  "PALM, paper"], rows)
    if not reduced:
        left_open(report, chip)


def left_open(report, chip):
    report.say(
        "What the announced figures (Linley Spring Processor Conference 2020) leave open: micro-batch, "
        "sentence length, mapping, precision, whether zeros and conditional execution help, and "
        "whether images come from the host. Each row changes one thing. The card as sold reaches "
        "1 695 images/s end to end at batch 256 (tenstorrent/benchmarking, README), so the announced "
        "figure is not a measurement of a whole system.")
    report.say()
    variants = [
        ("ResNet-50", "as above", 1, ()),
        ("ResNet-50", "2 images at a time", 2, ()),
        ("ResNet-50", "8 images at a time", 8, ()),
        ("ResNet-50", "all layers cut by channels", 1, ("strategy.sharding={'*': {columns: 8}}",)),
        ("ResNet-50", "12 stages of 10 cores, cut by channels", 1,
         ("strategy.pipeline=12", "strategy.tensor=10", "strategy.sharding={'*': {columns: 10}}")),
        ("ResNet-50", "products reach the peak", 1, ("machine.compute.matrix_efficiency=1",)),
        ("ResNet-50", "vector work at the peak of products", 1,
         ("machine.compute.vector_peak=0 FLOP/s",)),
        ("ResNet-50", "all at the peak, no tiles (PALM)", 1, ("machine.compute.model=roofline",)),
        ("BERT-base", "as above", 10, ()),
        ("BERT-base", "sentences of 128", 10, ("workload.sequence=128",)),
        ("BERT-base", "sentences of 512", 10, ("workload.sequence=512",)),
        ("BERT-base", "sentences of 512, 40 at a time", 40, ("workload.sequence=512",)),
        ("BERT-base", "all at the peak, no tiles (PALM)", 10, ("machine.compute.model=roofline",)),
        ("BERT-base", "the same with sentences of 512", 10,
         ("machine.compute.model=roofline", "workload.sequence=512")),
    ]
    rows = []
    for model, what, micro_batch, words in variants:
        ours = chip.rate(model, 128, micro_batch, *words)
        changed = [f"strategy.micro_batch={micro_batch}"] if "at a time" in what else []
        rows.append([model, what, f"{ours:.0f}", percent(ours, PUBLISHED[model]),
                     " ".join(f"`--set '{word}'`" for word in (*changed, *words))])
    report.table(["model", "variant", "ours [samples/s]", "against the published", "settings"], rows)
    report.say(
        "For sentences, the first stage reads its weights from DRAM in every pass, since the embedding does "
        "not fit in SRAM beside the first layer; hence the effect of more sentences at a time. Not "
        "modelled: moving an activation between tiles when the next operator is sharded differently, "
        "multicast, and the SRAM that activations in flight occupy.")
    report.say()


def reduce_cycles(algorithm, places, words, ramp):
    """Luczynski et al.: max(C, E/N + L) + (2 T_R + 1) D, from the definitions, along a line.

    C: words that the busiest node takes in; E: hops of all words; N: links; L: longest way;
    D: messages that depend on each other.
    """
    if algorithm == "star":
        contention, energy, depth = words * (places - 1), words * places * (places - 1) / 2, 1
    elif algorithm == "chain":
        contention, energy, depth = words, words * (places - 1), places - 1
    elif algorithm == "tree":
        depth = math.log2(places)
        contention, energy = words * depth, words * places / 2 * depth
    else:
        group = math.isqrt(places - 1) + 1
        groups = places // group
        contention = 2 * words
        energy = words * (groups * (group - 1) + (groups - 1) * group)
        depth = (group - 1) + (groups - 1)
    links = longest = places - 1
    return max(contention, energy / links + longest) + (2 * ramp + 1) * depth


def simulated_cycles(programs, algorithm, rows, columns, words, ramp, ranks=1):
    # A message takes its links' latencies and the time of its last word on the last of them. On the
    # wafer the word's cycle on a link is the hop's, so one of the 2 T_R cycles of the ramps is it.
    overhead = f"network.message_overhead={(2 * ramp - 1) * CYCLE_PS} ps"
    time_ps, _, _ = programs.run("wse2_fabric", ["reduce", algorithm, rows, columns, words], overhead,
                                 ranks=ranks)
    return time_ps / CYCLE_PS


def wafer_reduce(report, programs, reduced):
    report.say("### Reduction on a wafer")
    report.say()
    report.say(
        "T = max(C, E/N + L) + (2 T_R + 1) D [cycles] (Luczynski et al., HPDC'24), compared with a program of "
        "one-word messages on the `packet` network: `build/release/tests/message_programs "
        "configs/machines/wse2_fabric.yaml 'network.message_overhead=(2 T_R − 1) · 910 ps' -- reduce "
        "ALGORITHM ROWS COLUMNS WORDS`. A node adds one word per cycle and forwards it once those of its "
        "children have arrived. C, E, N, L and D are computed from their definitions. In two dimensions, the "
        "rows are reduced first and then the first column; T is the sum. T_R = 2 is assumed; a second value "
        "shows that the agreement does not depend on it. `star` and `chain` are bound at all lengths; the "
        "others from 32 words per node of the line upwards, where filling the line is short compared with "
        "streaming. For shorter vectors, the formula's maximum hides the smaller of its two terms entirely (too "
        "short: two-phase) and counts each level's ramps in full although a node forwards a word while others "
        "still arrive (too long: tree); those rows are shown without a bound and are off by up to 18 %.")
    report.say()
    cases = [(1, 64, 2048)] if reduced else [
        *((1, columns, words) for columns in (16, 64, 256) for words in (16, 256, 2048)),
        (1, 256, 8192), (16, 16, 2048), (64, 64, 256)]
    rows = []
    for algorithm in ALGORITHMS:
        for height, columns, words in cases:
            if algorithm == "star" and columns * columns * words > 1 << 23:
                continue  # billions of hops
            for ramp in ((2,) if reduced or columns != 64 or height > 1 else (2, 7)):
                ours = simulated_cycles(programs, algorithm, height, columns, words, ramp)
                form = reduce_cycles(algorithm, columns, words, ramp)
                form += reduce_cycles(algorithm, height, words, ramp) if height > 1 else 0
                bound = algorithm in ("star", "chain") or words >= 32 * columns
                name = f"{algorithm}, {height} x {columns}, {words} words, T_R {ramp}"
                said = report.at_most(off(ours, form), 4, f"reduce {name}: % off") if bound else ""
                rows.append([algorithm, f"{height} × {columns}", words, ramp, f"{ours:.0f}",
                             f"{form:.0f}", percent(ours, form), said])
    report.table(["algorithm", "nodes", "words", "T_R", "ours [cycles]", "formula [cycles]",
                  "difference", "off [%]"], rows)


def cases_on_ranks(chip, reduced):
    """(name, experiment, settings)"""
    cases = [("Grayskull, ResNet-50, 8 images", chip.paths["ResNet-50"], chip.words("ResNet-50", 8, 1))]
    if not reduced:
        wafer = ("workload.batch=40", "strategy.micro_batch=2")
        cases += [("Grayskull, BERT-base, 40 sentences", chip.paths["BERT-base"], chip.words("BERT-base", 4, 10)),
                  ("T-18B on the wafer, 40 samples, one tile a stage", "palm_wafer_t_18b",
                   (*wafer, "strategy.aggregation=stage")),
                  ("the same, every tile", "palm_wafer_t_18b",
                   (*wafer, "strategy.aggregation=none", "run.replay=none"))]
    return cases


def workloads(program, folder):
    """(name, experiment, options) of those whose digests the page states."""
    chip = Grayskull(Experiments(program, folder))
    return [(name, experiment, settings(*words)) for name, experiment, words in cases_on_ranks(chip, False)]


def digests(report, experiments, chip, programs, reduced):
    report.say("### Equal results on 1, 2, 3 and 4 ranks")
    report.say()
    report.say("`mpirun -n N build/release/tessera run …`, `result_digest`; for message programs, the "
               "simulated time, messages and traversals, with `ranks=N` (threads).")
    report.say()
    ranks = (1, 2, 3, 4)
    rows = []
    for what, experiment, words in cases_on_ranks(chip, reduced):
        found = [experiments.run(experiment, *words, ranks=count)["result_digest"] for count in ranks]
        rows.append([what, f"`{found[0]}`",
                     report.bound(len(set(found)) == 1, f"{what}: one digest on {ranks} ranks")])
    small = "wse2_fabric", ["reduce", "tree", 8, 16, 64]
    stacked = "palm_wafer", ["stack", 4, 4, 1_000_000, "all-reduce", "all-to-all", "read", "write"]
    for what, (machine, words) in (("reduce, tree, 8 × 16, 64 words", small),
                                   ("four tasks on 16 cores of the wafer", stacked)):
        found = [programs.run(machine, words, ranks=count) for count in ranks]
        rows.append([what, " ".join(map(str, found[0])),
                     report.bound(len(set(found)) == 1, f"{what}: one result on {ranks} ranks")])
    report.table(["experiment", "digest or result", "equal"], rows)


def sections(report, program, folder, setting):
    reduced = setting.reduced
    experiments, programs = Experiments(program, folder), MessagePrograms(program)
    chip = Grayskull(experiments)
    report.say("## Tiled machines")
    report.say()
    grayskull(report, chip, reduced)
    wafer_reduce(report, programs, reduced)
    digests(report, experiments, chip, programs, reduced)
