"""Experiments drawn at random, each run at several levels of detail that are held against each other.

A rule says what one level may be of another: equal to the picosecond, or within a band. The same seed
draws the same experiments.
"""

import json
import random
from dataclasses import dataclass, field

from page import call, summary_of

GB = 10 ** 9


@dataclass
class Rule:
    """What `level` is of `base`: times in [low, high] of it; both 1: equal to the picosecond. Bounds may be functions
    of the experiment; `within` is what the page says of them then."""
    level: str
    base: str
    low: object = 1.0
    high: object = 1.0
    why: str = ""
    slack_ps: int = 0  # of those that are equal
    when: object = None  # to which experiments it applies; all
    label: str = ""  # of the row of the page, if not the level
    within: str = ""
    seen: list = field(default_factory=list)
    outside: list = field(default_factory=list)

    def holds(self, time, base, experiment):
        low, high = (end(experiment) if callable(end) else end for end in (self.low, self.high))
        if low == high == 1:
            return abs(time - base) <= self.slack_ps
        return low <= time / base <= high

    def bound(self):
        if self.within:
            return self.within
        equal = "equal" if not self.slack_ps else f"within {self.slack_ps} ps"
        return equal if self.low == self.high == 1 else f"{self.low:g} to {self.high:g}"


class Family:
    """Experiments of one kind, and the rules among their levels."""

    def __init__(self, program, folder, name, rules):
        self.program, self.folder, self.name, self.rules = program, folder, name, rules
        self.draw = random.Random(name)
        self.cases = self.refused = 0

    def time(self, experiment):
        """Simulated time [ps]; none where the machine or the work cannot be so."""
        self.folder.mkdir(exist_ok=True)
        settings = [word for pair in experiment.pop("set", {}).items() for word in ("--set", "=".join(pair))]
        path = self.folder / "experiment.yaml"
        path.write_text(json.dumps({"name": "levels", "run": {"trace": "none"}, **experiment}, indent=1),
                        encoding="utf-8")
        done = call([str(self.program), "run", str(path), "-q", "-q", "-o", str(self.folder / "out"),
                     *settings],
                    codes=(0, 2))
        return None if done.returncode == 2 else summary_of(self.folder / "out")["simulated_time_ps"]

    def compare(self, experiment, levels, forms=None):
        """Runs an experiment at its levels: {name: function that changes a copy}. `forms` are times [ps] by name that
        need no run."""
        times = dict(forms or {})
        for name, change in levels.items():
            copy = json.loads(json.dumps(experiment))
            change(copy)
            times[name] = self.time(copy)
        if any(time is None for time in times.values()):
            self.refused += 1
            return
        self.cases += 1
        for rule in self.rules:
            if rule.level not in times or rule.base not in times or not times[rule.base]:
                continue
            if rule.when and not rule.when(experiment):
                continue
            ratio = times[rule.level] / times[rule.base]
            rule.seen.append(ratio)
            if not rule.holds(times[rule.level], times[rule.base], experiment):
                rule.outside.append((ratio, experiment))

    def many(self, count, make):
        """As many as `count` that can be run; `make(draw)` gives an experiment and its levels."""
        tries = 0
        while self.cases < count and tries < 4 * count:
            tries += 1
            self.compare(*make(self.draw))

    def report(self, report):
        rows = []
        for rule in self.rules:
            if not rule.seen:
                report.not_run(f"{self.name}: {rule.label or rule.level} against {rule.base}")
                continue
            mean = sum(rule.seen) / len(rule.seen)
            held = report.bound(not rule.outside,
                                f"{self.name}: {rule.label or rule.level} of {rule.base}: {min(rule.seen):.6g} to "
                                f"{max(rule.seen):.6g} in {len(rule.seen)} experiments, {rule.bound()}; "
                                f"{len(rule.outside)} outside")
            rows.append([rule.label or rule.level, rule.base, len(rule.seen), f"{min(rule.seen):.4f}", f"{mean:.4f}",
                         f"{max(rule.seen):.4f}", rule.bound(), held, rule.why])
            for ratio, experiment in rule.outside[:2]:
                print(f"        {ratio:.6f}: {json.dumps(experiment)}", flush=True)
        report.table(["level", "of", "experiments", "least", "mean", "most", "rule", "", "why"], rows)


def members(experiment):
    """Of a stack of one dimension."""
    return int(experiment["machine"]["topology"]["shape"].split("(")[1].rstrip(")"))


def number(quantity):
    """Of a text with a unit."""
    return float(quantity.split()[0])


def network(model, **more):
    def change(experiment):
        experiment["machine"]["network"] = {"model": model, **more}
    return change


def rate(value):
    return f"{value} B/s"


def mesh(draw, kinds=("mesh", "torus")):
    return {"kind": draw.choice(kinds), "rows": draw.randint(1, 5), "columns": draw.randint(2, 6),
            "bandwidth": rate(draw.choice([8, 25, 64]) * GB), "latency": f"{draw.choice([1, 4, 20])} ns"}


def stack(draw, blocks=("Ring", "FC", "Switch")):
    size = draw.choice([2, 4, 8])
    return {"kind": "stack", "shape": f"{draw.choice(blocks)}({size})",
            "dimensions": [{"bandwidth": rate(draw.choice([10, 50, 100]) * GB),
                            "latency": f"{draw.choice([100, 500, 2000])} ns"}]}, size


def transformer(draw, training=True):
    work = {"kind": "transformer", "layers": draw.randint(2, 5), "hidden": draw.choice([64, 128]),
            "heads": draw.choice([4, 8]), "sequence": draw.choice([16, 64]), "vocabulary": 128,
            "batch": draw.choice([8, 16])}
    return work if training else {**work, "mode": "inference"}
