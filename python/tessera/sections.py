"""Sections as Python objects: made with keyword arguments, checked key by key, written as YAML.

The classes are made from what the program declares; their modules are `topologies`, `networks`,
`memories`, `computes`, `remote_memories`, `workloads`, `arrivals`, `schedulers` and `parts`.
"""

from __future__ import annotations

import functools
import inspect
import keyword
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from . import declared as _declared
from . import yaml_text
from .errors import ConfigError

_S = TypeVar("_S", bound="Section")

#: Sections whose choices have a module of their own.
MODULES = {"topology": "topologies", "network": "networks", "memory": "memories",
           "compute": "computes", "remote_memory": "remote_memories", "workload": "workloads",
           "requests": "arrivals", "scheduler": "schedulers"}
#: Classes that are not called as their section is.
NAMES = {"types": "TileType", "run": "RunOptions", "onnx": "ServedOnnx"}
#: Lists in a kind of work: the class of an item.
LISTS = {"serving": "ServedTenant", "tenants": "Tenant"}


def class_name(text: str) -> str:
    """"fat-tree" as FatTree."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^0-9A-Za-z]+", text))


def attribute(key: str) -> str:
    """The name of a key as an attribute: words of Python get an underscore behind."""
    return key + "_" if keyword.iskeyword(key) else key


class Section:
    """A section of an experiment. Keys are attributes; one that was not given has its default, or
    None where it has none; None takes a key away. A key that there is not, or a value that cannot
    be, raises ConfigError at once.

    >>> Mesh(rows=4, columns=4, bandwidth="100 GB/s", latency="10 ns")
    """

    declared: ClassVar[_declared.Section]
    _given: dict[str, Any]
    _others: dict[str, Any]

    def __init__(self, **keys: Any) -> None:
        self._begin()
        for name, value in keys.items():
            setattr(self, name, value)
        self._require(self._label())

    def _begin(self) -> None:
        object.__setattr__(self, "_given", {})
        object.__setattr__(self, "_others", {})

    @classmethod
    def _label(cls) -> str:
        return cls.__name__

    def _require(self, where: str) -> None:
        missing = [name for name, node in self.declared.fields.items()
                   if node.required and name not in self._given]
        if missing:
            raise ConfigError(f"{where}: missing: " + ", ".join(missing))

    def _take(self, key: str, value: Any, where: str, place: _declared.Place) -> None:
        node = self.declared.fields.get(key)
        if node is not None:
            self._given[key] = node.check(value, f"{where}.{key}", place)
        elif self.declared.is_open:
            self._given[key] = _declared.plain(value)
        elif place.lenient and key in _keys_of_others(type(self)):
            self._others[key] = _declared.plain(value)
        else:
            raise ConfigError(f"{where}: " + _declared.unknown("key", key, self.declared.fields))

    def __setattr__(self, name: str, value: Any) -> None:
        key = _key_of(type(self), name)
        if value is None:
            if key not in self.declared.fields and not self.declared.is_open:
                raise ConfigError(f"{self._label()}: "
                                  + _declared.unknown("key", key, self.declared.fields))
            self._given.pop(key, None)
            return
        self._take(key, value, self._label(), _declared.Place())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_given" not in self.__dict__:
            raise AttributeError(name)
        key = _key_of(type(self), name)
        if key in self._given:
            return self._given[key]
        node = self.declared.fields.get(key)
        if node is None:
            raise AttributeError(f"{type(self).__name__} has no key '{name}'")
        return node.usual() if isinstance(node, _declared.Key) else None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *map(attribute, self.declared.fields)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Section) and type(self) is type(other) and (
            self.to_dict() == other.to_dict())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        keys = ", ".join(f"{attribute(key)}={value!r}" for key, value in self._given.items())
        return f"{type(self).__name__}({keys})"

    def replace(self: _S, **keys: Any) -> _S:
        """A copy in which some keys are others; None takes one away."""
        made = type(self).__new__(type(self))
        made._begin()
        made._given.update(self._given)
        made._others.update(self._others)
        for name, value in keys.items():
            setattr(made, name, value)
        made._require(made._label())
        return made

    def to_dict(self) -> dict[str, Any]:
        """As the file has it."""
        data: dict[str, Any] = {}
        chosen = _selector_of(type(self))
        if chosen:
            data[chosen] = self.declared.name
        data.update((key, _declared.plain(value)) for key, value in self._given.items())
        data.update(self._others)
        return data

    def to_yaml(self) -> str:
        return yaml_text.dump(self.to_dict())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a YAML file; paths of other files in it are absolute."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_yaml())

    @classmethod
    def load(cls: type[_S], path: str | os.PathLike[str]) -> _S:
        """From a YAML file. Raises ConfigError where it is none of these."""
        made = load(_section_of_class(cls), path)
        if not isinstance(made, cls):
            raise ConfigError(f"{os.fspath(path)}: is a {type(made).__name__}, no {cls.__name__}")
        return made

    @classmethod
    def from_dict(cls: type[_S], data: Mapping[str, Any], folder: str = ".") -> _S:
        """From data as a file has it; paths are relative to `folder`."""
        made = made_of(_section_of_class(cls), data, cls._label(),
                       _declared.Place(folder, lenient=True))
        if not isinstance(made, cls):
            raise ConfigError(f"this is a {type(made).__name__}, no {cls.__name__}")
        return made


def load(section: _declared.Section, path: str | os.PathLike[str]) -> Section:
    """The section that a file holds."""
    data = yaml_text.load(path)
    folder = os.path.dirname(os.path.abspath(os.fspath(path)))
    return made_of(section, data, os.fspath(path), _declared.Place(folder, lenient=True))


def made_of(section: _declared.Section, data: Mapping[str, Any], where: str,
            place: _declared.Place) -> Section:
    """A section from data as a file has it."""
    own = section
    keys = dict(data)
    if section.selector:
        name = keys.pop(section.selector, section.usual or None)
        if name is None:
            raise ConfigError(f"{where}: missing: {section.selector}")
        if name not in section.choices:
            raise ConfigError(f"{where}.{section.selector}: "
                              + _declared.unknown("name", str(name), section.choices))
        own = section.choices[str(name)]
    made = class_of(own)
    result = made.__new__(made)
    result._begin()
    for key, value in keys.items():
        if value is not None:
            result._take(str(key), value, where, place)
    result._require(where)
    return result


# ---- The classes

_classes: dict[int, type[Section]] = {}
_parents: dict[int, _declared.Section] = {}


def has_classes(section: _declared.Section) -> bool:
    """Whether there is a class for it, or for each of its choices; if not, mappings stand there."""
    return not section.selector or section.name in MODULES


def class_of(section: _declared.Section) -> type[Section]:
    """The class of a declared section."""
    modules()
    return _classes[id(section)]


def _section_of_class(made: type[Section]) -> _declared.Section:
    return _parents.get(id(made.declared), made.declared)


def _selector_of(made: type[Section]) -> str:
    return _section_of_class(made).selector


def _key_of(made: type[Section], name: str) -> str:
    bare = name.removesuffix("_")
    return bare if keyword.iskeyword(bare) else name


@functools.cache
def _keys_of_others(made: type[Section]) -> frozenset[str]:
    """Keys of models that were not chosen, which files may hold."""
    parent = _section_of_class(made)
    if not parent.keeps_others:
        return frozenset()
    return frozenset(key for choice in parent.choices.values() for key in choice.fields)


def _type_text(node: _declared.Node) -> str:
    if not isinstance(node, _declared.Key):
        return "list" if getattr(node, "is_list", False) else "mapping"
    return ", ".join(filter(None, [node.type or "value", node.range_text()]))


def _document(section: _declared.Section) -> str:
    lines = [section.help[:1].upper() + section.help[1:] + ("." if section.help else ""), ""]
    for key, node in section.fields.items():
        usual = ("required" if node.required else
                 f"default: {node.default}" if isinstance(node, _declared.Key) and node.default
                 else f"without: {node.absent}" if isinstance(node, _declared.Key) and node.absent
                 else "")
        about = "; ".join(filter(None, [_type_text(node), usual]))
        lines += [f"{attribute(key)}: {about}", f"    {node.help}"]
    return "\n".join(lines).strip()


def _make_class(name: str, section: _declared.Section, base: type[Section],
                module: str) -> type[Section]:
    made = type(name, (base,), {"declared": section, "__doc__": _document(section),
                                "__module__": f"{__package__}.{module}"})
    ordered = sorted(section.fields.items(), key=lambda item: not item[1].required)
    made.__signature__ = inspect.Signature([  # type: ignore[attr-defined]
        inspect.Parameter(attribute(key), inspect.Parameter.KEYWORD_ONLY,
                          default=inspect.Parameter.empty if node.required else None)
        for key, node in ordered])
    _classes[id(section)] = made
    return made


class _Maker:
    """Walks through the sections and makes a class for each."""

    def __init__(self) -> None:
        self.modules: dict[str, dict[str, type[Section]]] = {
            module: {} for module in (*MODULES.values(), "parts")}

    def walk(self, section: _declared.Section, name: str) -> None:
        if not has_classes(section):
            return
        if section.selector:
            self._choices(section)
        elif id(section) not in _classes:
            taken = self.modules["parts"]
            if name in taken:
                raise TypeError(f"two sections would be called '{name}'; NAMES tells them apart")
            taken[name] = _make_class(name, section, Section, "parts")
        self._below(section, "")

    def _below(self, section: _declared.Section, kind: str) -> None:
        for name, node in section.fields.items():
            if isinstance(node, _declared.Section):
                listed = LISTS.get(kind, "") if node.shape == "list" else ""
                self.walk(node, listed or NAMES.get(name) or class_name(name))

    def _choices(self, section: _declared.Section) -> None:
        module = MODULES[section.name]
        classes = self.modules[module]
        base_name = class_name(section.name)
        base = classes.get(base_name)
        if base is None:
            base = type(base_name, (Section,), {
                "declared": section, "__doc__": section.help,
                "__module__": f"{__package__}.{module}"})
            classes[base_name] = base
        for choice in section.choices.values():
            name = class_name(choice.name)
            if id(choice) not in _classes:
                _parents[id(choice)] = section
                classes[name] = _make_class(name, choice, base, module)
                self._below(choice, choice.name)


@functools.cache
def modules() -> dict[str, dict[str, type[Section]]]:
    """Classes by module and name."""
    maker = _Maker()
    for name, node in _declared.root().fields.items():
        if isinstance(node, _declared.Section):
            maker.walk(node, NAMES.get(name) or class_name(name))
    return maker.modules
