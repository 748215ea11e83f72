"""How fast flows are: an iteration of the paper on 1024 XPUs, and random flows beside SimGrid."""

from pathlib import Path

from bench_runs import Bench
from page import Runner
from remote_memory.experiments import experiment, settings, workload

PAPER_S, ITERATION_S, LUMPED_S = 756.6, 60, 2
OURS = "in-turn"  # as in the parts of remote-memory.md
# Flows among 1000 hosts, CPU seconds at most, and whether SimGrid runs them too (10 000 take it many
# minutes).
RANDOM = ((3000, 0.25, True), (10000, 3.0, False))


def iteration(report, runner, folder, xpus, pairs, counts_only):
    path = experiment(folder, True, workload(folder))
    words = settings(True, "H100", xpus, more=(f"machine.network.pairs={pairs}",))
    summary = runner.run(str(path), 1, tuple(words))
    cpu = f"{summary['cpu_s']:.1f}"
    if xpus == 1024 and pairs == OURS and not counts_only:
        cpu = report.at_most(summary["cpu_s"], ITERATION_S, f"iteration on {xpus} XPUs: CPU s")
    return [xpus, pairs, summary["messages"], summary["events"],
            f"{summary['events'] / summary['messages']:.1f}", cpu,
            f"{1e9 * summary['cpu_s'] / summary['messages']:.0f}"]


def lumped_row(report, runner, folder, xpus, label, counts_only, beside, **more):
    """An iteration with its rings lumped, and with each of their steps simulated where that is quick."""
    path = experiment(folder, True, workload(folder, label=label, **more))
    summaries = {}
    for steps in ("lumped", "each") if beside else ("lumped",):
        words = settings(True, "H100", xpus, more=(f"machine.network.uncontended_steps={steps}",))
        summaries[steps] = runner.run(str(path), 1, tuple(words))
    lumped = summaries["lumped"]
    cpu = f"{lumped['cpu_s']:.2f}"
    if xpus == 1024 and label == "local" and not counts_only:
        cpu = report.at_most(lumped["cpu_s"], LUMPED_S, "rings lumped on 1024 XPUs: CPU s", "{:.2f}")
    row = [xpus, label, lumped["messages"], lumped["events"], cpu, "", ""]
    if beside:
        each = summaries["each"]
        row[5:] = [each["events"], f"{each['cpu_s']:.2f}"]
        report.bound(all(each[key] == lumped[key] for key in
                         ("simulated_time_ps", "messages", "packet_hops", "result_digest")),
                     f"{xpus} XPUs, {label}: lumped and simulated rings have the same digest")
    return row


def lumped_rings(report, runner, folder, setting):
    report.say("## Speed: rings that nobody disturbs")
    report.say()
    report.say("`uncontended_steps: lumped`: the steps of a ring are computed by a recurrence as long as no other "
               "message is on its links, and simulated as messages again as soon as one is. Messages of a pair are "
               "sent in turn. `local`: layers access the XPU's own memory, so that rings have the fabric to "
               "themselves. `nothing-beside`: layers access the memory of other XPUs, as above, and the backward "
               "pass waits for the rings. With accesses during rings, as in the table above, few steps are "
               "uncontended. Digests are compared where both variants are run.")
    report.say()
    scales = (64,) if setting.reduced else (64, 256, 1024)
    report.table(["XPUs", "data", "messages", "events", "CPU [s]", "events, each step", "CPU [s]"],
                 [lumped_row(report, runner, folder, xpus, label, setting.counts_only, xpus < 1024, **more)
                  for label, more in (("local", {"remote": ()}), ("nothing-beside", {"overlap": False}))
                  for xpus in scales])


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    report.say("## Speed: LLaMA2-13B with the ring all-reduce of HCSim's paper")
    report.say()
    report.say("One iteration of 40 decoders on one rank, with coherent access and every step of every ring as a "
               f"separate message. HCSim takes {PAPER_S} s with 1024 XPUs. Flows of a pair of XPUs run either in "
               "turn, as in remote-memory.md and by default in collectives (the bound is for these rows), or "
               "together, which is plain max-min: then XPUs are often at the same step at the same time, and more "
               "flows share an instant.")
    report.say()
    scales = (64,) if setting.reduced else (64, 256, 1024)
    report.table(["XPUs", "pairs", "messages", "events", "events a message", "CPU [s]", "a message [ns]"],
                 [iteration(report, runner, folder, xpus, pairs, setting.counts_only)
                  for xpus in scales for pairs in (OURS, "together")])
    lumped_rings(report, runner, folder, setting)
    binary = Path(program).parent / "tessera-bench"
    if setting.reduced:
        return
    if not binary.exists():
        report.not_run("random flows, for `tessera-bench` is not built beside the program")
        return
    report.say("## Speed: random flows among 1000 hosts, one connected component")
    report.say()
    bench = Bench(str(binary))
    rows = []
    for flows, bound, beside in RANDOM:
        ours = bench.run(f"flows --hosts 1000 --flows {flows}", repeat=3)
        row = [flows, report.at_most(ours["cpu_s"], bound, f"{flows} flows: CPU s", "{:.3f}")]
        if beside and Path(str(binary) + "-flows-simgrid").exists():
            theirs = bench.run(f"flows --hosts 1000 --flows {flows} --engine simgrid")
            report.bound(ours["simulated_ps"] == theirs["simulated_ps"],
                         f"{flows} flows: the last ends when SimGrid's does, to the picosecond")
            row += [f"{theirs['cpu_s']:.2f}", f"{theirs['cpu_s'] / ours['cpu_s']:.0f}"]
        else:
            row += ["", ""]
        rows.append(row)
    report.table(["flows", "ours, CPU [s]", "SimGrid, CPU [s]", "SimGrid over ours"], rows)
