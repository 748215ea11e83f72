"""Files and folders of the tree that pages name between backticks: every one of them is there.

A path that begins with a folder of the tree is looked for from its root, one that begins with a room (a
folder of src/) below src/, include/tessera/ and tests/unit/, with or without the end of its name. Any
other path of a source, and the bare name of a C++ one, has to be the end of a file's path. Files of other
programs stand behind the program's name and a colon, and ROOM, NAME and READER for any.
"""
import pathlib
import re
import tempfile

FOLDERS = ("bench", "cmake", "configs", "docs", "include", "python", "results", "scripts", "src", "tests",
           "workloads")
SOURCES = (".cpp", ".hpp", ".py", ".sh")
CODE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
# Words with nothing but what names of files have.
NAMED = re.compile(r"`([\w.+-]+(?:/[\w.+-]+)*)/?`")
PLACEHOLDER = re.compile(r"(?:^|[/_])(?:ROOM|NAME|READER)(?=$|[/_.])")


class Tree:
    def __init__(self, root):
        self.root = root
        self.rooms = {place.name for place in (root / "src").iterdir() if place.is_dir()}
        self.sources = {"/" + str(file.relative_to(root)) for folder in FOLDERS
                        for file in (root / folder).rglob("*") if file.suffix in SOURCES}

    def is_in_room(self, path):
        places = [self.root / folder / path for folder in ("src", "include/tessera", "tests/unit")]
        return any(place.exists() or any(place.with_name(place.name + end).exists() for end in SOURCES)
                   for place in places)

    def has(self, path):
        first, *more = path.split("/")
        if more and first in FOLDERS:
            return (self.root / path).exists()
        if more and first in self.rooms:
            return self.is_in_room(path)
        if path.endswith(SOURCES if more else (".cpp", ".hpp")) and not path.startswith("."):
            return any(source.endswith("/" + path) for source in self.sources)
        return True


def missing(tree, text):
    for path in NAMED.findall(CODE.sub("", text)):
        if not PLACEHOLDER.search(path) and not tree.has(path):
            yield path


def pages_of(repository):
    pages = [*repository.glob("*.md"), *(repository / "docs").rglob("*.md")]
    return [page for page in sorted(pages) if page.name != "CHANGELOG.md"]


PLANTED = ["src/plan/plan.hpp", "src/sim/cuts/idle_ranks.cpp", "include/tessera/plan/plan.hpp",
           "tests/unit/sim/replay_test.cpp", "scripts/made/by.py"]
THERE = ["src/sim/cuts", "src/plan/", "sim/cuts/idle_ranks", "sim/cuts/idle_ranks.cpp", "plan/plan.hpp",
         "sim/replay_test", "cuts/idle_ranks.cpp", "idle_ranks.cpp", "made/by.py", "src/ROOM",
         "tests/unit/sim/NAME_test.cpp", ".cpp", "linear.py", "other:src/some.cpp",
         "run/trace.h5", "strategy.yaml"]
GONE = ["src/sim/idle_ranks.cpp", "src/plan/parts", "sim/idle_ranks", "sim/idle_ranks.cpp", "plan/plan.cpp",
        "sim/fleet_test", "plan/idle_ranks.cpp", "ranks.cpp", "by/made.py", "scripts/by.py"]


def self_test():
    """Of a small tree, what is named rightly is taken, and each of the rest is found."""
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        for name in PLANTED:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()
        text = " ".join("`%s`" % name for name in THERE + GONE) + "\n```sh\n`src/other.cpp`\n```\n"
        found = list(missing(Tree(root), text))
    if found != GONE:
        yield "paths.py: of a small tree it finds %s, not %s" % (found, GONE)


def faults(repository):
    yield from self_test()
    tree = Tree(repository)
    for page in pages_of(repository):
        for path in missing(tree, page.read_text(encoding="utf-8")):
            yield "%s: names `%s`, which is not there" % (page.relative_to(repository), path)
