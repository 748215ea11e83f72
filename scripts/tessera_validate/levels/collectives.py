"""Collectives in one dimension: rings, where nobody meets, all-to-alls, where all do, and those with a root."""

from levels.cases import GB, Family, Rule, members, network, rate, stack

LEVELS = {"analytical": network("analytical", ports="free"), "shared": network("analytical", ports="shared"),
          "flow": network("flow"), "packet": network("packet")}
TREES = ("halving-doubling", "double-binary-tree")


def ring(draw):
    topology, _ = stack(draw, ("Ring", "Switch"))
    return {"machine": {"topology": topology},
            "workload": {"kind": "collective",
                         "collective": draw.choice(["all-reduce", "reduce-scatter", "all-gather"]),
                         "size": f"{draw.choice([8, 80_000, 4_000_000])} B"},
            "execution": {"collectives": {"algorithms": ["ring"]}}}, LEVELS


def exchange(draw):
    topology, _ = stack(draw, ("Switch", "FC"))
    return {"machine": {"topology": topology},
            "workload": {"kind": "collective", "collective": "all-to-all",
                         "size": f"{draw.choice([80_000, 4_000_000, 40_000_000])} B"},
            "execution": {"collectives": {"algorithms": ["direct"]}}}, LEVELS


def rooted(draw):
    topology, _ = stack(draw, ("Switch",))
    return {"machine": {"topology": topology},
            "workload": {"kind": "collective",
                         "collective": draw.choice(["broadcast", "scatter", "reduce", "gather"]),
                         "size": f"{draw.choice([80_000, 4_000_000, 40_000_000])} B"},
            "execution": {"collectives": {"algorithms": [draw.choice(["direct", "line", "ring", *TREES])]}}}, LEVELS


def tree_of_four(collective):
    return {"machine": {"topology": {"kind": "stack", "shape": "Switch(4)",
                                     "dimensions": [{"bandwidth": rate(50 * GB), "latency": "500 ns"}]}},
            "workload": {"kind": "collective", "collective": collective, "size": "10 MB"},
            "execution": {"collectives": {"algorithms": ["halving-doubling"]}}}, LEVELS


def on_grid(draw):
    topology = {"kind": draw.choice(["mesh", "torus"]), "rows": draw.choice([2, 4]), "columns": draw.choice([2, 4]),
                "bandwidth": rate(draw.choice([8, 64]) * GB), "latency": f"{draw.choice([1, 4])} ns"}
    return {"machine": {"topology": topology},
            "workload": {"kind": "collective",
                         "collective": draw.choice(["all-reduce", "reduce-scatter", "all-gather"]),
                         "size": f"{draw.choice([8_192, 65_536, 262_144])} B"},
            "execution": {"collectives": {"algorithms": ["ring", "ring"]}}}, \
        {**LEVELS, "flit": network("flit", buffer=255, flit_size="32 B")}


def is_on_switch(experiment):
    return experiment["machine"]["topology"]["shape"].startswith("Switch")


def kind(*kinds):
    return lambda experiment: experiment["workload"]["collective"] in kinds


def algorithm(*names):
    return lambda experiment: experiment["execution"]["collectives"]["algorithms"][0] in names


def both(*conditions):
    return lambda experiment: all(condition(experiment) for condition in conditions)


def neither(*conditions):
    return lambda experiment: not any(condition(experiment) for condition in conditions)


def others(experiment):
    return 1 / (members(experiment) - 1)


def is_chain(experiment):
    """Vectors that go down a line in n pieces, which one member sends to one other."""
    return algorithm("line", "ring")(experiment) and kind("broadcast", "reduce")(experiment)


def even_tree(experiment):
    """What a binomial tree takes with even shares, in times of one message after the other, of n members, k rounds:
    the messages of a node begin at once and the largest ends last. Of a broadcast, k + (k - 1) + ... beside
    k; of a scatter 2 n - 2 - k beside n - 1."""
    n = members(experiment)
    k = n.bit_length() - 1
    if experiment["workload"]["collective"] == "broadcast":
        return (k + 1) / 2 + 1e-9
    return (2 * n - 2 - k) / (n - 1) + 1e-9


def sections(report, program, folder, setting):
    report.say("## Collectives")
    report.say()
    report.say("Rings, whose messages share no link.")
    report.say()
    count = 4 if setting.reduced else 50
    rings = Family(program, folder / "rings", "rings", [
        Rule("packet", "analytical", why="one message on a link at a time"),
        Rule("flow", "analytical", why="the same, up to a picosecond per step", slack_ps=16),
        Rule("shared", "analytical", why="a node sends one message at a time")])
    rings.many(count, ring)
    rings.report(report)
    report.say("Such rings on grids, also with flits.")
    report.say()
    grids = Family(program, folder / "grids", "rings on grids", [
        Rule("analytical", "packet", label="analytical, grids", why="each row and column is a ring of its own"),
        Rule("flow", "packet", label="flow, grids", slack_ps=64, why="the same, up to a picosecond per step"),
        Rule("flit", "packet", 1, 1.35, label="flit, grids",
             why="ten or more cycles per step, compared with 64 to 4096 flits per step over one link")])
    grids.many(2 if setting.reduced else 25, on_grid)
    grids.report(report)
    report.say("All-to-alls with all messages at once: `analytical` with `ports: free`, where no messages share a "
               "link, and with `ports: shared`.")
    report.say()
    exchanges = Family(program, folder / "exchanges", "exchanges", [
        Rule("analytical", "packet", when=neither(is_on_switch), label="analytical, fully connected",
             why="every pair has its own link"),
        Rule("analytical", "packet", others, 1, label="analytical, switch", when=is_on_switch,
             within="1/(n - 1) to 1", why="each of a member's n - 1 messages is modelled as alone on its link"),
        Rule("shared", "packet", why="a member sends one message at a time, each to a different receiver"),
        Rule("flow", "packet", why="equal messages with fair shares end when the last of them would if sent in turn",
             slack_ps=16)])
    exchanges.many(count, exchange)
    exchanges.report(report)
    report.say("Broadcasts, scatters, reductions and gathers on switches.")
    report.say()
    outward = kind("broadcast", "scatter")
    tree = algorithm("halving-doubling")
    rules = [
        Rule("analytical", "packet", others, 1, label="analytical, rooted", when=neither(is_chain),
             within="1/(n - 1) to 1", why="each of a root's n - 1 messages is modelled as alone on its link"),
        Rule("analytical", "packet", 0.5, 1, label="analytical, chains", when=is_chain,
             why="n pieces over n - 1 hops: of 2 n - 2 consecutive rounds, n - 1 remain when all pieces are sent at "
                 "once"),
        Rule("shared", "packet", label="shared, rooted",
             why="a node sends one message at a time, and the root receives one at a time"),
        Rule("flow", "packet", label="flow, rooted", when=neither(both(outward, tree)), slack_ps=64,
             why="messages that share a link are equal, or follow each other"),
        Rule("flow", "packet", 1, even_tree, label="flow, outward trees", when=both(outward, tree),
             within="1 to 1.5, 2 (broadcast), 4/3, 11/7 (scatter) of 4, 8",
             why="messages of a node start together and share its link: the child with the most to forward gets its "
                 "part last, whereas packets of the message requested first go first")]
    roots = Family(program, folder / "rooted", "rooted", rules)
    for what in ("broadcast", "scatter"):
        roots.compare(*tree_of_four(what))
    roots.many(4 if setting.reduced else 60, rooted)
    roots.report(report)
