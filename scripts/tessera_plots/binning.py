"""Sums of spans of time over bins."""

import numpy as np


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
