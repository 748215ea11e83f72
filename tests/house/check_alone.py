#!/usr/bin/env python3
"""Compiles every source that the build compiles with others by itself, as far as its meaning, with all
warnings as errors.

    check_alone.py REPOSITORY BUILD
    check_alone.py REPOSITORY BUILD --self-test

Where sources of a room are compiled together, one may live on what a neighbour includes, or hide a name
of its own, and nobody would notice.
"""
import concurrent.futures
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from compile_commands import alone, sources, words_of_rooms

# What is said to the compiler only for sources that are compiled together, and in its place (cmake/rooms.cmake).
TOGETHER = {"-Wshadow=local", "-Wno-subobject-linkage"}
ALONE = ("-Wshadow", "-Werror", "-fsyntax-only")
FAULTS = {"not declared": "int f() {\n  return no_such_name;\n}\n",
          "[-Werror=shadow]": "static int name = 1;\nint g() {\n  int name = 2;\n  return name;\n}\n"
                              "int h() {\n  return name;\n}\n"}


def command(words, file):
    """Of a compilation of a source of the room: that of another one."""
    words = [word for word in words if word not in TOGETHER]
    first = next(place for place, word in enumerate(words) if word.endswith(("c++", "g++", "clang++")))
    last = words.index("-o")
    return [*words[first:last], *ALONE, str(file)]


def complaints(words, file, build):
    done = subprocess.run(command(words, file), cwd=build, capture_output=True, text=True, check=False,
                          timeout=300)
    return done.stderr if done.returncode != 0 else ""


def self_test(rooms, build):
    with tempfile.TemporaryDirectory() as scratch:
        for fault, text in FAULTS.items():
            file = Path(scratch) / "fault.cpp"
            file.write_text(text, "utf-8")
            if fault not in complaints(rooms["core"], file, build):
                yield f"not found: {fault}\n"


def main():
    repository, build = (Path(word).resolve() for word in sys.argv[1:3])
    rooms = words_of_rooms(build)
    if sys.argv[3:] == ["--self-test"]:
        found = "".join(self_test(rooms, build))
    else:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            by_itself = alone(build)
            together = [each for each in sources(repository) if each[0] not in by_itself]
            found = "".join(pool.map(lambda each: complaints(rooms[each[1]], each[0], build), together))
    print(found or "each source stands alone")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
