#!/usr/bin/env python3
"""Draws the rooms of a tree as SVG: their folders with lines of code, and who includes whom.

    rooms_picture.py OUTPUT.svg                    of the working tree
    rooms_picture.py OUTPUT.svg --commit COMMIT    of a commit

A room stands above all that it may include (tests/house/rooms.txt); a line joins it with the rooms
that it includes itself and that no room between includes for it, thicker where more includes go. The
table below counts includes between rooms. Lines are those of include/ and src/ that are not empty.
"""
import argparse
import collections
import html
import io
import math
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"tessera/(\w+)/', re.MULTILINE)
SUFFIXES = {".hpp", ".cpp", ".inl"}
OWN_FILES = "files of the room"

WIDTH = 190  # of a room
GAP = 26
LINE = 15
ROW_GAP = 64
CELL = 34
STYLE = ("text{font:11px sans-serif;fill:#222}.name{font:bold 13px sans-serif}.n{text-anchor:end}"
         ".m{text-anchor:middle}.head{font:bold 16px sans-serif}")


def may_include(tree):
    """{room: rooms} of the first table of rooms.txt, bottom-up."""
    lines = (tree / "tests/house/rooms.txt").read_text("utf-8").splitlines()
    begin = lines.index("[may include]") + 1
    end = next(at for at in range(begin, len(lines)) if lines[at].startswith("["))
    rows = [line.split("#")[0].partition(":") for line in lines[begin:end]]
    return {name.strip(): rest.split() for name, colon, rest in rows if colon}


class Room:
    def __init__(self, name):
        self.name = name
        self.folders = collections.Counter()  # name: lines
        self.includes = collections.Counter()  # room: includes

    @property
    def lines(self):
        return sum(self.folders.values())

    @property
    def height(self):
        return LINE * (len(self.folders) + 1) + 14

    def rows(self):
        own = [(OWN_FILES, self.folders[OWN_FILES])] if self.folders[OWN_FILES] else []
        return own + sorted(row for row in self.folders.items() if row[0] != OWN_FILES)


def read_room(tree, name):
    room = Room(name)
    for top in (tree / "include/tessera" / name, tree / "src" / name):
        for path in sorted(top.rglob("*")):
            if path.suffix in SUFFIXES:
                text = path.read_text("utf-8")
                inner = path.relative_to(top).parts[:-1]
                folder = inner[0] if inner else OWN_FILES
                room.folders[folder] += sum(1 for line in text.splitlines() if line.strip())
                room.includes.update(other for other in INCLUDE.findall(text) if other != name)
    return room


def levels(table):
    """{room: how many rooms stand below it, one on the other}."""
    level = {}
    for name, below in table.items():  # bottom-up
        level[name] = 1 + max((level[other] for other in below), default=-1)
    return level


def reach(table):
    """{room: all it may include}."""
    found = {}
    for name, below in table.items():
        found[name] = set(below).union(*(found[other] for other in below))
    return found


def joined(rooms, table):
    """Pairs of rooms that a line joins, with the number of includes."""
    below = reach(table)
    for room in rooms.values():
        used = [other for other in room.includes if other in rooms]
        for other in used:
            if not any(other in below[between] for between in used):
                yield room.name, other, room.includes[other]


def element(tag, text=None, **attributes):
    words = "".join(f' {key.replace("_", "-").strip("-")}="{html.escape(str(value))}"'
                    for key, value in attributes.items())
    return f"<{tag}{words}/>" if text is None else f"<{tag}{words}>{html.escape(str(text))}</{tag}>"


def places(rooms, table):
    """{room: (x, y) of its upper left corner}, and the size of all."""
    level = levels(table)
    rows = [[name for name in table if level[name] == at] for at in range(max(level.values()), -1, -1)]
    width = max(len(row) for row in rows) * (WIDTH + GAP) + GAP
    found, y = {}, 44
    for row in rows:
        x = (width - len(row) * (WIDTH + GAP) + GAP) / 2
        for name in row:
            found[name] = (x, y)
            x += WIDTH + GAP
        y += max(rooms[name].height for name in row) + ROW_GAP
    return found, width, y


def draw_lines(rooms, table, place):
    for upper, lower, count in joined(rooms, table):
        x1, y1 = place[upper][0] + WIDTH / 2, place[upper][1] + rooms[upper].height
        x2, y2 = place[lower][0] + WIDTH / 2, place[lower][1]
        middle = (y1 + y2) / 2
        yield element("path", d=f"M{x1:.0f} {y1:.0f}C{x1:.0f} {middle:.0f} {x2:.0f} {middle:.0f} "
                                f"{x2:.0f} {y2:.0f}",
                      fill="none", stroke="#7a8ca5", stroke_width=f"{0.8 + math.log2(count + 1) / 2:.1f}",
                      stroke_opacity="0.6")


def draw_room(room, x, y):
    yield element("rect", x=x, y=y, width=WIDTH, height=room.height, rx=5, fill="#eef3f9",
                  stroke="#456")
    yield element("text", room.name, x=x + 8, y=y + LINE, _class="name")
    yield element("text", room.lines, x=x + WIDTH - 8, y=y + LINE, _class="n name")
    for at, (folder, lines) in enumerate(room.rows()):
        bottom = y + LINE * (at + 2) + 2
        yield element("rect", x=x + 4, y=bottom - LINE + 4, height=LINE - 2,
                      width=f"{(WIDTH - 8) * lines / room.lines:.0f}", fill="#cfdcec")
        yield element("text", folder, x=x + 8, y=bottom)
        yield element("text", lines, x=x + WIDTH - 8, y=bottom, _class="n")


def draw_table(rooms, x, y):
    """A row a room: how often it includes each of the others. Nothing above the diagonal: no circle."""
    names = list(rooms)
    yield element("text", "includes: of the room at the left, of headers of the room above", x=x - 70,
                  y=y - 40, _class="name")
    for at, name in enumerate(names):
        left, top = x + at * CELL, y + at * CELL * 0.6
        yield element("text", name, x=x - 6, y=top + 14, _class="n")
        yield element("text", name, transform=f"translate({left + 20} {y - 4}) rotate(-35)")
        yield element("rect", x=left, y=top, width=CELL, height=CELL * 0.6, fill="#dde")
    for at, name in enumerate(names):
        for column, other in enumerate(names):
            count = rooms[name].includes[other]
            if count:
                left, top = x + column * CELL, y + at * CELL * 0.6
                yield element("rect", x=left, y=top, width=CELL, height=CELL * 0.6, fill="#456",
                              fill_opacity=f"{min(0.75, 0.08 + math.log2(count) / 10):.2f}")
                yield element("text", count, x=left + CELL / 2, y=top + 14, _class="m")


def picture(tree, title):
    table = may_include(tree)
    rooms = {name: read_room(tree, name) for name in table}
    place, width, height = places(rooms, table)
    parts = list(draw_lines(rooms, table, place))
    for name, (x, y) in place.items():
        parts += draw_room(rooms[name], x, y)
    parts += draw_table(rooms, 100, height + 60)
    width = max(width, 160 + CELL * len(rooms))
    height += 80 + CELL * 0.6 * len(rooms)
    lines = sum(room.lines for room in rooms.values())
    folders = sum(len([name for name in room.folders if name != OWN_FILES]) for room in rooms.values())
    head = f"{title}: {len(rooms)} rooms, {folders} folders, {lines} lines of code"
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
                      f'width="{width:.0f}">', element("style", STYLE),
                      element("rect", x=0, y=0, width="100%", height="100%", fill="#fff"),
                      element("text", head, x=GAP, y=26, _class="head"), *parts, "</svg>", ""])


def unpack(commit, folder):
    words = ["git", "-C", str(REPOSITORY), "archive", commit, "include", "src", "tests/house/rooms.txt"]
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr.decode().strip())
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--commit")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        tree = REPOSITORY
        if options.commit:
            unpack(options.commit, scratch)
            tree = pathlib.Path(scratch)
        options.output.write_text(picture(tree, options.commit or "Tessera"), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
