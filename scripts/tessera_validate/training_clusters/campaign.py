"""A training of weeks: goodput beside what Meta published of Llama 3."""

import json

from page import ROOT, call

LLAMA3 = ROOT / "configs" / "campaigns" / "llama3_405b.yaml"
RESTARTS = (60, 300, 600, 900, 1200)  # s


def outlook(program, *settings):
    words = [word for setting in settings for word in ("--set", setting)]
    return json.loads(call([str(program), "campaign", str(LLAMA3), "--json", *words]).stdout)


def sections(report, program, folder, setting):
    report.say("## Llama 3 over 54 days")
    report.say()
    report.say("Command: `tessera campaign configs/campaigns/llama3_405b.yaml`. Published (arXiv:2407.21783, section "
               "3.3.4): 419 unexpected interruptions in 54 days on 16384 GPUs, and an effective training time of more "
               "than 90 %. The failure rate is taken from that figure, and the checkpoint's duration from the storage "
               "bandwidth. The duration of a restart is not published, so each row assumes a possible value, and the "
               "table does not test a number that was not an input.")
    report.say()
    table = []
    for restart in RESTARTS:
        found = outlook(program, f"restart={restart}")
        drawn = found["drawn"]
        within = abs(drawn["mean_s"] - found["time_s"]) <= 3 * drawn["standard_error_s"]
        table.append([restart, f"{found['interval_s']:.0f}", f"{100 * found['goodput']:.2f}",
                      f"{100 * found['work_s'] / drawn['mean_s']:.2f}",
                      f"{100 * found['lost_s'] / found['time_s']:.2f}",
                      f"{100 * found['checkpoints_s'] / found['time_s']:.2f}",
                      f"{100 * found['restarts_s'] / found['time_s']:.2f}", f"{found['failures']:.0f}"])
        report.bound(within, f"Llama 3, restart of {restart} s: {drawn['mean_s']:.0f} s drawn, {found['time_s']:.0f} s "
                             "expected, within three standard errors")
    report.table(["restart [s]", "checkpoint every [s]", "goodput [%]", "drawn [%]", "lost [%]", "checkpoints [%]",
                  "restarts [%]", "failures"], table)
    usual = outlook(program)
    report.bound(usual["goodput"] > 0.90, f"Llama 3: goodput {100 * usual['goodput']:.1f} %, published above 90 %")
    report.say(f"With an assumed restart of ten minutes, {100 * usual['goodput']:.1f} % of the time is useful work; "
               "the published value is above 90 %.")
    report.say()
