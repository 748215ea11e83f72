#!/usr/bin/env python3
"""Holds the workflow of hosted machines to the tree: hosted.py REPOSITORY TESSERA."""
import json
import os
import pathlib
import re
import subprocess
import sys

import yaml


def commands_of(workflow):
    for job in workflow["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        for step in job["steps"]:
            for line in step.get("run", "").splitlines():
                for preset in matrix.get("preset", [""]):
                    for command in matrix.get("command", [""]):
                        yield (line.replace("${{ matrix.preset }}", preset)
                               .replace("${{ matrix.command }}", command), preset)


def tests_of(folder, *words):
    """Tests by name, with their labels."""
    said = subprocess.run(["ctest", "--show-only=json-v1", *words], cwd=folder, check=True, capture_output=True, text=True)
    return {test["name"]: {label for each in test.get("properties", ()) if each["name"] == "LABELS" for label in each["value"]}
            for test in json.loads(said.stdout)["tests"]}


def in_long_set(folder):
    """What `ctest` without a configuration leaves out."""
    usual = tests_of(folder)
    return {name: labels for name, labels in tests_of(folder, "-C", "long").items() if name not in usual}


def runs(line, name, labels):
    """Whether a command with `scripts/test --long` runs a test."""
    wanted, left_out = (re.findall(rf" {option} '?([^' ]+)", line) for option in ("-L", "-E"))
    return all(any(re.search(each, label) for label in labels) for each in wanted) and \
        not any(re.search(each, name) for each in left_out)


def check_long_set(tests, lines):
    """All of it runs by some command; other toolchains have a job, and compile_time wants a machine of its own."""
    commands = [line for line in lines if line.startswith("scripts/test --long")]
    for name, labels in tests.items():
        assert "long" in labels, f"{name} is in the long set without its label, so that scripts/test --long leaves it out"
        elsewhere = name.startswith("package.toolchain_") or name == "house.compile_time"
        assert elsewhere or any(runs(line, name, labels) for line in commands), f"no job runs {name}"
    assert tests, "no long set"


def main():
    repository = pathlib.Path(sys.argv[1])
    workflow = yaml.safe_load((repository / ".github/workflows/gate.yml").read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}, "a workflow may read, and no more"
    presets = {preset["name"] for preset in json.loads(
        (repository / "CMakePresets.json").read_text(encoding="utf-8"))["configurePresets"]}
    called = set()
    for line, preset in commands_of(workflow):
        assert not preset or preset in presets, f"no preset {preset}"
        for word in re.findall(r"scripts/\S+", line):
            script = repository / word
            assert os.access(script, os.X_OK), f"{word} is no program"
            called.add(word)
            options = re.findall(r" (--[a-z-]+)", line)
            text = script.read_text(encoding="utf-8") + subprocess.run(
                [script, "--help"], capture_output=True, text=True, check=False).stdout if options else ""
            assert all(option in text for option in options), f"{word} does not know all of {options}"
    check_long_set(in_long_set(pathlib.Path(sys.argv[2]).resolve().parent), [line for line, _ in commands_of(workflow)])
    wanted = {"scripts/gate.sh", "scripts/test", "scripts/toolchains", "scripts/fuzz", "scripts/soak.sh", "scripts/coverage",
              "scripts/mutate"}
    assert wanted <= called, wanted - called


if __name__ == "__main__":
    main()
