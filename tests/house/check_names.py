#!/usr/bin/env python3
"""Holds that nobody asks a part for its name: models answer through their interfaces.

    check_names.py ROOT PARTS
    check_names.py --self-test

PARTS is parts.txt. In include/ and src/ no comparison, switch of strings or table of cases may hold
the name of a network, a memory, a compute model, a topology, a collective algorithm or a kind of work.
Whoever adds such a part would have to find and change that place.
"""
import re
import sys
from pathlib import Path

KINDS = ["networks", "memories", "computes", "topologies", "collectives", "workloads", "execution",
         "graphs", "kinds", "serving"]
COMPARED = re.compile(r'[!=]=\s*"([a-z0-9-]+)"|"([a-z0-9-]+)"\s*[!=]=')
# A constant that is such a name.
CONSTANT = re.compile(r'\bconst(?:expr)?\b[^;="()]*?\b(\w+)\s*(?:=\s*|\{\s*)"([a-z0-9-]+)"\s*\}?\s*;')
# What one other simulator does with one of its algorithms (`collectives.compatible: astra`), and
# names of what is no part but shares a part's name.
ALLOWED = {
    ("src/collective/compat/astra.cpp", "halving-doubling"),
    ("src/collective/compat/astra.cpp", "ring"),
    ("src/machine/topology/stack_topology.cpp", "ring"),  # a block of a stack
    ("src/trace/parts_json.cpp", "bandwidth"),   # a type of keys
    ("src/cli/commands/export.cpp", "chakra"),    # a format
    ("src/onnx/description.cpp", "traffic"),     # what an unknown operator counts as
    ("src/plan/stages/given_stages.cpp", "layers"),     # a key
}


def names_of(parts):
    names = set()
    for line in parts.splitlines():
        kind, _, words = line.split("#")[0].partition(":")
        if kind in KINDS:
            names.update(words.split())
    return names


def found_in(files, names):
    """(place, name) of each comparison; `files` are pairs of path and text."""
    for path, text in files:
        code = re.sub(r"//[^\n]*", "", text)
        constants = dict(found.groups() for found in CONSTANT.finditer(code))
        places = [(found, found.group(1) or found.group(2)) for found in COMPARED.finditer(code)]
        for constant, name in constants.items():
            compared = re.finditer(rf"[!=]=\s*{constant}\b|\b{constant}\s*[!=]=", code)
            places += [(found, name) for found in compared]
        for found, name in places:
            if name in names:
                yield path, code.count("\n", 0, found.start()) + 1, name


def self_test():
    names = names_of("networks: flow packet\nlayouts: line  # no\n")
    assert names == {"flow", "packet"}, names
    text = ('a == "flow";\nb != "line";\n// c == "flow"\n"packet" == d;\nget("flow", x);\n')
    found = list(found_in([("f.cpp", text)], names))
    assert found == [("f.cpp", 1, "flow"), ("f.cpp", 4, "packet")], found
    text = 'constexpr const char* mine = "flow";\nstring other{"line"};\nx.text == mine;\n'
    found = list(found_in([("f.cpp", text)], names))
    assert found == [("f.cpp", 3, "flow")], found
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = Path(sys.argv[1])
    names = names_of(Path(sys.argv[2]).read_text(encoding="utf-8"))
    files = [(file.relative_to(root).as_posix(), file.read_text(encoding="utf-8"))
             for top in ("include", "src") for file in sorted((root / top).rglob("*.?pp"))]
    found = list(found_in(files, names))
    wrong = [one for one in found if (one[0], one[2]) not in ALLOWED]
    for path, line, name in wrong:
        print(f"{path}:{line}: compares with '{name}', which is a part: ask it through its interface")
    gone = ALLOWED - {(path, name) for path, _, name in found}
    for path, name in sorted(gone):
        print(f"check_names.py allows '{name}' in {path}, where it is not compared any more")
    if not names or not files:
        print("no names or no files")
        return 1
    return 1 if wrong or gone else 0


if __name__ == "__main__":
    sys.exit(main())
