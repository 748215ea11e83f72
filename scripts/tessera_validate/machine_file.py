"""Single values of the machine files, for scripts that compare them with what they come from."""

import re

from page import ROOT

UNITS = {"GB/s": 1e9, "TB/s": 1e12, "ns": 1e-9, "us": 1e-6, "": 1}


def value_of(machine, *path):
    """The number at `path`, in bytes a second, seconds or as it stands."""
    text = (ROOT / "configs" / "machines" / (machine + ".yaml")).read_text(encoding="utf-8")
    depth = 0
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip(" "))
        match = re.match(r"(\w+):\s*([^#]*)", line.strip())
        if match is None or indent > 2 * depth:
            continue
        depth = min(depth, indent // 2)
        if match[1] != path[depth]:
            continue
        if depth + 1 == len(path):
            number, _, unit = match[2].strip().partition(" ")
            return float(number) * UNITS[unit]
        depth += 1
    raise SystemExit(f"error: {machine}.yaml has no {'.'.join(path)}")
