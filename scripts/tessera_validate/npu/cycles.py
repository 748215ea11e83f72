"""Cycles of products, convolutions, ResNet-50 and layers of GPT-3 Small beside
ONNXim's, in the mode that follows its public code; real models on the same NPU."""

import sys

import onnx
from npu.cores import MACHINES, SPEED, Chip, operators_text
from npu.cores import like_onnxim as operators_like_onnxim
from npu.models import CASES, REAL
from page import ROOT, rows_of, summary_of, trace_rows

sys.path.insert(0, str(ROOT / "scripts"))

import onnx_models

SERVER = MACHINES / "onnxim_server.yaml"
OWN = ("--set", "machine.compute.timing=deterministic", "--set", "machine.compute.tiling=fitted")
MOST_OFF = 10  # %
REQUESTS = 32 * 16  # bytes of a request, of each channel
CORES = 4
WIDTH, HEADS, TOKENS = 768, 12, 512
PROMPTS = 64, 32
FREE = "  drain: true\n  free: [MaxPool, GlobalAveragePool, Flatten]\n"  # a layer each, without cost


def gemm(name, rows, columns, depth, more=""):
    return name, f"kind: gemm, rows: {rows}, columns: {columns}, depth: {depth}{more}"


def norm(rows):
    return "norm", f"kind: norm, rows: {rows}, columns: {WIDTH}, skip: true"


def activation(operation, rows):
    return operation, f"kind: elementwise, operation: {operation}, elements: {4 * WIDTH * rows}"


def attention(queries, keys, more=""):
    return "attention", (f"kind: attention, heads: {HEADS}, queries: {queries}, keys: {keys}, "
                         f"head_width: {WIDTH // HEADS}{more}")


def chain(layers):
    """Layers one after the other, each a list of operators that begin together: those of the first layer at
    core 0, of the next at core 1, and so on. A layer without operators costs nothing."""
    texts, before = [], []
    for number, layer in enumerate(layers):
        names = [f"{name}{number}" for name, _ in layer]
        texts += [f"{text}, name: {name}, after: [{', '.join(before)}], first_core: {number % CORES}"
                  for name, (_, text) in zip(names, layer)]
        before = names or before
    return operators_text(texts)


def gpt3_small(rows, keys):
    """A layer of GPT-3 Small behind its embedding, as ONNXim runs it: a tile of attention for each head, the
    tiles of the first product twice."""
    qkv = (rows, 3 * WIDTH, WIDTH, ", bias: true")
    return chain([[], [gemm("qkv", *qkv), gemm("again", *qkv)], [attention(rows, keys, ", whole_heads: true")],
                  [gemm("projection", rows, WIDTH, WIDTH)], [norm(rows)], [gemm("up", rows, 4 * WIDTH, WIDTH)],
                  [activation("gelu", rows)], [gemm("down", rows, WIDTH, 4 * WIDTH)], [norm(rows)]])


def opt_125m():
    """A layer of OPT-125M in ONNXim's mode for language models: two prompts, then two steps of a token of each.
    Cache and concatenation cost nothing."""
    layers = []
    for step in range(3):
        requests = [(1, prompt + step) if step > 0 else (prompt, prompt) for prompt in PROMPTS]
        rows = sum(queries for queries, _ in requests)
        layers += [[gemm("qkv", rows, 3 * WIDTH, WIDTH, ", bias: true")], [],
                   *([attention(*request)] for request in requests), [],
                   [gemm("projection", rows, WIDTH, WIDTH, ", bias: true")], [norm(rows)],
                   [gemm("up", rows, 4 * WIDTH, WIDTH)], [activation("relu", rows)],
                   [gemm("down", rows, WIDTH, 4 * WIDTH, ", bias: true")], [norm(rows)]]
    return chain(layers)


def saved_by_onnx_runtime(path):
    """The model with its nodes in the order in which ONNX Runtime saves them: each behind those that make its
    inputs, of which the last come first."""
    model = onnx.load(path, load_external_data=False)
    makers = {output: node for node in model.graph.node for output in node.output}
    ordered, seen = [], set()

    def visit(tensor):
        node = makers.get(tensor)
        if node is not None and node.name not in seen:
            seen.add(node.name)
            for source in reversed(node.input):
                visit(source)
            ordered.append(node)

    for output in model.graph.output:
        visit(output.name)
    del model.graph.node[:]
    model.graph.node.extend(ordered)
    saved = path.with_name("saved_" + path.name)
    onnx.save(model, saved)
    return saved


def model_text(path, dimensions, values, level):
    """The section `workload` of an ONNX model."""
    def pairs(of):
        return ", ".join(f"{name}: {value}" for name, value in of.items())
    return (f"  kind: onnx\n  model: {path}\n  dimensions: {{{pairs(dimensions)}}}\n"
            f"  values: {{{pairs(values)}}}\n  optimize: {level}\n  data_type: fp16\n")


def path_of(file, folder):
    return REAL / file if file.endswith(".onnx") else onnx_models.write(file, folder)


def beside_onnxim(folder):
    """Names of models in onnxim_cycles.csv, each with its section `workload`."""
    resnet = saved_by_onnx_runtime(path_of("resnet50", folder))
    return [("resnet50", model_text(resnet, {"batch": 1}, {}, "extended") + FREE),
            ("gpt3s_s512_L1", gpt3_small(TOKENS, TOKENS)), ("gpt3s_g512_L1", gpt3_small(1, TOKENS + 1)),
            ("opt-125m_lang_t2.csv", opt_125m())]


def like_onnxim(report, chip, folder, setting):
    report.say("## Cycles: ResNet-50 and layers of language models beside ONNXim's")
    report.say()
    report.say("On the Server NPU as above: ResNet-50; a layer of GPT-3 Small for a prompt of 512 tokens and for the "
               "token after it; a layer of OPT-125M in ONNXim's mode for language models. `active` as above. `array`: "
               "the share of the time in which the array of the busiest core is busy. `reads, writes`: requests of 32 "
               "bytes to a channel, ours the mean of all channels, theirs of the first.")
    report.say()
    theirs = {row["model"]: row for row in rows_of("onnxim_cycles.csv") if row["config"] == "server_simple"}
    table = []
    for name, text in beside_onnxim(folder):
        row = theirs[name]
        output, cpu = chip.workload(SERVER, text)
        cycles = summary_of(output)["simulated_time_ps"] // 1000
        cores, channels = trace_rows(output, "cores"), trace_rows(output, "channels")
        active = max(core["matrix_active"] for core in cores)
        busy = max(core["matrix_busy"] for core in cores) / cycles / 10
        reads, writes = (round(sum(one[what] for one in channels) / REQUESTS) for what in ("read", "written"))
        off = 100 * (cycles / int(row["core_cycles"]) - 1)
        less = float(row["user_s"]) / cpu
        same = report.bound(active == int(row["busiest_matmul_active"]), f"active cycles as ONNXim's, {name}")
        near = report.bound(abs(off) <= MOST_OFF, f"{off:+.2f} % off, at most {MOST_OFF}, {name}")
        table.append((name, active, f"{row['busiest_matmul_active']} ({same})", cycles, row["core_cycles"],
                      f"{off:+.1f} (≤ {MOST_OFF}: {near})",
                      f"{busy:.1f} %", row["busiest_systolic_util_pct"] + " %",
                      f"{reads}, {writes}", f"{row['ch0_reads']}, {row['ch0_writes']}", f"{cpu:.2f}", row["user_s"],
                      f"{less:.0f}" if setting.counts_only
                      else report.at_least(less, SPEED, f"times less CPU time, {name}", "{:.0f}")))
    report.table(("model", "active", "theirs", "end to end", "theirs", "off [%]", "array", "theirs", "reads, writes",
                  "theirs", "CPU [s]", "theirs", "times less"), table)
    explain(report, theirs)


def explain(report, theirs):
    prompt = int(theirs["gpt3s_s512_L1"]["core_cycles"])
    heads = HEADS // CORES * TOKENS * (WIDTH // HEADS)  # cycles of the second product of a core's heads
    report.say("What ONNXim's public code does beyond tile sizes, and these runs reproduce:")
    report.say()
    report.say("- Leftover tiles: the first tile of a layer goes to the core with the number of the layer. Every node "
               "of a model is a layer, in the order in which ONNX Runtime saves the nodes (`drain`); pooling and "
               "flattening are layers that cost nothing (`free`). The model file is not among the published data. "
               "A shortcut's convolution is before the others of its block, as ONNX Runtime sorts nodes: which core "
               "computes which tiles, and so the active cycles of the busiest one, depend on this order (row "
               "`resnet50`).")
    report.say("- A convolution loads neither bias nor skip connection, only those rows and columns of its image that "
               "the stride visits, and only those weights of a block that belong to one output (`tiling: onnxim`). "
               "Otherwise ResNet-50 would read more (its reads are in the table).")
    report.say("- The tiles of the first product of a GPT-3 layer are made twice: attention adds that product to the "
               "model while the tiles of all operators are being made, so that it is processed again. Both sets begin "
               "at the same core (`first_core`) and read the weights, so that for each token "
               f"{2 * 3 * WIDTH ** 2 / 1e6:.1f} MB are read once more and the array computes with them once more.")
    report.say("- Attention of GPT-3 has one tile per head (`whole_heads`). Its second product occupies the array for "
               f"queries × head width cycles, 16 times what the prompt needs: {HEADS // CORES} heads on a core take "
               f"{heads} of ONNXim's {prompt} cycles for the prompt.")
    report.say("- The requests to OPT-125M are not among the published data either. Tiles, traffic and active cycles "
               f"are those of two requests with prompts of {PROMPTS[0]} and {PROMPTS[1]} tokens and two further steps "
               "with one token of each. Cache and concatenation cost nothing.")
    report.say()
    report.say("What differs: norms and activations are split over all cores, "
               "norms take cycles for each row, biases of activations are not loaded, heads load their own keys and "
               "values instead of those of the first head, and DRAM responds as in the rows above.")
    report.say()


def real_models(report, chip, folder, setting):
    report.say("## Cycles: models on the Server NPU")
    report.say()
    report.say("Models of the part above, without Llama 3, with our own timing and tiling, fp16, optimised with "
               "`all`. Busy shares are those of the units of the busiest core, over the whole time.")
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
    report.say("All models run to completion. Depthwise convolutions of the OCR models use the vector unit, all "
               "channels together.")
    report.say()


def sections(report, program, folder, setting):
    chip = Chip(program, folder)
    if not setting.reduced:  # then the part `cores` makes them
        operators_like_onnxim(report, chip, setting)
    like_onnxim(report, chip, folder, setting)
    real_models(report, chip, folder, setting)
