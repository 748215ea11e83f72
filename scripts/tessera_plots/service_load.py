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


def draw(run, directory):
    """Requests that ran and waited, and blocks that were taken, of the first services."""
    rows = run.read("service_load")
    numbers = np.unique(rows["tenant"])[:_MOST_SERVICES]
    end_ps = run.end_ps()
    factor, unit = figure.time_unit(end_ps)
    fig, axes = figure.new_figure(run, "What services held", 5 * len(numbers), 2.6 * len(_PANELS), rows=len(_PANELS),
                                  columns=len(numbers), sharex="col")
    for column, number in zip(axes.T, numbers):
        mine = rows[rows["tenant"] == number]
        for ax, (title, of, lines) in zip(column, _PANELS):
            for name, colour in lines:
                edges, values = steps(mine["time"].astype(np.int64), mine[name], end_ps)
                ax.stairs(values, edges / factor, color=colour, label=name.replace("_", " "))
            ax.set_title(title, loc="left")
            ax.set_ylabel(of)
            ax.set_ylim(bottom=0)
            ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncol=2, frameon=False, fontsize=8)
        column[0].set_title(f"{tenant_name(run, number)}: requests", loc="left")
        column[-1].set_xlabel(f"simulated time [{unit}]")
    return figure.save(fig, directory, "service_load")
