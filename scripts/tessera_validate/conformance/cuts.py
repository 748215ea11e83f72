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


LEFT_OUT = ("closed forms ignore what other stages, memory and background collectives send over the same links, and "
            "let groups share links at the same time that they would use one after the other")
BESIDE = ("the same; ZeRO 3's background weight gathers and the sums of tensor groups use one link one after "
          "the other, where each is modelled as having it alone: twice as long at most")
# What replicas of a tensor group send is simulated with `tensor`; 94 % of plans are within 5 % (docs/design/0009).
LEAST = {"tensor": 0.8, "stage": 0.6}
MOST = 1.2
STEADY = Apart("micro-batches that repeat in three runs are assumed to go on so", 0.9995, 1.0005)
LATE = Apart("of consecutive collectives, each takes what it adds in the long run", 0.999, 1.0005)
LATER = Apart("follows from that", 0.9995, 1.001)
# Of the replicas of a stage, too.
ONCE = Apart("the same; what occurs only a few times, such as gradient sums, takes longer at first", 0.98, 1.0005)
ONCE_ON = Apart("follows from that", 0.9995, 1 / 0.98)
TURNS = Apart("the same; members that are late after one of their collectives catch up in those of other "
              "groups, whereas here each takes its own long-run time", 0.98, 1.06)
TURNED = Apart("follows from that", 1 / 1.06, 1 / 0.98)
LAST = Apart("members continue at different times after a broadcast, the one tile with the last of them", 0.9995, 1.2)
LAST_ON = Apart("follows from that", 1 / 1.2, 1.0005)


def shares_nothing(given):
    return given["machine"]["network"]["model"] == "analytical"


def is_even(given):
    """Whether the ways of all groups are as long for each of their members."""
    return given["machine"]["topology"].get("shape", "").startswith("Switch")


def broadcasts(given):
    keys = given["strategy"]
    return keys.get("boundary") == "broadcast" and keys["pipeline"] > 1


def has_experts(given):
    return "experts" in given["workload"]


def gathers(given):
    """Whether replicas gather weights in the background over the links of tensor groups."""
    keys = given["strategy"]
    return keys.get("zero") == 3 and keys["tensor"] > 1 and keys["data"] * keys.get("context", 1) > 1


def is_uneven(given):
    return shares_nothing(given) and not is_even(given) and not broadcasts(given)


def standing(form):
    """The rules of a form: on networks whose messages share nothing, and on others."""
    about = f"`strategy.aggregation: {form}`; "

    def times(time, utilisation):
        return {"iteration time": time, "simulated time": time, "utilisation": utilisation}

    def rule(where, when, apart=None):
        return Rule(form, "programs", about + where, apart, when=when)

    uneven = [rule("`analytical`, rings and grids", is_uneven, times(LATE, LATER))]
    if form == "stage":
        uneven = [rule("`analytical`, rings and grids", lambda given: is_uneven(given) and not has_experts(given),
                       times(ONCE, ONCE_ON)),
                  rule("`analytical`, rings and grids, experts",
                       lambda given: is_uneven(given) and has_experts(given), times(TURNS, TURNED))]
    return [
        rule("`analytical`, a switch",
             lambda given: shares_nothing(given) and is_even(given) and not broadcasts(given)),
        *uneven,
        rule("`analytical`, `strategy.boundary: broadcast`",
             lambda given: shares_nothing(given) and broadcasts(given), times(LAST, LAST_ON)),
        rule("`packet`", lambda given: not shares_nothing(given) and not gathers(given), times(
            Apart(LEFT_OUT, LEAST[form], MOST), Apart("follows from the time", 1 / MOST, 1 / LEAST[form]))),
        rule("`packet`, ZeRO 3 in tensor groups", lambda given: not shares_nothing(given) and gathers(given), times(
            Apart(BESIDE, 0.5, MOST), Apart("follows from the time", 1 / MOST, 2)))]


def sections(report, program, folder, setting):
    report.say("## Plans of which a part is simulated")
    report.say()
    apart = dict.fromkeys(("simulated time", "iteration time", "utilisation"), STEADY)
    family = Family(program, folder, "cuts", [
        Rule("replayed", "programs", "`run.replay: exact`", apart),
        *standing("tensor"), *standing("stage"),
        Rule("only tenant", "programs")])
    family.many(6 if setting.reduced else 240, experiment)
    family.report(report)
