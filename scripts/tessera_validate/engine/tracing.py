"""What traces cost: runs with and without, side by side."""

import os
import shutil
import subprocess
import sys
import time
from statistics import median

from measured import measured, size_of
from page import summary_of

# Share of the throughput a trace may cost.
COSTS = {"summary": 0.03, "full": 0.25}
# Of two pairs of runs each, for each level.
TURNS = 2
WAFER = "full_wafer"
SMALL = "grayskull_tiny"
# A quarter of the replicas, in as many columns: a share of the throughput is that of each event.
QUARTER = ("strategy.data=53", "workload.batch=212", "strategy.placement.group=[3, 159]")


def begun(tools, experiment, level, core):
    """A run with a trace of this level on one core, under way, and its folder."""
    folder = tools.runner.new_folder(experiment)
    settings = [word for setting in (QUARTER if experiment == WAFER else ()) for word in ("--set", setting)]
    command = tools.runner.command(experiment, folder, 1, ["-q", "-q", "--trace", level, *settings])
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
               "LEVEL`"
               + (", a quarter of its replicas (" + ", ".join(f"`--set '{each}'`" for each in QUARTER) + ")"
                  if experiment == WAFER else "")
               + f", whole processes on one rank. Each level is measured in {turns} turn(s); in a turn, a run with "
               "the trace and one without execute at the same time, each on a core of its own, and then "
               "once more with the cores swapped, so that what slows the machine for minutes slows "
               "both; the core whose run ends first gets another run until the other ends. Throughput is "
               "events per CPU second, user and system together; the cost is the share of the throughput "
               "without a trace that is lost in a turn, and its median over the turns is compared with "
               "the bound. Times are medians over the runs; wall time is that of the simulation alone.")
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


sections = measured(tracing)
