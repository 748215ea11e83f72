"""What computing and memory accesses hide of collectives, in runs of graphs."""

import numpy as np

from .errors import NothingToDraw

_HIDES = ("compute", "memory", "host")


def covered(begin, end):
    """Length of the union of spans."""
    if begin.size == 0:
        return 0
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.maximum.accumulate(end[order])
    before = np.concatenate(([begin[0]], end[:-1]))
    return int(np.maximum(end - np.maximum(begin, before), 0).sum())


def exposed(begin, end, hides_begin, hides_end):
    """Length of the union of spans that no hiding span covers."""
    both = covered(np.concatenate((begin, hides_begin)), np.concatenate((end, hides_end)))
    return both - covered(hides_begin, hides_end)


def _spans(rows):
    return rows["start"].astype(np.int64), rows["end"].astype(np.int64)


def _by_node(rows):
    """{node: rows}."""
    rows = rows[np.argsort(rows["node"], kind="stable")]
    nodes, first = np.unique(rows["node"], return_index=True)
    return dict(zip(nodes.tolist(), np.split(rows, first[1:])))


def _hiding(run):
    """{node: rows of operators that hide communication}."""
    rows = run.read("operators")
    activities = run.names("activities")
    codes = [activities.index(name) for name in _HIDES if name in activities]
    return _by_node(rows[np.isin(rows["activity"], codes)])


def by_kind_and_dimension(run):
    """[(kind, dimension, mean busy ps, mean exposed ps)] over the tiles in the trace."""
    phases = run.read("collective_phases")
    hiding = _hiding(run)
    kinds = run.names("collectives")
    sums = {}
    tiles = _by_node(phases)
    for node, rows in tiles.items():
        hides = hiding.get(node, phases[:0])
        hides = _spans(hides)
        keys = rows["kind"].astype(np.int64) * 256 + rows["dimension"]
        for key in np.unique(keys).tolist():
            begin, end = _spans(rows[keys == key])
            busy, open_ = sums.get(key, (0, 0))
            sums[key] = (busy + covered(begin, end), open_ + exposed(begin, end, *hides))
    count = len(tiles.keys() | _by_node(run.read("operators")).keys())
    return [(kinds[key // 256] if key // 256 < len(kinds) else f"kind {key // 256}", key % 256,
             busy / count, open_ / count) for key, (busy, open_) in sorted(sums.items())]


def tile_times(run):
    """Nodes, and of each: time that hides, exposed collectives, and its last end [ps]."""
    operators = _by_node(run.read("operators"))
    hiding = _hiding(run)
    try:
        phases = _by_node(run.read("collective_phases"))
    except NothingToDraw:
        phases = {}
    nodes = np.array(sorted(operators))
    times = np.zeros((3, nodes.size))
    for index, node in enumerate(nodes.tolist()):
        nothing = operators[node][:0]
        hides = _spans(hiding.get(node, nothing))
        times[0, index] = covered(*hides)
        times[1, index] = exposed(*_spans(phases.get(node, nothing)), *hides)
        times[2, index] = operators[node]["end"].max()
    return nodes, times
