#!/usr/bin/env python3
"""Holds what keys declare against files that are read and against what reading asks for.

    check_keys.py TESSERA REPOSITORY

Every key has a type; every file under configs, workloads and tests/parallel fits the schema of its
kind (`tessera list --schema KIND`); and what a few experiments are resolved to, with every key that
was read, fits it too, so that no key is read that is not declared. A schema that takes anything is
no schema: a misspelt key, a wrong name and a bare number where a unit is needed must not fit.
"""
import json
import pathlib
import re
import subprocess
import sys

FILES = {"experiment": ["configs/experiments/*.yaml", "tests/parallel/*.yaml"],
         "machine": ["configs/machines/*.yaml"],
         "workload": ["workloads/*.yaml"]}

MISFITS = ["name: x\nmachin: a.yaml\nworkload: b.yaml\n",
           "machine: {topology: {kind: mesh, rows: 2, columns: 2, bandwith: 1 GB/s, latency: 1 ns}}\n"
           "workload: b.yaml\n",
           "machine: {topology: {kind: mash}}\nworkload: b.yaml\n",
           "machine: a.yaml\nworkload: b.yaml\nrun: {iterations: 0}\n",
           "machine: a.yaml\nworkload: b.yaml\nrun: {trace: all}\n",
           "machine: {topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 5, latency: 1 ns}}\n"
           "workload: b.yaml\n"]

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
    for number, text in enumerate(MISFITS):
        documents["misfit %d" % number] = ("experiment", text)
    schemas = {kind: json.loads(run(tessera, "list", "--schema", kind)) for kind in FILES}
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
