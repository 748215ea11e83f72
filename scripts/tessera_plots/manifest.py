"""manifest.json: what a complete run folder holds, checked before HDF5 opens any of it."""

import json
import os

from .crc32c import crc32c, crc32c_of_file
from .errors import PlotError

NAME = "manifest.json"


def _fault_of(folder, entry):
    name = entry["path"]
    if os.path.isabs(name) or ".." in name.split("/"):
        return f"{name}: lies outside the folder"
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return f"{name}: missing"
    try:
        size, crc = crc32c_of_file(path)
    except OSError as error:
        return f"{name}: {error.strerror}"
    if size != entry["bytes"]:
        return f"{name}: has {size} bytes instead of {entry['bytes']}"
    return "" if f"{crc:08x}" == entry["crc32c"] else f"{name}: damaged (CRC-32C differs)"


def _check_itself(manifest):
    if manifest["file_type"] != "tessera-manifest" or not manifest["format_version"].startswith("1."):
        raise PlotError(f"{NAME}: is none this program reads")
    content = {key: value for key, value in manifest.items() if key != "crc32c"}
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    if manifest["crc32c"] != f"{crc32c(text.encode()):08x}":
        raise PlotError(f"{NAME}: damaged (CRC-32C differs)")


def verify(folder):
    """True when all files are as the manifest says, False when there is none (the run did not
    finish). Raises PlotError that lists what is damaged or missing."""
    path = os.path.join(folder, NAME)
    if not os.path.exists(path):
        return False
    try:
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
        _check_itself(manifest)
        faults = [fault for entry in manifest["files"] if (fault := _fault_of(folder, entry))]
    except OSError as error:
        raise PlotError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PlotError(f"{path}: damaged (not the JSON it should be)") from error
    if faults:
        raise PlotError(f"{folder}: " + "; ".join(faults))
    return True
