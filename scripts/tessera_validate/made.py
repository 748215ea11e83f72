"""What a page says of who made it: a footer in each part, and a line at the head about all of them."""

import contextlib
import fcntl
import os
import platform
import re
import sys
from dataclasses import dataclass

FOOTER = re.compile(r"^\*Made (?:in (\d+) s )?by tessera \S+ \(([^)]+)\)[^;\n]*; ([^\n]*?)\.?\*$",
                    re.MULTILINE)
BLOCK = re.compile(r"<!-- part (\S+) -->\n(.*?)\n?<!-- end \1 -->", re.DOTALL)
MISSED = "MISSED: "
NOT_MADE = "This part has not been made yet"


@dataclass(frozen=True)
class Made:
    """A part as it stands in the page."""
    commit: str = ""  # with -dirty where the tree had changes; none: not made yet
    seconds: int = None
    verdict: str = ""

    @property
    def misses(self):
        return self.verdict.startswith(MISSED)


def missed_text(missed):
    return "all bounds hold" if not missed else MISSED + "; ".join(missed)


def footer(seconds, version, missed):
    return (f"*Made in {seconds:.0f} s by {version}, on {os.cpu_count()} processors "
            f"({platform.machine()}); {missed_text(missed)}.*")


def blocks_of(text):
    """The text of each part of a page, by name."""
    return dict(BLOCK.findall(text))


def made_of(block):
    found = FOOTER.search(block)
    if not found:
        return Made()
    return Made(found[2], int(found[1]) if found[1] else None, found[3])


def head(page, blocks):
    """The line on who made the page: parts of other commits are no secret of the footers."""
    parts = {}
    for name in page.parts:
        parts.setdefault(made_of(blocks.get(name, "")).commit, []).append(name)
    begin = f"Made by `{page.command}`"
    if len(parts) == 1 and "" not in parts:
        return f"{begin}, every part by the program of commit {next(iter(parts))}."
    told = [f"commit {commit} ({', '.join(names)})" for commit, names in parts.items() if commit]
    told += [f"not made yet: {', '.join(parts[''])}"] if "" in parts else []
    return f"{begin}, **not all by one program**: {'; '.join(told)}."


def text_of_page(page, blocks):
    """The whole page, with the parts that there are."""
    lines = [f"# {page.heading}", "", head(page, blocks), ""]
    if page.about:
        lines += [page.about, ""]
    for name in page.parts:
        block = blocks.get(name, f"{NOT_MADE}: {name}.\n")
        lines += [f"<!-- part {name} -->", block, f"<!-- end {name} -->"]
    return "\n".join(lines) + "\n"


def read(page):
    """The parts of the page as it stands, by name."""
    return blocks_of(page.path.read_text(encoding="utf-8")) if page.path.exists() else {}


@contextlib.contextmanager
def alone_in(folder):
    """Other processes that put parts into pages there wait for their turn."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def put(page, name, lines):
    """Puts a part in place of the one that the page has; readers see the old page or the new one. What a tree with
    changes has made is printed instead: nobody can look it up."""
    commit = made_of("\n".join(lines)).commit
    if commit.endswith("-dirty"):
        print("\n".join(lines), flush=True)
        print(f"{page.path.name} is as it was: {name} is made by {commit}, a tree with changes, and pages are made by a "
              "commit", file=sys.stderr)
        return
    with alone_in(page.path.parent):
        blocks = {**read(page), name: "\n".join(lines)}
        new = page.path.with_name(f".{page.path.name}.{os.getpid()}")
        new.write_text(text_of_page(page, blocks), encoding="utf-8")
        os.replace(new, page.path)
