"""Digests that pages and documents state, each held against what it is the digest of:

- an experiment of which results/digests.md has a row, which `rows.stale` holds against the program. It is the one
  that the row of the table names, by path or in its first cell, or that the part names last before;
- the same with other settings, which the row names (`--set`): it is run;
- what the part makes itself (OWN): its module has `workloads(program, folder)`, which gives (first cell of the row,
  experiment, options), and these are run.

What is none of them is a fault. On one rank, as any number of ranks gives the same. A part that takes an hour or more
may say of itself that it is out of date (OUT_OF_DATE), until it is made again: its digests need not agree then, but
one of them must not, so that the line goes when the part is.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import made
from catalogue import PAGES
from digests import rows
from page import ROOT, Runner

DOCUMENTS = ("*.md", "configs/**/*.md", "docs/**/*.md", "python/**/*.md", "results/*.md", "workloads/**/*.md")
# Of what was, and the page that others are held against.
LEFT_OUT = ("CHANGELOG.md", "results/digests.md")
# Whole, or its first digits and an ellipsis.
LEAST = 8
DIGEST = re.compile(rf"(?<![\w-])([0-9a-f]{{32}}|[0-9a-f]{{{LEAST},31}}(?=…|\.\.\.))(?![\w-])")
EXPERIMENT = re.compile(rf"\b((?:{'|'.join(rows.FOLDERS)})/[\w-]+\.yaml)\b")
OUT_OF_DATE = "*Out of date: "  # begins a line of a part
SETTING = re.compile(r"--set[ =]([^\s`|]+)")
# Parts that make experiments: with which part of results/digests.md what they state is held, or ONNX for what takes
# python3-onnx to make.
ONNX = "onnx"
OWN = {("wafers", "tiled"): "cheap", ("npu", "ranks"): ONNX}


@dataclass(frozen=True)
class Stated:
    file: str
    line: int
    part: str          # of a page; none in other documents
    label: str         # the first cell of the row; none outside tables
    digest: str
    experiment: str    # path from the root; none where nothing names one
    settings: tuple    # those that the row names
    is_old: bool = False  # its part says that it is out of date

    @property
    def place(self):
        return f"{self.file}:{self.line}"

    @property
    def page(self):
        return Path(self.file).stem

    @property
    def again(self):
        """What makes it again."""
        page = PAGES.get(self.page)
        return f"{page.command_of(self.part)} --update" if page and self.part else "it is to be mended there"

    def agrees(self, digest):
        return len(self.digest) >= LEAST and digest.startswith(self.digest)


def cells_of(line):
    return [cell.strip().replace("`", "") for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []


def named_in(line):
    """The experiment that a line names last, by its path or as tables of runs do."""
    paths = [path for path in EXPERIMENT.findall(line) if (ROOT / path).is_file()]
    if paths:
        return paths[-1]
    of_run = re.match(r"experiment +([\w-]+)$", line)
    return by_name(of_run[1]) if of_run else ""


def by_name(name):
    found = [f"{folder}/{name}.yaml" for folder in rows.FOLDERS if re.fullmatch(r"[\w-]+", name)]
    return next((path for path in found if (ROOT / path).is_file()), "")


def digests_in(line, part, cells, head):
    """In parts of pages also what stands in place of one: in a column `digest`, and in a row of that name."""
    found = DIGEST.findall(line)
    if part and not found and cells and not re.fullmatch(r"[|\s:-]+", line):
        own = cells[1:2] if cells[0].startswith("digest") else [
            cell for cell, name in zip(cells, head) if name == "digest"]
        return [f"'{cell}'" for cell in own if cells != head]
    return found


def old_parts(text):
    part, found = "", set()
    for line in text.splitlines():
        begun = re.match(r"<!-- part (\S+) -->", line)
        part = begun[1] if begun else part
        if line.startswith(OUT_OF_DATE):
            found.add(part)
    return found


def stated_in(file, text):
    """All that a page or document states."""
    old = old_parts(text)
    part, last, last_settings, head, found = "", "", (), [], []
    for number, line in enumerate(text.splitlines(), 1):
        begun = re.match(r"<!-- part (\S+) -->", line)
        if begun:
            part, last, last_settings = begun[1], "", ()
        cells = cells_of(line)
        head = (head or cells) if cells else []
        label = cells[0] if cells else ""
        named, settings = named_in(line), tuple(SETTING.findall(line))
        digests = digests_in(line, part, cells, head)
        if digests:
            own = named or by_name(label)
            found += [Stated(file, number, part, label, digest, own or last, settings or (() if own else last_settings),
                             part in old) for digest in dict.fromkeys(digests)]
        elif named:
            last, last_settings = named, settings
    return found


def documents():
    return sorted({path for pattern in DOCUMENTS for path in ROOT.glob(pattern)
                   if str(path.relative_to(ROOT)) not in LEFT_OUT})


def stated():
    return [one for path in documents()
            for one in stated_in(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))]


def rows_of_page():
    """The digests of results/digests.md, by experiment."""
    return {name: digest for block in made.read(PAGES["digests"]).values()
            for name, digest in rows.ROW.findall(block)}


def faults(given, known):
    """What is wrong with digests without a run: they are not those of results/digests.md, or nothing holds them."""
    old = {(one.file, one.part): True for one in given if one.is_old}
    for one in given:
        if (one.page, one.part) in OWN:
            old.pop((one.file, one.part), None)
            continue
        if one.is_old and not one.settings and one.experiment in known and not one.agrees(known[one.experiment]):
            old[one.file, one.part] = False
            continue
        if not one.experiment:
            yield f"{one.place}: {one.digest}: no experiment is named that it is the digest of, so that nothing holds it"
        elif one.settings:
            continue
        elif one.experiment not in known:
            yield f"{one.place}: {one.digest}: results/digests.md has no row of {one.experiment}, so that nothing holds it"
        elif not one.agrees(known[one.experiment]):
            yield (f"{one.place}: {one.digest} for {one.experiment}, where results/digests.md has "
                   f"{known[one.experiment]}; {one.again}")
    for (file, part), agrees in old.items():
        if agrees:
            yield f"{file}: part {part} says that it is out of date, and its digests are those of results/digests.md"


def compared(one, digest):
    if not one.is_old and not one.agrees(digest):
        yield f"{one.place}: {one.label or one.experiment}: {one.digest}, and the program gives {digest}; {one.again}"


def part_of(experiment):
    return rows.SLOW.get(experiment, ("cheap",))[0]


def with_settings(given, part, runner):
    """Faults of experiments with other settings, of those that belong to the part of results/digests.md."""
    for one in given:
        if one.settings and one.experiment and (one.page, one.part) not in OWN and part_of(one.experiment) == part:
            words = tuple(word for setting in one.settings for word in ("--set", setting))
            yield from compared(one, runner.run(str(ROOT / one.experiment), 1,
                                                (*words, *rows.TRACELESS))["result_digest"])


def of_workloads(own, workloads, runner):
    """Faults of a part that makes its experiments itself; `own` are the digests that it states."""
    by_label = {label.replace("`", ""): (experiment, options) for label, experiment, options in workloads}
    for one in own:
        if one.label not in by_label:
            yield f"{one.place}: {one.digest}: its part makes no '{one.label}', so that nothing holds it; {one.again}"
            continue
        experiment, options = by_label[one.label]
        if "--trace" not in options:
            options = (*options, *rows.TRACELESS)
        yield from compared(one, runner.run(experiment, 1, tuple(options))["result_digest"])


def stale(part, program, folder):
    """Faults of what is held with a part of results/digests.md and has no row there."""
    given = stated()
    yield from with_settings(given, part, Runner(program, Path(folder)))
    for (page, own), held in OWN.items():
        if held == part:
            scratch = Path(folder) / f"{page}-{own}"
            scratch.mkdir()
            module = PAGES[page].module(own)
            yield from of_workloads([one for one in given if (one.page, one.part) == (page, own)],
                                    module.workloads(program, scratch), Runner(program, scratch))
