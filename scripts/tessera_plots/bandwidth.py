"""Bandwidth over time: all links together, DRAM read and written, messages by kind."""

import numpy as np

from . import figure
from .binning import spread
from .errors import NothingToDraw
from .resolved import flatten, quantity, read_text

_MOST_BINS = 600


def _rates(edges, begin, end, amount):
    """Bytes per second in each bin."""
    return spread(begin, end, amount.astype(float), edges) / (np.diff(edges) * 1e-12)


def _edges(run, rows):
    """The run's own bins if a picture can show them, else fewer."""
    ends = np.unique(np.concatenate((rows["begin"], rows["end"])))
    if 2 <= ends.size <= _MOST_BINS:
        return ends.astype(float)
    return np.linspace(0, max(run.end_ps(), int(ends[-1])), _MOST_BINS + 1)


def _links(run):
    rows = run.read("link_bins")
    edges = _edges(run, rows)
    rate = _rates(edges, rows["begin"], rows["end"], rows["bytes"])
    return "all links together", edges, [("bytes over links", rate, "#0072b2")], None


def _channels(run):
    rows = run.read("channel_bins")
    edges = _edges(run, rows)
    return "DRAM, all channels together (stacked)", edges, [
        ("read", _rates(edges, rows["begin"], rows["end"], rows["read"]), "#56b4e9"),
        ("written", _rates(edges, rows["begin"], rows["end"], rows["written"]), "#d55e00")
    ], _capacity(run, rows)


def _capacity(run, rows):
    """Of the channels in use together [B/s]; None where the configuration does not say."""
    of_one = quantity(flatten(read_text(run.folder)).get("machine.dram.bandwidth"))
    return of_one * np.unique(rows["channel"]).size if of_one else None


def _messages(run):
    rows = run.read("messages")
    kinds = run.names("traffic")
    edges = np.linspace(0, max(run.end_ps(), int(rows["arrived"].max())), _MOST_BINS // 2 + 1)
    numbers = np.unique(rows["traffic"])
    names = [kinds[number] if number < len(kinds) else f"kind {number}" for number in numbers]
    own = {"activation": "forward", "gradient": "backward"}  # a pass and what it sends are alike
    colours = figure.colours_of([own.get(name, name) for name in names])
    series = []
    for number, name in zip(numbers, names):
        kind = rows[rows["traffic"] == number]
        # A message that took no time would have no rate.
        arrived = np.maximum(kind["arrived"], kind["sent"] + 1)
        series.append((name, _rates(edges, kind["sent"], arrived, kind["bytes"]),
                       colours[own.get(name, name)]))
    return "messages under way by kind, each spread from sending to arrival (stacked)", edges, series, None


def _draw_panel(ax, end_ps, title, edges, series, capacity):
    total = np.sum([rate for _, rate, _ in series], axis=0)
    factor, unit = figure.rate_unit(max(total.max() if total.size else 0, capacity or 0))
    time_factor, _ = figure.time_unit(end_ps)
    bottom = np.zeros(edges.size - 1)
    for name, rate, colour in series:
        top = bottom + rate / factor
        ax.stairs(top, edges / time_factor, baseline=bottom, fill=True, color=colour, label=name)
        bottom = top
    mean = float((total * np.diff(edges)).sum()) / end_ps / factor if end_ps else 0
    ax.axhline(mean, color="black", linewidth=1, linestyle="--", label=f"mean {mean:.3g} {unit}")
    if capacity:
        ax.axhline(capacity / factor, color="#d62728", linewidth=1.2, linestyle=":",
                   label=f"capacity {capacity / factor:.4g} {unit}")
    ax.set_ylabel(f"bandwidth [{unit}]")
    ax.set_ylim(bottom=0)
    ax.set_title(title, loc="left")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)


def draw(run, directory):
    panels = []
    for panel in (_links, _channels, _messages):
        try:
            panels.append(panel(run))
        except NothingToDraw as nothing:
            reason = nothing
    if not panels:
        raise reason
    end_ps = max(run.end_ps(), *(int(edges[-1]) for _, edges, *_ in panels))
    fig, axes = figure.new_figure(run, "Bandwidth over simulated time", 14, 1.4 + 2.6 * len(panels),
                                  rows=len(panels), sharex=True)
    for ax, panel in zip(axes[:, 0], panels):
        _draw_panel(ax, end_ps, *panel)
    factor, unit = figure.time_unit(end_ps)
    axes[-1, 0].set_xlim(0, end_ps / factor)
    axes[-1, 0].set_xlabel(f"simulated time [{unit}]")
    return figure.save(fig, directory, "bandwidth")
