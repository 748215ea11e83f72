"""Served models on tiles and on NPU cores, and ONNX models as plans, as operators on a chip and served."""

from conformance.cases import Apart, Family, Rule, as_it_is, changed
from conformance.chips import chain
from page import ROOT

MODELS = ROOT / "tests" / "onnx" / "models"

NETWORK = {"topology": {"kind": "mesh", "rows": 1, "columns": 1, "bandwidth": "64 GB/s", "latency": "10 ns"},
           "network": {"model": "packet"}}
TILE = {"peak": {"fp16": "1 TFLOP/s"}, "sram": "64 MiB", "sram_bandwidth": "200 GB/s"}
COMPUTES = [{"model": "roofline"}, {"model": "gemm", "array": [16, 16]}]
CORE = {"model": "npu", "array": [16, 16], "vector_width": 64, "scratchpad": "256 KiB", "accumulator": "64 KiB",
        "dma": {"access": "block"}}

ARRAY = 2 * 16 * 16 * 1e9 / 1e12  # of the peak of a tile
CLOCKS = "tiles use closed forms for operations in SRAM, cores execute instructions tile by tile from DRAM"
PEAK = Apart("an array of 16x16 at 1 GHz instead of 1 TFLOP/s", 0.999 * ARRAY, 1.001 * ARRAY)

SQUARES = Apart("a chip splits transpositions into squares, a plan knows only their bytes", 0.95, 1.05)
SQUARED = Apart("follows from that", 1 / 1.05, 1 / 0.95)
PASSES = Apart("the same; a plan counts an addition for each FLOP of a function, and runs functions that are fused "
               "with a product after it; a chip has the passes of each function by name (for softmax also trees over "
               "rows), and runs them tile by tile beside the product", 0.75, 2)
PASSED = Apart("follows from that", 1 / 2, 1 / 0.75)


def passes(given):
    """How often a served model goes through its layers: the prompt of a request, and a token at a time."""
    requests = given["workload"]["tenants"][0]["requests"]
    return requests["count"] * requests["generate"]


def weights(summary):
    return summary["peak_memory"]["stages"][0]["parts"]["weights"]


def weights_of_passes(summary, given):
    return weights(summary) * passes(given)


def kept(summary, given):
    """Weights and activations."""
    del given
    return summary["peak_memory"]["bytes"]


def on_other_hardware(shortest, longest, read, written, more=""):
    """Cores against tiles: the latter have all in SRAM, and neither read nor write DRAM."""
    time = Apart(CLOCKS + more, shortest, longest)
    return {"simulated time": time, "iteration time": time, "bytes read": read, "bytes written": written,
            "peak": PEAK, "utilisation": Apart("follows from both", 1 / ARRAY / longest, 1 / ARRAY / shortest)}


def tile(compute):
    return {**NETWORK, "tile": TILE, "compute": compute}


def core():
    return {**NETWORK, "compute": CORE, "memory": {"model": "channel"},
            "dram": {"at": "edge", "edges": ["west", "east"], "bandwidth": "32 GB/s", "latency": "100 ns",
                     "capacity": "8 GB"}}


def on_cores(given):
    given["machine"] = core()
    if given["workload"]["kind"] == "serving":
        given["workload"]["npu_cores"] = 1
    else:
        del given["strategy"]


def as_plan_on_a_core(given):
    # Its SRAM, which holds no model, has no part in operands that cores load.
    given["machine"] = {**core(), "tile": {"peak": {"fp16": f"{ARRAY} TFLOP/s"}, "sram": "4 KiB"}}


def as_service_on_tiles(given):
    strategy = dict(given["strategy"])
    as_service(given)
    given["workload"]["tenants"][0] |= strategy


def as_service(given):
    model = {name: value for name, value in given["workload"].items() if name != "kind"}
    given.pop("strategy", None)
    given["workload"] = {"kind": "serving", "tenants": [
        {"name": "model", "onnx": model, "requests": {"arrivals": "closed", "clients": 1, "count": 1}}]}


def as_service_on_cores(given):
    as_service(given)
    on_cores(given)


class Kept(Family):
    """Also holds what the forms keep in memory, part by part, as far as both have the part."""

    def __init__(self, *rest):
        super().__init__(*rest)
        self.kept, self.differ = {}, []

    def run(self, experiment):
        summary = super().run(experiment)
        if summary is None or not summary.get("peak_memory"):
            return summary
        parts = summary["peak_memory"]["stages"][0]["parts"]
        mine = {part: parts[part] for part in ("weights", "cache") if part in parts}
        first = self.kept.setdefault(self.cases, mine)
        if any(first.get(part, held) != held for part, held in mine.items()):
            self.differ.append((first, mine))
        return summary

    def report(self, report):
        super().report(report)
        report.bound(not self.differ, f"{self.name}: weights and caches of all forms are equal")


def language_model(draw):
    model = {"layers": draw.choice([1, 3]), "hidden": 64, "heads": 4, "kv_heads": draw.choice([1, 2, 4]),
             "sequence": 256, "vocabulary": 300, "mlp": draw.choice(["gelu", "relu", "swiglu"]),
             "normalisation": draw.choice(["layer_norm", "rms_norm"]),
             "positions": draw.choice(["learned", "rotary", "none"]), "biases": draw.choice([True, False])}
    if draw.random() < 0.3:
        model["experts"] = {"count": 4, "top_k": 2, "shared": draw.choice([0, 1])}
    if draw.random() < 0.3:
        model |= {"window": 24, "pattern": ["local", "attention"]}
    return model


def served(draw):
    requests = {"arrivals": "closed", "clients": 1, "count": draw.choice([1, 3]), "prompt": draw.choice([1, 40]),
                "generate": draw.choice([1, 5])}
    work = {"kind": "serving",
            "tenants": [{"name": "model", "language_model": language_model(draw), "requests": requests}]}
    return {"machine": tile(draw.choice(COMPUTES)), "workload": work, "run": {"trace": "none"}}, \
        {"tiles": as_it_is, "cores": changed(on_cores)}


def onnx(draw, folder):
    one = chain(draw)
    path = one.written(folder / f"model{draw.randrange(1 << 30)}.onnx")
    products = all(step["kind"] in ("gemm", "transpose") for step in one.listed)
    return {"machine": tile(draw.choice(COMPUTES)), "strategy": {}, "run": {"trace": "none"},
            "name": "products" if products else "functions",
            "workload": {"kind": "onnx", "model": str(path), "data_type": "fp16",
                         "optimize": draw.choice(["none", "extended"])}}, \
        {"plan": as_it_is, "served": changed(as_service), "chip": changed(on_cores),
         "plan on a core": changed(as_plan_on_a_core), "served on cores": changed(as_service_on_cores)}


class Meshes:
    """BERT-base cut over tiles: a plan, and one request to the same cut."""
    DEGREES = ((4, 1), (2, 1), (1, 2), (2, 2), (1, 4), (1, 1))

    @staticmethod
    def draw(draw):
        tensor, pipeline = draw.choice(Meshes.DEGREES)
        topology = {**NETWORK["topology"], "rows": 2, "columns": 2}
        return {"machine": {"topology": topology, "network": {"model": draw.choice(["analytical", "packet"])},
                            "tile": {**TILE, "sram": "512 MiB"}, "compute": draw.choice(COMPUTES)},
                "strategy": {"tensor": tensor, "pipeline": pipeline}, "run": {"trace": "none"},
                "workload": {"kind": "onnx", "model": str(MODELS / "bert_base.onnx"), "batch": "batch",
                             "dimensions": {"sequence": draw.choice([8, 32])}, "optimize": draw.choice(
                                 ["none", "basic", "extended"]), "data_type": "fp16"}}, \
            {"plan": as_it_is, "served": changed(as_service_on_tiles)}

    @staticmethod
    def rules():
        def rule(where, when, apart):
            return Rule("served", "plan", where, apart, when=when)
        alone = [rule("one tile", lambda given: tiles_of(given) == 1, {})]
        hosts = Apart("the host notifies the tiles of a step one after the other, stages wait for the preceding work, "
                      "and rings follow the order of the tiles' numbers", 1, 1.005)
        follows = Apart("follows from that", 0.995, 1)
        times = {"simulated time": hosts, "iteration time": hosts, "utilisation": follows}
        once = {**times, "FLOPs done": Apart("services count once what every tile of a tensor group repeats, "
                                             "such as norms", 1 / 4, 1)}
        return [*alone,
                rule("stages", lambda given: given["strategy"]["tensor"] == 1 and tiles_of(given) > 1, times),
                rule("tensor groups", lambda given: given["strategy"]["tensor"] > 1, once)]


def tiles_of(given):
    return given["strategy"]["tensor"] * given["strategy"]["pipeline"]


def sections(report, program, folder, setting):
    report.say("## Served models and ONNX models on tiles and on cores")
    report.say()
    read = Apart("tiles hold everything in SRAM; cores read weights in each pass, and activations", 0.5, 10,
                 of=weights_of_passes, of_what="the weights, each pass")
    written = Apart("the same; cores write activations", 0.005, 10, of=weights_of_passes,
                    of_what="the weights, each pass")
    models = Kept(program, folder, "served", [
        Rule("cores", "tiles", "a language model, one request after the other", on_other_hardware(1, 12, read, written))])
    models.many(3 if setting.reduced else 60, served)
    models.report(report)
    read = Apart("the same; for small models, data that is read again counts, too", 0.01, 10, of=kept,
                 of_what="what a tile holds")
    written = Apart("the same", 0.001, 10, of=kept, of_what="what a tile holds")
    models = Kept(program, folder, "onnx", [
        Rule("served", "plan", "one request on one tile"),
        Rule("chip", "plan", "products alone", on_other_hardware(1, 12, read, written),
             when=lambda given: given["name"] == "products"),
        Rule("chip", "plan", "with functions", on_other_hardware(
            0.5, 200, read, written, "; trees over rows take cycles, functions run beside a product"),
             when=lambda given: given["name"] == "functions"),
        Rule("plan on a core", "chip", "`strategy: {}`, products and transpositions",
             {"simulated time": SQUARES, "iteration time": SQUARES, "utilisation": SQUARED},
             when=lambda given: given["name"] == "products"),
        Rule("plan on a core", "chip", "`strategy: {}`, with functions",
             {"simulated time": PASSES, "iteration time": PASSES, "utilisation": PASSED},
             when=lambda given: given["name"] == "functions"),
        Rule("served on cores", "chip", "one request on one core")])
    models.many(3 if setting.reduced else 60, lambda draw: onnx(draw, folder))
    models.report(report)
    cuts = Family(program, folder, "onnx over tiles", Meshes.rules())
    cuts.many(2 if setting.reduced else 30, Meshes.draw)
    cuts.report(report)
