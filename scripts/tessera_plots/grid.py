"""Nodes drawn as a map."""

import numpy as np


def spacing(values):
    """Smallest distance of two different coordinates."""
    steps = np.diff(np.unique(values))
    return float(steps.min()) if steps.size else 1.0


def shape(columns, rows, longest):
    """Width and height of a map whose longer side has `longest` inches."""
    ratio = float(np.clip(columns / rows, 1 / 3, 3))
    return (longest, longest / ratio) if ratio > 1 else (longest * ratio, longest)
