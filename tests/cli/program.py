"""The program under test, and what is expected of it."""
import json
import os
import pathlib
import re
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
FORMATS = HERE.parent.parent / "docs" / "schemas"
CHECKS = {}


def check(function):
    CHECKS[function.__name__] = function
    return function


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


class Program:
    """The program under test, with a folder of its own."""

    def __init__(self, tessera, mpiexec, scratch):
        self.tessera = tessera
        self.mpiexec = mpiexec
        self.scratch = pathlib.Path(scratch)
        self.folder = self.scratch / "run"

    def words(self, arguments, ranks=0):
        launcher = [self.mpiexec, "-n", str(ranks)] if ranks else []
        return launcher + [self.tessera] + [str(a) for a in arguments]

    def start(self, arguments, ranks=0, **options):
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1",
                           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
        if ranks:
            # LeakSanitizer reports what Open MPI itself leaks at exit, from plug-ins unloaded by
            # then, which no suppression can name. Leaks of ours are looked for without a launcher.
            environment["ASAN_OPTIONS"] = "detect_leaks=0"
        environment.update(options.pop("environment", {}))
        return subprocess.Popen(self.words(arguments, ranks), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                                universal_newlines=True, encoding="utf-8", **options)

    def call(self, *arguments, ranks=0, **options):
        process = self.start(arguments, ranks, **options)
        try:
            process.stdout_text, process.stderr_text = process.communicate(timeout=90)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise AssertionError("%s hangs" % (arguments,)) from None
        return process

    def summary(self, folder=None):
        return json.loads(((folder or self.folder) / "summary.json").read_text(encoding="utf-8"))

    def wait_until_running(self, process, ranks=1):
        traces = [self.folder / ("trace.%05d.h5" % rank) for rank in range(ranks)]
        deadline = time.time() + 60
        while time.time() < deadline and process.poll() is None:
            if all(trace.exists() for trace in traces):
                time.sleep(0.5)
                return
            time.sleep(0.05)
        process.kill()
        raise AssertionError("the run did not begin: " + "".join(process.communicate()))


def expect_refusal(done, code, pattern):
    expect(done.returncode == code, "exit code %d, expected %d; stderr: %s"
           % (done.returncode, code, done.stderr_text))
    if "--json" not in done.args:
        expect(done.stdout_text == "", "stdout is not empty: " + done.stdout_text)
    else:
        expect(json.loads(done.stdout_text)["error"]["exit_code"] == code, done.stdout_text)
    lines = [line for line in done.stderr_text.splitlines() if not line.startswith("info: ")]
    expect(len(lines) == 1, "expected one message, got: " + done.stderr_text)
    expect(re.search(pattern, lines[0]), "expected %r in: %s" % (pattern, lines[0]))


def fits(document, name):
    """Whether a document fits its schema; by Debian's Python, which need not be this one."""
    code = ("import json, sys, jsonschema; jsonschema.validate(json.load(sys.stdin), "
            "json.load(open(sys.argv[1])))")
    for python in ("python3", "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import jsonschema"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0:
            done = subprocess.run([python, "-c", code, FORMATS / name], input=json.dumps(document),
                                  capture_output=True, text=True, check=False)
            expect(done.returncode == 0, "%s: %s" % (name, done.stderr[-2000:]))
            return
    raise AssertionError("no Python with jsonschema")
