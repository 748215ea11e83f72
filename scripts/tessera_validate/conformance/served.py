"""Served models on tiles and on NPU cores, and ONNX models as plans, as operators on a chip and served."""

from conformance.cases import Apart, Family, Rule, as_it_is, changed
from conformance.chips import chain

NETWORK = {"topology": {"kind": "mesh", "rows": 1, "columns": 1, "bandwidth": "64 GB/s", "latency": "10 ns"},
           "network": {"model": "packet"}}
TILE = {"peak": {"fp16": "1 TFLOP/s"}, "sram": "64 MiB", "sram_bandwidth": "200 GB/s"}
COMPUTES = [{"model": "roofline"}, {"model": "gemm", "array": [16, 16]}]
CORE = {"model": "npu", "array": [16, 16], "vector_width": 64, "scratchpad": "256 KiB", "accumulator": "64 KiB",
        "dma": {"access": "block"}}

CLOCKS = Apart("tiles have closed forms of operations, cores execute instructions tile by tile")
PEAK = Apart("NPU cores have an array in place of a peak")
MEMORY = Apart("operands are in the SRAM of a tile, of cores in DRAM")
NOBODY = Apart("services count what their units send each other, chips what begins and ends shares of cores")
PRODUCTS = Apart("FLOPs of a chip are those of matrix products, of a plan those of functions, too")
OTHER_HARDWARE = {"simulated time": CLOCKS, "iteration time": CLOCKS, "bytes read": MEMORY, "bytes written": MEMORY,
                  "peak": PEAK, "utilisation": PEAK}
UNCOUNTED = {"bytes of messages": NOBODY, "bytes of collectives": NOBODY}


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
            "workload": {"kind": "onnx", "model": str(path), "data_type": "fp16"}}, \
        {"plan": as_it_is, "served": changed(as_service), "chip": changed(on_cores),
         "served on cores": changed(as_service_on_cores)}


def sections(report, program, folder, setting):
    report.say("## Served models and ONNX models on tiles and on cores")
    report.say()
    models = Kept(program, folder, "served", [
        Rule("cores", "tiles", "a language model, one request after the other", {**OTHER_HARDWARE, **UNCOUNTED})])
    models.many(6 if setting.reduced else 60, served)
    models.report(report)
    chips = {**OTHER_HARDWARE}
    models = Kept(program, folder, "onnx", [
        Rule("served", "plan", "one request on one tile", UNCOUNTED),
        Rule("chip", "plan", "products alone", chips, when=lambda given: given["name"] == "products"),
        Rule("chip", "plan", "with functions", {**chips, "FLOPs": PRODUCTS, "FLOPs done": PRODUCTS},
             when=lambda given: given["name"] == "functions"),
        Rule("served on cores", "chip", "one request on one core", UNCOUNTED)])
    models.many(6 if setting.reduced else 60, lambda draw: onnx(draw, folder))
    models.report(report)
