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


@check
def a_rank_that_works_alone_meets_nobody(program):
    """Beside one that is idle: it had a round for every 64 events once somebody had rung."""
    done = program.call("run", EXPERIMENTS / "quickstart.yaml", "-q", "-o", program.folder, ranks=2)
    expect(done.returncode == 0, done.stderr_text)
    summary = program.summary()
    expect(summary["ranks"] == 1, "ranks that work: %d" % summary["ranks"])
    expect(summary["rounds"] < 100, "rounds: %d" % summary["rounds"])
