"""Graphs for random_runs.py: a plan's programs as graphs or as Chakra traces, collectives, vertices,
and tenants.

Each takes an experiment of a plan and gives another one of the same machine, or None where the draw
does not fit.
"""
import pathlib

COLLECTIVES = ["all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "reduce", "gather",
               "scatter", "barrier"]


def execution(draw):
    """How graphs are executed."""
    words = {"window": draw.choice([1, 2, 7, 50, 512]), "sends": draw.choice(["eager", "delivered"])}
    collectives = {"communicators": draw.choice(["flat", "dimensions"]),
                   "other_algorithm": draw.choice(["ring", "ring", "direct", "double-binary-tree",
                                                   "halving-doubling", "ring-bidirectional"]),
                   "chunks": draw.choice([1, 1, 2, 5]), "active_chunks": draw.choice([1, 2])}
    if draw.random() < 0.3:
        collectives["endpoint_delay"] = f"{draw.choice([10, 500])} ns"
    if draw.random() < 0.3:
        collectives["local_memory"] = f"{draw.choice([5, 100])} GB/s"
    if draw.random() < 0.2:
        collectives["algorithm_window"] = draw.choice([1, 2])
    if draw.random() < 0.3:
        words["lanes"] = {"memory": draw.choice([0, 1, 2]), "compute": draw.choice([0, 1, 2])}
    return dict(words, collectives=collectives)


def computing_nodes(topology):
    """How many NPUs the machine has."""
    if topology["kind"] == "wafer":
        (rows, columns), (core_rows, core_columns) = topology["tiles"], topology["cores"]
        return rows * columns * core_rows * core_columns
    if topology["kind"] == "cluster":
        return topology["nodes"] * topology["accelerators"]
    return topology["rows"] * topology["columns"]


def size(draw):
    return f"{draw.choice([0, 1, 63, 4096, 20000, 300000])} B"


def collective(draw, _npus):
    work = {"kind": "collective", "collective": draw.choice(COLLECTIVES), "repeat": draw.randint(1, 3)}
    if work["collective"] != "barrier":
        work["size"] = size(draw)
    return work


def places(draw, npus):
    first = draw.randrange(npus)
    return f"{first}-{draw.randint(first, npus - 1)}"


def vertex(draw, npus, number):
    """A vertex that computes, accesses memory, sends or takes part in a collective."""
    words = {"name": f"v{number}"}
    kind = draw.choice(["compute", "compute", "message", "message", "collective"])
    if kind == "compute":
        words.update(flops=f"{draw.choice([0, 10, 1000, 100000])} kFLOP", bytes=size(draw))
    elif kind == "message" and npus > 1:
        start, end = draw.sample(range(npus), 2)
        words.update({"from": start, "to": end, "bytes": size(draw)})
        return words
    else:
        words.update(collective=draw.choice(["all-reduce", "all-gather", "all-to-all"]), bytes=size(draw))
    if draw.random() < 0.6:
        words["at"] = places(draw, npus)
    return words


def vertices(draw, npus):
    """Vertices of which each follows some of those before it."""
    count = draw.randint(2, 12)
    edges = [{"from": f"v{draw.randrange(number)}", "to": f"v{number}"}
             for number in range(1, count) for _ in range(draw.choice([0, 1, 1, 2]))]
    unlike = {(edge["from"], edge["to"]): edge for edge in edges}
    all_vertices = [vertex(draw, npus, number) for number in range(count)]
    for one in all_vertices:
        if all(edge["to"] != one["name"] for edge in unlike.values()):
            one["start"] = True
    return {"kind": "graph", "iterations": draw.randint(1, 4), "vertices": all_vertices,
            "edges": list(unlike.values())}


def tenants(draw, plan, npus):
    """A plan and vertices beside each other, of which the second may begin later."""
    first = draw.randint(1, npus - 1)
    tiles = [f"0-{first - 1}", f"{first}-{npus - 1}"]
    strategy = dict(plan["strategy"], placement={"layout": "linear"})
    both = [{"name": "plan", "tiles": tiles[0], "workload": plan["workload"], "strategy": strategy},
            {"name": "graph", "tiles": tiles[1], "workload": vertices(draw, npus - first),
             "execution": execution(draw)}]
    if draw.random() < 0.5:
        both[draw.randrange(2)]["start"] = f"{draw.choice([1, 300])} us"
    return {"kind": "tenants", "tenants": both}


def graph_of(draw, plan, export, folder):
    """`export(experiment, prefix)` writes Chakra traces; false where it cannot."""
    kind = draw.choice(["plan", "chakra", "chakra", "vertices", "vertices", "collective", "tenants"])
    run = dict(plan["run"], trace=draw.choice(["none", "none", "full"]))
    if kind == "plan":
        return dict(plan, execution=execution(draw), run=run)
    words = {"name": "random", "machine": plan["machine"], "run": run, "execution": execution(draw)}
    if kind == "chakra":
        prefix = folder / "w"
        if not export(plan, prefix):
            return None
        work = {"kind": "chakra", "traces": str(prefix)}
        groups = pathlib.Path(f"{prefix}.json")
        if groups.exists():
            work["groups"] = str(groups)
        return dict(words, workload=work)
    npus = computing_nodes(plan["machine"]["topology"])
    if kind == "tenants":
        del words["execution"]
        return dict(words, workload=tenants(draw, plan, npus)) if npus > 1 else None
    return dict(words, workload=(vertices if kind == "vertices" else collective)(draw, npus))
