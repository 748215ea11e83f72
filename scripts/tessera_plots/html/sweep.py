"""Everything that a report shows of a sweep, as JSON."""

import json
import math
import pathlib
import re

import numpy as np

from ..trace_file import h5py
from .table import table

_KINDS = {"ps": "time", "B": "bytes", "B/s": "rate", "FLOP/s": "flops", "samples/s": "samples"}


def _kind(name, unit):
    return "share" if name.endswith(".share") else _KINDS.get(unit, "count")


def _plain(value):
    value = float(value)
    return value if math.isfinite(value) else None


def _failed(folder):
    """[(status, count)] of points that did not finish."""
    with h5py.File(folder + "/sweep.h5", "r") as file:
        status, counts = np.unique(file["points"]["status"], return_counts=True)
    return [(name.decode(), int(count)) for name, count in zip(status, counts)
            if name != b"finished"]


_QUANTITY = r"[0-9][0-9.]*(?: (?:[pnum]?s|[kMGTP]?B)\b)?"


def _notes(folder):
    """[[points, note of one of them]], most points first; notes that differ in numbers alone are one."""
    notes = {}
    for path in sorted(pathlib.Path(folder, "points").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                point = json.loads(line)
            except ValueError:
                continue  # cut off: the sweep was killed, and the point was run again
            for note in point.get("notes") or ():
                notes.setdefault(re.sub(_QUANTITY, "…", note), {})[point["point"]] = note
    return sorted(([len(points), next(iter(points.values()))] for points in notes.values()),
                  key=lambda note: -note[0])


def _best(sweep, values):
    known = [i for i, value in enumerate(values) if value is not None]
    if not known:
        return None
    return (max if sweep.maximize else min)(known, key=lambda i: values[i])


def collect(sweep):
    """Of a SweepFolder."""
    points = sweep.points
    columns = [{"name": name, "kind": _kind(name, unit), "grows": sweep.larger_is_better(name),
                "values": [_plain(value) for value in points[name]]}
               for name, unit in sweep.units.items()]
    keys = [{"name": key, "short": sweep.short(key), "values": values,
             "places": [int(place) for place in sweep.places(key)]}
            for key, values in sweep.keys.items()]
    by_name = {column["name"]: column for column in columns}
    numbers = points["points" if "points" in points.dtype.names else "point"].tolist()
    rows = [[number, *(key["values"][key["places"][i]] for key in keys),
             *(column["values"][i] for column in columns)] for i, number in enumerate(numbers)]
    grows = sweep.maximize
    objective = by_name[sweep.objective]["values"]
    rows.sort(key=lambda row: _rank(row[1 + len(keys) + list(by_name).index(sweep.objective)], grows))
    return {
        "name": sweep.name, "objective": sweep.objective, "points_run": sweep.points_run,
        "failed": _failed(sweep.folder), "notes": _notes(sweep.folder), "numbers": numbers, "columns": columns, "keys": keys,
        "front": [name for name in sweep.columns if name in by_name],
        "best": _best(sweep, objective),
        "table": table("Points", [("point", "count"), *((key["short"], "text") for key in keys),
                                  *((column["name"], column["kind"]) for column in columns)], rows,
                       f"best {sweep.objective} first"),
    }


def _rank(value, grows):
    """Unknown ones last."""
    return (value is None, 0 if value is None else -value if grows else value)
