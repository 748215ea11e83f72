#!/usr/bin/env python3
"""Runs a sweep on 1, 2 and 3 ranks and compares the results, which must be equal byte for byte.

    run_sweep.py [--sample COUNT] TESSERA MPIEXEC SWEEP.yaml

With `--sample` so many of its points, drawn at random.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", ASAN_OPTIONS="detect_leaks=0")


def results(tessera, mpiexec, sweep, ranks, folder):
    launcher = [mpiexec, "-n", str(ranks)] if ranks > 1 else []
    done = subprocess.run([*launcher, tessera, "sweep", sweep, "-q", "-o", str(folder)],
                          env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=280, check=False)
    if done.returncode != 0:
        raise SystemExit("%d ranks: exit code %d: %s" % (ranks, done.returncode, done.stderr))
    table = done.stdout.replace(str(folder), "FOLDER")
    return table, *((folder / name).read_bytes() for name in ("sweep.csv", "sweep.h5"))


def sampled(sweep, count, folder):
    """A sweep of some of the points, with the experiment by its whole path."""
    path = pathlib.Path(sweep).resolve()
    text = path.read_text(encoding="utf-8").replace("experiment: ../", f"experiment: {path.parents[1]}/")
    own = folder / path.name
    own.write_text(f"{text}\nsample: {{random: {count}, seed: 1}}\n", encoding="utf-8")
    return str(own)


def main():
    count, words = None, sys.argv[1:]
    if words[0] == "--sample":
        count, words = int(words[1]), words[2:]
    tessera, mpiexec, sweep = words
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as beside:
        if count is not None:
            sweep = sampled(sweep, count, pathlib.Path(beside))
        expected = None
        for ranks in (1, 2, 3):
            found = results(tessera, mpiexec, sweep, ranks, pathlib.Path(scratch) / str(ranks))
            expected = expected or found
            for name, one, many in zip(("table", "sweep.csv", "sweep.h5"), expected, found):
                if one != many:
                    raise SystemExit("%s differs between 1 and %d ranks" % (name, ranks))
    return 0


if __name__ == "__main__":
    sys.exit(main())
