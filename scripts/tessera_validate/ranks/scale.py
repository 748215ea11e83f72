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
# Waits of the rank that waits most over those of perfect lookahead; of runs with promises. Those
# predicted for promises, where every answer comes at once, stand beside them without a bound.
WAITS = 3
# Predicted over real wall time, on processors that nothing else uses.
TIMES = (0.6, 1.6)
# What a policy is predicted to gain.
SPEED_UPS = {"window": "rounds_speed_up", "promise": "promises_speed_up"}
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


def run(program, folder, experiment, extra, ranks, synchronization):
    """The summary of a real run, with all ranks at work."""
    output = Path(folder) / f"{experiment}-{ranks}"
    call([*launcher(ranks), program, "run", EXPERIMENTS / f"{experiment}.yaml", "-q", "-q",
          "--set", f"run.synchronization={synchronization}", "--set", "run.idle_ranks=false", "-o",
          output, *extra])
    return json.loads((output / "summary.json").read_text(encoding="utf-8"))


def compare(program, folder, experiment=DENSE[0], extra=DENSE[1], counted=(2, 3, 4), timed=(1, 2),
            repeats=3):
    """Rows (what, ranks, predicted, real, holds) of one experiment; None: there is no bound.

    Counts are compared on `counted` ranks, from 2 on, and the median wall time of `repeats` runs on `timed`
    ones. The cost of a reduction is measured on two real ranks.
    """
    report = predict(program, folder, experiment, extra, sorted({*counted, *timed}), launcher(2))
    rows = []
    for row in report["predictions"]:
        ranks = row["ranks"]
        if ranks not in counted and ranks not in timed:
            continue
        runs = {policy: [run(program, folder, experiment, extra, ranks, policy)
                         for _ in range(repeats if ranks in timed else 1)]
                for policy in (SPEED_UPS if ranks > 1 else ("promise",))}
        if ranks in counted:
            rows += counts(row, ranks, runs["window"][0], runs["promise"][0])
        if ranks in timed:
            rows += times(row, ranks, runs)
    return rows


def counts(row, ranks, window, promise):
    real = dict(window, largest_events=max(window["rank_events"]))
    rows = [(what, ranks, row[what], real[what], row[what] == real[what]) for what in EXACT]
    low, high = ROUNDS
    rows.append(("rounds", ranks, row["rounds"], real["rounds"],
                 low * real["rounds"] <= row["rounds"] <= high * real["rounds"]))
    waits, best = promise["waits"], row["perfect"]["waits"]
    rows.append(("waits", ranks, row["promised"]["waits"], waits, None))
    rows.append(("waits, perfect lookahead", ranks, best, waits, waits <= WAITS * best))
    return rows


def times(row, ranks, runs):
    """Of each policy; on one rank there is none."""
    rows = []
    low, high = TIMES
    for policy, summaries in runs.items():
        expected = row["wall_s"] * row["speed_up"] / row[SPEED_UPS[policy]]
        wall = statistics.median(summary["wall_s"] for summary in summaries)
        rows.append((f"wall_s, {policy}" if ranks > 1 else "wall_s", ranks, expected, wall,
                     low * wall <= expected <= high * wall))
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
        said = "" if holds is None else "ok" if holds else "MISSED"
        print(f"{said:8}{what} on {ranks} rank(s): {predicted:g} "
              f"predicted, {real:g} real")
    if options.curves:
        os.makedirs(options.curves, exist_ok=True)
        for path in curves(options.program, options.curves):
            print(path)
    return 0 if all(row[4] is not False for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
