"""Sums of spans of time over bins, and lines of steps."""

import numpy as np

_MOST_STEPS = 4000


def spread(begin, end, amount, edges):
    """Spreads `amount` of each span evenly over [begin, end) and returns the sum in each bin between
    `edges`. Cost O((spans + bins) log spans); spans of no length count for nothing."""
    length = end.astype(float) - begin.astype(float)
    some = length > 0
    density = np.broadcast_to(amount, begin.shape)[some] / length[some]
    below = _ramps(begin[some].astype(float), density, edges)
    below -= _ramps(end[some].astype(float), density, edges)
    # Sums of ramps cancel up to rounding.
    return np.maximum(np.diff(below), 0)


def _ramps(starts, density, edges):
    """At each edge, the sum of density * (edge - start) over the spans that started before it."""
    order = np.argsort(starts, kind="stable")
    starts, density = starts[order], density[order]
    started = np.searchsorted(starts, edges)
    total = np.concatenate(([0.0], np.cumsum(density)))
    moment = np.concatenate(([0.0], np.cumsum(density * starts)))
    return edges * total[started] - moment[started]


def steps(times, values, end_ps):
    """Edges and values of a line of steps; of very many, the largest of each of 2000 equal times."""
    last = np.append(times[1:] != times[:-1], True)  # of rows of one time the last one counts
    times, values = times[last], values[last]
    edges = np.append(times, max(end_ps, int(times[-1])))
    if times.size <= _MOST_STEPS:
        return edges, values
    bins = _MOST_STEPS // 2
    begins = edges[0] + np.arange(bins) * (edges[-1] - edges[0]) // bins
    ends = np.append(begins[1:], edges[-1])
    first = np.searchsorted(times, begins, side="right") - 1  # what was held as the bin began
    behind = np.maximum(np.searchsorted(times, ends, side="left"), first + 1)
    largest = [values[at:end].max() for at, end in zip(first, behind)]
    return np.append(begins, edges[-1]), np.array(largest)
