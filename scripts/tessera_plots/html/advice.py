"""Which bound limits a run, and what to try next: from the breakdown, the links and the channels."""

from ..resolved import number
from .bounds import percent as _percent

_COMMUNICATION = {
    "tensor": "tensor groups",
    "data": "sums over replicas",
    "context": "context groups",
    "expert": "tokens of other replicas",
    "pipeline": "boundary tensors",
    "collective": "collectives",
    "message": "messages",
}
_TITLES = {
    "compute": "Computing limits this run",
    "memory": "Memory bandwidth limits this run",
    "communication": "Exposed communication limits this run",
    "bubble": "The bubble limits this run",
}
_SMALL = 0.02
_PLAIN_SCHEDULES = ("1f1b", "gpipe")


def bounds_of(shares):
    """{"compute", "memory", "communication", "bubble"}: shares of the time of tiles."""
    return {"compute": shares.get("compute", 0.0) + shares.get("host", 0.0),
            "memory": shares.get("memory", 0.0),
            "communication": sum(shares.get(name, 0.0) for name in _COMMUNICATION),
            "bubble": shares.get("bubble", 0.0)}


class _Advice:
    def __init__(self, run, values, breakdown, links, channels):
        self.summary, self.values = run.summary, values
        self.shares = dict(zip(breakdown["activities"], breakdown["groups"][0]["shares"]))
        self.stages = breakdown["groups"][1:]
        self.names = breakdown["activities"]
        self.links, self.channels = links, channels

    def whole(self, key, default=None):
        return number(self.values, key, default)

    def on_compute(self):
        ideal, real = self.summary.get("ideal_time_ps"), self.summary.get("iteration_time_ps")
        if ideal and real:
            yield (f"Arithmetic alone, with the bubble of its schedule, would take {_percent(ideal / real)} "
                   "of the iteration: more can be won by less or faster arithmetic alone, or by "
                   "another schedule.")
        did, asked = (self.summary.get(key) or 0 for key in
                      ("executed_flops_per_iteration", "flops_per_iteration"))
        if asked and did > 1.05 * asked:
            yield (f"Tiles execute {did / asked:.2f} times the FLOPs of the model: recomputation "
                   f"(`strategy.recompute: {self.values.get('strategy.recompute', '?')}`), and what "
                   "shards do alike. Try `selective` or `none` where memory allows.")
        yield ("More tiles, a narrower `data_type`, or larger pieces of work a tile "
               "(`micro_batch`, a smaller `tensor`) where the compute model rewards them.")

    def on_memory(self):
        if self.channels:
            busy = self.channels["mean_busy"]
            most = self.channels["most_busy"]
            if busy > 0.6:
                yield (f"The channels are busy {_percent(busy)} of the time on average, the busiest "
                       f"{_percent(most)}: bandwidth is used up. More or faster channels, or fewer "
                       "bytes.")
            elif most > 0.6:
                yield (f"The busiest channel is busy {_percent(most)} of the time, the mean "
                       f"{_percent(busy)}: the load is uneven. Another placement, or another "
                       "assignment of tiles to channels.")
            else:
                yield (f"The channels are busy only {_percent(busy)} of the time: latency and the "
                       "way to them limit. Larger bursts, or more of them under way "
                       "(`memory.burst`, `memory.max_bursts`).")
        if self.values.get("machine.tile.operands") == "sram":
            yield ("See in the table of memory what stays in SRAM: more tiles a stage (`tensor`, "
                   "`pipeline`, `zero`) or `recompute` leave less to stream from DRAM.")

    def on_communication(self):
        parts = {name: self.shares.get(name, 0.0) for name in _COMMUNICATION}
        for name in sorted(parts, key=lambda key: -parts[key]):
            if parts[name] >= _SMALL:
                yield f"{_percent(parts[name])}: waits for {_COMMUNICATION[name]}. {self._of(name)}"
        if self.links:
            row = self.links["hottest"]["rows"][0]
            if row[2] > 0.5:
                yield (f"The hottest link, {row[0]}, is busy {_percent(row[2])} of the time: traffic "
                       "meets there. Another placement or routing would spread it.")
            else:
                yield (f"No link is busy more than {_percent(row[2])} of the time: latency, overheads "
                       "and waiting for others count for more than bandwidth.")

    def _of(self, name):
        said = {
            "tensor": self._on_tensor(),
            "data": self._on_data(),
            "context": "A smaller `strategy.context`, members of a group closer together.",
            "expert": "A smaller `strategy.expert`, replicas of a group close together.",
            "pipeline": f"Another `strategy.boundary` (now {self.values.get('strategy.boundary')})"
                        + (", stages that touch (`placement.layout: s-shape`)." if self._is_grid() else "."),
            "collective": "Another algorithm or more chunks (`execution.collectives`), work that "
                          "overlaps with them.",
            "message": "Messages earlier, or closer partners.",
        }
        return said[name]

    def _is_grid(self):
        return self.values.get("machine.topology.kind") in ("mesh", "torus", "wafer")

    def _on_tensor(self):
        parts = [f"A smaller `strategy.tensor` (now {self.whole('strategy.tensor', '?')})"]
        parts += [f"`{key}`" for key in ("overlap_tensor", "sequence_parallel")
                  if self.values.get(f"strategy.{key}") != "true"]
        if self._is_grid():
            parts.append("`placement.layout: optimized`")
        elif self.values.get("machine.topology.kind") == "cluster":
            parts.append("groups inside a server")
        return ", ".join(parts) + "."

    def _on_data(self):
        parts = []
        if self.values.get("strategy.overlap_gradients") != "true":
            parts.append("`overlap_gradients: true`")
        if self.whole("strategy.zero", 0) == 0:
            parts.append("`zero: 1`")
        parts += ["fewer replicas", "another algorithm (now `strategy.collectives.data: "
                  f"{self.values.get('strategy.collectives.data', '?')}`)"]
        text = ", ".join(parts) + "."
        return text if text.startswith("`") else text[0].upper() + text[1:]

    def on_bubble(self):
        stages = self.whole("strategy.pipeline", 1)
        batch, micro = self.whole("workload.batch"), self.whole("strategy.micro_batch")
        replicas = self.whole("strategy.data", 1)
        if stages > 1 and batch and micro and batch // (micro * replicas):
            count = batch // (micro * replicas)
            least = (stages - 1) / (count + stages - 1)
            yield (f"{stages} equal stages with {count} micro-batches a replica would idle "
                   f"{_percent(least)} of the passes under 1F1B or GPipe, (p − 1) / (m + p − 1).")
            yield from self._on_schedule(stages, count, micro, least)
        spread = self._uneven()
        if spread:
            yield spread

    def _on_schedule(self, stages, count, micro, least):
        schedule, bubble = self.values.get("strategy.schedule", "?"), self.shares.get("bubble", 0.0)
        if schedule not in _PLAIN_SCHEDULES:
            yield (f"`{schedule}` fills part of that; the {_percent(bubble)} here are what is left, and waiting "
                   "for stages that take longer.")
            return
        if least < bubble / 2:
            yield (f"The schedule explains little of the {_percent(bubble)} here: stages wait for others that take "
                   "longer, or for memory and messages of theirs.")
            return
        if micro > 1:
            more = 2 * count if micro % 2 == 0 else count * micro
            yield (f"`micro_batch: {micro // 2 if micro % 2 == 0 else 1}` makes {more} "
                   f"micro-batches: {_percent((stages - 1) / (more + stages - 1))}.")
        yield ("Fewer stages, `chunks` with `schedule: interleaved`, or `zb-h1` and `zb-v`, which "
               f"fill part of it (now `{schedule}`).")

    def _uneven(self):
        if len(self.stages) < 2 or "bubble" not in self.names:
            return None
        place = self.names.index("bubble")
        busy = [1 - stage["shares"][place] for stage in self.stages]
        most, mean = max(busy), sum(busy) / len(busy)
        if mean <= 0 or most < 1.15 * mean:
            return None
        name = self.stages[busy.index(most)]["name"]
        return (f"Stages are uneven: {name} is at work {_percent(most)} of the time, the mean "
                f"{_percent(mean)}. Layers moved away from it shorten the iteration.")


def advice(run, values, breakdown, links, channels):
    """[{"bound", "title", "share", "lines"}], what limits most first; shares below 2 % are left out."""
    said = _Advice(run, values, breakdown, links, channels)
    bounds = bounds_of(said.shares)
    found = []
    for name in sorted(bounds, key=lambda key: -bounds[key]):
        if bounds[name] < _SMALL and found:
            continue
        title = _TITLES[name] if not found else {
            "compute": "Computing", "memory": "Waiting for memory",
            "communication": "Exposed communication", "bubble": "Bubble"}[name]
        lines = list(getattr(said, f"on_{name}")())
        found.append({"bound": name, "title": title, "share": bounds[name], "lines": lines})
    return found
