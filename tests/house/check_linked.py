#!/usr/bin/env python3
"""Holds that a program links what is compiled quickly behind the engine.

    check_linked.py BUILD
    check_linked.py --self-test

Of a function that several sources have (a template, a function in a class) a linker keeps the first that
it meets. Objects of rooms without any that are compiled quickly (-Og; cmake/rooms.cmake) must all come
before the first of those, and in each library the others before them.
"""
import re
import sys
from pathlib import Path

from compile_commands import entries

ARCHIVE = re.compile(r"^build (\S+/lib\w+\.a): CXX_STATIC_LIBRARY_LINKER\S* ([^|\n]*)", re.M)
PROGRAM = re.compile(r"^build tessera: CXX_EXECUTABLE_LINKER\S* ([^|\n]*).*\n"
                     r"(?:  .*\n)*?  LINK_LIBRARIES = (.*)", re.M)


def quick_objects(commands):
    """Of commands of the compiler: what is compiled quickly."""
    return {made.group(1) for made in (re.search(r" -o (\S+)", command) for command in commands
                                       if " -Og " in command) if made}


def complaints(ninja, quick):
    archives = {found.group(1): found.group(2).split() for found in ARCHIVE.finditer(ninja)}
    program = PROGRAM.search(ninja)
    if program is None or not archives:
        yield "the program or its libraries are not in build.ninja"
        return
    linked = list(dict.fromkeys(word for word in program.group(2).split() if word in archives))
    groups = [("the program", program.group(1).split()), *((name, archives[name]) for name in linked)]
    first = None  # what has the first quick object
    for name, objects in groups:
        is_quick = [one in quick for one in objects]
        if is_quick != sorted(is_quick):
            yield f"{name}: an object that is compiled quickly is before others"
        if first and not any(is_quick):
            yield f"{name} is linked behind {first}, of which a part is compiled quickly"
        if any(is_quick):
            first = first or name


def self_test():
    ninja = ("build src/a/liba.a: CXX_STATIC_LIBRARY_LINKER__a_Release a1.o a2.o || x\n  F = 1\n"
             "build src/b/libb.a: CXX_STATIC_LIBRARY_LINKER__b_Release b1.o b2.o || x\n"
             "build tessera: CXX_EXECUTABLE_LINKER__t_Release main.o | src/a/liba.a\n  FLAGS = -O3\n"
             "  LINK_LIBRARIES = -Wl,--whole-archive  src/a/liba.a  src/b/libb.a  src/a/liba.a\n")
    assert quick_objects(["c++ -O3 -Og -o b2.o -c b2.cpp", "c++ -O3 -o a.o -c a.cpp"]) == {"b2.o"}
    assert not list(complaints(ninja, {"b2.o"}))
    assert len(list(complaints(ninja, {"b1.o"}))) == 1
    assert len(list(complaints(ninja, {"a2.o"}))) == 1
    assert len(list(complaints(ninja, {"main.o"}))) == 2
    assert len(list(complaints("", {"main.o"}))) == 1
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    build = Path(sys.argv[1])
    commands = [entry["command"] for entry in entries(build)]
    quick = quick_objects(commands)
    found = list(complaints((build / "build.ninja").read_text("utf-8"), quick))
    # Release builds of GCC have some.
    if not quick and any(" -O3 " in command and "clang" not in command for command in commands):
        found.append("nothing is compiled quickly: this test looks for another option than the build has")
    print("\n".join(found) or f"{len(quick)} objects that are compiled quickly are behind the engine")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
