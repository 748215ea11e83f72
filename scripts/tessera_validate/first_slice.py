"""Parts of results/first-slice.md: closed forms, published figures, equal digests, whole wafers."""

import re
import subprocess
from pathlib import Path

from page import ROOT, Runner, percent, rows_of

# Experiments and settings. Every example runs as it is; those in which a tile stands for its group
# once more with every tile, and a batch small enough for ranks that share processors.
SMALL = [("quickstart", ()), ("palm_boundary", ()), ("grayskull_tiny", ())]
EVERY_TILE = ("--set", "strategy.aggregation=none", "--set", "run.replay=none")
PALM = ("palm_wafer_t_18b", "palm_wafer_t_76b", "palm_wafer_t_145b")
LARGE = [("dojo_tile_gpt2_small", ()),
         ("dojo_tile_gpt2_small", (*EVERY_TILE, "--set", "workload.batch=32")),
         *((name, ()) for name in PALM),
         *((name, (*EVERY_TILE, "--set", "workload.batch=16")) for name in PALM),
         ("cluster_16384", ()),
         ("full_wafer", ())]
RANKS = (1, 2, 3, 4)


def closed_forms(report, program, _, __):
    binary = Path(program).resolve().parent / "tests" / "closed_forms"
    done = subprocess.run([binary], capture_output=True, text=True, check=False)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    report.say("## Closed forms, to the picosecond")
    report.say()
    report.say("Command: `build/release/tests/closed_forms`. References: hops · latency + size / "
               "bandwidth (PALM, equation (2) on idle links); k messages into one link: latencies + "
               "k · size / bandwidth; ring all-reduce on an idle ring: 2 (N − 1) (latency + chunk / "
               "bandwidth), Patarasuk and Yuan, JPDC 2009.")
    report.say()
    report.table(["what", "case", "ours [ps]", "closed form [ps]", "difference [ps]"],
                 [[*row, int(row[2]) - int(row[3])] for row in rows])
    equal = done.returncode == 0 and len(rows) > 0 and all(row[2] == row[3] for row in rows)
    report.bound(equal, f"{len(rows)} closed forms equal to the picosecond")


def parameters(report, program, folder, _):
    runner = Runner(program, folder)
    report.say("## Parameter counts of the transformer generator")
    report.say()
    report.say("Command: `tessera check configs/experiments/quickstart.yaml --set "
               "workload=workloads/NAME.yaml`, line `parameters`. Reference: Narayanan et al., SC'21, "
               "arXiv:2104.04473, table 1 (one decimal).")
    report.say()
    rows = []
    for row in rows_of("megatron_parameters.csv"):
        workload = ROOT / "workloads" / f"{row['workload']}.yaml"
        text = runner.check("quickstart", ["--set", f"workload={workload}", "--set",
                                           "strategy.capacity=ignore"]).stdout
        ours = int(re.search(r"^parameters +(\d+)$", text, re.M).group(1)) / 1e9
        reference = float(row["parameters_billion"])
        rows.append([row["workload"], f"{ours:.4f}", reference, percent(ours, reference)])
        report.bound(abs(ours - reference) <= 0.051, f"{row['workload']}: {ours:.3f} · 10⁹ parameters")
    report.table(["model", "ours [10⁹]", "published [10⁹]", "difference"], rows)


def digests(report, program, folder, setting):
    runner = Runner(program, folder)
    experiments = SMALL if setting.reduced else SMALL + LARGE
    report.say("## Equal results on 1, 2, 3 and 4 ranks")
    report.say()
    report.say("Command: `mpirun -n N build/release/tessera run configs/experiments/NAME.yaml`, "
               "`result_digest` of summary.json. Sparse machines gain nothing from more ranks: a "
               "window holds an event or two, and each costs a reduction; the full wafer does. With "
               "more ranks than processors, ranks take turns.")
    report.say()
    rows = []
    for name, settings in experiments:
        summaries = [runner.run(name, ranks, settings) for ranks in RANKS]
        found = [summary["result_digest"] for summary in summaries]
        rows.append([name, " ".join(settings), found[0],
                     " / ".join(f"{summary['wall_s']:.1f}" for summary in summaries),
                     report.bound(len(set(found)) == 1, f"{name}: one digest on {RANKS} ranks")])
    report.table(["experiment", "settings", "digest", "wall time on 1 / 2 / 3 / 4 ranks [s]",
                  "equal"], rows)


def palm(report, program, folder, setting):
    if setting.reduced:
        return
    runner = Runner(program, folder)
    report.say("## PALM's wafer, Table VII")
    report.say()
    report.say("Command: `build/release/tessera run configs/experiments/NAME.yaml`, in which a tile "
               "stands for its stage, and the same with `--set strategy.aggregation=none --set "
               "run.replay=none`, which simulates all 320. No agreement is asked for: PALM's figures rest on DRAM traffic "
               "multiplied by 0.005 on this machine and on micro-batches of batch / stages; ours "
               "moves every byte, uses micro-batches of 2 to 4 sequences a replica and, like PALM, "
               "lets products run at the peak. The models of 76 and 145 billion parameters do not "
               "fit the DRAM that PALM's configuration states; they are run all the same "
               "(`capacity: ignore`).")
    report.say()
    rows = []
    for row in rows_of("palm_table_vii.csv"):
        every_tile = runner.run(row["experiment"], 1, EVERY_TILE)
        summary = runner.run(row["experiment"])
        ours = summary["throughput_samples_per_s"]
        shares = summary["breakdown"]["total"]
        rows.append([row["experiment"], f"{ours:.4f}",
                     f"{every_tile['throughput_samples_per_s']:.4f}",
                     row["paper"], row["code"], row["published"], percent(ours, float(row["paper"])),
                     ", ".join(f"{name} {100 * shares[name]['share']:.1f} %"
                               for name in ("compute", "tensor", "memory", "bubble")),
                     f"{summary['cpu_s']:.1f} / {every_tile['cpu_s']:.1f}"])
    report.table(["experiment", "ours [samples/s]", "every tile", "PALM, paper", "PALM, code",
                  "published (scaled GPUs)", "ours against the paper", "where the time goes",
                  "CPU [s], one tile a stage / every tile"], rows)


def full_wafer(report, program, folder, setting):
    if setting.reduced:
        return
    summary = Runner(program, folder).run("full_wafer")
    report.say("## The full wafer")
    report.say()
    report.say("Command: `build/release/tessera run configs/experiments/full_wafer.yaml`: 633×633 "
               "tiles, 211 stages, every tile simulated, packet by packet, on one rank.")
    report.say()
    memory = max(summary["peak_rss_bytes"])
    predicted = summary["predicted_bytes"]
    off = abs(predicted - memory) / memory
    report.table(["figure", "ours", "bound", ""], [
        ["tiles at work", summary["tiles"], "400 689",
         report.bound(summary["tiles"] == 633 * 633, "every tile of 633×633 works")],
        ["packet hops", summary["packet_hops"], "≥ 100 000 000",
         report.bound(summary["packet_hops"] >= 100_000_000, "full wafer: 100 M packet hops")],
        ["events", summary["events"], "", ""],
        ["events per CPU second", f"{summary['events'] / summary['cpu_s']:.3g}", "", ""],
        ["CPU [s]", f"{summary['cpu_s']:.1f}", "≤ 600",
         report.bound(summary["cpu_s"] <= 600, "full wafer within 10 minutes of CPU")],
        ["peak memory [MB]", f"{memory / 1e6:.0f}", "≤ 4295 (4 GiB)",
         report.bound(memory <= 4 << 30, "full wafer under 4 GiB")],
        ["memory predicted by `tessera check` [MB]", f"{predicted / 1e6:.0f}", "within 25 %",
         report.bound(off <= 0.25, f"memory predicted within 25 % ({100 * off:.1f} %)")],
        ["simulated time [ms]", f"{summary['simulated_time_ps'] / 1e9:.6f}", "", ""],
        ["digest", summary["result_digest"], "", ""]])


PARTS = {"closed-forms": closed_forms, "parameters": parameters, "digests": digests, "palm": palm,
         "full-wafer": full_wafer}
