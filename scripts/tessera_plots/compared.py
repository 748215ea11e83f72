"""Pictures of several runs beside each other, on equal scales."""

import os
import textwrap

import numpy as np
from matplotlib.colors import TwoSlopeNorm

from . import figure, link_map, shares
from .errors import NothingToDraw, PlotError
from .scales import norm_of

_DIFFERENCE = "PuOr_r"  # purple less, orange more: told apart by all


def _touched(rows):
    return np.unique(np.concatenate((rows["node"], rows["to"])))


def _uses(runs, labels):
    """[(label, shape, map, [link] share in percent)] of the runs that have links. Machines of one shape show
    the same part."""
    read = [(run, label, run.shape(), *link_map.read_totals(run)) for run, label in zip(runs, labels)
            if run.rows("links") or run.rows("link_bins")]  # some networks keep no account of them
    if not read:
        raise NothingToDraw("no network kept an account of its links")
    found = []
    for run, label, shape, rows, span in read:
        shown = np.concatenate([_touched(other[3]) for other in read if other[2] == shape])
        where = link_map.where_of(run, rows, 6, shown)
        span = span or int((rows["end"] - rows["begin"]).max())
        found.append((label, shape, where, 100 * where.sum_by_link(rows["busy"]) / max(span, 1)))
    return found


def _less(first, other):
    """Of each link of the other what it has over the first; None where machines are not of one shape."""
    (_, one_shape, one, before), (_, shape, two, after) = first, other
    if shape != one_shape:
        return None
    known = dict(zip(one.pairs(), before))
    return np.array([share - known.get(pair, 0.0) for pair, share in zip(two.pairs(), after)])


def _title(what, where, width):
    """In lines as long as a panel of some inches is wide."""
    return "\n".join(textwrap.wrap(what + where.part(), max(16, int(11 * width))))


def _left_out(runs, labels):
    """What aggregation keeps from the links, and of which runs."""
    words = {}
    for run, label in zip(runs, labels):
        if said := link_map.left_out_lines(run):
            words.setdefault(said, []).append(label)
    return "\n".join(f"{', '.join(labels)}: {said}" for said, labels in words.items())


def _draw_links(runs, labels, directory):
    uses = _uses(runs, labels)
    without = [label for label in labels if label not in [use[0] for use in uses]]
    norm, said = norm_of(runs[0].colours, np.concatenate([link_map.drawn_of(*use[2:]) for use in uses]))
    changes = [(use[0], use[2], change) for use in uses[1:] if (change := _less(uses[0], use)) is not None]
    columns = len(uses) + len(changes)
    width, height = uses[0][2].shape
    fig, axes = figure.new_plain_figure(
        "Use of links on one scale" + (f", and what others have over {uses[0][0]}" if changes else ""),
        ", ".join(use[0] for use in uses) + (f"; no account of links: {', '.join(without)}" if without else ""),
        max(8, (width + 1) * columns), max(height, 3) + 1.4, columns=columns)
    for ax, (label, _, where, share) in zip(axes[0], uses):
        drawn = link_map.draw_panel(ax, where, share, norm)
        ax.set_title(_title(label, where, width), fontsize=10)
    link_map.colour_bar(fig, drawn, axes[0, :len(uses)].tolist(), said)
    most = max((float(np.abs(change).max()) for _, _, change in changes), default=0) or 1.0
    for ax, (label, where, change) in zip(axes[0, len(uses):], changes):
        drawn = link_map.draw_panel(ax, where, change, TwoSlopeNorm(0, -most, most), _DIFFERENCE)
        ax.set_title(_title(f"{label} less {uses[0][0]}", where, width), fontsize=10)
    if changes:
        fig.colorbar(drawn, ax=axes[0, len(uses):].tolist(), shrink=0.8, aspect=30,
                     label="difference of the shares of time [percentage points]\n(linear scale)")
    if left_out := _left_out(runs, labels):
        fig.supxlabel(left_out, fontsize=9)
    return figure.save(fig, directory, "compared_links")


def _draw_shares(runs, labels, directory):
    groups = [shares.from_summary(run)[:1] for run in runs]
    if not all(groups):
        raise NothingToDraw("a summary has no breakdown")
    names = [name for name in dict.fromkeys([*figure.COLOURS, *groups[0][0][1]])
             if any(of[0][1].get(name, 0) > 0 for of in groups)]
    fig, axes = figure.new_plain_figure("Share of tile time by activity, and time of an iteration",
                                        ", ".join(labels), 11, 2.6 + 1.0 * len(runs), rows=2)
    bars, times = axes[:, 0]
    left = np.zeros(len(runs))
    for name, colour in figure.colours_of(names).items():
        part = np.array([100 * of[0][1].get(name, 0.0) for of in groups])
        bars.barh(labels, part, left=left, color=colour,
                  label=figure.label_of(name))
        left += part
    bars.set_xlim(0, 100)
    bars.set_xlabel("share of time [%]")
    took = [run.summary.get("iteration_time_ps") or run.end_ps() for run in runs]
    factor, unit = figure.time_unit(max(took))
    drawn = times.barh(labels, [time / factor for time in took], color="#7f7f7f")
    times.bar_label(drawn, [figure.time_text(time) for time in took], padding=3, fontsize=9)
    times.margins(x=0.2)
    times.set_xlabel(f"time of an iteration [{unit}]")
    for ax in (bars, times):
        ax.invert_yaxis()
    figure.legend_above(bars, bars.get_legend_handles_labels()[0], 4)
    return figure.save(fig, directory, "compared_shares")


def draw(runs, labels, directory):
    """The paths of what was drawn."""
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as error:
        raise PlotError(f"{directory}: {error.strerror}") from error
    for picture in (_draw_shares, _draw_links):
        try:
            yield picture(runs, labels, directory)
        except NothingToDraw:
            pass
