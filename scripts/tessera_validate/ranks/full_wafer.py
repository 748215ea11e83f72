"""A stack of passes over a whole wafer: a load for the simulator."""

from ranks.cases import HEAD, Case, Runs, gain_row, scale_table

CASE = Case("full_wafer", 1.5, 3, turns=3)
EVENTS_A_CPU_S = 18e6  # of an earlier version


def sections(report, program, folder, setting):
    report.say("## The full wafer as a load")
    report.say()
    if setting.reduced:
        return
    runs = Runs(program, folder)

    def predictions():
        return runs.scale(CASE, "2,16,64,211", "auto")

    report.table(HEAD, [gain_row(report, runs, CASE, setting, predictions)])
    scale_table(report, CASE, predictions(), {}, {2: 1.60, 16: 8.1, 64: 17.2, 211: 23.3})
    if not setting.counts_only:
        one = runs.fastest[CASE.name, 1]
        rate = report.at_least(one["events"] / one["cpu_s"] / 1e6, EVENTS_A_CPU_S / 1e6,
                               "full_wafer: million events a processor second")
        report.say(f"One rank: {rate} million events a processor second.")
        report.say()
