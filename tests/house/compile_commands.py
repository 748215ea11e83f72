"""How the sources and tests of a room are compiled, by the compile_commands.json of a build folder."""
import json
import re
import shlex
from pathlib import Path
from typing import NamedTuple


def entries(build):
    return json.loads((build / "compile_commands.json").read_text("utf-8"))


def alone(build):
    """The sources that are compiled by themselves."""
    return {Path(entry["file"]).resolve() for entry in entries(build)}


def words_of_rooms(build):
    """{room: the words of a compilation of one of its sources}. Sources of a room may be compiled together,
    from a file in the build folder. Of a room that has quick ones too, it is one of the others."""
    rooms = {}
    for entry in entries(build):
        found = re.search(r"/src/([a-z]+)/", entry["file"])
        if found and "_schema.dir/" not in entry["command"]:
            room = found.group(1)
            if room not in rooms or "_fast.dir/" in entry["command"]:
                rooms[room] = shlex.split(entry["command"])
    return rooms


def sources(repository):
    """(source, room) of all."""
    return [(file, file.relative_to(repository / "src").parts[0])
            for file in sorted((repository / "src").rglob("*.cpp"))]


class Unit(NamedTuple):
    """What the compiler takes at a time: a source, or several that a file of the build puts together."""
    file: Path
    sources: tuple[Path, ...]
    words: list[str]


def units(build):
    """All of the program."""
    return [Unit(Path(entry["file"]), sources_in(Path(entry["file"])), shlex.split(entry["command"]))
            for entry in entries(build)
            if re.search(r"/src/[a-z]+/", entry["file"]) and "_schema.dir/" not in entry["command"]]


def sources_in(file):
    if "Unity" not in file.parts:
        return (file.resolve(),)
    return tuple(Path(name).resolve() for name in re.findall(r'^#include "(.+)"$', file.read_text("utf-8"), re.M))


def words_of_tests(build):
    """{room: the words of a compilation of its tests}."""
    rooms = {}
    for entry in entries(build):
        found = re.search(r"/([a-z]+)_tests\.dir/", entry["command"])
        if found:
            rooms[found.group(1)] = shlex.split(entry["command"])
    return rooms


def tests(repository):
    """(source, room) of all tests of one room."""
    return [(file, file.relative_to(repository / "tests" / "unit").parts[0])
            for file in sorted((repository / "tests" / "unit").rglob("*_test.cpp"))]
