"""Exposed communication: share of tile time by activity, in total and for each stage."""

import numpy as np

from . import figure
from .shares import COMMUNICATION, from_operators, from_summary

_LETTER = 0.09  # inches of a letter of a label
_MOST_BARS = 400  # thousands are narrower than a pixel, and take long to draw


def _draw_share(ax, place, bar, bottom, share, **style):
    """A bar for each group; where they are very many, one for all and an area for the others."""
    few = len(place) <= _MOST_BARS
    shown = len(place) if few else 1
    ax.bar(place[:shown], share[:shown], bar[:shown], bottom[:shown], **style)
    if not few:
        ax.fill_between(place[1:], bottom[1:], bottom[1:] + share[1:], step="mid", linewidth=0, color=style["color"])


def draw(run, directory):
    groups = from_summary(run)
    source = "mean over all tiles"
    if not groups or not any(sum(shares.values()) for _, shares in groups):
        groups = from_operators(run)
        source = "mean over the tiles in the trace"
    names = list(dict.fromkeys(name for _, shares in groups for name, share in shares.items()
                               if share > 0))
    order = [name for name in figure.COLOURS if name in names]
    order += [name for name in names if name not in order]

    width = float(np.clip(2.5 + 0.32 * len(groups), 8, 18))
    fig, axes = figure.new_figure(run, f"Share of tile time by activity ({source})", width, 6)
    ax = axes[0, 0]
    # The total stands apart from the stages, and wide enough for its label where they are many.
    place = np.arange(len(groups)) - 1.0
    bar = np.full(len(groups), 0.85 if len(groups) < 80 else 1.0)
    bar[0] = max(0.85, 0.025 * len(groups))
    place[0] = -1.1 - bar[0]
    bottom = np.zeros(len(groups))
    colours = figure.colours_of(order)
    for name in order:
        share = 100 * np.array([shares.get(name, 0.0) for _, shares in groups])
        _draw_share(ax, place, bar, bottom, share, color=colours[name], label=figure.label_of(name))
        if len(groups) <= 24:
            for x, y, height in zip(place, bottom, share):
                if height >= 4:
                    ax.text(x, y + height / 2, f"{height:.0f}", ha="center", va="center",
                            fontsize=8, color=figure.text_colour(colours[name]))
        bottom += share
    exposed = 100 * sum(groups[0][1].get(name, 0.0) for name in COMMUNICATION)
    most_labels = 36 if max(len(name) for name, _ in groups[1:] or groups) <= 5 else 20
    step = max(1, -(-(len(groups) - 1) // most_labels))
    shown = [0, *range(1, len(groups), step)]
    labels = [groups[index][0] for index in shown]
    ax.set_xticks(place[shown], labels, fontsize=10 if len(groups) <= 40 else 8)
    if max(len(label) for label in labels) * _LETTER > (width - 1.2) / len(groups) * step:
        ax.tick_params(axis="x", labelrotation=30)
        for label in ax.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
    ax.set_xlim(place[0] - 0.7 * bar[0], place[-1] + 0.7)
    ax.set_ylim(0, 100)
    ax.set_ylabel("share of time [%]")
    what = "pipeline stage    " if len(groups) > 1 and groups[1][0].isdigit() else ""
    ax.set_xlabel(f"{what}(exposed communication in total: {exposed:.1f} %)")
    figure.legend_above(ax, ax.get_legend_handles_labels()[0], 3)
    return figure.save(fig, directory, "communication_bars")
