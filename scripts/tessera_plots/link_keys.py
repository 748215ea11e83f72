"""Which link a row of a trace is about."""

import numpy as np


def _places(rows):
    return rows["node"].astype(np.int64) << 32 | rows["port"]


class LinkKeys:
    """A number for each link of some rows, in the order of nodes, ports and ends. The end counts:
    before format 1.9 ports had eight bits, and switches of clusters have more of them."""

    def __init__(self, rows):
        self._known = np.unique(_places(rows))

    def of(self, rows):
        """Of rows about the same links, or some of them."""
        return np.searchsorted(self._known, _places(rows)) << 32 | rows["to"]
