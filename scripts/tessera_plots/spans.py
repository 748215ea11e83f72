"""Rows that span time, summed up into frames."""

import numpy as np


class Frames:
    """Equal parts of time: the trace's own bins where they are few, else so many."""

    def __init__(self, run, table, most):
        edges = set()
        end = run.end_ps()
        for rows in run.blocks(table):
            edges.update(np.unique(rows["begin"]).tolist())
            end = max(end, int(rows["end"].max()))
            if len(edges) > 4096:
                break
        edges = sorted({0, *edges, max(1, end)})
        self._set(np.array(edges, float) if len(edges) <= most + 1
                  else np.linspace(0, end, most + 1))

    @classmethod
    def whole(cls, end):
        """One frame."""
        made = cls.__new__(cls)
        made._set(np.array([0, end], float))
        return made

    def _set(self, edges):
        self.edges = edges
        self.count = edges.size - 1
        self.lengths = np.diff(edges)

    def add(self, sums, index, begin, end, amounts):
        """sums[frame][index] += what of amounts falls there; a row's amount is spread evenly."""
        begin, end = begin.astype(float), np.maximum(end.astype(float), begin + 1.0)
        first = np.clip(np.searchsorted(self.edges, begin, side="right") - 1, 0, self.count - 1)
        last = np.clip(np.searchsorted(self.edges, end, side="left") - 1, 0, self.count - 1)
        for step in range(int((last - first).max(initial=-1)) + 1):
            some = first + step <= last
            frame = first[some] + step
            part = (np.minimum(end[some], self.edges[frame + 1])
                    - np.maximum(begin[some], self.edges[frame]))
            part = np.clip(part, 0, None) / (end[some] - begin[some])
            flat = frame * sums.shape[1] + index[some]
            sums += np.bincount(flat, amounts[some] * part, sums.size).reshape(sums.shape)


def sum_over_time(run, table, frames, size, index_of, fields):
    """{field: [frame][index]}; `index_of(rows)` says where a row belongs."""
    sums = {field: np.zeros((frames.count, size)) for field in fields}
    for rows in run.blocks(table):
        index = index_of(rows)
        for field in fields:
            frames.add(sums[field], index, rows["begin"], rows["end"], rows[field].astype(float))
    return sums
