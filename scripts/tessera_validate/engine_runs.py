"""Digests, traces, checkpoints and predictions of whole experiments."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import scale
from page import call, launched, processors, summary_of

RANKS = (1, 2, 3, 4)
POLICIES = ("window", "null-message")
PARTITIONS = ("blocks", "metis", "stripes", "columns")
PARALLEL = "tests/parallel"
DIGESTED = ["quickstart", "grayskull_tiny", *(f"{PARALLEL}/{name}.yaml" for name in (
    "analytical", "dgx_graph", "mesh_packet", "torus_yx", "wafer_full"))]
DIGESTED_REDUCED = [f"{PARALLEL}/dgx_graph.yaml", f"{PARALLEL}/wafer_full.yaml"]
# Share of the throughput a trace may cost.
COSTS = {"summary": 0.03, "full": 0.25}
# Of two pairs of runs each, for each level.
TURNS = 2
WAFER = "full_wafer"
SMALL = "grayskull_tiny"


def digests(report, tools, setting):
    report.say("## Equal results on any number of ranks")
    report.say()
    report.say("Command: `mpirun -n RANKS build/release/tessera run EXPERIMENT --synchronization POLICY "
               "--partition PARTITION`, `result_digest` of summary.json; RANKS are " +
               ("3" if setting.reduced else "1, 2, 3 and 4") +
               ", with both policies each. `blocks` and `columns` cut grids only.")
    report.say()
    rows = []
    for experiment in DIGESTED_REDUCED if setting.reduced else DIGESTED:
        path = str(tools.root / experiment) if "/" in experiment else experiment
        name = Path(experiment).stem
        expected = tools.runner.run(path)["result_digest"]
        row, differing = [name, f"`{expected}`"], []
        runs = 1
        for partition in PARTITIONS:
            if not fits(tools.runner, path, partition):
                row.append("–")
                continue
            equal = 0
            variants = [(ranks, policy) for ranks in ((3,) if setting.reduced else RANKS)
                        for policy in POLICIES]
            for ranks, policy in variants:
                extra = ("--synchronization", policy, "--partition", partition)
                same = tools.runner.run(path, ranks, extra)["result_digest"] == expected
                equal += same
                if not same:
                    differing.append(f"{ranks} ranks, {policy}, {partition}")
            runs += len(variants)
            row.append(f"{equal} of {len(variants)}")
        said = report.bound(not differing, f"{name}: one digest in {runs} runs" +
                            (f"; others on {'; '.join(differing)}" if differing else ""))
        rows.append([*row, said])
    report.table(["experiment", "digest", *(f"`{name}`" for name in PARTITIONS), "equal"], rows)


def fits(runner, path, partition):
    return runner.check(path, ["--partition", partition], (0, 2)).returncode == 0


def size_of(folder, pattern="**/*"):
    return sum(path.stat().st_size for path in Path(folder).glob(pattern) if path.is_file())


def begun(tools, experiment, level, core):
    """A run with a trace of this level on one core, under way, and its folder."""
    folder = tools.runner.new_folder(experiment)
    command = tools.runner.command(experiment, folder, 1, ["-q", "-q", "--trace", level])
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            preexec_fn=lambda: os.sched_setaffinity(0, {core})), folder


def ended(run):
    """What a run took by itself, and what it left; None while it goes on."""
    process, folder = run
    pid, status, used = os.wait4(process.pid, os.WNOHANG)
    if pid == 0:
        return None
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, process.args))}: exit code {process.returncode}\n"
                 f"{process.stderr.read().decode()}")
    summary = summary_of(folder)
    cost = {"user": used.ru_utime, "cpu": used.ru_utime + used.ru_stime, "wall": summary["wall_s"],
            "bytes": size_of(folder, "trace.*.h5"), "digest": summary["result_digest"],
            "events": summary["events"]}
    shutil.rmtree(folder)
    return cost


def side_by_side(tools, experiment, level):
    """A run without a trace and one with it at the same time on two cores, then the other way round.

    What slows the machine for a while slows both, and neither core is one level's own. When one run
    is over, another takes its core until the other ends too: cores of one machine slow each other.
    """
    cores = sorted(os.sched_getaffinity(0))
    turn = {"none": [], level: []}
    for pair in (("none", level), (level, "none")):
        print(f"run     {experiment} with traces {' and '.join(pair)} side by side", flush=True)
        core_of = {each: cores[index % len(cores)] for index, each in enumerate(pair)}
        running = {each: begun(tools, experiment, each, core) for each, core in core_of.items()}
        filler = None
        while running:
            time.sleep(0.02)
            for each in list(running):
                cost = ended(running[each])
                if cost is not None:
                    turn[each].append(cost)
                    del running[each]
                    if running:
                        filler = begun(tools, experiment, "none", core_of[each])
        filler[0].kill()
        filler[0].wait()
        shutil.rmtree(filler[1], ignore_errors=True)
    return turn


def share_lost(turn, level, what):
    """The share of the throughput that is lost in one turn, by the times of both its pairs."""
    with_trace, without = (sum(run[what] for run in turn[each]) for each in (level, "none"))
    return 1 - without / with_trace


def tracing(report, tools, setting):
    experiment = SMALL if setting.reduced else WAFER
    turns = 1 if setting.reduced else TURNS
    report.say("## What traces cost")
    report.say()
    report.say(f"Command: `build/release/tessera run configs/experiments/{experiment}.yaml --trace "
               f"LEVEL`, whole processes on one rank. For each level {turns} turn(s); in a turn a run with "
               "the trace and one without go on at the same time, each on a core of its own, and then "
               "once more with the cores changed over, so that what slows the machine for minutes slows "
               "both; the core whose run ends first gets another one until the end. Throughput is events "
               "per processor second, user and system together; the cost is the share of the throughput "
               "without a trace that is lost in a turn, and its median over the turns is held against "
               "the bound. Times are medians over the runs; wall time is the simulation's own.")
    report.say()
    taken = {level: [side_by_side(tools, experiment, level) for _ in range(turns)]
             for level in COSTS}
    runs = [run for turns_of in taken.values() for turn in turns_of
            for each in turn.values() for run in each]
    report.bound(len({run["digest"] for run in runs}) == 1,
                 f"{experiment}: one digest at every trace level")
    rows = []
    for level, turns_of in taken.items():
        lost = [100 * share_lost(turn, level, "cpu") for turn in turns_of]
        cell = f"{median(lost):.1f} %"
        if not setting.reduced:
            cell = report.at_most(median(lost), 100 * COSTS[level],
                                  f"{level} trace: % of throughput lost")
        rows.append([level, cell, ", ".join(f"{each:.1f}" for each in lost),
                     *(f"{100 * median(share_lost(turn, level, what) for turn in turns_of):.1f} %"
                       for what in ("user", "wall")),
                     *(f"{median(run['cpu'] for turn in turns_of for run in turn[each]):.1f}"
                       for each in ("none", level)),
                     f"{turns_of[0][level][0]['bytes'] / 1e6:.1f}"])
    report.table(["trace", "throughput lost [%], median", "of each turn", "by user time",
                  "by wall time", "CPU without [s]", "CPU with [s]", "trace files [MB]"], rows)
    report.say(f"A run has {runs[0]['events']} events.")
    report.say()


def stopped_halfway(tools, experiment, wall_s):
    """A run that got SIGTERM after half of `wall_s`: its folder, what it said, time to the end.

    Tried again with less patience when the run was over before.
    """
    for patience in (0.5, 0.25, 0.1, 0.03):
        folder = tools.runner.new_folder(experiment)
        command = tools.runner.command(experiment, folder, 1, ["-v", "--trace", "none"])
        started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        while not (folder / "summary.json").exists() and started.poll() is None:
            time.sleep(0.005)
        time.sleep(patience * wall_s)
        asked = time.monotonic()
        started.send_signal(signal.SIGTERM)
        said, _ = started.communicate()
        if started.returncode == 75:
            return folder, said, time.monotonic() - asked
        if started.returncode != 0:
            sys.exit(f"error: {' '.join(command)}: exit code {started.returncode}\n{said}")
        shutil.rmtree(folder)
    sys.exit(f"error: {experiment} was over before it could be stopped")


def checkpoint(report, tools, setting):
    experiment = SMALL if setting.reduced else WAFER
    whole = tools.runner.run(experiment, 1, ("--trace", "none"))
    folder, said, seconds = stopped_halfway(tools, experiment, whole["wall_s"])
    at = summary_of(folder)
    written = re.findall(r"checkpoint \d+ at ([^:]+): (.+?) in ([0-9.e-]+) s", said)
    size = size_of(folder, "checkpoints/*/*")
    print(f"resume  {experiment} on 2 ranks", flush=True)
    call(launched(2, [tools.program, "run", "--resume", folder, "-q", "-q"]))
    again = summary_of(folder)
    report.say("## Checkpoints")
    report.say()
    report.say(f"Commands: `build/release/tessera run configs/experiments/{experiment}.yaml --trace none "
               "-o DIR`, SIGTERM after half of its wall time (exit code 75), then `mpirun -n 2 "
               "build/release/tessera run --resume DIR`.")
    report.say()
    equal = report.bound(again["result_digest"] == whole["result_digest"],
                         f"{experiment}: stopped and resumed on 2 ranks, the digest is the same")
    report.bound(bool(written), f"{experiment}: a checkpoint is written at the stop")
    report.table(["figure", "value"], [
        ["simulated when stopped [ms]", f"{at['simulated_time_ps'] / 1e9:.3f} of "
                                        f"{whole['simulated_time_ps'] / 1e9:.3f}"],
        ["checkpoint", f"{size / 1e6:.2f} MB, {size / max(whole['tiles'], 1):.0f} bytes a tile"],
        ["time to write it [s]", written[-1][2] if written else ""],
        ["from the signal to the end of the process [s]", f"{seconds:.2f}"],
        ["wall time: uninterrupted on 1 rank; resumed on 2 [s]",
         f"{whole['wall_s']:.1f}; {again['segments'][-1]['wall_s']:.1f}"],
        ["digest: uninterrupted; resumed", f"`{whole['result_digest']}`; "
                                           f"`{again['result_digest']}`: {equal}"]])
    shutil.rmtree(folder)


def predictions(report, tools, setting):
    report.say("## Past this machine")
    report.say()
    report.say("Command: `mpirun -n 2 build/release/tessera scale EXPERIMENT --ranks 1,2,3,4` beside "
               "real runs (`scripts/tessera_validate/scale.py`); the cost of a reduction is measured "
               "on the two ranks. Counts must be exact, rounds within "
               f"{scale.ROUNDS[0]} to {scale.ROUNDS[1]} and wall times within {scale.TIMES[0]} to "
               f"{scale.TIMES[1]} of the real ones.")
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
                   report.bound(holds, f"scale: {what} on {ranks} ranks, predicted {predicted:g}, "
                                       f"real {real:g}")]
                  for what, ranks, predicted, real, holds in rows])
    if not setting.reduced:
        curves(report, tools)


def curves(report, tools):
    report.say("Curves of large machines, predicted from one run on one process each: `tessera scale "
               "configs/experiments/NAME.yaml --ranks 2,4,…,4096 --partition PARTITION`, with the "
               "costs of a cluster as `tessera scale --help` gives them.")
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
