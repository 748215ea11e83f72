"""Speed and memory of the program on the cases in which PALM's code was timed."""

import json
import os
import subprocess
import sys
import time

from page import EXPERIMENTS, call, launched, summary_of
from wafers.runs import settings

T_18B = EXPERIMENTS / "palm_wafer_t_18b.yaml"
FULL_WAFER = EXPERIMENTS / "full_wafer.yaml"
T_76B = EXPERIMENTS / "palm_wafer_t_76b.yaml"
# PALM's flat case of 32 x 32 cores, whose code was counted and timed.
TRANSFERS, HOPS = 1_030_000, 2_080_000


def run(program, folder, name, experiment, words, ranks=1):
    """(summary, CPU seconds of the whole processes)"""
    output = folder / name
    print(f"run     {name}", flush=True)
    done = call(launched(ranks, [program, "run", experiment, "-o", output, "-q", "-q",
                                 *settings(*words)]))
    return summary_of(output), done.user_s + done.system_s


def flat(report, program, folder, reduced):
    words = ["strategy.aggregation=none", "run.replay=none", "machine.topology.tiles=[8, 8]", "strategy.pipeline=32",
             "strategy.tensor=8", "strategy.data=4", "strategy.micro_batch=2", "workload.batch=56",
             "machine.network.max_packets=1", "run.trace=none"]
    summary, cpu_s = run(program, folder, "flat-32", T_18B, words)
    megabytes = max(summary["peak_rss_bytes"]) / 1e6
    report.say("### 32 × 32 cores, flat")
    report.say()
    report.say(
        "T-18B in 32 stages of 8 × 4 cores, every core simulated, `channel` memory, one packet "
        "per message, as PALM's transfers are: `build/release/tessera run configs/experiments/"
        "palm_wafer_t_18b.yaml " + " ".join(f"--set '{word}'" for word in words) + "`. At least as many "
        "transfers and link traversals as in PALM's case, for which PALM took 105.9 CPU seconds and "
        "462 MB.")
    report.say()
    report.table(["figure", "ours", "PALM, code"], [
        ["cores", summary["tiles"], 1024],
        ["transfers", counted(report, summary["messages"], TRANSFERS, "transfers"), TRANSFERS],
        ["traversals of links", counted(report, summary["packet_hops"], HOPS, "traversals"), HOPS],
        ["CPU [s], whole process",
         f"{cpu_s:.2f}" if reduced else
         report.at_most(cpu_s, 1.5, "32 x 32 flat: CPU seconds", "{:.2f}"), 105.9],
        ["peak memory [MB]", f"{megabytes:.1f}" if reduced else
         report.at_most(megabytes, 64, "32 x 32 flat: MB"), 462]])


def counted(report, found, bound, what):
    return report.at_least(found, bound, f"32 x 32 flat: {what}", "{:d}")


def shipped(report, program, folder):
    found = {}
    for name, words in (("aggregated", ["run.replay=none"]), ("replayed", [])):
        taken = [run(program, folder, f"t-18b-{name}-{turn}", T_18B, words) for turn in range(3)]
        found[name] = taken[0][0], min(cpu for _, cpu in taken)
    equal = len({summary["simulated_time_ps"] for summary, _ in found.values()}) == 1
    report.say("### T-18B on the wafer")
    report.say()
    report.say("`build/release/tessera run configs/experiments/palm_wafer_t_18b.yaml`, which aggregates "
               "as PALM does and has `run.replay: exact`, and with `--set run.replay=none`; each with its "
               "trace, the best of three runs. With replay, 24 of 128 micro-batches are simulated, in "
               "three iterations, and the simulated time is the same.")
    report.say()
    report.table(["figure", "every micro-batch", "exact replay", "PALM, code"], [
        ["CPU [s], whole process", f"{found['aggregated'][1]:.3f}",
         report.at_most(found["replayed"][1], 0.3, "T-18B: CPU seconds", "{:.3f}"), 10.7],
        ["simulated time [ps]", found["aggregated"][0]["simulated_time_ps"],
         f"{found['replayed'][0]['simulated_time_ps']} "
         f"({report.bound(equal, 'T-18B: replay gives the same time')})", ""]])


def described(report, program, reduced):
    words = ["machine.topology.tiles=[32, 32]"]
    command = [program, "check", T_18B, *settings(*words)]
    # Memory of this process alone, which `call` does not give.
    child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"error: {' '.join(map(str, command))}: status {status}")
    cpu_s, megabytes = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6
    report.say("### A machine of 128 × 128 cores")
    report.say()
    report.say("`build/release/tessera check configs/experiments/palm_wafer_t_18b.yaml --set "
               "'machine.topology.tiles=[32, 32]'`: reads and describes the machine, plans and predicts.")
    report.say()
    report.table(["figure", "ours", "PALM, code"], [
        ["CPU [s], whole process", f"{cpu_s:.2f}" if reduced else
         report.at_most(cpu_s, 0.1, "128 x 128 described: CPU seconds", "{:.2f}"), 27.7],
        ["peak memory [MB]", f"{megabytes:.1f}" if reduced else
         report.at_most(megabytes, 32, "128 x 128 described: MB"), 2100]])


def large(report, program, folder):
    words = ["machine.topology.rows=256", "machine.topology.columns=256", "workload.heads=8",
             "workload.batch=512", "strategy.pipeline=64", "strategy.tensor=8", "strategy.data=128",
             "strategy.placement.group=[4, 256]", "strategy.placement.tensor_group=[2, 4]",
             "run.trace=none"]
    summary, cpu_s = run(program, folder, "flat-256", FULL_WAFER, words, ranks=2)
    report.say("### 256 × 256 cores, flat, on 2 ranks")
    report.say()
    report.say("`mpirun -n 2 build/release/tessera run configs/experiments/full_wafer.yaml " +
               " ".join(f"--set '{word}'" for word in words) + "`.")
    report.say()
    report.table(["figure", "ours"], [
        ["cores at work", report.at_least(summary["tiles"], 65536, "256 x 256: cores at work",
                                          "{:d}")],
        ["messages, traversals of links", f"{summary['messages']}, {summary['packet_hops']}"],
        ["wall time [s]",
         report.at_most(summary["wall_s"], 300, "256 x 256 flat: wall seconds")],
        ["CPU of a rank [s]", f"{cpu_s / 2:.1f}"],
        ["peak memory of a rank [MB]", f"{max(summary['peak_rss_bytes']) / 1e6:.0f}"]])


# Strategies of T-76B on the wafer: those that fill more than half of it. Most do not fit its DRAM, and are timed all the
# same.
SWEEP = {
    "set": {"strategy.aggregation": "stage", "strategy.capacity": "ignore",
            "run.replay": "exact", "machine.network": {"model": "analytical"},
            "machine.memory": {"model": "bandwidth"}},
    "axes": {"strategy.pipeline": [1, 2, 4, 5, 10, 20, 40],
             "strategy.tensor": [1, 2, 4, 5, 8, 10, 16, 20],
             "strategy.data": [1, 2, 4, 7, 8, 14, 16], "strategy.micro_batch": [1, 2, 4, 8, 16, 32],
             "strategy.recompute": ["full", "selective"],
             "strategy.placement.layout": ["s-shape", "line"]},
    "constraints": ["tensor * pipeline * data <= devices", "tensor * pipeline * data * 2 > devices",
                    "batch % (data * micro_batch) == 0"]}


def sweep(report, program, folder, reduced):
    wanted = 20 if reduced else 1000
    ranks = 1 if reduced else 2
    path = folder / "sweep.yaml"
    path.write_text(json.dumps({"experiment": str(T_76B), **SWEEP,
                                "sample": {"random": wanted, "seed": 1}}), encoding="utf-8")
    print(f"sweep   {wanted} strategies of T-76B", flush=True)
    started = time.monotonic()
    done = call(launched(ranks, [program, "sweep", path, "-q", "-o", folder / "sweep"]))
    wall_s = time.monotonic() - started
    lines = (folder / "sweep" / "sweep.csv").read_text(encoding="utf-8").splitlines()
    finished = sum(",finished," in line for line in lines)
    report.say(f"### A sweep of {wanted} strategies of T-76B")
    report.say()
    report.say(
        f"`mpirun -n {ranks} build/release/tessera sweep SWEEP.yaml`, where the file holds `SWEEP` of "
        "`scripts/tessera_validate/wafers/speed.py`: degrees, micro-batch, recomputation and layout, with one "
        "tile per stage, exact replay, and network and memory without contention. Strategies that are refused "
        "(heads that cannot be divided, stages that are not rectangles) count too.")
    report.say()
    report.bound(len(lines) - 1 >= wanted, f"sweep: {len(lines) - 1} strategies, at least {wanted}")
    report.table(["figure", "ours"], [
        ["strategies; finished", f"{len(lines) - 1}; {finished}"],
        ["wall time [s]", report.at_most(wall_s, 300, "sweep: wall seconds")],
        ["CPU of a rank [s]", f"{(done.user_s + done.system_s) / ranks:.1f}"]])


def sections(report, program, folder, setting):
    reduced = setting.reduced
    report.say("## Speed")
    report.say()
    report.say("CPU seconds are user and system time of whole processes, as counted by the operating system, "
               "and include reading, planning and writing. "
               "Bounds in minutes are on wall time. PALM's figures were measured by running its public code.")
    report.say()
    flat(report, program, folder, reduced)
    described(report, program, reduced)
    if not reduced:
        shipped(report, program, folder)
        large(report, program, folder)
    sweep(report, program, folder, reduced)
