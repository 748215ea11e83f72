#!/usr/bin/env python3
"""Reads the container file as a builder does: instructions, stages, and what is copied.

    container.py REPOSITORY TESSERA

Where buildah and a bare Debian (build/bare.tar, of scripts/bare_machine) are, `--build` builds it of the
packages in build/package and runs the quickstart in it; that takes minutes and is no test of ctest.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from common import run

FILE = "cmake/packaging/Containerfile"
KNOWN = {"ARG", "FROM", "RUN", "COPY", "ENV", "WORKDIR", "CMD"}


def instructions_of(text):
    """Word and rest of each instruction, continued lines joined."""
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    return [line.split(None, 1) for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip()]


def check(repository):
    stages = set()
    for word, rest in instructions_of((repository / FILE).read_text("utf-8")):
        assert word in KNOWN, f"{word} is unknown"
        if word == "FROM":
            image, _, name = rest.partition(" AS ")
            assert image in {"${BASE}", "scratch"} | stages, f"FROM {image}"
            stages.add(name)
        elif word == "COPY":
            source = re.match(r"--from=(\w+) ", rest)
            assert rest.startswith(". /") or source[1] in stages, f"COPY {rest}"
        elif word == "RUN" and "/source/" in rest:
            script = repository / re.search(r"/source/(\S+)", rest)[1]
            assert "-o, --output DIR" in run(script, "--help"), script
        elif word == "RUN":
            assert "apt-get -q -y install --no-install-recommends" in rest, rest
    assert {"build", "package"} < stages, stages
    ignored = (repository / f"{FILE}.dockerignore").read_text("utf-8").split()
    assert {f"/{name}/" for name in ignored} <= \
        set((repository / ".gitignore").read_text("utf-8").split()), ignored


def build(repository):
    bare = repository / "build/bare.tar"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        tool = ["buildah", "--storage-driver", "vfs", "--root", folder / "store", "--runroot",
                folder / "state"]
        (folder / "base").mkdir()
        shutil.copy(bare, folder / "base/bare.tar")
        (folder / "base/Containerfile").write_text("FROM scratch\nADD bare.tar /\n", encoding="utf-8")
        run(*tool, "bud", "--isolation", "chroot", "-t", "localhost/bare", folder / "base")
        run(*tool, "bud", "--isolation", "chroot", "--build-arg", "BASE=localhost/bare",
            "--build-context", f"package={repository / 'build/package'}", "-t", "localhost/tessera",
            "-f", repository / FILE, repository)
        container = subprocess.run([*map(str, tool), "from", "localhost/tessera"], check=True, text=True,
                                   stdout=subprocess.PIPE).stdout.strip()
        said = run(*tool, "run", "--isolation", "chroot", container, "--", "bash", "-c",
                   "tessera-quickstart && test -s out/quickstart/one-rank/report.html && "
                   "! command -v cc c++ gcc g++ clang")
        assert "agree: result_digest" in said, said
        print(said)
        run(*tool, "rm", "-a")


def main():
    repository = pathlib.Path(sys.argv[1])
    check(repository)
    if "--build" in sys.argv[2:]:
        build(repository)


if __name__ == "__main__":
    main()
