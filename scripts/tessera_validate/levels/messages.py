"""One message on an idle machine, through every network."""

from levels.cases import Family, Rule, mesh, network, stack


def experiment(draw):
    topology, nodes = stack(draw) if draw.random() < 0.4 else (mesh(draw), None)
    nodes = nodes or topology["rows"] * topology["columns"]
    a, b = draw.sample(range(nodes), 2)
    size = draw.choice([1, 64, 4096, 4097, 100_000, 1_234_567])
    levels = {"analytical": network("analytical"), "flow": network("flow"), "packet": network("packet"),
              "one packet": network("packet", packet_size="100 MB")}
    if topology["kind"] in ("mesh", "torus"):
        # Buffers beyond the product of bandwidth and delay, which else throttle a stream.
        levels["flit"] = network("flit", buffer=255, flit_size="32 B")
    return {"machine": {"topology": topology},
            "workload": {"kind": "graph", "vertices": [
                {"name": "message", "start": True, "from": a, "to": b, "bytes": f"{size} B"}]}}, levels


def sections(report, program, folder, setting):
    report.say("## Messages on an idle machine")
    report.say()
    family = Family(program, folder, "messages", [
        Rule("packet", "analytical", why="latency of the links, and the bytes once: packets follow each "
                                         "other without a gap on links that are alike"),
        Rule("one packet", "analytical", why="cut-through"),
        Rule("flow", "analytical", why="latency first, then the whole bandwidth; ends of flows are rounded",
             slack_ps=1),
        Rule("flit", "analytical", 1, 60, "four cycles a router, a cycle to and from the node, whole flits")])
    family.many(5 if setting.reduced else 80, experiment)
    family.report(report)
