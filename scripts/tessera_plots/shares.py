"""Share of tile time by activity, in total and for each stage."""

import numpy as np

from .errors import NothingToDraw

COMMUNICATION = ("tensor", "data", "context", "expert", "pipeline", "collective", "message")


def from_summary(run):
    """[(label, {activity: share})] of the summary's breakdown; the total first."""
    breakdown = run.summary.get("breakdown")
    if not isinstance(breakdown, dict) or "total" not in breakdown:
        return []
    groups = [("total", breakdown["total"])]
    groups += [(group.get("name", "").replace("stage ", ""), group)
               for group in breakdown.get("stages", [])]
    return [(label, {name: entry["share"] or 0.0 for name, entry in group.items()
                     if isinstance(entry, dict) and "share" in entry}) for label, group in groups]


def from_operators(run):
    """The same of the tiles whose operators were kept, for a run without a finished summary."""
    nodes = run.nodes()
    activities = run.names("activities")
    rows = run.read("operators")
    end_ps = run.end_ps()
    if end_ps <= 0 or "bubble" not in activities:
        raise NothingToDraw("neither the summary nor the trace says what the tiles did")
    tiles, place = np.unique(rows["node"], return_inverse=True)
    stage_of = dict(zip(nodes["node"].tolist(), nodes["stage"].tolist()))
    stages = np.array([stage_of.get(tile, -1) for tile in tiles.tolist()])
    busy = np.zeros((tiles.size, max(len(activities), int(rows["activity"].max()) + 1)))
    np.add.at(busy, (place, rows["activity"]), (rows["end"] - rows["start"]) / end_ps)
    bubble = activities.index("bubble")
    busy[:, bubble] = 0
    busy[:, bubble] = np.maximum(1 - busy.sum(axis=1), 0)
    groups = [("total", busy)] + [(str(stage), busy[stages == stage]) for stage in np.unique(stages)]
    return [(label, dict(zip(activities, group.mean(axis=0)))) for label, group in groups]
