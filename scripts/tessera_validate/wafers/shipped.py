"""PALM's wafer as it is shipped, one tile a stage and every tile, beside PALM's Table VII."""

from page import Runner, percent, rows_of

EVERY_TILE = ("--set", "strategy.aggregation=none", "--set", "run.replay=none")


def sections(report, program, folder, setting):
    if setting.reduced:
        return
    runner = Runner(program, folder)
    report.say("## PALM's wafer, Table VII")
    report.say()
    report.say("Command: `build/release/tessera run configs/experiments/NAME.yaml`, in which one tile "
               "represents its stage, and the same with `--set strategy.aggregation=none --set "
               "run.replay=none`, which simulates all 320. No agreement is required: PALM's figures for this machine "
               "rest on DRAM traffic multiplied by 0.005 and on micro-batches of batch / stages; ours "
               "moves every byte, uses micro-batches of 2 to 4 sequences per replica and, like PALM, "
               "runs matrix products at the peak. The models of 76 and 145 billion parameters do not "
               "fit the DRAM of PALM's configuration; they are run anyway "
               "(`capacity: ignore`), and the part `published` states what is missing.")
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
