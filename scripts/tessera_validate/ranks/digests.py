"""One digest on 1, 2, 3 and 4 ranks, under every synchronization and cut."""

from ranks.cases import Case, Runs

SYNCHRONIZATIONS = ("promise", "window", "null-message")
CUTS = ("auto", "replicas", "stages", "groups", "traffic", "blocks", "stripes", "columns", "metis")


def sections(report, program, folder, setting):
    report.say("## Digests")
    report.say()
    runs = Runs(program, folder)
    names = ("quickstart",) if setting.reduced else ("quickstart", "grayskull_tiny")
    rows = []
    for case in [Case(name, 0) for name in names]:
        expected = runs.run(case, 1)["result_digest"]
        for ranks in (3,) if setting.reduced else (2, 3, 4):
            for synchronization in SYNCHRONIZATIONS:
                # Without promises a run on a cut through tensor groups takes minutes.
                few = setting.reduced or (case.name != "quickstart" and synchronization != "promise")
                cuts = ("groups",) if few else CUTS
                for cut in cuts:
                    settings = (f"run.partition={cut}", f"run.synchronization={synchronization}",
                                "run.idle_ranks=false")
                    summary = runs.run(case, ranks, settings, may_refuse=True)
                    holds = "cannot be cut so" if summary is None else report.bound(
                        summary["result_digest"] == expected,
                        f"{case.name}: digest on {ranks} ranks, {cut}, {synchronization}")
                    rows.append([case.name, ranks, cut, synchronization, holds])
    report.table(["experiment", "ranks", "cut", "synchronization", "digest of one rank"], rows)
