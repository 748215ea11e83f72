"""ASTRA-sim 2.0's comparison of conventional and wafer-scale systems in training: Tables I and II.

The paper shows bars without numbers, and of the models gives only parameters and degrees of parallelism.
Assumed here: model parallelism as in Table II (GPT-3 16, Transformer-1T 128, DLRM's tables over all
NPUs), data parallelism over the rest of the 512 NPUs; 8 and 4 sequences of 2048 tokens per replica,
so that collectives have 100 MB to 1 GB, as section III-C says; 8 layers of each language model, since
all are alike; DLRM with 512 samples per NPU, each with 26 embeddings of 64 numbers of 4 B (26 as in the
Criteo data, M. Naumov et al., arXiv:1906.00091), and gradients of 4 B. NPUs compute at 234 TFLOP/s (section
IV). Exchanges of embeddings send all messages at once, without contention on this network, so they take
almost no time. Language models have Megatron's two all-reduces per layer and pass, and one all-reduce of
each layer's gradients after its backward pass.
"""

import math

import chakra_writer as chakra
from collectives import topologies
from operators.rows import listed
from page import Runner

NPUS = 512
LAYERS = 8
# Hidden size, model parallelism, sequences a replica.
MODELS = {"GPT-3": (12288, 16, 8), "Transformer-1T": (25600, 128, 4)}
SEQUENCE = 2048
DLRM_PARAMETERS, DLRM_SAMPLES, DLRM_TABLES, DLRM_WIDTH = 57_000_000, 512, 26, 64
DLRM_EXCHANGED = 4 * DLRM_SAMPLES * DLRM_TABLES * DLRM_WIDTH
# Same bandwidth of an NPU: a wafer, and a conventional system.
EQUAL = (("W-1D-350", "Conv-3D"), ("W-1D-600", "Conv-4D"))
PEAK_FLOPS = 234e12
TILE = "tile: {peak: {fp16: 234 TFLOP/s}}"
# Of collectives where systems grow to 4096 NPUs.
SCALING_CHUNKS = 16
# NPUs from which on the wafer wins. Groups of GPT-3's 16 that reach beyond a wafer of 4 or 8 are 4 or 2
# of the 8 in a full mesh, and use 3 or 1 of the 7 links that each of them has there.
WAFER_WINS_FROM = {"GPT-3": 4096, "Transformer-1T": 1024}
# The paper calls them identical for DLRM; what they may differ by here, in %, as sizes are assumed.
IDENTICAL = 10


def flops_of(hidden, model_parallel, tokens):
    """Of the forward pass of a layer, at an NPU; the backward pass has twice as many."""
    parameters = 12 * hidden ** 2 // model_parallel
    return 2 * parameters * tokens + 4 * SEQUENCE * hidden * tokens // model_parallel


def language_model(hidden, model_parallel, sequences):
    """Neighbours share the model, those of one number in all groups the data."""
    trace = chakra.Trace()
    tokens = sequences * SEQUENCE
    activations, parameters = 2 * tokens * hidden, 12 * hidden ** 2 // model_parallel
    flops = flops_of(hidden, model_parallel, tokens)
    last = None
    for layer in range(LAYERS):
        for part in ("attention", "mlp"):
            last = trace.compute(f"forward {part}", flops // 2, 0, [last])
            last = trace.collective(f"forward {part} reduce", chakra.ALL_REDUCE, activations, [last],
                                    chakra.NEAR)
    for layer in reversed(range(LAYERS)):
        for part in ("mlp", "attention"):
            last = trace.compute(f"backward {part}", flops, 0, [last])
            last = trace.collective(f"backward {part} reduce", chakra.ALL_REDUCE, activations, [last],
                                    chakra.NEAR)
        trace.collective("gradients", chakra.ALL_REDUCE, 2 * parameters, [last], chakra.FAR)
    return trace


def dlrm():
    trace = chakra.Trace()
    half = DLRM_PARAMETERS * DLRM_SAMPLES  # of two FLOPs a parameter, for half of the layers
    looked_up = trace.collective("embeddings", chakra.ALL_TO_ALL, DLRM_EXCHANGED, [])
    bottom = trace.compute("forward bottom", half, 0, [])
    last = trace.compute("forward top", half, 0, [looked_up, bottom])
    last = trace.compute("backward top", 2 * half, 0, [last])
    trace.collective("gradients top", chakra.ALL_REDUCE, 4 * DLRM_PARAMETERS // 2, [last])
    trace.collective("embeddings back", chakra.ALL_TO_ALL, DLRM_EXCHANGED, [last])
    last = trace.compute("backward bottom", 2 * half, 0, [last])
    trace.collective("gradients bottom", chakra.ALL_REDUCE, 4 * DLRM_PARAMETERS // 2, [last])
    return trace


def write_workload(folder, name, npus=NPUS):
    if name not in MODELS:
        return chakra.write_alike(folder, name, dlrm(), npus, npus)
    return chakra.write_alike(folder, f"{name}-{npus}", language_model(*MODELS[name]), npus,
                              MODELS[name][1])


def compute_ms(name):
    """Of an NPU, which does one thing after the other."""
    hidden, model_parallel, sequences = MODELS[name]
    return 3 * LAYERS * flops_of(hidden, model_parallel, sequences * SEQUENCE) / PEAK_FLOPS * 1e3


def scaling(report, runner, folder):
    """Fig. 9(b): the systems of Table III."""
    report.say("## ASTRA-sim 2.0's Table III in training")
    report.say()
    report.say("Fig. 9(b) of the paper, which gives no numbers: the models of Table I on the systems of "
               "Table III, which add NPUs either behind network cards (dimension 4) or on the wafer "
               f"(dimension 1). Collectives have {SCALING_CHUNKS} chunks, and the batch per replica is constant. "
               "*Exposed* is the time without computing.")
    report.say()
    times = {}
    for name in MODELS:
        rows = []
        for sizes, _ in topologies.TABLE_3:
            npus = math.prod(sizes)
            path = folder / f"scaling-{name}-{'_'.join(map(str, sizes))}.yaml"
            conv = topologies.CONV_4D
            text = topologies.experiment_of(
                conv["blocks"], sizes, conv["rates"], conv["latencies_ns"],
                workload=write_workload(folder, name, npus), chunks=SCALING_CHUNKS, more=TILE)
            times[name, sizes] = topologies.run_us(runner, path, text) / 1e3
            rows.append(["_".join(map(str, sizes)), npus, f"{compute_ms(name):.1f}",
                         f"{times[name, sizes] - compute_ms(name):.2f}",
                         f"{times[name, sizes]:.2f}"])
        report.say(f"### {name}")
        report.say()
        report.table(["sizes", "NPUs", "computing [ms]", "exposed [ms]", "step [ms]"], rows)
        base, *grown = [sizes for sizes, _ in topologies.TABLE_3]
        out, up = grown[:3], grown[3:]
        most = max(abs(times[name, sizes] / times[name, base] - 1) for sizes in out)
        report.bound(100 * most <= 1, f"{name}: scaling out changes the step by {100 * most:.2f} %, "
                                      "at most 1")
        for more_out, more_up in zip(out, up):
            npus = math.prod(more_up)
            ratio = times[name, more_out] / times[name, more_up]
            if npus >= WAFER_WINS_FROM[name]:
                report.bound(ratio > 1, f"{name}: {npus} NPUs are {ratio:.3f} times as fast on the wafer")
    base, *grown = [sizes for sizes, _ in topologies.TABLE_3]
    shares = {name: listed([f"{times[name, sizes] / times[name, base]:.2f}" for sizes in grown[3:]])
              for name in MODELS}
    on_a_wafer = listed([str(sizes[0]) for sizes in grown[3:]])
    report.say("The paper's trend is that models are faster with 4 and 8 NPUs on a wafer, and slower again with 16. "
               f"With {on_a_wafer} NPUs on a wafer, a step of Transformer-1T takes {shares['Transformer-1T']} of its "
               f"time with {base[0]}, and one of GPT-3 {shares['GPT-3']}: GPT-3's groups of 16 extend beyond wafers of "
               "4 and 8 to some of the NPUs of a full mesh, and use only that part of its links.")
    report.say()


def sections(report, program, folder, setting):
    if setting.reduced:
        return
    runner = Runner(program, folder)
    report.say("## ASTRA-sim 2.0's Table I in training")
    report.say()
    report.say(__doc__.split("\n\n", 1)[1].replace("\n", " ").strip())
    report.say()
    times = {}
    for workload in ("DLRM", *MODELS):
        described = write_workload(folder, workload)
        for number, (system, blocks, sizes, npu_rates, _, themis) in enumerate(topologies.TABLE_1):
            for order in ("ascending",) if themis is None else ("ascending", "themis"):
                text = topologies.system_of(blocks, sizes, npu_rates, order, topologies.CHUNKS,
                                              described, TILE)
                path = folder / f"{workload}-{number}-{order}.yaml"
                times[workload, system, order] = topologies.run_us(runner, path, text)
    for workload in ("DLRM", *MODELS):
        base = times[workload, "W-1D-350", "ascending"]
        rows = []
        for system, *_, themis in topologies.TABLE_1:
            row = [system]
            for order in ("ascending", "themis"):
                time = times.get((workload, system, order))
                row += ["", ""] if time is None else [f"{time / 1e3:.2f}", f"{base / time:.3f}"]
            rows.append(row)
        report.say(f"### {workload}")
        report.say()
        report.table(["system", "step [ms]", "speed-up over W-1D-350", "with Themis [ms]",
                      "speed-up over W-1D-350"], rows)
        for system, *_, themis in topologies.TABLE_1:
            if themis is not None:
                report.bound(times[workload, system, "themis"] <=
                             1.01 * times[workload, system, "ascending"],
                             f"{workload}: Themis slows {system} by no more than 1 %")
        for wafer, conventional in EQUAL:
            ratio = times[workload, conventional, "themis"] / times[workload, wafer, "ascending"]
            if workload == "DLRM":
                report.bound(100 * abs(ratio - 1) <= IDENTICAL,
                             f"DLRM: {conventional} with Themis as fast as {wafer} within {IDENTICAL} %: "
                             f"{ratio:.3f}")
            else:
                report.bound(ratio > 1, f"{workload}: {wafer} faster than {conventional} with Themis: "
                                        f"{ratio:.3f}")
    scaling(report, runner, folder)
