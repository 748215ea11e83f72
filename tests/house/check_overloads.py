#!/usr/bin/env python3
"""Checks that no function that only one source sees can take the place of another source's.

    check_overloads.py SOURCE_TREE
    check_overloads.py --self-test

Sources of a room are compiled together (`tessera_together`), so that functions in their unnamed namespaces
overload each other. Where two of one name take as many parameters, of which each pair is of one type or both
are numbers or both are texts, a call in one source may be answered by the other one's without a word: a
literal is taken by `const char*` rather than by `const std::string&`. Such pairs need names of their own.
Those with the same types are none of these: a compiler refuses them.
The self-test plants a pair and wants it found.
"""
import collections
import itertools
import pathlib
import re
import sys
import tempfile

BLOCK = re.compile(r"^namespace \{\n(.*?)^\}  // namespace\n", re.MULTILINE | re.DOTALL)
FUNCTION = re.compile(r"^(?!template|return|else)[A-Za-z_][\w:<>,*& ]*[ *&]([a-z_]\w*)\(([^;{}()]*)\)(?: noexcept)? \{",
                      re.MULTILINE)
TEXT = {"char*", "std::string", "std::string_view"}
NUMBER = re.compile(r"bool|char|int|unsigned|long|float|double|std::u?int\d+_t|std::size_t")


def types_of(parameters):
    """Without names, `const` and references."""
    depth, words, all_words = 0, "", []
    for letter in parameters + ",":
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            all_words.append(words)
            words = ""
        else:
            words += letter
    plain = [re.sub(r"\bconst\b|&|/\*.*?\*/", "", words.split("=")[0]).strip() for words in all_words if words.strip()]
    return [re.sub(r"\s*\*\s*", "* ", words).split(" ")[0] if "<" not in words else re.sub(r">[^>]*$", ">", words)
            for words in plain]


def alike(one, other):
    return one == other or {one, other} <= TEXT or bool(NUMBER.fullmatch(one) and NUMBER.fullmatch(other))


def complaints(tree):
    rooms = collections.defaultdict(lambda: collections.defaultdict(list))
    source = pathlib.Path(tree) / "src"
    for path in sorted(source.rglob("*.cpp")):
        place = path.relative_to(source)
        for block in BLOCK.findall(path.read_text(encoding="utf-8")):
            for name, parameters in FUNCTION.findall(block):
                rooms[place.parts[0]][name].append((place, types_of(parameters)))
    for functions in rooms.values():
        for name, found in functions.items():
            for (one, left), (other, right) in itertools.combinations(found, 2):
                if one != other and left != right and len(left) == len(right) and all(map(alike, left, right)):
                    yield f"src/{one} and src/{other}: `{name}` of one may take calls of the other"


def self_test():
    with tempfile.TemporaryDirectory() as scratch:
        room = pathlib.Path(scratch) / "src" / "cli"
        room.mkdir(parents=True)

        def write(name, function):
            (room / name).write_text(f"namespace {{\n\n{function} {{\n  return 1;\n}}\n\n}}  // namespace\n",
                                     encoding="utf-8")
        write("man.cpp", "int head(const std::string& page, std::uint32_t lines)")
        for other in ("int head(const char* shell)", "int head(const Page& page, int lines)",
                      "int head(const std::string& text, std::uint32_t n)", "int heads(const char* shell, int lines)"):
            write("completion.cpp", other)
            assert not list(complaints(scratch)), other
        write("completion.cpp", "int head(const char* shell, int lines)")
        found = list(complaints(scratch))
        assert len(found) == 1 and "`head`" in found[0], found


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    found = list(complaints(sys.argv[1]))
    print("\n".join(found) or "no function may take the place of another")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
