"""Pictures of clusters: each node a box, by server, rail, leaf and spine."""

import numpy as np
from matplotlib.collections import PolyCollection

_UNIT = 0.11  # inches a row, where all fit
_MOST_INCHES = 14


def shape(layout, width):
    """Width and height of a map of `width` inches: rows may be lower than columns are wide."""
    return width, float(np.clip(layout.size[1] * _UNIT, 2.5, _MOST_INCHES))


def corners(boxes):
    """[box][corner][x, y] with a little room between boxes of equal width and height."""
    x, y, wide, tall = boxes.T
    gap = 0.08
    left, right, top, bottom = x + gap, x + wide - gap, y + gap, y + tall - gap
    return np.stack([np.stack((left, top), 1), np.stack((right, top), 1),
                     np.stack((right, bottom), 1), np.stack((left, bottom), 1)], axis=1)


def draw(ax, layout, **colours):
    """Draws all boxes and says beside them what rows are; gives the collection."""
    drawn = PolyCollection(corners(layout.boxes), linewidths=0, **colours)
    ax.add_collection(drawn)
    ax.set_xlim(0, layout.size[0])
    ax.set_ylim(layout.size[1], 0)
    ax.set_aspect("auto")
    places, texts = zip(*layout.labels())
    ax.set_yticks(places, texts, fontsize=8 if layout.size[1] * _UNIT <= _MOST_INCHES else 6)
    ax.tick_params(axis="both", length=0)
    ticks = np.linspace(0, layout.size[0] - 1, min(layout.across, 9)).astype(int)
    ax.set_xticks(ticks + 0.5, ticks, fontsize=8)
    ax.set_xlabel("server" if len(layout.lines) == 1 else
                  f"server in its line; lines begin with servers "
                  f"{', '.join(str(first) for first, _ in layout.lines[:12])}"
                  + (" …" if len(layout.lines) > 12 else ""))
    for side in ax.spines.values():
        side.set_visible(False)
    return drawn
