"""Scales of colour that hold where most values are alike and a few are far larger."""

import numpy as np
from matplotlib.colors import FuncNorm, LogNorm, Normalize

KINDS = ("logarithmic", "percentile", "linear")
_DECADES = 5
_LEAST = 0.01  # this part of what is drawn may have the lowest colour, so that the others have the rest
_LEAST_SPAN = 2  # the highest value over the lowest, so that what differs little has colours alike
_ALIKE = 1e-3  # with less between them than this part, values are the same


def norm_of(kind, values):
    """For shares in percent that are drawn; a scale and the words that say which it is."""
    used = np.asarray(values, float).ravel()
    used = used[used > 0]
    top = float(used.max()) if used.size else 1.0
    if kind == "linear" or used.size == 0 or used.min() >= (1 - _ALIKE) * top:
        return Normalize(0, top), "linear scale"
    if kind == "logarithmic":
        return _logarithmic(used, top)
    return _percentiles(used), "by rank: equal shares of the links have equal parts of the scale"


def _logarithmic(used, top):
    least = float(np.quantile(used, _LEAST, method="lower"))
    least = min(max(least, top / 10**_DECADES), top / _LEAST_SPAN)
    below = float((used < (1 - _ALIKE) * least).mean())
    said = f"; those below {least:.3g} %, {100 * below:.2g} % of all, are drawn as that" if below else ""
    return LogNorm(least, top), "logarithmic scale" + said


def _percentiles(used):
    known = np.unique(np.quantile(used, np.linspace(0, 1, 257)))
    ranks = np.linspace(0, 1, known.size)
    return FuncNorm((lambda x: np.interp(x, known, ranks), lambda y: np.interp(y, ranks, known)),
                    float(known[0]), float(known[-1]))
