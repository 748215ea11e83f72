#!/usr/bin/env python3
"""Holds what keys declare against files that are read and against what reading asks for.

    check_keys.py TESSERA REPOSITORY

Every key has a type; every file of YAML under configs, workloads and tests/parallel fits the schema of its
kind (`tessera list --schema KIND`); and what a few experiments are resolved to, with every key that
was read, fits it too, so that no key is read that is not declared. A schema that takes anything is
no schema: mappings with keys take no others, and a misspelt key, a wrong name and a bare number
where a unit is needed must not fit.
"""
import json
import pathlib
import re
import subprocess
import sys

FILES = {"experiment": ["configs/experiments/*.yaml", "tests/parallel/*.yaml"],
         "machine": ["configs/machines/*.yaml"],
         "workload": ["workloads/*.yaml"],
         "traffic": ["configs/traffic/*.yaml"],
         "sweep": ["configs/sweeps/*.yaml"],
         "campaign": ["configs/campaigns/*.yaml"],
         "dram": ["configs/dram/*.yaml"],
         "strategy": []}

MESH = "machine: {topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 1 GB/s, latency: 1 ns}}\n"
SERVING = ("machine: a.yaml\nworkload:\n  kind: serving\n  scheduler: {policy: deadline, slack: 0.5}\n"
           "  tenants:\n"
           "    - language_model: {layers: 2, hidden: 64, heads: 4, sequence: 128, vocabulary: 64}\n"
           "      requests: {arrivals: closed, clients: 2, count: 4, prompt: [4, 8], generate: 2}\n"
           "      batching: {chunk: 64}\n      weights: {type: int4}\n"
           "    - onnx: {model: m.onnx, batch: n, dimensions: {n: 1}}\n"
           "      requests: {arrivals: list, list: [{at: 1 us, samples: 2}]}\n")
TENANTS = ("machine: a.yaml\nworkload:\n  kind: tenants\n  tenants:\n"
           "    - {name: one, tiles: all, start: 1 us, workload: {kind: collective, size: 1 B,"
           " collective: barrier}, execution: {lanes: {host: 1}}}\n")
LAYERS = ("machine: a.yaml\nworkload:\n  kind: layers\n  batch: 4\n  input: [8, 8, 3]\n  layers:\n"
          "    - {name: first, kind: convolution, channels: 4, kernel: 3, then: [relu]}\n"
          "    - operators:\n        - {kind: pool, type: max, global: true}\n"
          "        - {kind: linear, name: last, outputs: 2}\n")
OPERATORS = ("machine: a.yaml\nworkload:\n  kind: operators\n  operators:\n"
             "    - {kind: gemm, rows: 1, columns: 1, depth: 1, weights: {type: int4}}\n"
             "    - {kind: softmax, name: last, rows: 1, columns: 1, after: [gemm0], first_core: 1}\n")
GRAPH = ("machine: a.yaml\nworkload:\n  kind: graph\n"
         "  vertices: [{name: a, flops: 1 FLOP, at: 0-3}, {name: b, from: 0, to: 1, bytes: 1 B}]\n"
         "  edges: [{from: a, to: b}]\n")
TILE = ("machine:\n  topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 1 GB/s, latency: 1 ns}\n"
        "  tile: {peak: {fp16: 1 TFLOP/s}}\nworkload: b.yaml\n")
BOTH = MESH + "workload: b.yaml\nrun: {iterations: 1, trace: full}\n"

# An experiment that fits, what of it is changed, and to what, so that it does not.
MISFITS = [(BOTH, "machine:", "machin:"), (BOTH, "bandwidth", "bandwith"), (BOTH, "mesh", "mash"),
           (BOTH, "iterations: 1", "iterations: 0"), (BOTH, "full", "all"), (BOTH, "1 GB/s", "5"),
           (TILE, "{fp16: 1 TFLOP/s}", "10 GB/s"), (TILE, "1 TFLOP/s", "1"),
           (SERVING, "scheduler:", "schedulers:"), (SERVING, "slack", "slak"),
           (SERVING, "deadline", "first-come"), (SERVING, "- language_model", "- language_modle"),
           (SERVING, "hidden", "hiden"), (SERVING, "clients", "rate"), (SERVING, "chunk", "chunks"),
           (SERVING, "[4, 8]", "[4, 8, 16]"), (SERVING, "int4}", "int4, scal: 1 B}"),
           (SERVING, "batch:", "bach:"), (SERVING, "arrivals: list,", ""),
           (SERVING, "at: 1 us", "at: 1 us, when: 2 us"),
           (TENANTS, "start:", "begin:"), (TENANTS, "size:", "sise:"),
           (TENANTS, "collective: barrier", "model: m.onnx"), (TENANTS, "host:", "guest:"),
           (TENANTS, "kind: collective, size: 1 B, collective: barrier", "kind: tenants, tenants: []"),
           (LAYERS, "channels", "outputs"), (LAYERS, "kernel: 3", "kernel: 3, outputs: 2"),
           (LAYERS, "name: first", "name: first, operators: []"), (LAYERS, "linear", "liner"),
           (LAYERS, "outputs", "output"), (LAYERS, "global", "globall"), (LAYERS, "input:", "inputs:"),
           (OPERATORS, "rows: 1, columns: 1, depth", "rows: 1, deepth"),
           (OPERATORS, "name: last", "depth: 1"), (OPERATORS, "{type: int4}", "{types: int4}"),
           (GRAPH, "flops", "flop"), (GRAPH, "to: b", "too: b")]

SWEEP = ("experiment: a.yaml\naxes: {strategy.tensor: [1, 2]}\nsample: {random: 4, seed: 1}\n"
         "objective: {minimize: messages}\nlimit: {wall: 1 s}\n")
CAMPAIGN = "iteration: {time: 6.2, devices: 16}\nwork: {days: 54}\ncheckpoint: {size: 5.7 TB, bandwidth: 2 TB/s}\n"
DRAM = "preset: HBM2-PC\nchannels: 1\nrefresh: false\nscheduler: oldest-ready\n"
STRATEGY = "pipeline: 2\nrecompute: full\nplacement: {layout: line}\n"
# The same of other files.
OTHER_MISFITS = [("sweep", SWEEP, "random: 4", "rundom: 4"), ("sweep", SWEEP, "minimize", "minimise"),
                 ("sweep", SWEEP, "experiment: a.yaml", "machine: a.yaml"), ("sweep", SWEEP, "1 s", "1"),
                 ("sweep", SWEEP, "{random: 4, seed: 1}", "all"),
                 ("campaign", CAMPAIGN, "days", "weeks"), ("campaign", CAMPAIGN, "5.7 TB", "5.7"),
                 ("strategy", STRATEGY, "pipeline", "pipelines"), ("strategy", STRATEGY, "pipeline: 2", "pipeline: two"),
                 ("strategy", STRATEGY, "layout", "lay"), ("strategy", STRATEGY, "full", "fully"),
                 ("dram", DRAM, "channels", "chanels"), ("dram", DRAM, "channels: 1", "channels: one")]

# Runs in a Python that has the libraries, which need not be this one.
VALIDATE = """
import json, sys, yaml, jsonschema

class Loader(yaml.SafeLoader):
    pass
# Only true and false are booleans, as for Tessera.
for letter in list("yYnNoO"):
    Loader.yaml_implicit_resolvers[letter] = [
        one for one in Loader.yaml_implicit_resolvers.get(letter, []) if "bool" not in one[0]]

work = json.load(sys.stdin)
for name, (schema, text) in work["documents"].items():
    validator = jsonschema.Draft7Validator(work["schemas"][schema])
    def told(error, depth=0):
        place = ".".join(str(part) for part in error.absolute_path)
        yield "%s%s: %s" % ("  " * depth, place or "(root)", error.message[:200])
        for inner in sorted(error.context or [], key=lambda e: -len(e.absolute_path))[:4]:
            yield from told(inner, depth + 1)
    faults = [line for error in validator.iter_errors(yaml.load(text, Loader)) for line in told(error)]
    print(json.dumps([name, faults]))
"""


def run(*words, **options):
    return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, check=True,
                          timeout=300, **options).stdout.decode("utf-8")


def python_with_libraries():
    for python in [sys.executable, "python3", "/usr/bin/python3"]:
        try:
            run(python, "-c", "import jsonschema, yaml", stderr=subprocess.DEVNULL)
            return python
        except (OSError, subprocess.CalledProcessError):
            continue
    raise SystemExit("no Python with jsonschema and yaml; apt-get install python3-jsonschema "
                     "python3-yaml")


def without_type(tessera):
    for kind, parts in json.loads(run(tessera, "list", "--json")).items():
        for part, entry in parts.items():
            for parameter in entry["parameters"]:
                if "type" not in parameter:
                    yield "%s: %s: %s has no type" % (kind, part, parameter["name"])


def resolved(tessera, path):
    """What `check` prints of the configuration."""
    text = run(tessera, "check", path)
    return text[:text.index("\n# ")]


def is_experiment(text):
    """Other files beside experiments are models."""
    return re.search("^workload:", text, re.MULTILINE) is not None


def open_mappings(schema, place):
    """Mappings with keys that take others too; those with choices are closed in each choice."""
    if isinstance(schema, list):
        for number, one in enumerate(schema):
            yield from open_mappings(one, "%s[%d]" % (place, number))
    if not isinstance(schema, dict):
        return
    if "properties" in schema and "allOf" not in schema and schema.get("additionalProperties") in (
            None, True):
        yield place
    for key, inner in schema.items():
        if key == "properties":
            for name, one in inner.items():
                yield from open_mappings(one, "%s.%s" % (place, name))
        elif key != "if":
            yield from open_mappings(inner, place)


def misfits(tessera, repository):
    documents = {}
    for kind, patterns in FILES.items():
        for pattern in patterns:
            for path in sorted(repository.glob(pattern)):
                text = path.read_text(encoding="utf-8")
                own = "workload" if kind == "experiment" and not is_experiment(text) else kind
                documents[str(path)] = (own, text)
    for path in sorted(repository.glob("tests/parallel/*.yaml")):
        if is_experiment(path.read_text(encoding="utf-8")):
            documents[str(path) + ", resolved"] = ("experiment", resolved(tessera, path))
    for path in sorted(repository.glob("configs/**/*.yaml")):
        if str(path) not in documents:
            yield "%s is of no kind that has a schema" % path
    for number, (kind, text, right, wrong) in enumerate([("experiment", *one) for one in MISFITS] + OTHER_MISFITS):
        assert right in text, (right, text)
        documents["fit %d" % number] = (kind, text)
        documents["misfit %d" % number] = (kind, text.replace(right, wrong))
    schemas = {kind: json.loads(run(tessera, "list", "--schema", kind)) for kind in FILES}
    for kind, schema in schemas.items():
        for place in sorted(set(open_mappings(schema, kind))):
            yield "%s takes keys that nobody declares" % place
    answer = run(python_with_libraries(), "-c", VALIDATE,
                 input=json.dumps({"schemas": schemas, "documents": documents}).encode("utf-8"))
    for line in answer.splitlines():
        name, faults = json.loads(line)
        if name.startswith("misfit"):
            if not faults:
                yield "%s fits the schema: %r" % (name, documents[name][1])
        else:
            for fault in faults:
                yield "%s: %s" % (name, fault)


def main():
    tessera, repository = sys.argv[1:]
    faults = list(without_type(tessera)) + list(misfits(tessera, pathlib.Path(repository)))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
