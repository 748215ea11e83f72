#!/usr/bin/env python3
"""Compiles every source that the build compiles with others by itself, as far as its meaning, with all
warnings as errors; and every public header, twice, with nothing precompiled.

    check_alone.py REPOSITORY BUILD
    check_alone.py REPOSITORY BUILD --self-test

Where sources of a room are compiled together, one may live on what a neighbour includes, or hide a name
of its own, and nobody would notice. The same of unit tests. The build compiles all public headers in one
source.
"""
import concurrent.futures
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from compile_commands import alone, sources, tests, words_of_rooms, words_of_tests

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


def without_precompiled(words):
    """The words without `-include .../cmake_pch.hxx`."""
    include = next((place for place, word in enumerate(words) if "cmake_pch" in word), None)
    return words if include is None else words[:include - 1] + words[include + 1:]


def complaints(words, file, build):
    done = subprocess.run(command(words, file), cwd=build, capture_output=True, text=True, check=False,
                          timeout=300)
    return done.stderr if done.returncode != 0 else ""


def complaint_of_header(words, header, build):
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "header.cpp"
        file.write_text(f'#include "{header}"\n' * 2, "utf-8")
        return complaints(without_precompiled(words), file, build)


def self_test(rooms, build):
    with tempfile.TemporaryDirectory() as scratch:
        for fault, text in FAULTS.items():
            file = Path(scratch) / "fault.cpp"
            file.write_text(text, "utf-8")
            if fault not in complaints(rooms["core"], file, build):
                yield f"not found: {fault}\n"
        header = Path(scratch) / "fault.hpp"
        header.write_text("#pragma once\ninline std::vector<int> f;\n", "utf-8")
        if "vector" not in complaint_of_header(rooms["core"], header, build):
            yield "not found: a header of the library that is missing\n"


def main():
    repository, build = (Path(word).resolve() for word in sys.argv[1:3])
    rooms = words_of_rooms(build)
    if sys.argv[3:] == ["--self-test"]:
        found = "".join(self_test(rooms, build))
    else:
        by_itself = alone(build)
        jobs = [(rooms[room], file) for file, room in sources(repository)]
        of_tests = words_of_tests(build)
        jobs += [(of_tests[room], file) for file, room in tests(repository) if room in of_tests]
        jobs = [job for job in jobs if job[1] not in by_itself]
        headers = sorted((repository / "include").rglob("*.hpp"))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = "".join(pool.map(lambda job: complaints(*job, build), jobs))
            found += "".join(pool.map(lambda file: complaint_of_header(rooms["core"], file, build), headers))
    print(found or "each source and each public header stands alone")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
