"""A collective of all NPUs as the kind of that name, as a vertex of a graph, and as nodes of Chakra traces."""

from chakra_writer import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, Trace
from conformance.cases import Family, Rule, as_it_is, as_only_tenant, changed
from levels.cases import GB, mesh, rate

NUMBERS = {"all-reduce": ALL_REDUCE, "all-gather": ALL_GATHER, "all-to-all": ALL_TO_ALL,
           "reduce-scatter": REDUCE_SCATTER}


def as_vertex(experiment):
    work = experiment["workload"]
    names = [f"c{number}" for number in range(work["repeat"])]
    experiment["workload"] = {
        "kind": "graph", "samples": work["samples"],
        "vertices": [{"name": name, "collective": work["collective"], "bytes": work["size"],
                      **({"start": True} if name == "c0" else {})} for name in names],
        "edges": [{"from": one, "to": other} for one, other in zip(names, names[1:])]}


def as_trace(family, experiment):
    work, topology = experiment["workload"], experiment["machine"]["topology"]
    npus = topology["rows"] * topology["columns"] if "rows" in topology else size_of(topology["shape"])
    trace, before = Trace(), None
    for number in range(work["repeat"]):
        before = trace.collective(f"c{number}", NUMBERS[work["collective"]], int(work["size"].split()[0]),
                                  [before])
    for npu in range(npus):
        (family.folder / f"c.{npu}.et").write_bytes(trace.data())
    for path in family.folder.glob("c.*.et"):
        if int(path.suffixes[0][1:]) >= npus:
            path.unlink()
    experiment["workload"] = {"kind": "chakra", "traces": str(family.folder / "c"),
                              "samples": work["samples"]}
    return family.run(experiment)


def size_of(shape):
    size = 1
    for block in shape.split("_"):
        size *= int(block.split("(")[1].rstrip(")"))
    return size


def machine(draw):
    links = {"bandwidth": rate(draw.choice([10, 100]) * GB), "latency": f"{draw.choice([20, 500])} ns"}
    shape = draw.choice(["Ring(4)", "Switch(8)", "FC(4)", "Ring(4)_Switch(2)", "Switch(4)_Ring(3)"])
    blocks = shape.count("_") + 1
    topology = mesh(draw) if draw.random() < 0.3 else \
        {"kind": "stack", "shape": shape, "dimensions": [links] * blocks}
    return {"topology": topology,
            "network": {"model": draw.choice(["analytical", "packet", "flow"]),
                        "collective_overhead": draw.choice(["0 ns", "5 us"])}}


def experiment(draw):
    collectives = {"chunks": draw.choice([1, 4]), "order": draw.choice(["ascending", "round-robin", "themis"])}
    return {"machine": machine(draw),
            "workload": {"kind": "collective", "collective": draw.choice(list(NUMBERS)),
                         "size": f"{draw.choice([24, 80_000, 4_000_001])} B", "repeat": draw.choice([1, 3]),
                         "samples": draw.choice([1, 7])},
            "execution": {"collectives": collectives},
            "run": {"trace": "none"}}, \
        {"collective": as_it_is, "vertex": changed(as_vertex), "trace": as_trace,
         "only tenant": as_only_tenant}


def sections(report, program, folder, setting):
    report.say("## Collectives")
    report.say()
    family = Family(program, folder, "collectives", [
        Rule("vertex", "collective"),
        Rule("trace", "collective"),
        Rule("only tenant", "collective")])
    family.many(4 if setting.reduced else 40, experiment)
    family.report(report)
