"""One digest of whole experiments on 1 to 4 ranks, under both policies and with every partition."""

from pathlib import Path

from measured import measured

RANKS = (1, 2, 3, 4)
POLICIES = ("window", "null-message")
PARTITIONS = ("blocks", "metis", "stripes", "columns")
PARALLEL = "tests/parallel"
DIGESTED = ["quickstart", "grayskull_tiny", *(f"{PARALLEL}/{name}.yaml" for name in (
    "analytical", "dgx_graph", "mesh_packet", "torus_yx", "wafer_full"))]
DIGESTED_REDUCED = [f"{PARALLEL}/mesh_packet.yaml"]


def digests(report, tools, setting):
    report.say("## Equal results on any number of ranks")
    report.say()
    report.say("Command: `mpirun -n RANKS build/release/tessera run EXPERIMENT --synchronization POLICY "
               "--partition PARTITION --set run.idle_ranks=false`, `result_digest` of summary.json; RANKS are " +
               ("3" if setting.reduced else "1, 2, 3 and 4") +
               ", each with both policies. `blocks` and `columns` apply to grids only.")
    report.say()
    rows = []
    for experiment in DIGESTED_REDUCED if setting.reduced else DIGESTED:
        path = str(tools.root / experiment) if "/" in experiment else experiment
        name = Path(experiment).stem
        expected = tools.runner.run(path)["result_digest"]
        row, differing = [name, f"`{expected}`"], []
        runs = 1
        for partition in PARTITIONS:
            if not fits(tools.runner, path, partition):
                row.append("–")
                continue
            equal = 0
            variants = [(ranks, policy) for ranks in ((3,) if setting.reduced else RANKS)
                        for policy in POLICIES]
            for ranks, policy in variants:
                extra = ("--synchronization", policy, "--partition", partition)
                same = tools.runner.run(path, ranks, extra)["result_digest"] == expected
                equal += same
                if not same:
                    differing.append(f"{ranks} ranks, {policy}, {partition}")
            runs += len(variants)
            row.append(f"{equal} of {len(variants)}")
        said = report.bound(not differing, f"{name}: one digest in {runs} runs" +
                            (f"; others on {'; '.join(differing)}" if differing else ""))
        rows.append([*row, said])
    report.table(["experiment", "digest", *(f"`{name}`" for name in PARTITIONS), "equal"], rows)


def fits(runner, path, partition):
    return runner.check(path, ["--partition", partition], (0, 2)).returncode == 0


sections = measured(digests)
