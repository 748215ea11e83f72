"""The folder of a sweep: its points, keys and columns from sweep.h5."""

import os

from .errors import NothingToDraw, PlotError
from .trace_file import h5py

NAME = "sweep.h5"
# How names of columns end of which more is better.
_GROWING = ("_per_s", ".served", ".met", ".tokens", ".samples")


def is_sweep(folder):
    return os.path.exists(os.path.join(folder, NAME)) or os.path.exists(
        os.path.join(folder, "sweep.json"))


def _text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _pair(text, option):
    names = [name.strip() for name in text.split(",")] if text else []
    if text and (len(names) != 2 or not all(names)):
        raise PlotError(f"{option}: give two names with a comma between them", exit_code=2)
    return names


class SweepFolder:
    """Finished points as a structured array `points`; `keys` maps a key to its values, as texts in
    the order of the sweep; `axis_of` a key to its axis. Raises PlotError."""

    def __init__(self, folder, options):
        self.folder = folder
        path = os.path.join(folder, NAME)
        if not os.path.exists(path):
            raise PlotError(f"{folder}: has no {NAME}: the sweep did not end; "
                            f"tessera sweep --resume {folder} goes on", exit_code=2)
        try:
            self._read(path)
        except (OSError, KeyError, ValueError, RuntimeError) as error:
            raise PlotError(f"{path}: damaged: {str(error).splitlines()[0]}") from error
        self.columns = _pair(options.columns, "--columns") or self._usual_columns()
        self.axes = _pair(options.axes, "--axes") or self._usual_axes()
        self.value = options.value or self.objective
        for name in [*self.columns, self.value]:
            if name not in self.units:
                raise PlotError(f"{folder}: no column '{name}'; there are "
                                + ", ".join(self.units), exit_code=2)
        for name in self.axes:
            if name not in self.keys:
                raise PlotError(f"{folder}: no key '{name}'; there are " + ", ".join(self.keys),
                                exit_code=2)

    def _read(self, path):
        with h5py.File(path, "r") as file:
            attributes = {name: _text(value) for name, value in file.attrs.items()}
            if attributes.get("file_type") != "tessera-sweep":
                raise ValueError("is not of a sweep of Tessera")
            if not attributes.get("format_version", "").startswith("1."):
                raise ValueError("has another format version; this program reads 1.x")
            self.name = attributes["sweep"]
            self.objective = attributes["objective"]
            self.maximize = attributes["goal"] == "maximize"
            points = file["points"]
            rows = points[:]
            self.keys, self.axis_of = {}, {}
            for row in file["keys"][:]:
                key = _text(row["key"])
                self.keys.setdefault(key, []).append(_text(row["value"]))
                self.axis_of[key] = int(row["axis"])
            names = list(rows.dtype.names)
            columns = names[names.index("status") + 1:names.index("result_digest")]
            self.units = {name: _text(points.attrs["unit." + name]) for name in columns}
        self.points_run = len(rows)
        self.points = rows[rows["status"] == b"finished"]
        if not len(self.points):
            raise NothingToDraw(f"{self.folder}: no point finished")

    def _usual_columns(self):
        """Memory and throughput; of services, which have no such memory, a tail of their times and
        the objective."""
        times = [name for name in self.units
                 if name.startswith("services.") and name.endswith("_ps.p99") and name != self.objective]
        if "memory_per_tile_bytes" not in self.units and times:
            return [times[0], self.objective]
        return ["memory_per_tile_bytes", "throughput_samples_per_s"]

    def _usual_axes(self):
        """The first two keys of different axes with more than one value."""
        chosen = []
        for key in self.varying():
            if self.axis_of[key] not in map(self.axis_of.get, chosen):
                chosen.append(key)
        return chosen[:2]

    def larger_is_better(self, column):
        return self.maximize if column == self.objective else column.endswith(_GROWING)

    def short(self, key):
        """As much of the end of a key as tells it from the others."""
        parts = key.split(".")
        for count in range(1, len(parts)):
            end = ".".join(parts[-count:])
            if not any(other != key and f".{other}".endswith(f".{end}") for other in self.keys):
                return end
        return key

    def varying(self):
        """Keys with more than one value."""
        return [key for key, values in self.keys.items() if len(values) > 1]

    def places(self, key):
        """Of each point, which value of the key it has."""
        values = self.keys[key]
        column = self.points[key]
        if column.dtype.kind == "S":
            cut = [value.encode()[:column.dtype.itemsize].decode(errors="ignore") for value in values]
            return [cut.index(_text(value)) for value in column]
        numbers = [float(value) for value in values]
        return [numbers.index(float(value)) for value in column]

    def label_of(self, index):
        """The values of a point, short."""
        return ", ".join(self.keys[key][self.places(key)[index]] for key in self.varying())
