"""By which commit pages are made: that of the tree, and that of a program."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from page import ROOT, version

CHANGED = "-dirty"


def commit_of_tree():
    """As the build states it."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "commit"
        subprocess.run(["cmake", f"-DSOURCE_DIR={ROOT}", f"-DOUTPUT={output}", "-P",
                        ROOT / "cmake" / "git_hash.cmake"], check=True)
        return output.read_text(encoding="utf-8").strip().strip('"')


def commit_of(program):
    found = re.search(r"\(([^)]+)\)", version(program))
    return found[1] if found else "unknown"


def refuse_changed_tree(commit):
    if commit.endswith(CHANGED):
        sys.exit(f"error: the tree has changes (git status): pages are made by a commit, and what "
                 f"{commit} is nobody can look up; commit them first")


def refuse_other_program(program, commit, trial):
    theirs = commit_of(program)
    if theirs != commit:
        sys.exit(f"error: {program} is of commit {theirs}, the tree of {commit}; "
                 f"--program goes with another one only for a trial, {trial}")
