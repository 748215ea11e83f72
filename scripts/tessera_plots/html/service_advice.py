"""What limits the services of a run, and which key to change: from the numbers of the summary."""

from ..resolved import number, quantity
from . import services
from .bounds import percent
from .table import text_of

_EXCHANGES = ("tensor", "pipeline", "expert", "collective", "message", "context", "data")
_MOST_SERVICES = 4
_SMALL = 0.02
_MET = 0.99  # from here on a service keeps up


def _time(picoseconds):
    return text_of(float(picoseconds), "time")


def _prefix(values, name):
    """Of the keys of a service; beside other tenants, where it is 'TENANT/name', of that tenant's."""
    prefix = ""
    *tenants, service = name.split("/")
    for part, below in (*((tenant, "workload.") for tenant in tenants), (service, "requests.")):
        prefix = next((key[:-len("name")] for key, value in values.items()
                       if key.startswith(prefix) and key.endswith(".name") and value == part
                       and any(other.startswith(key[:-len("name")] + below) for other in values)), None)
        if prefix is None:
            return ""
    return prefix


class _Service:
    """One service, with its replicas."""

    def __init__(self, service, values):
        self.service, self.values = service, values
        self.name = service["tenant"]
        self.prefix = _prefix(values, self.name)
        self.served = max(1, service["served"])
        self.windows = service.get("windows") or []

    def key(self, name, default="?"):
        return self.values.get(self.prefix + name, default)

    def now(self, name):
        return f"`{name}` (now {self.key(name)})" if self.prefix + name in self.values else f"`{name}`"

    def answered(self):
        """Times to the first token; of models that generate none, to the end."""
        first = self.service["first_token_ps"]
        return first if first["count"] else self.service["latency_ps"]

    def waited(self):
        """Mean time in the queue, by Little's law: those that wait, over those that come."""
        came = sum(one["arrived"] for one in self.windows)
        waiting = sum(one["waiting"] for one in self.windows)
        return min(waiting * self.service["window_ps"] / came, self.answered()["mean"]) if came else 0.0

    def queue_grows(self):
        """As long as requests come."""
        last = max((i for i, one in enumerate(self.windows) if one["arrived"]), default=-1)
        windows = self.windows[:last + 1]
        part = len(windows) // 4
        if not part:
            return False
        first, last = (sum(one["waiting"] for one in some) / part for some in (windows[:part], windows[-part:]))
        return last > 2 * first + 1

    def met(self):
        return self.service.get("met", self.served) / self.served

    def keeps_up(self):
        return self.met() >= _MET and not self.queue_grows()

    def verdict(self):
        lines = []
        if self.keeps_up():
            title = f"{self.name}: keeps up with its requests"
            lines.append("`tessera capacity` finds the highest rate at which it does, `tessera plan` the layout "
                         "that takes most requests within the targets.")
        else:
            title = f"{self.name}: does not keep up with its requests"
            if self.queue_grows():
                lines.append("More requests wait at the end than at the beginning: more come than are served, and "
                             "times grow with the length of the run. A lower `requests.rate`, or more NPUs.")
            late = [f"{self.service[key]} {what}" for key, what in
                    (("late_requests", "requests"), ("late_tokens", "tokens")) if self.service[key]]
            if late:
                lines.append(f"{' and '.join(late)} were later than `target` allows.")
        return self.entry("targets", title, self.met(), "of its requests met all targets", lines)

    @staticmethod
    def entry(bound, title, share, of, lines):
        return {"bound": bound, "title": title, "share": share, "of": of, "lines": lines}

    def queueing(self):
        waited, all_of_it = self.waited(), self.answered()["mean"]
        lines = [f"A request waits {_time(waited)} in the mean before its first step, of {_time(all_of_it)} until it "
                 "is answered."]
        if number(self.values, self.prefix + "prefill", 0):
            lines.append(f"Of {self.key('replicas')} replicas {self.key('prefill')} compute prompts (`prefill`): one "
                         "more of them shortens the queue, and leaves fewer to generate.")
        more = [self.now("replicas"), "larger steps: " + ", ".join(
            self.now(f"batching.{name}") for name in ("sequences", "tokens"))]
        if self.key("router", "") == "round-robin":
            more.append("`router: least-work` in place of `round-robin`")
        lines.append(f"More {'; '.join(more)}.")
        return self.entry("queueing", f"{self.name}: waiting for a step", waited / max(1, all_of_it),
                          "of the time to the first token", lines)

    def prefill(self):
        computing = self.answered()["mean"] - self.waited()
        lines = [f"Prompts take {_time(computing)} in the mean once they are begun.",
                 f"A larger {self.now('tensor')} shares each prompt among more NPUs; "
                 "`language_model.product_type: fp8` where the machine has it; `router: prefix` where prompts begin "
                 "alike."]
        if self.prefix + "batching.chunk" in self.values:
            lines.append(f"A larger {self.now('batching.chunk')} lets prompts through in fewer steps, which take "
                         "longer for those that generate.")
        return self.entry("prefill", f"{self.name}: computing prompts", computing / max(1, self.answered()["mean"]),
                          "of the time to the first token", lines)

    def memory(self):
        lines = [f"Caches were given back {self.service['again']} times, and computed or fetched again: the memory for "
                 "keys and values is too small for the sequences under way."]
        if self.key("batching.cache_type", "") in ("model", ""):
            lines.append("`batching.cache_type: fp8` holds twice as many tokens of two bytes.")
        lines.append(f"More NPUs a model ({self.now('tensor')}, {self.now('pipeline')}), smaller `weights`, fewer "
                     f"sequences at a time ({self.now('batching.sequences')}), or a place behind the cache "
                     "(`batching.tier`).")
        return self.entry("memory", f"{self.name}: memory for the cache", self.service["again"] / self.served,
                          "caches given back a request", lines)

    def own(self):
        """(weight, entry) of what concerns this service alone."""
        first = 1.0 if not self.keeps_up() and (self.service["late_requests"] or self.queue_grows()) else 0.5
        entries = [(first, self.queueing()), (first, self.prefill()), (2.0, self.memory())]
        return [(factor * entry["share"], entry) for factor, entry in entries if entry["share"] >= _SMALL]


class _Npus:
    """What the NPUs did, of all services together."""

    def __init__(self, run, values, breakdown, channels, asked):
        self.summary, self.values, self.channels, self.asked = run.summary, values, channels, asked
        self.shares = dict(zip(breakdown["activities"], breakdown["groups"][0]["shares"])) if breakdown else {}

    def bandwidth(self):
        """Of what memories move at their peak; None where that is not known."""
        moved, time = self.summary.get("memory_bytes"), self.summary.get("simulated_time_ps")
        if self.channels:
            return self.channels["mean_busy"]
        if not moved or not time or self.values.get("machine.dram.at") != "each":
            return None
        rate = quantity(self.values["machine.dram.bandwidth"])
        return min(1.0, moved / (time * 1e-12 * rate * max(1, self.summary.get("tiles") or 1)))

    def steps(self):
        peak = self.summary.get("peak_flops_per_s")
        arithmetic = (self.summary.get("achieved_flops_per_s") or 0) / peak if peak else 0.0
        memory = self.bandwidth()
        if memory is None or arithmetic > memory:
            lines = [f"Arithmetic is at {percent(arithmetic)} of its peak over the whole time. More NPUs, or "
                     "`language_model.product_type: fp8` where the machine has it."]
            return _Service.entry("compute", "Arithmetic of steps", arithmetic, "of the peak", lines)
        lines = [f"Memories move {percent(memory)} of what they can over the whole time, arithmetic is at "
                 f"{percent(arithmetic)} of its peak: steps that generate wait for weights and caches to be read.",
                 "Fewer bytes (`weights: {type: int8}`, `batching.cache_type: fp8`), more sequences that share a "
                 f"reading of the weights ({self.asked.now('batching.sequences')}), more tokens a step "
                 f"(`speculation`), or more memories ({self.asked.now('tensor')})."]
        return _Service.entry("decode", "Bandwidth of memory", memory, "of what memories can move", lines)

    def exchanges(self):
        share = sum(self.shares.get(name, 0.0) for name in _EXCHANGES)
        lines = [f"NPUs wait for exchanges with each other {percent(share)} of the time."]
        keys = [name for name in ("tensor", "pipeline", "expert") if number(self.values, self.asked.prefix + name, 1) > 1]
        if keys:
            lines.append(f"A smaller {' or '.join(self.asked.now(name) for name in keys)}, NPUs of a model inside one "
                         "server (`npus`).")
        algorithm = self.values.get("workload.all_reduce")
        if algorithm:
            few = " or ".join(f"`{name}`" for name in ("halving-doubling", "direct") if name != algorithm)
            lines.append(f"Another `all_reduce` (now `{algorithm}`): what few tokens send is small, and algorithms of "
                         f"few steps are faster then ({few}).")
        return _Service.entry("exchanges", "Exchanges between NPUs", share, "of the time of NPUs", lines)

    def idle(self):
        share = self.shares.get("bubble", 0.0)
        return _Service.entry("idle", "NPUs with nothing to do", share, "of the time of NPUs", [
            "There is room for more requests (`requests.rate`), or fewer NPUs would do "
            f"({self.asked.now('replicas')})."])

    def own(self, late):
        weighted = [(1.0 if late else 0.5, self.steps()), (1.0, self.exchanges()), (0.4, self.idle())]
        return [(factor * entry["share"], entry) for factor, entry in weighted if entry["share"] >= _SMALL]


def advice(run, values, breakdown, channels):
    """As that of other runs: first how each service fares, then what limits, the heaviest first."""
    found = [_Service(one, values) for one in services.wholes(run.summary)]
    found.sort(key=lambda one: one.met())
    found = found[:_MOST_SERVICES]
    late = any(one.service["late_tokens"] > 0.01 * max(1, one.service["tokens"]) for one in found)
    limits = _Npus(run, values, breakdown, channels, found[0]).own(late)
    for one in found:
        limits += one.own()
    limits.sort(key=lambda limit: -limit[0])
    return [one.verdict() for one in found] + [entry for _, entry in limits]
