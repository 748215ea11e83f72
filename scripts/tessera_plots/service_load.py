"""What each service or replica held, change by change: requests that run and wait, blocks of the cache."""

import numpy as np

from . import figure
from .binning import steps
from .serving import tenant_name

_PANELS = (
    ("requests", "", (("running", "#0072b2"), ("waiting", "#d55e00"))),
    ("cache", "blocks", (("cache_blocks", "#009e73"),)),
)
_MOST_SERVICES = 8
_LINES = tuple(name for _, _, lines in _PANELS for name, _ in lines)


def together(rows):
    """(times, {what: values}) of what all services of these rows hold, added up at each change of one."""
    mine = rows[np.argsort(rows["tenant"], kind="stable")]  # rows of one service follow each other
    begins = np.append(True, mine["tenant"][1:] != mine["tenant"][:-1])
    in_time = np.argsort(mine["time"], kind="stable")
    values = {}
    for what in _LINES:
        now = mine[what].astype(np.int64)
        change = np.where(begins, now, now - np.append(0, now[:-1]))
        values[what] = np.cumsum(change[in_time])
    return mine["time"][in_time].astype(np.int64), values


def services_of(run):
    """[(title, times, {what: values})] of the first services, and of all others together."""
    rows = run.read("service_load")
    numbers = np.unique(rows["tenant"])
    found = []
    for number in numbers[:_MOST_SERVICES]:
        mine = rows[rows["tenant"] == number]
        found.append((tenant_name(run, number), mine["time"].astype(np.int64), {what: mine[what] for what in _LINES}))
    others = numbers[_MOST_SERVICES:]
    if others.size:
        found.append((f"{others.size} others together", *together(rows[np.isin(rows["tenant"], others)])))
    return found


def draw(run, directory):
    """Requests that ran and waited, and blocks that were taken, of the first services and of all others."""
    services = services_of(run)
    end_ps = run.end_ps()
    factor, unit = figure.time_unit(end_ps)
    title = "What services held"
    if len(services) > _MOST_SERVICES:
        title += f" (the first {_MOST_SERVICES}, and {services[-1][0]})"
    fig, axes = figure.new_figure(run, title, 5 * len(services), 2.6 * len(_PANELS), rows=len(_PANELS),
                                  columns=len(services), sharex="col")
    for column, (name, times, held) in zip(axes.T, services):
        for ax, (title, of, lines) in zip(column, _PANELS):
            for what, colour in lines:
                edges, values = steps(times, held[what], end_ps)
                ax.stairs(values, edges / factor, color=colour, label=what.replace("_", " "))
            ax.set_title(title, loc="left")
            ax.set_ylabel(of)
            ax.set_ylim(bottom=0)
            ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncol=2, frameon=False, fontsize=8)
        column[0].set_title(f"{name}: requests", loc="left")
        column[-1].set_xlabel(f"simulated time [{unit}]")
    return figure.save(fig, directory, "service_load")
