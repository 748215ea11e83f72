"""What becomes of the folder of a run, whatever surrounds it."""
import os
import re
import resource
import subprocess

from program import HERE, check, expect, expect_refusal


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
def run_again_beside_what_was_made_of_it(program):
    """A report, pictures and exports in the folder of a run stay where it is run again."""
    for name in ("report.html", "trace.json.gz"):
        done = program.call("run", HERE / "short.yaml", "-o", program.folder)
        expect(done.returncode == 0, done.stderr_text)
        (program.folder / name).write_text("made of it")
    (program.folder / "plots").mkdir()
    again = program.call("run", HERE / "short.yaml", "-o", program.folder)
    expect(again.returncode == 0, again.stderr_text)
    left = {p.name for p in program.folder.iterdir()}
    expect({"report.html", "trace.json.gz", "plots"} <= left, left)


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
    expect_refusal(program.call("show"), 2, "no run folder or machine given")


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
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60,
                          check=False)
    expect(bare.returncode == 0, "exit code %d without environment and stdin" % bare.returncode)
    expect(program.summary(odd)["result_digest"] == expected, "another digest")


@check
def verbose_says_more(program):
    words = ["run", HERE / "short.yaml", "-o", program.folder]
    plain = program.call(*words)
    expect("debug: " not in plain.stderr_text, plain.stderr_text)
    done = program.call(*words, "-v", "--checkpoint-every", "sim:1 ms", "--partition", "stripes",
                        ranks=2)
    expect(done.returncode == 0, done.stderr_text)
    for pattern in (r"read .*short\.yaml: [0-9]+ bytes", r"machine: [0-9]+ nodes",
                    r"models: network [a-z]+ routed [a-z]+, memory [a-z]+, compute [a-z]+",
                    r"plan: pipeline [0-9]+, tensor .* [1-9][0-9]* instructions",
                    r"partition [a-z]+, .* 2 regions, [0-9]+ directed links cut, imbalance [0-9.]+",
                    r"lookahead [0-9]+ [mun]s", r"trace full in .*trace\.00000\.h5",
                    r"index, summary and manifest of "):
        found = re.findall("^debug: " + pattern, done.stderr_text, re.MULTILINE)
        expect(len(found) == 1 or pattern.startswith("read"), "%r in %s" % (pattern, done.stderr_text))
        expect(found, "%r not in %s" % (pattern, done.stderr_text))
    expect("trace: " not in done.stderr_text, done.stderr_text)
    stopped = program.call(*words, "-vv", "--checkpoint-every", "sim:1 ms")
    expect("trace: work on a checkpoint begins" in stopped.stderr_text, stopped.stderr_text)
    expect("debug: state of 1 ranks" in stopped.stderr_text, stopped.stderr_text)
