"""Map of the machine: how busy its links are, over the run or in small multiples over time."""

import numpy as np
from matplotlib.ticker import MaxNLocator

from . import figure
from .errors import NothingToDraw
from .grid import shape, spacing

# With more nodes than this, or nodes closer together, arrows cannot be told apart, and each node
# becomes a patch of one colour instead.
_MOST_NODES_WITH_ARROWS = 2000
_PIXELS_FOR_ARROWS = 18
# A smaller part of the machine than this is shown alone.
_SMALL_PART = 0.4
_PANELS = 12
_PANEL_COLUMNS = 4
_COLOUR_MAP = "viridis_r"
_NO_LINK_USED = "#ececec"


class _Map:
    """Where the nodes are, and the links by number. Of a machine most of which has no traffic only
    the part that has. `longest`: of the picture's sides [inches]."""

    def __init__(self, run, link_rows, longest):
        nodes = run.nodes()
        pairs = link_rows["node"].astype(np.int64) << 8 | link_rows["port"]
        _, first, self.link_of_row = np.unique(pairs, return_index=True, return_inverse=True)
        links = link_rows[first]
        if not np.isin(np.concatenate((links["node"], links["to"])), nodes["node"]).all():
            raise NothingToDraw("the trace has links of nodes that it does not describe")
        self.all_nodes = nodes.size
        self.spacing_x, self.spacing_y = spacing(nodes["x"]), spacing(nodes["y"])
        nodes = self._part_in_use(nodes, np.isin(nodes["node"], [links["node"], links["to"]]))
        self.x, self.y = nodes["x"], nodes["y"]
        self.used = nodes["stage"] >= 0
        self.port = links["port"]
        self.source = np.searchsorted(nodes["node"], links["node"])
        self.target = np.searchsorted(nodes["node"], links["to"])
        self.node_numbers = nodes["node"]
        self.shape = shape(*self.size(), longest)
        pixels = figure.DPI * np.array(self.shape) / self.size()
        self.with_arrows = bool(self.x.size <= _MOST_NODES_WITH_ARROWS
                                and pixels.min() >= _PIXELS_FOR_ARROWS)

    def _part_in_use(self, nodes, touched):
        x, y = nodes["x"], nodes["y"]
        inside = np.ones(nodes.size, dtype=bool)
        for values, step in ((x, self.spacing_x), (y, self.spacing_y)):
            inside &= values >= values[touched].min() - step
            inside &= values <= values[touched].max() + step
        return nodes[inside] if inside.sum() < _SMALL_PART * nodes.size else nodes

    def size(self):
        """Columns and rows of nodes."""
        return (np.ptp(self.x) / self.spacing_x + 1, np.ptp(self.y) / self.spacing_y + 1)

    def sum_by_link(self, amount):
        return np.bincount(self.link_of_row, amount, minlength=self.port.size)

    def name_of(self, link):
        source, target = self.node_numbers[self.source[link]], self.node_numbers[self.target[link]]
        return f"{source} to {target}"

    def part(self):
        """Says so when only a part is shown."""
        if self.x.size == self.all_nodes:
            return ""
        return f" ({self.x.size} of {self.all_nodes} nodes; the others have no traffic)"


# Direction of each port on a grid: west, east, north, south; a link of a torus that leaves the west
# edge goes west, but ends in the east.
_OUTWARD = np.zeros((256, 2))
_OUTWARD[:4] = (-1, 0), (1, 0), (0, -1), (0, 1)


def _arrows(where):
    """Start and vector of each link's arrow. A link is shifted to its right, so that the two
    directions lie side by side; one that wraps around the machine is a short piece at its start."""
    x, y = where.x[where.source], where.y[where.source]
    dx, dy = where.x[where.target] - x, where.y[where.target] - y
    along = dx * _OUTWARD[where.port, 0] + dy * _OUTWARD[where.port, 1]
    if (np.abs(along) == np.hypot(dx, dy)).all():  # a grid: ports are directions
        wraps = along < 0
        dx = np.where(wraps, 0.6 * _OUTWARD[where.port, 0] * where.spacing_x, dx)
        dy = np.where(wraps, 0.6 * _OUTWARD[where.port, 1] * where.spacing_y, dy)
    length = np.maximum(np.hypot(dx, dy), 1e-12)
    shift = 0.11 * min(where.spacing_x, where.spacing_y)
    start_x, start_y = x - dy / length * shift, y + dx / length * shift
    return start_x + 0.12 * dx, start_y + 0.12 * dy, 0.76 * dx, 0.76 * dy


def _draw_arrows(ax, where, share, limit):
    ax.scatter(where.x, where.y, s=6 if where.x.size > 500 else 14, zorder=1,
               marker="s", color=np.where(where.used, "#7f7f7f", "#dadada"), linewidths=0)
    x, y, dx, dy = _arrows(where)
    order = np.argsort(share)  # the busiest on top
    order = order[share[order] > 0]
    drawn = ax.quiver(x[order], y[order], dx[order], dy[order], share[order], cmap=_COLOUR_MAP,
                      angles="xy", scale_units="xy", scale=1, units="xy", zorder=2,
                      width=0.09 * min(where.spacing_x, where.spacing_y), headwidth=2.6,
                      headlength=3, headaxislength=3)
    drawn.set_clim(0, limit)
    ax.set_xlim(where.x.min() - where.spacing_x, where.x.max() + where.spacing_x)
    ax.set_ylim(where.y.max() + where.spacing_y, where.y.min() - where.spacing_y)
    return drawn


def _draw_image(ax, where, share, limit):
    """Each node as a pixel in the colour of its busiest outgoing link."""
    columns = np.rint((where.x - where.x.min()) / where.spacing_x).astype(int)
    rows = np.rint((where.y - where.y.min()) / where.spacing_y).astype(int)
    image = np.full((rows.max() + 1, columns.max() + 1), np.nan)
    np.fmax.at(image, (rows[where.source], columns[where.source]), np.where(share > 0, share, np.nan))
    ax.set_facecolor(_NO_LINK_USED)
    half_x, half_y = where.spacing_x / 2, where.spacing_y / 2
    return ax.imshow(image, cmap=_COLOUR_MAP, vmin=0, vmax=limit, interpolation="nearest",
                     extent=(where.x.min() - half_x, where.x.max() + half_x,
                             where.y.max() + half_y, where.y.min() - half_y))


def _draw_panel(ax, where, share, limit):
    drawn = (_draw_arrows if where.with_arrows else _draw_image)(ax, where, share, limit)
    columns, rows = where.size()
    # To scale, unless that makes a thread of it.
    ax.set_aspect("equal" if max(columns, rows) <= 6 * min(columns, rows) else "auto")
    return drawn


def _what(where):
    return "links" if where.with_arrows else "busiest outgoing link of each node"


def _colour_bar(fig, drawn, axes):
    fig.colorbar(drawn, ax=axes, label="utilisation: share of time the link is busy [%]",
                 shrink=0.8, aspect=30)


def _limit(share):
    """End of the colour scale."""
    top = float(share.max())
    return top if top > 0 else 1.0


def _read_totals(run):
    """Rows to count, and the time they stand for; a run cut short has no totals, only bins."""
    try:
        return run.read("links"), None
    except NothingToDraw:
        return run.read("link_bins"), run.end_ps()


def draw(run, directory):
    rows, span_ps = _read_totals(run)
    where = _Map(run, rows, 10)
    span_ps = span_ps or int((rows["end"] - rows["begin"]).max())
    share = 100 * where.sum_by_link(rows["busy"]) / max(span_ps, 1)
    width, height = where.shape
    fig, axes = figure.new_figure(run, f"Utilisation of {_what(where)} over the run{where.part()}",
                                  max(width + 2.5, 8), max(height, 4) + 1.4)
    ax = axes[0, 0]
    _colour_bar(fig, _draw_panel(ax, where, share, _limit(share)), ax)
    busiest = int(share.argmax())
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylabel("row of the machine")
    ax.set_xlabel("column of the machine")
    note = (f"{share.size} links used, mean {share.mean():.3g} %, "
            f"busiest {share[busiest]:.3g} % (node {where.name_of(busiest)})")
    if where.with_arrows:
        note += "\ngrey squares: tiles of the plan, pale ones: not used; an arrow is one direction"
    fig.supxlabel(note, fontsize=9)
    return figure.save(fig, directory, "link_map")


def _shares_over_time(where, rows, edges):
    """[panel][link] utilisation in percent; bins that reach over an edge are divided."""
    length = np.maximum(rows["end"] - rows["begin"], 1)
    shares = []
    for begin, end in zip(edges[:-1], edges[1:]):
        overlap = np.clip(np.minimum(rows["end"], end) - np.maximum(rows["begin"], begin), 0, None)
        busy = where.sum_by_link(rows["busy"] * (overlap / length))
        shares.append(100 * busy / (end - begin))
    return np.array(shares)


def draw_over_time(run, directory):
    rows = run.read("link_bins")
    where = _Map(run, rows, 4.2)
    end_ps = max(run.end_ps(), int(rows["end"].max()))
    edges = np.linspace(0, end_ps, _PANELS + 1)
    shares = _shares_over_time(where, rows, edges)
    limit = _limit(shares)
    width, height = where.shape
    lines = _PANELS // _PANEL_COLUMNS
    fig, axes = figure.new_figure(run, f"Utilisation of {_what(where)} over time{where.part()}",
                                  width * _PANEL_COLUMNS + 2, height * lines + 1.4,
                                  rows=lines, columns=_PANEL_COLUMNS)
    factor, unit = figure.time_unit(end_ps)
    for ax, share, begin, end in zip(axes.flat, shares, edges[:-1], edges[1:]):
        drawn = _draw_panel(ax, where, share, limit)
        ax.set_title(f"{begin / factor:.4g} to {end / factor:.4g} {unit}", fontsize=9)
        ax.set_xticks([])
        ax.set_yticks([])
    _colour_bar(fig, drawn, axes)
    return figure.save(fig, directory, "link_map_over_time")
