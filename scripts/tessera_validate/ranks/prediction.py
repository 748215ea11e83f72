"""What `tessera scale` predicts beside real runs, and for machines past this one."""

import json
import tempfile
from pathlib import Path

from measured import measured
from page import processors
from ranks import scale


def predictions(report, tools, setting):
    report.say("## Past this machine")
    report.say()
    report.say("Command: `mpirun -n 2 build/release/tessera scale EXPERIMENT --ranks 1,2,3,4`, compared "
               "with real runs (`scripts/tessera_validate/ranks/scale.py`); the cost of a reduction is measured "
               "on the two ranks. Counts must be exact, rounds "
               f"{scale.ROUNDS[0]} to {scale.ROUNDS[1]} times and wall times {scale.TIMES[0]} to "
               f"{scale.TIMES[1]} times the real ones. Rounds are of runs under `window`, waits of runs "
               f"under `promise`, at most {scale.WAITS} times those of perfect lookahead; those predicted "
               "for promises, where every answer comes at once, have no bound. Wall times are those of both policies.")
    report.say()
    with tempfile.TemporaryDirectory(dir=tools.folder) as folder:
        if setting.reduced:
            rows = scale.compare(tools.program, folder, "quickstart", (), counted=(2,), timed=(),
                                 repeats=1)
        else:
            timed = tuple(ranks for ranks in (1, 2) if ranks <= processors())
            rows = scale.compare(tools.program, folder, timed=timed)
    report.table(["figure", "ranks", "predicted", "real", "predicted / real", ""],
                 [[what, ranks, f"{predicted:g}", f"{real:g}",
                   f"{predicted / real:.3f}" if real else "",
                   "" if holds is None else
                   report.bound(holds, f"scale: {what} on {ranks} ranks, predicted {predicted:g}, "
                                       f"real {real:g}")]
                  for what, ranks, predicted, real, holds in rows])
    if not setting.reduced:
        curves(report, tools)


def curves(report, tools):
    report.say("Scaling curves of large machines, each predicted from one run on one process: `tessera scale "
               "configs/experiments/NAME.yaml --ranks 2,4,…,4096 --partition PARTITION`, with the "
               "costs of a cluster that `tessera scale --help` states.")
    report.say()
    with tempfile.TemporaryDirectory(dir=tools.folder) as folder:
        for path in scale.curves(tools.program, folder):
            found = json.loads(Path(path).read_text(encoding="utf-8"))
            report.say(f"### {found['experiment']}, {found['nodes']} nodes, `{found['partition']}`")
            report.say()
            report.say(f"An event costs {found['costs']['event_s'] * 1e9:.1f} ns.")
            report.say()
            report.table(["ranks", "wall [s]", "speed-up", "efficiency", "by promises", "bound",
                          "waits at best", "events across", "events", "waiting", "reductions",
                          "messages", "limit", "imbalance", "memory a rank [MB]"],
                         [curve_row(row) for row in found["predictions"]])


def curve_row(row):
    wall = row["wall_s"]
    shares = [f"{100 * row[what] / wall:.0f} %" if wall > 0 else ""
              for what in ("work_s", "waiting_s", "reductions_s", "messages_s")]
    return [row["ranks"], f"{wall:.3g}", f"{row['speed_up']:.3g}", f"{100 * row['efficiency']:.0f} %",
            f"{row['promises_speed_up']:.3g}", f"{row['bound']:.3g}", row["perfect"]["waits"],
            row["remote_events"], *shares, row["limit"], f"{row['imbalance']:.2f}", f"{row['largest_bytes'] / 1e6:.0f}"]


sections = measured(predictions)
