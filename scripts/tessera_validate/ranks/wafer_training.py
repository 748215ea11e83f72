"""Every tile of a wafer at work in a training step, on one rank and two."""

from ranks.cases import EXPLANATION, HEAD, Case, Runs, gain_row, scale_table

CASE = Case("wafer_training", 1.7, 3, repeats=1, turns=1)


def sections(report, program, folder, setting):
    report.say("## A training step on a whole wafer")
    report.say()
    if setting.reduced:
        return
    report.say(EXPLANATION)
    report.say()
    runs = Runs(program, folder)

    def predictions():
        return runs.scale(CASE, "2", "auto")

    report.table(HEAD, [gain_row(report, runs, CASE, setting, predictions)])
    one = runs.fastest[CASE.name, 1]
    share = 100 * one["achieved_flops_per_s"] / one["peak_flops_per_s"]
    report.table(["experiment", "of the machine's peak [%]"], [[CASE.name, f"{share:.1f}"]])
    scale_table(report, CASE, predictions(), {}, {})
