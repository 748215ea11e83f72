"""Plans of which a part is simulated, for all: micro-batches that are replayed, and tiles that stand for
others."""

from conformance.cases import Apart, Family, Rule, as_it_is, as_only_tenant, changed
from conformance.plans import machine, strategy, work_of


def replayed(experiment):
    experiment["run"]["replay"] = "exact"


def standing_for(what):
    def change(experiment):
        experiment["strategy"]["aggregation"] = what
    return changed(change)


def experiment(draw):
    work = work_of(draw)
    work["batch"] = draw.choice([32, 64])
    keys = strategy(draw, work)
    return {"machine": machine(draw), "workload": work, "strategy": keys, "run": {"trace": "none"}}, \
        {"programs": as_it_is, "replayed": changed(replayed), "tensor": standing_for("tensor"),
         "stage": standing_for("stage"), "only tenant": as_only_tenant}


TIME = Apart("closed forms leave out where groups meet on a link, and what they wait for each other", 0.8, 1.1)
STANDS = Apart("a tile stands for others: what those send to each other is not simulated, nor counted")
MEMORY = Apart("only tiles that are simulated access memory")
STEADY = Apart("micro-batches that repeat in three runs are taken to go on so", 0.99, 1.01)
FAST = Apart("follows from the time", 0.9, 1.25)


def sections(report, program, folder, setting):
    report.say("## Plans of which a part is simulated")
    report.say()
    stands = {"iteration time": TIME, "simulated time": TIME, "utilisation": FAST, "bytes of messages": STANDS,
              "bytes of collectives": STANDS, "bytes read": MEMORY, "bytes written": MEMORY}
    apart = dict.fromkeys(("simulated time", "iteration time", "utilisation"), STEADY)
    family = Family(program, folder, "cuts", [
        Rule("replayed", "programs", "`run.replay: exact`", apart),
        Rule("tensor", "programs", "`strategy.aggregation: tensor`", stands),
        Rule("stage", "programs", "`strategy.aggregation: stage`", stands),
        Rule("only tenant", "programs")])
    family.many(5 if setting.reduced else 24, experiment)
    family.report(report)
