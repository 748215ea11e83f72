"""Strategies of one model on as many GPUs, ranked by ours and as measured."""

from training_clusters import profiles
from training_clusters.clusters import run_rows
from training_clusters.ranking import groups_of, mean
from training_clusters.sets import sets

LEAST = 3        # strategies of a group; two say only which is faster
MOST_REGRET = 3  # mean of a set [%]
SHOWN = 4        # groups of a set
# Of which publication, by the beginning of the names of its sets.
SEVERAL = ("vTrain, one node", "vTrain, several nodes")
PAIRS = ("Megatron SC'21, table 2", "Korthikanti, table 5")
QUICK = ("vTrain, several nodes", "Korthikanti, table 5")  # in the reduced form


def found_of(program, folder, source):
    found = []
    for number, each in enumerate(one for one in sets() if one.name.startswith(source)):
        found += run_rows(program, folder / f"{source.replace(' ', '-')}-{number}", each.machine, each.rows, each.run)
    return found


def percent(share):
    return f"{100 * share:.2f} %"


def several_row(report, source, groups):
    taus = [group.tau for group in groups if group.tau is not None]
    regrets = [group.regret for group in groups]
    sizes = [len(group.ours) for group in groups]
    return [source, len(groups), f"{min(sizes)} to {max(sizes)}", f"{mean(taus):.2f}", f"{min(taus):.2f}",
            report.at_most(100 * mean(regrets), MOST_REGRET, f"{source}: mean regret of the best strategy [%]", "{:.2f}"),
            percent(max(regrets)), f"{sum(group.regret == 0 for group in groups)} of {len(groups)}"]


def group_row(source, group):
    """The last columns of a task are its GPUs and samples."""
    tau = "all tied" if group.tau is None else f"{group.tau:.2f}"
    return [source, ", ".join(group.task), len(group.ours), tau, *(", ".join(group.strategies[index])
                                                                   for index in (group.chosen, group.best)),
            percent(group.regret)]


def several(report, by_source):
    report.table(["set", "groups", "strategies", "tau-b, mean", "tau-b, least", "regret, mean", "regret, worst",
                  "best one found"], [several_row(report, source, groups) for source, groups in by_source.items()])
    report.say("The groups with the largest regret in each set (tensor, data and pipeline degree, micro-batch):")
    report.say()
    worst = [(source, group) for source, groups in by_source.items()
             for group in sorted(groups, key=lambda group: -group.regret)[:SHOWN]]
    report.table(["set", "task", "strategies", "tau-b", "best by ours", "best as measured", "regret"],
                 [group_row(source, group) for source, group in worst])


def pairs(report, by_source):
    report.say("Sets with two strategies per task, which have an order but no ranking: ZeRO 3 or tensor and pipeline "
               "parallelism (SC'21, table 2), full recomputation or selective recomputation with sequence parallelism "
               "(Korthikanti).")
    report.say()
    table = []
    for source, groups in by_source.items():
        regrets = [group.regret for group in groups]
        table.append([source, len(groups), sum(group.tau == 1 for group in groups),
                      report.at_most(100 * mean(regrets), MOST_REGRET, f"{source}: mean regret of the faster one [%]", "{:.2f}"),
                      percent(max(regrets))])
    report.table(["set", "pairs", "in the measured order", "regret, mean", "regret, worst"], table)


def layers_that_decide(report, program, folder):
    """What the mean regret of vTrain's table of one node would be with published times of single layers in place of ours,
    in each of the passes that an iteration takes one after the other."""
    found = found_of(program, folder, SEVERAL[0])
    theirs, mine = ({(cell.width, cell.tensor, cell.micro): cell.layer for cell in profiles.cells_of(times)}
                    for times in (profiles.published(), [(row, ours) for row, ours, _ in found]))

    def passes(row):
        stages = profiles.number(row, "pipeline parallelism")
        return profiles.number(row, "# layers") / stages * (profiles.micro_batches(row) + stages - 1)

    def regret_with(*keys):
        more = {key: theirs[key] - mine[key] for key in keys}
        groups = groups_of([(row, ours + more.get(profiles.by_key(row), 0) * passes(row), published)
                            for row, ours, published in found], LEAST)
        return 100 * mean([group.regret for group in groups])

    alone = {key: regret_with(key) for key in theirs if key in mine}
    first, second, *others = sorted(alone, key=alone.get)
    report.say("How much single profiles decide: with the published time of a single layer in place of the simulated "
               f"one, the mean regret is {alone[first]:.2f} % (width, tensor degree and micro-batch "
               f"{', '.join(map(str, first))}) or {alone[second]:.2f} % ({', '.join(map(str, second))}), with both "
               f"{regret_with(first, second):.2f} %, and with any one of the other {len(others)} at least "
               f"{min(alone[key] for key in others):.2f} %.")
    report.say()


def section(report, program, folder, reduced):
    report.say("### How strategies rank")
    report.say()
    report.say("When choosing a strategy, its rank matters more than its time. A group is all strategies for one model "
               f"on the same number of GPUs with the same number of samples, at least {LEAST}. *tau-b* is Kendall's, "
               "between simulated and published times; *regret* is how much longer the strategy that Tessera ranks "
               "best took than the best one. vTrain's single-node table adds up profiles (above), so its groups rank "
               "predictions of another kind, not measurements, and inherit the scatter of profiles (one of width 2048 "
               "with tensor degree 4 took less time with two samples than with one). llm-foundry's and NeMo's tables "
               "hold one strategy per task.")
    report.say()

    def chosen(sources, least):
        there = [source for source in sources if not reduced or source in QUICK]
        return {source: groups_of(found_of(program, folder, source), least) for source in there}

    several(report, chosen(SEVERAL, LEAST))
    if not reduced:
        layers_that_decide(report, program, folder)
    pairs(report, chosen(PAIRS, 2))
