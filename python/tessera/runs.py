"""What a run left behind: its summary, and its traces as tables with units."""

from __future__ import annotations

import functools
import json
import math
import os
from collections.abc import Sequence
from typing import Any

import h5py
import numpy as np
import pandas
import xarray

from . import pictures, yaml_text
from .errors import MissingError, TraceError

PathLike = str | os.PathLike[str]

#: Fields that hold numbers of names, and the root attribute that has these names.
_NAMED = {"phase": "phases", "activity": "activities", "traffic": "traffic", "class": "link_classes",
          "kind": "collectives"}
#: In these tables the tenant is a number among the phases.
_TENANTS_OF_PHASES = ("requests", "tokens", "service_load")
#: What tables over time are about, and the fields that say which one it is: the first three, which
#: of links before format 1.9, whose ports had eight bits, need all three.
_OVER_TIME = {"link_bins": ("link", ("node", "port", "to", "class")),
              "channel_bins": ("channel", ("channel", "node")),
              "core_bins": ("core", ("node",))}
#: Fields that are no sums: the largest counts.
_LARGEST = ("largest_queue", "longest_wait")


def _flat(served: dict[str, Any]) -> dict[str, Any]:
    """Quantiles as columns of their own, in seconds; without windows."""
    row: dict[str, Any] = {}
    for key, value in served.items():
        if isinstance(value, dict):
            what = key.removesuffix("_ps")
            row.update((f"{what}_{name}", number) if name == "count"
                       else (f"{what}_{name}_s", number / 1e12 if value.get("count", 1) else math.nan)
                       for name, number in value.items())
        elif not isinstance(value, list):
            row[key] = value
    return row


class Run:
    """The folder of a run, checked against its manifest when traces are first read.

    >>> run = Run("out/quickstart")
    >>> run.iteration_time_s
    >>> run.operators.groupby("phase")["end"].max()
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = os.fspath(folder)
        path = os.path.join(self.folder, "summary.json")
        if os.path.exists(path) and not os.path.isfile(path):
            raise TraceError(f"{path}: it is no regular file but a folder, device, pipe or socket")
        try:
            with open(path, encoding="utf-8") as file:
                self.summary: dict[str, Any] = json.load(file)
        except OSError as error:
            raise TraceError(f"{path}: {error.strerror}; is this the folder of a run?") from error
        except ValueError as error:
            raise TraceError(f"{path}: is no JSON") from error
        if self.summary.get("file_type") != "tessera-summary":
            raise TraceError(f"{path}: is no summary of a run")

    def __repr__(self) -> str:
        return f"Run({self.folder!r})"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>"
                       for name, value in self._told().items())
        return f"<table>{rows}</table>"

    def _told(self) -> dict[str, Any]:
        return {"experiment": self.summary.get("experiment"), "machine": self.summary.get("machine"),
                "workload": self.summary.get("workload"), "status": self.status,
                "iteration": f"{self.iteration_time_s:.6g} s",
                "throughput": f"{self.throughput_samples_per_s:.6g} samples/s",
                "of peak": f"{self.utilization:.1%}"}

    # ---- The summary

    @property
    def status(self) -> str:
        """finished, stopped, deadlock, failed or running."""
        return str(self.summary["status"])

    @property
    def notes(self) -> list[str]:
        """What bends the result: what models leave out, keys without effect."""
        return list(self.summary.get("notes", []))

    @property
    def simulated_time_s(self) -> float:
        return float(self.summary["simulated_time_ps"]) / 1e12

    @property
    def iteration_time_s(self) -> float:
        """Mean time of an iteration."""
        return float(self.summary["iteration_time_ps"]) / 1e12

    @property
    def throughput_samples_per_s(self) -> float:
        return float(self.summary["throughput_samples_per_s"] or 0)

    @property
    def utilization(self) -> float:
        """Operations of the model over what the tiles in use could do, from 0 to 1."""
        peak = float(self.summary["peak_flops_per_s"] or 0)
        return float(self.summary["achieved_flops_per_s"] or 0) / peak if peak else 0.0

    @property
    def result_digest(self) -> str:
        """The same for equal results, on any number of ranks."""
        return str(self.summary["result_digest"])

    @property
    def configuration(self) -> dict[str, Any]:
        """The experiment as it was run, with all defaults."""
        return yaml_text.load(os.path.join(self.folder, "config.resolved.yaml"))

    def breakdown(self) -> pandas.DataFrame:
        """Where the time of tiles goes: a row for all tiles ("total") and for each stage, a column
        for each activity; mean over the tiles [s]."""
        groups = self.summary["breakdown"]
        named = [("total", groups["total"]),
                 *((stage["name"], stage) for stage in groups.get("stages", []))]
        rows = {name: {activity: value["mean_ps"] / 1e12 for activity, value in group.items()
                       if isinstance(value, dict)} for name, group in named}
        table = pandas.DataFrame.from_dict(rows, orient="index")
        table.attrs["units"] = dict.fromkeys(table.columns, "s")
        return table

    def tenants(self) -> pandas.DataFrame:
        """The jobs that shared the machine; no rows where one had all of it."""
        return pandas.DataFrame(self.summary.get("tenants") or [])

    def measured(self) -> pandas.DataFrame:
        """What jobs measured by themselves, a row a job; names end in their units."""
        return pandas.DataFrame(self.summary.get("measured") or [])

    def services(self) -> pandas.DataFrame:
        """How requests were served, a row a tenant; times in seconds, by quantile."""
        return pandas.DataFrame([_flat(one) for one in self.summary.get("services") or []])

    def service_totals(self) -> pandas.DataFrame:
        """The same of all replicas of a model together; no rows where none has several."""
        return pandas.DataFrame([_flat(one) for one in self.summary.get("service_totals") or []])

    def service_windows(self, tenant: str) -> pandas.DataFrame:
        """How a tenant's requests were served over time, or those of all replicas of a model: a row
        a window, from `begin_s` to `end_s`."""
        for one in (self.summary.get("service_totals") or []) + (self.summary.get("services") or []):
            if one["tenant"] == tenant:
                return pandas.DataFrame([_flat(window) for window in pictures.windows_of(one)])
        raise MissingError(f"{self.folder}: no requests to {tenant} were served")

    # ---- The traces

    @functools.cached_property
    def _traces(self) -> Any:
        return pictures.open_run(self.folder)

    @functools.cached_property
    def _schema(self) -> dict[str, dict[str, dict[str, str]]]:
        """Units and descriptions of fields by table; {} where there is no trace."""
        if not self._traces.traces:
            return {}
        schema = {}
        with h5py.File(self._traces.traces[0].path, "r", libver="latest", swmr=True) as file:
            for name in file:
                attributes = {key: _text(value) for key, value in file[name].attrs.items()}
                if name != "commit" and "description" in attributes:
                    fields = file[name].dtype.names
                    schema[name] = {
                        "units": {one: attributes.get(f"unit.{one}", "") for one in fields},
                        "descriptions": {one: attributes.get(f"description.{one}", "")
                                         for one in fields},
                        "table": {"description": attributes["description"]}}
        return schema

    @property
    def tables(self) -> list[str]:
        """Names of the tables in the trace; none where the run kept no trace."""
        return list(self._schema)

    def _rows(self, name: str) -> np.ndarray[Any, Any]:
        if name not in self._schema:
            known = ", ".join(self.tables) or "none: the run kept no trace"
            raise MissingError(f"there is no table '{name}'; there are {known}")
        parts = [trace.read(name) for trace in self._traces.traces]
        return np.concatenate([part for part in parts if part.dtype.names] or parts)

    def table(self, name: str, decode: bool = True) -> pandas.DataFrame:
        """A table of the trace, all ranks together; docs/trace-format.md has the tables.

        `attrs` of the frame has "units" and "descriptions" by column, and "description". With
        `decode`, numbers that stand for names are these names, as categories. Times stay whole
        numbers of picoseconds, in which no precision is lost; `in_seconds` turns them.
        """
        rows = self._rows(name)
        frame = pandas.DataFrame({field: _native(rows[field]) for field in rows.dtype.names or ()})
        schema = self._schema[name]
        frame.attrs.update(units=dict(schema["units"]), descriptions=dict(schema["descriptions"]),
                           description=schema["table"]["description"])
        if decode:
            for field in frame.columns:
                names = self._names_of(name, str(field))
                if names is not None:
                    frame[field] = _named(frame[field], names)
        return frame

    def _names_of(self, table: str, field: str) -> dict[int, str] | None:
        if field == "name" and table not in ("names", "nodes"):
            return self._operator_names
        attribute = _NAMED.get(field)
        if field == "tenant":
            attribute = "phases" if table in _TENANTS_OF_PHASES else "tenants"
        if attribute is None:
            return None
        return dict(enumerate(self._traces.names(attribute)))

    @functools.cached_property
    def _operator_names(self) -> dict[int, str]:
        return {int(row["name"]): _text(row["text"]) for row in self._rows("names")}

    @property
    def nodes(self) -> pandas.DataFrame:
        """Nodes of the machine: where they are, and what they do in the plan."""
        return self.table("nodes").sort_values("node", ignore_index=True)

    @property
    def operators(self) -> pandas.DataFrame:
        """What took time on tiles."""
        return self.table("operators")

    @property
    def messages(self) -> pandas.DataFrame:
        """Messages between tiles, of full traces."""
        return self.table("messages")

    @property
    def links(self) -> pandas.DataFrame:
        """Links that were used, over the whole run."""
        return self.table("links")

    @property
    def channels(self) -> pandas.DataFrame:
        """DRAM channels that were used, over the whole run."""
        return self.table("channels")

    @property
    def requests(self) -> pandas.DataFrame:
        """Requests that were served."""
        return self.table("requests")

    def links_over_time(self) -> xarray.Dataset:
        """Bytes, busy time and longest queue of each used link in each time bin."""
        return self._over_time("link_bins")

    def channels_over_time(self) -> xarray.Dataset:
        """What each DRAM channel read and wrote in each time bin, and how busy it was."""
        return self._over_time("channel_bins")

    def cores_over_time(self) -> xarray.Dataset:
        """What each NPU core did in each time bin."""
        return self._over_time("core_bins")

    def _over_time(self, table: str) -> xarray.Dataset:
        what, keys = _OVER_TIME[table]
        frame = self.table(table)
        if frame.empty:
            raise MissingError(f"the trace holds no rows of table '{table}': its model keeps no account, "
                           "or the trace level is none")
        things = frame.drop_duplicates(list(keys[:3])).sort_values(list(keys[:3]))
        edges = np.unique(np.concatenate([frame["begin"], frame["end"]]))
        grid = _Grid(frame, things, list(keys[:3]), edges)
        fields = [name for name in frame.columns if name not in {*keys, "begin", "end"}]
        units = frame.attrs["units"]
        data = {name: ((what, "time"), grid.spread(frame[name], largest=name in _LARGEST),
                       {"units": units[name], "long_name": frame.attrs["descriptions"][name]})
                for name in fields}
        coordinates: dict[str, Any] = {
            "time": ("time", edges[:-1], {"units": "ps", "long_name": "start of the bin"}),
            "width": ("time", np.diff(edges), {"units": "ps", "long_name": "length of the bin"})}
        for key in keys:
            coordinates[key] = (what, np.asarray(things[key]))
        return xarray.Dataset(data, coordinates, {"description": frame.attrs["description"]})

    # ---- Pictures

    def plot(self, name: str, folder: PathLike | None = None, *options: str) -> pictures.Picture:
        """One of the project's pictures, as scripts/plot draws it: timeline, placement, link_map,
        link_map_over_time, communication_bars, bandwidth, lanes, request_times and so on. It goes
        into `folder`, or `plots` in that of the run. `options` are further ones of scripts/plot."""
        target = None if folder is None else os.fspath(folder)
        return pictures.draw(self.folder, target, ["--only", name, *options])[0]

    def plot_all(self, folder: PathLike | None = None) -> list[pictures.Picture]:
        """All pictures that there are of this run."""
        return pictures.draw(self.folder, None if folder is None else os.fspath(folder), [])


class _Grid:
    """Rows of things in spans of time, put on one grid of bins. Spans that cover several bins, as
    those of ranks whose bins became longer, are spread evenly over them."""

    def __init__(self, frame: pandas.DataFrame, things: pandas.DataFrame, keys: Sequence[str],
                 edges: np.ndarray[Any, Any]) -> None:
        places = {key: number for number, key in
                  enumerate(things[list(keys)].itertuples(index=False, name=None))}
        self._thing = np.array([places[key] for key in
                                frame[list(keys)].itertuples(index=False, name=None)])
        self._first = np.searchsorted(edges, frame["begin"])
        self._bins = np.searchsorted(edges, frame["end"]) - self._first
        self._length = np.asarray(frame["end"] - frame["begin"], dtype=float)
        self._widths = np.diff(edges)
        self._shape = (len(things), len(edges) - 1)

    def spread(self, values: pandas.Series[Any], largest: bool) -> np.ndarray[Any, Any]:
        row = np.repeat(np.arange(len(values)), self._bins)
        behind = np.arange(row.size) - np.repeat(np.cumsum(self._bins) - self._bins, self._bins)
        column = self._first[row] + behind
        amount = np.asarray(values)[row]
        whole = bool((self._bins == 1).all())
        result = np.zeros(self._shape, dtype=np.int64 if whole or largest else float)
        if largest:
            np.maximum.at(result, (self._thing[row], column), amount.astype(np.int64))
        elif whole:
            np.add.at(result, (self._thing[row], column), amount.astype(np.int64))
        else:
            share = self._widths[column] / self._length[row]
            np.add.at(result, (self._thing[row], column), amount * share)
        return result


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _native(column: np.ndarray[Any, Any]) -> Any:
    if column.dtype.kind == "S":
        return [_text(value) for value in column]
    return column.astype(column.dtype.newbyteorder("="))


def _named(numbers: pandas.Series[Any], names: dict[int, str]) -> pandas.Series[Any]:
    """Numbers as names; those without one stay empty."""
    known = list(dict.fromkeys(names.values()))
    texts = numbers.map(names)
    return texts.astype(pandas.CategoricalDtype(known))


def in_seconds(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The same table with all times in seconds."""
    units = dict(frame.attrs.get("units", {}))
    result = frame.copy()
    for name, unit in units.items():
        if unit == "ps" and name in result:
            result[name] = result[name] / 1e12
            units[name] = "s"
    result.attrs = {**frame.attrs, "units": units}
    return result
