"""Of runs that serve requests: how long each was waited for, and what services held."""

import numpy as np

from ..binning import steps
from ..errors import NothingToDraw
from . import services
from .table import table

_POINTS = 400
_MOST_SERVICES = 8
_HELD = ("running", "waiting", "cache_blocks")


def _name(run, number):
    names = run.names("phases")
    return names[number] if number < len(names) else f"tenant {number}"


def _times(run):
    """[(what, tenant, sorted times)]."""
    found = []
    requests = run.read("requests")
    for number in np.unique(requests["tenant"]).tolist():
        mine = requests[requests["tenant"] == number]
        if mine["generated"].max() > 0:
            found.append(("first token", number, mine["first"] - mine["arrival"]))
        found.append(("whole request", number, mine["end"] - mine["arrival"]))
    if run.rows("tokens"):
        tokens = run.read("tokens")
        tokens = tokens[tokens["since"] >= 0]
        for number in np.unique(tokens["tenant"]).tolist():
            mine = tokens[tokens["tenant"] == number]
            found.append(("between tokens", number, mine["time"] - mine["since"]))
    return [(what, number, np.sort(times)) for what, number, times in found]


def _held(run):
    """Of the first services, change by change: requests that run and wait, blocks of the cache."""
    if not run.rows("service_load"):
        return []  # of an older run
    rows = run.read("service_load")
    held = []
    for number in np.unique(rows["tenant"])[:_MOST_SERVICES].tolist():
        mine = rows[rows["tenant"] == number]
        lines = {name: steps(mine["time"].astype(np.int64), mine[name], run.end_ps()) for name in _HELD}
        held.append({"tenant": _name(run, number), "edges": lines["running"][0].tolist(),
                     **{name: values.tolist() for name, (_, values) in lines.items()}})
    return held


def _distributions(run):
    """[(time, share that waited no longer)], and their rows of the table."""
    curves, rows = [], []
    for what, number, times in _times(run):
        place = np.unique(np.linspace(0, times.size - 1, _POINTS).astype(int))
        curves.append({"what": what, "tenant": _name(run, number), "times": times[place].tolist(),
                       "shares": ((place + 1) / times.size).tolist()})
        ranks = [times[int(np.ceil(part * times.size)) - 1] for part in (0.5, 0.95, 0.99)]
        rows.append([_name(run, number), what, int(times.size), float(times.mean()),
                     *map(int, ranks), int(times[-1])])
    return curves, rows


def requests_of(run):
    """Distributions, what services held, and tables; without a trace, what the summary has of it. Throws
    NothingToDraw."""
    served = services.table_of(run.summary)
    if run.of_requests():
        (curves, rows), held = _distributions(run), _held(run)
    elif served:
        curves, rows, held = [], services.rows_of_times(run.summary), services.held_in_windows(run.summary)
    else:
        raise NothingToDraw("the run serves no requests")
    more = max(0, len(run.summary.get("services") or []) - _MOST_SERVICES) if held else 0
    return {"curves": curves, "held": held, "not_held": more, "services": served, "table": table(
        "Times of requests", [("tenant", "text"), ("time to", "text"), ("count", "count"),
                              ("mean", "time"), ("median", "time"), ("95 %", "time"),
                              ("99 %", "time"), ("longest", "time")], rows)}
