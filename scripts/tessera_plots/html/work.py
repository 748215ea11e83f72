"""Where the time of tiles goes: by activity and stage, by operator, by collective."""

import numpy as np

from .. import hiding, shares
from ..errors import NothingToDraw
from .table import table

_ORDER = ("compute", "tensor", "data", "context", "expert", "pipeline", "collective", "message",
          "memory", "host", "bubble")


def breakdown(run):
    """{"activities", "groups": [(name, [share])], "source"}. Throws NothingToDraw."""
    groups, source = shares.from_summary(run), "mean over all tiles"
    if not groups or not any(sum(part.values()) for _, part in groups):
        groups, source = shares.from_operators(run), "mean over the tiles in the trace"
    names = {name for _, part in groups for name, share in part.items() if share > 0}
    order = [name for name in _ORDER if name in names] + sorted(names - set(_ORDER))
    return {"activities": order, "source": source,
            "groups": [{"name": label if label == "total" or not label.isdigit()
                        else f"stage {label}",
                        "shares": [part.get(name, 0.0) for name in order]}
                       for label, part in groups]}


class _Sums:
    def __init__(self):
        self.times, self.all, self.longest = {}, {}, {}
        self.tiles = set()

    def add(self, rows):
        self.tiles.update(np.unique(rows["node"]).tolist())
        keys = rows["name"].astype(np.int64) << 8 | rows["activity"]
        known, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
        took = (rows["end"] - rows["start"]).astype(np.int64)
        sums = np.bincount(place, took, known.size)
        longest = np.zeros(known.size, np.int64)
        np.maximum.at(longest, place, took)
        for key, count, total, most in zip(known.tolist(), counts.tolist(), sums.tolist(),
                                           longest.tolist()):
            self.times[key] = self.times.get(key, 0) + count
            self.all[key] = self.all.get(key, 0) + total
            self.longest[key] = max(self.longest.get(key, 0), most)


def operators(run):
    """Mean over the tiles in the trace, by name and activity. Throws NothingToDraw."""
    sums = _Sums()
    for rows in run.blocks("operators"):
        sums.add(rows)
    if not sums.all:
        raise NothingToDraw("the trace holds no operators")
    names = {int(row["name"]): row["text"].decode("utf-8", "replace") for row in run.read("names")}
    activities = run.names("activities")
    tiles, end = len(sums.tiles), max(1, run.end_ps())
    rows = [[names.get(key >> 8, "?"), activities[key & 255], sums.times[key],
             sums.all[key] / sums.times[key], sums.longest[key], sums.all[key] / tiles,
             sums.all[key] / tiles / end] for key in sorted(sums.all, key=lambda k: -sums.all[k])]
    return table("Operators", [("operator", "text"), ("activity", "text"), ("times", "count"),
                               ("mean", "time"), ("longest", "time"), ("time a tile", "time"),
                               ("share of time", "share")], rows,
                 f"mean over the {tiles} tiles in the trace")


def collectives(run):
    """Of graphs, by kind and dimension, with what nothing hides. Throws NothingToDraw."""
    end = max(1, run.end_ps())
    rows = [[kind.replace("_", "-"), "-" if dimension == 255 else str(dimension), busy, open_,
             open_ / busy if busy else 0.0, open_ / end]
            for kind, dimension, busy, open_ in hiding.by_kind_and_dimension(run)]
    return table("Collectives", [("collective", "text"), ("dimension", "text"),
                                 ("under way", "time"), ("exposed", "time"),
                                 ("exposed of it", "share"), ("exposed of all time", "share")], rows,
                 "mean over the tiles in the trace; exposed is what no computing or memory access "
                 "hides")


def groups_of_collectives(run):
    """Of plans: what tiles waited for, by group and by the first word of an operator's name."""
    waits = operators(run)
    sums = {}
    for name, activity, times, _, longest, of_tile, share in waits["rows"]:
        if activity in ("compute", "memory", "host", "bubble"):
            continue
        key = (activity, name.split("/")[-1])
        count, most, total, part = sums.get(key, (0, 0, 0.0, 0.0))
        sums[key] = (count + times, max(most, longest), total + of_tile, part + share)
    if not sums:
        raise NothingToDraw("no tile in the trace waited for others")
    rows = [[activity, name, count, most, total, part] for (activity, name),
            (count, most, total, part) in sorted(sums.items(), key=lambda item: -item[1][2])]
    return table("Collectives and messages that tiles waited for",
                 [("group", "text"), ("for", "text"), ("times", "count"), ("longest", "time"),
                  ("time a tile", "time"), ("share of time", "share")], rows, waits["note"])
