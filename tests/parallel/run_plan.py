#!/usr/bin/env python3
"""Plans an experiment on 1 to 4 ranks and compares the answers, which must be equal byte for byte.

    run_plan.py TESSERA MPIEXEC EXPERIMENT.yaml [OPTION...]
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", ASAN_OPTIONS="detect_leaks=0")


def answer(tessera, mpiexec, experiment, options, ranks, folder):
    launcher = [mpiexec, "-n", str(ranks)] if ranks > 1 else []
    strategy = folder.with_suffix(".yaml")
    done = subprocess.run([*launcher, tessera, "plan", experiment, "-q", "--json", "-o", str(strategy),
                           "--folder", str(folder), *options],
                          env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=280, check=False)
    if done.returncode != 0:
        raise SystemExit("%d ranks: exit code %d: %s" % (ranks, done.returncode, done.stderr))
    return done.stdout, strategy.read_bytes(), (folder / "candidates.csv").read_bytes()


def main():
    tessera, mpiexec, experiment, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        expected = None
        for ranks in (1, 2, 3, 4):
            found = answer(tessera, mpiexec, experiment, options, ranks, pathlib.Path(scratch) / str(ranks))
            expected = expected or found
            for name, one, many in zip(("the result", "the strategy", "candidates.csv"), expected, found):
                if one != many:
                    raise SystemExit("%s differs between 1 and %d ranks" % (name, ranks))
    return 0


if __name__ == "__main__":
    sys.exit(main())
