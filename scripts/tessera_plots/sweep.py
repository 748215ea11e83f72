"""Pictures of a sweep: the Pareto front of two columns, and a heat map over two keys."""

import numpy as np

from . import figure
from .errors import NothingToDraw

_DOMINATED = "#b0b0b0"
_FRONT = "#0072b2"
_BEST = "#d55e00"
_QUANTILES = ("mean", "p50", "p90", "p95", "p99", "most")
_MOST_LABELS = 12
_MOST_CELLS_WITH_TEXT = 400
_BYTES = [(1, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")]
_TIMES = [(1, "ps"), (1e3, "ns"), (1e6, "µs"), (1e9, "ms"), (1e12, "s")]
_SECONDS = [(1e-6, "µs"), (1e-3, "ms"), (1, "s")]
_PREFIXES = [(1, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P")]


def _steps(unit):
    if unit in ("B", "ps", "s"):
        return {"B": _BYTES, "ps": _TIMES, "s": _SECONDS}[unit]
    if unit in ("FLOP/s", "1/s"):
        return [(factor, prefix + unit) for factor, prefix in _PREFIXES]
    return [(1, unit)]


def _words(column):
    """memory_per_tile_bytes as "memory per tile", services.chat.first_token_ps.p99 as "chat.first
    token p99"."""
    column = column.removeprefix("services.")
    base, _, quantile = column.rpartition(".")
    if base.endswith("_ps") and quantile in _QUANTILES:
        return f"{_words(base)} {quantile}"
    for end in ("_samples_per_s", "_flops_per_s", "_per_s", "_ps", "_bytes", "_s"):
        if column.endswith(end):
            column = column[:-len(end)]
            break
    return column.replace("_", " ")


def _scaled(sweep, column):
    """Values of a column in a unit that suits them, and the label with that unit."""
    values = np.asarray(sweep.points[column], dtype=float)
    finite = np.abs(values[np.isfinite(values)])
    if not finite.size:
        raise NothingToDraw(f"no point has a number in the column {column}")
    factor, unit = figure.scaled(float(finite.max()), _steps(sweep.units[column]))
    return values / factor, _words(column) + (f" [{unit}]" if unit else "")


def _front(x, y, x_grows, y_grows):
    """Indices of the points that no other beats in both, in the order of x."""
    x = -x if x_grows else x
    y = y if y_grows else -y
    front, best = [], -np.inf
    for index in np.lexsort((-y, x)):
        if y[index] > best:
            front.append(int(index))
            best = y[index]
    return front


def _better(grows):
    return "more is better" if grows else "less is better"


def draw_pareto(sweep, directory):
    x_column, y_column = sweep.columns
    x, x_label = _scaled(sweep, x_column)
    y, y_label = _scaled(sweep, y_column)
    good = np.isfinite(x) & np.isfinite(y)
    indices = np.flatnonzero(good)
    if not indices.size:
        raise NothingToDraw(f"no point has numbers in both {x_column} and {y_column}")
    x_grows, y_grows = sweep.larger_is_better(x_column), sweep.larger_is_better(y_column)
    front = [int(indices[i]) for i in _front(x[good], y[good], x_grows, y_grows)]
    fig, axes = figure.new_plain_figure(
        f"Pareto front: {_words(y_column)} against {_words(x_column)}",
        f"{sweep.name}: {len(sweep.points)} of {sweep.points_run} points finished, {len(front)} on "
        "the front", 9, 6)
    ax = axes[0, 0]
    ax.scatter(x[good], y[good], s=18, color=_DOMINATED, linewidths=0, label="beaten by another")
    ax.plot(x[front], y[front], drawstyle="steps-post" if not x_grows else "steps-pre",
            color=_FRONT, linewidth=1.2, zorder=2)
    ax.scatter(x[front], y[front], s=36, color=_FRONT, zorder=3, label="front")
    labelled = [front[i] for i in
                np.unique(np.linspace(0, len(front) - 1, _MOST_LABELS).round().astype(int))]
    middle = (np.min(x[good]) + np.max(x[good])) / 2
    for index in labelled:
        left = x[index] > middle  # towards the inside of the picture
        ax.annotate(sweep.label_of(index), (x[index], y[index]), fontsize=7.5,
                    textcoords="offset points", xytext=(-5, 5) if left else (5, -10),
                    ha="right" if left else "left")
    if np.min(x[good]) > 0 and np.max(x[good]) > 30 * np.min(x[good]):
        ax.set_xscale("log")
        plain = figure.plt.FuncFormatter(lambda value, _: f"{value:g}")
        ax.xaxis.set_major_formatter(plain)
        ax.xaxis.set_minor_formatter(plain)
        ax.xaxis.set_minor_locator(figure.plt.LogLocator(subs=(2, 5)))
    ax.set_ylim(bottom=0 if np.min(y[good]) >= 0 else None)
    ax.margins(x=0.08, y=0.08)
    ax.set_xlabel(f"{x_label}, {_better(x_grows)}")
    ax.set_ylabel(f"{y_label}, {_better(y_grows)}")
    ax.grid(color="#ececec", zorder=0)
    ax.set_axisbelow(True)
    keys = ", ".join(map(sweep.short, sweep.varying()))
    handles, _ = ax.get_legend_handles_labels()
    figure.legend_above(ax, handles, 2, f"labels: {keys}")
    return figure.save(fig, directory, "pareto")


def _grid(sweep, values, grows):
    """[rows][columns] best value of each cell; NaN where nothing finished."""
    first, second = sweep.axes
    cells = np.full((len(sweep.keys[second]), len(sweep.keys[first])), np.nan)
    pick = np.fmax if grows else np.fmin
    pick.at(cells, (sweep.places(second), sweep.places(first)), values)
    return cells


def draw_heat_map(sweep, directory):
    if len(sweep.axes) < 2:
        raise NothingToDraw("the sweep has no two keys with several values each")
    first, second = sweep.axes
    values, label = _scaled(sweep, sweep.value)
    grows = sweep.larger_is_better(sweep.value)
    cells = _grid(sweep, values, grows)
    shown = (sweep.axis_of[first], sweep.axis_of[second])
    others = [sweep.short(key) for key in sweep.varying() if sweep.axis_of[key] not in shown]
    rows, columns = cells.shape
    fig, axes = figure.new_plain_figure(
        f"{_words(sweep.value).capitalize()} over {sweep.short(first)} and {sweep.short(second)}",
        f"{sweep.name}: " + (f"each cell the best over {', '.join(others)}" if others
                             else "one point a cell"),
        max(6.5, min(16, 3 + 0.75 * columns)), max(4.5, min(12, 2.5 + 0.5 * rows)))
    ax = axes[0, 0]
    ax.set_facecolor("#f2f2f2")
    drawn = ax.imshow(cells, cmap="viridis" if grows else "viridis_r", aspect="auto",
                      origin="lower", interpolation="nearest")
    fig.colorbar(drawn, ax=ax, label=f"{label}, {_better(grows)}")
    best = np.nanargmax(cells) if grows else np.nanargmin(cells)
    low, high = np.nanmin(cells), np.nanmax(cells)
    for row in range(rows):
        for column in range(columns):
            _write_cell(ax, row, column, cells, low, high, grows)
    ax.add_patch(figure.plt.Rectangle((best % columns - 0.5, best // columns - 0.5), 1, 1,
                                      fill=False, edgecolor=_BEST, linewidth=2.5))
    ax.set_xticks(range(columns), sweep.keys[first], rotation=45 if columns > 12 else 0)
    ax.set_yticks(range(rows), sweep.keys[second])
    ax.set_xlabel(first)
    ax.set_ylabel(second)
    fig.supxlabel("framed: the best; –: no finished point", fontsize=9)
    return figure.save(fig, directory, "heat_map")


def _write_cell(ax, row, column, cells, low, high, grows):
    if cells.size > _MOST_CELLS_WITH_TEXT:
        return
    value = cells[row, column]
    if not np.isfinite(value):
        ax.text(column, row, "–", ha="center", va="center", color="#7f7f7f")
        return
    share = (value - low) / (high - low) if high > low else 1.0
    bright = share > 0.6 if grows else share < 0.4
    text = f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    ax.text(column, row, text, ha="center", va="center", fontsize=8,
            color="black" if bright else "white")
