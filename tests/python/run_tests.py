#!/usr/bin/env python3
"""Runs a test file of pytest in a Python that has what the package needs.

    run_tests.py TESSERA FILE [OPTION_OF_PYTEST...]

Debian's packages are for /usr/bin/python3, which need not be the first on PATH.
"""
import os
import pathlib
import subprocess
import sys

NEEDED = "import h5py, matplotlib, nbclient, pandas, pytest, xarray, yaml"


def python_with_libraries():
    for python in [sys.executable, "python3", "/usr/bin/python3"]:
        if subprocess.run([python, "-c", NEEDED], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0:
            return python
    raise SystemExit("no Python with the libraries; apt-get install python3-pandas python3-xarray "
                     "python3-h5py python3-matplotlib python3-yaml python3-pytest python3-nbclient "
                     "python3-ipykernel")


def main():
    tessera, file, *options = sys.argv[1:]
    package = pathlib.Path(file).resolve().parents[2] / "python"
    paths = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "TESSERA": tessera, "PYTHONPATH": os.pathsep.join(paths),
                   "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([python_with_libraries(), "-m", "pytest", "-q", "-p", "no:cacheprovider",
                           file, *options], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
