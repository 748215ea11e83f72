#!/usr/bin/env python3
"""Makes a run folder of the format and state versions that a program writes: make.py TESSERA FOLDER [EXPERIMENT].

The run is killed once it has two checkpoints, and packed as it lies there, as FORMAT-stateSTATE.tar.xz, behind which
is the name of an experiment that is given. The digest beside it is of the same run, undisturbed.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

sys.dont_write_bytecode = True  # the sources stay as they are

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "parallel"))

from check import ENVIRONMENT, rows_of  # noqa: E402
from random_works import ranks_of  # noqa: E402

SHORT = ROOT / "tests/cli/short.yaml"
# Two ranks that both have work, whatever is predicted of them.
SETTINGS = ["--set", "run.partition=stripes", "--trace", "full", "-q", "-q"]
LONGER = ["--set", "run.iterations=40", "--set", "workload.batch=4", "--set", "workload.layers=2"]  # of SHORT


def version_of(folder):
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))["format_version"]


def settings_of(experiment):
    return SETTINGS + (LONGER if experiment == SHORT else [])


def whole_run(tessera, experiment, folder):
    subprocess.run([tessera, "run", experiment, *settings_of(experiment), "-o", folder], check=True, env=ENVIRONMENT,
                   stdout=subprocess.DEVNULL)
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def killed_run(tessera, experiment, folder, every_ps):
    """Whether the run was killed with two checkpoints in its folder."""
    command = ["mpirun", "-n", "2", tessera, "run", experiment, *settings_of(experiment), "-o", folder, "--test-delays", "1",
               "--checkpoint-every", f"sim:{every_ps}ps"]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          start_new_session=True) as run:
        while run.poll() is None and len(list((folder / "checkpoints").glob("[0-9]" * 5))) < 2:
            time.sleep(0.001)
        killed = run.poll() is None
        for rank in ranks_of(run.pid):  # in groups of their own
            os.kill(rank, signal.SIGKILL)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    status = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["status"]
    return killed and status == "running" and len(list((folder / "checkpoints").glob("[0-9]" * 5))) == 2


def main():
    tessera, target = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    experiment = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else SHORT
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        whole = whole_run(tessera, experiment, scratch / "whole")
        folder = scratch / "run"
        for _ in range(20):
            if killed_run(tessera, experiment, folder, whole["simulated_time_ps"] // 20):
                break
        else:
            sys.exit("error: the run was always done before it could be killed")
        time.sleep(1)
        version = version_of(folder)
        newest = max((folder / "checkpoints").glob("[0-9]" * 5))
        checkpoint = json.loads((newest / "checkpoint.json").read_text(encoding="utf-8"))
        expected = {"tessera": checkpoint["tessera"], "git": checkpoint["git"], "state": checkpoint.get("state", 0),
                    "digest": whole["result_digest"], "simulated_time_ps": whole["simulated_time_ps"],
                    "memory_bytes": whole["memory_bytes"], "rows": rows_of(folder)}
        name = f"{version}-state{expected['state']}" + (f"-{experiment.stem}" if experiment != SHORT else "")
        with tarfile.open(target / f"{name}.tar.xz", "w:xz") as archive:
            archive.add(folder, "run")
        (target / f"{name}.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
        print(f"{target}/{name}.tar.xz: {expected}")


if __name__ == "__main__":
    main()
