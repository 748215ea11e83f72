"""What the pages under results/ are made with: a report, runs of the program, the machine."""

import csv
import json
import os
import platform
import resource
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENTS = ROOT / "configs" / "experiments"
REFERENCE = ROOT / "tests" / "validation" / "reference"


class Report:
    def __init__(self):
        self.lines = []
        self.missed = []

    def say(self, text=""):
        self.lines.append(text)

    def table(self, head, rows):
        self.say("| " + " | ".join(head) + " |")
        self.say("|" + "---|" * len(head))
        for row in rows:
            self.say("| " + " | ".join(str(cell) for cell in row) + " |")
        self.say()

    def bound(self, holds, text):
        print(("ok      " if holds else "MISSED  ") + text, flush=True)
        if not holds:
            self.missed.append(text)
        return "holds" if holds else "**missed**"

    def not_run(self, what):
        """A part that could not run is no part that holds."""
        self.say(f"**Not run**: {what}.")
        self.say()
        self.bound(False, f"not run: {what}")

    def at_least(self, value, bound, what, form="{:.1f}"):
        """A cell: value, bound, and whether it holds."""
        value_text, bound_text = form.format(value), form.format(bound)
        if value < bound <= float(value_text):  # rounding must not hide that it is missed
            value_text = repr(value)
        text = self.bound(value >= bound, f"{what}: {value_text}, at least {bound_text}")
        return f"{value_text} (≥ {bound_text}: {text})"

    def at_most(self, value, bound, what, form="{:.1f}"):
        value_text, bound_text = form.format(value), form.format(bound)
        if value > bound >= float(value_text):
            value_text = repr(value)
        text = self.bound(value <= bound, f"{what}: {value_text}, at most {bound_text}")
        return f"{value_text} (≤ {bound_text}: {text})"


def launched(ranks, command):
    """`command` on so many ranks."""
    words = [str(word) for word in command]
    if ranks == 1:
        return words
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), *words]


def call(command, codes=(0,), timeout=None):
    """The finished process, with `user_s` and `system_s` of it and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=timeout, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in codes:
        sys.exit(f"error: {' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    done.user_s = after.ru_utime - before.ru_utime
    done.system_s = after.ru_stime - before.ru_stime
    return done


def summary_of(folder):
    return json.loads((Path(folder) / "summary.json").read_text(encoding="utf-8"))


class Runner:
    """Runs experiments, given by name in configs/experiments or by path."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = Path(folder)
        self.known = {}
        self.folders = 0
        self.lock = threading.Lock()  # of the folders, as runs may go beside each other

    @staticmethod
    def path_of(experiment):
        path = Path(experiment)
        return path if path.suffix else EXPERIMENTS / f"{experiment}.yaml"

    def command(self, experiment, output, ranks=1, extra=()):
        """With all ranks at work, also where that does not pay."""
        all_work = ("--set", "run.idle_ranks=false") if ranks > 1 else ()
        return launched(ranks, [self.program, "run", self.path_of(experiment), "-o", output, *all_work,
                                *extra])

    def new_folder(self, experiment):
        with self.lock:
            self.folders += 1
            return self.folder / f"{Path(experiment).stem}-{self.folders}"

    def run(self, experiment, ranks=1, extra=()):
        """The summary of a run; each is done once."""
        key = (experiment, ranks, tuple(extra))
        if key not in self.known:
            output = self.new_folder(experiment)
            print(f"run     {Path(experiment).stem} on {ranks} rank(s) {' '.join(extra)}".rstrip(),
                  flush=True)
            call(self.command(experiment, output, ranks, ["-q", "-q", *extra]))
            self.known[key] = summary_of(output)
        return self.known[key]

    def check(self, experiment, extra=(), codes=(0,)):
        return call([str(self.program), "check", str(self.path_of(experiment)), *extra], codes)


def beside(calls):
    """What the calls give, in order: the first one alone, as it may write files that all read, the others
    as many at a time as there are processors. For runs whose own time is of no matter."""
    first, *others = calls
    results = [first()]
    with ThreadPoolExecutor(processors()) as pool:
        results += pool.map(lambda one: one(), others)
    return results


def rows_of(name):
    """A table of tests/validation/reference, or one with its whole path."""
    with open(REFERENCE / name, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


READ_TABLES = """
import h5py, json, sys
for line in sys.stdin:
    path, table = json.loads(line)
    with h5py.File(path) as file:
        rows = file[table][:]
    print(json.dumps([{name: int(row[name]) for name in rows.dtype.names} for row in rows]), flush=True)
"""
READING = threading.Lock()


@lru_cache
def reader():
    """A Python that reads tables, one for all of them: to find and start it takes longer than to read."""
    script = f'source "{ROOT}/scripts/lib.sh"; exec "$(python_with_libraries)" -c "$1"'
    return subprocess.Popen(["bash", "-c", script, "read", READ_TABLES], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)


def trace_rows(folder, table):
    """The rows of a table of the trace in a run folder."""
    path = Path(folder).resolve() / "index.h5"
    with READING:
        print(json.dumps([str(path), table]), file=reader().stdin, flush=True)
        answer = reader().stdout.readline()
    if not answer:
        sys.exit(f"error: {path}: cannot be read")
    return json.loads(answer)


def percent(ours, reference):
    return f"{100 * (ours - reference) / reference:+.2f} %"


def version(program):
    return call([str(program), "--version"]).stdout.strip()


def unit_tests():
    """Which unit tests these are: they are not part of the commit that a program names."""
    def git(*words):
        return subprocess.run(["git", "--no-optional-locks", "-C", str(ROOT), *words], check=False, capture_output=True,
                              text=True).stdout.strip()

    tree = git("rev-parse", "--short=12", "HEAD:tests/unit") or "unknown"
    return f"{tree}-dirty" if git("status", "--porcelain", "--", "tests/unit") else tree


def text_of(path):
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def processors():
    return len(os.sched_getaffinity(0))


def machine():
    """The machine in a sentence: processor, cores, clock as found, caches, memory."""
    lines = [line.split(":", 1) for line in text_of("/proc/cpuinfo").splitlines() if ":" in line]
    found = {name.strip(): value.strip() for name, value in lines}
    parts = [f"{processors()} × {found.get('model name', platform.machine())}"]
    if "cpu family" in found:
        parts[0] += f" (family {found['cpu family']}, model {found.get('model', '?')})"
    if "cpu MHz" in found:
        parts.append(f"{float(found['cpu MHz']):.0f} MHz")
    caches = Path("/sys/devices/system/cpu/cpu0/cache")
    for index in sorted(caches.glob("index*")):
        kind, level = text_of(index / "type"), text_of(index / "level")
        if kind != "Instruction":
            parts.append(f"L{level} {text_of(index / 'size')}")
    memory = text_of("/proc/meminfo").split()
    if len(memory) > 1:
        parts.append(f"{int(memory[1]) / 2 ** 20:.0f} GiB of memory")
    if "hypervisor" in found.get("flags", "").split():
        parts.append("virtual")
    return ", ".join(parts)


def load_average():
    return os.getloadavg()[0]
