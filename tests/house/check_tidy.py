#!/usr/bin/env python3
"""Holds the C++ of include/ and src/ to the checks of .clang-tidy.

    check_tidy.py REPOSITORY BUILD headers    all public headers, in one file that includes them
    check_tidy.py REPOSITORY BUILD sources    every source of the program, those together that the build
                                              compiles together: headers are read once for all of them
    check_tidy.py REPOSITORY BUILD self-test  plants faults and wants them found
    check_tidy.py REPOSITORY BUILD FILE...    these sources

The version of clang-tidy is that of .tool-versions. Sources are read with the options that
BUILD/compile_commands.json has for their room, but for those that are GCC's alone and its precompiled header.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from compile_commands import sources, units, words_of_rooms

KEPT = re.compile(r"-(?:I|D|U|std=)")
FAULTS = {
    "bugprone-use-after-move": "std::string f() {\n  std::string a;\n  std::string b = std::move(a);\n"
                               "  return a + b;\n}\n",
    "performance-for-range-copy": "int f(const std::vector<std::string>& all) {\n  int n = 0;\n"
                                  "  for (const std::string one : all) {\n    n += one.empty();\n  }\n"
                                  "  return n;\n}\n",
    "google-explicit-constructor": "struct S {\n  S(int x);\n};\n",
    "readability-container-contains": "bool f(const std::set<int>& s) {\n  return s.count(1) > 0;\n}\n",
    "modernize-use-override": "struct B {\n  virtual ~B() = default;\n  virtual void f();\n};\n"
                              "struct D : B {\n  virtual void f();\n};\n",
}


def tidy_of(repository):
    pinned = re.search(r"^clang-tidy (\S+)$", (repository / ".tool-versions").read_text("utf-8"), re.M)
    name = f"clang-tidy-{pinned.group(1)}"
    if shutil.which(name) is None:
        raise SystemExit(f"{name} is not installed; scripts/test installs it")
    return name


def options_of(words):
    """Of a compilation: what decides about the meaning of the source."""
    words = iter(words)
    for word in words:
        if word == "-isystem":
            yield from (word, next(words))
        elif KEPT.match(word):
            yield word


def command(repository, file, options):
    # Warnings are GCC's affair. What clang 14 lacks of the library's <source_location> is given. A file that
    # puts sources together includes them.
    return [tidy_of(repository), "--quiet", f"--config-file={repository / '.clang-tidy'}",
            "--checks=-bugprone-suspicious-include",
            "--header-filter=(include/tessera|src)/([a-z_]+/)+[a-z_]+[.](hpp|inl|cpp)$", str(file), "--",
            *options, "-include", str(repository / "cmake" / "source_location.hpp"), "-w"]


def check(repository, file, options):
    """Complaints about a file; the tool's own remarks go only when there are some."""
    done = subprocess.run(command(repository, file, options), capture_output=True, text=True,
                          check=False, timeout=600)
    return done.stdout + done.stderr if done.returncode != 0 else ""


def check_files(repository, build, wanted):
    rooms = {room: list(options_of(words)) for room, words in words_of_rooms(build).items()}
    jobs = [(file, rooms[room]) for file, room in sources(repository) if file in wanted]
    if not jobs:
        raise SystemExit("no such source is in src")
    return check_all(repository, jobs)


def check_sources(repository, build):
    missing = {file for file, _ in sources(repository)} - {file for unit in units(build) for file in unit.sources}
    if missing:
        raise SystemExit(f"the build compiles no {', '.join(sorted(map(str, missing)))}")
    return check_all(repository, [(unit.file, list(options_of(unit.words))) for unit in units(build)])


def check_all(repository, jobs):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return "".join(pool.map(lambda job: check(repository, *job), jobs))


def check_text(repository, text):
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "file.cpp"
        file.write_text(text, "utf-8")
        return check(repository, file, ["-std=c++20", f"-I{repository / 'include'}"])


def all_headers(repository):
    headers = sorted((repository / "include").rglob("*.hpp"))
    return "".join(f'#include "{header.relative_to(repository / "include")}"\n' for header in headers)


def self_test(repository):
    head = "#include <set>\n#include <string>\n#include <utility>\n#include <vector>\n"
    # In one file, each in a namespace: to read what they include takes longest.
    texts = (f"namespace fault{number} {{\n{text}}}\n" for number, text in enumerate(FAULTS.values()))
    complaints = check_text(repository, head + "".join(texts))
    missed = [rule for rule in FAULTS if rule not in complaints]
    sound = check_text(repository, head + "int f() {\n  return 1;\n}\n")
    return "".join(f"not found: {rule}\n" for rule in missed) + sound


def main():
    repository, build = (Path(word).resolve() for word in sys.argv[1:3])
    what = sys.argv[3:]
    if what == ["headers"]:
        found = check_text(repository, all_headers(repository))
    elif what == ["self-test"]:
        found = self_test(repository)
    elif what == ["sources"]:
        found = check_sources(repository, build)
    else:
        found = check_files(repository, build, {Path(name).resolve() for name in what})
    print(found or "clang-tidy finds nothing")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
