"""What tiles do when: operators one by one as far as they fit in the file, and binned for all of it.

Where not all fit, tiles with few have all of theirs, the others those at the beginning, in the middle
and at the end of the run, in three windows of the same width. Operators of a tile lie in the file in the
order of their start: the pause since the end of the one
before (zigzag), the duration, which kind it is, the micro-batch.
"""

import numpy as np

from ..binning import spread
from ..errors import NothingToDraw
from .blobs import zigzag

_MOST_TILES = 256
_BINS = 1200


def _order(run):
    """Nodes in the trace, those of a tenant, stage and replica together."""
    counts = {}
    for rows in run.blocks("operators"):
        nodes, count = np.unique(rows["node"], return_counts=True)
        for node, more in zip(nodes.tolist(), count.tolist()):
            counts[node] = counts.get(node, 0) + more
    if not counts:
        raise NothingToDraw("the trace holds no operators")
    nodes = run.nodes()
    seen = nodes[np.isin(nodes["node"], list(counts))]
    keys = [seen[key] for key in ("node", "shard", "replica", "stage", "tenant")
            if key in seen.dtype.names]
    return seen[np.lexsort(keys)], counts


def _chosen(nodes):
    """Of many tiles so many, evenly; of plans first one of each stage."""
    if nodes.size <= _MOST_TILES:
        return nodes
    first = (nodes["stage"] >= 0) & (nodes["replica"] == 0) & (nodes["shard"] == 0)
    if 0 < first.sum() <= _MOST_TILES and np.unique(nodes["stage"]).size > 1:
        return nodes[first]
    return nodes[np.linspace(0, nodes.size - 1, _MOST_TILES).astype(int)]


def _label(run, row, with_shard):
    tenants = run.names("tenants")
    text = f"node {row['node']}"
    if not run.of_graphs() and not run.of_requests() and row["stage"] >= 0:
        text = f"stage {row['stage']}"
        if with_shard:
            text += f" r{row['replica']} s{row['shard']}"
    if tenants and 0 <= row["tenant"] < len(tenants):
        text = f"{tenants[row['tenant']]}: {text}"
    return text


class _Kinds:
    """Numbers of the different (name, activity, phase)."""

    def __init__(self, run):
        self._texts = {int(row["name"]): row["text"].decode("utf-8", "replace")
                       for row in run.read("names")}
        self._activities, self._phases = run.names("activities"), run.names("phases")
        self._numbers = {}
        self.list = []

    def of(self, rows):
        pairs = (rows["name"].astype(np.int64) << 16 | rows["activity"].astype(np.int64) << 8
                 | rows["phase"])
        known, place = np.unique(pairs, return_inverse=True)
        return np.array([self._number(int(pair)) for pair in known], np.int64)[place]

    def _number(self, pair):
        if pair not in self._numbers:
            self._numbers[pair] = len(self.list)
            self.list.append([self._texts.get(pair >> 16, "?"),
                              self._name(self._activities, pair >> 8 & 255),
                              self._name(self._phases, pair & 255)])
        return self._numbers[pair]

    @staticmethod
    def _name(names, number):
        return names[number] if number < len(names) else str(number)


def _category(kind):
    _, activity, phase = kind
    return phase if activity == "compute" and phase != "compute" else activity


class _Operators:
    """The rows of the tiles drawn, one tile after the other."""

    def __init__(self, run, tiles):
        rows = run.read("operators", keep=lambda block: np.isin(block["node"], tiles))
        order = np.argsort(tiles)
        place = order[np.searchsorted(tiles[order], rows["node"])]
        rows = rows[np.lexsort((rows["end"], rows["start"], place))]
        self.rows = rows
        self.first = np.searchsorted(np.sort(place), np.arange(tiles.size + 1))


def _bins(rows, codes, categories, edges):
    """[category][bin] share as bytes."""
    shares = np.zeros((categories, edges.size - 1))
    for code in np.unique(codes):
        some = rows[codes == code]
        busy = (some["end"] - some["start"]).astype(float)
        shares[code] = spread(some["start"], some["end"], busy, edges) / np.diff(edges)
    shares /= np.maximum(shares.sum(axis=0), 1)
    return np.rint(255 * shares).astype(np.uint8)


def _whole(counts, budget):
    """Which tiles have all their operators in the file, a fair share of the budget each, and what is left of it."""
    whole, left = np.zeros(counts.size, bool), budget
    for done, index in enumerate(np.argsort(counts, kind="stable")):
        if counts[index] > left // (counts.size - done):
            break
        whole[index] = True
        left -= int(counts[index])
    return whole, left


def _windows(width, end):
    """The beginning, the middle and the end, one of them where they touch."""
    middle = (end - width) // 2
    if middle <= width:
        return [(0, end)]
    return [(0, width), (middle, middle + width), (end - width, end)]


def _within(rows, windows):
    """Rows of which a part lies in a window."""
    return np.any([(rows["start"] < stop) & (rows["end"] > begin) for begin, stop in windows], axis=0)


def _widest(rows, end, budget):
    """The widest windows whose rows keep to the budget."""
    least, most = 0, end // 3
    while most - least > max(1, end >> 20):
        width = (least + most) // 2
        if _within(rows, _windows(width, end)).sum() <= budget:
            least = width
        else:
            most = width
    return _windows(least, end)


def timeline(run, blobs, budget):
    """Throws NothingToDraw."""
    nodes, counts = _order(run)
    drawn = _chosen(nodes)
    tiles = drawn["node"].astype(np.int64)
    with_shard = bool(drawn["replica"].any() or drawn["shard"].any())
    operators = _Operators(run, tiles)
    kinds = _Kinds(run)
    kind = kinds.of(operators.rows)
    categories = list(dict.fromkeys(map(_category, kinds.list)))
    category_of = np.array([categories.index(_category(entry)) for entry in kinds.list])
    rows = operators.rows
    end = max(run.end_ps(), int(rows["end"].max()))
    edges = np.linspace(0, end, _BINS + 1)
    counts_drawn = np.diff(operators.first)
    whole, left = _whole(counts_drawn, budget)
    of_whole = np.repeat(whole, counts_drawn)
    windows = [] if whole.all() else _widest(rows[~of_whole], end, left)
    inside = of_whole | _within(rows, windows) if windows else of_whole
    bins = [_bins(rows[begin:stop], category_of[kind[begin:stop]], len(categories), edges)
            for begin, stop, all_there in zip(operators.first[:-1], operators.first[1:], whole) if not all_there]
    kept = np.add.reduceat(inside.astype(np.int64), operators.first[:-1])
    some = rows[inside]
    before = np.concatenate(([0], some["end"][:-1]))
    before[np.cumsum(kept)[:-1][kept[1:] > 0]] = 0
    return {
        "end": end, "tiles": tiles.tolist(), "labels": [_label(run, row, with_shard)
                                                             for row in drawn],
        "in_trace": len(counts), "operators": int(sum(counts.values())),
        "in_file": int(kept.sum()), "kept": kept.tolist(),
        "whole": whole.tolist(), "windows": windows,
        "binned": int(len(bins)), "bins": _BINS,
        "shares": blobs.add(np.concatenate([part.ravel() for part in bins])) if bins else None,
        "categories": categories, "category": category_of.tolist(), "kinds": kinds.list,
        "pause": blobs.add_numbers(zigzag(some["start"] - before)),
        "length": blobs.add_numbers(some["end"] - some["start"]),
        "kind": blobs.add_numbers(kind[inside]),
        "micro_batch": blobs.add_numbers(some["micro_batch"]),
    }
