"""Experiments that are shipped are what the program takes."""
from program import HERE, check, expect

EXPERIMENTS = HERE.parents[1] / "configs" / "experiments"


@check
def shipped_experiments_can_be_run(program):
    experiments = sorted(EXPERIMENTS.glob("*.yaml"))
    expect(len(experiments) > 15, "experiments are missing: %s" % experiments)
    for experiment in experiments:
        done = program.call("check", experiment)
        expect(done.returncode == 0, "%s: %s" % (experiment.name, done.stderr_text))
