"""Limits on addresses, full disks behind standard output, empty names, and rates that are too low."""
import os
import re
import resource
import shutil
import subprocess

from program import HERE, check, expect, expect_refusal

MEBIBYTE = 1 << 20
# The loader's own answer, before any of the program runs.
LOADER = "error while loading shared libraries"


def limited(program, mebibytes, *words):
    """A run of a moment that may have so many addresses."""
    shutil.rmtree(program.folder, ignore_errors=True)

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes * MEBIBYTE, mebibytes * MEBIBYTE))
    return program.call("run", HERE / "short.yaml", "-q", "-o", program.folder, *words, preexec_fn=limit)


def says_why(done, what):
    text = done.stderr_text
    if done.returncode == 127:
        expect(LOADER in text, "%s: %s" % (what, text))
        return
    expect(done.returncode in (0, 2, 74), "%s: exit code %d: %s" % (what, done.returncode, text))
    expect(done.returncode == 0 or re.search("error: .*(memory|addresses|predicted)", text),
           "%s: %s" % (what, text))


@check
def few_addresses_are_no_crash(program):
    if "TESSERA_SANITIZED" in os.environ:
        return  # a sanitizer maps terabytes
    codes = set()
    for mebibytes in range(40, 121):
        done = limited(program, mebibytes)
        says_why(done, "%d MiB" % mebibytes)
        codes.add(done.returncode)
    expect({0, 2, 74} <= codes, codes)


@check
def few_addresses_are_no_crash_with_anything(program):
    """Where the run is refused or just fits: every kind of run at each limit."""
    if "TESSERA_SANITIZED" in os.environ:
        return
    for mebibytes in range(50, 82, 2):
        for words in (["--checkpoint-every", "sim:1ms", "--ignore-memory"], ["--checkpoint-every", "sim:1ms"]):
            says_why(limited(program, mebibytes, *words), "%d MiB %s" % (mebibytes, words))


def two_ranks_with_few_addresses(program, limits):
    """The limit is that of the ranks, not of the launcher."""
    if "TESSERA_SANITIZED" in os.environ:
        return
    for mebibytes in limits:
        shutil.rmtree(program.folder, ignore_errors=True)
        process = subprocess.run(
            [program.mpiexec, "-n", "2", "sh", "-c", "ulimit -v %d; exec \"$@\"" % (mebibytes * 1024), "sh",
             program.tessera, "run", str(HERE / "short.yaml"), "-q", "-o", str(program.folder)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
            env=dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                     OMPI_MCA_rmaps_base_oversubscribe="1"))
        process.stderr_text = process.stderr
        says_why(process, "%d MiB" % mebibytes)


@check
def few_addresses_are_no_crash_on_two_ranks(program):
    two_ranks_with_few_addresses(program, range(40, 80))


@check
def more_addresses_are_no_crash_on_two_ranks(program):
    two_ranks_with_few_addresses(program, range(80, 121))


@check
def full_standard_output_is_an_error(program):
    program.call("run", HERE / "short.yaml", "-q", "-o", program.folder)
    for words in (["run", HERE / "short.yaml", "-q", "-o", program.scratch / "other"],
                  ["run", HERE / "short.yaml", "-q", "--json", "-o", program.scratch / "other"],
                  ["check", HERE / "short.yaml"], ["check", HERE / "short.yaml", "--json"], ["list"],
                  ["show", program.folder], ["--version"], ["--help"], ["run", "--help"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(program.words(words), stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=60, check=False)
        expect(done.returncode == 74, "%s: exit code %d: %s" % (words, done.returncode, done.stderr))
        expect("error: standard output: No space left on device" in done.stderr, done.stderr)
    # Who reads no further is not told about it.
    done = subprocess.run(["sh", "-c", "'%s' check '%s' | head -1" % (program.tessera, HERE / "short.yaml")],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    expect(done.stderr == "" and done.stdout.count("\n") == 1, done.stderr)


@check
def empty_names_are_refused(program):
    short = HERE / "short.yaml"
    for words in (["run", short, "-o", ""], ["run", short, "--output="], ["run", "--resume", ""], ["run", ""],
                  ["sweep", short, "-o", ""], ["plan", short, "-o", ""], ["plan", short, "--folder", ""],
                  ["plan", "--resume", ""], ["capacity", short, "--over", ""], ["export", ""],
                  ["compare", short, ""], ["import", "astra", "-o", ""], ["report", ""], ["show", ""],
                  ["check", ""]):
        expect_refusal(program.call(*words, cwd=program.scratch), 2, "empty")
    expect(not (program.scratch / "out").exists(), "a run began")


@check
def too_low_rates_are_bad_input(program):
    """The key of the rate, its place and the operation; latencies and clocks, too."""
    short = HERE / "short.yaml"
    peak = r"--set machine.tile.peak={fp16: 1 FLOP/s}:1:\d+: error: machine.tile.peak.fp16: at 1 FLOP/s an " \
           r"operation of [0-9.]+ .?FLOP takes longer"
    for setting, pattern in (
            ("machine.tile.peak={fp16: 1 FLOP/s}", peak),
            ("machine.tile.sram_bandwidth=1 B/s", r"B/s:1:\d+: error: machine.tile.sram_bandwidth: with 1 B/s, "
                                                  r"arithmetic alone takes longer"),
            ("machine.dram.bandwidth=1 B/s", r"B/s:1:\d+: error: machine.dram.bandwidth: at 1 B/s an operation of "
                                             r"[0-9.]+ MB takes longer")):
        for command in (["check"], ["run", "-q", "-o", program.folder]):
            done = program.call(command[0], short, *command[1:], "--set", setting)
            expect(done.returncode == 2, "%s: exit code %d: %s" % (setting, done.returncode, done.stderr_text))
            expect(re.search(pattern, done.stderr_text), done.stderr_text)
    done = program.call("plan", short, "-q", "-o", program.scratch / "plan.yaml", "--set",
                        "machine.tile.peak={fp16: 1 FLOP/s}", cwd=program.scratch)
    expect(done.returncode == 2 and re.search(peak, done.stderr_text), done.stderr_text)
