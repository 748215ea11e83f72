"""Predictions of `tessera scale` beside real runs, and the curves of large machines.

For the part `prediction` of results/ranks.md; alone it prints what it finds:

    python3 scripts/tessera_validate/ranks/scale.py [--program TESSERA] [--curves DIR]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
EXPERIMENTS = ROOT / "configs" / "experiments"
# Settings of an experiment that keeps both ranks busy in every window.
DENSE = ("full_wafer", ("--set", "machine.topology.rows=99", "--set", "machine.topology.columns=99",
                        "--set", "strategy.pipeline=33", "--set", "strategy.data=33", "--set",
                        "strategy.placement.group=[3, 99]", "--set", "workload.layers=31", "--set",
                        "workload.batch=132", "--set", "run.trace=none"))
EXACT = ("events", "largest_events", "windows", "remote_events")
# Rounds of the model over those of real runs, see docs/design/0008-scaling-prediction.md.
ROUNDS = (0.9, 1.5)
# Waits of the rank that waits most over those of perfect lookahead; of runs with promises.
WAITS = 3
# Predicted over real wall time, on processors that nothing else uses.
TIMES = (0.6, 1.6)
CURVES = [("full_wafer", "blocks"), ("full_wafer", "columns"), ("cluster_16384", "blocks"),
          ("cluster_16384", "columns")]
CURVE_RANKS = ",".join(str(2 ** power) for power in range(1, 13))


def call(command):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")


def predict(program, folder, experiment, extra, ranks, launcher=()):
    """The prediction, as `tessera scale` writes it."""
    output = Path(folder) / f"{experiment}.json"
    call([*launcher, program, "scale", EXPERIMENTS / f"{experiment}.yaml", "--ranks",
          ",".join(map(str, ranks)), "-o", output, *extra])
    return json.loads(output.read_text(encoding="utf-8"))


def launcher(ranks):
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)] if ranks > 1 else []


def run(program, folder, experiment, extra, ranks, synchronization="window"):
    """The summary of a real run, with all ranks at work."""
    output = Path(folder) / f"{experiment}-{ranks}"
    call([*launcher(ranks), program, "run", EXPERIMENTS / f"{experiment}.yaml", "-q", "-q",
          "--set", f"run.synchronization={synchronization}", "--set", "run.idle_ranks=false", "-o",
          output, *extra])
    return json.loads((output / "summary.json").read_text(encoding="utf-8"))


def compare(program, folder, experiment=DENSE[0], extra=DENSE[1], counted=(2, 3, 4), timed=(1, 2),
            repeats=3):
    """Rows (what, ranks, predicted, real, holds) of one experiment.

    Counts are compared on `counted` ranks, and the median wall time of `repeats` runs on `timed`
    ones. The cost of a reduction is measured on two real ranks.
    """
    report = predict(program, folder, experiment, extra, sorted({*counted, *timed}), launcher(2))
    rows = []
    for row in report["predictions"]:
        ranks = row["ranks"]
        if ranks not in counted and ranks not in timed:
            continue
        runs = [run(program, folder, experiment, extra, ranks)
                for _ in range(repeats if ranks in timed else 1)]
        real = dict(runs[0], largest_events=max(runs[0]["rank_events"]))
        if ranks in counted:
            for what in EXACT:
                rows.append((what, ranks, row[what], real[what], row[what] == real[what]))
            low, high = ROUNDS
            rows.append(("rounds", ranks, row["rounds"], real["rounds"],
                         low * real["rounds"] <= row["rounds"] <= high * real["rounds"]))
            waits = run(program, folder, experiment, extra, ranks, "promise")["waits"]
            best = row["perfect"]["waits"]
            rows.append(("waits", ranks, best, waits, waits <= WAITS * best))
        if ranks in timed:
            wall = statistics.median(summary["wall_s"] for summary in runs)
            low, high = TIMES
            rows.append(("wall_s", ranks, row["wall_s"], wall,
                         low * wall <= row["wall_s"] <= high * wall))
    return rows


def curves(program, folder):
    """Writes the predictions of the large machines to `folder`; gives their paths."""
    paths = []
    for experiment, partition in CURVES:
        path = Path(folder) / f"{experiment}_{partition}.json"
        call([program, "scale", EXPERIMENTS / f"{experiment}.yaml", "--ranks", CURVE_RANKS,
              "--partition", partition, "-o", path])
        paths.append(path)
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(ROOT / "build/release/tessera"))
    parser.add_argument("--curves", metavar="DIR", help="write the curves of large machines too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tessera-validate-") as folder:
        rows = compare(options.program, folder)
    for what, ranks, predicted, real, holds in rows:
        print(f"{'ok      ' if holds else 'MISSED  '}{what} on {ranks} rank(s): {predicted:g} "
              f"predicted, {real:g} real")
    if options.curves:
        os.makedirs(options.curves, exist_ok=True)
        for path in curves(options.program, options.curves):
            print(path)
    return 0 if all(row[4] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
