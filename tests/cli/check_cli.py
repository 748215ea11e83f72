#!/usr/bin/env python3
"""Checks what the program says and how it ends, one check a call.

    check_cli.py TESSERA MPIEXEC CHECK
    check_cli.py --list
"""
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
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
            raise AssertionError("%s hangs" % (arguments,))
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
    expect(done.stdout_text == "", "stdout is not empty: " + done.stdout_text)
    lines = [l for l in done.stderr_text.splitlines() if not l.startswith("info: ")]
    expect(len(lines) == 1, "expected one message, got: " + done.stderr_text)
    expect(re.search(pattern, lines[0]), "expected %r in: %s" % (pattern, lines[0]))


# --- what it says

@check
def bad_cut_options(program):
    for command in ("run", "check", "scale"):
        ranks = ["--ranks", "2"] if command == "scale" else []
        words = [command, HERE / "short.yaml", *ranks]
        expect_refusal(program.call(*words, "--partition", "block"), 2, "did you mean 'blocks'")
        expect_refusal(program.call(*words, "--synchronization", "windows"), 2,
                       "did you mean 'window'")
        expect_refusal(program.call(*words, "--weights", "nowhere"), 74, "cannot read nowhere")


@check
def scale_refuses(program):
    experiment = HERE / "short.yaml"
    expect_refusal(program.call("scale", experiment), 2, "no numbers of ranks")
    expect_refusal(program.call("scale", experiment, "--ranks", "2,x"), 2, "expected numbers")
    expect_refusal(program.call("scale", experiment, "--ranks", "2,60000"), 2,
                   "can be predicted on 1 to [0-9]+ ranks, not on 60000")
    expect_refusal(program.call("scale", experiment, "--ranks", "2", "--message-latency", "1"), 2,
                   "--message-latency: .*unit")


@check
def scale_counts_as_a_run(program):
    scaling = program.scratch / "scaling.json"
    done = program.call("scale", HERE / "short.yaml", "--ranks", "2,4", "-o", scaling)
    expect(done.returncode == 0, done.stderr_text)
    expect("speed-up" in done.stdout_text, done.stdout_text)
    predictions = json.loads(scaling.read_text(encoding="utf-8"))["predictions"]
    expect([row["ranks"] for row in predictions] == [1, 2, 4], predictions)
    for row in predictions:
        done = program.call("run", HERE / "short.yaml", "-o", program.folder, "-q",
                            ranks=row["ranks"])
        expect(done.returncode == 0, done.stderr_text)
        summary = program.summary()
        real = [summary["events"], max(summary["rank_events"]), summary["windows"],
                summary["remote_events"], summary["cut_links"]]
        expect([row[key] for key in ("events", "largest_events", "windows", "remote_events",
                                     "cut_links")] == real, "%s instead of %s" % (row, real))


@check
def measured_weights(program):
    expect(program.call("run", HERE / "short.yaml", "-o", program.folder, "-q").returncode == 0,
           "the run failed")
    digest = program.summary()["result_digest"]
    second = program.scratch / "second"
    done = program.call("run", HERE / "short.yaml", "-o", second, "-q", "--weights",
                        program.folder, "--partition", "stripes", ranks=2)
    expect(done.returncode == 0, done.stderr_text)
    summary = program.summary(second)
    expect(summary["result_digest"] == digest, "weights changed the result")
    expect(summary["weights"] == str(program.folder) and summary["partition"] == "stripes", summary)
    done = program.call("check", HERE / "short.yaml", "--ranks", "3", "--weights", program.folder)
    expect("imbalance by weight" in done.stdout_text and "share of weight" in done.stdout_text,
           done.stdout_text)

@check
def version(program):
    done = program.call("--version")
    expect(done.returncode == 0, "exit code %d" % done.returncode)
    expect(re.match(r"tessera \d+\.\d+\.\d+ \([^)]+\), MPI: \S.*, HDF5 \d+\.\d+\.\d+\n$",
                    done.stdout_text), done.stdout_text)
    expect(done.stderr_text == "", done.stderr_text)


@check
def help_of_all(program):
    done = program.call("--help")
    expect(done.returncode == 0 and done.stderr_text == "", done.stderr_text)
    commands = re.findall(r"^  ([a-z]+) ", done.stdout_text, re.MULTILINE)
    expect(set(commands) >= {"run", "check", "list", "show", "export"}, done.stdout_text)
    for command in commands:
        done = program.call(command, "--help")
        expect(done.returncode == 0 and done.stderr_text == "",
               "%s --help: %d %s" % (command, done.returncode, done.stderr_text))
        expect("tessera " + command in done.stdout_text, "%s: %s" % (command, done.stdout_text))


@check
def no_command(program):
    done = program.call()
    expect(done.returncode == 2 and done.stdout_text == "", done.stdout_text)
    expect(done.stderr_text.startswith("usage: tessera COMMAND"), done.stderr_text)


@check
def unknown_command(program):
    expect_refusal(program.call("runn", "x.yaml"), 2, "runn.*did you mean 'run'")


@check
def unknown_option(program):
    for command in ("run", "check"):
        expect_refusal(program.call(command, HERE / "short.yaml", "--sett", "a=b"), 2,
                       "sett.*; see tessera %s --help" % command)


@check
def unknown_kind(program):
    expect_refusal(program.call("list", "topologie"), 2, "did you mean 'topologies'")


@check
def no_experiment(program):
    for command in ("run", "check"):
        expect_refusal(program.call(command), 2, "no experiment")


@check
def bad_option_value(program):
    expect_refusal(program.call("run", HERE / "short.yaml", "--watchdog", "soon"), 2, "soon")


@check
def missing_experiment(program):
    for command in ("run", "check"):
        expect_refusal(program.call(command, "nowhere.yaml"), 74,
                       "nowhere.yaml.*No such file or directory")


@check
def bad_input_once_for_all_ranks(program):
    done = program.call("run", HERE / "short.yaml", "--set", "run.iterations=0", ranks=3)
    expect(done.returncode == 2, "exit code %d" % done.returncode)
    expect(done.stderr_text.count("run.iterations: must be between") == 1, done.stderr_text)


# --- folders

@check
def run_and_show(program):
    done = program.call("run", HERE / "short.yaml", "-o", program.folder)
    expect(done.returncode == 0, done.stderr_text)
    expect(program.summary()["status"] == "finished", "status")
    expect(str(program.folder) in done.stdout_text, done.stdout_text)
    shown = program.call("show", program.folder)
    expect(shown.returncode == 0 and shown.stderr_text == "", shown.stderr_text)
    expect(program.summary()["result_digest"] in shown.stdout_text, shown.stdout_text)
    # The same folder may be used again, and a foreign file is never overwritten.
    again = program.call("run", HERE / "short.yaml", "-o", program.folder, "--trace", "none")
    expect(again.returncode == 0, again.stderr_text)
    left = sorted(p.name for p in program.folder.iterdir())
    expect(left == ["config.resolved.yaml", "manifest.json", "node_events.txt", "summary.json"], left)


@check
def show_damaged_run(program):
    program.call("run", HERE / "short.yaml", "-o", program.folder)
    trace = program.folder / "trace.00000.h5"
    content = bytearray(trace.read_bytes())
    content[len(content) // 2] ^= 0x40
    trace.write_bytes(bytes(content))
    done = program.call("show", program.folder)
    expect(done.returncode == 74, "exit code %d" % done.returncode)
    expect(re.search("error: trace.00000.h5: damaged", done.stderr_text), done.stderr_text)
    trace.unlink()
    done = program.call("show", program.folder)
    expect(done.returncode == 74, "exit code %d" % done.returncode)
    expect(re.search("error: trace.00000.h5: missing", done.stderr_text), done.stderr_text)


@check
def show_garbage(program):
    program.folder.mkdir()
    expect_refusal(program.call("show", program.folder), 74, "summary.json.*No such file")
    for garbage in (b"", b"not json", b"[]", b"{}", b"\xff\xfe\x00", b"[" * 100000):
        (program.folder / "summary.json").write_bytes(garbage)
        expect_refusal(program.call("show", program.folder), 74, "summary.json: error: ")
    expect_refusal(program.call("show"), 2, "folder of a run")


@check
def output_is_a_file(program):
    program.folder.write_text("precious")
    expect_refusal(program.call("run", HERE / "short.yaml", "-o", program.folder), 2,
                   "is not a folder")
    expect(program.folder.read_text() == "precious", "the file was touched")


@check
def output_holds_something_else(program):
    program.folder.mkdir()
    (program.folder / "thesis.txt").write_text("precious")
    expect_refusal(program.call("run", HERE / "short.yaml", "-o", program.folder), 2,
                   "holds 'thesis.txt', which is not of a run")
    expect([p.name for p in program.folder.iterdir()] == ["thesis.txt"], "something was written")


@check
def output_cannot_be_made(program):
    file = program.scratch / "file"
    file.write_text("")
    expect_refusal(program.call("run", HERE / "short.yaml", "-o", file / "run"), 74,
                   "Not a directory")
    done = program.call("run", HERE / "short.yaml", "-o", file / "run", ranks=2)
    expect(done.returncode == 74, "exit code %d" % done.returncode)
    expect(done.stderr_text.count("Not a directory") == 1, done.stderr_text)


@check
def file_size_limit(program):
    """Stands for a full disk: a write beyond 256 kB fails."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (256 * 1024, 256 * 1024))
    done = program.call("run", HERE / "long.yaml", "-o", program.folder, "--set",
                        "run.iterations=200", preexec_fn=limit)
    expect_refusal(done, 74, r"trace.00000.h5: error: .*File too large")
    expect(program.summary()["status"] == "failed", program.summary()["status"])


# --- signals

def stop_with(program, number, ranks):
    process = program.start(["run", HERE / "long.yaml", "-o", program.folder], ranks)
    program.wait_until_running(process, max(ranks, 1))
    process.send_signal(number)
    try:
        out, err = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError("does not stop on signal %d" % number)
    expect(process.returncode == 75, "signal %d: exit code %d, expected 75; %s"
           % (number, process.returncode, err))
    summary = program.summary()
    expect(summary["status"] == "stopped", summary["status"])
    expect(summary["simulated_time_ps"] > 0, "nothing was simulated")
    shown = program.call("show", program.folder)
    expect(shown.returncode == 0 and shown.stderr_text == "", shown.stderr_text)
    expect("stopped" in shown.stdout_text, shown.stdout_text)


@check
def stop_by_term(program):
    stop_with(program, signal.SIGTERM, 0)


@check
def stop_by_interrupt(program):
    stop_with(program, signal.SIGINT, 0)


@check
def stop_by_usr1(program):
    stop_with(program, signal.SIGUSR1, 0)


@check
def stop_two_ranks_by_usr1(program):
    stop_with(program, signal.SIGUSR1, 2)


@check
def status_by_usr2(program):
    process = program.start(["run", HERE / "long.yaml", "-o", program.folder])
    program.wait_until_running(process)
    process.send_signal(signal.SIGUSR2)
    time.sleep(1)
    expect(process.poll() is None, "the run ended")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    expect(re.search(r"^rank 0: simulated .*, \d+ events", err, re.MULTILINE), err)


# --- checkpoints

RESULTS = ["result_digest", "simulated_time_ps", "iteration_time_ps", "events", "messages",
           "packet_hops", "breakdown"]


def run_whole(program):
    """A run that takes a moment, uninterrupted."""
    folder = program.scratch / "whole"
    done = program.call("run", HERE / "long.yaml", "--set", "run.iterations=150", "-q", "-o", folder)
    expect(done.returncode == 0, done.stderr_text)
    return program.summary(folder)


def expect_results(program, expected, segments):
    summary = program.summary()
    expect(summary["status"] == "finished", summary["status"])
    for key in RESULTS:
        expect(summary[key] == expected[key], "%s is %s, not %s" % (key, summary[key], expected[key]))
    expect(len(summary["segments"]) == segments, summary["segments"])
    shown = program.call("show", program.folder)
    expect(shown.returncode == 0 and shown.stderr_text == "", shown.stderr_text)


def stop_and_go_on(program, number, before, after):
    expected = run_whole(program)
    process = program.start(["run", HERE / "long.yaml", "--set", "run.iterations=150", "-o",
                             program.folder], before)
    program.wait_until_running(process, max(before, 1))
    process.send_signal(number)
    process.communicate(timeout=60)
    expect(process.returncode == 75, "exit code %d" % process.returncode)
    expect(program.summary()["status"] == "stopped", program.summary()["status"])
    done = program.call("run", "--resume", program.folder, ranks=after)
    expect(done.returncode == 0, done.stderr_text)
    expect("going on from checkpoint 1" in done.stderr_text, done.stderr_text)
    expect_results(program, expected, 2)


@check
def resume_after_usr1(program):
    stop_and_go_on(program, signal.SIGUSR1, 0, 0)


@check
def resume_after_term(program):
    stop_and_go_on(program, signal.SIGTERM, 0, 0)


@check
def resume_on_two_ranks(program):
    stop_and_go_on(program, signal.SIGUSR1, 0, 2)


@check
def resume_after_kill(program):
    """Killed while it writes one checkpoint after the other."""
    expected = run_whole(program)
    process = program.start(["run", HERE / "long.yaml", "--set", "run.iterations=150", "-o",
                             program.folder, "--checkpoint-every", "0.01s"])
    deadline = time.time() + 60
    while not (program.folder / "checkpoints" / "00003").exists():
        expect(process.poll() is None and time.time() < deadline, "no third checkpoint")
        time.sleep(0.001)
    process.kill()
    process.communicate(timeout=30)
    expect(program.summary()["status"] == "running", program.summary()["status"])
    done = program.call("run", "--resume", program.folder, "--checkpoint-every", "sim:100 ms")
    expect(done.returncode == 0, done.stderr_text)
    expect_results(program, expected, 2)
    left = sorted(p.name for p in (program.folder / "checkpoints").iterdir())
    expect(len(left) == 2 and all(re.fullmatch("[0-9]{5}", name) for name in left), left)


@check
def resume_of_damaged_checkpoints(program):
    done = program.call("run", HERE / "long.yaml", "--set", "run.iterations=20", "-q", "-o",
                        program.folder, "--checkpoint-every", "sim:40ms")
    expect(done.returncode == 0, done.stderr_text)
    expected = program.summary()
    finished = program.call("run", "--resume", program.folder)
    expect(finished.returncode == 0 and "has finished" in finished.stderr_text, finished.stderr_text)
    (program.folder / "summary.json").unlink()
    newest, older = sorted((program.folder / "checkpoints").iterdir(), reverse=True)
    damage = newest / "rank.00000.h5"
    damage.write_bytes(damage.read_bytes()[:-1])
    done = program.call("run", "--resume", program.folder)
    expect(done.returncode == 0, done.stderr_text)
    expect(re.search("warning: .*rank.00000.h5: has .* going back to checkpoint", done.stderr_text),
           done.stderr_text)
    expect_results(program, expected, 2)
    (program.folder / "summary.json").unlink()
    (older / "checkpoint.json").write_text("{}")
    expect_refusal(program.call("run", "--resume", program.folder), 2, "holds no valid checkpoint")


@check
def resume_refusals(program):
    expect_refusal(program.call("run", "--resume", program.folder), 2, "is no run to go on with")
    program.call("run", HERE / "short.yaml", "-o", program.folder)
    (program.folder / "summary.json").unlink()
    expect_refusal(program.call("run", "--resume", program.folder), 2, "holds no checkpoint")
    done = program.call("run", "--resume", program.folder, ranks=2)
    expect(done.returncode == 2, "exit code %d" % done.returncode)
    expect(done.stderr_text.count("holds no checkpoint") == 1, done.stderr_text)
    for other in (["--set", "run.iterations=2"], ["--trace", "none"], [HERE / "short.yaml"],
                  ["-o", program.folder]):
        expect_refusal(program.call("run", "--resume", program.folder, *other), 2,
                       "does not go together with")
    config = program.folder / "config.resolved.yaml"
    config.write_text(config.read_text() + "# changed\n")
    expect_refusal(program.call("run", "--resume", program.folder), 2, "is not as the run wrote it")
    for text in ("5", "soon", "0s", "-1s", "sim:", "sim:5", "sim:0 ps", "3 days"):
        expect_refusal(program.call("run", HERE / "short.yaml", "--checkpoint-every", text), 2,
                       "--checkpoint-every")


def state_and_parent(pid):
    """As the kernel has it, or None when there is no such process (any more)."""
    try:
        # The name, in brackets, may hold anything.
        fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[1])


def is_alive(pid):
    found = state_and_parent(pid)
    return found is not None and found[0] not in "ZX"


def children_of(parent):
    pids = [int(e.name) for e in pathlib.Path("/proc").iterdir() if e.name.isdigit()]
    return [p for p in pids if is_alive(p) and (state_and_parent(p) or (0, 0))[1] == parent]


@check
def killed_rank_ends_all(program):
    process = program.start(["run", HERE / "long.yaml", "-o", program.folder], 3)
    program.wait_until_running(process, 3)
    ranks = children_of(process.pid)
    expect(len(ranks) == 3, "expected 3 ranks below the launcher, found %s" % ranks)
    os.kill(ranks[1], signal.SIGKILL)
    killed = time.time()
    try:
        process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError("the launcher goes on without a rank")
    expect(process.returncode != 0, "exit code 0")
    while any(is_alive(pid) for pid in ranks) and time.time() - killed < 5:
        time.sleep(0.05)
    took = time.time() - killed
    left = [pid for pid in ranks if is_alive(pid)]
    expect(took < 5 and not left, "after %.1f s there still are %s" % (took, left))
    expect(program.summary()["status"] == "running", program.summary()["status"])


# --- sweeps and plans

def write_sweep(program, lines=""):
    path = program.scratch / "sweep.yaml"
    path.write_text("experiment: %s\naxes:\n  strategy.pipeline: [1, 2, 3]\n"
                    "  strategy.tensor: [1, 2]\n  strategy.micro_batch: [1, 2, 4, 8]\n"
                    "set: {run.iterations: 40, strategy.capacity: ignore}\n%s"
                    % (json.dumps(str(HERE / "short.yaml")), lines), encoding="utf-8")
    return path


def csv_of(folder):
    return (folder / "sweep.csv").read_text(encoding="utf-8")


@check
def sweep_and_its_table(program):
    sweep = write_sweep(program, "constraints: [tensor * pipeline <= 4]\n")
    done = program.call("sweep", sweep, "-o", program.folder, "--top", "3")
    expect(done.returncode == 0, done.stderr_text)
    expect("20 points of a grid of 24" in done.stderr_text, done.stderr_text)
    expect("20 points, 20 finished" in done.stdout_text, done.stdout_text)
    expect(re.search(r"^3 +[0-9]+ ", done.stdout_text, re.MULTILINE), done.stdout_text)
    expect(not re.search(r"^4 +[0-9]+ ", done.stdout_text, re.MULTILINE), done.stdout_text)
    left = sorted(p.name for p in program.folder.iterdir())
    expect(left == ["points", "sweep.csv", "sweep.h5", "sweep.json", "sweep.resolved.yaml"], left)
    rows = csv_of(program.folder).splitlines()
    expect(len(rows) == 21 and rows[0].startswith("point,strategy.pipeline,strategy.tensor,"), rows[0])
    # The same folder may be used again; --set reaches every point.
    again = program.call("sweep", sweep, "-o", program.folder, "-q", "--set", "strategy.data=0")
    expect(again.returncode == 3, again.stderr_text)
    expect("no point finished" in again.stderr_text, again.stderr_text)
    expect("refused" in again.stdout_text and "strategy.data" in again.stdout_text,
           again.stdout_text)


@check
def sweep_resumes_after_kill(program):
    sweep = write_sweep(program)
    whole = program.scratch / "whole"
    done = program.call("sweep", sweep, "-o", whole)
    expect(done.returncode == 0, done.stderr_text)
    for lines in (1, 5, 12):
        folder = program.scratch / ("killed after %d" % lines)
        process = program.start(["sweep", sweep, "-o", folder])
        log = folder / "points" / "00000.jsonl"
        deadline = time.time() + 60
        while not log.exists() or log.read_bytes().count(b"\n") < lines:
            expect(process.poll() is None and time.time() < deadline, "no %d points" % lines)
            time.sleep(0.001)
        process.kill()
        process.communicate(timeout=30)
        expect(not (folder / "sweep.csv").exists(), "the sweep had ended")
        done = program.call("sweep", "--resume", folder)
        expect(done.returncode == 0, done.stderr_text)
        expect(re.search("going on; [0-9]+ of 24 points are there", done.stderr_text),
               done.stderr_text)
        expect(csv_of(folder) == csv_of(whole), "another table after %d points" % lines)


@check
def sweep_resumes_on_two_ranks(program):
    sweep = write_sweep(program)
    whole = program.scratch / "whole"
    expect(program.call("sweep", sweep, "-o", whole).returncode == 0, "whole")
    process = program.start(["sweep", sweep, "-o", program.folder])
    log = program.folder / "points" / "00000.jsonl"
    deadline = time.time() + 60
    while not log.exists() or not log.stat().st_size:
        expect(process.poll() is None and time.time() < deadline, "no point")
        time.sleep(0.001)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    expect(process.returncode == 75, "exit code %d: %s" % (process.returncode, err))
    expect("--resume" in err, err)
    done = program.call("sweep", "--resume", program.folder, ranks=2)
    expect(done.returncode == 0, done.stderr_text)
    expect(csv_of(program.folder) == csv_of(whole), "another table")


@check
def sweep_refusals(program):
    expect_refusal(program.call("sweep"), 2, "no sweep file")
    expect_refusal(program.call("sweep", "nowhere.yaml"), 74, "nowhere.yaml")
    expect_refusal(program.call("sweep", "--resume", program.folder), 2, "no sweep to go on with")
    sweep = write_sweep(program)
    for other in (["--set", "a=1"], [sweep], ["-o", program.folder]):
        expect_refusal(program.call("sweep", "--resume", program.folder, *other), 2,
                       "does not go together with")
    program.call("sweep", sweep, "-o", program.folder)
    before = csv_of(program.folder)
    write_sweep(program, "# changed\n")
    expect_refusal(program.call("sweep", "--resume", program.folder), 2, "is not as it was")
    expect(csv_of(program.folder) == before, "something was written")
    program.call("run", HERE / "short.yaml", "-o", program.scratch / "run-folder")
    expect_refusal(program.call("sweep", sweep, "-o", program.scratch / "run-folder"), 2,
                   "which is not of a sweep")


@check
def plan_proposes_a_strategy(program):
    best = program.scratch / "best.yaml"
    words = ["plan", HERE / "short.yaml", "--top", "2", "-o", best]
    done = program.call(*words)
    expect(done.returncode == 0, done.stderr_text)
    expect("own" in done.stdout_text, done.stdout_text)
    expect(re.search(r"^ *1 .*[0-9.]+ [mun]s ", done.stdout_text, re.MULTILINE), done.stdout_text)
    ran = program.call("run", HERE / "short.yaml", "--set", "strategy=%s" % best, "-q", "-o",
                       program.folder)
    expect(ran.returncode == 0, ran.stderr_text)
    expect(program.summary()["status"] == "finished", program.summary()["status"])
    many = program.call(*words, ranks=2)
    expect(many.stdout_text == done.stdout_text, many.stdout_text)
    expect_refusal(program.call("plan"), 2, "no experiment")
    nothing = program.call("plan", HERE / "short.yaml", "-q", "--set", "machine.dram.capacity=1 kB",
                           "-o", program.scratch / "none.yaml")
    expect(nothing.returncode == 3, nothing.stderr_text)
    expect("fallen out" in nothing.stdout_text and "more than its" in nothing.stdout_text,
           nothing.stdout_text)
    expect(not (program.scratch / "none.yaml").exists(), "a strategy was written")


# --- surroundings

@check
def odd_surroundings(program):
    program.call("run", HERE / "short.yaml", "-o", program.folder)
    expected = program.summary()["result_digest"]
    odd = program.scratch / "a folder with spaces, and \u00fcmlauts"
    done = program.call("run", HERE / "short.yaml", "-o", odd,
                        environment={"LC_ALL": "de_DE.UTF-8", "LANG": "tr_TR.UTF-8"})
    expect(done.returncode == 0, done.stderr_text)
    expect(program.summary(odd)["result_digest"] == expected, "another digest")
    bare = subprocess.run([program.tessera, "run", str(HERE / "short.yaml"), "-o", str(odd)],
                          env={}, stdin=None, close_fds=True, preexec_fn=lambda: os.close(0),
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
    expect(bare.returncode == 0, "exit code %d without environment and stdin" % bare.returncode)
    expect(program.summary(odd)["result_digest"] == expected, "another digest")


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(CHECKS))
        return 0
    tessera, mpiexec, name = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        try:
            CHECKS[name](Program(tessera, mpiexec, scratch))
        except AssertionError as failure:
            print("%s: %s" % (name, failure))
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
