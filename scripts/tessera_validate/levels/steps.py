"""Training steps and inference on grids, through every network."""

from levels.cases import Family, Rule, mesh, network, transformer


def experiment(draw):
    topology = {**mesh(draw), "rows": draw.choice([2, 4]), "columns": draw.choice([4, 8])}
    tiles = topology["rows"] * topology["columns"]
    work = transformer(draw, draw.random() < 0.7)
    degrees = draw.choice([(2, 2, 2), (1, 4, 2), (2, 4, 1), (4, 1, 2), (2, 1, 4)])
    if degrees[0] > work["layers"] or degrees[0] * degrees[1] * degrees[2] > tiles:
        degrees = (2, 2, 2)
    return {"machine": {"topology": topology, "tile": {"peak": {"fp16": "1 TFLOP/s"}, "sram": "64 MiB"},
                        "dram": {"at": "none"}},
            "workload": work,
            "strategy": dict(zip(("pipeline", "tensor", "data"), degrees))}, \
        {"analytical": network("analytical"), "flow": network("flow"), "packet": network("packet"),
         "flit": network("flit", buffer=255, flit_size="32 B")}


def sections(report, program, folder, setting):
    report.say("## Steps of transformers on grids")
    report.say()
    family = Family(program, folder, "steps", [
        Rule("analytical", "packet", 0.8, 1.0001, "links are modelled without contention: a lower bound"),
        Rule("flow", "packet", 0.99, 1.06, "fair shares against packets in turn"),
        Rule("flit", "packet", 0.94, 1.4, "router cycles, which matter for small messages; flits of two messages "
                                       "share a link where a packet waits for the previous one")])
    family.many(4 if setting.reduced else 60, experiment)
    family.report(report)
