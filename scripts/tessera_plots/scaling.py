"""The predicted speed-up over the number of ranks, and where the time goes."""

import itertools
import os

import matplotlib.pyplot as plt

from .errors import NothingToDraw
from .figure import new_plain_figure, save
from .json_report import read_report

_SHARES = [("work_s", "events", "#0072b2"), ("waiting_s", "waiting", "#56b4e9"),
           ("reductions_s", "reductions", "#d55e00"), ("messages_s", "messages", "#e69f00")]
_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
_CURVES = [("bound", "bound", ":", "v"), ("promises_speed_up", "by promises", "-", "o"),
           ("rounds_speed_up", "by rounds", "-.", "s")]


def read(path):
    """The predictions of a file that 'tessera scale' wrote. Throws PlotError."""
    report = read_report(path, "tessera-scaling", "tessera scale -o")
    if len(report["predictions"]) < 2:
        raise NothingToDraw(f"{path}: predicts one number of ranks only")
    return report


def cuts(report):
    """Partition -> its predictions, each beginning with that of one rank."""
    first, *others = report["predictions"]
    found = {}
    for row in others:
        found.setdefault(row["partition"], [first]).append(row)
    return found


def draw_speed_ups(axes, found):
    ranks = sorted({row["ranks"] for rows in found.values() for row in rows})
    lowest, highest = 1, 1
    for colour, (partition, rows) in zip(itertools.cycle(_COLOURS), found.items()):
        for key, label, line, marker in _CURVES:
            values = [row[key] for row in rows]
            lowest, highest = min(lowest, *values), max(highest, *values)
            axes.plot([row["ranks"] for row in rows], values, marker=marker, markersize=4,
                      linestyle=line, color=colour, label=None if len(found) > 1 else label)
        if len(found) > 1:
            axes.plot([], [], color=colour, linewidth=4, label=partition)
    if len(found) > 1:
        for _, label, line, marker in _CURVES:
            axes.plot([], [], marker=marker, markersize=4, linestyle=line, color="black",
                      label=label)
    axes.plot(ranks, ranks, color="#7f7f7f", linestyle="--", label="ideal")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_ylim(lowest / 1.5, 2 * highest + 1)
    axes.set_xlabel("ranks")
    axes.set_ylabel("speed-up over one rank")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=4, frameon=False, fontsize=8)


def draw_shares(axes, found):
    rows = [row for number, rows in enumerate(found.values()) for row in rows[min(number, 1):]]
    below = [0.0] * len(rows)
    for key, label, colour in _SHARES:
        part = [100 * row[key] / row["wall_s"] if row["wall_s"] > 0 else 0 for row in rows]
        axes.bar(range(len(rows)), part, bottom=below, color=colour, label=label)
        below = [a + b for a, b in zip(below, part)]
    names = [f"{row['partition']} {row['ranks']}" if len(found) > 1 and row["ranks"] > 1
             else str(row["ranks"]) for row in rows]
    axes.set_xticks(range(len(rows)), names, rotation=90 if len(found) > 1 else 45,
                    fontsize=7 if len(rows) > 16 else None)
    axes.set_xlabel("ranks")
    axes.set_ylabel("share of the wall time [%]")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=4, frameon=False, fontsize=8)


def draw(path, directory):
    report = read(path)
    found = cuts(report)
    partition = f"partition {report['partition']}, " if len(found) == 1 else ""
    figure, axes = new_plain_figure(
        "Predicted speed-up of the simulation",
        f"{report['experiment']}: {report['workload']} on {report['machine']}, {report['nodes']} "
        f"nodes, {partition}shares by {report['synchronization']}", 10, 4.5, columns=2)
    speed, shares = axes[0]
    draw_speed_ups(speed, found)
    draw_shares(shares, found)
    for axis in (speed.xaxis, speed.yaxis):
        axis.set_major_formatter(plt.FuncFormatter(lambda value, _: f"{value:g}"))
    name = os.path.splitext(os.path.basename(path))[0] + "_speed_up"
    return save(figure, directory, name)
