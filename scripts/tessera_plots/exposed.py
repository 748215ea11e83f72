"""Of runs of graphs: communication that nothing hides, by kind and dimension; stragglers."""

import numpy as np

from . import figure
from .errors import NothingToDraw
from .hiding import by_kind_and_dimension, tile_times

_ELSEWHERE = 255  # of members that fill no box of dimensions
_MOST_TILES = 400


def _dimension(number):
    return "no dimension" if number == _ELSEWHERE else f"dimension {number}"


def draw(run, directory):
    groups = by_kind_and_dimension(run)
    unit, name = figure.time_unit(max(busy for _, _, busy, _ in groups))
    labels = [f"{kind.replace('_', '-')}\n{_dimension(dimension)}"
              for kind, dimension, _, _ in groups]
    busy = np.array([entry[2] for entry in groups]) / unit
    open_ = np.array([entry[3] for entry in groups]) / unit
    fig, axes = figure.new_figure(run, "Collectives by kind and dimension (mean over the tiles in "
                                  "the trace)", 10, 2.2 + 0.55 * len(groups))
    ax = axes[0, 0]
    place = np.arange(len(groups))
    ax.barh(place, open_, color=figure.COLOURS["pipeline"], label="exposed")
    ax.barh(place, busy - open_, left=open_, color=figure.COLOURS["forward"],
            label="hidden by computing and memory accesses")
    for y, (whole, part) in enumerate(zip(busy, open_)):
        share = 100 * part / whole if whole else 0
        ax.text(whole, y, f"  {share:.0f} % exposed", va="center", fontsize=8)
    ax.set_yticks(place, labels, fontsize=8)
    ax.invert_yaxis()
    ax.margins(x=0.18)
    ax.set_xlabel(f"time under way [{name}]")
    figure.legend_above(ax, ax.get_legend_handles_labels()[0], 2)
    return figure.save(fig, directory, "exposed_communication")


def draw_stragglers(run, directory):
    if not run.names("collectives") or not any(
            trace.rows("collective_phases") for trace in run.traces):
        raise NothingToDraw("the run is not one of graphs with collectives")
    nodes, times = tile_times(run)
    order = np.argsort(-times[0], kind="stable")
    shown = order[:_MOST_TILES]
    unit, name = figure.time_unit(times[2].max())
    fig, axes = figure.new_figure(
        run, "Stragglers: tiles by the time they compute, those in the trace", 11, 5)
    ax = axes[0, 0]
    place = np.arange(shown.size)
    work, waits = times[0][shown] / unit, times[1][shown] / unit
    ax.bar(place, work, 1.0, color=figure.COLOURS["compute"], label="computes, accesses memory")
    ax.bar(place, waits, 1.0, work, color=figure.COLOURS["pipeline"], label="exposed collectives")
    median = np.median(times[0]) / unit
    ax.axhline(median, color="black", linewidth=0.8, linestyle="--",
               label=f"median of computing; the slowest has {work[0] / median:.2f} times that"
               if median else "median of computing")
    step = max(1, shown.size // 24)
    ax.set_xticks(place[::step], nodes[shown][::step], fontsize=8, rotation=90)
    ax.set_xlabel("node")
    ax.set_ylabel(f"time [{name}]")
    figure.legend_above(ax, ax.get_legend_handles_labels()[0], 3)
    return figure.save(fig, directory, "stragglers")
