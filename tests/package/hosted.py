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
    wanted = {"scripts/gate.sh", "scripts/toolchains", "scripts/fuzz", "scripts/soak.sh", "scripts/coverage",
              "scripts/mutate"}
    assert wanted <= called, wanted - called


if __name__ == "__main__":
    main()
