"""Links: how busy each is, over the run and over time, and its capacity."""

import numpy as np

from .link_keys import LinkKeys
from .resolved import quantity
from .spans import Frames, sum_over_time

_MOST_FRAMES = 64
_MOST_VALUES = 100e6  # of frames and links together, for memory's sake


class Links:
    """Totals of each link, sorted by node, port and end, and their use in each frame of time."""

    def __init__(self, run, values):
        self.run = run
        self.rows, self.span = self._totals(run)
        self._known = LinkKeys(self.rows)
        self.keys = self._known.of(self.rows)
        self.span = max(1, self.span)
        most = max(4, int(min(_MOST_FRAMES, _MOST_VALUES // max(1, self.rows.size))))
        self.frames = Frames(run, "link_bins", most)
        self.over_time = self._over_time()
        self.share = self.rows["busy"] / self.span
        self.shares = self.over_time["busy"] / self.frames.lengths[:, None]
        self.classes = run.names("link_classes")
        self.capacity, self.said = self._capacities(values)

    def _over_time(self):
        """Networks that keep no bins have one frame, the whole run."""
        if not self.run.rows("link_bins"):
            self.frames = Frames.whole(self.span)
            return {field: self.rows[field].astype(float)[None] for field in ("busy", "bytes")}
        return sum_over_time(
            self.run, "link_bins", self.frames, self.keys.size,
            lambda rows: np.searchsorted(self.keys, self._known.of(rows)), ("busy", "bytes"))

    @staticmethod
    def _totals(run):
        """Of a run cut short there are bins alone, which are added up."""
        if run.rows("links"):
            rows = run.read("links")
            rows = rows[np.argsort(LinkKeys(rows).of(rows), kind="stable")]
            return rows, int((rows["end"] - rows["begin"]).max())
        bins = run.read("link_bins")
        _, first, place = np.unique(LinkKeys(bins).of(bins), return_index=True, return_inverse=True)
        rows = bins[first].copy()
        for field in ("busy", "bytes"):
            rows[field] = np.bincount(place, bins[field].astype(float), first.size)
        np.maximum.at(rows["largest_queue"], place, bins["largest_queue"])
        return rows, run.end_ps()

    def class_name(self, number):
        return self.classes[number] if number < len(self.classes) else f"class {number}"

    def _capacities(self, values):
        """[link] B/s, and how each class is known. Of networks that share a link its rate while it
        is used is less than its capacity, so that the configuration goes first."""
        rows = self.rows
        seen = rows["bytes"] / np.maximum(rows["busy"], 1) * 1e12
        capacity, said = seen.astype(float), {}
        for number in np.unique(rows["class"]):
            own = rows["class"] == number
            stated = stated_bandwidth(values, self.class_name(number))
            said[int(number)] = "configuration" if stated else "highest rate seen"
            capacity[own] = stated or float(seen[own].max())
        return capacity, said


def stated_bandwidth(values, name):
    """The bandwidth that the configuration states for a kind of links; None where none fits."""
    words = [word for word in name.replace("-", "_").split("_") if word]
    found = {key: value for key, value in values.items()
             if key.startswith("machine.topology.") and key.endswith("bandwidth")}
    if len(found) == 1:
        return quantity(next(iter(found.values())))
    fitting = [value for key, value in found.items()
               if "_".join(words) in key.replace("-", "_").split(".")]
    return quantity(fitting[0]) if len(fitting) == 1 else None
