#!/usr/bin/env python3
"""Holds that no two files define a type of the same full name.

    check_types.py ROOT
    check_types.py --self-test

Two definitions of one name that differ are undefined behaviour (the one-definition rule): the linker
keeps one of their functions for both, and no diagnostic is required. Types in unnamed namespaces and
within functions or other types do not count.
"""
import collections
import re
import sys
from pathlib import Path

NAMESPACE = re.compile(r"\s*(?:inline\s+)?namespace\s*([\w:]*)\s*(?=\{)")
TYPE = re.compile(r"\s*(?:struct|class|union|enum(?:\s+(?:struct|class))?)\s+(?:\[\[[\w:, ]+\]\]\s*)?"
                  r"(?:alignas\([^)]*\)\s*)?(\w+)(?!\w|::)")
TEMPLATE = re.compile(r"\s*template\s*<.*>\s*(?=struct|class|union)")


def types_of(text):
    """Full names of the types that a file defines in named namespaces."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r'R"(\w*)\(.*?\)\1"', '""', text, flags=re.DOTALL)
    found, namespaces, depth = [], [], 0
    for line in text.splitlines():
        code = re.sub(r"//.*", "", re.sub(r"'(\\.|[^'\\])'|\"(\\.|[^\"\\])*\"", '""', line))
        namespace = NAMESPACE.match(code)
        declared = TYPE.match(TEMPLATE.sub("", code))
        if declared and depth == len(namespaces) and None not in namespaces and (
                "{" in code or not code.rstrip().endswith(";")):
            found.append("::".join([*namespaces, declared.group(1)]))
        for mark in code:
            if mark == "{":
                depth += 1
                if namespace:
                    namespaces.append(namespace.group(1) or None)
                    namespace = None
            elif mark == "}":
                depth -= 1
                del namespaces[depth:]
    return found


def files_of(root):
    for folder in ("include", "src", "bench"):
        for suffix in ("*.hpp", "*.cpp"):
            yield from sorted((root / folder).rglob(suffix))


def defined_twice(files):
    """Names with the files that define them, of pairs (file, text)."""
    places = collections.defaultdict(list)
    for file, text in files:
        for name in types_of(text):
            places[name].append(str(file))
    return {name: where for name, where in places.items() if len(where) > 1}


def self_test():
    first = "namespace a {\nstruct One {\n  struct In { int x; };\n};\nstruct Two;\n}  // namespace a\n"
    again = "namespace a {\ntemplate <class T>\nstruct One : Base {};\n}\n"
    other = ("namespace a {\nnamespace {\nstruct One {};\n}\nstruct Two::In {};\nenum class Three;\n"
             "void run() {\n  struct One {};\n}\n}\nnamespace b { }\nstruct One {};\n")
    assert types_of(first) == ["a::One"], types_of(first)
    assert types_of(other) == ["One"], types_of(other)
    assert defined_twice([("f", first), ("g", other)]) == {}
    assert defined_twice([("f", first), ("g", again)]) == {"a::One": ["f", "g"]}
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = Path(sys.argv[1])
    twice = defined_twice((file.relative_to(root), file.read_text(encoding="utf-8"))
                          for file in files_of(root))
    for name, where in sorted(twice.items()):
        print(f"{name} is defined in {' and '.join(where)}")
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())
