#!/usr/bin/env python3
"""Reads the committed rows of a run and prints what they are, as JSON.

    rows.py RUN                      a digest of the sorted rows of each table
    rows.py RUN --among WHOLE        the rows of RUN, of which each must be one of WHOLE

Every commit's CRC-32C is compared with the rows. Tables that depend on the ranks are left out.
"""
import argparse
import hashlib
import json
import os
import pathlib
import sys

sys.dont_write_bytecode = True  # the sources stay as they are
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

import numpy as np  # noqa: E402
from tessera_plots.errors import PlotError  # noqa: E402
from tessera_plots.trace_file import TraceFile  # noqa: E402

TABLES = ("operators", "messages", "link_bins", "links", "channel_bins", "channels")


def good_rows(folder):
    """Of each trace of a run that has gone on: how many rows of each table count. The last segment
    is not listed: all of its committed rows do."""
    found = {}
    path = folder / "segments.json"
    if path.exists():
        for segment in json.loads(path.read_text(encoding="utf-8"))["segments"]:
            for trace in segment["traces"]:
                found[trace["path"]] = trace["rows"]
    return found


def packed(rows):
    """Rows as plain bytes of equal length, so that they can be sorted and compared."""
    return np.frombuffer(rows.tobytes(), dtype="V%d" % rows.dtype.itemsize)


def read(folder, unreadable):
    """All committed rows by table, sorted; adds the names of traces that hold none."""
    good = good_rows(folder)
    parts = {table: [] for table in TABLES}
    commits = 0
    for path in sorted(folder.glob("trace*.h5")):
        try:
            trace = TraceFile(str(path), trusted=False, good=good.get(path.name))
        except PlotError as error:
            # A rank killed while it created its file has committed nothing.
            if "holds no rows" not in str(error) and "is not a trace" not in str(error):
                raise
            unreadable.append(path.name)
            continue
        commits += trace.committed_ps > 0
        for table in TABLES:
            rows = trace.read(table)
            if len(rows) > 0:
                parts[table].append(packed(rows))
    return {table: np.sort(np.concatenate(rows)) if rows else np.empty(0, "V1")
            for table, rows in parts.items()}, commits


def digest(rows):
    return hashlib.sha256(rows.tobytes()).hexdigest()[:32]


def among(part, whole):
    """Whether each row of `part` is in `whole`, and no more often."""
    if len(part) == 0:
        return True
    if len(whole) == 0 or part.dtype != whole.dtype:
        return False
    values, counts = np.unique(part, return_counts=True)
    most = np.searchsorted(whole, values, "right") - np.searchsorted(whole, values, "left")
    return bool(np.all(counts <= most))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--among", type=pathlib.Path)
    parser.add_argument("--tables", nargs="+", default=TABLES, help="to compare")
    options = parser.parse_args()
    unreadable = []
    rows, commits = read(options.folder, unreadable)
    if options.among is not None:
        whole, _ = read(options.among, [])
        for table in options.tables:
            if not among(rows[table], whole[table]):
                print("%s: a committed row is not of the uninterrupted run" % table, file=sys.stderr)
                return 1
    json.dump({"rows": sum(len(table) for table in rows.values()), "unreadable": unreadable,
               "committed": commits,
               "digest": {table: digest(rows[table]) for table in TABLES}}, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # HDF5 may not like to clean up after a file that was not closed


if __name__ == "__main__":
    sys.exit(main())
