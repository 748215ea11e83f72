#!/usr/bin/env python3
"""Files are read alike in 32 and in 64 bits: check_32_bits.py write TESSERA FOLDER, then, by a Python of 32 bits,
check_32_bits.py read FOLDER. `scripts/toolchains i386` does both.

`write` puts every run folder of this directory into FOLDER, and new runs by the program beside them, and what its
HDF5 reads in them: of each table the rows, the type of each column, and the sums of whole columns. `read` wants the
same of its own, and that CMake refuses to build the program, which is for 64 bits, in one sentence.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from check import ENVIRONMENT, HERE, check_rows, python, unpack  # noqa: E402

EXPERIMENTS = [HERE.parent / "cli" / "short.yaml", HERE / "serving.yaml"]
REFUSAL = "Tessera is for 64 bits"
CONTENTS = """
import json, pathlib, sys
sys.path.insert(0, sys.argv[1])
import h5py
from tessera_plots.trace_file import TraceFile
folder, found = pathlib.Path(sys.argv[2]), {}
for path in sorted(folder.rglob("trace*.h5")):
    trace, tables = TraceFile(str(path), trusted=False), {}
    for key in ("operators", "messages", "link_bins"):
        rows = trace.read(key)
        columns = tables[key] = {"rows": len(rows)}
        for name, (kind, *_) in (rows.dtype.fields or {}).items():
            whole = kind.kind in "iu"
            columns[name] = [kind.str, str(sum(map(int, rows[name])) % (1 << 64)) if whole else len(rows[name])]
    found[str(path.relative_to(folder))] = tables
print(json.dumps({"hdf5": h5py.version.hdf5_version, "files": found}), flush=True)
import os
os._exit(0)  # HDF5 may not like to clean up after a file that was not closed
"""


def contents_of(folder):
    done = subprocess.run([python(), "-c", CONTENTS, str(HERE.parents[1] / "scripts"), str(folder)], capture_output=True,
                          text=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def write(tessera, folder):
    for archive in sorted(HERE.glob("*.tar.xz")):
        unpack(archive, folder / archive.name)
    for experiment in EXPERIMENTS:
        subprocess.run([tessera, "run", experiment, "-q", "-q", "-o", folder / experiment.stem, "--set", "run.trace=full"],
                       check=True, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    found = contents_of(folder)
    assert all(sum(table["rows"] for table in tables.values()) > 0 for tables in found["files"].values()), found
    (folder / "contents.json").write_text(json.dumps(found), encoding="utf-8")


def check_refusal():
    """CMake ends before it looks for anything."""
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(["cmake", "-G", "Ninja", "-S", HERE.parents[1], "-B", scratch], capture_output=True, text=True,
                              check=False)
    assert done.returncode != 0 and REFUSAL in done.stderr, done.stderr


def read(folder):
    assert struct.calcsize("P") == 4, "this Python is not of 32 bits"
    began = time.time()
    expected, found = json.loads((folder / "contents.json").read_text(encoding="utf-8")), contents_of(folder)
    failed = [name for name, tables in expected["files"].items() if found["files"].get(name) != tables]
    archives = sorted(HERE.glob("*.tar.xz"))
    check_rows(archives)
    check_refusal()
    compiler = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    counted = {"passed": len(expected["files"]) - len(failed), "failed": failed, "compiler": compiler, "hdf5": found["hdf5"],
               "seconds": time.time() - began}
    (folder / "result.json").write_text(json.dumps(counted), encoding="utf-8")
    rows = sum(table["rows"] for tables in found["files"].values() for table in tables.values())
    print(f"{counted['passed']} of {len(expected['files'])} traces ({rows} rows) are read alike in 32 and 64 bits, "
          f"{len(archives)} old run folders among them; the program is refused")
    return 1 if failed else 0


def main():
    folder = pathlib.Path(sys.argv[-1]).resolve()
    if sys.argv[1] == "write":
        return write(pathlib.Path(sys.argv[2]).resolve(), folder)
    return read(folder)


if __name__ == "__main__":
    sys.exit(main())
