"""Broken configurations and request files of services, each refused with one message and its place."""

import re
import subprocess
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from page import ROOT, beside

CASES = ROOT / "tests" / "config_errors"
MESSAGE = re.compile(r"^(?P<place>(?P<file>[^:\n]+):\d+:\d+): error: (?P<what>[^\n]+)\n$")
LEAST = 35  # traces and configurations, as asked for
INPUT = 2  # what the program ends with where what it was given is wrong
REDUCED = 16  # one in so many in the reduced form


@dataclass(frozen=True)
class Refusal:
    case: str
    place: str
    what: str
    faults: tuple  # of how it was refused

    @property
    def of_requests(self):
        """Whether a file of requests is wrong, and not the configuration that names it."""
        return self.place.startswith("requests/")


def faults_of(done, expected, output):
    if done.returncode != INPUT:
        yield f"exit code {done.returncode}"
    if done.stdout:
        yield "text on standard output"
    if not MESSAGE.match(done.stderr):
        yield "not one message with a place"
    if done.stderr != expected:
        yield "another message than the test has"
    if output.exists():
        yield "a run folder was written"


def refused(program, folder, case):
    """What a run of the case says, from the folder of cases."""
    output = folder / case
    done = subprocess.run([Path(program).resolve(), "run", f"{case}.yaml", "-o", output], cwd=CASES,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    expected = (CASES / f"{case}.expected").read_text(encoding="utf-8")
    found = MESSAGE.match(done.stderr)
    place, what = (found["place"], found["what"]) if found else ("", done.stderr.strip())
    return Refusal(case, place, what, tuple(faults_of(done, expected, output)))


def row_of(report, one):
    held = report.bound(not one.faults, f"refusal of {one.case}: " + (", ".join(one.faults) or "one message with its place"))
    where = one.place.removeprefix(f"{one.case}.yaml:")  # of the configuration itself: line and column are enough
    return (f"`{one.case.removeprefix('serving_')}`", f"`{where.removeprefix('requests/')}`",
            "`" + one.what.replace("|", "\\|") + "`", held)


def sections(report, program, folder, setting):
    report.say("## Serving: what is refused")
    report.say()
    report.say("Runs of every invalid configuration of a service in `tests/config_errors` (`serving_*`) and of every "
               "invalid file of requests there. Each run must end with exit code 2, print exactly one line with file, "
               "line, column and what is wrong, as the test suite has it, and write nothing. The table gives the "
               "place in the file of requests or, for configurations, line and column in the case itself.")
    report.say()
    cases = sorted(path.stem for path in CASES.glob("serving_*.yaml"))[::REDUCED if setting.reduced else 1]
    found = beside([partial(refused, program, folder, case) for case in cases])
    for title, of_requests in (("Files of requests", True), ("Configurations", False)):
        some = [one for one in found if one.of_requests == of_requests]
        report.say(f"### {title}: {len(some)}")
        report.say()
        report.table(("case", "place", "message", "one line, exit code 2, nothing written"),
                     [row_of(report, one) for one in some])
    if not setting.reduced:
        report.say("Invalid files of requests and configurations: "
                   f"{report.at_least(len(found), LEAST, 'refusals', '{}')}.")
        report.say()
