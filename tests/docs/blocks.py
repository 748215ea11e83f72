"""Code blocks of the pages: what they are, and the commands of each page, run.

Fenced blocks alone, each with its language. A block of `bash` is run, in a folder of its page that has
the tree's folders, `tessera` on the path, and the files that blocks with a title (```yaml title="mine.yaml")
have written there. Nothing else is prepared. Blocks of `python` without a title are one program a page, run at its end. Each line of a
block ```text title="prints" must be one that the commands before it printed. What the gate cannot run says so
on the page, right above, and what it names must be there (unrun.py): what the long tests run in its place
(long_blocks.py), and what no test can.

    *Run by the long tests alone: it builds.*
    *Not run by the tests: it needs a registry of images.*
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import unrun

LANGUAGES = {"bash", "cpp", "csv", "json", "pycon", "python", "text", "yaml"}
FENCE = re.compile(r"(?:^(?P<above>[^\n]*)\n+)?^```(?P<head>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"\*(?P<how>Not run by the tests|Run by the long tests alone): (?P<why>[^*]+)\.\*$")
TITLE = re.compile(r'title="([^"]+)"')
# Their blocks are quotations of the sources (docs.excerpts), or of decisions once taken.
QUOTING = ("adding-a-part.md", "design/")
FOLDERS = ("bench", "configs", "docs", "python", "results", "scripts", "src", "tests", "workloads")


def pages(repository, group):
    """Of docs/: those whose path begins with the group; `others`: those in no folder but manual. `README`: it."""
    if group == "README":
        yield repository / "README.md"
        return
    for page in sorted((repository / "docs").rglob("*.md")):
        name = str(page.relative_to(repository / "docs"))
        folder = name.split("/")[0] if "/" in name else "others"
        if (folder in ("others", "manual", "methods")) if group == "others" else folder == group:
            yield page


def blocks(text):
    """(language, title or None, body, reason not to run it in the gate or None, whether long tests do) in the
    order of the page."""
    for found in FENCE.finditer(text):
        words = found["head"].split()
        title, reason = TITLE.search(found["head"]), NOT_RUN.search((found["above"] or "").strip())
        yield (words[0] if words else "", title and title[1], found["body"], reason and reason["why"],
               bool(reason) and reason["how"].startswith("Run"))


def form(repository):
    """Blocks that are indented, or of no known language: nobody would run them."""
    for page in [repository / "README.md", *sorted((repository / "docs").rglob("*.md"))]:
        name = str(page.relative_to(repository)).removeprefix("docs/")
        text = page.read_text(encoding="utf-8")
        for language, _, body, *_ in blocks(text):
            if language not in LANGUAGES:
                yield "%s: a block without a language of %s: %s" % (name, sorted(LANGUAGES), body[:40])
        plain = FENCE.sub("", text)
        if "```" in plain:
            yield "%s: a fence without its other end, or not at the margin" % name
        if not name.startswith(QUOTING):
            for line in re.findall(r"(?:^|\n)\n(    [^\n]+)", plain):
                yield "%s: an indented block: %s" % (name, line.strip())


def prepare(folder, tessera, repository):
    for name in FOLDERS:
        (folder / name).symlink_to(repository / name)
    for place in ("bin", "build/release"):
        (folder / place).mkdir(parents=True)
        (folder / place / "tessera").symlink_to(tessera)


def environment(folder, tessera, repository):
    """Open MPI's own variables let it run as root, and with more ranks than processors."""
    return {**os.environ, "PATH": "%s:%s" % (folder / "bin", os.environ["PATH"]), "HOME": str(folder),
            "TESSERA": str(tessera),
            "PYTHONPATH": str(repository / "python"), "PYTHONDONTWRITEBYTECODE": "1",
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def python_with_pandas():
    for python in (sys.executable, "python3", "/usr/bin/python3"):
        done = subprocess.run([python, "-c", "import h5py, pandas, xarray, yaml"], check=False, capture_output=True)
        if done.returncode == 0:
            return python
    raise SystemExit("no Python with pandas, xarray and h5py; apt-get install python3-pandas python3-xarray python3-h5py")


class Sandbox:
    """A folder in which the blocks of one page run."""

    def __init__(self, folder, page, tessera, repository):
        self.folder, self.page, self.printed = folder, page, ""
        self.tessera, self.repository = tessera, repository
        self.environment = environment(folder, tessera, repository)
        prepare(folder, tessera, repository)

    def run(self, body, *words):
        """What is wrong, if anything."""
        done = subprocess.run([*words, body], cwd=self.folder, check=False, timeout=400, stdin=subprocess.DEVNULL,
                              env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        self.printed = done.stdout.decode(errors="replace")
        if done.returncode != 0:
            yield "%s: this block ends with %d:\n%s%s" % (self.page, done.returncode, body, self.printed[-1500:])

    def compare(self, body):
        printed = {" ".join(line.split()) for line in self.printed.splitlines()}
        for line in body.splitlines():
            if line.strip() and " ".join(line.split()) not in printed:
                yield "%s: not printed: %s\nbut\n%s" % (self.page, line, self.printed[-1500:])

    def write(self, title, body):
        """In the folder of the page alone: what it holds of the tree are links."""
        if self.folder.resolve() not in (self.folder / title).resolve().parents:
            raise SystemExit("%s: a block's title leads out of its folder: %s" % (self.page, title))
        (self.folder / title).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / title).write_text(body, encoding="utf-8")


def run_block(sandbox, block):
    language, title, body, reason, _ = block
    if language == "text" and title == "prints":
        return list(sandbox.compare(body))
    if title:
        sandbox.write(title, body)
    elif language == "bash" and reason:
        print("%s: not run, %s: %s" % (sandbox.page, reason, body.splitlines()[0]))
        return ["%s: %s" % (sandbox.page, wrong) for wrong in unrun.faults(body, sandbox.tessera, sandbox.repository)]
    elif language == "bash":
        return list(sandbox.run(body, "bash", "-euo", "pipefail", "-c"))
    return []


def run_page(page, tessera, repository):
    """What fails; of the first failure on, as what follows rests on it."""
    found = list(blocks(page.read_text(encoding="utf-8")))
    program = "\n".join(body for language, title, body, reason, _ in found
                        if language == "python" and not title and not reason)
    with tempfile.TemporaryDirectory() as scratch:
        sandbox = Sandbox(pathlib.Path(scratch), page.relative_to(repository), tessera, repository)
        for block in found:
            wrong = run_block(sandbox, block)
            if wrong:
                return wrong
        return list(sandbox.run(program, python_with_pandas(), "-c")) if program else []


def run_all(tessera, repository, group):
    found = list(pages(repository, group))
    if not any(language == "bash" and not reason for page in found
               for language, _, _, reason, _ in blocks(page.read_text(encoding="utf-8"))):
        yield "no block would be run for '%s'" % group
    for page in found:
        yield from run_page(page, tessera, repository)
