#!/usr/bin/env python3
"""Random experiments over all kinds of work, networks, memories and compute models, cut over ranks at random
and, some of them, killed or stopped and gone on with: the results must be those of one rank, undisturbed.

    random_works.py TESSERA MPIEXEC COUNT [SEED] [--interrupted SHARE] [--report FILE]

Experiments are those of this folder and of random_runs.py, all kinds of work as often as each other, with one
to four settings drawn anew; what `tessera check` refuses is drawn again. A share of them (0.3) is interrupted at
a random time, once or more often, by a kill of one rank or of all, or a signal, and resumed on other numbers of
ranks with other cuts. Before that, what its traces have committed must be rows of the undisturbed run.
A run that fails leaves its settings on standard output, and its number, which draws the same again as SEED.
"""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the sources stay as they are

import yaml  # noqa: E402

import random_runs  # noqa: E402
from run_case import RESULTS  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faults"))
from launch import children_of, is_hydra, python_with_hdf5  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
# Of a run on several ranks, also on a machine that has other things to do.
PATIENCE_S = 1200
# Processor time of the run that others are held against: one that takes longer is drawn again.
LONGEST_S = 8


def kind_of_work(path):
    work = yaml.safe_load(path.read_text(encoding="utf-8"))["workload"]
    if isinstance(work, str):
        work = yaml.safe_load((path.parent / work).read_text(encoding="utf-8"))
    return work["kind"]


def bases():
    """Experiments by their kind of work."""
    found = collections.defaultdict(list)
    for path in [*HERE.glob("*.yaml"), HERE.parents[1] / "configs" / "experiments" / "tenants_serving.yaml"]:
        if path.stem not in ("small", "tiny"):
            found[kind_of_work(path)].append(path)
    return dict(sorted(found.items()))


BASES = bases()
ROWS = HERE.parent / "faults" / "rows.py"
PYTHON = python_with_hdf5()
# Their kinds as often as each other, but what has most experiments; and what random_runs.py draws whole.
KINDS = [*BASES, "transformer", "plans", "graphs", "chips", "served"]


def network(draw):
    kind = draw.choice(["packet", "packet", "analytical", "crossbar", "flow", "flit"])
    if kind == "packet":
        return {"model": kind, "packet_size": f"{draw.choice([512, 1024, 4096, 16384])} B",
                "switching": draw.choice(["cut-through", "store-and-forward"]),
                "max_packets": draw.choice([1, 4, 16])}
    if kind == "flit":
        size = draw.choice([256, 1024, 8192])
        return {"model": kind, "flit_size": f"{size} B", "packet_size": f"{8 * size} B"}
    if kind == "analytical":
        return {"model": kind, "ports": draw.choice(["free", "shared"])}
    return {"model": kind}


def memory(draw):
    kind = draw.choice(["bandwidth", "channel", "dram", "dram"])
    if kind == "dram":
        return {"model": kind, "preset": draw.choice(["LPDDR5", "DDR4-2400", "HBM2", "HBM3", "DDR5", "GDDR6"]),
                "transfer": draw.choice(["1 KiB", "4 KiB"])}
    if kind == "channel":
        return {"model": kind, "arbitration": draw.choice(["first-come", "fair", "fair-tenants"])}
    return {"model": kind}


def compute(draw):
    kind = draw.choice(["roofline", "gemm", "systolic", "systolic-cycle", "npu"])
    if kind in ("systolic", "systolic-cycle"):
        return {"model": kind, "array": draw.choice([[8, 8], [16, 16], [16, 32]])}
    if kind == "npu":
        return {"model": kind, "array": draw.choice([[8, 8], [16, 16]]), "vector_width": draw.choice([32, 128]),
                "scratchpad": "256 KiB", "accumulator": "64 KiB"}
    return {"model": kind}


# A key, and what may stand there.
AXES = [
    ("machine.network", network), ("machine.network", network), ("machine.memory", memory),
    ("machine.memory", memory), ("machine.compute", compute), ("machine.compute", compute),
    ("machine.network.routing", ["xy", "yx", "shortest", "odd-even", "west-first"]),
    ("machine.dram.latency", ["20 ns", "90 ns", "400 ns"]),
    ("machine.dram.bandwidth", ["10 GB/s", "60 GB/s", "300 GB/s"]),
    ("machine.topology.latency", ["1 ns", "7 ns", "60 ns"]),
    ("machine.topology.bandwidth", ["9 GB/s", "70 GB/s"]),
    ("strategy.schedule", ["1f1b", "gpipe", "zb-h1", "interleaved", "layer-wise"]),
    ("strategy.recompute", ["none", "selective", "full"]), ("strategy.zero", [0, 1, 2, 3]),
    ("strategy.micro_batch", [1, 2, 4]), ("strategy.chunks", [1, 2]), ("strategy.pipeline", [1, 2, 3]),
    ("strategy.tensor", [1, 2, 4]), ("strategy.data", [1, 2]), ("strategy.overlap_gradients", [True]),
    ("strategy.overlap_tensor", [True]), ("strategy.boundary", ["scattered", "broadcast", "reduced"]),
    ("strategy.aggregation", ["tensor", "stage"]),
    ("strategy.collectives.tensor", ["halving-doubling", "line", "ring-relay", "direct"]),
    ("strategy.collectives.data", ["halving-doubling", "double-binary-tree", "ring-bidirectional"]),
    ("strategy.placement.layout", ["line", "linear", "replicas", "s-shape"]),
    ("execution.sends", ["eager", "delivered"]), ("execution.window", [1, 16, 512]),
    ("execution.lanes.compute", [1, 2]), ("execution.lanes.collective", [0, 1]),
    ("execution.collectives.chunks", [1, 3, 8]), ("execution.collectives.order", ["ascending", "themis"]),
    ("run.replay", ["graphs"]),
    ("workload.scheduler.policy", ["deadline", "first-come", "spatial", "time-sharing", "spatial-split"]),
    ("workload.all_reduce", ["direct", "double-binary-tree", "halving-doubling", "ring"]),
    ("workload.tenants.0.batching.order", ["first-come", "priority"]),
    ("workload.pattern", ["uniform", "bit-complement", "hotspot", "neighbour", "tornado"]),
    ("workload.process", ["bernoulli", "on-off"]), ("workload.rate", [0.001, 0.05, 0.4]),
    ("workload.steps", ["walked", "whole"]), ("workload.seed", [1, 2, 3]), ("workload.optimize", ["none", "all"]),
    ("run.iterations", [1, 2, 3])]


def settings_of(draw):
    """Overrides of one to four keys."""
    words = {}
    for key, values in draw.sample(AXES, draw.randint(1, 4)):
        value = values(draw) if callable(values) else draw.choice(values)
        words[key] = value if isinstance(value, str) else json.dumps(value)
    return [word for key in sorted(words) for word in ("--set", f"{key}={words[key]}")]


def cut(draw, ranks):
    synchronization = draw.choices(["promise", "window", "null-message"], [3, 1, 1])[0]
    words = ["--partition", draw.choice(random_runs.PARTITIONS + ["npus", "tenants", "communicators"]),
             "--synchronization", synchronization]
    return words if ranks > 1 else words[2:]


def call(words, processor_s=None):
    """The finished process; code 124 when it took too long."""
    limit = ["prlimit", f"--cpu={processor_s}"] if processor_s else []
    with subprocess.Popen([*limit, *(str(word) for word in words)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=random_runs.environment(),
                          start_new_session=True) as run:
        try:
            text, _ = run.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.communicate()
            return 124, ""
        ended = processor_s and run.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
        return 124 if ended else run.returncode, text.decode("utf-8", "replace")


def summary(folder):
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def results(folder):
    found = summary(folder)
    return {key: found[key] for key in RESULTS if key in found}


class Case:
    """A drawn experiment, and what one rank makes of it."""

    def __init__(self, options, seed, scratch):
        self.options = options
        self.draw = random.Random(f"works:{seed}")
        self.kind = self.draw.choice(KINDS)  # also of what is drawn again
        self.scratch = scratch
        self.experiment = None
        self.settings = []
        self.expected = None
        self.seconds = 0
        self.counts = collections.Counter()

    def base(self):
        if self.kind not in BASES:
            path = self.scratch / "experiment.yaml"
            random_runs.drawn(self.options.tessera, self.draw, path, self.kind)
            return path
        # By hashes, so that a new experiment in the folder leaves most draws as they are.
        token = self.draw.getrandbits(64)
        return max(BASES[self.kind], key=lambda path: hashlib.sha256(f"{token}:{path.stem}".encode()).digest())

    def find(self):
        """Draws until one can be run, in the time allowed; whether its model can go on to the end."""
        while True:
            self.experiment = self.base()
            self.settings = settings_of(self.draw)
            self.settings += ["--set", f"run.trace={self.draw.choice(['none', 'summary', 'full'])}"]
            if call([self.options.tessera, "check", self.experiment, *self.settings], LONGEST_S)[0] != 0:
                self.counts["refused"] += 1
                continue
            began = time.time()
            folder = self.scratch / "one"
            code, text = call([self.options.tessera, "run", self.experiment, "-q", *self.settings, "-o", folder],
                              LONGEST_S)
            self.seconds = time.time() - began
            if code == 124:
                self.counts["too long"] += 1
            elif code == 0:
                self.expected = results(self.scratch / "one")
                return True
            elif code == 3:
                self.counts["cannot go on"] += 1
                return False
            elif code != 2:
                raise AssertionError(f"one rank: exit code {code}: {text[-2000:]}")

    def ranks(self):
        return self.draw.randint(2, 4)

    def launched(self, ranks, words):
        command = [self.options.tessera, "run", *words]
        return [self.options.mpiexec, "-n", ranks, *command] if ranks > 1 else command

    def allowed_cut(self, ranks):
        """A cut that this experiment can have."""
        while True:
            words = cut(self.draw, ranks)
            check = [self.options.tessera, "check", self.experiment, *self.settings, "--ranks", ranks]
            if ranks > 1:
                check += ["--set", "run.partition=" + words[1]]
            if call(check, LONGEST_S)[0] == 0:
                self.counts[f"ranks: {ranks}"] += 1
                if ranks > 1:
                    self.counts[f"synchronization: {words[-1]}"] += 1
                    self.counts[f"partition: {words[1]}"] += 1
                return [*words, *(["--set", "run.idle_ranks=false"] if self.draw.random() < 0.7 else [])]

    def straight(self, ranks):
        folder = self.scratch / "several"
        words = [self.experiment, "-q", *self.settings, "-o", folder, *self.allowed_cut(ranks)]
        if self.draw.random() < 0.2:
            words += ["--test-delays", self.draw.randrange(1 << 32)]
        code, text = call(self.launched(ranks, words))
        assert code == 0, f"{ranks} ranks, {words}: exit code {code}: {text[-2000:]}"
        self.hold(folder, f"{ranks} ranks, {words}")

    def hold(self, folder, what):
        found = results(folder)
        for key, value in self.expected.items():
            assert found.get(key) == value, f"{what}: {key} is {found.get(key)}, not {value}"

    def hold_rows(self, folder):
        """Each committed operator and message of a run that was disturbed is one of the undisturbed run, where that
        has them. Bins and sums of a run that was stopped end where it was stopped."""
        whole = self.scratch / "one"
        if not list(folder.glob("trace*.h5")) or not list(whole.glob("trace*.h5")):
            return
        done = subprocess.run([PYTHON, ROWS, folder, "--among", whole, "--tables", "operators", "messages"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"committed rows: {done.stderr[-2000:]}"
        self.counts["committed rows compared"] += json.loads(done.stdout)["rows"]

    def interrupted(self, ranks):
        folder = self.scratch / "broken"
        every = max(self.expected["simulated_time_ps"] // self.draw.randint(2, 12), 1)
        words = [self.experiment, "-q", *self.settings, "-o", folder, *self.allowed_cut(ranks)]
        parts = self.draw.randint(1, 3)
        self.disturb(self.launched(ranks, [*words, "--checkpoint-every", f"sim:{every}ps"]), folder)
        for part in range(parts, -1, -1):
            self.hold_rows(folder)
            if (folder / "summary.json").exists() and summary(folder)["status"] == "finished":
                break
            ranks = self.draw.randint(1, 4)
            if not list((folder / "checkpoints").glob("[0-9]" * 5)):
                self.counts["no checkpoint yet"] += 1
                code, text = call(self.launched(1, [self.experiment, "-q", *self.settings, "-o", folder]))
                assert code == 0, f"again from the beginning: exit code {code}: {text[-2000:]}"
                break
            words = ["--resume", folder, "-q", *self.allowed_cut(ranks)[:4 if ranks > 1 else 2], "--checkpoint-every",
                     f"sim:{every}ps"]
            if part > 0:
                self.disturb(self.launched(ranks, words), folder)
            else:
                code, text = call(self.launched(ranks, words))
                assert code == 0, f"resumed on {ranks} ranks, {words}: exit code {code}: {text[-2000:]}"
            self.counts["resumed"] += 1
        self.hold(folder, "interrupted")

    def disturb(self, command, folder):
        """Ends the run in a random way at a random time after its first checkpoint, or before."""
        way = self.draw.choice(["kill", "kill", "stop", "stop one"])
        early = self.draw.random() < 0.15
        wait = self.draw.uniform(0, 1.5 * self.seconds)
        with subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env=random_runs.environment(), start_new_session=True) as run:
            ended = time.time() + PATIENCE_S
            while run.poll() is None and not early and time.time() < ended and \
                    not list((folder / "checkpoints").glob("[0-9]" * 5)):
                time.sleep(0.002)
            time.sleep(wait)
            ranks = ranks_of(run.pid)
            self.end(run, way)
            text = self.wait_for(run, way, command)
        # A launcher may end before its ranks, which hold the folder until they are gone.
        while any(is_alive(rank) for rank in ranks) and time.time() < ended:
            time.sleep(0.01)
        if text is None:
            return
        self.counts["finished before" if run.returncode == 0 else way] += 1
        good = {"kill": (0, 137, -9, 1), "stop": (0, 75, 1, -12, -10, 138, 143, -15), "stop one": (0, 75, 1, 143, -15, 137)}
        if is_hydra(self.options.mpiexec):  # ends with the bare number of a signal
            good = {way: (*codes, *(code - 128 for code in codes if code > 128)) for way, codes in good.items()}
            good["kill"] += (15,)  # of ranks that it ended for the killed one's sake
        assert run.returncode in good[way], f"{way}: exit code {run.returncode}: {text.decode()[-2000:]}"

    def wait_for(self, run, way, command):
        """What the run has said at its end; none where the launcher alone was left."""
        ended, alone = time.time() + PATIENCE_S, 0
        while True:
            try:
                return run.communicate(timeout=5)[0]
            except subprocess.TimeoutExpired:
                # Open MPI's launcher may wait forever for a rank that was killed while MPI began.
                alone = 0 if ranks_of(run.pid) else alone + 1
                if alone > 6 or time.time() > ended:
                    os.killpg(run.pid, signal.SIGKILL)
                    run.communicate()
                    assert alone > 6, f"did not end after {way}: {command}"
                    self.counts["launcher left alone"] += 1
                    return None

    @staticmethod
    def end(run, way):
        if run.poll() is not None:
            return
        ranks = ranks_of(run.pid) or [run.pid]
        try:
            if way == "kill":
                os.kill(random.choice(ranks), signal.SIGKILL)
            elif way == "stop":
                os.kill(run.pid, signal.SIGUSR1)
            else:
                os.kill(random.choice(ranks), signal.SIGTERM)
        except ProcessLookupError:
            pass


def is_alive(pid):
    """Whether it is a process of the program that lives."""
    try:
        name, _, state = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")
    except OSError:
        return False
    return name.endswith("(tessera") and state.split()[0] != "Z"


def ranks_of(pid):
    """Processes of the program below `pid` that live."""
    found = []
    for child in children_of(pid):
        try:
            name, _, state = pathlib.Path(f"/proc/{child}/stat").read_text(encoding="ascii").rpartition(")")
        except OSError:
            continue
        if not name.endswith("(tessera"):
            found += ranks_of(child)
        elif state.split()[0] != "Z":
            found.append(child)
    return found


def kinds(folder):
    """What was run: the words of the resolved configuration that name parts."""
    resolved = yaml.safe_load((folder / "config.resolved.yaml").read_text(encoding="utf-8"))
    machine = resolved.get("machine", {})

    def model(section):
        return (machine.get(section) or {}).get("model", "none")
    return {"work": resolved.get("workload", {}).get("kind", "?"), "network": model("network"),
            "memory": model("memory"), "compute": model("compute"),
            "topology": (machine.get("topology") or {}).get("kind", "?")}


def run_one(options, seed, counts):
    with tempfile.TemporaryDirectory(prefix="tessera-works-") as scratch:
        case = Case(options, seed, pathlib.Path(scratch))
        try:
            if case.find():
                for what, kind in kinds(case.scratch / "one").items():
                    counts[f"{what}: {kind}"] += 1
                ranks = case.ranks()
                if case.draw.random() < options.interrupted:
                    case.interrupted(ranks)
                    counts["interrupted"] += 1
                else:
                    case.straight(ranks)
                    counts["straight"] += 1
            counts.update(case.counts)
            return True
        except AssertionError as failure:
            print(f"seed {seed}: {case.experiment} {' '.join(case.settings)}\n{failure}", flush=True)
            if case.experiment and case.experiment.parent == case.scratch:
                print(case.experiment.read_text(encoding="utf-8"), flush=True)
            return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tessera", type=pathlib.Path)
    parser.add_argument("mpiexec")
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--interrupted", type=float, default=0.3)
    parser.add_argument("--report", type=pathlib.Path)
    options = parser.parse_args()
    if options.tessera.name != "tessera":
        parser.error("ranks are found by the name of the program, which has to be tessera")
    counts = collections.Counter()
    failed = [seed for seed in range(options.seed, options.seed + options.count)
              if not run_one(options, seed, counts)]
    print(f"{options.count} random works, {len(failed)} failed: {dict(counts)}")
    if options.report:
        options.report.write_text(json.dumps({"counts": counts, "failed": failed}), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
