"""How well times rank strategies: Kendall's tau-b, and the regret of the strategy that is best by ours.

A group holds the strategies of one task: one model, on as many GPUs, with as many samples. tau-b (Kendall, Biometrika
33, 1945) is (concordant - discordant pairs) / sqrt(pairs untied by ours * pairs untied as measured), from -1 to 1. The
regret is the measured time of the strategy that takes the least time by ours, over the least measured, less 1.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

# Columns of the tables that say what is computed, and those that say what it took. The others are the strategy.
TASK = ("model", "gpu", "Parameters (billion)", "hidden size", "attention heads", "# layers", "sequence length", "seq",
        "sequence", "GPUs", "# GPUs", "gpus", "global batch", "batch")
STRATEGY = ("scheme", "tensor parallelism", "tp", "data parallelism", "dp", "pipeline parallelism", "pp", "micro batch",
            "micro_batch_per_replica", "micro_batch", "accumulation", "interleave_chunks_v", "recompute", "zero")


@dataclass(frozen=True)
class Group:
    task: tuple        # values of the columns of TASK
    strategies: tuple  # values of those of STRATEGY, no two equal
    ours: tuple
    measured: tuple

    @property
    def tau(self):
        return tau_b(self.ours, self.measured)

    @property
    def chosen(self):
        """Where the least time by ours stands; of several the one that was measured worst."""
        least = min(self.ours)
        return max((index for index, time in enumerate(self.ours) if time == least), key=self.measured.__getitem__)

    @property
    def best(self):
        return self.measured.index(min(self.measured))

    @property
    def regret(self):
        return self.measured[self.chosen] / min(self.measured) - 1


def sign(value):
    return (value > 0) - (value < 0)


def tau_b(first, second):
    """None where all are tied."""
    score = untied_first = untied_second = 0
    for one, other in combinations(range(len(first)), 2):
        by_first, by_second = sign(first[one] - first[other]), sign(second[one] - second[other])
        score += by_first * by_second
        untied_first += by_first != 0
        untied_second += by_second != 0
    return score / sqrt(untied_first * untied_second) if untied_first and untied_second else None


def values_of(row, columns):
    return tuple(row[column] for column in columns if column in row)


def mean(values):
    return sum(values) / len(values)


def groups_of(found, least):
    """[Group] of so many strategies or more, of [(row, ours, measured)]. A strategy that was measured several times has
    the mean."""
    tasks = defaultdict(lambda: defaultdict(list))
    for row, ours, measured in found:
        tasks[values_of(row, TASK)][values_of(row, STRATEGY)].append((ours, measured))
    return [Group(task, tuple(by_strategy),
                  *(tuple(mean([pair[side] for pair in pairs]) for pairs in by_strategy.values()) for side in (0, 1)))
            for task, by_strategy in tasks.items() if len(by_strategy) >= least]
