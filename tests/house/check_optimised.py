#!/usr/bin/env python3
"""Holds that what includes a precompiled header is to be optimised as that header was.

    check_optimised.py BUILD
    check_optimised.py --self-test

GCC optimises a source as its precompiled header, whatever else the source's own command says, and does not warn. A
build with GCC for release has such headers: where none is found, none was looked at.
"""
import re
import sys
import tempfile
from pathlib import Path

from compile_commands import entries

LEVEL = re.compile(r" (-O\S*)")
GROWTH = re.compile(r" (--param=large-\S*)")
INCLUDED = re.compile(r" -include (\S+/cmake_pch\.hxx)")


def is_of_gcc_for_release(build):
    told = (build / "CMakeCache.txt").read_text("utf-8")
    compilers = [file.read_text("utf-8") for file in build.glob("CMakeFiles/*/CMakeCXXCompiler.cmake")]
    return (re.search(r"^CMAKE_BUILD_TYPE:\w+=Release$", told, re.MULTILINE) is not None and
            any('set(CMAKE_CXX_COMPILER_ID "GNU")' in compiler for compiler in compilers))


def level(command):
    """The last one counts; what else says how much functions may grow counts too."""
    return " ".join([(LEVEL.findall(command) or ["none"])[-1], *sorted(GROWTH.findall(command))])


def complaints(found, must_include):
    """Of (source, command) of all compilations, of which some must include a precompiled header."""
    headers = {str(file).removesuffix(".cxx"): level(command) for file, command in found
               if str(file).endswith("cmake_pch.hxx.cxx")}
    matching = 0
    for file, command in found:
        included = INCLUDED.search(command)
        if included is None or str(file).endswith("cmake_pch.hxx.cxx"):
            continue
        header = headers.get(included.group(1))
        if header != level(command):
            yield f"{file}: {level(command)}, and {header} of the precompiled header that it includes"
        else:
            matching += 1
    if must_include and matching == 0:
        yield f"none of {len(found)} compilations includes a precompiled header that is optimised as it is"


def self_test():
    header = ("/b/t.dir/cmake_pch.hxx.cxx", "c++ -O3 -x c++-header -include /b/t.dir/cmake_pch.hxx -o h.gch")
    use = " -include /b/t.dir/cmake_pch.hxx -o a.o -c a.cpp"
    other = ("b.cpp", "c++ -O1 -c b.cpp")
    assert not list(complaints([header, ("a.cpp", "c++ -O3" + use), other], True))
    assert len(list(complaints([header, ("a.cpp", "c++ -O3 -Og" + use)], False))) == 1
    assert len(list(complaints([("a.cpp", "c++ -O3" + use)], False))) == 1
    assert len(list(complaints([header, ("a.cpp", "c++ -O3 --param=large-unit-insns=9" + use)], False))) == 1
    assert not list(complaints([header, other], False))
    assert len(list(complaints([header, other], True))) == 1
    with tempfile.TemporaryDirectory() as folder:
        build = Path(folder)
        compiler = build / "CMakeFiles/3.25.1/CMakeCXXCompiler.cmake"
        compiler.parent.mkdir(parents=True)
        for name, kind, expected in (("GNU", "Release", True), ("Clang", "Release", False), ("GNU", "None", False)):
            compiler.write_text(f'set(CMAKE_CXX_COMPILER_ID "{name}")\n', "utf-8")
            (build / "CMakeCache.txt").write_text(f"//Kind\nCMAKE_BUILD_TYPE:STRING={kind}\n", "utf-8")
            assert is_of_gcc_for_release(build) == expected, (name, kind)
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    build = Path(sys.argv[1])
    found = [(entry["file"], entry["command"]) for entry in entries(build)]
    wrong = list(complaints(found, is_of_gcc_for_release(build)))
    print("\n".join(wrong) or f"{len(found)} compilations are optimised as they are told")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
