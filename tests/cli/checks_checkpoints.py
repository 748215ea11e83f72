"""Runs that are stopped or killed, and go on."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

from program import HERE, check, expect, expect_refusal

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
                             program.folder, "--partition", "stripes"], before)
    program.wait_until_running(process, max(before, 1))
    process.send_signal(number)
    process.communicate(timeout=60)
    expect(process.returncode == 75, "exit code %d" % process.returncode)
    expect(program.summary()["status"] == "stopped", program.summary()["status"])
    text = program.call("show", program.folder).stdout_text
    expect("not known: the run has not ended" in text and "samples/s" not in text, text)
    done = program.call("run", "--resume", program.folder, "--partition", "stripes", ranks=after)
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


def run_with_checkpoints(program, *more):
    done = program.call("run", HERE / "long.yaml", "--set", "run.iterations=20", "-q", "-o",
                        program.folder, *more)
    expect(done.returncode == 0, done.stderr_text)
    return program.summary()


@check
def resume_completes_a_finished_run(program):
    """Killed behind its summary, or what comes last was lost: written again, as it was."""
    for ranks in (0, 2):
        for level in ("summary", "none"):
            words = ["run", HERE / "long.yaml", "--set", "run.iterations=20", "-q", "-o",
                     program.folder, "--trace", level]
            expect(program.call(*words, ranks=ranks).returncode == 0, "no run")
            manifest = (program.folder / "manifest.json").read_bytes()
            for lost in ("manifest.json", "index.h5"):
                if (program.folder / lost).exists():
                    (program.folder / lost).unlink()
                    done = program.call("run", "--resume", program.folder, ranks=ranks)
                    expect(done.returncode == 0 and "are written again" in done.stderr_text,
                           done.stderr_text)
                    shown = program.call("show", program.folder)
                    expect(shown.returncode == 0 and shown.stderr_text == "", shown.stderr_text)
            now = json.loads((program.folder / "manifest.json").read_bytes())
            rows = [entry.get("rows") for entry in now["files"]]
            expect(rows == [e.get("rows") for e in json.loads(manifest)["files"]], "other rows")
            again = program.call("run", "--resume", program.folder)
            expect("are written again" not in again.stderr_text, again.stderr_text)
    # Of several segments.
    expected = run_with_checkpoints(program, "--checkpoint-every", "sim:40ms")
    (program.folder / "summary.json").unlink()
    expect(program.call("run", "--resume", program.folder, "-q").returncode == 0, "does not go on")
    (program.folder / "manifest.json").unlink()
    done = program.call("run", "--resume", program.folder)
    expect("are written again" in done.stderr_text, done.stderr_text)
    expect_results(program, expected, 2)


@check
def resume_of_a_finished_run_with_losses(program):
    """From its last checkpoint, or it says what is lost; it had said that there was nothing to do."""
    for lost in (("trace.s1.00000.h5",), ("trace.s1.00000.h5", "manifest.json")):
        expected = run_with_checkpoints(program, "--checkpoint-every", "sim:40ms")
        (program.folder / "summary.json").unlink()
        expect(program.call("run", "--resume", program.folder, "-q").returncode == 0, "no way on")
        for name in lost:
            (program.folder / name).unlink()
        done = program.call("run", "--resume", program.folder)
        expect(done.returncode == 0 and "it goes on from a checkpoint" in done.stderr_text,
               done.stderr_text)
        expect_results(program, expected, 2)
    for name in (("trace.00000.h5",), ("trace.00000.h5", "manifest.json")):
        run_with_checkpoints(program)
        for file in name:
            (program.folder / file).unlink()
        for ranks in (0, 2):
            done = program.call("run", "--resume", program.folder, ranks=ranks)
            expect(done.returncode == 74, done.stderr_text)
            expect(len(re.findall("no checkpoint to go on from: .*trace.00000.h5",
                                  done.stderr_text)) == 1, done.stderr_text)


@check
def resume_from_another_folder(program):
    """Models, traces and programs are found although the program runs elsewhere, as is the run."""
    parallel = HERE.parent / "parallel"
    for name, every in (("npu_model", "10us"), ("graph_trace", "50us")):
        done = program.call("run", name + ".yaml", "-q", "-o", program.folder, "--checkpoint-every",
                            "sim:" + every, cwd=parallel)
        expect(done.returncode == 0, done.stderr_text)
        expected = program.summary()
        (program.folder / "summary.json").unlink()
        elsewhere = program.scratch / "moved"
        program.folder.rename(elsewhere)
        done = program.call("run", "--resume", "moved", cwd=program.scratch)
        expect(done.returncode == 0, done.stderr_text)
        expect("going on from checkpoint" in done.stderr_text, done.stderr_text)
        elsewhere.rename(program.folder)
        expect_results(program, expected, 2)


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
    process = program.start(["run", HERE / "long.yaml", "--partition", "blocks", "-o",
                             program.folder], 3)
    program.wait_until_running(process, 3)
    ranks = children_of(process.pid)
    expect(len(ranks) == 3, "expected 3 ranks below the launcher, found %s" % ranks)
    os.kill(ranks[1], signal.SIGKILL)
    killed = time.time()
    try:
        process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError("the launcher goes on without a rank") from None
    expect(process.returncode != 0, "exit code 0")
    while any(is_alive(pid) for pid in ranks) and time.time() - killed < 5:
        time.sleep(0.05)
    took = time.time() - killed
    left = [pid for pid in ranks if is_alive(pid)]
    expect(took < 5 and not left, "after %.1f s there still are %s" % (took, left))
    expect(program.summary()["status"] == "running", program.summary()["status"])
