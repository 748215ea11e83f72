"""Two runs in one folder, hostile names and files, damaged traces, full disks, too little memory."""
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time

from program import HERE, check, expect, expect_refusal

LOCK = "tessera.lock"


def start_long(program, *more, ranks=0):
    process = program.start(["run", HERE / "long.yaml", "-q", "-o", program.folder, *more], ranks)
    program.wait_until_running(process, max(ranks, 1))
    return process


def stop(process):
    process.send_signal(signal.SIGUSR1)  # mpirun forwards it
    process.communicate(timeout=60)
    expect(process.returncode == 75, "exit code %d" % process.returncode)


def rows_of(folder):
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return [entry["rows"] for entry in manifest["files"] if "rows" in entry]


@check
def second_run_is_refused(program):
    """Beside a live run: neither a new one nor one that goes on may touch the folder."""
    process = start_long(program, "--checkpoint-every", "0.2s")
    owner = json.loads((program.folder / LOCK).read_text(encoding="utf-8"))
    expect(owner["pid"] == process.pid, owner)
    pattern = r"run: error: the folder is in use: process %d of .* on host .* has it since " % process.pid
    for words in (["run", HERE / "short.yaml", "-o", program.folder],
                  ["run", "--resume", program.folder]):
        expect_refusal(program.call(*words), 2, pattern)
        began = time.time()
        done = program.call(*words, ranks=2)
        expect(done.returncode == 2 and time.time() - began < 20, done.stderr_text)
        expect(len(re.findall(pattern, done.stderr_text)) == 1, done.stderr_text)
    # Reading needs no lock.
    shown = program.call("show", program.folder)
    expect("in use" not in shown.stderr_text, shown.stderr_text)
    expect(process.poll() is None, "the live run has ended")
    stop(process)
    expect(not (program.folder / LOCK).exists(), "the lock is left")
    shown = program.call("show", program.folder)
    expect(shown.returncode == 0, shown.stderr_text)


@check
def live_run_is_not_disturbed(program):
    """The rows of a run that others wanted to replace are those of one that nobody saw."""
    program.call("run", HERE / "long.yaml", "--set", "run.iterations=150", "-q", "-o",
                 program.scratch / "alone")
    process = start_long(program, "--set", "run.iterations=150", "--checkpoint-every", "sim:20ms")
    while process.poll() is None:
        program.call("run", "--resume", program.folder)
        program.call("run", HERE / "short.yaml", "-o", program.folder)
        if program.summary()["experiment"] == "short":
            break  # it ended in between
    process.communicate(timeout=60)
    expect(process.returncode == 0, "exit code %d" % process.returncode)
    if program.summary()["experiment"] == "long":
        expect(rows_of(program.folder) == rows_of(program.scratch / "alone"), "other rows")


@check
def lock_of_a_killed_run_is_taken_over(program):
    process = start_long(program, "--checkpoint-every", "0.1s")
    while not any((program.folder / "checkpoints").glob("0*")):
        time.sleep(0.05)
    process.kill()
    process.communicate(timeout=60)
    expect((program.folder / LOCK).exists(), "no lock is left")
    process = program.start(["run", "--resume", program.folder, "-q"])
    time.sleep(2)
    stop(process)
    expect(not (program.folder / LOCK).exists(), "the lock is left")


@check
def lock_of_another_host_is_never_taken(program):
    program.folder.mkdir()
    lock = program.folder / LOCK
    lock.write_text(json.dumps({"user": "mary", "host": "elsewhere", "machine": "m", "boot": "b",
                                "pid_namespace": "p", "pid": 1, "started_ticks": 1,
                                "since": "2026-01-01 00:00:00 UTC"}))
    expect_refusal(program.call("run", HERE / "short.yaml", "-o", program.folder), 2,
                   "process 1 of mary on host elsewhere .*cannot be told from here; if that has "
                   "ended, remove '.*tessera.lock'")
    lock.unlink()
    done = program.call("run", HERE / "short.yaml", "-q", "-o", program.folder)
    expect(done.returncode == 0, done.stderr_text)
    expect(not lock.exists(), "the lock is left")


@check
def lock_goes_with_bad_input(program):
    program.folder.mkdir()
    (program.folder / "thesis.txt").write_text("precious")
    expect_refusal(program.call("run", HERE / "short.yaml", "-o", program.folder), 2, "not of a run")
    expect([p.name for p in program.folder.iterdir()] == ["thesis.txt"], "something is left")
    program.call("run", HERE / "short.yaml", "--resume", program.scratch / "none")
    expect(not (program.scratch / "none").exists(), "a folder is left")


@check
def sweeps_and_plans_lock_their_folders(program):
    sweep = program.scratch / "sweep.yaml"
    sweep.write_text("experiment: %s\naxes: {run.iterations: {from: 1, to: 400, step: 1}}\n"
                     % (HERE / "short.yaml"))
    began = {"sweep": (["sweep", sweep, "-q", "-o", program.folder], "sweep.json", "-o"),
             "plan": (["plan", HERE / "long.yaml", "--all", "-q", "--folder", program.folder, "-o",
                       program.scratch / "strategy.yaml"], "question.json", "--folder")}
    for command, (words, sign, option) in began.items():
        process = program.start(words)
        deadline = time.time() + 60
        while not (program.folder / sign).exists() and process.poll() is None:
            expect(time.time() < deadline, "%s does not begin" % command)
            time.sleep(0.01)
        if process.poll() is None:
            process.send_signal(signal.SIGSTOP)
            for other in (words, [command, "--resume", program.folder]):
                expect_refusal(program.call(*other), 2, "is in use: process %d" % process.pid)
            process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        expect(not (program.folder / LOCK).exists(), "%s leaves its lock" % command)
        shutil.rmtree(program.folder)


@check
def names_stay_in_their_folder(program):
    """Also the default, which is the name of the file."""
    odd = program.scratch / "a\x1b[31mb.yaml"
    shutil.copy(HERE / "short.yaml", odd)
    text = odd.read_text().replace("../parallel", str(HERE.parent / "parallel"))
    odd.write_text(text)
    done = program.call("run", odd, cwd=program.scratch)
    expect(done.returncode == 2, "exit code %d" % done.returncode)
    expect("\x1b" not in done.stderr_text and "\\x1b" in done.stderr_text, done.stderr_text)
    expect("control characters" in done.stderr_text, done.stderr_text)
    expect(not (program.scratch / "out").exists(), "a folder was made")


@check
def summaries_of_others_do_not_reach_the_terminal(program):
    program.call("run", HERE / "short.yaml", "-q", "-o", program.folder, "--trace", "none")
    path = program.folder / "summary.json"
    path.write_text(path.read_text().replace('"experiment": "short"',
                                             '"experiment": "\\u001b[2Jshort\\u009b"'))
    shown = program.call("show", program.folder)
    expect("\x1b" not in shown.stdout_text + shown.stderr_text, repr(shown.stdout_text))
    expect("\u009b" not in shown.stdout_text + shown.stderr_text, repr(shown.stdout_text))


@check
def predicted_memory_is_enough_for_packets(program):
    """What is under way or waits for links, of links that are offered too much as well."""
    traffic = program.scratch / "traffic.yaml"
    traffic.write_text("machine:\n  topology: {kind: torus, rows: 16, columns: 16, bandwidth: 64 GB/s, latency: 10 ns}\n"
                       "  network: {model: packet, packet_size: 64 B}\n  tile: {peak: {fp16: 1 TFLOP/s}}\n"
                       "workload: {kind: traffic, pattern: uniform, rate: 2.9, message: 40, cycles: 5000}\n")
    mesh = HERE.parent / "parallel" / "mesh_packet.yaml"
    draw = random.Random(3)
    drawn = [(path, ["machine.network.packet_size=%d B" % draw.choice([24, 48, 100, 400, 1500]),
                     "machine.network.switching=" + draw.choice(["cut-through", "store-and-forward"]),
                     "machine.topology.bandwidth=%d GB/s" % draw.choice([2, 8, 32, 100]),
                     "machine.topology.latency=%d ns" % draw.choice([1, 20, 300])]
              + (["workload.rate=%g" % draw.uniform(0.05, 3.5)] if path == traffic else []))
             for path in [traffic, mesh] * 5]
    for path, settings in [(traffic, []), (traffic, ["workload.rate=0.3"]),
                           (traffic, ["workload.pattern=transpose", "workload.rate=1.5"]),
                           (mesh, []),
                           (mesh, ["machine.network.packet_size=16 B"]),
                           (mesh, ["machine.network.packet_size=32 B", "workload.sequence=128"]),
                           (mesh, ["machine.network.packet_size=64 B", "machine.topology.bandwidth=1 GB/s"]),
                           (mesh, ["machine.network.packet_size=256 B", "machine.topology.bandwidth=2 GB/s"])] + drawn:
        more = [] if path == traffic else ["machine.network.max_packets=1000000"]
        words = [word for setting in settings + more for word in ("--set", setting)]
        done = program.call("run", path, "-q", "-o", program.folder, *words)
        expect(done.returncode == 0, done.stderr_text)
        summary = program.summary()
        used, predicted = max(summary["peak_rss_bytes"]), summary["predicted_bytes"]
        most = (3 if settings in [other for _, other in drawn] else 2) * used + 30e6
        expect(used <= predicted <= most, "%s: %d used, %d predicted" % (settings, used, predicted))
        shutil.rmtree(program.folder)


@check
def devices_and_pipes_are_no_input(program):
    pipe = program.scratch / "pipe.yaml"
    os.mkfifo(pipe)
    huge = program.scratch / "huge.yaml"
    with open(huge, "wb") as file:
        file.truncate(1 << 40)
    for path, pattern in (("/dev/zero", "no regular file"), (pipe, "no regular file"),
                          (program.scratch, "Is a directory"), (huge, "too large")):
        for command in ("check", "run", "sweep", "plan"):
            began = time.time()
            expect_refusal(program.call(command, path), 2, "cannot read .*" + pattern)
            expect(time.time() - began < 10, "%s of %s takes its time" % (command, path))


@check
def many_collectives_take_no_memory(program):
    stack = program.scratch / "stack.yaml"
    stack.write_text("machine:\n  topology: {kind: stack, shape: Ring(4), dimensions: "
                     "[{bandwidth: 50 GB/s, latency: 500 ns}]}\n"
                     "workload: {kind: collective, collective: all-reduce, size: 1 MB, "
                     "repeat: 1000000000}\n")

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    began = time.time()
    done = program.call("check", stack, preexec_fn=limit)
    expect(done.returncode == 0, done.stderr_text)
    expect(time.time() - began < 10, "it takes its time")


def huge_mesh(program):
    mesh = program.scratch / "huge_mesh.yaml"
    mesh.write_text("machine:\n  topology: {kind: mesh, rows: 16383, columns: 16383, bandwidth: 10 GB/s, latency: 1 ns}\n"
                    "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
                    "  dram: {at: each, bandwidth: 20 GB/s, latency: 50 ns}\n"
                    "workload: {kind: transformer, layers: 2, hidden: 32, heads: 4, sequence: 16, vocabulary: 50, "
                    "batch: 4, data_type: fp16, optimizer: adam}\n"
                    "strategy: {pipeline: 2, tensor: 2, data: 2}\nrun: {trace: none}\n")
    return mesh


@check
def huge_meshes_are_checked_on_several_ranks(program):
    mesh = huge_mesh(program)

    # A byte and a half for each tile.
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (3 << 27, 3 << 27))
    for iterations in (1, 100000):
        done = program.call("check", mesh, "--ranks", "2", "--set", "run.iterations=%d" % iterations, preexec_fn=limit)
        expect(done.returncode == 0, done.stderr_text)
        expect("268402689" in done.stdout_text and "# cuts over 2 ranks" in done.stdout_text, done.stdout_text)
    slow = "machine.faults={random: {share: 0.0001, speed: 0.5, seed: 3}}"
    for partition in ("columns", "stripes", "metis"):
        began = time.time()
        done = program.call("check", mesh, "--ranks", "2", "--set", "run.partition=" + partition, "--set", slow,
                            preexec_fn=limit)
        expect(done.returncode == 0, done.stderr_text)
        expect("268402689" in done.stdout_text, done.stdout_text)
        expect(time.time() - began < 20, "the cut by %s takes its time" % partition)
    began = time.time()
    done = program.call("check", mesh, "--set", slow.replace("share", "shar"), preexec_fn=limit)
    expect(done.returncode == 2 and "machine.faults.random.shar: unknown key" in done.stderr_text, done.stderr_text)
    expect(time.time() - began < 20, "the refusal takes its time")


@check
def huge_meshes_have_dead_links_and_lists_of_tiles(program):
    mesh = huge_mesh(program)

    # A byte and a half for each tile.
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (3 << 27, 3 << 27))
    dead = "machine.faults.links=[{from: 0, to: 'tile (0,1)', dead: true}]"
    edges = ["machine.dram.at=edge", "machine.dram.edges=[west]"]
    for settings in ([dead], [dead] + edges,
                     ["machine.types={fast: {peak: {fp16: 2 TFLOP/s}, nodes: [0, 'tile (16382,16382)']}}"],
                     ["machine.types={own: {dram: {bandwidth: 9 GB/s, latency: 50 ns}, nodes: [1, 2]}}"]):
        words = [word for setting in settings for word in ("--set", setting)]
        for ranks in ("1", "4"):
            done = program.call("check", mesh, "--ranks", ranks, "--set", "run.iterations=100000", *words,
                                preexec_fn=limit)
            expect(done.returncode == 0, done.stderr_text)
            expect("268402689" in done.stdout_text, done.stdout_text)


@check
def too_small_cores_are_bad_input(program):
    wafer = HERE.parent.parent / "configs" / "experiments" / "npu_wafer_layer.yaml"
    for settings, pattern in (
            (["machine.compute.clock=2 THz"], "clock: must be between 1 Hz and 1 THz"),
            (["machine.compute.array=[1, 1]", "machine.compute.accumulator=8 B",
              "machine.compute.scratchpad=16 B"], "machine.compute.*: .*(fits|must hold)"),
            (["machine.tile.peak.fp16=1 FLOP/s", "machine.tile.efficiency=0.8"],
             "efficiency: of 1 FLOP/s")):
        words = [word for setting in settings for word in ("--set", setting)]
        done = program.call("check", wafer, *words)
        expect(done.returncode == 2, "exit code %d: %s" % (done.returncode, done.stderr_text))
        expect(re.search(pattern, done.stderr_text), done.stderr_text)


def stopped_with_damage(program, place):
    """A stopped run of two ranks, of which rank 1's trace has one flipped bit."""
    process = start_long(program, "--set", "run.iterations=150", "--partition", "stripes", ranks=2)
    stop(process)
    trace = program.folder / "trace.00001.h5"
    content = bytearray(trace.read_bytes())
    content[place(len(content))] ^= 0x10
    trace.write_bytes(bytes(content))
    return trace


@check
def damaged_trace_need_not_end_a_run(program):
    whole = program.scratch / "whole"
    program.call("run", HERE / "long.yaml", "--set", "run.iterations=150", "-q", "-o", whole)
    for place in (lambda size: size // 2, lambda size: 0):
        trace = stopped_with_damage(program, place)
        refused = program.call("run", "--resume", program.folder)
        expect_refusal(refused, 74, r"trace.00001.h5: error: .*; the checkpoint is whole: tessera run "
                                    r"--resume .* --accept-loss goes on")
        expect(program.summary()["status"] == "stopped", program.summary()["status"])
        done = program.call("run", "--resume", program.folder, "--accept-loss", "--partition",
                            "stripes", ranks=2)
        expect(done.returncode == 0, done.stderr_text)
        expect(re.search("warning: trace.00001.h5: (table '.*' has .* good rows instead of|none of)",
                         done.stderr_text), done.stderr_text)
        summary = program.summary()
        expect(summary["status"] == "finished", summary["status"])
        expect(summary["result_digest"] == program.summary(whole)["result_digest"], "another result")
        expect(any("trace.00001.h5" in note for note in summary["notes"]), summary["notes"])
        expect((program.folder / (trace.name + ".damaged")).exists(), "the damaged trace is gone")
        shown = program.call("show", program.folder)
        expect(shown.returncode == 0, shown.stderr_text)
        shutil.rmtree(program.folder)
    expect_refusal(program.call("run", HERE / "short.yaml", "--accept-loss"), 2, "with --resume alone")


@check
def full_disk_names_the_file(program):
    """On a file system of 1 MB, where this user may mount one."""
    disk = program.scratch / "disk"
    disk.mkdir()
    script = ("mount -t tmpfs -o size=1m none '%s' && '%s' run '%s' -q -o '%s/run' --set "
              "run.iterations=100000; code=$?; cp -r '%s/run' '%s'; exit $code"
              % (disk, program.tessera, HERE / "long.yaml", disk, disk, program.folder))
    trial = subprocess.run(["unshare", "-rm", "sh", "-c", "mount -t tmpfs none '%s'" % disk],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if trial.returncode != 0:
        print("no file system can be mounted here")
        return
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=100, check=False)
    expect(done.returncode == 74, "exit code %d: %s" % (done.returncode, done.stderr))
    expect(re.search("trace.00000.h5: error: .*No space left on device", done.stderr), done.stderr)
    summary = program.summary()
    expect(summary["status"] == "failed", summary["status"])
    expect("trace.00000.h5" in summary["message"], summary["message"])
    expect((program.folder / "trace.00000.h5").stat().st_size > 200_000, "what was written is gone")


@check
def large_meshes_are_checked_in_seconds(program):
    """Sixteen million nodes of which four have work: 2 s on an idle processor."""
    began = time.time()
    done = program.call("check", HERE / "short.yaml", "--set", "machine.topology.rows=4000", "--set",
                        "machine.topology.columns=4000")
    expect(done.returncode == 0, done.stderr_text)
    expect(re.search("directed links +63984000", done.stdout_text), done.stdout_text)
    expect(time.time() - began < 40, "%.0f s" % (time.time() - began))


@check
def too_large_runs_are_refused_before_they_begin(program):
    """A mesh of four million flit routers needs more than machines have."""
    large = ["run", HERE.parent.parent / "configs" / "experiments" / "npu_wafer_layer.yaml", "-q",
             "--set", "machine.topology.rows=8000", "--set", "machine.topology.columns=4000",
             "-o", program.folder]
    began = time.time()
    expect_refusal(program.call(*large), 2,
                   "the run is predicted to need [0-9]+ MiB, and .* has [0-9]+ MiB")
    expect(time.time() - began < 60, "it takes its time")
    expect(not program.folder.exists(), "a run folder was made")


@check
def out_of_memory_says_how_much(program):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    words = ["run", HERE / "long.yaml", "-q", "--set", "machine.topology.rows=3000", "--set",
             "machine.topology.columns=3000", "-o", program.folder]
    expect_refusal(program.call(*words, preexec_fn=limit), 2, "ulimit -v")
    done = program.call(*words, "--ignore-memory", preexec_fn=limit)
    expect(done.returncode == 74, "exit code %d: %s" % (done.returncode, done.stderr_text))
    expect(re.search("out of memory: this process held [0-9]+ MiB.*predicted to need [0-9]+ MiB",
                     done.stderr_text), done.stderr_text)
