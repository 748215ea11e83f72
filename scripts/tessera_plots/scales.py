"""Scales of colour that hold where most values are alike and a few are far larger."""

import numpy as np
from matplotlib.colors import FuncNorm, LogNorm, Normalize

KINDS = ("logarithmic", "percentile", "linear")
_DECADES = 5


def norm_of(kind, values):
    """For shares in percent; a scale and the words that say which it is."""
    used = np.asarray(values, float).ravel()
    used = used[used > 0]
    top = float(used.max()) if used.size else 1.0
    if kind == "linear" or used.size == 0 or used.min() == top:
        return Normalize(0, top), "linear scale"
    if kind == "logarithmic":
        return LogNorm(max(float(used.min()), top / 10**_DECADES), top), "logarithmic scale"
    return _percentiles(used), "by rank: equal shares of the links have equal parts of the scale"


def _percentiles(used):
    known = np.unique(np.quantile(used, np.linspace(0, 1, 257)))
    ranks = np.linspace(0, 1, known.size)
    return FuncNorm((lambda x: np.interp(x, known, ranks), lambda y: np.interp(y, ranks, known)),
                    float(known[0]), float(known[-1]))
