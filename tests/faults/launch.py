"""Runs of the program under mpirun that are disturbed, and what is left of them."""
import functools
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
# Generous: the machine may be busy with other tests.
PATIENCE_S = float(os.environ.get("TESSERA_PATIENCE_S", "180"))  # of a build that is not slowed down


class Failure(Exception):
    """What a test expects and did not find."""


class LauncherHung(Failure):
    """mpirun still ran when no rank was left."""


def expect(condition, message):
    if not condition:
        raise Failure(message)


def state_of(pid):
    """As the kernel has it; 'X' when there is no such process (any more)."""
    try:
        # The name, in brackets, may hold anything.
        return pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def is_alive(pid):
    return state_of(pid) not in "ZX"


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # it has ended, which the caller finds out in other ways


@functools.lru_cache
def is_hydra(mpiexec):
    """Whether a launcher is MPICH's."""
    return "HYDRA" in subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False).stdout


RANK_NAMES = (b"OMPI_COMM_WORLD_RANK", b"PMI_RANK")  # in the environment, by Open MPI and by MPICH's Hydra


def rank_of(pid):
    """The rank that a launcher gave a process; None for processes that are none, or not yet."""
    try:
        words = pathlib.Path("/proc/%d/environ" % pid).read_bytes().split(b"\0")
    except OSError:
        return None
    for word in words:
        name, _, value = word.partition(b"=")
        if name in RANK_NAMES:
            return int(value)
    return None


def children_of(pid):
    try:
        return list(map(int, pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()))
    except OSError:
        return []


def ranks_below(pid):
    """Ranks and process ids: Open MPI's launcher starts ranks itself, Hydra has a proxy between."""
    for child in children_of(pid):
        rank = rank_of(child)
        if rank is None:
            yield from ranks_below(child)
        else:
            yield rank, child


def environment():
    # LeakSanitizer would report what Open MPI itself leaks at exit (see tests/cli).
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                OMPI_MCA_rmaps_base_oversubscribe="1", ASAN_OPTIONS="detect_leaks=0")


class Run:
    """The program on some ranks, started and not waited for."""

    def __init__(self, bench, ranks, arguments):
        self.ranks = ranks
        self.started = time.time()
        self.pids = {}
        command = [bench.mpiexec, "-n", str(ranks), bench.tessera, "run"]
        command += [str(argument) for argument in arguments]
        self.log = open(bench.scratch / "log.txt", "a+", encoding="utf-8", errors="replace")  # noqa: SIM115  until end()
        self.log.write("$ %s\n" % " ".join(command))
        self.log.flush()
        self.text_begins = self.log.tell()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.log, env=environment())

    def find_ranks(self):
        """Process ids by rank, as far as they have been started."""
        self.pids.update(ranks_below(self.process.pid))
        return self.pids

    def wait_for(self, condition, what):
        deadline = time.time() + PATIENCE_S
        while not condition():
            if self.process.poll() is not None:
                raise Failure("the run ended with %s before %s: %s"
                              % (self.process.returncode, what, self.text()))
            if time.time() > deadline:
                self.end()
                raise Failure("no " + what)
            time.sleep(0.002)

    def wait_until_started(self):
        self.wait_for(lambda: len(self.find_ranks()) == self.ranks, "start of all ranks")

    def wait(self, patience_s=PATIENCE_S):
        """The exit code."""
        try:
            return self.process.wait(timeout=patience_s)
        except subprocess.TimeoutExpired:
            if self.pids and not any(is_alive(pid) for pid in self.pids.values()):
                self.end()
                raise LauncherHung(self.text()) from None
            self.end()
            raise Failure("still runs after %d s: %s" % (patience_s, self.text())) from None

    def wait_for_ranks_to_go(self, patience_s):
        """Seconds until none is left."""
        began = time.time()
        while any(is_alive(pid) for pid in self.pids.values()):
            if time.time() - began > patience_s:
                left = sorted(rank for rank, pid in self.pids.items() if is_alive(pid))
                self.end()
                raise Failure("after %d s there still are ranks %s" % (patience_s, left))
            time.sleep(0.01)
        return time.time() - began

    def text(self):
        """What launcher and ranks have printed."""
        self.log.flush()
        with open(self.log.name, encoding="utf-8", errors="replace") as log:
            log.seek(self.text_begins)
            return log.read()

    def end(self):
        """Ends what is left of it by force."""
        for pid in [self.process.pid, *self.find_ranks().values()]:
            if is_alive(pid):
                send(pid, signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None or any(is_alive(pid) for pid in self.pids.values()):
            self.end()
        self.log.close()


def limit_memory(pid, more_bytes):
    """The address space of a running process may grow by so much."""
    pages = int(pathlib.Path("/proc/%d/statm" % pid).read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + more_bytes
    resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))


def resident_bytes(pid):
    """0 when there is no such process (any more)."""
    try:
        pages = int(pathlib.Path("/proc/%d/statm" % pid).read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def limit_file_size(pid, size):
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, size))


@functools.lru_cache
def python_with_hdf5():
    """An interpreter that can read traces; the first on PATH may be one that cannot."""
    for python in (sys.executable, "python3", "/usr/bin/python3"):
        done = subprocess.run([python, "-c", "import h5py, numpy"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False)
        if done.returncode == 0:
            return python
    raise SystemExit("error: no Python with h5py and numpy; install python3-h5py")


class Bench:
    """The program under test, and a folder for the runs of one trial."""

    def __init__(self, tessera, mpiexec, scratch, random):
        self.tessera = tessera
        self.mpiexec = mpiexec
        self.scratch = pathlib.Path(scratch)
        self.random = random
        self.folder = self.scratch / "run"
        self.figures = {}

    def start(self, ranks, *arguments):
        return Run(self, ranks, arguments)

    def call(self, ranks, *arguments):
        """Runs to the end, which must be a good one; gives wall seconds."""
        with self.start(ranks, *arguments) as run:
            code = run.wait()
            expect(code == 0, "exit code %d: %s" % (code, run.text()))
            return time.time() - run.started

    def clear(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def summary(self, folder=None):
        return json.loads(((folder or self.folder) / "summary.json").read_text(encoding="utf-8"))

    def rows(self, folder, *options):
        """What rows.py says of the rows in a run folder. In a process of its own, which a damaged
        file may end."""
        done = subprocess.run([python_with_hdf5(), str(HERE / "rows.py"), str(folder), *map(str, options)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S,
                              text=True, check=False)
        expect(done.returncode == 0, "rows.py %s: exit code %d: %s"
               % (" ".join(map(str, options)), done.returncode, done.stderr))
        return json.loads(done.stdout)

    def figure(self, name, value):
        """Keeps the worst, which is the largest."""
        self.figures[name] = max(value, self.figures.get(name, value))

    def count(self, name, value=1):
        self.figures[name] = self.figures.get(name, 0) + value
