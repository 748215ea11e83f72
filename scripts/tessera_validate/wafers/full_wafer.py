"""The full wafer on one rank: counts, speed and memory."""

from page import Runner


def sections(report, program, folder, setting):
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
