"""The design note on silently wrong answers names a test for each promise: every one of them is there."""
import json
import re
import subprocess

PAGE = "docs/design/0029-no-silent-answers.md"
NAME = re.compile(r"`([A-Za-z]\w*\.[\w.]+)`")
CASE = re.compile(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", re.MULTILINE)
CHECK = re.compile(r"^@check\ndef (\w+)\(", re.MULTILINE)


def named(text):
    """Names in the last column of the tables, row by row."""
    for line in text.splitlines():
        if line.startswith("| ") and " held by |" not in line:
            yield line, NAME.findall(line.rstrip("| ").rsplit("|", 1)[-1])


def tests_there(tessera, repository):
    listed = subprocess.run(["ctest", "--test-dir", str(tessera.parent), "-C", "long", "--show-only=json-v1"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True).stdout
    there = {test["name"] for test in json.loads(listed)["tests"]}
    for source in (repository / "tests" / "unit").rglob("*.cpp"):
        there |= {f"{suite}.{case}" for suite, case in CASE.findall(source.read_text(encoding="utf-8"))}
    for source in (repository / "tests" / "cli").glob("checks_*.py"):
        there |= {f"{source.stem}.{check}" for check in CHECK.findall(source.read_text(encoding="utf-8"))}
    return there


def promises(tessera, repository):
    text = (repository / PAGE).read_text(encoding="utf-8")
    there = tests_there(tessera, repository)
    rows = list(named(text))
    if len(rows) < 20:
        yield f"{PAGE}: only {len(rows)} rows are read"
    for line, names in rows:
        if not names:
            yield f"{PAGE}: no test in '{line[:80]}'"
        for name in names:
            if name not in there:
                yield f"{PAGE}: no test {name}"
