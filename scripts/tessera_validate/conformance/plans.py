"""A plan as the programs of its tiles, as graphs, and as Chakra traces of those, read back."""

from conformance.cases import Apart, Family, Rule, as_it_is, as_only_tenant, changed, from_trace
from levels.cases import GB, rate, transformer

NPUS = 8


def one_ring(experiment):
    """As programs have collectives: a ring of the members, whatever the machine is like."""
    del experiment
    return {"collectives": {"communicators": "flat"}}


def ring_graphs(experiment):
    experiment["execution"] = one_ring(experiment)


def plain_graphs(experiment):
    experiment["execution"] = {}


def traced(experiment):
    return {**one_ring(experiment), "lanes": {"memory": 0}}


MODEL = Apart("a trace does not state its model's FLOPs, so those executed count", 1, 3)
# Groups of these plans have two members or four.
STEPS = Apart("four members take four steps by halving and doubling, or two by two, where a ring takes six, with "
              "the same bytes", 2 / 3, 1)
FASTER = Apart("follows from that", 1, 1.5)
PASSED = Apart("the same, and all-to-alls of four members take two steps of half the data, where a ring takes "
               "three of a quarter", 2 / 3, 4 / 3)
PASSING = Apart("follows from that", 0.75, 1.5)
BANKS = Apart("accesses that a tile starts at the same instant, as after background collectives, may reach banks "
              "and rows in a different order", 0.98, 1.02)
BANKED = Apart("follows from that", 1 / 1.02, 1 / 0.98)
TWICE = Apart("all-to-alls over two by two members send half of the data twice, instead of three quarters", 1, 4 / 3)


def through_dimensions(given):
    """What of a plan its dimensions change: nothing, times, or bytes of all-to-alls as well."""
    keys = given["strategy"]
    topology = given["machine"]["topology"]
    pairs = max(keys["tensor"], keys["data"] * keys["context"]) <= 2
    if pairs or topology.get("shape", "").startswith("Ring"):
        return "nothing"
    grid = topology["kind"] != "stack"
    return "bytes" if grid and keys.get("expert", 1) > 2 else "times"

FORMS = {"programs": as_it_is, "graphs": changed(ring_graphs), "trace": from_trace(traced),
         "plain graphs": changed(plain_graphs), "only tenant": as_only_tenant}


def topology(draw):
    links = {"bandwidth": rate(draw.choice([10, 100]) * GB), "latency": f"{draw.choice([20, 500])} ns"}
    return draw.choice([{"kind": "stack", "shape": f"Switch({NPUS})", "dimensions": [links]},
                        {"kind": "stack", "shape": f"Ring({NPUS})", "dimensions": [links]},
                        {"kind": "mesh", "rows": 2, "columns": NPUS // 2, **links},
                        {"kind": "torus", "rows": 2, "columns": NPUS // 2, **links}])


def machine(draw):
    return {"topology": topology(draw),
            "tile": {"peak": {"fp16": f"{draw.choice([1, 10])} TFLOP/s"},
                     "sram": draw.choice(["10 kB", "64 MiB"])},
            "dram": {"at": "each", "bandwidth": "50 GB/s", "latency": "100 ns"},
            "network": {"model": draw.choice(["analytical", "packet"]),
                        "collective_overhead": draw.choice(["0 ns", "5 us"])}}


def chain(draw):
    """Layers written out."""
    width = draw.choice([32, 50])
    operators = [{"kind": "linear", "outputs": 4 * width, "sharding": "column", "then": ["relu"]},
                 {"kind": "linear", "outputs": width, "sharding": "row"}]
    return {"kind": "layers", "input": [16, width], "batch": draw.choice([8, 16]),
            "layers": [{"name": "block", "repeat": draw.randint(4, 6), "operators": operators}]}


def work_of(draw):
    if draw.random() < 0.25:
        work = chain(draw)
        if draw.random() < 0.25:
            work["mode"] = "inference"
        return work
    work = transformer(draw, draw.random() < 0.8)
    work.update(layers=draw.randint(4, 6), vocabulary=draw.choice([128, 101]))
    if draw.random() < 0.3:
        work["kv_heads"] = 4
    if draw.random() < 0.2:
        work["experts"] = {"count": 4, "top_k": draw.choice([1, 2]), "shared": draw.choice([0, 1])}
    return work


def strategy(draw, work):
    names = ("pipeline", "tensor", "data", "context")
    keys = dict(zip(names, draw.choice([(2, 2, 2, 1), (1, 4, 2, 1), (2, 4, 1, 1), (2, 1, 4, 1), (4, 1, 2, 1),
                                        (2, 2, 1, 1), (1, 2, 2, 2), (2, 1, 1, 2), (1, 1, 2, 1)])))
    if work["kind"] == "layers":
        keys["context"] = 1
    if "experts" in work:
        keys["expert"] = keys["data"] * keys["context"]
    if keys["tensor"] > 1 and work["kind"] != "layers":
        keys["sequence_parallel"] = draw.choice([True, False])
    if work.get("mode") == "inference":
        return keys
    keys.update(schedule=draw.choice(["gpipe", "1f1b", "zb-h1"]), zero=draw.choice([0, 0, 1, 2, 3]),
                recompute=draw.choice(["none", "selective", "full"]),
                overlap_gradients=draw.choice([True, False]), overlap_tensor=draw.choice([True, False]))
    if keys["pipeline"] == 2 and draw.random() < 0.3:
        keys.update(chunks=2, schedule="interleaved")
    if keys["tensor"] > 1 and draw.random() < 0.3:
        keys["boundary"] = draw.choice(["scattered", "broadcast"])
    return keys


def experiment(draw):
    work = work_of(draw)
    return {"machine": machine(draw), "workload": work, "strategy": strategy(draw, work),
            "run": {"trace": "none", "iterations": draw.choice([1, 1, 2])}}, FORMS


def core_experiment(draw):
    """On NPU cores, whose operands are in SRAM or in channels that tiles share."""
    given, _ = experiment(draw)
    given["machine"].update(
        network={"model": "analytical", "collective_overhead": draw.choice(["0 ns", "5 us"])},
        memory=draw.choice([{"model": "channel"}, {"model": "channel"}, {"model": "dram", "preset": "DDR4"}]),
        dram={"at": "edge", "edges": ["west", "east"], "bandwidth": "50 GB/s", "latency": "100 ns"}
        if given["machine"]["topology"]["kind"] == "mesh" else given["machine"]["dram"],
        compute={"model": "npu", "array": [16, 16], "vector_width": 64, "scratchpad": "256 KiB",
                 "accumulator": "64 KiB", "operands": draw.choice(["memory", "sram"])})
    return given, {name: FORMS[name] for name in ("programs", "graphs", "trace", "only tenant")}


def blocks(draw):
    """Machines on which members of a group lie in blocks: servers, or tiles of a wafer."""
    near = {"bandwidth": rate(draw.choice([50, 200]) * GB), "latency": "100 ns"}
    far = {"bandwidth": rate(draw.choice([5, 20]) * GB), "latency": "1 us"}
    each = draw.choice([2, 4])
    servers = {"kind": "cluster", "nodes": NPUS // each, "accelerators": each,
               "nics": draw.choice([1, each // 2, each]), "switch": near, "nic": far, "port": far,
               "fabric": {"kind": "switch"}}
    wafer = {"kind": "wafer", "tiles": [1, 2], "cores": [2, 2], "intra_tile": near, "inter_tile": far}
    return draw.choice([servers, servers, wafer])


def block_experiment(draw):
    given, _ = experiment(draw)
    given["machine"]["topology"] = blocks(draw)
    given["machine"]["network"]["model"] = draw.choice(["analytical", "packet", "flow"])
    if draw.random() < 0.5:
        given["strategy"].update(pipeline=1, tensor=1, data=NPUS, context=1)
        if "experts" in given["workload"]:
            given["workload"]["experts"]["count"] = NPUS
            given["strategy"]["expert"] = NPUS
        for key in ("sequence_parallel", "boundary", "chunks", "schedule"):
            given["strategy"].pop(key, None)
    return given, {name: FORMS[name] for name in ("programs", "graphs", "trace", "only tenant")}


def sections(report, program, folder, setting):
    report.say("## Plans")
    report.say()
    report.say("Training and inference of transformers and of explicitly listed layers, with tensor, sequence, "
               "data, pipeline, context and expert parallelism, ZeRO, recomputation, chunks and ZB-H1, on "
               "`analytical` and `packet`; in some, there are idle tiles.")
    report.say()
    family = Family(program, folder, "plans", [
        Rule("graphs", "programs", "`execution.collectives.communicators: flat`, rings of the members in "
                                   "their order, as in programs"),
        Rule("trace", "graphs", "`execution.lanes.memory: 0`, `workload.samples`",
             {"FLOPs": MODEL, "utilisation": MODEL}),
        Rule("plain graphs", "graphs", "`execution: {}`; groups of two, or a machine that is one ring",
             when=lambda given: through_dimensions(given) == "nothing"),
        Rule("plain graphs", "graphs", "`execution: {}`; groups of four on a switch or a grid",
             {"simulated time": STEPS, "iteration time": STEPS, "utilisation": FASTER},
             when=lambda given: through_dimensions(given) == "times"),
        Rule("plain graphs", "graphs", "`execution: {}`; experts of four replicas on a grid",
             {"simulated time": PASSED, "iteration time": PASSED, "utilisation": PASSING,
              "bytes of collectives": TWICE},
             when=lambda given: through_dimensions(given) == "bytes"),
        Rule("only tenant", "programs")])
    family.many(4 if setting.reduced else 60, experiment)
    family.report(report)
    report.say("The same plans, and plans with eight replicas, on clusters and wafers, where groups have several "
               "members in each server or tile and their rings are split into channels, on `analytical`, "
               "`packet` and `flow`.")
    report.say()
    clusters = Family(program, folder, "plans on clusters", [
        Rule("graphs", "programs", "`execution.collectives.communicators: flat`, as many channels as programs have"),
        Rule("trace", "graphs", "`execution.lanes.memory: 0`, `workload.samples`",
             {"FLOPs": MODEL, "utilisation": MODEL}),
        Rule("only tenant", "programs")])
    clusters.many(3 if setting.reduced else 40, block_experiment)
    clusters.report(report)
    report.say("The same plans on NPU cores (`machine.compute.model: npu`), on `analytical`.")
    report.say()
    cores = Family(program, folder, "plans on cores", [
        Rule("graphs", "programs", "`execution.collectives.communicators: flat`; `memory.model: channel`",
             when=lambda given: given["machine"]["memory"]["model"] == "channel"),
        Rule("graphs", "programs", "the same; `memory.model: dram`",
             {"simulated time": BANKS, "iteration time": BANKS, "utilisation": BANKED},
             when=lambda given: given["machine"]["memory"]["model"] == "dram"),
        Rule("trace", "graphs", "`execution.lanes.memory: 0`, `workload.samples`",
             {"FLOPs": MODEL, "utilisation": MODEL}),
        Rule("only tenant", "programs")])
    cores.many(2 if setting.reduced else 40, core_experiment)
    cores.report(report)
