"""Runs that serve requests: times that each tenant's requests waited, and what cores did for whom."""

import numpy as np

from . import figure
from .binning import spread
from .errors import NothingToDraw
from .service_windows import edges_of, windows_of

_MOST_CORES = 64
_BINS = 300


def tenant_name(run, number):
    names = run.names("phases")
    return names[number] if number < len(names) else f"tenant {number}"


def _served(run):
    """Numbers of those whose requests were served; beside other tenants they are 'TENANT/name'."""
    names = run.names("phases")
    return [number for number, name in enumerate(names) if not run.names("tenants") or "/" in name]


def _times(run):
    """What was waited for, and by tenant how long [ps]."""
    requests = run.read("requests")
    found = {"first token": {}, "between tokens": {}, "a token of a request, in the mean": {}, "whole request": {}}
    for number in np.unique(requests["tenant"]):
        mine = requests[requests["tenant"] == number]
        found["whole request"][number] = mine["end"] - mine["arrival"]
        if mine["generated"].max() > 0:
            found["first token"][number] = mine["first"] - mine["arrival"]
        several = mine[mine["generated"] > 1]
        if several.size:
            found["a token of a request, in the mean"][number] = (
                (several["end"] - several["first"]) // (several["generated"] - 1).astype(np.int64))
    try:
        tokens = run.read("tokens")
    except NothingToDraw:
        return found
    later = tokens[tokens["since"] >= 0]
    for number in np.unique(later["tenant"]):
        mine = later[later["tenant"] == number]
        found["between tokens"][number] = mine["time"] - mine["since"]
    return found


def _quantile(times, part):
    """By nearest rank, as in the summary."""
    return times[int(np.ceil(part * times.size)) - 1]


def draw_times(run, directory):
    """The share of requests (tokens) that waited no longer, for each tenant."""
    found = {what: of for what, of in _times(run).items() if of}
    fig, axes = figure.new_figure(run, "How long requests waited (dots: median, 95 %, 99 %)", 5 * len(found), 4.6,
                                  columns=len(found))
    for ax, (what, of_tenants) in zip(axes[0], found.items()):
        factor, unit = figure.time_unit(max(int(times.max()) for times in of_tenants.values()))
        for number, times in sorted(of_tenants.items()):
            times = np.sort(times)
            share = np.arange(1, times.size + 1) / times.size * 100
            ax.step(np.concatenate(([times[0]], times)) / factor, np.concatenate(([0], share)), where="post",
                    color=figure.series_colour(number), label=f"{tenant_name(run, number)} ({times.size})")
            ax.plot([_quantile(times, part) / factor for part in (0.5, 0.95, 0.99)], [50, 95, 99], "o",
                    color=figure.series_colour(number), markersize=4)
        ax.set_title(what, loc="left")
        ax.set_xlabel(f"time [{unit}]")
        ax.set_ylim(0, 100)
        ax.set_xlim(left=0)
        ax.legend(loc="lower right", frameon=False, fontsize=9)
    axes[0, 0].set_ylabel("share [%]")
    return figure.save(fig, directory, "request_times")


def _windows(run):
    """Services with their windows; of replicas, all together."""
    totals = run.summary.get("service_totals") or []
    names = {one["tenant"] for one in totals}
    single = [one for one in run.summary.get("services") or [] if one["tenant"].rpartition(".")[0] not in names]
    return [one for one in (*totals, *single) if one.get("windows")]


def _panels():
    """Of a window, what each panel shows: title, unit, and lines by name."""
    return (
        ("requests", "", {"running": lambda one: one["running"], "waiting": lambda one: one["waiting"]}),
        ("cache", "blocks", {"taken": lambda one: one["cache_blocks"]}),
        ("replicas", "", {"on": lambda one: one.get("replicas", np.nan)}),
        ("requests a second", "1/s", {"arrived": lambda one: one["arrived"] / one["seconds"],
                                      "served": lambda one: one["served"] / one["seconds"],
                                      "met all targets": lambda one: one["met"] / one["seconds"]}),
        ("first token", "ms", {name: lambda one, name=name: _of_some(one["first_token_ps"], name)
                               for name in ("p50", "p99")}),
        ("a token", "ms", {name: lambda one, name=name: _of_some(one["a_token_ps"], name) for name in ("p50", "p99")}),
        ("whole request", "ms", {name: lambda one, name=name: _of_some(one.get("latency_ps"), name)
                                 for name in ("p50", "p99")}),
    )


def _of_some(quantiles, name):
    return quantiles[name] / 1e9 if quantiles and quantiles["count"] else np.nan  # older runs have none of some


def draw_over_time(run, directory):
    """What each service held, and how its requests fared, window by window."""
    services = _windows(run)
    if not services:
        raise NothingToDraw("the summary has no windows of services")
    panels = len(_panels())
    fig, axes = figure.new_figure(run, "Services over time (times: of requests served then)", 5 * len(services),
                                  2.2 * panels, rows=panels, columns=len(services), sharex="col")
    for column, service in zip(axes.T, services):
        edges = np.array(edges_of(service))
        factor, unit = figure.time_unit(edges[-1])
        windows = windows_of(service)
        for ax, (title, of, lines) in zip(column, _panels()):
            for number, (name, value) in enumerate(lines.items()):
                # Without a baseline nothing is drawn beside windows that have no value.
                ax.stairs([value(one) for one in windows], edges / factor, baseline=None,
                          color=figure.series_colour(number), label=name)
            ax.set_title(title, loc="left")
            ax.set_ylabel(of)
            ax.set_ylim(bottom=0)
            ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8)
        column[0].set_title(f"{service['tenant']}: requests", loc="left")
        column[-1].set_xlabel(f"time [{unit}]")
    return figure.save(fig, directory, "service_over_time")


def _operators(run):
    rows = run.read("operators")
    return rows[np.isin(rows["phase"], _served(run))]


def _stripes(ax, run, end_ps, factor):
    """A row a core: boxes of the tenant's colour while it has something to do for it."""
    rows = _operators(run)
    cores = np.unique(rows["node"])[:_MOST_CORES]
    tenants = np.unique(rows["phase"])
    edges = np.linspace(0, end_ps, 1601)
    labelled = set()
    for place, core in enumerate(cores):
        for lane, number in enumerate(tenants):
            mine = rows[(rows["node"] == core) & (rows["phase"] == number)]
            if mine.size == 0:
                continue
            busy = spread(mine["start"], mine["end"], (mine["end"] - mine["start"]).astype(float), edges)
            share = np.minimum(busy / np.diff(edges), 1)
            height = 0.84 / tenants.size
            low = place - 0.42 + lane * height
            ax.stairs(low + share * height, edges / factor, baseline=low, fill=True, color=figure.series_colour(number),
                      label=None if number in labelled else tenant_name(run, number))
            labelled.add(number)
    ax.set_yticks(range(cores.size), [str(core) for core in cores])
    ax.set_ylim(cores.size - 0.5, -0.5)
    ax.set_ylabel("core")
    ax.set_title("a core works for a tenant (height: share of the time)", loc="left")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)


def _units(ax, run, end_ps, factor):
    """Use of arrays, vector units and DMA, mean of all cores."""
    rows = run.read("core_bins")
    cores = np.unique(rows["node"]).size
    edges = np.linspace(0, end_ps, _BINS + 1)
    for name, colour in (("matrix_busy", "#0072b2"), ("vector_busy", "#009e73"), ("dma_busy", "#d55e00")):
        share = spread(rows["begin"], rows["end"], rows[name].astype(float), edges) / np.diff(edges) / cores
        ax.stairs(100 * share, edges / factor, color=colour, label=name.split("_")[0])
    ax.set_ylim(0, 105)
    ax.set_ylabel("[%]")
    ax.set_title("units of the cores in use, mean", loc="left")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)


def _memory(ax, run, end_ps, factor):
    rows = run.read("channel_bins")
    edges = np.linspace(0, end_ps, _BINS + 1)
    bottom = np.zeros(_BINS)
    total = spread(rows["begin"], rows["end"], (rows["read"] + rows["written"]).astype(float), edges)
    unit_factor, unit = figure.rate_unit(float((total / np.diff(edges)).max()) * 1e12)
    for name, colour in (("read", "#56b4e9"), ("written", "#d55e00")):
        rate = spread(rows["begin"], rows["end"], rows[name].astype(float), edges) / (np.diff(edges) * 1e-12)
        ax.stairs(bottom + rate / unit_factor, edges / factor, baseline=bottom, fill=True, color=colour, label=name)
        bottom = bottom + rate / unit_factor
    ax.set_ylabel(f"[{unit}]")
    ax.set_ylim(bottom=0)
    ax.set_title("DRAM, all channels together (stacked)", loc="left")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)


def draw_occupancy(run, directory):
    """What each core did for whom, and how much of arrays and DRAM was in use."""
    run.read("requests")  # else there are no tenants
    panels = [_stripes]
    for table, panel in (("core_bins", _units), ("channel_bins", _memory)):
        try:
            run.read(table)
            panels.append(panel)
        except NothingToDraw:
            pass
    cores = min(np.unique(_operators(run)["node"]).size, _MOST_CORES)
    end_ps = run.end_ps()
    fig, axes = figure.new_figure(run, "Cores and memory over simulated time", 14,
                                  1.6 + 2.2 * (len(panels) - 1) + max(2.2, 0.45 * cores), rows=len(panels),
                                  sharex=True, height_ratios=[max(1, 0.2 * cores)] + [1] * (len(panels) - 1))
    factor, unit = figure.time_unit(end_ps)
    for ax, panel in zip(axes[:, 0], panels):
        panel(ax, run, end_ps, factor)
    axes[-1, 0].set_xlim(0, end_ps / factor)
    axes[-1, 0].set_xlabel(f"simulated time [{unit}]")
    return figure.save(fig, directory, "core_occupancy")
