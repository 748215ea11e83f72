"""Runs of tessera-bench."""

import json

from page import call, launched


class Bench:
    def __init__(self, program):
        self.program = program

    def run(self, words, ranks=1, threads=1, policy="window", repeat=1, timeout=None):
        """One run's JSON object. `words`: the case and its options, as one text.

        One kind of rank at a time: `ranks` are processes, `threads` threads of one.
        """
        options = ["--policy", policy, "--repeat", str(repeat), "--threads", str(threads), "--json"]
        done = call(launched(ranks, [self.program, *split(words), *options]), timeout=timeout)
        return json.loads(done.stdout)


def split(words):
    """Words of a text in which 'single quotes' hold a word together."""
    parts = words.split("'")
    found = []
    for place, part in enumerate(parts):
        found += [part] if place % 2 else part.split()
    return found


def millions(value, digits=2):
    return f"{value / 1e6:.{digits}f}"


def result_of(run):
    """What must not depend on ranks, policy or engine."""
    return {key: run[key] for key in ("events", "simulated_ps", "digest", "hops") if key in run}
