#!/usr/bin/env python3
"""Holds every file that states the version to that of CMakeLists.txt.

    versions.py REPOSITORY TESSERA
"""
import datetime
import pathlib
import re
import sys

from common import run

PLACES = {
    "python/tessera/_version.py": r'^VERSION = "([^"]+)"$',
    "cmake/packaging/spack/spack_repo/tessera/packages/tessera/package.py": r'^    version\("([^"]+)"\)$',
    "docs/install.md": r"tessera[-_@](\d+\.\d+\.\d+)",
    "tests/consumer/project/CMakeLists.txt": r"find_package\(tessera (\S+) REQUIRED\)",
}


def main():
    repository, tessera = map(pathlib.Path, sys.argv[1:3])
    text = (repository / "CMakeLists.txt").read_text("utf-8")
    version = re.search(r"^project\(tessera VERSION (\d+\.\d+\.\d+) ", text, re.MULTILINE)[1]
    for name, pattern in PLACES.items():
        found = set(re.findall(pattern, (repository / name).read_text("utf-8"), re.MULTILINE))
        assert found in ({version}, {version.rpartition(".")[0]}), f"{name} says {found or 'nothing'}"
    assert run(tessera, "--version").split()[1] == version

    # Releases, the latest first, each with its day.
    headings = re.findall(r"^## (.*)$", (repository / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    releases = [heading.split(" - ") for heading in headings if heading != "Unreleased"]
    assert releases[0][0] == version, f"CHANGELOG.md begins with {releases[0]}"
    days = [datetime.date.fromisoformat(day) for _, day in releases]
    assert days == sorted(days, reverse=True), days


if __name__ == "__main__":
    main()
