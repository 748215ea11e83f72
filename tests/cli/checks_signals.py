"""What signals do."""
import pathlib
import re
import signal
import subprocess
import time

from program import HERE, check, expect


def stop_with(program, number, ranks):
    process = program.start(["run", HERE / "long.yaml", "--partition", "blocks", "-o",
                             program.folder], ranks)
    program.wait_until_running(process, max(ranks, 1))
    process.send_signal(number)
    try:
        _, err = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError("does not stop on signal %d" % number) from None
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
def stop_by_term_twice(program):
    """As timeout(1) does: to the program, and to its group."""
    process = program.start(["run", HERE / "long.yaml", "-o", program.folder])
    program.wait_until_running(process)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.001)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    expect(process.returncode == 75, "exit code %d: %s" % (process.returncode, err))
    expect(program.summary()["status"] == "stopped", program.summary()["status"])


@check
def stop_by_interrupt(program):
    stop_with(program, signal.SIGINT, 0)


@check
def stop_by_usr1(program):
    stop_with(program, signal.SIGUSR1, 0)


@check
def stop_two_ranks_by_usr1(program):
    stop_with(program, signal.SIGUSR1, 2)


def wait_until_main(process):
    """Into its first lines, which have SIGXFSZ ignored: before MPI starts, long before anything is simulated."""
    status = pathlib.Path("/proc/%d/status" % process.pid)
    ignored = 1 << (signal.SIGXFSZ - 1)
    deadline = time.time() + 60
    while time.time() < deadline:
        if process.poll() is not None:
            raise AssertionError("ends with %d before its first lines: %s"
                                 % (process.returncode, process.communicate()[1]))
        text = status.read_text(encoding="utf-8")
        found = re.search(r"^SigIgn:\s*([0-9a-f]+)", text, re.MULTILINE)
        if "Name:\ttessera\n" in text and int(found.group(1), 16) & ignored:
            return
        time.sleep(0.001)
    raise AssertionError("does not begin")


@check
def stop_asked_for_before_the_run(program):
    """As a scheduler may that is in a hurry: the run begins, and stops at once; it was ended by the signal."""
    process = program.start(["run", HERE / "long.yaml", "-o", program.folder])
    wait_until_main(process)
    process.send_signal(signal.SIGUSR1)
    _, err = process.communicate(timeout=60)
    expect(process.returncode == 75, "exit code %d: %s" % (process.returncode, err))
    expect(program.summary()["status"] == "stopped", program.summary()["status"])


@check
def status_by_usr2(program):
    process = program.start(["run", HERE / "long.yaml", "-o", program.folder])
    program.wait_until_running(process)
    process.send_signal(signal.SIGUSR2)
    time.sleep(1)
    expect(process.poll() is None, "the run ended")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    expect(re.search(r"^rank 0: simulated .*, \d+ events", err, re.MULTILINE), err)


@check
def stop_of_scale(program):
    """No prediction, and the exit code of a stop."""
    process = program.start(["scale", HERE / "long.yaml", "--ranks", "2", "--event-time", "100 ns"])
    time.sleep(3)  # into the run: what is before it takes a moment
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    expect(process.returncode == 75, "exit code %d: %s" % (process.returncode, err))
    expect(out == "" and err.count("error: stopped before the end") == 1, out + err)
