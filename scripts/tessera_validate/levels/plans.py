"""Plans as programs, as graphs, with tiles that stand for others, and with replayed micro-batches."""

from levels.cases import Family, Rule, rate, GB, transformer


def unchanged(experiment):
    del experiment


def strategy(**keys):
    def change(experiment):
        experiment["strategy"].update(keys)
    return change


def as_graphs(experiment):
    experiment["execution"] = {"collectives": {"algorithms": ["ring"]}}


def replayed(experiment):
    experiment["run"] = {"trace": "none", "replay": "exact"}


def plan(draw):
    work = transformer(draw, draw.random() < 0.8)
    training = "mode" not in work
    degrees = draw.choice([(2, 2, 2), (1, 4, 2), (2, 4, 1), (2, 1, 4), (1, 2, 4)])
    keys = dict(zip(("pipeline", "tensor", "data"), degrees))
    if training:
        keys.update(schedule=draw.choice(["gpipe", "1f1b", "zb-h1"]), recompute=draw.choice(["none", "full"]),
                    zero=draw.choice([0, 0, 1, 2, 3]), overlap_gradients=draw.choice([True, False]))
    return {"machine": {"topology": {"kind": "stack", "shape": "Switch(8)",
                                     "dimensions": [{"bandwidth": rate(draw.choice([10, 100]) * GB),
                                                     "latency": f"{draw.choice([200, 1000])} ns"}]},
                        "tile": {"peak": {"fp16": f"{draw.choice([1, 10])} TFLOP/s"},
                                 "sram": draw.choice(["10 kB", "64 MiB"])},
                        "dram": {"at": "each", "bandwidth": "50 GB/s", "latency": "100 ns"},
                        "network": {"model": "packet", "collective_overhead": draw.choice(["0 ns", "5 us"])}},
            "workload": work, "strategy": keys}, \
        {"programs": unchanged, "graphs": as_graphs, "replayed": replayed,
         "tensor": strategy(aggregation="tensor"), "stage": strategy(aggregation="stage")}


def flat_graphs(experiment):
    experiment["execution"] = {"collectives": {"communicators": "flat"}}


def block_plan(draw):
    """On servers of four, of which groups have several members."""
    experiment, levels = plan(draw)
    experiment["machine"]["topology"] = {
        "kind": "cluster", "nodes": 2, "accelerators": 4, "nics": draw.choice([2, 4]),
        "switch": {"bandwidth": rate(draw.choice([50, 200]) * GB), "latency": "100 ns"},
        "nic": {"bandwidth": rate(20 * GB), "latency": "1 us"},
        "port": {"bandwidth": rate(draw.choice([5, 20]) * GB), "latency": "1 us"}, "fabric": {"kind": "switch"}}
    if draw.random() < 0.5:
        experiment["strategy"].update(pipeline=1, tensor=1, data=8)
        experiment["strategy"].pop("schedule", None)
    return experiment, {**levels, "graphs": flat_graphs}


def gathers(experiment):
    """Whether replicas gather weights in the background over the links of tensor groups."""
    keys = experiment["strategy"]
    return keys.get("zero") == 3 and keys["tensor"] > 1 and keys["data"] > 1


def standing(level, where=""):
    return [Rule(level, "programs", 0.94, 1.08, "closed forms ignore that tensor groups and replicas share a tile's "
                 "link and wait for each other",
                 when=lambda experiment: not gathers(experiment), label=level + where),
            Rule(level, "programs", 0.74, 1.02, "ZeRO 3 in tensor groups: weight gathers and sums of the tensor group "
                 "use the same link one after the other; each is modelled as having it alone",
                 when=gathers, label=f"{level}, weights gathered{where}")]


def beside_gathers(draw):
    """What tensor groups and gathers of weights take of a tile's link is the most of this plan's time."""
    experiment, levels = plan(draw)
    experiment["machine"]["topology"]["dimensions"] = [{"bandwidth": rate(10 * GB), "latency": "200 ns"}]
    experiment["machine"]["tile"] = {"peak": {"fp16": "10 TFLOP/s"}, "sram": "10 kB"}
    experiment["machine"]["network"]["collective_overhead"] = "0 ns"
    experiment["workload"] = {"kind": "transformer", "layers": 5, "hidden": 128, "heads": 8, "sequence": 64,
                              "vocabulary": 128, "batch": 16}
    experiment["strategy"] = {"pipeline": 1, "tensor": 4, "data": 2, "schedule": "gpipe", "recompute": "full",
                              "zero": 3, "overlap_gradients": True}
    return experiment, levels


def blocks_beside_gathers(draw):
    """The same on servers: tensor groups of a server gather weights over two of them."""
    experiment, levels = block_plan(draw)
    experiment["strategy"].update(pipeline=1, tensor=4, data=2, schedule="gpipe", zero=3, overlap_gradients=True)
    return experiment, levels


def sections(report, program, folder, setting):
    report.say("## Plans")
    report.say()
    report.say("`tensor` and `stage`: one tile represents its tensor group or its stage.")
    report.say()
    family = Family(program, folder, "plans", [
        Rule("graphs", "programs", why="the same instructions and dependencies"),
        Rule("replayed", "programs", 0.999, 1.001, "micro-batches that repeat in three runs are assumed to go on so"),
        *standing("tensor"), *standing("stage")])
    family.many(3 if setting.reduced else 60, plan)
    family.compare(*beside_gathers(family.draw))
    family.report(report)
    report.say("Such plans, and plans with eight replicas, on two servers of four: groups have several members in each "
               "server, and their rings are split into channels.")
    report.say()
    clusters = Family(program, folder, "plans on clusters", [
        Rule("graphs", "programs", why="the same instructions, dependencies and channels",
             label="graphs on clusters"),
        Rule("replayed", "programs", 0.999, 1.001, "micro-batches that repeat in three runs are assumed to go on so",
             label="replayed on clusters"),
        *standing("tensor", " on clusters"), *standing("stage", " on clusters")])
    clusters.many(2 if setting.reduced else 40, block_plan)
    clusters.compare(*blocks_beside_gathers(clusters.draw))
    clusters.report(report)
