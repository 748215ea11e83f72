"""README.md's limits, each with a check of the program: a limit that is gone, or new and unchecked, is
found.

Each bullet below "What is left out" is known by its first words. Its check runs the program and says
what does not hold any more.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess

SMALL = """
machine:
  topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 100 GB/s, latency: 10 ns}
  tile: {peak: {fp16: 1 TFLOP/s}, sram: 64 KiB}
  dram: {at: edge, edges: [west], bandwidth: 50 GB/s, latency: 100 ns}
workload: {kind: transformer, layers: 2, hidden: 64, heads: 4, sequence: 16, vocabulary: 64,
  batch: 4}
strategy: {pipeline: 2, tensor: 2}
"""
# What comes after the small message is over as late as the large one, or later, where it waits for it.
TWO_MESSAGES = """
machine:
  topology: {kind: mesh, rows: 1, columns: 2, bandwidth: 100 GB/s, latency: 10 ns}
  tile: {peak: {fp16: 1 TFLOP/s}}
workload:
  kind: graph
  vertices:
    - {name: large, start: true, from: 0, to: 1, bytes: 1 MB}
    - {name: small, start: true, from: 0, to: 1, bytes: 1 B}
    - {name: next, flops: 15 MFLOP, at: 1}
  edges: [{from: small, to: next}]
"""
CONVOLUTION = """
machine:
  topology: {kind: mesh, rows: 1, columns: 2, bandwidth: 100 GB/s, latency: 10 ns}
  tile: {peak: {fp16: 1 TFLOP/s}}
workload:
  kind: layers
  input: [16, 16, 8]
  batch: 1
  mode: inference
  layers:
    - {kind: convolution, name: first, channels: 8, kernel: 3, padding: 1}
    - {kind: convolution, name: second, channels: 8, kernel: 3, padding: 1}
strategy: {tensor: 2, sharding: {first/*: {rows: 2}, second/*: {rows: 2}}}
"""
# Ranks have two tiles each; most is sent between those of the second rank, over a link that the first
# one's message takes, too.
FAR_FROM_THE_FIRST_RANK = """
machine:
  topology: {kind: mesh, rows: 1, columns: 4, bandwidth: 100 GB/s, latency: 10 ns}
  network: {model: flow}
  tile: {peak: {fp16: 1 TFLOP/s}}
workload:
  kind: graph
  vertices:
    - {name: far, start: true, from: 0, to: 3, bytes: 1 B}
    - {name: near, start: true, from: 2, to: 3, bytes: 1 MB}
run: {trace: full, partition: stripes, idle_ranks: false}
"""
READ_EVENTS = """
import h5py, sys
for path in sys.argv[1:]:
    with h5py.File(path, "r", libver="latest", swmr=True) as file:
        print(file["engine"]["events"][-1])
"""


class Program:
    """The program, and a Python that has h5py."""

    def __init__(self, tessera, repository, scratch, python):
        self.tessera, self.repository, self.python = tessera, repository, python
        self.scratch = pathlib.Path(scratch)

    def call(self, words, ranks=1):
        launcher = [shutil.which("mpirun"), "--oversubscribe", "-n", str(ranks)] if ranks > 1 else []
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return subprocess.run([*launcher, str(self.tessera), *map(str, words)], capture_output=True,
                              stdin=subprocess.DEVNULL, text=True, timeout=300, check=False,
                              env=environment)

    def run(self, text, *settings, ranks=1):
        """The summary of a run."""
        file, folder = self.scratch / "experiment.yaml", self.scratch / "run"
        file.write_text(text, encoding="utf-8")
        words = [word for setting in settings for word in ("--set", setting)]
        done = self.call(["run", file, "-q", "-o", folder, *words], ranks)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return json.loads((folder / "summary.json").read_text(encoding="utf-8"))

    def refusal(self, text, setting):
        """Why it is refused; empty: it is not."""
        file = self.scratch / "experiment.yaml"
        file.write_text(text, encoding="utf-8")
        done = self.call(["check", file, "--set", setting])
        return done.stderr if done.returncode == 2 else ""

    def keys(self, kind):
        """Part: its keys, of `tessera list KIND`."""
        parts, keys = {}, []
        for line in self.call(["list", kind]).stdout.splitlines():
            if re.match("  [a-zA-Z0-9]", line):
                keys = parts.setdefault(line.split()[0], [])
            elif re.match("    [a-z]", line) and line.split()[0] != "parameter":
                keys.append(line.split()[0])
        return parts

    def having(self, kind, *keys):
        """Parts that have all of these keys."""
        return {part for part, known in self.keys(kind).items() if set(keys) <= set(known)}

    def listed(self, kind):
        """Part: its entry, of `tessera list KIND --json`."""
        return json.loads(self.call(["list", kind, "--json"]).stdout)[kind]

    def choices(self, section, key):
        """Names that the key of a section of an experiment takes."""
        return next(known["names"] for part in self.listed(section).values() for known in part["parameters"]
                    if known["name"] == key)

    def events_of_ranks(self):
        traces = sorted((self.scratch / "run").glob("trace.*.h5"))
        done = subprocess.run([self.python, "-c", READ_EVENTS, *map(str, traces)], check=True,
                              capture_output=True, text=True, timeout=300)
        return [int(line) for line in done.stdout.split()]


def same(what, expected, found):
    if expected != found:
        yield "%s: expected %s, found %s" % (what, expected, found)


def buffers(program):
    yield from same("networks with buffers and virtual channels", {"flit"},
                    program.having("networks", "buffer", "virtual_channels"))


def overtaking(program):
    cases = {"{model: analytical}": True, "{model: analytical, ports: shared}": False,
             "{model: flow}": True, "{model: flow, pairs: in-turn}": False,
             "{model: packet}": False, "{model: crossbar}": False}
    for network, overtakes in cases.items():
        time = program.run(TWO_MESSAGES, "machine.network=" + network)["simulated_time_ps"]
        yield from same("a small message overtakes on " + network, overtakes, time < 20_000_000)


def one_route(program):
    for routing in ("west-first", "odd-even"):
        for network in program.keys("networks"):
            refused = program.refusal(SMALL, "machine.network={model: %s, routing: %s}"
                                      % (network, routing))
            yield from same("%s takes %s" % (network, routing), network == "flit", not refused)


def vector_work(program):
    yield from same("roofline's keys", [], program.keys("computes")["roofline"])
    yield from same("models with a rate of vector work", {"gemm", "systolic", "systolic-cycle"},
                    program.having("computes", "vector_peak"))


def one_piece(program):
    yield from same("models with a scratchpad", {"npu"}, program.having("computes", "scratchpad"))


def additions(program):
    yield from same("noted", True, "reductions in collectives take no time" in str(
        program.run(SMALL)["notes"]))


def optimizer(program):
    sums = [program.run(SMALL, "workload.optimizer=" + name)["breakdown"]["total"]
            for name in ("adam", "sgd")]
    yield from same("time of arithmetic with adam and sgd", sums[0]["compute"]["mean_ps"],
                    sums[1]["compute"]["mean_ps"])
    yield from same("adam takes more time of memory", True,
                    sums[0]["memory"]["mean_ps"] > sums[1]["memory"]["mean_ps"])


def banks(program):
    yield from same("memories with banks, rows and refresh", {"dram"},
                    program.having("memories", "banks", "rows", "refresh"))


def sram(program):
    refused = program.refusal(SMALL, "strategy.sram=some")
    yield from same("ways to use SRAM", ["resident", "algorithm-1"],
                    re.search("known: (.*)", refused).group(1).split(", "))


def experts_and_halos(program):
    keys = [key for key in program.keys("workloads")["transformer"] if key.startswith("experts.")]
    yield from same("keys of experts",
                    ["capacity_factor", "count", "dense_first", "every", "ffn", "loads", "room", "seed", "shared",
                     "shares", "skew", "top_k"], sorted(key.split(".")[1] for key in keys))
    shape = ("workload={kind: transformer, layers: 1, hidden: 32, heads: 4, sequence: 32, vocabulary: 50, batch: 4, "
             "experts: {count: 4, top_k: 1, room: unlimited, shares: %s}}")
    cut = "strategy={data: 4, expert: 4}"
    yield from same("that replicas wait for the busiest experts", True,
                    program.run(SMALL, shape % "[1, 0, 0, 0]", cut)["iteration_time_ps"] >
                    program.run(SMALL, shape % "[1, 1, 1, 1]", cut)["iteration_time_ps"])
    yield from same("messages of convolutions cut along rows", 0,
                    program.run(CONVOLUTION)["messages"])
    yield from same("messages of convolutions cut differently", 0,
                    program.run(CONVOLUTION, "strategy.sharding.second/*={columns: 2}")["messages"])


def constant(program):
    for key in ("at: 1 us", "from: 1 us", "until: 1 us"):
        setting = "machine.faults.nodes=[{node: 1, speed: 50 %%, %s}]" % key
        yield from same("faults have " + key, True,
                        "known keys: node, speed" in program.refusal(SMALL, setting))


def one_rank_solves(program):
    events = []
    for network in ("flow", "packet"):
        program.run(FAR_FROM_THE_FIRST_RANK, "machine.network.model=" + network, ranks=2)
        events.append(program.events_of_ranks()[0])
    yield from same("rank 0 has work with messages between others", True, events[0] > events[1])


def sources(program):
    for file in sorted((program.repository / "configs/machines").glob("*.yaml")):
        if not re.search("#.*(http|doi|arXiv|assumed|unverified)", file.read_text(encoding="utf-8")):
            yield "%s says nothing of its sources" % file.name


# First words of a bullet: its check.
CHECKS = {
    "Buffers in routers are unbounded": buffers,
    "A smaller message can overtake": overtaking,
    "Routing is deterministic": one_route,
    "With `roofline`, vector work": vector_work,
    "An operator is one piece of work": one_piece,
    "The additions inside a reduction": additions,
    "The optimizer moves its state": optimizer,
    "The memories `bandwidth` and `channel`": banks,
    "What SRAM holds": sram,
    "Tokens are shared out": experts_and_halos,
    "Nothing changes during a run": constant,
    "Flows that share links": one_rank_solves,
    "Numbers from vendors": sources,
}


def bullets_of(text):
    return re.findall("^- (.*)$", text[text.index("What is left out"):text.index("## Where things")],
                      re.MULTILINE)


def row_of(text, part):
    """Of README's table of what each part can be."""
    return re.search(r"^\| %s \| (.*) \|$" % part, text, re.MULTILINE).group(1)


def names_in_table(text):
    """Kind of parts: names in the row of each whose names stand between backticks."""
    rows = {"network": "networks", "memory": "memories", "compute": "computes"}
    for part, kind in rows.items():
        yield kind, set(re.findall("`([a-z-]+)`", row_of(text, part)))


def unnamed(row, names):
    """Names that words lack, where capitals and hyphens do not matter: those with another one in them first."""
    row = row.lower()
    for name in sorted(names, key=len, reverse=True):
        pattern = r"(?<![\w-])%s(?![\w-])" % name.replace("-", "[ -]")
        row, found = re.subn(pattern, "", row)
        if not found:
            yield name


def self_test():
    """Of the names in a row, those that only others have in them are lacking."""
    names = ["mesh", "torus", "twisted-torus", "ring", "ring-relay", "gpipe", "line"]
    found = sorted(unnamed("mesh, twisted torus, ring-relay, GPipe, pipeline, full meshes", names))
    yield from same("names that a row lacks", ["line", "ring", "torus"], found)


def lacking_in_table(program, text):
    """Row, and a name of the program that it lacks."""
    rows = {
        "topology": program.listed("topologies"),
        "collectives of graphs": program.listed("collectives"),
        "serving": program.listed("policies"),
        "strategy": {*program.listed("schedules"), *program.choices("strategy", "collectives.tensor"),
                     *program.choices("strategy", "collectives.data"),
                     *program.choices("strategy", "recompute")} - {"none"},
    }
    for part, names in rows.items():
        yield from ((part, name) for name in unnamed(row_of(text, part), names))
    work = " ".join(row_of(text, part) for part in ("workload", "models", "serving"))
    named = re.findall("`(?:workload.kind: )?([a-z]+)`", work)
    yield from (("workload", name) for name in sorted(set(program.listed("kinds")) - set(named)))


def faults(program):
    text = (program.repository / "README.md").read_text(encoding="utf-8")
    bullets = bullets_of(text)
    for bullet in bullets:
        if not any(bullet.startswith(words) for words in CHECKS):
            yield "no check of the limit: " + bullet
    for words, check in CHECKS.items():
        if not any(bullet.startswith(words) for bullet in bullets):
            yield "README.md has no limit that begins: " + words
        for fault in check(program):
            yield "%s …: %s" % (words, fault)
    yield from self_test()
    for part, name in lacking_in_table(program, text):
        yield "README's table, %s: nothing is said of %s" % (part, name)
    for kind, names in names_in_table(text):
        yield from same("README's table, " + kind, set(program.keys(kind)), names)
