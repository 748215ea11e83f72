"""What the program declares: sections, their keys, types, ranges and defaults.

`keys.json` beside this file is what `tessera list --sections` says (scripts/python_stubs.py writes it);
here it becomes trees of sections and keys, which check values.
"""

from __future__ import annotations

import difflib
import functools
import importlib.resources
import json
import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import quantities, yaml_text
from .errors import ConfigError

Json = dict[str, Any]


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The message for a name that is none of those known."""
    known = list(known)
    near = difflib.get_close_matches(name, known, 1, 0.6)
    hint = f"did you mean '{near[0]}'?" if near else "known: " + ", ".join(sorted(known))
    return f"unknown {what} '{name}'; {hint}"


class Node:
    """What may stand at a key."""

    help: str = ""
    required: bool = False

    def check(self, value: Any, where: str, place: Place) -> Any:
        """The value as it is kept. Raises ConfigError that begins with `where`."""
        raise NotImplementedError


@dataclass(frozen=True)
class Place:
    """How values are taken: `folder` is that which paths are relative to; with `lenient`, keys of
    models that were not chosen may stand there, as in files."""

    folder: str = "."
    lenient: bool = False

    def path(self, text: str | os.PathLike[str]) -> str:
        return os.path.abspath(os.path.join(self.folder, os.fspath(text)))


@dataclass(frozen=True)
class Key(Node):
    """A value: a number, a quantity, a name, a file, or data that is checked no further."""

    name: str
    type: str = ""
    unit: str = ""
    default: str | None = None
    absent: str = ""
    low: str = ""
    high: str = ""
    names: tuple[str, ...] = ()
    required: bool = False
    help: str = ""

    @staticmethod
    def of(info: Json) -> Key:
        return Key(info["name"].rpartition(".")[2].removesuffix("[]"), info.get("type", ""),
                   info.get("unit", ""),
                   info.get("default"), info.get("without", ""), info.get("low", ""),
                   info.get("high", ""), tuple(info.get("names", ())),
                   info.get("required", False), info.get("help", ""))

    def range_text(self) -> str:
        if self.names:
            return "one of " + ", ".join(self.names)
        if self.low and self.high:
            return f"{self.low} to {self.high}"
        return f"at least {self.low}" if self.low else f"at most {self.high}" if self.high else ""

    def usual(self) -> Any:
        """The default as a value; None where there is none or it depends on other keys."""
        if self.default is None:
            return None
        if self.type in ("integer", "number"):
            return int(self.default) if self.type == "integer" else float(self.default)
        if self.type in ("boolean", "fraction") or self.type.startswith("list of "):
            return yaml_text.loads(f"value: {self.default}")["value"]
        return self.default

    def check(self, value: Any, where: str, place: Place) -> Any:
        try:
            return self._checked(value, place)
        except (ValueError, TypeError) as error:
            raise ConfigError(f"{where}: {error}") from None

    def _checked(self, value: Any, place: Place) -> Any:
        if self.names:
            return self._chosen(value)
        if self.type.startswith("list of "):
            return self._list_of(value, place)
        check = getattr(self, "_" + self.type.replace(" ", "_"), None)
        if check is None and self.type in quantities.TYPES:
            return self._quantity(value)
        return check(value, place) if check else plain(value)

    def _chosen(self, value: Any) -> str:
        # Data types and the like may be enumerations of other packages.
        if not isinstance(value, str):
            raise ValueError(f"expected a name; got {value!r}")
        if value not in self.names:
            raise ValueError(unknown("name", value, self.names))
        return str(value)

    def _list(self, value: Any, _: Place) -> Any:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise ValueError(f"expected a list; got {value!r}")
        return plain(value)

    def _list_of(self, value: Any, place: Place) -> list[Any]:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise ValueError(f"expected a list; got {value!r}")
        item = Key(self.name, self.type.removeprefix("list of "))
        return [item._checked(one, place) for one in value]

    def _in_range(self, value: float, low: float | None, high: float | None, text: object) -> None:
        if (low is not None and value < low) or (high is not None and value > high):
            raise ValueError(f"must be {self._limits()}; got {text}")

    def _limits(self) -> str:
        return (f"between {self.low} and {self.high}" if self.low and self.high
                else self.range_text())

    def _quantity(self, value: Any) -> str:
        if not isinstance(value, str):
            example = {"size": "4 KiB", "time": "10 ns", "bandwidth": "256 GB/s"}.get(self.type)
            raise ValueError(f"{value!r} has no unit; write it as text"
                             + (f", e.g. '{example}'" if example else ""))
        number = quantities.parse(value, self.type)
        low, high = (quantities.parse(text, self.type) if text else None
                     for text in (self.low, self.high))
        self._in_range(number, low, high, f"'{value}'")
        return value

    def _integer(self, value: Any, _: Place) -> int:
        if isinstance(value, bool):
            raise ValueError(f"expected a whole number; got {value}")
        try:
            number = operator.index(value)
        except TypeError:
            raise ValueError(f"expected a whole number; got {value!r}") from None
        self._in_range(number, int(self.low) if self.low else None,
                       int(self.high) if self.high else None, value)
        return number

    def _number(self, value: Any, _: Place) -> float | int:
        if isinstance(value, (bool, str)):
            raise ValueError(f"expected a number; got {value!r}")
        number = float(value)
        if not math.isfinite(number):
            raise ValueError(f"expected a finite number; got {value}")
        self._in_range(number, float(self.low) if self.low else None,
                       float(self.high) if self.high else None, value)
        return int(value) if isinstance(value, int) else number

    def _boolean(self, value: Any, _: Place) -> bool:
        # bool of numpy is no bool of Python.
        if not isinstance(value, bool) and type(value).__name__ not in ("bool_", "bool"):
            raise ValueError(f"expected True or False; got {value!r}")
        return bool(value)

    def _fraction(self, value: Any, _: Place) -> float | str:
        quantities.parse_fraction(value)
        return value if isinstance(value, str) else float(value)

    def _file(self, value: Any, place: Place) -> str:
        if not isinstance(value, (str, os.PathLike)):
            raise ValueError(f"expected the path of a file; got {value!r}")
        return place.path(value)

    def _list_or_file(self, value: Any, place: Place) -> Any:
        return self._file(value, place) if isinstance(value, (str, os.PathLike)) else plain(value)

    _mapping_or_file = _list_or_file

    def _text(self, value: Any, _: Place) -> Any:
        if not isinstance(value, (str, int, float)):
            raise ValueError(f"expected a text; got {value!r}")
        return value

    def _mapping(self, value: Any, _: Place) -> Any:
        # A name may stand for a mapping.
        if not isinstance(value, (Mapping, str)):
            raise ValueError(f"expected a mapping; got {value!r}")
        return plain(value)


def plain(value: Any) -> Any:
    """Data as files hold it: mappings, lists, texts, numbers, truths."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, os.PathLike):
        return os.path.abspath(os.fspath(value))
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "item") and not hasattr(value, "__len__"):  # numbers of numpy
        return value.item()
    if isinstance(value, (int, float)):
        if not math.isfinite(value):
            raise ValueError(f"expected a finite number; got {value}")
        return value
    if isinstance(value, Iterable):
        return [plain(one) for one in value]
    raise ValueError(f"expected what a YAML file can hold; got {value!r}")


@dataclass(eq=False)
class Group(Node):
    """Keys that stand in a mapping of their own: "experts.count" and its like; NAME among them
    stands for names of the user's own, and `is_list` for a list of such mappings."""

    fields: dict[str, Node] = field(default_factory=dict)
    is_list: bool = False
    help: str = ""
    required: bool = False
    whole: Key | None = None  # the mapping as a key: another form is allowed, a file say

    def put(self, path: Sequence[str], key: Key) -> None:
        """Adds a key at its path."""
        name, rest = path[0], path[1:]
        is_list = name.endswith("[]")
        name = name.removesuffix("[]")
        known = self.fields.get(name)
        if not rest:
            if isinstance(known, Group):
                known.whole, known.help, known.required = key, key.help, key.required
            elif isinstance(known, Key) and known != key:
                self.fields[name] = Key(name, help=key.help)  # of several, each its own
            else:
                self.fields[name] = key
            return
        if not isinstance(known, Group):
            known = Group(is_list=is_list, help=known.help if known else "",
                          required=known.required if known else False,
                          whole=known if isinstance(known, Key) else None)
            self.fields[name] = known
        # A list of mappings may be declared without its brackets.
        known.is_list = known.is_list or is_list or (
            known.whole is not None and known.whole.type == "list")
        known.put(rest, key)

    def check(self, value: Any, where: str, place: Place) -> Any:
        if isinstance(value, (str, os.PathLike)) and self.whole is not None:
            return self.whole.check(value, where, place)
        if self.is_list and not isinstance(value, Mapping):
            return self._check_list(value, where, place)
        if not isinstance(value, Mapping):
            if "NAME" in self.fields and isinstance(value, Iterable):
                return plain(value)  # mappings by name may be lists of mappings with names
            raise ConfigError(f"{where}: expected a mapping; got {value!r}")
        return self._check_mapping(value, where, place)

    def _check_list(self, value: Any, where: str, place: Place) -> list[Any]:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise ConfigError(f"{where}: expected a list of mappings; got {value!r}")
        return [self._check_mapping(one, f"{where}[{number}]", place)
                if isinstance(one, Mapping) else plain(one) for number, one in enumerate(value)]

    def _check_mapping(self, value: Mapping[str, Any], where: str, place: Place) -> Json:
        return {name: self._field(name, where).check(one, f"{where}.{name}", place)
                for name, one in value.items() if one is not None}

    def _field(self, name: str, where: str) -> Node:
        found = self.fields.get(name, self.fields.get("NAME"))
        if found is None and self.whole is not None:
            return Key(name)  # declared as a whole: it has keys that are declared elsewhere
        if found is None:
            raise ConfigError(f"{where}: " + unknown("key", name, self.fields))
        return found


@dataclass(eq=False)
class Section(Group):
    """A section of a file. Where it has a selector, `choices` are its forms by name, and the keys
    of each stand beside the selector."""

    name: str = ""
    shape: str = "mapping"
    may_be_file: bool = False
    is_open: bool = False
    selector: str = ""
    usual: str = ""
    keeps_others: bool = False
    choices: dict[str, Section] = field(default_factory=dict)
    otherwise: Section | None = None
    """What stands there where the selector is left out."""

    @staticmethod
    def of(tree: Json) -> Section:
        """The same section for the same declaration, wherever it stands."""
        return _section_of(json.dumps(tree))

    def check(self, value: Any, where: str, place: Place) -> Any:
        from .sections import Section as Made  # values know their declarations
        if self.shape == "list":
            return [self._one(one, f"{where}[{number}]", place)
                    for number, one in enumerate(self._items(value, where))]
        if self.shape == "map":
            if not isinstance(value, Mapping):
                raise ConfigError(f"{where}: expected a mapping; got {value!r}")
            return {str(name): self._one(one, f"{where}.{name}", place)
                    for name, one in value.items()}
        if isinstance(value, (str, os.PathLike)) and self.may_be_file:
            return place.path(value)
        if isinstance(value, (Made, Mapping)):
            return self._one(value, where, place)
        raise ConfigError(f"{where}: expected {self._expected()}; got {value!r}")

    @staticmethod
    def _items(value: Any, where: str) -> Iterable[Any]:
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
            raise ConfigError(f"{where}: expected a list; got {value!r}")
        return value

    def _expected(self) -> str:
        return "a section with its keys" + (", or the path of a file" if self.may_be_file else "")

    def _one(self, value: Any, where: str, place: Place) -> Any:
        from .sections import Section as Made, has_classes, made_of
        if not has_classes(self):
            return self._check_choice(value, where, place)
        if isinstance(value, Made):
            if not any(value.declared is own for own in (self, *self.choices.values())):
                raise ConfigError(f"{where}: a {type(value).__name__} does not belong here")
            return value
        return made_of(self, value, where, place)

    def _check_choice(self, value: Any, where: str, place: Place) -> Json:
        """Of a section whose choices have no classes: operators in a list."""
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where}: expected a mapping; got {value!r}")
        name = value.get(self.selector, self.usual or None)
        if name is None and self.otherwise is None:
            raise ConfigError(f"{where}: missing: {self.selector}")
        if name is not None and name not in self.choices:
            raise ConfigError(f"{where}.{self.selector}: "
                              + unknown("name", str(name), self.choices))
        own = self.otherwise if name is None else self.choices[str(name)]
        assert own is not None
        keys = {key: one for key, one in value.items() if key != self.selector}
        chosen = {} if self.selector not in value else {self.selector: name}
        if own.is_open:
            return {**chosen, **plain(keys)}
        return {**chosen, **own._check_mapping(keys, where, place)}

    def keys_below(self, prefix: str = "") -> set[str]:
        """Dotted names of all keys, of whatever choice."""
        found: set[str] = {prefix + self.selector} if self.selector else set()
        for section in (self, *self.choices.values()):
            for name, node in section.fields.items():
                found |= _keys_at(prefix + name, node)
        return found


def _keys_at(name: str, node: Node) -> set[str]:
    found = {name}
    if isinstance(node, Section):
        return found | (node.keys_below(name + ".") if node.shape == "mapping" else set())
    if isinstance(node, Group) and not node.is_list:
        for key, below in node.fields.items():
            found |= _keys_at(f"{name}.{key}", below)
    return found


@functools.cache
def _section_of(declaration: str) -> Section:
    tree = json.loads(declaration)
    section = Section(name=tree["name"], help=tree.get("help", ""),
                      required=tree.get("required", False), shape=tree["shape"],
                      may_be_file=tree.get("file", False), is_open=tree.get("open", False),
                      selector=tree.get("selector", ""), usual=tree.get("usual", ""),
                      keeps_others=tree.get("keeps_others", False))
    # Sections with keys of their own say more than the key as a whole.
    sections = {part["name"] for part in tree["sections"]}
    for info in tree["parameters"]:
        if info["name"] not in sections:
            section.put(info["name"].split("."), Key.of(info))
    for part in tree["sections"]:
        section.fields[part["name"]] = Section.of(part)
    for choice in tree["choices"]:
        made = Section.of(choice)
        made.fields.pop(section.selector, None)
        made.fields = section.fields | made.fields
        section.choices[made.name] = made
    for other in tree.get("otherwise", ()):
        section.otherwise = Section.of(other)
        section.otherwise.fields = section.fields | section.otherwise.fields
    return section


@functools.cache
def root() -> Section:
    """The sections of an experiment."""
    text = importlib.resources.files(__package__).joinpath("keys.json").read_text("utf-8")
    return Section.of(json.loads(text)["experiment"])


@functools.cache
def setting_keys() -> frozenset[str]:
    """Dotted names of all keys of an experiment."""
    return frozenset(root().keys_below())
