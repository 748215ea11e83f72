#!/usr/bin/env python3
"""Settings that are about cost alone: whatever they say, results stay the same.

    invariance.py TESSERA MPIEXEC COUNT [SEED]

`tessera list` marks these settings. Values of all of them are drawn at random, for experiments of
every kind of work, on 1 to 3 ranks, in folders of any name; the digest, the simulated time and the
counts of what was simulated must be those of the experiment as it stands. A setting that is marked
and has no values here fails.
"""
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

from random_runs import call

HERE = pathlib.Path(__file__).resolve().parent
EXPERIMENTS = ["wafer_zero_bubble", "mesh_packet", "mesh_dram", "wafer_interleaved", "graph_trace", "graph_rings",
               "graph_vertices", "graph_tensors", "npu_chip", "npu_serving", "tenants", "mesh_flow", "mesh_flit",
               "graph_flow", "graph_coherence", "dram_flow", "serving_classes", "serving_apart", "tenants_fair",
               "wafer_dual_pipe", "server_hybrid", "npu_detail", "onnx_gpt_systolic"]
# By the name in `tessera list`: where it stands, and values.
VALUES = {
    "trace": ("run.trace", ["none", "summary", "full"]),
    "bins": ("run.bins", [1, 7, 64, 1000]),
    "bin": ("run.bin", ["777 ps", "3 us"]),
    "partition": ("run.partition", ["auto", "blocks", "columns", "stripes", "metis"]),
    "idle_ranks": ("run.idle_ranks", ["true", "false"]),
    "weights": ("run.weights", ["none", "predicted"]),
    "synchronization": ("run.synchronization", ["promise", "window", "null-message"]),
    "window": ("execution.window", [1, 3, 50, 512, 100000]),
}
SAME = ["status", "simulated_time_ps", "iteration_time_ps", "messages", "packet_hops", "result_digest"]


def marked(tessera):
    """Names of the settings that `tessera list` marks."""
    text = subprocess.run([tessera, "list"], stdout=subprocess.PIPE, check=True).stdout.decode("utf-8")
    names, place = set(), None
    for line in text.splitlines():
        if line.startswith("    parameter"):
            place = line.index("of cost")
        elif place is not None and re.match(r"    \S", line) and line[place:place + 5].strip() == "cost":
            names.add(line.split()[0])
    return names


def results(folder):
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return {key: summary[key] for key in SAME}


def settings(tessera, draw, path):
    """Words that the experiment can be run with."""
    while True:
        words = ["--set", "run.idle_ranks=" + draw.choice(["true", "false"])]
        for name, (key, values) in VALUES.items():
            of_graphs = key.startswith("execution.")  # elsewhere it makes graphs of programs
            if name != "idle_ranks" and (not of_graphs or path.name.startswith("graph_")) and \
                    draw.random() < 0.5:
                words += ["--set", f"{key}={draw.choice(values)}"]
        if call([tessera, "check", path, *words]).returncode == 0:
            return words


def run_one(tessera, mpiexec, draw, known, scratch, name):
    path = HERE / (name + ".yaml")
    if path not in known:
        done = call([tessera, "run", path, "-q", "-o", scratch / "as it stands"])
        if done.returncode != 0:
            print(done.stdout.decode("utf-8", "replace"))
            return False
        known[path] = results(scratch / "as it stands")
    words = settings(tessera, draw, path)
    ranks = draw.randint(1, 3)
    folder = scratch / draw.choice(["a", "b/c d", "ü"])
    launcher = [mpiexec, "-n", ranks] if ranks > 1 else []
    done = call([*launcher, tessera, "run", path, "-q", "-o", folder, *words])
    if done.returncode == 0 and results(folder) == known[path]:
        return True
    print(f"{path.name} on {ranks} ranks with {' '.join(words)}: exit code {done.returncode}")
    print(done.stdout.decode("utf-8", "replace")[-2000:])
    if done.returncode == 0:
        print(f"{results(folder)}\nas it stands: {known[path]}")
    return False


def main():
    tessera, mpiexec, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    draw = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    without = marked(tessera) ^ set(VALUES)
    if without:
        print(f"marked, or tried here, but not both: {', '.join(sorted(without))}")
        return 1
    failed, known = 0, {}
    names = draw.sample(EXPERIMENTS, len(EXPERIMENTS))
    for number in range(count):
        with tempfile.TemporaryDirectory() as scratch:
            failed += not run_one(tessera, mpiexec, draw, known, pathlib.Path(scratch),
                                  names[number % len(names)])
    print(f"{count} random settings, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
