"""Collectives in one dimension, where rings meet nobody, and all-to-alls, where all meet."""

from levels.cases import Family, Rule, network, stack

LEVELS = {"analytical": network("analytical"), "shared": network("analytical", ports="shared"),
          "flow": network("flow"), "packet": network("packet")}


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


def sections(report, program, folder, setting):
    report.say("## Collectives")
    report.say()
    report.say("Rings, whose messages meet nobody.")
    report.say()
    count = 4 if setting.reduced else 50
    rings = Family(program, folder / "rings", "rings", [
        Rule("packet", "analytical", why="one message on a link at a time"),
        Rule("flow", "analytical", why="the same, up to a picosecond a step", slack_ps=16),
        Rule("shared", "analytical", why="a node sends one message at a time")])
    rings.many(count, ring)
    rings.report(report)
    report.say("All-to-alls, all messages at once. `analytical` has none of them share a link; with "
               "`ports: shared` those that leave a node by one link go one after the other.")
    report.say()
    exchanges = Family(program, folder / "exchanges", "exchanges", [
        Rule("analytical", "packet", 0, 1, "no link is shared: a lower bound"),
        Rule("shared", "packet", 0.9, 1.0001, "what comes in is not shared"),
        Rule("flow", "packet", 0.9, 1.1, "fair shares against packets in turn")])
    exchanges.many(count, exchange)
    exchanges.report(report)
