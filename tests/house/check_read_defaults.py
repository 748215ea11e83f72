#!/usr/bin/env python3
"""Holds that a key that is left out is read as its declared default.

    check_read_defaults.py TESSERA REPOSITORY
    check_read_defaults.py --self-test

What experiments are resolved to has every key that was read. Of each key that `tessera list` has a
literal default of, and that an experiment leaves out, the value there is that default; experiments are
the shipped ones, those of tests/parallel, and these with all keys left out that have one and are no
names. Defaults in words are held against what is read where they are a number, the name of another
key, or a multiple of one ("4 * hidden", "4/5 of write_queue"). Where a key is, the schema for editors
says. The check fails when it covers fewer keys than it did.
"""
import copy
import fractions
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from check_keys import is_experiment, python_with_libraries, run

LEAST_LITERAL, LEAST_IN_WORDS = 508, 50
# Of sections whose keys the schema leaves to the model that is named: the parts in `tessera list`.
MODELS = {"network": "networks", "memory": "memories", "compute": "computes"}

MACHINE = ("machine:\n  topology: {kind: mesh, rows: 4, columns: 4, bandwidth: 64 GB/s, latency: 10 ns}\n"
           "  tile: {peak: {fp16: 4 TFLOP/s}, sram: 1 MiB}\n"
           "  dram: {at: each, bandwidth: 32 GB/s, latency: 100 ns, capacity: 8 GB}\n")
PARTS_OF_MACHINES = ("  power: {compute: 1}\n  framework: {context: 1 MB}\n  faults: {random: {share: 0.1, speed: 0.5}}\n"
                     "workload: {kind: transformer, layers: 2, hidden: 64, sequence: 128, vocabulary: 64, batch: 4,"
                     " pattern: [ssm], ssm: {state: 16, groups: 2}}\n"
                     "strategy: {pipeline: 2, tensor: 2, sharding: {head/*: {depth: 2}, '*': {samples: 2}}}\n")
LAYERS = ("machine:\n  topology:\n    kind: fat-tree\n    k: 4\n"
          "    node: {bandwidth: 64 GB/s, latency: 10 ns}\n    edge: {bandwidth: 64 GB/s, latency: 10 ns}\n"
          "    core: {bandwidth: 64 GB/s, latency: 10 ns}\n  tile: {peak: {fp16: 4 TFLOP/s}, sram: 1 GiB}\n"
          "workload:\n  kind: layers\n  batch: 4\n  input: [16, 16]\n  layers:\n"
          "    - {name: first, operators: [{kind: linear, outputs: 48}, {kind: attention, heads: 4}]}\n"
          "    - {name: last, kind: linear, outputs: 4}\n"
          "strategy: {pipeline: 2}\n")
GRAPH = ("workload:\n  kind: graph\n"
         "  vertices: [{name: a, start: true, flops: 1 MFLOP, bytes: 1 kB, remote: 1 kB}, {name: b, flops: 1 MFLOP}]\n"
         "  edges: [{from: a, to: b}]\nexecution: {collectives: {protocols: [{up_to: 1 kB}, {}]}}\n")
REMOTE = ["{kind: per-npu, bandwidth: 1 GB/s}", "{kind: per-node, npus: 4, bandwidth: 1 GB/s}",
          "{kind: ring, npus: 4, bandwidth: 1 GB/s}", "{kind: mesh, rows: 4, columns: 4, bandwidth: 1 GB/s}",
          "{kind: switches, levels: [{members: 16, bandwidth: 1 GB/s}]}",
          "{kind: hierarchical, nodes: 4, npus: 4, switches: 2, groups: 1, memory_bandwidth: 1 GB/s,"
          " node_bandwidth: 1 GB/s, npu_bandwidth: 1 GB/s}"]
LANGUAGE = "    - language_model: {layers: 2, hidden: 64, heads: 4, sequence: 128, vocabulary: 64}\n"
SERVING = ("workload:\n  kind: serving\n  tenants:\n" + LANGUAGE +
           "      replicas: 2\n      scaling: {requests: 2}\n      adapters: {count: 4, rank: 4}\n"
           "      batching: {cache_type: int4, cache_group_size: 16}\n"
           "      requests: {arrivals: diurnal, rate: 100, count: 4, prompt: 8, generate: 2}\n" + LANGUAGE +
           "      requests: {arrivals: fixed, count: 4, prompt: 8, generate: 2}\n" + LANGUAGE +
           "      requests: {arrivals: gamma, rate: 100, count: 4, prompt: 8, generate: 2}\n")
# Of keys that no experiment of the repository leaves out.
OWN = [MACHINE + PARTS_OF_MACHINES, LAYERS, MACHINE + SERVING,
       *(MACHINE + "  remote_memory: " + memory + "\n" + GRAPH for memory in REMOTE)]

try:
    import jsonschema
    import yaml
except ImportError:
    os.execvp(python_with_libraries(), ["python3", *sys.argv])


class Loader(yaml.SafeLoader):
    """Only true and false are booleans, as for Tessera."""


for letter in "yYnNoO":
    Loader.yaml_implicit_resolvers = {**Loader.yaml_implicit_resolvers, letter: [
        one for one in Loader.yaml_implicit_resolvers.get(letter, []) if "bool" not in one[0]]}


def loaded(text):
    return yaml.load(text, Loader)


def is_same(declared, value):
    """Whether the text of a default stands for the value that was read."""
    if isinstance(value, str):
        return declared == value
    said = loaded(declared)
    if isinstance(said, bool) or isinstance(value, bool):
        return said is value
    return said == value


def said_by_words(words, around, key):
    """The value that words give, of keys in the mappings around, the nearest last; none: they are others."""
    def value_of(name):
        if name == key:
            return None
        for mapping in reversed(around):
            value = mapping.get(name.rpartition(".")[2])
            if value is not None and not isinstance(value, (dict, list)):
                return value
        return None

    if re.fullmatch(r"[a-z_.]+", words):
        return value_of(words)
    if re.fullmatch(r"\d+", words):
        return int(words)
    part = re.fullmatch(r"(\d+)/(\d+) of (\w+)", words)
    if part:
        whole = value_of(part.group(3))
        return None if whole is None else whole * int(part.group(1)) // int(part.group(2))
    if not re.fullmatch(r"[\w.]+(?: [*/] [\w.]+)+", words):
        return None
    result, sign = fractions.Fraction(1), "*"
    for word in words.split():
        if word in "*/":
            sign = word
            continue
        factor = int(word) if word.isdigit() else value_of(word)
        if not isinstance(factor, int) or factor == 0:
            return None
        result = result * factor if sign == "*" else result / factor
    return int(result)


class Declarations:
    """Of `tessera list --json`, by what a schema says of a key: its name, meaning and default."""

    def __init__(self, parts_of_kinds):
        self.literal, self.words, self.parts = {}, {}, parts_of_kinds
        for kind, parts in parts_of_kinds.items():
            for part, entry in parts.items():
                for key in entry["parameters"]:
                    place = (kind, part, key["name"])
                    for table, word in ((self.literal, "default"), (self.words, "without")):
                        if word in key:
                            table.setdefault((key["name"].rpartition(".")[2], key["help"], key[word]),
                                             []).append((place, "names" in key))

    def of_model(self, section, mapping):
        """Of a section whose model's keys the schema does not tell: [(path, declaration)]."""
        part = self.parts.get(MODELS.get(section), {}).get(mapping.get("model"), {"parameters": []})
        return [(key["name"].split("."), key, (MODELS[section], mapping["model"], key["name"]))
                for key in part["parameters"] if not re.search(r"\[|NAME", key["name"])]


def fits(schema, value):
    return jsonschema.Draft7Validator(schema).is_valid(value)


def properties(schema, value):
    found = dict(schema.get("properties", {}))
    for one in schema.get("allOf", []):
        if "if" in one:
            one = one.get("then" if fits(one["if"], value) else "else", {})
        found.update(properties(one, value))
    for one in schema.get("anyOf", []):
        if isinstance(value, dict) and fits(one, value):
            found.update(properties(one, value))
    if isinstance(schema.get("additionalProperties"), dict):  # of names that users give
        found.update({key: schema["additionalProperties"] for key in value if key not in found})
    return found


def items_of(schema, value):
    if isinstance(schema.get("items"), dict):
        return schema["items"]
    return next((items_of(one, value) for one in schema.get("anyOf", [])
                 if fits(one, value) and items_of(one, value)), {})


class Walk:
    """Goes through what was read beside what was given."""

    def __init__(self, declarations, schema):
        self.declarations, self.schema = declarations, schema
        self.literal, self.in_words, self.faults = set(), set(), []

    def visit(self, given, read, name, folder):
        self.name = name
        self.mapping(self.schema, given, read, [], folder, "")

    def both(self, schema, given, read, around, folder, place):
        if isinstance(given, str) and isinstance(read, (dict, list)) and (folder / given).is_file():
            path = folder / given  # a file that stands for what is in it
            folder, given = path.parent, loaded(path.read_text(encoding="utf-8"))
        if isinstance(read, dict) and isinstance(given, (dict, type(None))):
            self.mapping(schema, given or {}, read, around, folder, place)
        elif isinstance(read, list) and isinstance(given, list) and len(given) == len(read):
            for number, (one, other) in enumerate(zip(given, read)):
                self.both(items_of(schema, read), one, other, around, folder, "%s[%d]" % (place, number))

    def mapping(self, schema, given, read, around, folder, place):
        section = place.rpartition(".")[2]
        for path, key, declared in self.declarations.of_model(section, read) if section in MODELS else []:
            self.at_path(given, read, path, key, declared, place, around)
        for key, inner in properties(schema, read).items():
            if key not in read:
                continue
            if key in given or isinstance(read[key], dict):
                self.both(inner, given.get(key), read[key], [*around, read], folder,
                          (place + "." + key).strip("."))
                continue
            meaning, is_told, usual = inner.get("description", "").rpartition("; default: ")
            if is_told:
                self.hold(key, meaning, usual, read[key], [*around, read], place)

    def at_path(self, given, read, path, key, declared, place, around):
        for name in path[:-1]:
            given, read = given.get(name, {}), read.get(name, {})
            if not isinstance(given, dict) or not isinstance(read, dict):
                return
        if path[-1] in given or path[-1] not in read:
            return
        value = read[path[-1]]
        if "default" in key:
            self.compare({declared}, key["default"], value, place + "." + ".".join(path), self.literal)
        elif "without" in key:
            self.compare_words({declared}, key["without"], value, [*around, read], place, path[-1])

    def hold(self, key, meaning, usual, value, around, place):
        places = self.declarations.literal.get((key, meaning, usual))
        if places:
            self.compare({one for one, _ in places}, usual, value, place + "." + key, self.literal)
        places = self.declarations.words.get((key, meaning, usual))
        if places:
            self.compare_words({one for one, _ in places}, usual, value, around, place, key)

    def compare_words(self, keys, words, value, around, place, key):
        said = said_by_words(words, around, key)
        if said is not None:
            self.compare(keys, str(said), value, place + "." + key, self.in_words, words)

    def compare(self, keys, usual, value, place, counted, words=""):
        counted.update(keys)
        if not is_same(usual, value):
            self.faults.append("%s: %s is declared as %s and read as %s" % (
                self.name, place.strip("."), "%s (%s)" % (words, usual) if words else usual, value))

    def stripped(self, read, schema=None, section=""):
        """What was read without the keys that have a literal default and are no names."""
        if isinstance(read, list):
            return [self.stripped(one, items_of(schema, read)) for one in read]
        if not isinstance(read, dict):
            return read
        left = copy.copy(read)
        for key, inner in properties(schema, read).items():
            if key not in read:
                continue
            meaning, _, usual = inner.get("description", "").rpartition("; default: ")
            places = self.declarations.literal.get((key, meaning, usual), [])
            if places and not any(names for _, names in places):
                del left[key]
            else:
                left[key] = self.stripped(read[key], inner, key)
        for path, key, _ in self.declarations.of_model(section, read) if section in MODELS else []:
            if "default" in key and "names" not in key and len(path) == 1:
                left.pop(path[0], None)
        return left


def experiments(repository):
    for pattern in ("configs/experiments/*.yaml", "tests/parallel/*.yaml"):
        for path in sorted(repository.glob(pattern)):
            text = path.read_text(encoding="utf-8")
            if is_experiment(text):
                yield path, loaded(text)


def configuration(tessera, path):
    """What an experiment is resolved to; none: it is refused."""
    done = subprocess.run([tessera, "check", str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          timeout=300, check=False)
    return loaded(done.stdout.decode("utf-8").split("\n# ")[0]) if done.returncode == 0 else None


def left_out(read, stripped):
    """The experiment without keys in all sections, then, should that be refused, in one of each."""
    yield stripped
    for section in read:
        if stripped.get(section) != read[section]:
            yield {**read, section: stripped[section]} if section in stripped else {
                key: value for key, value in read.items() if key != section}


def check(tessera, repository):
    declarations = Declarations(json.loads(run(tessera, "list", "--json")))
    walk = Walk(declarations, json.loads(run(tessera, "list", "--schema", "experiment")))
    again = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(OWN):
            path = pathlib.Path(folder) / ("own_%d.yaml" % number)
            path.write_text(text, encoding="utf-8")
            read = configuration(tessera, path)
            if read is None:
                walk.faults.append("it is refused: " + text)
                continue
            walk.visit(loaded(text), read, path.name, path.parent)
        for path, given in experiments(repository):
            read = configuration(tessera, path)
            if read is None:
                walk.faults.append("%s is refused" % path)
                continue
            walk.visit(given, read, path.name, path.parent)
            for number, left in enumerate(left_out(read, walk.stripped(read, walk.schema))):
                other = pathlib.Path(folder) / path.name
                other.write_text(json.dumps(left), encoding="utf-8")
                once_more = configuration(tessera, other)
                if once_more is None:
                    continue  # one of these keys must be given there
                again += 1
                walk.visit(left, once_more, path.name + " without keys", other.parent)
                if number == 0:
                    break
    return walk, again, sum(len(places) for places in declarations.literal.values())


def self_test():
    keys = [{"name": "depth", "help": "a", "default": "8"}, {"name": "fair", "help": "b", "default": "true"},
            {"name": "width", "help": "c", "without": "4 * depth"}, {"name": "inner.low", "help": "d", "without": "4/5 of depth"}]
    models = [{"name": "part.size", "help": "", "default": "64 B"}, {"name": "rows", "help": "", "default": "0.5"}]

    def told(key):
        return {"description": "%s; default: %s" % (key["help"], key.get("default", key.get("without")))}

    schema = {"properties": {"depth": told(keys[0]), "fair": told(keys[1]), "width": told(keys[2]), "network": {},
                             "inner": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"low": told(keys[3])}}]}}}
    declarations = Declarations({"all": {"one": {"parameters": keys}}, "networks": {"flit": {"parameters": models}}})
    right = {"depth": 8, "fair": True, "width": 32, "inner": {"low": 6},
             "network": {"model": "flit", "rows": 0.5, "part": {"size": "64 B"}}}

    def faults(given, **others):
        walk = Walk(declarations, schema)
        walk.visit(given, {**right, **others}, "a", pathlib.Path("/"))
        assert len(walk.literal) + len(walk.in_words) == (6 if not given else 5)
        return [fault.split()[1] for fault in walk.faults]

    assert faults({}) == []
    assert faults({}, depth=4) == ["depth", "width", "inner.low"]
    assert faults({"depth": 4}, depth=4, width=16, inner={"low": 3}) == []
    assert faults({}, fair=False, inner={"low": 7}) == ["fair", "inner.low"]
    assert faults({}, fair=1) == ["fair"]
    assert faults({}, network={"model": "flit", "rows": 0.5, "part": {"size": "64 KiB"}}) == ["network.part.size"]
    walk = Walk(declarations, schema)
    assert walk.stripped(right, schema) == {"width": 32, "inner": {"low": 6},
                                            "network": {"model": "flit", "part": {"size": "64 B"}}}
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    walk, again, declared = check(sys.argv[1], pathlib.Path(sys.argv[2]))
    for fault in walk.faults:
        print(fault)
    print("%d of %d keys with a literal default, %d with one in words; %d experiments without keys" % (
        len(walk.literal), declared, len(walk.in_words), again))
    if len(walk.literal) < LEAST_LITERAL or len(walk.in_words) < LEAST_IN_WORDS:
        print("there were %d and %d: experiments cover fewer" % (LEAST_LITERAL, LEAST_IN_WORDS))
        return 1
    return 1 if walk.faults else 0


if __name__ == "__main__":
    sys.exit(main())
