#!/usr/bin/env python3
"""Holds that what includes a precompiled header is to be optimised as that header was.

    check_optimised.py BUILD
    check_optimised.py --self-test

GCC optimises a source as its precompiled header, whatever else the source's own command says, and does not warn.
"""
import re
import sys
from pathlib import Path

from compile_commands import entries

LEVEL = re.compile(r" (-O\S*)")
INCLUDED = re.compile(r" -include (\S+/cmake_pch\.hxx)")


def level(command):
    """The last one counts."""
    return (LEVEL.findall(command) or ["none"])[-1]


def complaints(found):
    """Of (source, command) of all compilations."""
    headers = {str(file).removesuffix(".cxx"): level(command) for file, command in found
               if str(file).endswith("cmake_pch.hxx.cxx")}
    for file, command in found:
        included = INCLUDED.search(command)
        if included is None or str(file).endswith("cmake_pch.hxx.cxx"):
            continue
        header = headers.get(included.group(1))
        if header != level(command):
            yield f"{file}: {level(command)}, and {header} of the precompiled header that it includes"


def self_test():
    header = ("/b/t.dir/cmake_pch.hxx.cxx", "c++ -O3 -x c++-header -include /b/t.dir/cmake_pch.hxx -o h.gch")
    use = " -include /b/t.dir/cmake_pch.hxx -o a.o -c a.cpp"
    assert not list(complaints([header, ("a.cpp", "c++ -O3" + use), ("b.cpp", "c++ -O1 -c b.cpp")]))
    assert len(list(complaints([header, ("a.cpp", "c++ -O3 -Og" + use)]))) == 1
    assert len(list(complaints([("a.cpp", "c++ -O3" + use)]))) == 1
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = [(entry["file"], entry["command"]) for entry in entries(Path(sys.argv[1]))]
    wrong = list(complaints(found))
    print("\n".join(wrong) or f"{len(found)} compilations are optimised as they are told")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
