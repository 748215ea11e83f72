#!/usr/bin/env python3
"""Finds functions that the program does not use: none, or tests alone, name them.

    check_unused.py ROOT
    check_unused.py --self-test

Looks at the functions that headers of include/tessera and src declare. One is used when its name
stands anywhere in include or src but where it is declared and where it is defined. So a name that two
functions share is not judged, and nothing is reported that is in use. unused.txt beside this file has
those that are there for others, each with who that is.
"""
import collections
import re
import sys
import tempfile
from pathlib import Path

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
                   re.DOTALL)
NAME = re.compile(r"\b[a-z]\w*\b")
# A declaration, or a definition in a header: type, name, parameters. No `return f(x)`, no `= f(x)`.
DECLARED = re.compile(
    r"^[ \t]*(?:template\s*<[^;{}]*>\s*)?(?!return\b|else\b|throw\b|case\b|delete\b|new\b|using\b)"
    r"(?:[\w:<>,*&\[\]]+[ \t\n]+[*&]*)+([a-z]\w*)\s*\((?=[^;{}]*\)[^;{}()]*(?:\([^()]*\))?[^;{}()]*[;{:])",
    re.MULTILINE)
# A definition of what a header declares: it begins its line and its name is qualified or bare.
DEFINED = re.compile(r"^[\w:<>,*&][\w:<>,*& ]*?[\s*&](?:\w+::)*([a-z]\w*)\(", re.MULTILINE)


def code_of(file):
    return NOISE.sub(lambda found: "\n" * found.group().count("\n"), file.read_text(encoding="utf-8"))


def files_of(root, *suffixes):
    for top in ("include", "src"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix in suffixes:
                yield file


def declared_functions(root):
    """Name: places where headers declare it."""
    places = collections.defaultdict(list)
    for file in files_of(root, ".hpp", ".inl"):
        text = code_of(file)
        for found in DECLARED.finditer(text):
            # A name with an override is called through its base.
            line = text.count("\n", 0, found.start(1)) + 1
            places[found.group(1)].append(f"{file.relative_to(root)}:{line}")
    return places


def unused(root):
    declared = declared_functions(root)
    named, defined = collections.Counter(), collections.Counter()
    for file in files_of(root, ".hpp", ".cpp", ".inl"):
        text = code_of(file)
        named.update(NAME.findall(text))
        if file.suffix == ".cpp":
            defined.update(DEFINED.findall(text))
    for name, places in sorted(declared.items()):
        if named[name] <= len(places) + min(defined[name], len(places)):
            for place in places:
                yield name, place


def exceptions(file):
    """Name: why it is there, of lines `name: why`."""
    lines = (line.split("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
    return dict(line.split(": ", 1) for line in lines if line)


def complaints(root, allowed):
    found = list(unused(root))
    for name, place in found:
        if name not in allowed:
            yield f"{place}: nothing of the program uses {name}()"
    for name in sorted(set(allowed) - {name for name, _ in found}):
        yield f"unused.txt: {name} is in use, or gone"


def self_test():
    header = ("namespace a {\nint used(int x);\nint alone(\n    int x);\n// alone() in a comment\n"
              "struct S {\n  bool inlined() const { return used(1) == 2; }\n  bool asked() const;\n"
              "  virtual int called(int) { return 1; }\n};\n}\n")
    source = ('#include "a.hpp"\nnamespace a {\nint used(int x) { return x; }\nint alone(int x) {\n'
              "  return x;\n}\nbool S::asked() const {\n  return called(1) == 1;\n}\n"
              'const char* text = "alone(1)";\n}\n')
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        for folder, name, text in (("include", "a.hpp", header), ("src", "a.cpp", source)):
            (root / folder).mkdir()
            (root / folder / name).write_text(text, encoding="utf-8")
        names = [name for name, _ in unused(root)]
        assert names == ["alone", "asked", "inlined"], names
        assert list(complaints(root, {"alone": "", "asked": "", "inlined": ""})) == []
        assert len(list(complaints(root, {"alone": "", "used": ""}))) == 3
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    allowed = exceptions(Path(__file__).with_name("unused.txt"))
    found = list(complaints(Path(sys.argv[1]).resolve(), allowed))
    print("\n".join(found) or "every function is used")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
