#!/usr/bin/env python3
"""Runs one experiment on several numbers of ranks, partitions, synchronizations and trace levels: the
results must be bit-identical.

    run_case.py [--few NUMBER] TESSERA MPIEXEC EXPERIMENT.yaml

With `--few` one way on 2, 3 and 4 ranks each, another one for each number, so that many cases together
try them all, and the digest is held against the row of results/digests.md; without it every way.
A run with another number of iterations must have another digest, or the comparison would say nothing; a line
`# other: SETTING` names another setting that this must be true of. A line `# same as: SETTING` in the
experiment names a setting that may change the number of events and nothing else.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# ranks (0: without a launcher), settings
BASE = (0, [])
# Where few are asked for: the runs on 2 ranks, none of which names a level, hold the experiment's own against it.
BASE_OF_FEW = (0, ["run.trace=full"])
# Most name their partition: `auto` may leave ranks idle.
VARIANTS = [
    (0, ["run.trace=full"]),
    (1, ["run.trace=none"]),
    (2, ["run.partition=metis"]),
    (2, ["run.partition=stripes"]),
    (2, []),
    (3, ["run.trace=full", "run.partition=stripes"]),
    (3, ["run.partition=metis", "run.trace=none"]),
    (4, ["run.partition=metis"]),
    (4, ["run.partition=stripes", "run.trace=full", "run.bins=7"]),
    (4, ["run.idle_ranks=false"]),
    (0, ["run.synchronization=null-message"]),
    (2, ["run.synchronization=null-message", "run.partition=metis"]),
    (2, ["run.synchronization=window", "run.partition=metis"]),
    (4, ["run.synchronization=window", "run.partition=stripes"]),
    (3, ["run.synchronization=null-message", "run.partition=stripes", "run.trace=full"]),
    (4, ["run.synchronization=null-message", "run.partition=stripes", "run.trace=none"]),
    (4, ["run.synchronization=null-message", "run.partition=metis"]),
]
# Of cuts that follow the work, those that can cut the experiment so.
FOLLOWING = ["stages", "replicas", "stages-replicas", "groups", "traffic", "communicators", "tenants",
             "npus"]
SAME = "# same as:"
OTHER = "# other:"
# What of a summary does not depend on the ranks.
RESULTS = ["status", "simulated_time_ps", "iteration_time_ps", "ideal_time_ps", "iterations",
           "throughput_samples_per_s", "achieved_flops_per_s", "breakdown", "tiles", "events",
           "packet_hops", "messages", "tenants", "services", "service_totals", "measured",
           "result_digest"]


def environment(ranks):
    # LeakSanitizer reports what Open MPI itself leaks at exit, from plug-ins unloaded by then, which
    # no suppression can name. Leaks of ours are looked for in the runs without a launcher.
    quiet = {"ASAN_OPTIONS": "detect_leaks=0"} if ranks else {}
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                OMPI_MCA_rmaps_base_oversubscribe="1", **quiet)


def describe(variant):
    ranks, settings = variant
    return " ".join(["%s ranks" % (ranks or "no launcher,")] + settings)


def results_of(variant, tessera, mpiexec, experiment, look=None):
    """`look` is shown the folder of the run."""
    ranks, settings = variant
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "run"
        words = [mpiexec, "-n", str(ranks)] if ranks else []
        words += [tessera, "run", experiment, "-o", str(folder), "--quiet"]
        for setting in settings:
            words += ["--set", setting]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env=environment(ranks), timeout=120,
                              check=False)
        if done.returncode != 0:
            raise SystemExit("%s: exit code %d\n%s" % (describe(variant), done.returncode,
                                                       done.stdout.decode("utf-8", "replace")))
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        if look is not None:
            look(folder)
    return {key: summary.get(key) for key in RESULTS}


def read_back(tessera, resolved):
    """What a run wrote as its configuration is one, by which it could go on; gives its iterations."""
    done = subprocess.run([tessera, "check", resolved], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=environment(0), timeout=120, check=False)
    if done.returncode != 0:
        raise SystemExit("the resolved configuration is not read back: exit code %d\n%s"
                         % (done.returncode, done.stdout.decode("utf-8", "replace")))
    text = resolved.read_text(encoding="utf-8")
    return int(re.search(r"^run:\n(?: .*\n)*?  iterations: (\d+)$", text, re.MULTILINE)[1])


def stated(experiment):
    """The digest that results/digests.md has, or None; all rows: tests/validation/check_digests.py."""
    root = pathlib.Path(__file__).resolve().parents[2]
    name = pathlib.Path(experiment).resolve().relative_to(root)
    found = re.search(rf"^\| {re.escape(str(name))} \| [\d, ]+ \| ([0-9a-f]{{32}}) \|",
                      (root / "results" / "digests.md").read_text(encoding="utf-8"), re.MULTILINE)
    return found and found[1]


def can_be_cut(variant, tessera, _, experiment):
    ranks, settings = variant
    words = [tessera, "check", experiment, "--ranks", str(ranks)]
    for setting in settings:
        words += ["--set", setting]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, env=environment(0), check=False)
    return done.returncode == 0


def all_ways():
    """Also those that this experiment may not have: each cut that follows the work, on two ranks, too."""
    following = [(2 + number % 3, ["run.partition=" + name]) for number, name in enumerate(FOLLOWING)]
    return VARIANTS + following + [(2, settings) for ranks, settings in following if ranks > 2]


def is_possible(variant, program):
    return variant in VARIANTS or can_be_cut(variant, *program)


def every_way(program):
    return [variant for variant in all_ways() if is_possible(variant, program)]


def few(number, program):
    """One way on each number of ranks beyond one: by the number, or the next that is possible."""
    chosen = []
    for ranks in (2, 3, 4):
        ways = [way for way in all_ways() if way[0] == ranks]
        first = number % len(ways)
        chosen.append(next(way for way in ways[first:] + ways[:first] if is_possible(way, program)))
    return chosen


def main():
    number, program = None, sys.argv[1:]
    if program[0] == "--few":
        number, program = int(program[1]), program[2:]
    base = BASE if number is None else BASE_OF_FEW
    iterations = []
    expected = results_of(base, *program, look=lambda folder: iterations.append(
        read_back(program[0], folder / "config.resolved.yaml")))
    code = 0
    if not expected["result_digest"]:
        print("the summary has no result_digest")
        code = 1
    elif number is not None and expected["result_digest"] != stated(program[-1]):
        print("the digest is %s, results/digests.md says %s; scripts/validate digests --part cheap --update"
              % (expected["result_digest"], stated(program[-1])))
        code = 1
    for variant in every_way(program) if number is None else few(number, program):
        results = results_of(variant, *program)
        for key in RESULTS:
            if results[key] != expected[key]:
                print("%s: %s is %s; %s gave %s" % (describe(variant), key, results[key],
                                                   describe(base), expected[key]))
                code = 1
    other = f"run.iterations={1 if iterations[0] > 1 else 2}"
    for line in pathlib.Path(program[-1]).read_text(encoding="utf-8").splitlines():
        if line.startswith(OTHER):
            other = line[len(OTHER):].strip()
        if line.startswith(SAME):
            results = results_of((0, [line[len(SAME):].strip()]), *program)
            if {**results, "events": 0} != {**expected, "events": 0}:
                print(f"{line}: results differ")
                code = 1
            if results["events"] == expected["events"]:
                print(f"{line}: it makes no difference")
                code = 1
    # Where all ways are tried, this is tried on ranks too: elsewhere these gave the digest that it is to differ from.
    way = (0, [other]) if number is not None else (2, [other, "run.partition=stripes"])
    if results_of(way, *program)["result_digest"] == expected["result_digest"]:
        print(other + ": the digest is the same")
        code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
