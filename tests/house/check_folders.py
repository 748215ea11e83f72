#!/usr/bin/env python3
"""Checks that a subject of several sources is a folder, not a beginning of their names.

    check_folders.py SOURCE_TREE
    check_folders.py --self-test

In a folder below src/ at most three parts (a .cpp, a .hpp or both) may have names that begin with one
word, as `ring.cpp`, `ring_relay.cpp`. The self-test plants a fourth one and wants it found.
"""
import collections
import pathlib
import sys
import tempfile

MOST = 3
SUFFIXES = {".cpp", ".hpp", ".inl"}


def complaints(tree):
    parts = collections.defaultdict(set)
    for path in sorted((pathlib.Path(tree) / "src").rglob("*")):
        if path.suffix in SUFFIXES:
            parts[path.parent.relative_to(tree), path.stem.split("_")[0]].add(path.stem)
    for (folder, word), names in sorted(parts.items()):
        if len(names) > MOST:
            yield f"{folder}: {', '.join(sorted(names))} are a folder: {folder}/{word}/"


def self_test():
    with tempfile.TemporaryDirectory() as scratch:
        room = pathlib.Path(scratch) / "src" / "memory"
        room.mkdir(parents=True)
        for name in ("dram.cpp", "dram.hpp", "dram_banks.cpp", "dram_timing.hpp", "drams.cpp"):
            (room / name).touch()
        assert not list(complaints(scratch))
        (room / "dram_queue.cpp").touch()
        found = list(complaints(scratch))
        assert len(found) == 1 and found[0].endswith("src/memory/dram/"), found


def main(words):
    if words == ["--self-test"]:
        self_test()
        return 0
    if len(words) != 1:
        print(__doc__)
        return 2
    found = list(complaints(words[0]))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
