"""A run folder: all ranks' tables as one, the summary, and what the numbers in the tables mean."""

import hashlib
import json
import os
import sys

import numpy as np

from . import manifest
from .errors import NothingToDraw, PlotError
from .regular_file import open_text
from .trace_file import TraceFile


def trace_name(rank, ranks, segment=0):
    name = f"trace.s{segment}.{rank:05d}.h5" if segment else f"trace.{rank:05d}.h5"
    return name if ranks <= 1000 else f"traces/{rank // 1000:03d}/{name}"


class RunFolder:
    """Checks the manifest and opens the traces. Raises PlotError."""

    def __init__(self, folder):
        self.folder = folder
        # What is asked of `lanes`: runs to draw below, and a node; of maps of links, their scale.
        self.beside, self.npu, self.colours = [], None, "logarithmic"
        self.named_as = None  # the run whose names of nodes this one has
        if not os.path.isdir(folder):
            raise PlotError(f"{folder}: no such folder", exit_code=2)
        if not any(os.path.exists(self._path(name))
                   for name in ("config.resolved.yaml", "summary.json", manifest.NAME)):
            raise PlotError(f"{folder}: is not a run folder of Tessera", exit_code=2)
        listed = manifest.verify(folder)
        self.summary = self._read_summary()
        self.complete = listed is not None
        if self.complete:
            self.traces = [TraceFile(self._path(name), True, rows) for name, rows in listed]
        else:
            self.traces = self._open_traces()
            self._warn("has no manifest: the run did not finish; only committed rows are drawn")

    def _path(self, name):
        return os.path.join(self.folder, name)

    def _warn(self, text):
        print(f"warning: {self.folder}: {text}", file=sys.stderr)

    def _read_summary(self):
        path = self._path("summary.json")
        if not os.path.exists(path):
            return {}
        try:
            with open_text(path) as file:
                summary = json.load(file)
        except OSError as error:
            raise PlotError(f"{path}: {error.strerror}") from error
        except ValueError as error:
            raise PlotError(f"{path}: damaged (no JSON)") from error
        if not isinstance(summary, dict):
            raise PlotError(f"{path}: damaged (no summary)")
        return summary

    def _open_traces(self):
        """Of a run that did not finish."""
        segments = manifest.segments(self.folder)
        if segments is None:
            return self._open_only_segment()
        files = []
        for number, ranks, traces in segments:
            files += traces or [(trace_name(rank, ranks, number), None) for rank in range(ranks)]
        # The last segment may not have come to open its traces.
        return [TraceFile(path, False, rows) for name, rows in files
                if os.path.exists(path := self._path(name)) or rows is not None]

    def _open_only_segment(self):
        first = next((path for name in (trace_name(0, 1), trace_name(0, 1001))
                      if os.path.exists(path := self._path(name))), None)
        if first is None:
            if any(name.startswith("trace") and name.endswith(".h5")
                   for name in os.listdir(self.folder)):
                raise PlotError(f"{self.folder}: {trace_name(0, 1)}: missing")
            return []
        traces = [TraceFile(first, False)]
        try:
            ranks = int(traces[0].attributes.get("ranks", 1))
        except ValueError as error:
            raise PlotError(f"{first}: damaged: the number of ranks is no number") from error
        names = [trace_name(rank, ranks) for rank in range(1, ranks)]
        missing = [name for name in names if not os.path.exists(self._path(name))]
        if missing:
            raise PlotError(f"{self.folder}: missing: " + ", ".join(missing[:10])
                            + (f" and {len(missing) - 10} more" if len(missing) > 10 else ""))
        return traces + [TraceFile(self._path(name), False) for name in names]

    def read(self, table, keep=None):
        """Rows of all ranks, one rank after the other. Raises NothingToDraw when there are none."""
        if not self.traces:
            raise NothingToDraw("the run kept no trace (run it with --trace summary or full)")
        rows = [trace.read(table, keep) for trace in self.traces if trace.rows(table)]
        rows = [part for part in rows if part.size]
        if not rows:
            raise NothingToDraw(f"the trace holds no rows of table '{table}'")
        return rows[0] if len(rows) == 1 else np.concatenate(rows)

    def blocks(self, table):
        """The same rows in pieces, for tables that need not be in memory as a whole."""
        for trace in self.traces:
            yield from trace.blocks(table)

    def rows(self, table):
        return sum(trace.rows(table) for trace in self.traces)

    def names(self, attribute):
        """Meaning of the numbers of a field: 'phases', 'activities', 'traffic' or 'tenants'."""
        text = self.traces[0].attributes.get(attribute, "") if self.traces else ""
        return text.split(",") if text else []

    def of_graphs(self):
        """Whether NPUs ran graphs, which have no stages and no passes."""
        return self.names("phases") == ["compute"]

    def of_requests(self):
        """Whether requests of tenants were served."""
        return any(trace.rows("requests") for trace in self.traces)

    def end_ps(self):
        """End of what is known of the run: of its traces, where its summary goes on evenly (run.replay)."""
        traced = max((trace.committed_ps for trace in self.traces), default=0)
        simulated = self.summary.get("simulated_time_ps") if self.complete else None
        if traced and self.summary.get("replayed_micro_batches"):
            return int(traced)
        return int(simulated or traced)

    def nodes(self):
        nodes = self.read("nodes")
        return nodes[np.argsort(nodes["node"], kind="stable")]

    def shape(self):
        """The same text for machines whose nodes stand in the same places: their links can be held against each
        other one by one."""
        try:
            nodes = self.nodes()
        except NothingToDraw:
            return ""
        digest = hashlib.sha256()
        for field in ("node", "x", "y", "computes"):
            digest.update(np.ascontiguousarray(nodes[field]).tobytes())
        return digest.hexdigest()
