"""Shipped experiments on 1, 2, 3 and 4 ranks: equal digests, and wall times."""

from page import Runner
from wafers.shipped import EVERY_TILE

# Experiments and settings. Every example runs as it is; those in which a tile stands for its group
# once more with every tile, and a batch small enough for ranks that share processors.
SMALL = [("quickstart", ()), ("palm_boundary", ()), ("grayskull_tiny", ())]
PALM = ("palm_wafer_t_18b", "palm_wafer_t_76b", "palm_wafer_t_145b")
LARGE = [("dojo_tile_gpt2_small", ()),
         ("dojo_tile_gpt2_small", (*EVERY_TILE, "--set", "workload.batch=32")),
         *((name, ()) for name in PALM),
         *((name, (*EVERY_TILE, "--set", "workload.batch=16")) for name in PALM),
         ("cluster_16384", ()),
         ("full_wafer", ())]
RANKS = (1, 2, 3, 4)


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    experiments = SMALL[:2] if setting.reduced else SMALL + LARGE
    report.say("## Equal results on 1, 2, 3 and 4 ranks")
    report.say()
    report.say("Command: `mpirun -n N build/release/tessera run configs/experiments/NAME.yaml --set "
               "run.idle_ranks=false`, `result_digest` of summary.json. All ranks work, also where that "
               "does not pay: without this setting ranks for which no cut pays off stay idle, and small "
               "experiments take as long as on one rank. With more ranks than processors, ranks share them.")
    report.say()
    rows = []
    for name, settings in experiments:
        summaries = [runner.run(name, ranks, settings) for ranks in RANKS]
        found = [summary["result_digest"] for summary in summaries]
        rows.append([name, " ".join(settings), found[0],
                     " / ".join(f"{summary['wall_s']:.1f}" for summary in summaries),
                     report.bound(len(set(found)) == 1, f"{name}: one digest on {RANKS} ranks")])
    report.table(["experiment", "settings", "digest", "wall time on 1 / 2 / 3 / 4 ranks [s]",
                  "equal"], rows)
