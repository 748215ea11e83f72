#!/usr/bin/env python3
"""Runs CASE/experiment.yaml and compares its numbers with CASE/expected.json.

    run_case.py TESSERA CASE [--update]

Counts and times are exact; the shares of the breakdown may differ by the tolerance in the file.
With --update the file is written anew: look at the difference before it is committed.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

EXACT = ["iteration_time_ps", "ideal_time_ps", "tiles", "messages", "packet_hops"]
TOLERANCE = 1e-6


def shares(group):
    return {name: value["share"] for name, value in group.items() if isinstance(value, dict)}


def numbers_of(tessera, case):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "run"
        subprocess.run([tessera, "run", "experiment.yaml", "-o", str(folder), "--quiet",
                        "--trace", "none"], cwd=case, check=True, stdout=subprocess.DEVNULL,
                       timeout=120)
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    numbers = {key: summary[key] for key in EXACT}
    numbers["shares"] = {"total": shares(summary["breakdown"]["total"])}
    for stage in summary["breakdown"]["stages"]:
        numbers["shares"][stage["name"]] = shares(stage)
    return numbers


def differences(expected, got):
    for key in EXACT:
        if got[key] != expected[key]:
            yield "%s: expected %s, got %s" % (key, expected[key], got[key])
    if sorted(got["shares"]) != sorted(expected["shares"]):
        yield "groups: expected %s, got %s" % (sorted(expected["shares"]), sorted(got["shares"]))
        return
    for group, activities in expected["shares"].items():
        for activity in sorted(set(activities) | set(got["shares"][group])):
            want, have = activities.get(activity), got["shares"][group].get(activity)
            if want is None or have is None or abs(want - have) > expected["tolerance"]:
                yield "share of %s in %s: expected %s, got %s" % (activity, group, want, have)


def main():
    words = [word for word in sys.argv[1:] if word != "--update"]
    if len(words) != 2:
        raise SystemExit(__doc__)
    case = pathlib.Path(words[1])
    got = numbers_of(str(pathlib.Path(words[0]).resolve()), case)
    file = case / "expected.json"
    if "--update" in sys.argv:
        text = json.dumps(dict(tolerance=TOLERANCE, **got), indent=2)
        file.write_text(text + "\n", encoding="utf-8")
        return 0
    found = list(differences(json.loads(file.read_text(encoding="utf-8")), got))
    for difference in found:
        print(difference)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
