"""Pictures of clusters: each node a box, by server, rail, leaf and spine."""

import textwrap

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.ticker import MaxNLocator

from . import figure

_UNIT = 0.11  # inches a row, where all fit
_MOST_UNIT = 0.26  # of few rows, which have room for names
_MOST_INCHES = 14
_MOST_COLUMN = 2.9  # inches
_LETTER = 0.058  # inches
_GAP = 0.08  # of a box, at each side


def shape(layout, width):
    """Width and height of a map of at most `width` inches: rows may be lower than columns are wide."""
    unit = float(np.clip(0.6 * width / layout.size[1], _UNIT, _MOST_UNIT))
    return (float(min(width, max(_MOST_COLUMN * layout.across, 0.4 * width))),
            float(np.clip(layout.size[1] * unit, 2.5, _MOST_INCHES)))


def corners(boxes):
    """[box][corner][x, y] with a little room between boxes of equal width and height."""
    x, y, wide, tall = boxes.T
    left, right, top, bottom = x + _GAP, x + wide - _GAP, y + _GAP, y + tall - _GAP
    return np.stack([np.stack((left, top), 1), np.stack((right, top), 1),
                     np.stack((right, bottom), 1), np.stack((left, bottom), 1)], axis=1)


def _round(most):
    """Some numbers of servers that are easy to read, from 0."""
    ticks = MaxNLocator(nbins=8, steps=[1, 2, 5, 10], integer=True).tick_values(0, most)
    return np.array([int(tick) for tick in ticks if 0 <= tick <= most])


def _write_names(ax, layout, inches, drawn, names):
    """In each box that is large enough for them; in none where those of a server are not."""
    wide, tall = np.array(inches) / layout.size
    room = int((1 - 2 * _GAP) * wide / _LETTER)
    if tall < 0.15 or any(len(name) > room for name in layout.cluster.names_in_server()):
        return
    drawn.update_scalarmappable()
    colours = drawn.get_facecolors()
    for node, (x, y, columns, rows) in enumerate(layout.boxes):
        room = int((columns - 2 * _GAP) * wide / _LETTER)
        if name := next((name for name in names(node) if len(name) <= room), None):
            ax.text(x + columns / 2, y + rows / 2, name, ha="center", va="center", fontsize=7, clip_on=True,
                    color=figure.text_colour(to_hex(colours[node % len(colours)])))


def draw(ax, layout, inches, names=None, **colours):
    """Draws all boxes and says beside them what rows are; gives the collection. `inches`: width and height of
    the map; `names(node)`: texts to write in a box, of which the first that fits is."""
    drawn = PolyCollection(corners(layout.boxes), linewidths=0, **colours)
    ax.add_collection(drawn)
    ax.set_xlim(0, layout.size[0])
    ax.set_ylim(layout.size[1], 0)
    ax.set_aspect("auto")
    places, texts = zip(*layout.labels())
    ax.set_yticks(places, texts, fontsize=8 if layout.size[1] * _UNIT <= _MOST_INCHES else 6)
    ax.tick_params(axis="both", length=0)
    ticks = _round(layout.across - 1)
    ax.set_xticks(ticks + 0.5, ticks, fontsize=8)
    ax.set_xlabel(textwrap.fill("server" if len(layout.lines) == 1 else
                                "server in its line; lines begin with servers "
                                + ", ".join(str(first) for first, _ in layout.lines[:12])
                                + (" …" if len(layout.lines) > 12 else ""), max(20, int(10 * inches[0]))))
    for side in ax.spines.values():
        side.set_visible(False)
    _write_names(ax, layout, inches, drawn, names or (lambda node: [layout.cluster.short_name_of(node)]))
    return drawn
