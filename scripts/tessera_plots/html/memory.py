"""Memory of one tile, by stage, as `tessera check` counts it, beside what there is."""

import os
import re
import subprocess

from ..errors import NothingToDraw
from ..resolved import quantity
from .table import table

_PARTS = ("weights", "gradients", "optimizer", "activations")
_PATIENCE_S = 600


def _checked(run):
    """What the program says of the run's configuration; its path is in TESSERA_PROGRAM."""
    program = os.environ.get("TESSERA_PROGRAM")
    path = os.path.join(run.folder, "config.resolved.yaml")
    if not program or not os.path.exists(path):
        raise NothingToDraw("memory a tile is counted by `tessera report`")
    # Not one of the ranks that this may be run on.
    alone = {name: value for name, value in os.environ.items()
             if not name.startswith(("OMPI_", "PMIX_", "PMI_"))}
    try:
        done = subprocess.run([program, "check", path], capture_output=True, text=True, env=alone,
                              stdin=subprocess.DEVNULL, timeout=_PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NothingToDraw(f"`tessera check` did not answer: {error}") from error
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise NothingToDraw("`tessera check` refuses the configuration: " + (said or ["?"])[0])
    return done.stdout


def _bytes(text):
    value = quantity(text)
    if value is None:
        raise NothingToDraw(f"`tessera check` says '{text}' in its table of memory")
    return value


def parse(text):
    """[(stage, layers, {part: bytes}, kept of, in SRAM)] of the table of `tessera check`."""
    lines = iter(text.splitlines())
    head = next((next(lines, "") for line in lines
                 if line.startswith("# memory of one tile of each stage")), "")
    if not head:
        raise NothingToDraw("the work is not cut in stages that hold memory")
    names = re.split(r"\s{2,}", head.strip())
    found = []
    for line in lines:
        cells = re.split(r"\s{2,}", line.strip())
        if len(cells) != len(names):
            break
        row = dict(zip(names, cells))
        found.append((row["stage"], row.get("layers", ""),
                      {part: _bytes(row[part]) for part in _PARTS if part in row},
                      row.get("kept of", ""), row.get("in SRAM", "")))
    if not found:
        raise NothingToDraw("`tessera check` has no table of memory")
    return found


def _peaks(run):
    """What stages held when they held most, as the summary of the run has it."""
    stages = (run.summary.get("peak_memory") or {}).get("stages") or []
    names = [name for name in (stages[0]["parts"] if stages else ())
             if any(stage["parts"].get(name) for stage in stages)]
    return names, stages


_SERIES = 400  # points of a stage over time, each the most of its span


def _over_time(run, names):
    """[{stage ("3", of a tenant "chat/3"), edges [ps], parts: {name: bytes}}] by the table `memory` of the trace; none without one."""
    try:
        rows, nodes = run.read("memory"), run.nodes()
    except (KeyError, NothingToDraw):  # of a run without a trace, or by an older program
        return []
    tenants = run.names("tenants")
    place_of = {int(node): (int(tenant), int(stage))
                for node, tenant, stage in zip(nodes["node"], nodes["tenant"], nodes["stage"])}

    def named(place):
        tenant, stage = place
        return f"{tenants[tenant]}/{stage}" if 0 <= tenant < len(tenants) else str(stage)

    found = []
    for node in sorted({int(node) for node in rows["node"]}, key=lambda one: place_of.get(one, (-1, -1))):
        own = rows[rows["node"] == node]
        own = own[own["end"].argsort(kind="stable")]
        step = -(-len(own) // _SERIES)
        spans = [own[first:first + step] for first in range(0, len(own), step)]
        fullest = [span[sum(span[name].astype("u8") for name in names).argmax()] for span in spans]
        found.append({"stage": named(place_of.get(node, (-1, -1))), "end_ps": [int(span["end"][-1]) for span in spans],
                      "parts": {name: [int(row[name]) for row in fullest] for name in names}})
    return found


def _pass_of(stage):
    # A service has none.
    return f"{stage['phase']} of micro-batch {stage['micro_batch']}" if stage["phase"] else "-"


def memory_of(run, values):
    """Throws NothingToDraw."""
    names, peaks = _peaks(run)
    if peaks:
        rows = [[stage["name"].replace("stage ", ""), _pass_of(stage),
                 *(stage["parts"].get(name, 0) for name in names), stage["bytes"]] for stage in peaks]
        return {
            "table": table("Memory of one tile of each stage, when it holds most",
                           [("stage", "text"), ("in", "text"), *((name, "bytes") for name in names),
                            ("all", "bytes")], rows, "as the run went"),
            "parts": list(names),
            "over_time": _over_time(run, names),
            "capacity": _capacity(values), "shared": _shared(run, values),
        }
    return _as_checked(run, values)


def _capacity(values):
    capacities = {"SRAM": quantity(values.get("machine.tile.sram")),
                  "DRAM": quantity(values.get("machine.dram.capacity"))}
    at = values.get("machine.dram.at", "")
    # DRAM at an edge is shared, by so many tiles that a line a tile would mislead.
    return {name: value for name, value in capacities.items()
            if value and (name != "DRAM" or at in ("each", "tiles"))}


def _shared(run, values):
    """Of DRAM that several tiles share, in a sentence each: what there is, and what would be too much for it."""
    capacity = quantity(values.get("machine.dram.capacity"))
    if not capacity or values.get("machine.dram.at", "") in ("", "each", "tiles"):
        return []
    said = [f"Tiles share DRAM channels of {capacity / 1e9:.4g} GB each, which no line of one tile can show."]
    return said + [note for note in run.summary.get("notes") or () if note.startswith("DRAM channel")]


def _as_checked(run, values):
    stages = parse(_checked(run))
    rows = [[stage, layers, *(parts.get(part, 0) for part in _PARTS), sum(parts.values()), kept,
             sram] for stage, layers, parts, kept, sram in stages]
    return {
        "table": table("Memory of one tile of each stage",
                       [("stage", "text"), ("layers", "text"), *((part, "bytes") for part in _PARTS),
                        ("all", "bytes"), ("activations are of", "text"), ("in SRAM", "text")], rows,
                       "as `tessera check` counts it, for the tile that needs most"),
        "parts": list(_PARTS),
        "over_time": [],
        "capacity": _capacity(values), "shared": _shared(run, values),
    }
