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


TIME = Apart("closed forms leave out where groups meet on a link, and share links at once that they would "
             "have one after the other", 0.95, 1.05)
STANDS = Apart("a tile stands for others: what those send to each other is not simulated, nor counted")
MEMORY = Apart("only tiles that are simulated access memory")
STEADY = Apart("micro-batches that repeat in three runs are taken to go on so", 0.9995, 1.0005)
FAST = Apart("follows from the time", 0.95, 1.06)
LATE = Apart("the first time that a ring's members wait for its longest way is left out", 0.9995, 1)
LATER = Apart("follows from that", 1, 1.0005)


def shares_nothing(given):
    return given["machine"]["network"]["model"] == "analytical"


def is_even(given):
    """Whether the ways of all groups are as long for each of their members."""
    return given["machine"]["topology"].get("shape", "").startswith("Switch")


def standing(form):
    """The rules of a form: on networks whose messages share nothing, and on others."""
    counted = {"bytes of messages": STANDS, "bytes of collectives": STANDS, "bytes read": MEMORY,
               "bytes written": MEMORY}
    about = f"`strategy.aggregation: {form}`; "
    return [
        Rule(form, "programs", about + "`analytical`, a switch", counted,
             when=lambda given: shares_nothing(given) and is_even(given)),
        Rule(form, "programs", about + "`analytical`, rings and grids",
             {**counted, "iteration time": LATE, "simulated time": LATE, "utilisation": LATER},
             when=lambda given: shares_nothing(given) and not is_even(given)),
        Rule(form, "programs", about + "`packet`",
             {**counted, "iteration time": TIME, "simulated time": TIME, "utilisation": FAST},
             when=lambda given: not shares_nothing(given))]


def sections(report, program, folder, setting):
    report.say("## Plans of which a part is simulated")
    report.say()
    apart = dict.fromkeys(("simulated time", "iteration time", "utilisation"), STEADY)
    family = Family(program, folder, "cuts", [
        Rule("replayed", "programs", "`run.replay: exact`", apart),
        *standing("tensor"), *standing("stage"),
        Rule("only tenant", "programs")])
    family.many(5 if setting.reduced else 24, experiment)
    family.report(report)
