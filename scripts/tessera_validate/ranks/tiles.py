"""Experiments of the PALM paper in which every tile is simulated."""

from ranks.cases import FOUR_HEAD, HEAD, Case, Runs, four_row, gain_row

EVERY_TILE = ("strategy.aggregation=none", "run.replay=none")
CASES = [
    Case("palm_wafer_t_145b", 1.35, 3, EVERY_TILE, turns=3),
    Case("palm_wafer_t_18b", 1.35, 3, EVERY_TILE),
    Case("dojo_tile_gpt2_small", 1.3, 5),
    Case("grayskull_tiny", 1.2, 5),
]


def sections(report, program, folder, setting):
    report.say("## Tiles")
    report.say()
    if setting.reduced:
        return
    report.say("T-145B and T-18B with `strategy.aggregation=none` and `run.replay=none`.")
    report.say()
    runs = Runs(program, folder)
    report.table(HEAD, [gain_row(report, runs, case, setting) for case in CASES])
    report.say("Four ranks on two processors: only two of the ranks work, unless all are told to.")
    report.say()
    report.table(FOUR_HEAD, [four_row(report, runs, case, setting) for case in CASES[1:]])
