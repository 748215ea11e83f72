"""Synthetic traffic on grids, idle and loaded, through every network."""

import json

from levels.cases import GB, Family, Rule, network, rate
from page import call


class Patterns(Family):
    """Mean latencies [cycles] in place of times."""

    def time(self, experiment):
        self.folder.mkdir(exist_ok=True)
        path, out = self.folder / "traffic.yaml", self.folder / "out.json"
        path.write_text(json.dumps(experiment, indent=1), encoding="utf-8")
        done = call([str(self.program), "traffic", str(path), "-o", str(out)], codes=(0, 2))
        if done.returncode == 2:
            return None
        return json.loads(out.read_text(encoding="utf-8"))["points"][0]["latency"]


def experiment(draw):
    topology = {"kind": draw.choice(["mesh", "torus"]), "rows": 4, "columns": 4, "bandwidth": rate(32 * GB),
                "latency": f"{draw.choice([1, 4])} ns"}
    pattern = draw.choice(["uniform", "transpose", "hotspot"])
    rates = {"uniform": 0.15, "transpose": 0.15, "hotspot": 0.1}
    return {"machine": {"topology": topology},
            "traffic": {"pattern": pattern, "process": "bernoulli", "message": draw.choice([1, 4]), "flit_size": "32 B",
                        "cycle": "1 ns", "rates": [draw.choice([0.01, rates[pattern]])],
                        "seed": draw.randint(1, 99)}}, \
        {"analytical": network("analytical"), "flow": network("flow"), "packet": network("packet"),
         "flit": network("flit", buffer=16, flit_size="32 B", virtual_channels=4)}


def idle(one):
    return one["traffic"]["rates"][0] < 0.1


def loaded(one):
    return not idle(one)


def short(one):
    return one["machine"]["topology"]["latency"] == "1 ns"


def sections(report, program, folder, setting):
    report.say("## Traffic")
    report.say()
    report.say("Mean message latencies at 0.01 flits per node and cycle (idle), and at 0.1 to 0.15 "
               "(loaded, below saturation), on 4x4 tiles.")
    report.say()
    rules = []
    for name, when, free, even, why in (
            ("idle", idle, 0.975, (0.975, 1.02), "few messages share a link"),
            ("loaded", loaded, 0.85, (1, 1.16), "messages that share a link wait for each other")):
        rules += [Rule("analytical", "packet", free, 1.0001, label=f"analytical, {name}", when=when,
                       why=f"{why}; with `ports: free` none waits"),
                  Rule("flow", "packet", *even, label=f"flow, {name}", when=when,
                       why=f"{why}; two with fair shares both end late, while of two in turn one ends early"),
                  Rule("flit", "packet", 3, 6, label=f"flit, {name}, links of 1 ns",
                       when=lambda one, when=when: when(one) and short(one),
                       why="four cycles in each router, one to and one from the node, in addition to one per link"),
                  Rule("flit", "packet", 1.8, 3, label=f"flit, {name}, links of 4 ns",
                       when=lambda one, when=when: when(one) and not short(one),
                       why="the same in addition to four cycles per link")]
    family = Patterns(program, folder, "traffic", rules)
    family.many(8 if setting.reduced else 40, experiment)
    family.report(report)
