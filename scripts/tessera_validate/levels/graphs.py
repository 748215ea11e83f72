"""Graphs that are no plans: messages that meet, and traces in Chakra's format that compute, send and add up."""

import chakra_writer as chakra

from levels.cases import Family, Rule, mesh, network, stack

LEVELS = {"analytical": network("analytical", ports="free"), "shared": network("analytical", ports="shared"),
          "flow": network("flow"), "packet": network("packet")}


def loaded(draw):
    """Messages between random nodes, all at once."""
    topology, nodes = stack(draw, ("Switch",)) if draw.random() < 0.5 else (mesh(draw), None)
    nodes = nodes or topology["rows"] * topology["columns"]
    size = draw.choice([4096, 100_000, 1_000_000])
    vertices, edges = [{"name": "begin", "start": True, "flops": "1 FLOP"}], []
    for number in range(draw.randint(2, 3 * nodes)):
        a, b = draw.sample(range(nodes), 2)
        vertices.append({"name": f"m{number}", "from": a, "to": b, "bytes": f"{size} B"})
        edges.append({"from": "begin", "to": f"m{number}"})
    return {"machine": {"topology": topology, "tile": {"peak": {"fp16": "10 TFLOP/s"}}},
            "workload": {"kind": "graph", "vertices": vertices, "edges": edges}}, LEVELS


class Traces(Family):
    def time(self, experiment):
        self.folder.mkdir(exist_ok=True)
        for npu, nodes in enumerate(experiment.pop("nodes")):
            trace = chakra.Trace()
            for name, what, *values in nodes:
                getattr(trace, what)(name, *values)
            (self.folder / f"trace.{npu}.et").write_bytes(trace.data())
        experiment["workload"]["traces"] = str(self.folder / "trace")
        return super().time(experiment)


def trace(draw):
    """NPUs that compute, send to the next one and add up, in layers."""
    topology, npus = stack(draw, ("Ring", "Switch", "FC"))
    nodes = [[] for _ in range(npus)]
    last = [None] * npus
    for layer in range(draw.randint(2, 6)):
        size = draw.choice([8192, 262_144, 4_194_304])
        what = draw.choice(["all-reduce", "messages", "all-to-all"])
        for npu, own in enumerate(nodes):
            own.append((f"c{layer}", "compute", draw.choice([10 ** 6, 10 ** 8]), 1024, [last[npu]]))
            at = len(own) - 1
            if what == "messages":
                own.append((f"s{layer}", "message", chakra.SEND, (npu + 1) % npus, size, [at]))
                own.append((f"r{layer}", "message", chakra.RECEIVE, (npu - 1) % npus, size, [at]))
            else:
                kind = chakra.ALL_REDUCE if what == "all-reduce" else chakra.ALL_TO_ALL
                own.append((f"a{layer}", "collective", kind, size, [at]))
            last[npu] = len(own) - 1
    return {"machine": {"topology": topology, "tile": {"peak": {"fp16": "10 TFLOP/s"}}}, "nodes": nodes,
            "workload": {"kind": "chakra"},
            "execution": {"collectives": {"algorithms": ["ring"], "all_to_all": ["direct"]}}}, LEVELS


def one_behind_the_other(experiment):
    return 1 / (len(experiment["workload"]["vertices"]) - 1)


def is_ring(experiment):
    return experiment["machine"]["topology"]["shape"].startswith("Ring")


def sections(report, program, folder, setting):
    report.say("## Graphs")
    report.say()
    report.say("Messages between random nodes of switches, meshes and tori, all at once.")
    report.say()
    family = Family(program, folder / "loaded", "loaded messages", [
        Rule("analytical", "packet", one_behind_the_other, 1.0001, label="analytical, loaded",
             within="1/messages to 1.0001", why="each is modelled as alone; in the worst case, all are serialised"),
        Rule("shared", "packet", 0.45, 1.0001, label="shared, loaded",
             why="ports of nodes are shared; links used by messages of several nodes are not"),
        Rule("flow", "packet", 0.7, 1.05, label="flow, loaded",
             why="while packets queue for one link, links further along their routes are idle; max-min shares leave no "
                 "link idle that a flow could use")])
    family.many(4 if setting.reduced else 50, loaded)
    family.report(report)
    report.say("Chakra traces: NPUs compute, send to the next one, all-reduce over rings and exchange data.")
    report.say()
    traces = Traces(program, folder / "traces", "traces", [
        Rule("analytical", "packet", 0.2, 1.0001, label="analytical, traces",
             why="messages of an all-to-all are modelled as alone, but sent in turn elsewhere; computing is the same"),
        Rule("shared", "packet", 0.9999, 1.03, label="shared, traces", when=lambda one: not is_ring(one),
             why="a node sends and receives one message at a time; the one requested first goes first"),
        Rule("flow", "packet", 0.97, 1.1, label="flow, traces", why="fair shares where messages share a link")])
    traces.many(4 if setting.reduced else 40, trace)
    traces.report(report)
