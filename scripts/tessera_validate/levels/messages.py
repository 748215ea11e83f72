"""One message on an idle machine, through every network."""

from levels.cases import Family, Rule, mesh, network, number, stack

FLIT = 32  # bytes


def hops(topology, a, b):
    """By the shortest way in a mesh or torus."""
    far = 0
    for size, at, to in ((topology["columns"], a % topology["columns"], b % topology["columns"]),
                         (topology["rows"], a // topology["columns"], b // topology["columns"])):
        off = abs(at - to)
        far += min(off, size - off) if topology["kind"] == "torus" else off
    return far


def in_flits(topology, a, b, size):
    """Of a message that is alone: four cycles in each router, one to and one from the node, the cycles of the links,
    and its flits one behind the other [ps]."""
    cycle = round(FLIT / number(topology["bandwidth"]) * 1e12)
    links = hops(topology, a, b)
    wait = -(-round(1000 * number(topology["latency"])) // cycle)
    return cycle * (links * wait + 4 * (links + 1) + 2 + -(-size // FLIT))


def experiment(draw):
    topology, nodes = stack(draw) if draw.random() < 0.4 else (mesh(draw), None)
    nodes = nodes or topology["rows"] * topology["columns"]
    a, b = draw.sample(range(nodes), 2)
    size = draw.choice([1, 64, 4096, 4097, 100_000, 1_234_567])
    levels = {"analytical": network("analytical"), "flow": network("flow"), "packet": network("packet"),
              "one packet": network("packet", packet_size="100 MB")}
    forms = {}
    if topology["kind"] in ("mesh", "torus"):
        forms["closed form in flits"] = in_flits(topology, a, b, size)
        # Buffers beyond the product of bandwidth and delay, which else throttle a stream.
        levels["flit"] = network("flit", buffer=255, flit_size="32 B")
    return {"machine": {"topology": topology},
            "workload": {"kind": "graph", "vertices": [
                {"name": "message", "start": True, "from": a, "to": b, "bytes": f"{size} B"}]}}, levels, forms


def sections(report, program, folder, setting):
    report.say("## Messages on an idle machine")
    report.say()
    family = Family(program, folder, "messages", [
        Rule("packet", "analytical", why="link latencies plus one serialisation of the bytes: packets follow "
                                         "each other without gaps on equal links"),
        Rule("one packet", "analytical", why="cut-through"),
        Rule("flow", "analytical", why="latency first, then the full bandwidth; ends of flows are rounded",
             slack_ps=1),
        Rule("flit", "closed form in flits", why="four cycles per router, one to and one from the node, links of "
                                                "whole cycles, whole flits")])
    family.many(5 if setting.reduced else 80, experiment)
    family.report(report)
