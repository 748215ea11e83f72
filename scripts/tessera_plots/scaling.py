"""The predicted speed-up over the number of ranks, and where the time goes."""

import os

import matplotlib.pyplot as plt

from .errors import NothingToDraw
from .figure import new_plain_figure, save
from .json_report import read_report

_SHARES = [("work_s", "events", "#0072b2"), ("waiting_s", "slowest region", "#56b4e9"),
           ("reductions_s", "reductions", "#d55e00"), ("messages_s", "messages", "#e69f00")]


def read(path):
    """The predictions of a file that 'tessera scale' wrote. Throws PlotError."""
    report = read_report(path, "tessera-scaling", "tessera scale -o")
    if len(report["predictions"]) < 2:
        raise NothingToDraw(f"{path}: predicts one number of ranks only")
    return report


def draw(path, directory):
    report = read(path)
    rows = report["predictions"]
    ranks = [row["ranks"] for row in rows]
    figure, axes = new_plain_figure(
        "Predicted speed-up of the simulation",
        f"{report['experiment']}: {report['workload']} on {report['machine']}, {report['nodes']} "
        f"nodes, partition {report['partition']}", 10, 4.5, columns=2)
    speed, shares = axes[0]
    speed.plot(ranks, [row["speed_up"] for row in rows], marker="o", color="#0072b2",
               label="predicted")
    speed.plot(ranks, ranks, color="#7f7f7f", linestyle="--", label="ideal")
    speed.set_xscale("log", base=2)
    speed.set_yscale("log", base=2)
    speed.set_ylim(min(row["speed_up"] for row in rows) / 1.5,
                   2 * max(row["speed_up"] for row in rows) + 1)
    speed.set_xlabel("ranks")
    speed.set_ylabel("speed-up over one rank")
    speed.legend(frameon=False)
    below = [0.0] * len(rows)
    for key, label, colour in _SHARES:
        part = [100 * row[key] / row["wall_s"] if row["wall_s"] > 0 else 0 for row in rows]
        shares.bar(range(len(rows)), part, bottom=below, color=colour, label=label)
        below = [a + b for a, b in zip(below, part)]
    shares.set_xticks(range(len(rows)), [str(rank) for rank in ranks], rotation=45)
    shares.set_xlabel("ranks")
    shares.set_ylabel("share of the wall time [%]")
    shares.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=4, frameon=False, fontsize=8)
    for axis in (speed.xaxis, speed.yaxis):
        axis.set_major_formatter(plt.FuncFormatter(lambda value, _: f"{value:g}"))
    name = os.path.splitext(os.path.basename(path))[0] + "_speed_up"
    return save(figure, directory, name)
