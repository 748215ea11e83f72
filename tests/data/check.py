#!/usr/bin/env python3
"""Reads the run folders of released format versions and goes on with their runs: check.py TESSERA MPIEXEC [FOLDER].

With another state version than that of the program a checkpoint must be refused as such, and the traces beside it
be read all the same. Of the program's own there must be some, which are gone on with. Those of another FOLDER, which
make.py made by another build of the program, must all be of its own.
"""
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", ASAN_OPTIONS="detect_leaks=0",
                   PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe", PYTHONDONTWRITEBYTECODE="1")
READ = """
import sys
sys.path.insert(0, sys.argv[1])
import json, os, pathlib
from tessera_plots.trace_file import TraceFile
for folder in sys.argv[3:]:
    found = {}
    for path in sorted(pathlib.Path(folder).glob("trace*.h5")):
        trace = TraceFile(str(path), trusted=False)
        for table in sys.argv[2].split(","):
            found[table] = found.get(table, 0) + len(trace.read(table))
    print(json.dumps(found), flush=True)
os._exit(0)  # HDF5 may not like to clean up after a file that was not closed
"""
TABLES = ("operators", "messages", "link_bins")


@functools.lru_cache
def python():
    """One that has h5py, as scripts/lib.sh finds it."""
    done = subprocess.run(["bash", "-c", f'source "{HERE.parents[1]}/scripts/lib.sh"; python_with_libraries "h5py, numpy"'],
                          capture_output=True, text=True, check=True)
    return done.stdout.strip()


def all_rows_of(folders):
    """Of each folder how many rows its tables have, by one interpreter: to start one takes longer than to read."""
    done = subprocess.run([python(), "-c", READ, str(HERE.parents[1] / "scripts"), ",".join(TABLES), *map(str, folders)],
                          capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def rows_of(folder):
    return all_rows_of([folder])[0]


def state_version():
    text = (HERE.parents[1] / "include/tessera/trace/checkpoint.hpp").read_text(encoding="utf-8")
    return int(re.search(r"state_version = (\d+);", text)[1])


def expected_of(archive):
    return json.loads(archive.with_name(archive.name.replace(".tar.xz", ".json")).read_text(encoding="utf-8"))


def unpack(archive, scratch):
    with tarfile.open(archive) as packed:
        packed.extractall(scratch, filter="data") if hasattr(tarfile, "data_filter") else packed.extractall(scratch)
    folder = pathlib.Path(scratch) / "run"
    # Whether the process in it still runs can be told only where it ran.
    (folder / "tessera.lock").unlink(missing_ok=True)
    return folder


def check_rows(archives):
    with tempfile.TemporaryDirectory() as scratch:
        found = all_rows_of([unpack(archive, pathlib.Path(scratch) / archive.name) for archive in archives])
        assert len(found) == len(archives), found
        for archive, rows in zip(archives, found):
            expected = expected_of(archive)["rows"]
            assert rows == expected, f"{archive.name}: rows {rows}, not {expected}"


def check(tessera, mpiexec, archive, ranks):
    expected = expected_of(archive)
    with tempfile.TemporaryDirectory() as scratch:
        folder = unpack(archive, scratch)
        command = [tessera, "run", "--resume", folder, "-q", "-q"]
        command = command if ranks == 1 else [mpiexec, "-n", str(ranks), *command]
        done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
        if expected["state"] != state_version():
            assert done.returncode == 2 and "holds its state differently" in done.stderr, done.stderr
            print(f"{archive.name}: rows read, checkpoint of another layout refused")
            return
        assert done.returncode == 0, done.stderr
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        for key, name in (("digest", "result_digest"), ("simulated_time_ps",) * 2, ("memory_bytes",) * 2):
            assert summary[name] == expected.get(key, summary[name]), f"{archive.name}: {name} {summary[name]}, not {expected[key]}"
        print(f"{archive.name}: rows read, gone on with on {ranks} ranks")


def main():
    tessera, mpiexec = sys.argv[1], sys.argv[2]
    archives = sorted(pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else HERE).glob("*.tar.xz"))
    own = state_version()
    wanted = all if len(sys.argv) > 3 else any
    assert archives and wanted(expected_of(archive)["state"] == own for archive in archives), \
        f"no folder of state version {own}, which the program has: make some with make.py"
    check_rows(archives)
    refused_on_ranks = False
    for archive in archives:
        check(tessera, mpiexec, archive, 1)
        # A layout that is refused is so before ranks differ: once is enough.
        if expected_of(archive)["state"] == own or not refused_on_ranks:
            refused_on_ranks = refused_on_ranks or expected_of(archive)["state"] != own
            check(tessera, mpiexec, archive, 3)


if __name__ == "__main__":
    main()
