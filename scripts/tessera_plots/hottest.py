"""The hottest links and memory channels over time, beside their capacity."""

import numpy as np

from . import figure
from .channel_use import Channels
from .errors import NothingToDraw
from .link_use import Links
from .node_names import names_of
from .resolved import flatten, read_text

_CURVES = 6
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_CAPACITY_STYLES = ((0, (1, 1)), (0, (6, 2)), (0, (6, 2, 1, 2)), (0, (1, 4)))
_STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)))


def _links(run, values):
    if not run.rows("link_bins"):
        raise NothingToDraw("the network keeps no account of its links over time")
    links = Links(run, values)
    name_of = names_of(run, values)
    order = np.argsort(-links.share, kind="stable")[:_CURVES]
    rates = links.over_time["bytes"] / (links.frames.lengths[:, None] * 1e-12)
    rows = links.rows
    return "links", links.frames.edges, [
        (f"{name_of(rows['node'][i])} to {name_of(rows['to'][i])}", rates[:, i], links.capacity[i])
        for i in order.tolist()]


def _channels(run, values):
    channels = Channels(run, values)
    name_of = names_of(run, values)
    rates = channels.read + channels.written
    return "memory channels, read and written", channels.frames.edges, [
        (f"channel {channels.rows['channel'][i]} at {name_of(channels.rows['node'][i])}", rates[:, i],
         channels.capacity[i])
        for i in channels.order[:_CURVES].tolist()]


def _draw_panel(ax, end_ps, what, edges, curves):
    capacities = sorted({capacity for _, _, capacity in curves})
    factor, unit = figure.rate_unit(max(capacities[-1], *(rate.max() for _, rate, _ in curves)))
    time_factor, _ = figure.time_unit(end_ps)
    for (name, rate, _), colour, style in zip(curves, _COLOURS, _STYLES):
        ax.stairs(rate / factor, edges / time_factor, baseline=None, color=colour, linestyle=style,
                  linewidth=1.4, label=name)
    for number, capacity in enumerate(capacities):
        of_it = sum(own == capacity for _, _, own in curves)
        whose = "" if len(capacities) == 1 else f", of {of_it} of them"
        ax.axhline(capacity / factor, color="black", linewidth=1.2,
                   linestyle=_CAPACITY_STYLES[number % len(_CAPACITY_STYLES)],
                   label=f"capacity {capacity / factor:.4g} {unit}{whose}")
    ax.set_ylim(bottom=0)
    ax.set_ylabel(f"rate [{unit}]")
    ax.set_title(f"the {len(curves)} hottest {what}", loc="left")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8)


def draw(run, directory):
    values = flatten(read_text(run.folder))
    panels = []
    for panel in (_links, _channels):
        try:
            panels.append(panel(run, values))
        except NothingToDraw as nothing:
            reason = nothing
    if not panels:
        raise reason
    end_ps = max(run.end_ps(), *(int(edges[-1]) for _, edges, _ in panels))
    fig, axes = figure.new_figure(run, "The hottest links and channels, and their capacity", 14,
                                  1.4 + 3 * len(panels), rows=len(panels), sharex=True)
    for ax, panel in zip(axes[:, 0], panels):
        _draw_panel(ax, end_ps, *panel)
    factor, unit = figure.time_unit(end_ps)
    axes[-1, 0].set_xlim(0, end_ps / factor)
    axes[-1, 0].set_xlabel(f"simulated time [{unit}]")
    return figure.save(fig, directory, "hottest")
