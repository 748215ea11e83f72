"""Every tile of a wafer at work in a training step, predicted on many ranks."""

from ranks.cases import Runs, scale_table
from ranks.wafer_training import CASE

# A processor's time for an event on one rank, of the run that the part `wafer-training` first stated:
# predictions do not depend on what else the processors do while they are made.
EVENT_TIME = "74ns"


def sections(report, program, folder, setting):
    report.say("## A training step on a whole wafer, on many ranks")
    report.say()
    if setting.reduced:
        return
    made = Runs(program, folder).scale(CASE, "16,64,256", "auto", EVENT_TIME)
    scale_table(report, CASE, made, {16: 12, 64: 30, 256: 60}, {}, EVENT_TIME)
