#!/usr/bin/env python3
"""Runs one bad experiment or sweep and compares what the user sees with what is expected.

    run_case.py TESSERA FOLDER NAME [COMMAND]

FOLDER/NAME.yaml is run with FOLDER as working directory, with the arguments in NAME.args (one a
line) if there is such a file. `run` must end with exit code 2, print nothing on stdout, print on
stderr exactly NAME.expected, and make no run folder; `check` must give the same complaint. COMMAND
stands in place of `run`; then `check` is not asked.
"""
import pathlib
import subprocess
import sys
import tempfile


def call(words, folder):
    return subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60, check=False)


def problems_with(done, expected):
    if done.returncode != 2:
        yield "exit code %d, expected 2" % done.returncode
    if done.stdout:
        yield "stdout is not empty: %r" % done.stdout[:200]
    said = done.stderr.decode("utf-8", "replace")
    if said != expected:
        yield "expected: %s\n     got: %s" % (expected.rstrip(), said.rstrip())


def main():
    tessera, name = sys.argv[1], sys.argv[3]
    command = sys.argv[4] if len(sys.argv) > 4 else "run"
    folder = pathlib.Path(sys.argv[2])
    extra = folder / (name + ".args")
    arguments = extra.read_text(encoding="utf-8").splitlines() if extra.exists() else []
    expected = (folder / (name + ".expected")).read_text(encoding="utf-8")
    found = []
    if ": error: " not in expected:
        found.append("the expected text is no complaint with a place")
    with tempfile.TemporaryDirectory() as scratch:
        output = pathlib.Path(scratch) / "run"
        done = call([tessera, command, name + ".yaml", "-o", str(output)] + arguments, folder)
        found += problems_with(done, expected)
        if output.exists():
            found.append("a run folder was made")
    if command == "run" and "--trace" not in arguments:  # an option of `run` alone
        done = call([tessera, "check", name + ".yaml"] + arguments, folder)
        found += ["check: " + problem for problem in problems_with(done, expected)]
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
