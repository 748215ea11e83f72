"""The digest of each experiment that is shipped, and of those of tests/parallel, as rows of a part.
`stale` holds a program against them; the test suite calls it.
"""

import re
from pathlib import Path

from made import read
from page import ROOT, Runner

# Of an experiment that does not run within 2 s on one rank: its part, and the ranks that it runs on.
SLOW = {"configs/experiments/serving.yaml": ("long", (1, 2)),
        "configs/experiments/cluster_16384.yaml": ("long", (1, 2)),
        "configs/experiments/full_wafer.yaml": ("long", (1,)),
        "configs/experiments/wafer_training.yaml": ("wafer", (1,))}
FOLDERS = ("configs/experiments", "tests/parallel")
ROW = re.compile(r"^\| (\S+\.yaml) \| [\d, ]+ \| ([0-9a-f]{32}) \|", re.MULTILINE)
TRACELESS = ("--trace", "none")


def is_experiment(path):
    return re.search(r"^workload:", path.read_text(encoding="utf-8"), re.MULTILINE) is not None


def experiments(part):
    """(path from the root, ranks) of those that belong to the part."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.yaml"))]
    names = [str(path.relative_to(ROOT)) for path in paths if is_experiment(path)]
    found = [(name, *SLOW.get(name, ("cheap", (1, 2)))) for name in names]
    return [(name, ranks) for name, own, ranks in found if own == part]


def part_of(part):
    def sections(report, program, folder, setting):
        report.say(f"## {part.capitalize()}")
        report.say()
        if setting.reduced and part != "cheap":
            return
        runner, rows = Runner(program, folder), []
        for name, ranks in experiments(part)[:2 if setting.reduced else None]:
            summaries = [runner.run(str(ROOT / name), each, TRACELESS) for each in ranks]
            found = {summary["result_digest"] for summary in summaries}
            report.bound(len(found) == 1, f"{name}: one digest on {ranks} ranks")
            rows.append([name, ", ".join(map(str, ranks)), summaries[0]["result_digest"]])
        report.table(["experiment", "ranks", "digest"], rows)
    return sections


def stale(page, part, program, folder, elsewhere=()):
    """What is wrong with the rows of a part, each with the command that makes them again. Experiments of `elsewhere`
    have rows; whether these are right, others hold."""
    again = f"scripts/validate digests --part {part} --update"
    stated = dict(ROW.findall(read(page).get(part, "")))
    present = [name for name, _ in experiments(part)]
    for name in sorted(set(stated) ^ set(present)):
        yield f"{name}: {'no such experiment' if name in stated else 'no row'} in {page.path.name}; {again}"
    runner = Runner(program, Path(folder))
    for name in (one for one in present if one not in elsewhere):
        digest = runner.run(str(ROOT / name), 1, TRACELESS)["result_digest"]
        if name in stated and digest != stated[name]:
            yield f"{name}: the digest is {digest}, {page.path.name} says {stated[name]}; {again}"
