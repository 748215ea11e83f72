"""Lanes of one NPU of a run of graphs: when each node computed, accessed memory, communicated.

A row is a lane, or a part of one where nodes of it overlap. Runs beside each other share the time
axis (HCSim, figure 9).
"""

import numpy as np
from matplotlib.patches import Patch

from . import figure
from .errors import NothingToDraw, PlotError

_LANES = ("compute", "memory", "host", "collective", "message")
_LIGHTER = 0.55  # of the shade of every other node
_WIDTH = 14  # inches
_ROW = 1.2
_LETTER, _LINE = 0.052, 0.11  # inches of text of size 6.5
_MOST_ROWS = 8  # of a lane
_MOST_OUTLINED = 300  # of a lane: outlines of more would hide the colours


def _node_of(run, rows):
    nodes = np.unique(rows["node"])
    if run.npu is None:
        return int(nodes[0])
    if run.npu not in nodes:
        raise PlotError(f"{run.folder}: the trace has nothing of node {run.npu}; its nodes are "
                        f"{nodes[0]} to {nodes[-1]}", exit_code=2)
    return run.npu


def rows_of(spans):
    """A row for each (start, end), in order of start, so that those of one row do not overlap."""
    ends, rows = [], []
    for start, end in spans:
        free = next((row for row, last in enumerate(ends) if last <= start), len(ends))
        if free == len(ends):
            ends.append(end)
        else:
            ends[free] = end
        rows.append(free)
    return rows


def lanes_of(run):
    """Node, and {lane: (start [ps], end [ps], name) in order of start}, of lanes that are used."""
    rows = run.read("operators")
    node = _node_of(run, rows)
    rows = rows[rows["node"] == node]
    texts = {int(row["name"]): row["text"].decode(errors="replace") for row in run.read("names")}
    activities = run.names("activities")
    lanes = {}
    for row in rows[np.lexsort((rows["end"], rows["start"]))]:
        lane = activities[row["activity"]]
        name = texts.get(int(row["name"]), str(row["name"]))
        lanes.setdefault(lane, []).append((int(row["start"]), int(row["end"]), name))
    return node, {lane: lanes[lane] for lane in _LANES if lane in lanes}


def _shade(lane, number):
    colour = figure.rgb_of(lane)
    lighter = _LIGHTER if number % 2 else 1
    return tuple(1 - (1 - part) * lighter for part in colour)


def _label(ax, start, length, row, name, inches, colour):
    """Along the bar where it has room, else upright, else not at all."""
    if inches > len(name) * _LETTER:
        rotation = 0
    elif inches > _LINE and _ROW * 0.84 > len(name) * _LETTER:
        rotation = 90
    else:
        return
    ax.text(start + length / 2, row, name, fontsize=6.5, rotation=rotation, ha="center",
            va="center", clip_on=True, color=figure.text_colour(colour))


def _draw_lanes(ax, lanes, factor, width_ps):
    ticks, labels, base = [], [], 0
    for lane, spans in lanes.items():
        crowded = len(spans) > _MOST_OUTLINED
        rows = [min(row, _MOST_ROWS - 1) for row in rows_of([span[:2] for span in spans])]
        for number, ((start, end, name), row) in enumerate(zip(spans, rows)):
            at, length = start / factor, (end - start) / factor
            colour = _shade(lane, number)
            ax.broken_barh([(at, length)], (base + row - 0.45, 0.9), linewidth=0.3,
                           facecolors=colour, edgecolors=colour if crowded else "black")
            _label(ax, at, length, base + row, name, (end - start) / width_ps * (_WIDTH - 1.2),
                   colour)
        used = max(rows) + 1
        ticks.append(base + (used - 1) / 2)
        labels.append(lane)
        base += used
        ax.axhline(base - 0.5, color="#bbbbbb", linewidth=0.6)
    ax.set_yticks(ticks, labels)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(base - 0.5, -0.5)
    return base


def _row_count(lanes):
    return sum(min(_MOST_ROWS, max(rows_of([span[:2] for span in spans])) + 1)
               for spans in lanes.values())


def draw(run, directory):
    runs = [run, *run.beside]
    for one in runs:
        if not one.of_graphs():
            raise NothingToDraw("lanes are of runs of graphs")
    drawn = [lanes_of(one) for one in runs]
    counts = [_row_count(lanes) for _, lanes in drawn]
    width_ps = max(span[1] for _, lanes in drawn for spans in lanes.values() for span in spans)
    factor, unit = figure.time_unit(width_ps)
    note = "a box is a node of the graph; two shades tell neighbours apart"
    titles = (f"Lanes of node {drawn[0][0]}", figure.run_text(run)) if len(runs) == 1 else \
        ("Lanes of an NPU", note)
    fig, axes = figure.new_plain_figure(
        *titles, _WIDTH, sum(counts) * _ROW + 0.4 * len(runs) + 1.2, rows=len(runs), sharex=True,
        gridspec_kw={"height_ratios": counts})
    for ax, one, (node, lanes) in zip(axes[:, 0], runs, drawn):
        _draw_lanes(ax, lanes, factor, width_ps)
        ax.set_xlim(0, width_ps / factor)
        if len(runs) > 1:
            ax.set_title(f"{figure.run_text(one)}, node {node}", fontsize=9, loc="left")
    axes[-1, 0].set_xlabel(f"simulated time [{unit}]")
    names = [lane for lane in _LANES if any(lane in lanes for _, lanes in drawn)]
    if len(runs) == 1:
        figure.legend_above(axes[0, 0], [Patch(color=_shade(name, 0), label=figure.label_of(name))
                                         for name in names], len(names),
                            note)
    return figure.save(fig, directory, "lanes")
