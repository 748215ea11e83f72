"""The resolved configuration of a run, as the program writes it: each key by its whole name."""

import os
import re

from .regular_file import open_text

_KEY = re.compile(r"^((?:'[^']*'|\"[^\"]*\"|[^:'\"\[{])+?):(?: (.*))?$")
_ESCAPED = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(.))")


def _plain(text):
    text = text.strip()
    if len(text) < 2 or text[0] != text[-1] or text[0] not in "'\"":
        return text
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else found[2], text[1:-1])


class _Reader:
    def __init__(self):
        self.values = {}
        self.open = []  # (indent, name) of what the next lines stand in
        self.items = {}  # of each list, how many items it has so far

    def line(self, line):
        text = line.lstrip(" ")
        indent = len(line) - len(text)
        while self.open and self.open[-1][0] >= indent and not (
                text.startswith("- ") and self.open[-1][0] == indent
                and not self.open[-1][1].startswith("[")):
            self.open.pop()
        if text.startswith("- "):
            self._item(indent, text[2:])
        else:
            self._entry(indent, text)

    def _name(self, last=""):
        return "".join(name if name.startswith("[") or not i else "." + name
                       for i, name in enumerate([*(name for _, name in self.open), last]) if name)

    def _item(self, indent, text):
        holder = self._name()
        number = self.items.get(holder, 0)
        self.items[holder] = number + 1
        self.open.append((indent, f"[{number}]"))
        self._entry(indent + 2, text)

    def _entry(self, indent, text):
        found = _KEY.match(text)
        if not found:
            self.values[self._name()] = _plain(text)
        elif found[2]:
            self.values[self._name(_plain(found[1]))] = _plain(found[2])
        else:
            self.open.append((indent, _plain(found[1])))


def flatten(text):
    """{"machine.topology.kind": "mesh", "tenants[0].name": ...} in the order of the file."""
    reader = _Reader()
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            reader.line(line)
    return reader.values


def read_text(folder):
    """The file of a run folder; nothing where there is none."""
    try:
        with open_text(os.path.join(folder, "config.resolved.yaml")) as file:
            return file.read()
    except OSError:
        return ""


def number(values, key, default=None):
    """A whole number among flattened keys."""
    try:
        return int(values[key])
    except (KeyError, ValueError):
        return default


def whole_numbers(text):
    """Those of a list such as "[4, 5]"; none of other texts."""
    found = re.match(r"^\[(\d+(?:, *\d+)*)\]$", (text or "").strip())
    return [int(word) for word in found[1].split(",")] if found else []


_UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15, "KiB": 2.0**10,
          "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}


def quantity(text):
    """Bytes, or bytes a second, of a text such as "64 GB/s"; None of other texts."""
    found = re.match(r"^([0-9.e+-]+) ([kKMGTP]?i?B)(/s)?$", (text or "").strip())
    return float(found[1]) * _UNITS[found[2]] if found and found[2] in _UNITS else None
