"""Work alone on a machine, and as the only one of its tenants; of kinds that no other part has."""

from conformance.cases import Family, Rule, as_it_is, as_only_tenant
from conformance.plans import one_ring, machine, strategy, work_of

NPUS = 8


def vertices(draw):
    """A graph whose vertices compute, access memory, send and reduce; some NPUs may have nothing to do."""
    some = draw.choice(["all", "0-3", "2"])
    work = [{"name": "first", "start": True, "at": some, "flops": f"{draw.choice([1, 50])} MFLOP",
             "bytes": f"{draw.choice([1, 8])} kB"},
            {"name": "second", "at": some, "flops": "10 MFLOP"},
            {"name": "message", "from": 2, "to": 3, "bytes": f"{draw.choice([1, 100])} kB"}]
    edges = [{"from": "first", "to": "second"}, {"from": "second", "to": "message"}]
    if some == "all":
        work.append({"name": "sum", "collective": "all-reduce", "bytes": "100 kB"})
        edges.append({"from": "message", "to": "sum"})
    return {"kind": "graph", "iterations": draw.choice([1, 3]), "samples": draw.choice([1, 4]),
            "vertices": work, "edges": edges}


def experiment(draw):
    given = {"machine": machine(draw), "run": {"trace": "none", "iterations": draw.choice([1, 2])}}
    if draw.random() < 0.5:
        given["workload"] = vertices(draw)
    else:
        given["workload"] = work_of(draw)
        given["strategy"] = strategy(draw, given["workload"])
        if draw.random() < 0.5:
            given["execution"] = one_ring(given)
    return given, {"alone": as_it_is, "only tenant": as_only_tenant}


def sections(report, program, folder, setting):
    report.say("## The only tenant")
    report.say()
    family = Family(program, folder, "tenants", [Rule("only tenant", "alone")])
    family.many(3 if setting.reduced else 30, experiment)
    family.report(report)
