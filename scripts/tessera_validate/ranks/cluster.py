"""A cluster of 16 384 accelerators."""

from ranks.cases import HEAD, Case, Runs, gain_row, scale_table

CASE = Case("cluster_16384", 1.4, 3, turns=3)


def sections(report, program, folder, setting):
    report.say("## 16 384 accelerators")
    report.say()
    if setting.reduced:
        return
    runs = Runs(program, folder)

    def predictions():
        return runs.scale(CASE, "2,16,64", "auto")

    report.table(HEAD, [gain_row(report, runs, CASE, setting, predictions)])
    scale_table(report, CASE, predictions(), {}, {})
