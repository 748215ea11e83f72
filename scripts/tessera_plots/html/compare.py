"""What differs between runs: tables of the configurations, times, links and memories."""

from .. import resolved
from .table import table, text_of

_NUMBERS = (
    ("iteration_time_ps", "iteration time", "time"),
    ("throughput_samples_per_s", "throughput [samples/s]", "factor"),
    ("achieved_flops_per_s", "achieved", "flops"),
    ("peak_flops_per_s", "peak of the tiles at work", "flops"),
    ("ideal_time_ps", "ideal time", "time"),
    ("simulated_time_ps", "simulated time", "time"),
    ("tiles", "tiles at work", "count"),
    ("samples_per_iteration", "samples an iteration", "factor"),
    ("flops_per_iteration", "FLOPs an iteration, of the model", "factor"),
    ("executed_flops_per_iteration", "FLOPs an iteration, executed", "factor"),
    ("energy_j_per_iteration", "energy of an iteration", "energy"),
    ("power_w_per_tile", "power of a tile [W]", "factor"),
    ("message_bytes", "bytes of messages", "bytes"),
    ("collective_bytes", "bytes of collectives", "bytes"),
    ("memory_read_bytes", "read from memory", "bytes"),
    ("memory_written_bytes", "written to memory", "bytes"),
    ("messages", "messages", "count"),
    ("packet_hops", "packet hops", "count"),
    ("links", "links of the machine", "count"),
)
_ZERO_IF_UNKNOWN = ("ideal_time_ps", "energy_j_per_iteration", "power_w_per_tile")
_KNOWN_AT_THE_END = ("iteration_time_ps", "throughput_samples_per_s", "achieved_flops_per_s")
# Services have none.
_OF_AN_ITERATION = ("iteration_time_ps", "throughput_samples_per_s", "samples_per_iteration", "flops_per_iteration",
                    "executed_flops_per_iteration", "energy_j_per_iteration")
# Of each served model.
_SERVED = (
    ("served", "requests served", "count"),
    ("met", "met all targets", "count"),
    ("met_per_s", "met all targets [1/s]", "factor"),
    ("tokens", "tokens", "count"),
    ("again", "preempted", "count"),
    ("cache_blocks", "most blocks of the cache", "count"),
    ("cost_a_million_tokens", "cost of a million tokens", "factor"),
)
_SERVED_TIMES = (("first_token_ps", "first token"), ("between_tokens_ps", "between tokens"),
                 ("a_token_ps", "a token of a request, in the mean"), ("latency_ps", "whole request"))
_TEXTS = ("status", "experiment", "machine", "workload", "result_digest")
_MOST_LINKS = 50


class Comparison:
    """Of runs as `run.collect` leaves them, with the links of each: {name: (kind, share)}."""

    def __init__(self, runs, links):
        self.runs, self.links = runs, links
        self.labels = [run["label"] for run in runs]

    def tables(self):
        """{name: table}, those that there are."""
        made = {name: getattr(self, name)() for name in (
            "numbers", "services", "notes", "differences", "breakdown", "operators", "collectives", "links_by_kind",
            "hottest", "hottest_channels", "memory")}
        made["links"] = made.pop("links_by_kind")
        return {name: content for name, content in made.items() if content}

    def _columns(self, kind):
        return [(label, kind) for label in self.labels]

    def _changes(self, values):
        """Of the others to the first: as a factor."""
        first = values[0]
        return [value / first if first and value is not None else None for value in values[1:]]

    def _change_names(self, sign):
        return [f"{label} {sign} {self.labels[0]}" for label in self.labels[1:]]

    def numbers(self):
        summaries = [run["summary"] for run in self.runs]
        rows = [[key, *(str(summary.get(key, "-")) for summary in summaries),
                 *[None] * (len(summaries) - 1)] for key in _TEXTS
                if any(summary.get(key) for summary in summaries)]
        for key, name, kind in _NUMBERS:
            values = [summary.get(key) for summary in summaries]
            if key in _ZERO_IF_UNKNOWN:
                values = [value or None for value in values]
            if key in _OF_AN_ITERATION:
                values = [None if summary.get("services") else value
                          for summary, value in zip(summaries, values)]
            if key in _KNOWN_AT_THE_END:
                values = [value or None if summary.get("status") != "finished" else value
                          for summary, value in zip(summaries, values)]
            if any(values):
                rows.append([name, *(text_of(value, kind) for value in values),
                             *self._changes(values)])
        return table("Results", [("of", "text"), *self._columns("text"),
                                 *((name, "factor") for name in self._change_names("/"))], rows)

    def services(self):
        parts = [{service["tenant"]: service for service in run["summary"].get("services") or ()}
                 for run in self.runs]
        rows = []
        for tenant in dict.fromkeys(name for part in parts for name in part):
            found = [part.get(tenant, {}) for part in parts]
            for key, name, kind in _SERVED:
                self._add_served(rows, tenant, name, kind, [one.get(key) for one in found])
            for key, name in _SERVED_TIMES:
                for figure in ("mean", "p50", "p99"):
                    times = [one.get(key, {}) for one in found]
                    self._add_served(rows, tenant, f"{name}, {figure}", "time",
                                     [one.get(figure) if one.get("count") else None for one in times])
        return table("Served models", [("model", "text"), ("of", "text"), *self._columns("text"),
                                       *((name, "factor") for name in self._change_names("/"))],
                     rows) if rows else None

    def _add_served(self, rows, tenant, name, kind, values):
        if any(values):
            rows.append([tenant, name, *(text_of(value, kind) for value in values), *self._changes(values)])

    def notes(self):
        """What bends results, where runs differ in it."""
        parts = [run["summary"].get("notes") or [] for run in self.runs]
        rows = [[note, *("yes" if note in part else "-" for part in parts)]
                for note in dict.fromkeys(note for part in parts for note in part)
                if not all(note in part for part in parts)]
        return table("Notes that not all runs have", [("note", "text"), *self._columns("text")],
                     rows) if rows else None

    def differences(self):
        values = [resolved.flatten(run["config"]) for run in self.runs]
        keys = dict.fromkeys(key for part in values for key in part)
        rows = [[key, *(part.get(key) for part in values)] for key in keys
                if len({part.get(key) for part in values}) > 1]
        return table("What differs in the configurations", [("key", "text"),
                                                            *self._columns("text")], rows,
                     f"{len(rows)} of {len(keys)} keys; a dash: not there" if rows
                     else f"nothing: all {len(keys)} keys are the same")

    def breakdown(self):
        parts = [run["breakdown"] for run in self.runs]
        if not all(parts):
            return None
        shares = [{(group["name"], name): share for group in part["groups"]
                   for name, share in zip(part["activities"], group["shares"])} for part in parts]
        keys = dict.fromkeys(key for part in shares for key in part)
        rows = []
        for name, activity in keys:
            values = [part.get((name, activity)) for part in shares]
            if any(values):
                rows.append([name, activity, *values, *((value or 0) - (values[0] or 0)
                                                        for value in values[1:])])
        rows.sort(key=lambda row: list(dict.fromkeys(name for name, _ in keys)).index(row[0]))
        return table("Breakdown", [("of", "text"), ("activity", "text"), *self._columns("share"),
                                   *((name, "share") for name in self._change_names("−"))], rows,
                     "share of the time of tiles")

    def _joined(self, name, title, keys, value, kind, note):
        """A table that several runs have, by its first columns, with one value each."""
        parts = [run[name] for run in self.runs]
        if not all(parts):
            return None
        found = [{} for _ in parts]
        for part, into in zip(parts, found):
            place = [column["name"] for column in part["columns"]].index(value)
            for row in part["rows"]:
                key = tuple(row[:len(keys)])
                into[key] = into.get(key, 0) + row[place]
        rows = []
        for key in dict.fromkeys(key for into in found for key in into):
            values = [into.get(key) for into in found]
            rows.append([*key, *values, *((value or 0) - (values[0] or 0) for value in values[1:]),
                         *self._changes(values)])
        width = len(keys) + len(parts)
        rows.sort(key=lambda row: -max(map(abs, row[width:width + len(parts) - 1])))
        return table(title, [*((key, "text") for key in keys), *self._columns(kind),
                             *((name, kind) for name in self._change_names("−")),
                             *((name, "factor") for name in self._change_names("/"))], rows, note)

    def operators(self):
        return self._joined("operators", "Operators", ("operator", "activity"), "time a tile",
                            "time", "time a tile, mean over the tiles in each trace; the largest "
                            "change first")

    def collectives(self):
        parts = [run["collectives"] for run in self.runs]
        if not all(parts) or len({part["title"] for part in parts}) > 1:
            return None
        keys = tuple(column["name"] for column in parts[0]["columns"][:2])
        value = "exposed" if parts[0]["title"] == "Collectives" else "time a tile"
        return self._joined("collectives", "Collectives", keys, value, "time",
                            f"{value}, mean over the tiles in each trace; the largest change first")

    def links_by_kind(self):
        rows = []
        for run in self.runs:
            for kind, used, carried, mean, _, most, *_ in (
                    run["links"]["by_class"]["rows"] if run["links"] else []):
                rows.append([kind, run["label"], used, carried, mean, most])
        rows.sort(key=lambda row: row[0])
        return table("Links by kind", [("kind", "text"), ("run", "text"), ("used", "count"),
                                       ("carried", "bytes"), ("mean busy", "share"),
                                       ("busiest", "share")], rows) if rows else None

    def hottest(self):
        if not any(self.links):
            return None
        most = {}
        for run, part in zip(self.runs, self.links):
            for name, (kind, share) in part.items():
                key = (run["shape"], name)
                most[key] = max(most.get(key, (0, kind)), (share, kind))
        shares = [{name: share for name, (_, share) in part.items()} for part in self.links]
        rows = []
        for key in sorted(most, key=lambda one: -most[one][0])[:_MOST_LINKS]:
            values = self._shares(key, shares)
            rows.append([key[1], most[key][1], *values, *self._differences_of(values)])
        return table("Hottest links", [("link", "text"), ("kind", "text"), *self._columns("share"),
                                       *((name, "share") for name in self._change_names("−"))], rows,
                     f"the {len(rows)} busiest in any of the runs, share of its time; a dash: the run has no record of "
                     "it, or its machine no such link, or is of another shape (other nodes, or in other places)")

    def _shares(self, key, shares):
        """Of each run; nothing where it recorded none, where its machine is another one and need not have it, or
        where that is of another shape: what has the same name there is something else."""
        shape, name = key
        shares = [part if run["shape"] == shape else {} for run, part in zip(self.runs, shares)]
        machines = [{key: value for key, value in resolved.flatten(run["config"]).items()
                     if key.startswith(("machine.topology.", "machine.dram.at"))
                     and not key.endswith((".bandwidth", ".latency"))} for run in self.runs]
        known = [machine for machine, part in zip(machines, shares) if name in part]
        return [part.get(name, 0.0 if part and machine in known else None)
                for machine, part in zip(machines, shares)]

    @staticmethod
    def _differences_of(values):
        return [None if value is None or values[0] is None else value - values[0] for value in values[1:]]

    def hottest_channels(self):
        shares = [{row[0]: row[2] for row in run["channels"]["hottest"]["rows"]} if run["channels"] else {}
                  for run in self.runs]
        cuts = [run["channels"] and run["channels"]["count"] > len(part)  # only the hottest are in the table
                for run, part in zip(self.runs, shares)]
        most = {}
        for run, part in zip(self.runs, shares):
            for name, share in part.items():
                key = (run["shape"], name)
                most[key] = max(most.get(key, 0), share)
        if not most:
            return None
        rows = []
        for key in sorted(most, key=lambda one: -most[one])[:_MOST_LINKS]:
            values = [None if key[1] not in part and cut else value
                      for value, part, cut in zip(self._shares(key, shares), shares, cuts)]
            rows.append([key[1], *values, *self._differences_of(values)])
        return table("Hottest DRAM channels", [("channel", "text"), *self._columns("share"),
                                               *((name, "share") for name in self._change_names("−"))], rows,
                     f"the {len(rows)} busiest in any of the runs, share of its time; a dash: the run has no record of it, "
                     "or it is not among the hottest there")

    def memory(self):
        parts = [run["memory"] for run in self.runs]
        if not all(parts):
            return None
        found = [{row[0]: row[len(part["parts"]) + 2] for row in part["table"]["rows"]} for part in parts]
        rows = []
        for stage in dict.fromkeys(stage for part in found for stage in part):
            values = [part.get(stage) for part in found]
            rows.append([stage, *values, *self._changes(values)])
        return table("Memory of one tile of each stage",
                     [("stage", "text"), *self._columns("bytes"),
                      *((name, "factor") for name in self._change_names("/"))], rows)


def _served(service):
    return {"tenant": service["tenant"], **{key: service.get(key) for key, _, _ in _SERVED},
            **{key: service.get(key) for key, _ in _SERVED_TIMES}}


def as_json(comparison, tables):
    """For scripts: numbers in plain units (ps, bytes, B/s, shares of 1)."""
    found = {name: [dict(zip((column["name"] for column in content["columns"]), row))
                    for row in content["rows"]] for name, content in tables.items()
             if name not in ("numbers", "services")}
    keys = [key for key, _, _ in _NUMBERS]
    return {"file_type": "tessera-comparison", "format_version": "1.1",
            "runs": [{"label": run["label"], **{key: run["summary"].get(key)
                                                for key in (*_TEXTS, *keys)},
                      "services": [_served(service) for service in run["summary"].get("services") or ()],
                      "bounds": {entry["bound"]: entry["share"] for entry in run["advice"]}}
                     for run in comparison.runs], **found}
