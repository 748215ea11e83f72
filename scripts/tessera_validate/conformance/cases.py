"""The same work in several forms (as programs, as graphs, from a trace, as a tenant, ...), and what of
their summaries must be equal.

A family draws experiments at random, runs each in all its forms and holds the summaries against that of
one of them. A measure is equal, or a rule says why it is not, and within which bounds. The same seed draws
the same experiments.
"""

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field

from page import call, summary_of

LIKENESS = 1e-9  # of sums of floating-point numbers in another order


@dataclass(frozen=True)
class Measure:
    """A figure of summary.json that forms of one work share."""
    name: str
    of: Callable
    exact: bool = True

    def holds(self, value, base):
        if value is None or base is None:
            return False
        return value == base if self.exact else abs(value - base) <= LIKENESS * abs(base)


def key(name):
    return lambda summary: summary.get(name)


def utilisation(summary):
    peak = summary["peak_flops_per_s"]
    return summary["achieved_flops_per_s"] / peak if peak else 0.0


MEASURES = {measure.name: measure for measure in (
    Measure("simulated time", key("simulated_time_ps")),
    Measure("iteration time", key("iteration_time_ps")),
    Measure("samples", key("samples_per_iteration")),
    Measure("FLOPs", key("flops_per_iteration"), exact=False),
    Measure("FLOPs done", key("executed_flops_per_iteration"), exact=False),
    Measure("bytes of messages", key("message_bytes")),
    Measure("bytes of collectives", key("collective_bytes")),
    Measure("bytes read", key("memory_read_bytes")),
    Measure("bytes written", key("memory_written_bytes")),
    Measure("tiles", key("tiles")),
    Measure("peak", key("peak_flops_per_s"), exact=False),
    Measure("utilisation", utilisation, exact=False),
)}


@dataclass(frozen=True)
class Apart:
    """Why a measure of a form need not be that of the base, and how far it may be off: [low, high] of it, or
    of another figure of the base (`of`, with its name), or less by `short` at most, in its own unit."""
    why: str
    low: float = None
    high: float = None
    short: float = None
    of: Callable = None  # of the base's summary and the experiment
    of_what: str = ""

    def __post_init__(self):
        if self.short is None and None in (self.low, self.high):
            raise ValueError(f"no bounds: {self.why}")

    def holds(self, value, base, base_summary, experiment):
        if value is None or (base is None and self.of is None):
            return False
        if self.short is not None:
            return base - self.short <= value <= base
        scale = base if self.of is None else self.of(base_summary, experiment)
        return self.low * scale <= value <= self.high * scale

    def bounds(self):
        if self.short is not None:
            return f"less by {self.short:g} at most"
        return f"{self.low:.4g} to {self.high:.4g}" + (f" of {self.of_what}" if self.of_what else "")


@dataclass
class Seen:
    equal: int = 0
    unknown: int = 0
    ratios: list = field(default_factory=list)
    outside: list = field(default_factory=list)


class Rule:
    """What the summaries of `form` are of those of `base`: equal but for the measures in `apart`."""

    def __init__(self, form, base, why="", apart=None, when=None):
        self.form, self.base, self.why = form, base, why
        self.apart = apart or {}
        self.when = when or (lambda experiment: True)  # to which experiments it applies
        self.seen = {name: Seen() for name in MEASURES}
        self.runs = 0

    def take(self, summary, base, experiment):
        if not self.when(experiment):
            return
        self.runs += 1
        for name, measure in MEASURES.items():
            value, wanted = measure.of(summary), measure.of(base)
            seen = self.seen[name]
            rule = self.apart.get(name)
            scale = rule.of(base, experiment) if rule and rule.of else wanted
            if measure.holds(value, wanted):
                seen.equal += 1
            elif value is None:
                seen.unknown += 1
            elif scale:
                seen.ratios.append(value / scale)
            if not (rule.holds(value, wanted, base, experiment) if rule else measure.holds(value, wanted)):
                seen.outside.append((value, wanted, experiment))

    def lines(self):
        """For the page: what makes the form, and what of it may be apart."""
        about = f"- {self.form} of {self.base}"
        if self.why:
            yield f"{about}: {self.why}."
        for apart in dict.fromkeys(self.apart.values()):
            names = ", ".join(name for name, one in self.apart.items() if one == apart)
            yield f"{about}, {names} ({apart.bounds()}): {apart.why}."

    def cell(self, name):
        seen = self.seen[name]
        if seen.equal == self.runs:
            return "equal"
        if not seen.ratios:
            return "not counted"
        ratios = [*seen.ratios, *([1.0] if seen.equal else [])]
        return f"{min(ratios):.4g} to {max(ratios):.4g}"


class Family:
    """Experiments of one kind in their forms, and the rules among these."""

    def __init__(self, program, folder, name, rules):
        self.program, self.folder, self.name, self.rules = str(program), folder, name, rules
        self.draw = random.Random(name)
        self.cases = 0
        self.refused = []
        self.complaint = ""
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, experiment):
        """The summary; none where it is refused."""
        path = self.folder / "experiment.yaml"
        path.write_text(json.dumps({"name": "conformance", **experiment}, indent=1), encoding="utf-8")
        done = call([self.program, "run", str(path), "-q", "-q", "-o", str(self.folder / "out")],
                    codes=(0, 2))
        if done.returncode == 2:
            self.complaint = done.stderr
            return None
        return summary_of(self.folder / "out")

    def export(self, experiment):
        """Prefix of the Chakra traces of an experiment, or none."""
        traces = self.folder / "traces"
        shutil.rmtree(traces, ignore_errors=True)
        traces.mkdir()
        path = self.folder / "exported.yaml"
        path.write_text(json.dumps({"name": "exported", **experiment}), encoding="utf-8")
        done = call([self.program, "export", str(path), "--format", "chakra", "-o", str(traces / "w")],
                    codes=(0, 2))
        if done.returncode == 2:
            self.complaint = done.stderr
            return None
        return traces / "w"

    def compare(self, experiment, forms):
        """Runs an experiment in its forms: {name: function of this family and a copy, which gives the
        summary}. The first form that is refused is another draw; any other refusal is a miss."""
        summaries = {}
        for name, form in forms.items():
            summary = form(self, json.loads(json.dumps(experiment)))
            if summary is not None:
                summaries[name] = summary
            elif not summaries:
                return
            else:
                self.refused.append((name, self.complaint.strip(), experiment))
        self.cases += 1
        for rule in self.rules:
            if rule.form in summaries and rule.base in summaries:
                rule.take(summaries[rule.form], summaries[rule.base], experiment)

    def many(self, count, make):
        """As many as `count` that can be run, and more until each rule has a case; `make(draw)` gives an
        experiment and its forms."""
        tries = 0
        while tries < 6 * count and (self.cases < count or not all(rule.runs for rule in self.rules)):
            tries += 1
            self.compare(*make(self.draw))

    def report(self, report):
        for name, complaint, experiment in self.refused[:3]:
            print(f"        refused as {name}: {complaint}: {json.dumps(experiment)}", flush=True)
        report.bound(not self.refused, f"{self.name}: {len(self.refused)} of {self.cases} experiments are "
                                       "refused in one of their forms")
        rows = []
        for rule in self.rules:
            if not rule.runs:
                report.not_run(f"{self.name}: {rule.form} against {rule.base}")
                continue
            rows.append([rule.form, rule.base, rule.runs, *(rule.cell(name) for name in MEASURES),
                         self.verdict(report, rule)])
        report.table(["form", "of", "runs", *MEASURES, ""], rows)
        for rule in self.rules:
            for line in rule.lines():
                report.say(line)
        report.say()

    def verdict(self, report, rule):
        held = True
        for name, seen in rule.seen.items():
            apart = rule.apart.get(name)
            bound = "equal" if apart is None else apart.bounds()
            held &= report.bound(
                not seen.outside, f"{self.name}: {rule.form} of {rule.base}: {name} in {rule.runs} "
                                  f"experiments, {bound}; {len(seen.outside)} outside") == "holds"
            for value, wanted, experiment in seen.outside[:2]:
                print(f"        {value} for {wanted}: {json.dumps(experiment)}", flush=True)
        return "holds" if held else "**missed**"


# Forms.

def as_it_is(family, experiment):
    return family.run(experiment)


def changed(change):
    """A form that `change` makes of a copy."""
    def form(family, experiment):
        change(experiment)
        return family.run(experiment)
    return form


def from_trace(execution=None):
    """Written as Chakra traces and read back."""
    def form(family, experiment):
        prefix = family.export(experiment)
        if prefix is None:
            return None
        back = {part: experiment[part] for part in ("machine", "run") if part in experiment}
        back["workload"] = {"kind": "chakra", "traces": str(prefix), "samples": experiment["workload"]["batch"]}
        groups = prefix.with_suffix(".json")
        if groups.exists():
            back["workload"]["groups"] = str(groups)
        if execution:
            back["execution"] = execution(experiment)
        return family.run(back)
    return form


def as_only_tenant(family, experiment):
    """The figures of the whole, which are those of its only tenant."""
    own = {part: experiment.pop(part) for part in ("workload", "strategy", "execution") if part in experiment}
    experiment["workload"] = {"kind": "tenants", "tenants": [{"name": "only", "tiles": "all", **own}]}
    return family.run(experiment)
