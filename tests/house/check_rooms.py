#!/usr/bin/env python3
"""Checks every source file of Tessera against the table of rooms.

    check_rooms.py SOURCE_TREE [--table FILE]
    check_rooms.py --self-test
    check_rooms.py --page PAGE

Looks at include/tessera/ROOM/ and src/ROOM/: which headers a file includes, which functions it
calls that only the face of the program may, and which rooms a room links. The table is rooms.txt.
The self-test plants one violation of each kind in a copy of a sound tree and wants it found. PAGE is
the document with the same table for readers: its rooms, and which others each may include.
"""
import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
ROOM_LINKS = re.compile(r'tessera_room\(\s*(\w+)(.*?)\)', re.DOTALL)
SUFFIXES = {".hpp", ".cpp", ".inl"}


class Table:
    def __init__(self, text):
        sections = {}
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#")[0].strip()
            if line.startswith("["):
                section = sections.setdefault(line.strip("[]"), {})
            elif line:
                key, colon, values = line.rpartition(":")
                if not colon:
                    raise SystemExit("rooms table, line %d: expected 'name: ...'" % number)
                section[key.strip()] = values.split()
        self.direct = sections["may include"]
        self.extra = sections["may also include"]
        self.homes = sections["only home"]
        self.callers = sections["only caller"]
        self.generated = sections["generated"]
        self.reach = {room: self.closure(room) for room in self.direct}

    def closure(self, room):
        met, open_rooms = {room}, [room]
        while open_rooms:
            for other in self.direct[open_rooms.pop()]:
                if other not in met:
                    met.add(other)
                    open_rooms.append(other)
        return met

    def home_of(self, header):
        for pattern, rooms in self.homes.items():
            if header == pattern or (pattern.endswith("/") and header.startswith(pattern)):
                return rooms
        return None


def without_comments_and_texts(code):
    """Blanks comments and string literals; lines stay where they are."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
    return pattern.sub(lambda found: "\n" * found.group().count("\n"), code)


def complaints_of_file(table, tree, path, room):
    public = path.parts[len(tree.parts)] == "include"
    text = path.read_text(encoding="utf-8")
    place = path.relative_to(tree)

    def line_of(position):
        return text.count("\n", 0, position) + 1

    for found in INCLUDE.finditer(text):
        header = found.group(2)
        where = "%s:%d: " % (place, line_of(found.start()))
        if header.startswith("tessera/"):
            parts = header.split("/")
            other = parts[1] if len(parts) > 2 else ""
            if other not in table.direct:
                yield where + "%s is in no room" % header
            elif other not in table.reach[room] and (
                    "/".join(parts[1:]) not in table.extra.get(room, [])):
                yield where + "%s may not include %s" % (room, header)
            elif not (tree / "include" / header).exists():
                yield where + "there is no %s" % header
        elif found.group(1) == '"':
            if public:
                yield where + 'a public header includes "%s", which is not installed' % header
            elif not (tree / "src" / room / header).exists() and (
                    header not in table.generated.get(room, [])):
                yield where + '"%s" is not in src/%s' % (header, room)
        else:
            home = table.home_of(header)
            if home is not None and room not in home:
                yield where + "<%s> is known to %s alone" % (header, ", ".join(home))
            elif home is not None and public:
                yield where + "<%s> must not be in a public header" % header

    code = without_comments_and_texts(text)
    for function, rooms in table.callers.items():
        # A member or a declaration of that name is something else: world.abort(code).
        call = re.compile(r'(?:\bstd::|(?<![\w.>:])::|(?:^|[;{}()])\s*)%s\s*\(' % re.escape(function),
                          re.MULTILINE)
        for found in call.finditer(code):
            if room not in rooms:
                line = code.count("\n", 0, found.end()) + 1
                yield "%s:%d: %s() is for %s alone" % (place, line, function, ", ".join(rooms))
    if path.suffix != ".cpp" and re.search(r'\busing\s+namespace\b', code):
        yield "%s: 'using namespace' in a header" % place


def complaints(table, tree):
    tree = pathlib.Path(tree).resolve()
    folders = []
    for top in ("include/tessera", "src"):
        folders += sorted(p for p in (tree / top).iterdir() if p.is_dir())
    seen = 0
    for folder in folders:
        if folder.name not in table.direct:
            yield "%s is not in the table of rooms" % folder.relative_to(tree)
            continue
        for path in sorted(folder.rglob("*")):
            if path.suffix in SUFFIXES:
                seen += 1
                yield from complaints_of_file(table, tree, path, folder.name)
        lists = folder / "CMakeLists.txt"
        if lists.exists():
            for found in ROOM_LINKS.finditer(lists.read_text(encoding="utf-8")):
                yield from complaints_of_links(table, lists.relative_to(tree), found)
    if seen == 0:
        yield "no source file was found"


def complaints_of_links(table, place, found):
    name, room, linking = found.group(1), None, False
    for word in found.group(2).split():
        if word.isupper():
            linking = word == "ROOMS"
        elif linking:
            room = word
            header = room + "/messages.hpp"
            if room not in table.reach.get(name, set()) and header not in table.extra.get(name, []):
                yield "%s: %s may not link %s" % (place, name, room)


SOUND = {
    "include/tessera/core/a.hpp": "#pragma once\n#include <string>\n",
    "include/tessera/network/messages.hpp": '#include "tessera/core/a.hpp"\n',
    "include/tessera/network/network.hpp": '#include "tessera/pdes/engine.hpp"\n',
    "include/tessera/pdes/engine.hpp": '#include "tessera/comm/c.hpp"\n',
    "include/tessera/comm/c.hpp": "void abort(int code);\n",
    "src/core/a.cpp": '#include "tessera/core/a.hpp"\n#include <fmt/format.h>\n',
    "src/comm/c.cpp": '#include <mpi.h>\n#include "tools.hpp"\nvoid f() { MPI_Abort(w, 1); }\n',
    "src/comm/tools.hpp": "// std::abort() in a comment, and using namespace too\n",
    "src/memory/m.cpp": '#include "tessera/network/messages.hpp"\n'
                        'void f() { world.abort(1); }\nauto t = "std::exit(1)";\n',
    "src/memory/CMakeLists.txt": "tessera_room(memory\n  SOURCES m.cpp\n  ROOMS core pdes network)\n",
    "src/cli/main.cpp": '#include <iostream>\n#include "tessera/network/network.hpp"\n'
                        "int main() { std::exit(0); }\n",
}
PLANTED = [
    ("src/core/a.cpp", '#include "tessera/comm/c.hpp"', "core may not include tessera/comm/c.hpp"),
    ("src/memory/m.cpp", ' # include  "tessera/network/network.hpp"',
     "memory may not include tessera/network/network.hpp"),
    ("include/tessera/core/a.hpp", '#include "tessera/lounge/a.hpp"', "is in no room"),
    ("src/core/a.cpp", '#include "tessera/core/b.hpp"', "there is no tessera/core/b.hpp"),
    ("src/core/a.cpp", '#include "tools.hpp"', '"tools.hpp" is not in src/core'),
    ("include/tessera/core/a.hpp", '#include "a_detail.hpp"', "which is not installed"),
    ("src/core/a.cpp", "#include <mpi.h>", "<mpi.h> is known to comm alone"),
    ("src/comm/c.cpp", "#include <yaml-cpp/yaml.h>", "<yaml-cpp/yaml.h> is known to config alone"),
    ("src/comm/c.cpp", "#include <iostream>", "<iostream> is known to cli alone"),
    ("include/tessera/core/a.hpp", "#include <fmt/core.h>", "must not be in a public header"),
    ("src/memory/m.cpp", "void g() { std::exit(1); }", "exit() is for cli alone"),
    ("src/memory/m.cpp", "void g() {\n  abort();\n}", "abort() is for cli alone"),
    ("src/memory/m.cpp", 'void g() { ::printf("x"); }', "printf() is for cli alone"),
    ("src/comm/tools.hpp", "using namespace std;", "'using namespace' in a header"),
    ("src/memory/CMakeLists.txt", "tessera_room(memory SOURCES m.cpp ROOMS core trace)",
     "memory may not link trace"),
    ("src/lounge/sofa.cpp", "", "src/lounge is not in the table of rooms"),
]


def write(tree, files):
    for name, text in files.items():
        path = pathlib.Path(tree) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def self_test(table):
    failures = []
    with tempfile.TemporaryDirectory() as tree:
        write(tree, SOUND)
        failures += ["a sound tree is refused: " + c for c in complaints(table, tree)]
    for name, line, wanted in PLANTED:
        with tempfile.TemporaryDirectory() as tree:
            write(tree, SOUND)
            write(tree, {name: SOUND.get(name, "") + line + "\n"})
            got = list(complaints(table, tree))
            if len(got) != 1 or wanted not in got[0]:
                failures.append("planted in %s: %r; expected one complaint with %r, got %r"
                                % (name, line, wanted, got))
    return failures


def complaints_of_page(table, page):
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in page.splitlines() if line.startswith("| `")]
    written = {row[0].strip("`"): row[2] for row in rows}
    if list(written) != list(table.direct):
        yield "rooms: the page has %s, the table %s" % (list(written), list(table.direct))
    for room, text in written.items():
        # Behind the semicolon are single headers, in words.
        others = [name.strip() for name in text.split(";")[0].split(",") if name.strip()]
        if others == ["all above"]:
            missing = set(list(table.direct)[:list(table.direct).index(room)]) - table.reach[room]
            if missing:
                yield "%s: the page says all above, but not %s" % (room, sorted(missing))
        elif sorted(others) != sorted(table.direct.get(room, [])):
            yield "%s: the page has %s, the table %s" % (room, others, table.direct.get(room))
        if (";" in text) != (room in table.extra):
            yield "%s: single headers are in one of page and table" % room


def main():
    words = sys.argv[1:]
    file = pathlib.Path(__file__).with_name("rooms.txt")
    if "--table" in words:
        at = words.index("--table")
        file = pathlib.Path(words[at + 1])
        del words[at:at + 2]
    table = Table(file.read_text(encoding="utf-8"))
    if len(words) == 2 and words[0] == "--page":
        found = list(complaints_of_page(table, pathlib.Path(words[1]).read_text(encoding="utf-8")))
    elif len(words) == 1:
        found = self_test(table) if words[0] == "--self-test" else list(complaints(table, words[0]))
    else:
        raise SystemExit(__doc__)
    for complaint in found:
        print(complaint)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
