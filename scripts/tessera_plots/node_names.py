"""What the nodes of a machine are called, as in what the program prints."""

import numpy as np

from .cluster import cluster_of
from .resolved import flatten, number, read_text, whole_numbers

_KEY = "machine.topology."


def _pair(row, column):
    return f"({row},{column})"


def _grid_name(columns):
    return lambda node: "tile " + _pair(*divmod(int(node), columns))


def _wafer_name(columns, cores):
    """Cores by their place in their tile; `columns` of cores on the wafer."""
    def name(node):
        row, column = divmod(int(node), columns)
        return (f"core {_pair(row % cores[0], column % cores[1])} of tile "
                f"{_pair(row // cores[0], column // cores[1])}")
    return name


def _of_wafer(values, nodes):
    tiles, cores = (whole_numbers(values.get(_KEY + key)) for key in ("tiles", "cores"))
    if len(tiles) != 2 or len(cores) != 2 or tiles[0] * tiles[1] * cores[0] * cores[1] != nodes:
        return None
    return _wafer_name(tiles[1] * cores[1], cores)


def _of_grid(values, nodes):
    rows, columns = (number(values, _KEY + key) for key in ("rows", "columns"))
    return _grid_name(columns) if rows and columns and rows * columns == nodes else None


def _of_graph(values, nodes):
    """Where no group of nodes is made of others."""
    names, ends = [], [0]
    while (name := values.get(f"{_KEY}nodes[{len(names)}].name")) is not None:
        count = number(values, f"{_KEY}nodes[{len(names)}].count")
        names.append(name if count is None else name + "[{}]")
        ends.append(ends[-1] + (count or 1))
    if ends[-1] != nodes:
        return None

    def name_of(node):
        group = int(np.searchsorted(ends, node, side="right")) - 1
        return names[group].format(int(node) - ends[group])
    return name_of


_KINDS = {"wafer": _of_wafer, "mesh": _of_grid, "torus": _of_grid, "graph": _of_graph}


def stand_in_rows(run):
    """Whether the nodes' places on a map say which they are."""
    return flatten(read_text(run.folder)).get(_KEY + "kind") in ("wafer", "mesh", "torus")


def names_of(run, values=None):
    """A function from the number of a node to its name; the number where machines have no names of their own.
    Runs that are held against another are named as that, so that their links can be found by their names."""
    if run.named_as is not None:
        return names_of(run.named_as)
    values = flatten(read_text(run.folder)) if values is None else values
    nodes = run.rows("nodes")
    if cluster := cluster_of(values, nodes):
        return cluster.name_of
    of_kind = _KINDS.get(values.get(_KEY + "kind"))
    return (of_kind and of_kind(values, nodes)) or (lambda node: f"node {node}")
