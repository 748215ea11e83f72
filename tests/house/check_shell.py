#!/usr/bin/env python3
"""Holds every shell script of the repository to shellcheck.

    check_shell.py REPOSITORY

A script is a file of scripts/, .ci/ or tests/ whose first line names bash or sh, or that is called
*.sh. A planted fault must be found first.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

SHEBANG = re.compile(rb"#!.*\b(?:ba)?sh\b|# shellcheck shell=")


def is_script(file):
    with open(file, "rb") as start:
        return file.suffix == ".sh" or SHEBANG.match(start.readline()) is not None


def scripts_of(repository):
    for folder in ("scripts", ".ci", "tests"):
        yield from sorted(file for file in (repository / folder).rglob("*")
                          if file.is_file() and is_script(file))


def check(words, text=None):
    return subprocess.run(["shellcheck", "--external-sources", "--source-path=SCRIPTDIR", *words],
                          input=text, capture_output=True, text=True, check=False, timeout=100)


def main():
    if shutil.which("shellcheck") is None:
        print("shellcheck is not installed; scripts/test installs it")
        return 1
    planted = check(["--shell=bash", "-"], "rm $1\n")
    scripts = list(scripts_of(Path(sys.argv[1])))
    done = check(map(str, scripts))
    if planted.returncode != 1 or "SC2086" not in planted.stdout:
        print("a planted fault was not found:", planted.stdout, planted.stderr)
        return 1
    print(done.stdout + done.stderr or f"nothing in {len(scripts)} scripts")
    return 1 if done.returncode != 0 or not scripts else 0


if __name__ == "__main__":
    sys.exit(main())
