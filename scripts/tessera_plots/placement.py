"""Map of the plan: which stage and tensor group each tile belongs to, and the way of the pipeline; or
which tenant."""

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from . import boxes, figure
from .cluster import Layout, cluster_of
from .errors import NothingToDraw
from .grid import shape, spacing
from .resolved import flatten, read_text

# With more nodes than this, rings and outlines of groups cannot be told apart.
_MOST_NODES_WITH_GROUPS = 4000
_MOST_STAGES_WITH_NUMBERS = 100
_MOST_STAGES_WITH_ARROWS = 1000
_UNUSED = (0.91, 0.91, 0.91, 1.0)
_NO_NODE = (1.0, 1.0, 1.0, 1.0)
# Light enough at both ends for black lines.
_COLOURS = colormaps["viridis"].resampled(512)(np.linspace(0.25, 1.0, 256))
_TENANT_COLOURS = colormaps["tab20"](np.arange(20))


class _Cells:
    """Nodes as cells of a raster: [row][column] number of the node in the table, or -1."""

    def __init__(self, nodes):
        self.nodes = nodes
        columns = (nodes["x"] - nodes["x"].min()) / spacing(nodes["x"])
        rows = (nodes["y"] - nodes["y"].min()) / spacing(nodes["y"])
        self.column, self.row = np.rint(columns).astype(int), np.rint(rows).astype(int)
        self.index = np.full((self.row.max() + 1, self.column.max() + 1), -1)
        self.index[self.row, self.column] = np.arange(nodes.size)
        self.stages = int(nodes["stage"].max()) + 1

    def of_cells(self, values):
        """[row][column] of a value a node; -1 where there is none."""
        return np.where(self.index >= 0, values[self.index], -1)

    def image(self):
        """RGBA colours: a stage each, in the order of the pipeline."""
        numbers = np.linspace(0, len(_COLOURS) - 1, max(self.stages, 2)).astype(int)
        stage = self.of_cells(self.nodes["stage"].astype(int))
        image = _COLOURS[numbers[np.maximum(stage, 0)]]
        image[stage < 0] = _UNUSED
        image[self.index < 0] = _NO_NODE
        return image

    def image_of_tenants(self):
        tenant = self.of_cells(self.nodes["tenant"].astype(int))
        image = _TENANT_COLOURS[np.maximum(tenant, 0) % len(_TENANT_COLOURS)]
        image[tenant < 0] = _UNUSED
        image[self.index < 0] = _NO_NODE
        return image

    def borders(self, values):
        """Lines between neighbouring cells of different values, as pairs of points."""
        cells = self.of_cells(values)
        edge = np.full((cells.shape[0] + 2, cells.shape[1] + 2), -1)
        edge[1:-1, 1:-1] = cells
        row, column = np.nonzero(edge[:, 1:] != edge[:, :-1])
        upright = np.stack((column - 0.5, row - 1.5, column - 0.5, row - 0.5), axis=1)
        row, column = np.nonzero(edge[1:, :] != edge[:-1, :])
        level = np.stack((column - 1.5, row - 0.5, column - 0.5, row - 0.5), axis=1)
        return np.concatenate((upright, level)).reshape(-1, 2, 2)

    def rings(self):
        """The closed way through the members of each tensor group, in order of their numbers."""
        used = np.nonzero(self.nodes["stage"] >= 0)[0]
        order = used[np.lexsort([self.nodes[key][used] for key in ("shard", "replica", "stage")])]
        size = int(self.nodes["shard"].max()) + 1
        groups = order[:order.size - order.size % size].reshape(-1, size)
        points = np.stack((self.column[groups], self.row[groups]), axis=2)
        return np.concatenate((points, points[:, :1]), axis=1) if size > 1 else []

    def middles(self):
        """[stage] mean place of its tiles."""
        used = self.nodes["stage"] >= 0
        stage = self.nodes["stage"][used].astype(int)
        count = np.maximum(np.bincount(stage, minlength=self.stages), 1)
        return np.stack([np.bincount(stage, place[used], minlength=self.stages) / count
                         for place in (self.column, self.row)], axis=1)


def _draw_groups(ax, cells):
    nodes = cells.nodes
    stage = nodes["stage"].astype(int)
    group = np.where(stage >= 0, stage * (int(nodes["replica"].max()) + 1) + nodes["replica"], -1)
    ax.add_collection(LineCollection(cells.rings(), colors="white", linewidths=0.8, alpha=0.8))
    ax.add_collection(LineCollection(cells.borders(group), colors="black", linewidths=0.7))
    ax.add_collection(LineCollection(cells.borders(stage), colors="black", linewidths=2.2))
    return [Line2D([], [], color="black", linewidth=2.2, label="stage"),
            Line2D([], [], color="black", linewidth=0.7, label="tensor group"),
            Line2D([], [], color="#a0a0a0", linewidth=0.8, label="ring of a tensor group (white)")]


def _draw_way(ax, middles):
    steps = np.diff(middles, axis=0)
    ax.quiver(middles[:-1, 0], middles[:-1, 1], steps[:, 0], steps[:, 1], angles="xy",
              scale_units="xy", scale=1, width=0.0035, headwidth=4, headlength=5, color="#d55e00",
              zorder=3)
    if len(middles) <= _MOST_STAGES_WITH_NUMBERS:
        for stage, (x, y) in enumerate(middles):
            ax.annotate(str(stage), (x, y), ha="center", va="center", fontsize=8, zorder=4,
                        bbox={"boxstyle": "round,pad=0.15", "facecolor": "white",
                              "edgecolor": "#d55e00", "linewidth": 0.8})
    return Line2D([], [], color="#d55e00", linewidth=1.5, label="pipeline, middle to middle")


def _say_stages(fig, ax, stages, handles):
    """A bar of colours of several stages; one alone has its colour in the legend."""
    if stages == 1:
        handles += [Patch(color=_COLOURS[0], label="stage 0, the only one"), Patch(color=_UNUSED, label="not used")]
        return
    fig.colorbar(ScalarMappable(Normalize(0, stages - 1), ListedColormap(_COLOURS)), ax=ax,
                 label="pipeline stage (pale: not used)", shrink=0.8, aspect=30,
                 ticks=MaxNLocator(integer=True, nbins=10))


def _draw_tenants(run, directory):
    cells = _Cells(run.nodes())
    rows, columns = cells.index.shape
    width, height = shape(columns, rows, 10)
    fig, axes = figure.new_figure(run, "Tiles of the tenants", max(width + 1.5, 8),
                                  max(height, 4) + 1.6)
    ax = axes[0, 0]
    ax.imshow(cells.image_of_tenants(), interpolation="nearest", aspect="equal")
    ax.add_collection(LineCollection(cells.borders(cells.nodes["tenant"].astype(int)),
                                     colors="black", linewidths=1.5))
    names = run.names("tenants")
    figure.legend_above(ax, [Patch(color=_TENANT_COLOURS[i % len(_TENANT_COLOURS)], label=name)
                             for i, name in enumerate(names[:len(_TENANT_COLOURS)])],
                        min(len(names), 5), "pale: of no tenant")
    _finish(ax)
    return figure.save(fig, directory, "placement")


def _finish(ax):
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("column of the machine")
    ax.set_ylabel("row of the machine")
    for side in ax.spines.values():
        side.set_visible(False)


def _names_in_box(cluster, node):
    """What to write in it, the longest first."""
    name = cluster.short_name_of(int(node["node"]))
    if node["stage"] < 0:
        return [name]
    group = f"replica {node['replica']}, shard {node['shard']}"
    return [f"{name}: stage {node['stage']}, {group}", f"stage {node['stage']}, {group}", group, name]


def _draw_cluster(run, cluster, nodes, directory):
    """Accelerators by server and rail, in the colour of their stage."""
    layout = Layout(cluster)
    width, height = boxes.shape(layout, 12)
    fig, axes = figure.new_figure(run, "Placement of the stages, by server, rail, leaf and spine",
                                  max(width + 2, 8), height + 1.8)
    stage = nodes["stage"].astype(int)
    stages = int(stage.max()) + 1
    numbers = np.linspace(0, len(_COLOURS) - 1, max(stages, 2)).astype(int)
    colours = _COLOURS[numbers[np.maximum(stage, 0)]]
    colours[stage < 0] = _UNUSED
    handles = []
    _say_stages(fig, axes[0, 0], stages, handles)
    boxes.draw(axes[0, 0], layout, (width, height), lambda node: _names_in_box(cluster, nodes[node]),
               facecolors=colours)
    if handles:
        figure.legend_above(axes[0, 0], handles, len(handles))
    return figure.save(fig, directory, "placement")


def draw(run, directory):
    if run.names("tenants"):
        return _draw_tenants(run, directory)
    if run.of_graphs():
        raise NothingToDraw("NPUs that run graphs have no stages")
    nodes = run.nodes()
    if not (nodes["stage"] >= 0).any():
        raise NothingToDraw("no tile belongs to a pipeline stage")
    cluster = cluster_of(flatten(read_text(run.folder)), nodes.size)
    if cluster:
        return _draw_cluster(run, cluster, nodes, directory)
    cells = _Cells(nodes)
    rows, columns = cells.index.shape
    width, height = shape(columns, rows, 10)
    fig, axes = figure.new_figure(run, "Placement of the stages", max(width + 2.5, 8),
                                  max(height, 4) + 1.6)
    ax = axes[0, 0]
    ax.imshow(cells.image(), interpolation="nearest", aspect="equal")
    handles = _draw_groups(ax, cells) if nodes.size <= _MOST_NODES_WITH_GROUPS else []
    if 1 < cells.stages <= _MOST_STAGES_WITH_ARROWS:
        handles.append(_draw_way(ax, cells.middles()))
    _say_stages(fig, ax, cells.stages, handles)
    _finish(ax)
    if handles:
        figure.legend_above(ax, handles, len(handles))
    return figure.save(fig, directory, "placement")
