"""Schemas of docs/schemas/files/: one for each kind of files of configs/ and workloads/, and of strategies as plan
writes them, as the program declares them.
The first line of such a file names its own, so that editors complete and check what is typed without set-up."""

import subprocess

FOLDER = ("docs", "schemas", "files")
KINDS = ("campaign", "dram", "experiment", "machine", "strategy", "sweep", "traffic", "workload")


def schemas_of(program):
    """Text by file name."""
    return {f"{kind}.schema.json": subprocess.run([program, "list", "--schema", kind], check=True, capture_output=True,
                                                  text=True).stdout for kind in KINDS}


def write(made, root):
    folder = root.joinpath(*FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")


def faults(made, root):
    """What is wrong with the schemas as they stand."""
    for name, text in made.items():
        path = root.joinpath(*FOLDER, name)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            yield f"{'/'.join(FOLDER)}/{name} is not what the program says; scripts/reference makes it again"
