"""DRAM channels: how busy each is, over the run and over time, and its capacity."""

import numpy as np

from .errors import NothingToDraw
from .resolved import quantity
from .spans import Frames, sum_over_time

_MOST_FRAMES = 64


def _capacity(rows, values):
    """[channel] B/s, and where it is from."""
    stated = quantity(values.get("machine.dram.bandwidth"))
    if stated:
        return np.full(rows.size, stated), "configuration"
    moved = rows["read"] + rows["written"]
    return moved / np.maximum(rows["busy"], 1) * 1e12, "rate while busy"


def _totals(run):
    rows = run.read("channels" if run.rows("channels") else "channel_bins")
    numbers, first, place = np.unique(rows["channel"], return_index=True, return_inverse=True)
    totals = rows[first].copy()
    for field in ("read", "written", "busy"):
        totals[field] = np.bincount(place, rows[field].astype(float), numbers.size)
    np.maximum.at(totals["longest_wait"], place, rows["longest_wait"])
    return totals


class Channels:
    """Totals of each channel, by number, and rates of reading and writing in each frame [B/s]."""

    def __init__(self, run, values):
        if not run.rows("channel_bins"):
            raise NothingToDraw("no memory channel was used, or the memory keeps no account of them")
        self.rows = _totals(run)
        self.span = max(1, run.end_ps())
        self.capacity, self.said = _capacity(self.rows, values)
        self.share = self.rows["busy"] / self.span
        self.frames = Frames(run, "channel_bins", _MOST_FRAMES)
        sums = sum_over_time(
            run, "channel_bins", self.frames, self.rows.size,
            lambda block: np.searchsorted(self.rows["channel"], block["channel"]),
            ("read", "written"))
        seconds = self.frames.lengths[:, None] * 1e-12
        self.read, self.written = (sums[name] / seconds for name in ("read", "written"))
        self.order = np.argsort(-self.share, kind="stable")
