"""Where the nodes of a machine and its links are drawn."""

import numpy as np

from .errors import NothingToDraw
from .grid import shape, spacing
from .link_keys import LinkKeys
from .node_names import names_of, stand_in_rows

# With more nodes than this, or nodes closer together, arrows cannot be told apart, and each node
# becomes a patch of one colour instead.
_MOST_NODES_WITH_ARROWS = 2000
_PIXELS_FOR_ARROWS = 18
_DPI = 120
# With more nodes than this their names would meet.
_MOST_NODES_WITH_NAMES = 40
# A smaller part of the machine than this is shown alone.
_SMALL_PART = 0.4


class Map:
    """Where the nodes are, and the links by number. Of a machine most of which has no traffic only
    the part that has. `longest`: of the picture's sides [inches]; `shown`: numbers of further nodes that
    are to be on it."""

    def __init__(self, run, link_rows, longest, shown=()):
        nodes = run.nodes()
        _, first, self.link_of_row = np.unique(LinkKeys(link_rows).of(link_rows), return_index=True,
                                               return_inverse=True)
        links = link_rows[first]
        if not np.isin(np.concatenate((links["node"], links["to"])), nodes["node"]).all():
            raise NothingToDraw("the trace has links of nodes that it does not describe")
        self.all_nodes, self.name = nodes, names_of(run)
        self.spacing_x, self.spacing_y = spacing(nodes["x"]), spacing(nodes["y"])
        touched = np.concatenate((links["node"], links["to"], np.asarray(shown, int)))
        nodes = self._part_in_use(nodes, np.isin(nodes["node"], touched))
        self.x, self.y = nodes["x"], nodes["y"]
        self.used = nodes["stage"] >= 0
        self.outward = _OUTWARD[np.minimum(links["port"], len(_OUTWARD) - 1)]
        self.source = np.searchsorted(nodes["node"], links["node"])
        self.target = np.searchsorted(nodes["node"], links["to"])
        self.node_numbers = nodes["node"]
        self.shape = shape(*self.size(), longest)
        pixels = _DPI * np.array(self.shape) / self.size()
        self.with_arrows = bool(self.x.size <= _MOST_NODES_WITH_ARROWS
                                and pixels.min() >= _PIXELS_FOR_ARROWS)
        self.with_names = self.x.size <= _MOST_NODES_WITH_NAMES and not stand_in_rows(run)

    def _part_in_use(self, nodes, touched):
        x, y = nodes["x"], nodes["y"]
        inside = np.ones(nodes.size, dtype=bool)
        for values, step in ((x, self.spacing_x), (y, self.spacing_y)):
            inside &= values >= values[touched].min() - step
            inside &= values <= values[touched].max() + step
        return nodes[inside] if inside.sum() < _SMALL_PART * nodes.size else nodes

    def size(self):
        """Columns and rows of nodes."""
        return (np.ptp(self.x) / self.spacing_x + 1, np.ptp(self.y) / self.spacing_y + 1)

    def of_inches(self, inches):
        """In the units of places of nodes."""
        return inches * max(np.array(self.size()) * (self.spacing_x, self.spacing_y) / self.shape)

    def sum_by_link(self, amount):
        return np.bincount(self.link_of_row, amount, minlength=self.source.size)

    def name_of(self, link):
        source, target = self.node_numbers[self.source[link]], self.node_numbers[self.target[link]]
        return f"{self.name(source)} to {self.name(target)}"

    def pairs(self):
        """Source and target of each link, by number."""
        return list(zip(self.node_numbers[self.source].tolist(),
                        self.node_numbers[self.target].tolist()))

    def part(self):
        """Says which part is shown, when it is not all."""
        if self.x.size == self.all_nodes.size:
            return ""
        words = [f"{what} {values.min():.4g} to {values.max():.4g} of {every.min():.4g} to {every.max():.4g}"
                 for what, values, every in (("columns", self.x, self.all_nodes["x"]),
                                             ("rows", self.y, self.all_nodes["y"]))
                 if values.min() > every.min() or values.max() < every.max()]
        return f" ({', '.join(words)}; the others have no traffic)"


# Direction of each port on a grid: west, east, north, south; a link of a torus that leaves the west
# edge goes west, but ends in the east. Further ports have none.
_OUTWARD = np.array(((-1, 0), (1, 0), (0, -1), (0, 1), (0, 0)), float)


def arrows(where):
    """Start and vector of each link's arrow. A link is shifted to its right, so that the two
    directions lie side by side; one that wraps around the machine is a short piece at its start."""
    x, y = where.x[where.source], where.y[where.source]
    dx, dy = where.x[where.target] - x, where.y[where.target] - y
    along = dx * where.outward[:, 0] + dy * where.outward[:, 1]
    if (np.abs(along) == np.hypot(dx, dy)).all():  # a grid: ports are directions
        wraps = along < 0
        dx = np.where(wraps, 0.6 * where.outward[:, 0] * where.spacing_x, dx)
        dy = np.where(wraps, 0.6 * where.outward[:, 1] * where.spacing_y, dy)
    length = np.maximum(np.hypot(dx, dy), 1e-12)
    shift = 0.11 * min(where.spacing_x, where.spacing_y)
    start_x, start_y = x - dy / length * shift, y + dx / length * shift
    return start_x + 0.12 * dx, start_y + 0.12 * dy, 0.76 * dx, 0.76 * dy
