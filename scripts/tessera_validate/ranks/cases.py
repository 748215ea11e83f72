"""Experiments on one rank and on two, and what `tessera scale` says of more."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from page import EXPERIMENTS, call, launched, summary_of

HEAD = ["experiment", "cut", "events", "one rank [s]", "two ranks [s]", "gain", "room", "meetings",
        "waits of a rank", "under perfect lookahead", "events that cross"]
FOUR_HEAD = ["experiment", "of four ranks work", "two ranks [s]", "four ranks [s]", "four over two"]
MOST_OF_FOUR = 1.25
ROOM = 1.9  # of two processors that nobody else uses
MOST_TURNS = 15  # while there is less, of cases that take seconds
EXPLANATION = (
    "Wall times are of the simulation alone (`wall_s` of summary.json): runs on one rank and on two "
    "alternate, three of each (one where they take tens of minutes), and the fastest of each counts. *room* shows "
    "whether two processors were available: how much more two one-rank runs do side by side than one "
    "alone, 2 where neither slows the other; no cut can gain more. Cases that take seconds are run up to "
    f"{MOST_TURNS} times while room is below {ROOM}. Meetings and waits are of the fastest run on two ranks, waits of "
    "the rank that waits most often; those under perfect lookahead are replayed by `tessera scale` for the same cut.")


@dataclass
class Case:
    """An experiment, the least gain on two ranks, and the most waits in those of perfect lookahead."""

    name: str
    gain: float
    waits: int = 0  # none
    settings: tuple = ()
    path: Path = None
    repeats: int = 3
    turns: int = MOST_TURNS  # at most

    @property
    def file(self):
        return self.path or EXPERIMENTS / f"{self.name}.yaml"

    @property
    def words(self):
        return [word for setting in self.settings for word in ("--set", setting)]


class Runs:
    def __init__(self, program, folder):
        self.program, self.folder, self.number = program, Path(folder), 0
        self.fastest = {}  # summary, by name and ranks
        self.scaled = {}  # predictions, by name, ranks and cut

    def run(self, case, ranks, settings=(), may_refuse=False):
        """The summary, as a user without further options gets it; none where the cut that is named
        cannot be made, and that may be."""
        self.number += 1
        output = self.folder / f"{case.name}-{ranks}-{self.number}"
        words = [self.program, "run", case.file, "-q", "-q", "-o", output, *case.words, "--trace",
                 "none"]
        for setting in settings:
            words += ["--set", setting]
        print(f"run     {case.name} on {ranks} rank(s) {' '.join(settings)}".rstrip(), flush=True)
        done = call(launched(ranks, words), (0, 2) if may_refuse else (0,))
        if done.returncode == 2 and "cannot cut" not in done.stderr:
            sys.exit(f"error: {case.name} on {ranks} ranks: {done.stderr}")
        if done.returncode != 0:
            return None
        summary = summary_of(output)
        known = self.fastest.get((case.name, ranks), summary)
        self.fastest[case.name, ranks] = min(known, summary, key=wall_of)
        return summary

    def side_by_side(self, case):
        """Wall time of the longer one of two runs of one rank at the same time."""
        sides = [Runs(self.program, self.folder / side) for side in ("left", "right")]
        for side in sides:
            side.folder.mkdir(exist_ok=True)
        with ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(side.run, case, 1) for side in sides]
            return max(run.result()["wall_s"] for run in runs)

    def scale(self, case, ranks, partition, event_time=None):
        """Predictions by numbers of ranks; made once. Without `event_time` an event costs what it does
        while they are made."""
        known = self.scaled.get((case.name, ranks, partition))
        if known:
            return known
        output = self.folder / f"{case.name}-scale.json"
        print(f"scale   {case.name} on {ranks} ranks, {partition}", flush=True)
        given = ("--event-time", event_time) if event_time else ()
        call([str(word) for word in (self.program, "scale", case.file, "--ranks", ranks, "--partition",
                                     partition, "-o", output, *given, *case.words)])
        report = json.loads(output.read_text(encoding="utf-8"))
        made = {row["ranks"]: row for row in report["predictions"]}
        self.scaled[case.name, ranks, partition] = made
        return made


def wall_of(summary):
    return summary["wall_s"]


def room(one, pairs):
    """How much more two runs of one rank do at the same time than one by itself; `pairs` [s]."""
    return 2 * min(map(wall_of, one)) / min(pairs)


def gain_row(report, runs, case, setting, predictions=None):
    """Of the table with HEAD; `predictions` gives those of `scale` for the same cut, once the runs are
    over: what is timed comes first, and alone."""
    one, two, pairs = [], [], []
    repeats, turns = (1, 1) if setting.counts_only else (case.repeats, case.turns)
    while len(one) < repeats or len(one) < turns and room(one, pairs) < ROOM:
        one.append(runs.run(case, 1))
        two.append(runs.run(case, 2))
        if repeats > 1:
            pairs.append(runs.side_by_side(case))
    report.bound(len({summary["result_digest"] for summary in one + two}) == 1,
                 f"{case.name}: one digest on 1 and 2 ranks")
    fastest = min(two, key=wall_of)
    best = [min(map(wall_of, summaries)) for summaries in (one, two)]
    gain = best[0] / best[1]
    gain_cell = f"{gain:.2f}" if setting.counts_only else report.at_least(
        gain, case.gain, f"{case.name}: two ranks against one", "{:.2f}")
    works = fastest["ranks"] == 2
    waits, perfect = fastest["waits"], ""
    waits_cell = f"{waits}"
    if case.waits and works:
        said = predictions() if predictions else runs.scale(case, "2", fastest["partition"])
        perfect = said[2]["perfect"]["waits"]
        waits_cell = report.at_most(waits, case.waits * perfect, f"{case.name}: waits", "{:.0f}")
    return [case.name, fastest["partition"] if works else "one rank", fastest["events"],
            f"{best[0]:.3f}", f"{best[1]:.3f}", gain_cell,
            f"{room(one, pairs):.2f}" if pairs else "", fastest["rounds"], waits_cell, perfect,
            fastest["remote_events"]]


def four_row(report, runs, case, setting):
    """Of the table with FOUR_HEAD: where there are two processors, four ranks against two."""
    two, four = [], []
    for _ in range(1 if setting.counts_only else case.repeats):
        two.append(runs.run(case, 2))
        four.append(runs.run(case, 4))
    report.bound(len({summary["result_digest"] for summary in two + four}) == 1,
                 f"{case.name}: one digest on 2 and 4 ranks")
    best = [min(map(wall_of, summaries)) for summaries in (two, four)]
    ratio = best[1] / best[0]
    cell = f"{ratio:.2f}" if setting.counts_only else report.at_most(
        ratio, MOST_OF_FOUR, f"{case.name}: time on four ranks over that on two", "{:.2f}")
    return [case.name, four[0]["ranks"], f"{best[0]:.3f}", f"{best[1]:.3f}", cell]


def scale_table(report, case, predictions, speed_ups, bounds, event_time=None):
    """What `tessera scale` says; `speed_ups` and `bounds`: at least, by numbers of ranks."""
    rows = []
    for ranks, row in sorted(predictions.items()):
        if ranks == 1:
            continue
        speed_up = f"{row['speed_up']:.2f}"
        if ranks in speed_ups:
            speed_up = report.at_least(row["speed_up"], speed_ups[ranks],
                                       f"{case.name}: predicted on {ranks} ranks", "{:.2f}")
        bound = f"{row['bound']:.2f}"
        if ranks in bounds:
            bound = report.at_least(row["bound"], bounds[ranks],
                                    f"{case.name}: perfect lookahead on {ranks} ranks", "{:.2f}")
        reached = report.at_least(100 * row["speed_up"] / row["bound"], 90 if ranks == 2 else 70,
                                  f"{case.name}: % of perfect lookahead on {ranks} ranks", "{:.0f}")
        rows.append([ranks, row["ranks_at_work"], row["partition"], speed_up, bound, reached, row["promised"]["waits"],
                     row["perfect"]["waits"], row["remote_events"], f"{row['imbalance']:.2f}",
                     f"{row['largest_bytes'] / 2 ** 20:.0f}"])
    ranks = ",".join(str(ranks) for ranks in sorted(predictions) if ranks > 1)
    command = f"tessera scale configs/experiments/{case.name}.yaml --ranks {ranks}"
    report.say(f"`{command} --event-time {event_time}`:" if event_time else
               f"`{command}`, with the time of an event on one rank as measured in that run:")
    report.say()
    report.table(["ranks", "at work", "cut", "speed-up", "perfect lookahead", "% of it", "waits",
                  "under perfect lookahead", "events that cross", "imbalance", "memory a rank [MiB]"],
                 rows)
