"""Map of the machine: how busy its links are, over the run or in small multiples over time."""

import textwrap

import numpy as np
from matplotlib import colormaps
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from . import boxes, figure
from .cluster import Layout, cluster_of
from .errors import NothingToDraw
from .link_keys import LinkKeys
from .link_layout import Map, arrows
from .link_left_out import left_out_of
from .resolved import flatten, read_text
from .scales import norm_of

_PANELS = 12
_PANEL_COLUMNS = 4
_COLOUR_MAP = "viridis_r"
_NO_LINK_USED = "#ececec"


class _Boxes:
    """Nodes of a cluster, and links by number as those of a Map."""

    with_arrows = False

    def __init__(self, cluster, rows, longest):
        self.layout = Layout(cluster)
        self.shape = boxes.shape(self.layout, longest)
        self.name = cluster.name_of
        _, first, self.link_of_row = np.unique(LinkKeys(rows).of(rows), return_index=True,
                                               return_inverse=True)
        self.source, self.target = rows["node"][first], rows["to"][first]

    def sum_by_link(self, amount):
        return np.bincount(self.link_of_row, amount, minlength=self.source.size)

    def name_of(self, link):
        return f"{self.name(self.source[link])} to {self.name(self.target[link])}"

    def pairs(self):
        return list(zip(self.source.tolist(), self.target.tolist()))

    def part(self):
        return ""


def where_of(run, rows, longest, shown=()):
    """Clusters by server, rail, leaf and spine; else as the machine is drawn, with the nodes `shown` on it."""
    cluster = cluster_of(flatten(read_text(run.folder)), run.nodes().size)
    return _Boxes(cluster, rows, longest) if cluster else Map(run, rows, longest, shown)


def _largest(size, place, share):
    """The share furthest from nothing at each place; NaN where there is none."""
    order = np.argsort(np.abs(share), kind="stable")
    order = order[share[order] != 0]
    most = np.full(size, np.nan)
    most[place[order]] = share[order]  # the last of those of one place stays
    return most


def drawn_of(where, share):
    """What has a colour of its own: each link, or the busiest of each node."""
    return share if where.with_arrows else _largest(int(where.source.max(initial=0)) + 1, where.source, share)


def _draw_boxes(ax, where, share, norm, colours):
    most = _largest(where.layout.boxes.shape[0], where.source, share)
    ax.set_facecolor("white")
    colours = colormaps[colours].with_extremes(bad=_NO_LINK_USED)
    return boxes.draw(ax, where.layout, where.shape, array=np.ma.masked_invalid(most), cmap=colours, norm=norm)


def _draw_arrows(ax, where, share, norm, colours):
    ax.scatter(where.x, where.y, s=6 if where.x.size > 500 else 14, zorder=1,
               marker="s", color=np.where(where.used, "#7f7f7f", "#dadada"), linewidths=0)
    x, y, dx, dy = arrows(where)
    order = np.argsort(np.abs(share))  # the busiest on top
    order = order[share[order] != 0]
    drawn = ax.quiver(x[order], y[order], dx[order], dy[order], share[order], cmap=colours,
                      angles="xy", scale_units="xy", scale=1, units="xy", zorder=2,
                      width=min(0.09 * min(where.spacing_x, where.spacing_y), where.of_inches(0.08)), headwidth=2.6,
                      headlength=3, headaxislength=3, norm=norm)
    for number, x, y in zip(where.node_numbers, where.x, where.y) if where.with_names else ():
        ax.annotate(where.name(number), (x, y), xytext=(0, 6), textcoords="offset points", ha="center",
                    fontsize=8, zorder=3, bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "linewidth": 0})
    ax.set_xlim(where.x.min() - where.spacing_x, where.x.max() + where.spacing_x)
    ax.set_ylim(where.y.max() + where.spacing_y, where.y.min() - where.spacing_y)
    return drawn


def _draw_image(ax, where, share, norm, colours):
    """Each node as a pixel in the colour of its busiest outgoing link."""
    columns = np.rint((where.x - where.x.min()) / where.spacing_x).astype(int)
    rows = np.rint((where.y - where.y.min()) / where.spacing_y).astype(int)
    size = (rows.max() + 1, columns.max() + 1)
    place = rows * size[1] + columns
    image = _largest(size[0] * size[1], place[where.source], share).reshape(size)
    ax.set_facecolor(_NO_LINK_USED)
    half_x, half_y = where.spacing_x / 2, where.spacing_y / 2
    return ax.imshow(image, cmap=colours, norm=norm, interpolation="nearest",
                     extent=(where.x.min() - half_x, where.x.max() + half_x,
                             where.y.max() + half_y, where.y.min() - half_y))


def draw_panel(ax, where, share, norm, colours=_COLOUR_MAP):
    if isinstance(where, _Boxes):
        return _draw_boxes(ax, where, share, norm, colours)
    drawn = (_draw_arrows if where.with_arrows else _draw_image)(ax, where, share, norm, colours)
    ax.set_xlabel("column of the machine")
    ax.set_ylabel("row of the machine")
    columns, rows = where.size()
    # To scale, unless that makes a thread of it.
    ax.set_aspect("equal" if max(columns, rows) <= 6 * min(columns, rows) else "auto")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    return drawn


def _what(where):
    return "links" if where.with_arrows else "busiest outgoing link of each node"


def _plain(value, _):
    return f"{value:.3g}"


def _ticks(norm):
    """So many, from the lowest to the highest, at equal distances on the bar."""
    if norm.vmin == norm.vmax:
        return [norm.vmax]
    return np.asarray(norm.inverse(np.linspace(0, 1, 7)), float)


def colour_bar(fig, drawn, axes, said):
    norm = drawn.norm
    said = textwrap.fill(f"({said})", int(9 * fig.get_figheight()))
    bar = fig.colorbar(drawn, ax=axes, label=f"share of time the link is busy [%]\n{said}",
                       shrink=0.8, aspect=30, ticks=_ticks(norm))
    bar.ax.yaxis.set_major_formatter(FuncFormatter(_plain))
    bar.ax.yaxis.set_minor_formatter(NullFormatter())


def read_totals(run):
    """Rows to count, and the time they stand for; a run cut short has no totals, only bins."""
    try:
        return run.read("links"), None
    except NothingToDraw:
        return run.read("link_bins"), run.end_ps()


def left_out_lines(run):
    """What aggregation keeps from the links, in lines below a picture; empty without it."""
    return textwrap.fill(left_out_of(flatten(read_text(run.folder))), 76)


def draw(run, directory):
    rows, span_ps = read_totals(run)
    where = where_of(run, rows, 10)
    span_ps = span_ps or int((rows["end"] - rows["begin"]).max())
    share = 100 * where.sum_by_link(rows["busy"]) / max(span_ps, 1)
    width, height = where.shape
    fig, axes = figure.new_figure(run, f"Utilisation of {_what(where)} over the run{where.part()}",
                                  max(width + 2.5, 8), max(height, 4) + 1.4)
    ax = axes[0, 0]
    norm, said = norm_of(run.colours, drawn_of(where, share))
    colour_bar(fig, draw_panel(ax, where, share, norm), ax, said)
    busiest = int(share.argmax())
    note = (f"{share.size} links used, mean {share.mean():.3g} %, "
            f"busiest {share[busiest]:.3g} % ({where.name_of(busiest)})")
    if where.with_arrows:
        note += "\ngrey squares: tiles of the plan, pale ones: not used; an arrow is one direction"
    if left_out := left_out_lines(run):
        note += "\n" + left_out
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


def _clear_sides(ax, where):
    """Of one of many panels; what rows and columns of boxes are is said at the left and below."""
    place = ax.get_subplotspec()
    ax.set_ylabel("")
    if not (isinstance(where, _Boxes) and place.is_first_col()):
        ax.set_yticks([])
    if not (isinstance(where, _Boxes) and place.is_last_row()):
        ax.set_xticks([])
        ax.set_xlabel("")


def draw_over_time(run, directory):
    rows = run.read("link_bins")
    where = where_of(run, rows, 4.2)
    end_ps = max(run.end_ps(), int(rows["end"].max()))
    edges = np.linspace(0, end_ps, _PANELS + 1)
    shares = _shares_over_time(where, rows, edges)
    norm, said = norm_of(run.colours, np.concatenate([drawn_of(where, share) for share in shares]))
    width, height = where.shape
    lines = _PANELS // _PANEL_COLUMNS
    fig, axes = figure.new_figure(run, f"Utilisation of {_what(where)} over time{where.part()}",
                                  width * _PANEL_COLUMNS + 2, height * lines + 1.4,
                                  rows=lines, columns=_PANEL_COLUMNS)
    factor, unit = figure.time_unit(end_ps)
    for ax, share, begin, end in zip(axes.flat, shares, edges[:-1], edges[1:]):
        drawn = draw_panel(ax, where, share, norm)
        ax.set_title(f"{begin / factor:.4g} to {end / factor:.4g} {unit}", fontsize=9)
        _clear_sides(ax, where)
    colour_bar(fig, drawn, axes, said)
    if left_out := left_out_lines(run):
        fig.supxlabel(left_out, fontsize=9)
    return figure.save(fig, directory, "link_map_over_time")
