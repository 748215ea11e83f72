#!/usr/bin/env python3
"""Another HDF5 reads what the program's wrote: check_other_hdf5.py TESSERA H5WASM.

H5WASM is the folder of the npm package h5wasm, HDF5 2.0 for Node.js; Debian 12 has 1.10.8, by which the program
writes. Rows and sums of all whole columns of traces must be equal, read by either.
Ends with 77 where node or the package is missing.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from check import ENVIRONMENT, python  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
EXPERIMENTS = [HERE.parent / "cli" / "short.yaml", HERE / "serving.yaml"]
OURS = """
import json, sys
import h5py, numpy
for path in sys.argv[1:]:
    with h5py.File(path, "r") as file:
        tables = {}
        for key, table in file.items():
            rows = table[:]
            tables[key] = {"rows": len(rows)}
            for name, (kind, *_) in rows.dtype.fields.items():
                if kind.kind in "iu":
                    tables[key][name] = str(sum(int(value) for value in rows[name]) % (1 << 64))
        print(json.dumps({"version": h5py.version.hdf5_version, "tables": tables}))
"""


def lines_of(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    tessera, package = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    if not shutil.which("node") or not (package / "dist" / "node" / "hdf5_hl.js").exists():
        print("h5wasm is not installed: scripts/test installs it")
        return 77
    files = []
    with tempfile.TemporaryDirectory(prefix="tessera-hdf5-") as scratch:
        for experiment in EXPERIMENTS:
            folder = pathlib.Path(scratch) / experiment.stem
            subprocess.run([tessera, "run", experiment, "-q", "-o", folder, "--set", "run.trace=full"], check=True,
                           env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            files += sorted(folder.glob("trace*.h5"))
        ours, others = lines_of([python(), "-c", OURS, *files]), lines_of(["node", HERE / "sums.mjs", package, *files])
    assert ours[0]["version"] != others[0]["version"], "both are read by " + ours[0]["version"]
    for path, our, other in zip(files, ours, others, strict=True):
        assert our["tables"] == other["tables"], path
    rows = sum(table["rows"] for one in ours for table in one["tables"].values())
    print(f"{rows} rows of {len(files)} files are alike, read by HDF5 {ours[0]['version']} and "
          f"{others[0]['version']}")
    assert rows > 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
