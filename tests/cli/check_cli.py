#!/usr/bin/env python3
"""Checks what the program says and how it ends, one check a call.

    check_cli.py TESSERA MPIEXEC CHECK
    check_cli.py --list
"""
import importlib
import pathlib
import re
import sys
import tempfile

sys.dont_write_bytecode = True  # the sources stay as they are

from program import CHECKS, Program  # noqa: E402


def load(name):
    """Imports the file that has a check, or all of them."""
    for path in sorted(pathlib.Path(__file__).resolve().parent.glob("checks_*.py")):
        if name is None or re.search(rf"^def {name}\(", path.read_text(encoding="utf-8"), re.MULTILINE):
            importlib.import_module(path.stem)


def main():
    if sys.argv[1:] == ["--list"]:
        load(None)
        print("\n".join(CHECKS))
        return 0
    tessera, mpiexec, name = sys.argv[1:]
    load(name)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            CHECKS[name](Program(tessera, mpiexec, scratch))
        except AssertionError as failure:
            print("%s: %s" % (name, failure))
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
