#!/usr/bin/env python3
"""Looks at an installed tree, which is not where it was installed for.

    installed.py CHECK PREFIX [FOREIGN_PATH...]

FOREIGN_PATH must not be named by any file: the source, the build.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from common import files_below, run

# Experiments of every kind that names files, on machines that are quick to check.
EXPERIMENTS = ["quickstart", "onnx_ocr", "onnx_wafer_bert", "serving", "tenants_serving",
               "tenants_wafer", "dojo_tile_gpt2_small"]
HELD = [
    "bin/tessera", "bin/tessera-quickstart", "bin/tessera-plot", "bin/tessera-tables",
    "share/tessera/scripts/lib.sh", "share/tessera/scripts/tessera_plots/html/app/main.js",
    "share/tessera/configs/experiments/quickstart.yaml",
    "share/tessera/configs/machines/palm_wafer.yaml", "share/tessera/workloads/tiny.yaml",
    "share/doc/tessera/README.md", "share/doc/tessera/docs/index.md",
    "share/doc/tessera/docs/install.md", "share/doc/tessera/docs/images/quickstart_timeline.png",
    "share/doc/tessera/results/README.md", "share/man/man1/tessera.1",
    "share/man/man1/tessera-quickstart.1", "share/bash-completion/completions/tessera",
    "lib/python3/dist-packages/tessera/__init__.py",
    "lib/python3/dist-packages/tessera_plots/__init__.py", "include/tessera/core/version.hpp",
]


def holds_all(prefix, _):
    files = files_below(prefix)
    missing = [name for name in HELD if name not in files]
    assert not missing, f"not installed: {missing}"
    strange = [name for name in files if "__pycache__" in name or name.endswith(".pyc")]
    assert not strange, strange
    for name in files:
        assert os.path.exists(prefix / name), f"{name} leads nowhere"


def names_no_paths(prefix, foreign):
    for name in sorted(files_below(prefix)):
        text = (prefix / name).read_bytes()
        for path in foreign:
            # Of a longer name, such as that of a sibling, nothing is said.
            found = re.search(re.escape(path.encode()) + rb"(?![\w-])", text)
            assert found is None, f"{name} names {path}"


def shipped_files_are_there(prefix, _):
    """Each file that a shipped one names relative to itself."""
    count = 0
    for file in sorted((prefix / "share/tessera/configs").rglob("*.yaml")):
        for line in file.read_text("utf-8").splitlines():
            for name in re.findall(r"(?<![\w/.])\.\./[\w./-]+\w", line.partition("#")[0]):
                named = file.parent / name
                assert named.exists() or list(named.parent.glob(named.name + ".*")), \
                    f"{file.relative_to(prefix)} names {name}, which is not installed"
                count += 1
        schema = re.match(r"# yaml-language-server: \$schema=(\S+)", file.read_text("utf-8"))
        assert schema and (file.parent / schema[1]).exists(), f"{file.relative_to(prefix)} names no schema that is there"
    assert count > 40, f"only {count} files are named"


def shipped_experiments(prefix, _):
    with tempfile.TemporaryDirectory() as elsewhere:
        for name in EXPERIMENTS:
            experiment = prefix / f"share/tessera/configs/experiments/{name}.yaml"
            run(prefix / "bin/tessera", "check", experiment, cwd=elsewhere)


def quickstart(prefix, _):
    before = files_below(prefix)
    with tempfile.TemporaryDirectory() as elsewhere:
        said = run(prefix / "bin/tessera-quickstart", cwd=elsewhere)
        report = pathlib.Path(said.rstrip().splitlines()[-1].rpartition(": ")[2])
        assert report == pathlib.Path(elsewhere).resolve() / "out/quickstart/one-rank/report.html", said
        assert report.read_text("utf-8").rstrip().endswith("</html>")
        summary = json.loads((report.parent / "summary.json").read_text("utf-8"))
        assert f"agree: result_digest {summary['result_digest']}" in said, said
        assert "share of time" in said and "throughput" in said, said
        tables = run(prefix / "bin/tessera-tables", report.parent, cwd=elsewhere)
        assert "operators" in tables, tables
        run(prefix / "bin/tessera", "compare", report.parent, report.parents[1] / "two-ranks",
            cwd=elsewhere)
    assert files_below(prefix) == before, files_below(prefix) - before


def tools_in_python(prefix, _):
    """Each tool says under which name it was called, and what is missing beside a bare program."""
    for tool in ("tessera-plot", "tessera-tables", "tessera-quickstart"):
        said = run(prefix / "bin" / tool, "--help")
        assert said.startswith(f"usage: {tool} "), said
    with tempfile.TemporaryDirectory() as folder:
        alone = pathlib.Path(folder) / "bin/tessera"
        alone.parent.mkdir()
        shutil.copy2(prefix / "bin/tessera", alone)
        done = subprocess.run([alone, "report", folder], capture_output=True, text=True, check=False)
        assert done.returncode == 2, done
        assert f"{folder}/share/tessera/scripts" in done.stderr, done.stderr


def main():
    check, prefix, *foreign = sys.argv[1:]
    globals()[check](pathlib.Path(prefix), foreign)


if __name__ == "__main__":
    main()
