#!/usr/bin/env python3
"""Holds that the common code of `sim` and `cli` knows no kind of work.

    check_kinds.py ROOT PARTS
    check_kinds.py --self-test

PARTS is parts.txt, whose lines `kinds` and `workloads` and `graphs` have all kinds. In src/cli, and in
src/sim outside the folders of kinds, no file includes a header of such a folder or of a room that is of
one kind, and no text is the name of a kind. What the common code has to know of a kind, the kind says:
WorkKind, Job and Work (include/tessera/sim).
"""
import re
import sys
from pathlib import Path

# Below src/sim. `programs` is a folder of kinds too, but what a strategy makes of a workload is known to
# all (Job::planned).
FOLDERS = ["chip", "graphs", "onnx", "programs", "serving", "tenants", "traffic"]
HIDDEN = [folder + "/" for folder in FOLDERS if folder != "programs"]
HIDDEN += ["tessera/sim/" + folder for folder in HIDDEN]
HIDDEN += ["tessera/onnx/", "tessera/serving/", "tessera/network/traffic/", "tessera/npu/tiled_operator.hpp",
           "tessera/workload/chakra/", "tessera/workload/graph_workload.hpp"]
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# Commands about files of one kind, and words that are the name of a kind and mean something else.
ALLOWED = {
    ("src/cli/commands/export.cpp", "chakra"): "a format of files",
    ("src/cli/commands/export.cpp", "tessera/workload/chakra/chakra.hpp"): "its writer",
    ("src/cli/commands/import.cpp", "tessera/onnx/description.hpp"): "the command reads models of ONNX",
    ("src/cli/tables/model_tables.hpp", "tessera/onnx/import.hpp"): "of that command",
    ("src/cli/tables/model_tables.hpp", "tessera/onnx/passes/optimize.hpp"): "of that command",
    ("src/cli/commands/traffic.cpp", "tessera/sim/traffic/traffic.hpp"): "the command is of such files",
    ("src/cli/commands/traffic.cpp", "traffic"): "the command's name",
    ("src/cli/commands/report.cpp", "operators"): "an option: how many are shown",
    ("src/cli/commands/check.cpp", "tenants"): "a row of a table: how many jobs share the machine",
    ("src/sim/cuts/of_others.cpp", "tenants"): "a cutter",
    ("src/sim/cuts/choose_cut.cpp", "tenants"): "a cutter",
    ("src/sim/cuts/of_plans.cpp", "traffic"): "a cutter",
    ("src/sim/cuts/plan_cuts.cpp", "traffic"): "a cutter",
    ("src/sim/results/trace_attributes.cpp", "traffic"): "an attribute of traces",
    ("src/sim/results/trace_attributes.cpp", "tenants"): "an attribute of traces",
}


def names_of(parts):
    names = set()
    for line in parts.splitlines():
        kind, _, words = line.split("#")[0].partition(":")
        if kind in ("kinds", "workloads", "graphs"):
            names.update(words.split())
    return names


def is_common(path):
    parts = path.split("/")
    return parts[:2] == ["src", "cli"] or (parts[:2] == ["src", "sim"] and parts[2] not in FOLDERS)


def found_in(files, names):
    """(path, line, what) of each header and each text that is of a kind; `files` are pairs of path and text."""
    for path, text in files:
        if not is_common(path):
            continue
        code = re.sub(r"//[^\n]*", "", text)
        places = [found for found in INCLUDE.finditer(code) if found.group(1).startswith(tuple(HIDDEN))]
        places += [found for found in TEXT.finditer(code) if found.group(1) in names]
        for found in places:
            yield path, code.count("\n", 0, found.start(1)) + 1, found.group(1)


def self_test():
    names = names_of("kinds: onnx serving  # all\nlayouts: line\n")
    assert names == {"onnx", "serving"}, names
    text = '#include "serving/job.hpp"\n#include "jobs/tiles.hpp"\n// "onnx"\nf("onnx", "line", "an onnx");\n'
    found = list(found_in([("src/sim/notes/notes.cpp", text), ("src/sim/onnx/kind.cpp", text), ("src/plan/a.cpp", text)], names))
    assert found == [("src/sim/notes/notes.cpp", 1, "serving/job.hpp"), ("src/sim/notes/notes.cpp", 4, "onnx")], found
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = Path(sys.argv[1])
    names = names_of(Path(sys.argv[2]).read_text(encoding="utf-8"))
    files = [(file.relative_to(root).as_posix(), file.read_text(encoding="utf-8"))
             for top in ("cli", "sim") for file in sorted((root / "src" / top).rglob("*.?pp"))]
    found = list(found_in(files, names))
    wrong = [one for one in found if (one[0], one[2]) not in ALLOWED]
    for path, line, what in wrong:
        print(f"{path}:{line}: '{what}' is of one kind of work: let the kind say what is asked here")
    gone = set(ALLOWED) - {(path, what) for path, _, what in found}
    for path, what in sorted(gone):
        print(f"check_kinds.py allows '{what}' in {path}, where it is not any more")
    missing = [folder for folder in FOLDERS if not (root / "src" / "sim" / folder).is_dir()]
    for folder in missing:
        print(f"check_kinds.py knows a folder src/sim/{folder} that there is not")
    if not names or not files:
        print("no names or no files")
        return 1
    return 1 if wrong or gone or missing else 0


if __name__ == "__main__":
    sys.exit(main())
