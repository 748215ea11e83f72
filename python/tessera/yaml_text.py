"""YAML as the program reads it: only true and false are truths, 010 is ten, `yes` is text."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import yaml

from .errors import ConfigError, Diagnostic


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    pass


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    # The program takes no aliases.
    def ignore_aliases(self, data: Any) -> bool:
        return True


_Loader.yaml_implicit_resolvers = {}
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|)$"),
                              ["~", "n", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), ["t", "f"])
_Loader.add_implicit_resolver("tag:tessera:integer", re.compile(r"^[-+]?[0-9]+$"),
                              list("-+0123456789"))
_Loader.add_implicit_resolver(
    "tag:tessera:number",
    re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"))
_Loader.add_constructor("tag:tessera:integer", lambda loader, node: int(node.value))
_Loader.add_constructor("tag:tessera:number", lambda loader, node: float(node.value))


def loads(text: str, name: str = "text") -> dict[str, Any]:
    """The mapping that a text holds."""
    try:
        data = yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise ConfigError([Diagnostic(str(error.problem), name, line, column)]) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{name}: {error}") from None
    if not isinstance(data, Mapping):
        raise ConfigError(f"{name}: expected a mapping")
    return dict(data)


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The mapping that a file holds."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{os.fspath(path)}: {error}") from error
    return loads(text, os.fspath(path))


def dump(data: Mapping[str, Any]) -> str:
    """A mapping as a file: blocks, lists of scalars on one line."""
    return str(yaml.dump(dict(data), Dumper=_Dumper, sort_keys=False, default_flow_style=None,
                         allow_unicode=True, width=100_000))


def inline(value: Any) -> str:
    """On one line, as it can stand behind "key=" in a setting."""
    text = str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, default_flow_style=True,
                         allow_unicode=True, width=1_000_000))
    return text.removesuffix("\n").removesuffix("\n...").strip()
