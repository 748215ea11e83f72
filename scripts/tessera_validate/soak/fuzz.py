#!/usr/bin/env python3
"""Fuzzes the readers of files, guided by coverage, and writes its part of results/trust.md.

Each reader gets mutated inputs until there have been so many of them, over as many sittings as it takes:
results/ledgers/fuzzers.json remembers counts, build/fuzz/corpus what was found. An input must be read or refused as bad
input within the time and memory allowed; experiments, which may ask for both, are counted, and so are traces that HDF5
crashes on or asks for too much memory for. A finding, or a fuzzer that ends otherwise than in order, makes the exit
code 1; an interrupt (SIGINT, SIGTERM) ends a sitting in order, which counts, and makes it 130, without a page.
"""

import argparse
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import made
from catalogue import PAGES
from page import ROOT, version
from soak.seeds import BINARY, seeds, words

# Reader, what it reads, longest input [B].
READERS = {
    "yaml": ("YAML, read and written back", 4096),
    "experiment": ("experiments: all keys, plans, and the resolved experiments", 8192),
    "machines": ("machine files, sweeps, traffic, and experiments with separate files and settings", 8192),
    "tables": ("campaigns, DRAM, descriptions of models, communicators, measurements, node events, settings, "
               "placements", 4096),
    "collective": ("handwritten collectives, and those of MSCCL", 4096),
    "chakra": ("Chakra traces", 16384),
    "onnx": ("ONNX models, through all passes", 65536),
    "requests": ("request logs, CSV and JSON", 4096),
    "stored": ("checkpoint.json, manifest, summary, segments, locks, state and logs of sweeps, with valid checksums",
               8192),
    "traces": ("traces and per-rank files of checkpoints, which HDF5 reads", 32768),
    "import": ("configurations of ASTRA-sim, SCALE-Sim and ONNXim", 8192)}
WANTED = 1_000_000  # inputs for each reader
MOST_MEMORY_MB = 2048
LONGEST_S = 20
TOO_LONG, TOO_LARGE = 70, 71  # what libFuzzer ends with
# Readers with processes of their own, and what is counted there and no finding.
COUNTED = {"experiment": {"timeout": TOO_LONG, "oom": TOO_LARGE}, "machines": {"timeout": TOO_LONG, "oom": TOO_LARGE},
           "traces": {"oom": TOO_LARGE}}
LARGEST_REQUEST_MB = 1 << 21  # more than a sanitizer gives, which tells who asked
LARGEST_BLOCK_MB = 64  # that HDF5 gets: what a trace of the longest input unpacks to is less
INTERRUPTED = 130
KEPT_FILES, KEPT_BYTES = 60, 2048  # of a corpus in the tree


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--ledger", type=Path, default=ROOT / "results/ledgers/fuzzers.json")
    parser.add_argument("--count", type=int, default=WANTED, help="inputs for each reader, in all")
    parser.add_argument("--minutes", type=float, default=0, help="of this sitting, for each reader")
    parser.add_argument("--reader", action="append", choices=READERS)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 1 << 31))
    parser.add_argument("--keep", action="store_true", help="put what covers most into tests/fuzz/corpus")
    parser.add_argument("--no-page", action="store_true", help="count, and leave the page as it is")
    return parser.parse_args()


def environment(reader):
    asan = "allocator_may_return_null=0:detect_leaks=1"
    if reader == "traces":
        # A gigabyte that HDF5 asks for, as a damaged length says, took 70 ms of an input.
        asan += f":allocator_may_return_null=1:max_allocation_size_mb={LARGEST_BLOCK_MB}"
    return {**os.environ, "TESSERA_FUZZ": reader, "UBSAN_OPTIONS": "print_stacktrace=1", "ASAN_OPTIONS": asan}


def fill(reader, folder):
    """The corpus of work: seeds of the tree, what is kept in it, and what earlier sittings found."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = sorted((ROOT / "tests" / "fuzz" / "corpus" / reader).glob("*"))
    for content in [*seeds(reader), *(path.read_bytes() for path in kept)]:
        # A text that is cut is one still; half a model is none.
        if len(content) <= READERS[reader][1] * (1 if reader in BINARY else 4):
            (folder / hashlib.sha1(content).hexdigest()).write_bytes(content)


@dataclass(frozen=True)
class Sitting:
    counts: dict
    text: str  # what the fuzzer said
    failed: int  # the exit code of a fuzzer that did not end in order, else 0
    interrupted: bool


class Fuzzer:
    """A fuzzer in a group of its own, which a terminal's interrupt does not reach: that is passed on to it, once, and
    ends it with what it counted. A second one ends it by force."""

    def __init__(self, command, variables):
        self.command, self.variables = command, variables
        self.process = None
        self.asked = self.told = 0

    def interrupt(self, *_):
        self.asked += 1
        if self.process:
            self.tell()

    def tell(self):
        self.told += 1
        # All of the group, as what starts the fuzzer for experiments waits for it and takes no interrupt meanwhile.
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGINT if self.told == 1 else signal.SIGKILL)

    def run(self):
        """What it said; `process` has what it ended with."""
        before = {number: signal.signal(number, self.interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.PIPE, text=True, errors="replace", env=self.variables,
                                            start_new_session=True)
            if self.asked > self.told:  # before there was one
                self.tell()
            return self.process.communicate()[1]
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def sit(given, reader, left):
    """Runs the fuzzer for what is left."""
    corpus = given.folder / "corpus" / reader
    findings = given.folder / "findings" / reader
    findings.mkdir(parents=True, exist_ok=True)
    fill(reader, corpus)
    command = [given.folder / "tests" / "fuzz_readers", f"-runs={left}", f"-seed={given.seed}",
               f"-max_len={READERS[reader][1]}", f"-timeout={LONGEST_S}", f"-rss_limit_mb={MOST_MEMORY_MB}",
               "-print_final_stats=1", "-use_value_profile=1", f"-artifact_prefix={findings}/"]
    if dictionary := words(reader):
        path = given.folder / f"{reader}.dict"
        path.write_text(dictionary, encoding="utf-8")
        command.append(f"-dict={path}")
    if given.minutes:
        command.append(f"-max_total_time={int(60 * given.minutes)}")
    counted = COUNTED.get(reader, {})
    if counted:
        command += ["-fork=1", *(f"-ignore_{kind}s=1" for kind in counted)]
    if reader == "traces":
        command.append(f"-malloc_limit_mb={LARGEST_REQUEST_MB}")
    fuzzer = Fuzzer([*map(str, command), str(corpus)], environment(reader))
    text = fuzzer.run()
    interrupted = fuzzer.asked > 0
    # With processes of their own it ends as the last of them did, also where that was to be ignored.
    in_order = (0, *counted.values())
    code = fuzzer.process.returncode
    return Sitting(counts_of(text), text, 0 if interrupted or code in in_order else code, interrupted)


def counts_of(text):
    """What libFuzzer says at its end, with and without processes of their own."""
    counts = {"inputs": 0, "edges": 0, "too_long": 0, "too_large": 0}
    for number, edges in re.findall(r"^#(\d+)[:\t].*?cov: (\d+)", text, re.MULTILINE):
        counts["inputs"], counts["edges"] = int(number), int(edges)
    for large, slow, _ in re.findall(r"oom/timeout/crash: (\d+)/(\d+)/(\d+)", text):
        counts["too_large"], counts["too_long"] = int(large), int(slow)
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    if executed:
        counts["inputs"] = max(counts["inputs"], int(executed[1]))
    return counts


class Ledger:
    """Counts of all sittings, also of those that go on beside this one for other readers."""

    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.entries = self.read()

    def read(self):
        return json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}

    def of(self, reader):
        empty = {"inputs": 0, "edges": 0, "too_long": 0, "too_large": 0, "seconds": 0, "programs": []}
        return self.entries.setdefault(reader, empty)

    def add(self, reader, counts, seconds, program):
        with made.alone_in(self.path.parent):
            self.entries = self.read()
            entry = self.of(reader)
            for name, value in counts.items():
                entry[name] = max(entry[name], value) if name == "edges" else entry[name] + value
            entry["seconds"] += seconds
            if program not in entry["programs"]:
                entry["programs"].append(program)
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(self.entries, indent=1) + "\n", encoding="utf-8")
            new.replace(self.path)


def features_of(control):
    """What each file of a merge covers, as its control file has it."""
    lines = control.read_text(encoding="utf-8").splitlines()
    count = int(lines[0])
    names = [Path(line).name for line in lines[2:2 + count]]
    return {names[int(words[1])]: set(words[2:]) for words in map(str.split, lines) if words[:1] == ["FT"]}


def cover(features, most):
    """Names of at most so many files, each of which adds the most to those before."""
    chosen, covered, left = [], set(), dict(features)
    while left and len(chosen) < most:
        best = max(sorted(left), key=lambda name: len(left[name] - covered))
        new = left.pop(best) - covered
        if not new:
            break
        chosen.append(best)
        covered |= new
    return chosen


def keep(given, reader):
    """Small inputs of the corpus into the tree: those that together cover the most. What was put there by hand stays,
    as findings do."""
    target = ROOT / "tests" / "fuzz" / "corpus" / reader
    small, merged = given.folder / "small" / reader, given.folder / "merged" / reader
    for folder in (small, merged):
        subprocess.run(["rm", "-rf", str(folder)], check=True)
        folder.mkdir(parents=True)
    for path in (given.folder / "corpus" / reader).iterdir():
        if path.stat().st_size <= KEPT_BYTES:
            (small / path.name).write_bytes(path.read_bytes())
    control = given.folder / f"{reader}.merge"
    control.unlink(missing_ok=True)
    subprocess.run([str(given.folder / "tests" / "fuzz_readers"), "-merge=1", "-set_cover_merge=1",
                    f"-merge_control_file={control}", f"-timeout={LONGEST_S}", f"-rss_limit_mb={MOST_MEMORY_MB}",
                    str(merged), str(small)], capture_output=True, env=environment(reader), check=True)
    target.mkdir(parents=True, exist_ok=True)
    there = {path.name for path in target.iterdir()}
    chosen = cover(features_of(control), KEPT_FILES)
    for name in [name for name in chosen if name not in there][:max(0, KEPT_FILES - len(there))]:
        (target / name).write_bytes((small / name).read_bytes())
    print(f"{reader}: {len(list(target.iterdir()))} files kept", flush=True)


def open_findings(given, reader):
    """How many inputs that once were neither read nor refused still are not, when they are given again."""
    kinds = [f"{kind}-*" for kind in ("crash", "leak", "timeout", "oom") if kind not in COUNTED.get(reader, {})]
    count = 0
    for path in [path for kind in kinds for path in (given.folder / "findings" / reader).glob(kind)]:
        done = subprocess.run([str(given.folder / "tests" / "fuzz_readers"), f"-timeout={LONGEST_S}",
                               f"-rss_limit_mb={MOST_MEMORY_MB}", str(path)], capture_output=True,
                              env=environment(reader), check=False)
        count += done.returncode != 0
    return count


def part_of_page(given, ledger, program):
    lines = ["libFuzzer, under AddressSanitizer and UndefinedBehaviorSanitizer, guided by coverage and compared "
             f"values. An input must be read or refused as bad input within {LONGEST_S} s and "
             f"{MOST_MEMORY_MB} MiB. Experiments may ask for more; those that did are counted, but their messages "
             "are not checked. Traces on which HDF5 itself crashes count as larger. Counts cover all calls, "
             "with the programs named; after a finding, counting "
             f"continues. Bound: {WANTED} inputs for each reader, and no open finding.", "",
             "| reader | reads | inputs | edges covered | longer than allowed | larger | open findings | hours | programs |",
             "|---|---|---|---|---|---|---|---|---|"]
    total, missed = 0, []
    for reader, (what, _) in READERS.items():
        entry = ledger.of(reader)
        total += entry["seconds"]
        open_ones = open_findings(given, reader)
        missed += [f"{reader}: {open_ones} findings"] if open_ones else []
        missed += [f"{reader}: {entry['inputs']} inputs"] if entry["inputs"] < WANTED else []
        lines.append(f"| {reader} | {what} | {entry['inputs']} | {entry['edges']} | {entry['too_long']} | "
                     f"{entry['too_large']} | {open_ones} | {entry['seconds'] / 3600:.2f} | {', '.join(entry['programs'])} |")
    return [*lines, "", made.footer(total, program, missed), ""]


def fuzz(given, reader, ledger, commit):
    """A sitting of one reader, told in words: whether it was in order, and whether it was interrupted."""
    left = given.count - ledger.of(reader)["inputs"]
    if left <= 0:
        return True, False
    began = time.time()
    sitting = sit(given, reader, left)
    ledger.add(reader, sitting.counts, time.time() - began, commit)
    print(f"{reader}: {sitting.counts}", flush=True)
    if sitting.failed:
        print(f"{sitting.text[-6000:]}\nerror: {reader}: the fuzzer ended with {sitting.failed}", file=sys.stderr)
    return not sitting.failed, sitting.interrupted


def main():
    given = options()
    program = version(given.folder / "tests" / "fuzz_replay")
    commit = re.search(r"\(([^)]+)\)", program)[1]
    ledger = Ledger(given.ledger)
    failed = False
    for reader in given.reader or READERS:
        in_order, interrupted = fuzz(given, reader, ledger, commit)
        # Also what a fuzzer stepped over, as it does with the first inputs of experiments.
        found = open_findings(given, reader)
        if found:
            print(f"error: {reader}: {found} open findings, in {given.folder}/findings/{reader}", file=sys.stderr)
        elif not in_order:
            print(f"error: {reader}: no input in {given.folder}/findings/{reader} does that again", file=sys.stderr)
        failed = failed or found > 0 or not in_order
        if interrupted:
            print("interrupted: what was done is counted, and the page is as it was", file=sys.stderr)
            return INTERRUPTED
        if given.keep:
            keep(given, reader)
    if failed:
        return 1
    if not given.no_page:
        made.put(PAGES["trust"], "fuzzers", part_of_page(given, ledger, program))
    return 0


if __name__ == "__main__":
    sys.exit(main())
