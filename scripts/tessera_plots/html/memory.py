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


def memory_of(run, values):
    """Throws NothingToDraw."""
    stages = parse(_checked(run))
    rows = [[stage, layers, *(parts.get(part, 0) for part in _PARTS), sum(parts.values()), kept,
             sram] for stage, layers, parts, kept, sram in stages]
    capacities = {"SRAM": quantity(values.get("machine.tile.sram")),
                  "DRAM": quantity(values.get("machine.dram.capacity"))}
    at = values.get("machine.dram.at", "")
    return {
        "table": table("Memory of one tile of each stage",
                       [("stage", "text"), ("layers", "text"), *((part, "bytes") for part in _PARTS),
                        ("all", "bytes"), ("activations are of", "text"), ("in SRAM", "text")], rows,
                       "as `tessera check` counts it, for the tile that needs most"),
        "parts": list(_PARTS),
        # DRAM at an edge is shared, by so many tiles that a line a tile would mislead.
        "capacity": {name: value for name, value in capacities.items()
                     if value and (name != "DRAM" or at in ("each", "tiles"))},
    }
