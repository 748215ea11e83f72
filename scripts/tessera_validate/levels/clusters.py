"""Collectives over servers: the clusters that are shipped, with two to eight servers."""

from levels.cases import Family, Rule
from page import ROOT

KINDS = ("all-to-all", "reduce-scatter", "all-gather", "all-reduce", "gather", "broadcast", "scatter")


def network(model):
    def change(experiment):
        experiment["set"]["machine.network.model"] = model
    return change


LEVELS = {model: network(model) for model in ("analytical", "flow", "packet")}


def experiment(draw):
    flat = draw.random() < 0.5
    algorithm = draw.choice(["direct", "direct", "ring"])
    how = {"communicators": "flat", "other_algorithm": algorithm} if flat else {"algorithms": [algorithm] * 2}
    kind = draw.choice(KINDS)
    # What an all-gather and a gather begin with is at each member.
    size = draw.choice([80_000, 4_000_000] if kind in ("all-gather", "gather") else [80_000, 4_000_000, 32_000_000])
    return {"machine": str(ROOT / "configs" / "machines" / f"{draw.choice(['h100', 'a100'])}_cluster.yaml"),
            "workload": {"kind": "collective", "collective": kind, "size": f"{size} B"},
            "execution": {"collectives": how},
            "set": {"machine.topology.nodes": str(draw.choice([2, 3, 4, 8]))}}, LEVELS


def shipped(size, nodes, collective="all-to-all", algorithm="direct"):
    """Flat; of these the all-to-alls by `direct` of docs/methods/collectives.md."""
    return {"machine": str(ROOT / "configs" / "machines" / "h100_cluster.yaml"),
            "workload": {"kind": "collective", "collective": collective, "size": size},
            "execution": {"collectives": {"communicators": "flat", "other_algorithm": algorithm}},
            "set": {"machine.topology.nodes": str(nodes)}}, LEVELS


def is_relayed(experiment):
    """An all-to-all by a ring over all servers, in step."""
    how = experiment["execution"]["collectives"]
    return experiment["workload"]["collective"] == "all-to-all" and how.get("other_algorithm") == "ring"


def is_gathered(experiment):
    how = experiment["execution"]["collectives"]
    return experiment["workload"]["collective"] == "gather" and "direct" in (how.get("other_algorithm"),
                                                                             *how.get("algorithms", ()))


def is_else(experiment):
    return not is_relayed(experiment) and not is_gathered(experiment)


def sections(report, program, folder, setting):
    report.say("## Collectives over servers")
    report.say()
    family = Family(program, folder, "clusters", [
        Rule("analytical", "packet", 0.9999, 1.0001, label="analytical, servers", when=is_else,
             why="the link on which messages leave takes one at a time; `direct` rotates within servers, so "
                 "that every GPU receives from one sender at a time"),
        Rule("flow", "packet", 0.99, 1.0001, label="flow, servers", when=lambda one: not is_relayed(one),
             why="messages share a link instead of taking turns: latency is paid once, not behind another message"),
        Rule("analytical", "packet", 0.4, 1.0001, label="analytical, gathers", when=is_gathered,
             why="messages reach the root over several links of the fabric, or over its only link"),
        Rule("analytical", "packet", 0.75, 1.0001, label="analytical, all-to-alls in step", when=is_relayed,
             why="in each step, some GPUs of a server send to the next server and others within their own"),
        Rule("flow", "packet", 0.9999, 2, label="flow, all-to-alls in step", when=is_relayed,
             why="with fair shares, every message of a step arrives later, and the next step waits for it "
                 "(the run prints a note)")])
    family.compare(*shipped("32 MB", 2))
    family.compare(*shipped("4 MB", 4))
    family.compare(*shipped("1 MB", 2, "gather"))
    family.compare(*shipped("4 MB", 2, algorithm="ring"))
    if not setting.reduced:
        for nodes in (4, 8):
            family.compare(*shipped("32 MB", nodes))
    family.many(5 if setting.reduced else 70, experiment)
    family.report(report)
