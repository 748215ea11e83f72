"""manifest.json: what a complete run folder holds, checked before HDF5 opens any of it."""

import json
import os

from .crc32c import crc32c, crc32c_of_file
from .errors import PlotError
from .regular_file import check_regular, open_text

NAME = "manifest.json"
SEGMENTS = "segments.json"


def _fault_of(folder, entry):
    name = entry["path"]
    if os.path.isabs(name) or ".." in name.split("/"):
        return f"{name}: lies outside the folder"
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return f"{name}: missing"
    try:
        size = check_regular(path)
        if size != entry["bytes"]:
            return f"{name}: has {size} bytes instead of {entry['bytes']}"
        _, crc = crc32c_of_file(path)
    except OSError as error:
        return f"{name}: {error.strerror}"
    return "" if f"{crc:08x}" == entry["crc32c"] else f"{name}: damaged (CRC-32C differs)"


def _check_itself(content, name, file_type):
    if content["file_type"] != file_type or not content["format_version"].startswith("1."):
        raise PlotError(f"{name}: is none this program reads")
    signed = {key: value for key, value in content.items() if key != "crc32c"}
    text = json.dumps(signed, separators=(",", ":"), ensure_ascii=False)
    if content["crc32c"] != f"{crc32c(text.encode()):08x}":
        raise PlotError(f"{name}: damaged (CRC-32C differs)")


def _read(folder, name, file_type, use):
    """What `use` makes of a JSON file with its own sum; None when there is no such file."""
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return None
    try:
        with open_text(path) as file:
            content = json.load(file)
        _check_itself(content, name, file_type)
        return use(content)
    except OSError as error:
        raise PlotError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PlotError(f"{path}: damaged (not the JSON it should be)") from error


def verify(folder):
    """The traces with their good rows, as [(name, {table: rows})], when all files are as the
    manifest says; None when there is no manifest (the run did not finish). Raises PlotError that
    lists what is damaged or missing."""
    def use(content):
        faults = [fault for entry in content["files"] if (fault := _fault_of(folder, entry))]
        if faults:
            raise PlotError(f"{folder}: " + "; ".join(faults))
        return [(entry["path"], dict(entry["rows"])) for entry in content["files"]
                if "rows" in entry]
    return _read(folder, NAME, "tessera-manifest", use)


def segments(folder):
    """Of a run that went on: [(number, ranks, [(name, {table: rows})])], where the last segment has
    an empty list, for all its committed rows count. None for a run of one segment."""
    def use(content):
        return [(int(segment["number"]), int(segment["ranks"]),
                 [(trace["path"], dict(trace["rows"])) for trace in segment["traces"]])
                for segment in content["segments"]]
    return _read(folder, SEGMENTS, "tessera-segments", use)
