#!/usr/bin/env python3
"""Writes what python/tessera takes from the program: keys.json, the stubs of the modules whose classes
are made from it, and the version.

    python_stubs.py TESSERA [--check]

With --check nothing is written, and it ends with 1 where the files are not what the program says now.
"""
import argparse
import json
import pathlib
import subprocess
import sys

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "python" / "tessera"
HEAD = '''"""{about}

Written by scripts/python_stubs.py from what the program declares; do not edit.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from .sections import Section
'''
TYPES = {"integer": "int", "number": "float", "boolean": "bool", "fraction": "float | str",
         "name": "str", "file": "str | PathLike[str]", "mapping": "Mapping[str, Any]",
         "text": "str | int | float", "list": "Sequence[Any]"}


def ask(tessera, *words):
    return subprocess.run([tessera, *words], stdout=subprocess.PIPE, check=True,
                          timeout=100).stdout.decode("utf-8")


def write_keys(tessera):
    """The text of keys.json: one line a key, so that differences are readable."""
    tree = json.loads(ask(tessera, "list", "--sections", "experiment"))

    def lines(value, indent):
        space = " " * indent
        if isinstance(value, dict) and ("parameters" in value or "experiment" in value):
            body = ",\n".join(f'{space} {json.dumps(key)}: {lines(one, indent + 1)}'
                              for key, one in value.items())
            return "{\n" + body + "\n" + space + "}"
        if isinstance(value, list) and value and isinstance(value[0], dict):
            body = ",\n".join(f"{space} {lines(one, indent + 1)}" for one in value)
            return "[\n" + body + "\n" + space + "]"
        return json.dumps(value, ensure_ascii=False)

    return lines({"experiment": tree}, 0) + "\n"


class Stub:
    """The text of one module's stub."""

    def __init__(self, name, classes, package):
        self.name, self.classes, self.package = name, classes, package
        self.dictionaries, self.modules = [], set()

    def text(self):
        bodies = [self.class_text(name, made) for name, made in self.classes.items()]
        about = " ".join((self.package.module_text(self.name)).split())
        imports = "".join(f"from . import {module}\n" for module in sorted(self.modules))
        return HEAD.format(about=about) + imports + "\n" + "\n".join([*self.dictionaries, *bodies])

    def class_text(self, name, made):
        base = made.__mro__[1].__name__
        if name == self.package.base_of(self.name):
            return f'class {name}(Section):\n    """{made.__doc__}"""\n'
        lines = [f"class {name}({base}):", f'    """{self.summary(made)}"""', ""]
        fields = made.declared.fields
        clash = [key for key in fields if hasattr(self.package.sections.Section, key)]
        if clash:
            raise SystemExit(f"{name}: a key is called as a method is: {clash[0]}")
        types = {key: self.type_of(node, name + self.package.sections.class_name(key))
                 for key, node in fields.items()}
        ordered = sorted(fields, key=lambda key: not fields[key].required)
        attribute = self.package.sections.attribute
        for key in ordered:
            optional = "" if fields[key].required else " | None"
            lines.append(f"    {attribute(key)}: {types[key]}{optional}")
            if fields[key].help:
                lines.append(f'    """{self.help_of(fields[key])}"""')
        words = ["self", *(["*"] if ordered else [])]
        words += [f"{attribute(key)}: {types[key]}" + ("" if fields[key].required else " | None = ...")
                  for key in ordered]
        if made.declared.is_open:
            words += ([] if ordered else []) + ["**others: Any"]
        lines.append("    def __init__(\n        " + ",\n        ".join(words) + ",\n    ) -> None: ..."
                     if not made.declared.is_open else
                     "    def __init__(\n        " + ",\n        ".join(words) + "\n    ) -> None: ...")
        return "\n".join(lines) + "\n"

    def summary(self, made):
        text = made.declared.help
        return self.quoted(text[:1].upper() + text[1:] + "." if text else made.__name__ + ".")

    @staticmethod
    def quoted(text):
        text = text.replace("\\", "\\\\").replace('"""', "'''")
        return text + " " if text.endswith('"') else text

    def help_of(self, node):
        about = self.package.sections._type_text(node)
        usual = getattr(node, "default", None) or getattr(node, "absent", "")
        return self.quoted("; ".join(filter(None, [node.help, about, usual and f"default: {usual}"])))

    def type_of(self, node, name):
        declared = self.package.declared
        if isinstance(node, declared.Section):
            return self.section_type(node)
        if isinstance(node, declared.Group):
            return self.group_type(node, name)
        if node.names:
            return "Literal[" + ", ".join(f'"{one}"' for one in node.names) + "]"
        if node.type.startswith("list of "):
            inner = declared.Key(node.name, node.type.removeprefix("list of "))
            return f"Sequence[{self.type_of(inner, name)}]"
        if node.type in self.package.quantities.TYPES:
            return "str"
        kind = node.type.removesuffix(" or file")
        or_file = kind in TYPES and kind != node.type
        return TYPES.get(kind, "Any") + (" | str | PathLike[str]" if or_file else "")

    def group_type(self, group, name):
        by_name = group.fields.get("NAME")
        if by_name is not None:
            return f"Mapping[str, {self.type_of(by_name, name)}] | Sequence[Any]"
        members = ", ".join(f'"{key}": {self.type_of(node, name + key.title())}'
                            for key, node in group.fields.items())
        self.dictionaries.append(f'{name} = TypedDict("{name}", {{{members}}}, total=False)\n')
        text = f"Sequence[{name}]" if group.is_list else name
        other = TYPES.get(group.whole.type, "Any") if group.whole else ""
        if group.whole and "file" in group.whole.type:
            other = "str | PathLike[str]"
        return text if other in ("", "Mapping[str, Any] | str", "Sequence[Any]") else f"{text} | {other}"

    def section_type(self, section):
        sections = self.package.sections
        if not sections.has_classes(section):
            return "Sequence[Mapping[str, Any]]" if section.shape == "list" else "Mapping[str, Any]"
        if section.selector:
            module = sections.MODULES[section.name]
            text = self.named(module, sections.class_name(section.name))
        else:
            text = self.named("parts", sections.class_of(section).__name__)
        text += " | Mapping[str, Any]"
        if section.shape == "list":
            return f"Sequence[{text}]"
        if section.shape == "map":
            return f"Mapping[str, {text}]"
        return text + (" | str | PathLike[str]" if section.may_be_file else "")

    def named(self, module, name):
        if module == self.name:
            return name
        self.modules.add(module)
        return f"{module}.{name}"


class Package:
    """The package in the tree, as it makes its classes from keys.json."""

    def __init__(self):
        sys.path.insert(0, str(PACKAGE.parent))
        from tessera import declared, quantities, sections
        self.declared, self.quantities, self.sections = declared, quantities, sections

    def base_of(self, module):
        return next((self.sections.class_name(section) for section, name
                     in self.sections.MODULES.items() if name == module), None)

    @staticmethod
    def module_text(name):
        text = (PACKAGE / f"{name}.py").read_text("utf-8").split('"""')[1]
        return text.split(". The classes")[0] + "."

    def stubs(self):
        for name, classes in self.sections.modules().items():
            yield f"{name}.pyi", Stub(name, classes, self).text()


def version_text(tessera):
    return ('"""The version of the program that this package was made for; scripts/python_stubs.py '
            'writes it."""\n\nVERSION = "%s"\n' % ask(tessera, "--version").split()[1])


def main(words):
    parser = argparse.ArgumentParser(prog="python_stubs.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tessera", help="the program")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args(words)
    stale = []

    def take(name, text):
        path = PACKAGE / name
        if path.exists() and path.read_text("utf-8") == text:
            return
        stale.append(name)
        if not options.check:
            path.write_text(text, encoding="utf-8")

    take("keys.json", write_keys(options.tessera))
    take("_version.py", version_text(options.tessera))
    if not (options.check and stale):
        for name, text in Package().stubs():
            take(name, text)
    if options.check and stale:
        print("not what the program says now: " + ", ".join(stale)
              + "; run scripts/python_stubs.py TESSERA")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
