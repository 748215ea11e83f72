"""Experiments of the pages on wafers and clusters, made from parts of configs/ and workloads/."""

import json
import subprocess
from pathlib import Path

from page import ROOT, Runner


def off(ours, reference):
    """[%], without sign."""
    return 100 * abs(ours - reference) / reference


def settings(*words):
    return tuple(part for word in words for part in ("--set", word))


class Experiments:
    def __init__(self, program, folder):
        self.runner = Runner(program, folder)
        self.folder = Path(folder)

    def write(self, name, machine, workload, strategy):
        """The path of an experiment with the machine and workload of these names."""
        path = self.folder / f"{name}.yaml"
        experiment = {"name": name, "machine": str(ROOT / f"configs/machines/{machine}.yaml"),
                      "workload": str(ROOT / f"workloads/{workload}.yaml"), "strategy": strategy,
                      "run": {"trace": "none"}}
        path.write_text(json.dumps(experiment), encoding="utf-8")
        return str(path)

    def run(self, experiment, *words, ranks=1):
        return self.runner.run(experiment, ranks, ("--trace", "none", *settings(*words)))

    def traffic(self, experiment, *words):
        """What `tessera check` says of the traffic of an iteration, and of the links, by name."""
        text = self.runner.check(experiment, settings(*words)).stdout
        found = {}
        for line in text.split("# traffic of one iteration", 1)[1].splitlines()[2:]:
            if not line.strip():
                break
            words_of_line = line.split()
            found[words_of_line[0]] = {"hops": float(words_of_line[-3]),
                                       "most": int(words_of_line[-2]),
                                       "time_s": float(words_of_line[-1])}
        links = [line for line in text.splitlines() if line.startswith("directed links  ")]
        found["links"] = int(links[0].split()[-1])
        return found


class MessagePrograms:
    """build/*/tests/message_programs on a machine file."""

    def __init__(self, program):
        self.program = Path(program).resolve().parent / "tests" / "message_programs"

    def run(self, machine, words, *keys, ranks=1):
        """(simulated time [ps], messages, link traversals)"""
        command = [self.program, ROOT / f"configs/machines/{machine}.yaml", *keys, f"ranks={ranks}",
                   "--", *words]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              check=True)
        return tuple(int(word) for word in done.stdout.split())
