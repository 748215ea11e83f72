"""Timeline: one row a pipeline stage, what its tile of replica 0 and shard 0 does when.

Of runs of graphs, which have no stages, one row an NPU; of tenants, one row a tile in the trace, those
of each tenant together.
"""

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

from . import figure
from .binning import spread
from .errors import NothingToDraw

_MOST_NPUS = 32
_MOST_TILES = 12  # of a tenant
_COLUMNS = 1600  # of the picture in which time is drawn; slices below one are summed


def _category(activity, phase):
    return phase if activity == "compute" else activity


def _tiles_of_tenants(run, nodes):
    """Tenant and node of the first tiles of each tenant in the trace."""
    seen = nodes[np.isin(nodes["node"], np.unique(run.read("operators")["node"]))]
    seen = seen[np.lexsort((seen["shard"], seen["replica"], seen["stage"], seen["tenant"]))]
    first = [seen[seen["tenant"] == tenant][:_MOST_TILES] for tenant in np.unique(seen["tenant"])]
    if not first:
        raise NothingToDraw("no tile did anything")
    drawn = np.concatenate(first)
    what = (f"the first {_MOST_TILES} tiles in the trace at most of each" if drawn.size < seen.size else
            "a row is a tile in the trace")
    return f"Timeline of tenants ({what})", drawn["tenant"], drawn["node"]


def _drawn_tiles(run):
    """Title, number of the row and node of the tiles drawn: by stage, or of graphs the first in the trace."""
    nodes = run.nodes()
    if run.names("tenants"):
        return _tiles_of_tenants(run, nodes)
    if run.of_graphs():
        seen = np.isin(nodes["node"], np.unique(run.read("operators")["node"]))
        tiles = np.sort(nodes["node"][seen & (nodes["stage"] >= 0)])[:_MOST_NPUS]
        if tiles.size == 0:
            raise NothingToDraw("no NPU did anything")
        return "Timeline of the first NPUs in the trace", tiles, tiles
    tiles = nodes[(nodes["stage"] >= 0) & (nodes["replica"] == 0) & (nodes["shard"] == 0)]
    if tiles.size == 0:
        raise NothingToDraw("no tile belongs to a pipeline stage")
    stages, first = np.unique(tiles["stage"], return_index=True)
    return "Pipeline timeline (tile of replica 0, shard 0 of each stage)", stages, tiles["node"][first]


def _name(names, number, what):
    return names[number] if number < len(names) else f"{what} {number}"


def _shares(rows, categories, codes, edges):
    """[category][column] share of each column's time; what no row covers is the last, idle."""
    shares = np.zeros((len(categories), edges.size - 1))
    for index in range(len(categories)):
        chosen = rows[codes == index]
        if chosen.size:
            busy = (chosen["end"] - chosen["start"]).astype(float)
            shares[index] = spread(chosen["start"], chosen["end"], busy, edges) / np.diff(edges)
    total = shares.sum(axis=0)
    shares /= np.maximum(total, 1)  # work in the background overlaps
    shares[-1] += np.maximum(1 - total, 0)
    return shares


def _stripe(shares, colours, height):
    """RGB image [height][column] of one stage: each column is filled from below by its shares."""
    bounds = np.cumsum(shares, axis=0)
    level = (np.arange(height)[::-1, None] + 0.5) / height
    filled = (level[None] > bounds[:, None, :]).sum(axis=0)
    return colours[np.minimum(filled, len(colours) - 1)]


def _codes(run, rows):
    """Categories in the order they are stacked, and the number of each row's."""
    phases, activities = run.names("phases"), run.names("activities")
    pairs = rows["activity"].astype(np.int64) * 256 + rows["phase"]
    known, inverse = np.unique(pairs, return_inverse=True)
    names = [_category(_name(activities, pair // 256, "activity"),
                       _name(phases, pair % 256, "phase")) for pair in known]
    order = [name for name in figure.COLOURS if name in names and name != "bubble"]
    order += sorted(set(names) - set(order) - {"bubble"})
    order.append("bubble")
    return order, np.array([order.index(name) for name in names])[inverse]


def _mark_tenants(ax, numbers, names):
    """The name of each beside its rows, and a line below them."""
    known, first, count = np.unique(numbers, return_index=True, return_counts=True)
    ax.set_yticks(first + (count - 1) / 2, [_name(names, number, "tenant") for number in known])
    for row in first[1:]:
        ax.axhline(row - 0.5, color="black", linewidth=0.8)


def draw(run, directory):
    title, stages, tiles = _drawn_tiles(run)
    tenants = run.names("tenants")
    of_graphs = stages is tiles
    rows = run.read("operators", keep=lambda block: np.isin(block["node"], tiles))
    categories, codes = _codes(run, rows)
    colours = np.array([to_rgb(colour) for colour in figure.colours_of(categories).values()])
    end_ps = max(run.end_ps(), int(rows["end"].max()))
    edges = np.linspace(0, end_ps, _COLUMNS + 1)

    # Pixels of a stage, and of the gap below it.
    height = int(np.clip(900 // stages.size, 6, 48))
    gap = max(1, height // 6)
    image = np.ones((stages.size * height, _COLUMNS, 3))
    for index, tile in enumerate(tiles):
        mine = rows["node"] == tile
        shares = _shares(rows[mine], categories, codes[mine], edges)
        top = index * height
        image[top:top + height - gap] = _stripe(shares, colours, height - gap)

    inches = image.shape[0] / figure.DPI
    fig, axes = figure.new_figure(run, title, _COLUMNS / figure.DPI + 1.2, inches + 2.2)
    ax = axes[0, 0]
    factor, unit = figure.time_unit(end_ps)
    ax.imshow(image, aspect="auto", interpolation="nearest",
              extent=(0, end_ps / factor, stages.size - 0.5, -0.5))
    ax.set_xlabel(f"simulated time [{unit}]")
    ax.set_ylabel("tenant" if tenants else "node" if of_graphs else "pipeline stage")
    if tenants:
        _mark_tenants(ax, stages, tenants)
    else:
        step = max(1, int(np.ceil(stages.size * 12 / image.shape[0])), -(-stages.size // 40))
        ax.set_yticks(range(0, stages.size, step), [str(stage) for stage in stages[::step]])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    figure.legend_above(ax, [Patch(color=colour, label=figure.label_of(name))
                             for name, colour in zip(categories, colours)], len(categories),
                        "a column in which several things happen is divided by their shares")
    return figure.save(fig, directory, "timeline")
