#!/usr/bin/env python3
"""Holds that the default of a key is written once.

    check_defaults.py ROOT
    check_defaults.py --self-test

A key whose default is a literal other than zero, false and nothing, or one of its names, is read into
a member of a type that has the same literal, or what that name stands for, as its initialiser: then
the default stands twice, and one of them can be changed without the other. The key takes it from the
type (`Key{"burst", ChannelParameters{}.burst, ...}`), or the member has no initialiser where reading
fills it in any case. Where a key is read to is
followed through assignments, initialisers in the order of members and config::Members; the check
fails when it follows fewer than it did.

Nor is a default a literal where a section is asked for a key by name (`get_name("model", names, "packet")`,
`get_or<bool>("fair", true)`): a declaration of the key states it, and its `read` takes it.
"""
import collections
import re
import sys
from pathlib import Path

LEAST_FOLLOWED = 395

WORD = r"(?:\w+::)*\w+"
OPENING, CLOSING = "({[", ")}]"
# A declaration up to the name of its key, perhaps within of_cost or counted_in.
KEY = re.compile(r"(?<![\w<])(?:config::)?(?:(Name)?Key)(?:<[^;\"{}()]*>)?\s+(\w+)\s*"
                 r"(?:=\s*(?:config::)?(?:of_cost|counted_in)\((?:\s*\"[^\"]*\",)?\s*(?:config::)?(?:Name)?Key"
                 r"(?:<[^;\"{}()]*>)?)?\s*[({]\s*\"([\w.\[\]]+)\"\s*,\s*")
# One of some names, up to the list of them.
CHOICE = re.compile(r"(?<!\w)(?:\w+::)*(?:ChoiceKey|WireKey)(?:<[^;\"{}()=]*>+)?\s+(\w+)\s*"
                    r"(?:=\s*(?:config::)?(?:of_cost\()?\s*(?:config::)?ChoiceKey(?:<[^;\"{}()]*>+)?)?\s*[({]\s*"
                    r"\"([\w.\[\]]+)\"\s*,\s*")
ENUMERATOR = re.compile(r"(?:\w+::)*(\w+::\w+)$")
STRUCT = re.compile(r"\b(?:struct|class)\s+(\w+)(?:\s+final)?(?:\s*:[^{;]*)?\s*\{")
MEMBER = re.compile(r"^\s*((?:const\s+)?%s(?:<[^;=]*?>)?)\s+(\w+)\s*(?:=\s*([^;]+)|\{([^;}]*)\})?;" % WORD,
                    re.MULTILINE)
ASKING = re.compile(r"(?:\.|->)(get_name|get_or)(?:<[^;\"{}()]*>)?\(")
WORTH = re.compile(r"(?:(?:\w+::)*\w+[({])?(?:\"[^\"]+\"|-?[\d'.]+[uUlL]*|true|false)[)}]?$")
LITERAL = re.compile(r"(?:(?:\w+::)*\w+[({])?(\"[^\"]+\"|[\d'.]+[uUlL]*|true)[)}]?$")


def bare(text):
    return re.sub(r"//[^\n]*", "", text)


def literal(text):
    """What a literal says, with its type where that is told; none: it is none, or zero, or nothing."""
    text = text.strip()
    found = LITERAL.match(text)
    if not found:
        return None
    value = found.group(1)
    if value[0].isdigit() or value[0] == ".":
        value = value.replace("'", "").rstrip("uUlL")
        return (text[:found.start(1)].rstrip("({"), float(value)) if float(value) != 0 else None
    return ("", value)


def initial(text):
    """As literal(), also of a name of an enumeration."""
    found = ENUMERATOR.match(text.strip())
    return ("", found.group(1)) if found else literal(text)


def chosen(text, begin):
    """What the default among choices that are listed there stands for; none: as literal()."""
    choices, end = argument(text, begin)
    usual = re.match(r"\s*\"([^\"]*)\"", text[end + 1:])
    if not usual:
        return None
    if choices.endswith("data_types()"):
        return ("", "DataType::" + usual.group(1))
    named = re.search(r"\{\s*\"%s\"\s*,\s*([^{}]+?)\s*\}" % re.escape(usual.group(1)), choices)
    return initial(named.group(1)) if named else None


def argument(text, begin):
    """The argument that begins there, and where it ends."""
    depth, end, quoted = 0, begin, False
    while quoted or depth or text[end] not in ",;" + CLOSING:
        if text[end] == '"' and text[end - 1] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += (text[end] in OPENING) - (text[end] in CLOSING)
        end += 1
    return text[begin:end].strip(), end


def arguments(text, begin):
    """Those of a call whose first one begins there."""
    found, end = [], begin - 1
    while not found or text[end] == ",":
        one, end = argument(text, end + 1)
        found.append(one)
    return found


def body_from(text, begin):
    depth, end = 1, begin
    while depth and end < len(text):
        depth += (text[end] == "{") - (text[end] == "}")
        end += 1
    return text[begin:end]


class Sources:
    """Of texts by their paths."""

    def __init__(self, texts):
        self.texts = {path: bare(text) for path, text in texts.items()}
        # Members by the name of the type: name, type and initialiser, in their order.
        self.types = collections.defaultdict(list)
        self.giving = {}  # types of keys by the functions that give them, of each file and of any
        for path, text in self.texts.items():
            for found in STRUCT.finditer(text):
                body = body_from(text, found.end())
                members = [(one[1], re.sub(r"^const\s+", "", one[0]), one[2] or one[3])
                           for one in MEMBER.findall(body)]
                self.types[found.group(1)].append((path, members))
            for found in re.finditer(r"const (\w+)& (\w+)\(\)", text):
                self.giving[found.group(2)] = self.giving[path, found.group(2)] = found.group(1)

    def declared(self):
        """(path, type that it is a member of or None, variable, name, default) of those with a literal."""
        for path, text in self.texts.items():
            holders = [(found.group(1), found.end(), found.end() + len(body_from(text, found.end())))
                       for found in STRUCT.finditer(text)]
            keys = [(found.start(), found.group(2), found.group(3), literal(argument(text, found.end())[0]))
                    for found in KEY.finditer(text)]
            keys += [(found.start(), found.group(1), found.group(2), chosen(text, found.end()))
                     for found in CHOICE.finditer(text)]
            for place, variable, name, usual in keys:
                if usual is None:
                    continue
                around = [holder for holder, begin, end in holders if begin <= place < end]
                yield path, around[-1] if around else None, variable, name, usual

    def type_of(self, text, place, name):
        """As it is declared last before the place."""
        pattern = r"(%s)(?:<(%s)>)?(?:\s*[&*]\s*|\s+)%s\s*[;,(){=]" % (WORD, WORD, re.escape(name))
        last = None
        for found in re.finditer(pattern, text[:place]):
            if found.group(1) not in ("return", "else", "new", "const"):
                last = found
        if last is None:
            return None
        of = last.group(2) if last.group(2) and last.group(1).endswith("optional") else last.group(1)
        return of.split("::")[-1]

    def types_named(self, name, path):
        """Those of the file's room, else all."""
        found = self.types.get(name, [])
        return [one for one in found if room(one[0]) == room(path)] or found

    def member(self, of, name, reader):
        """(path, type, initialiser) of each type of that name that has it, where `reader` reads it."""
        for path, members in self.types_named(of, reader):
            for member, kind, value in members:
                if member == name:
                    yield path, kind, value

    def is_read_here(self, path, place, prefix, holder):
        """Whether what stands before the variable gives a key of the holder."""
        if holder is None:
            return prefix == ""
        if prefix.endswith("()."):
            name = prefix[:-3].split("::")[-1]
            return self.giving.get((path, name), self.giving.get(name)) == holder
        return prefix == "" or self.type_of(self.texts[path], place, prefix[:-1]) == holder

    def readers(self, path, holder):
        """Files where a key of the file may be read: those of its room, where it is in a header."""
        if holder is None:
            return [path]
        return [other for other in self.texts if room(other) == room(path)]

    def targets(self, path, holder, variable):
        """(file, type, member) that the key is read into."""
        reading = re.compile(r"((?:\w+(?:\(\))?\.)?)\b%s\.read\(" % re.escape(variable))
        for other in self.readers(path, holder):
            text = self.texts[other]
            for found in re.finditer(r"\{\s*(?:\w+\.)?%s,\s*&(%s)::(\w+)\}" % (re.escape(variable), WORD), text):
                yield other, found.group(1).split("::")[-1], found.group(2)
            for found in reading.finditer(text):
                if self.is_read_here(other, found.start(), found.group(1), holder):
                    yield from self.target(other, found.start())

    def target(self, path, place):
        """Of a reading that begins there."""
        text = self.texts[path]
        begin = max(text.rfind(mark, 0, place) for mark in ";}") + 1
        before = text[begin:place]
        assigned = re.search(r"((?:\w+(?:\.|->))+)(\w+)\s*=(?!=)[^;{}=]*$", before)
        if assigned:
            owner, *inner = re.split(r"\.|->", assigned.group(1))[:-1]
            of = self.type_of(text, place, owner)
            for name in inner:
                kinds = [kind for _, kind, _ in self.member(of, name, path)]
                of = re.sub(r".*<(.*)>", r"\1", kinds[0]).split("::")[-1] if kinds else None
            if of:
                yield path, of, assigned.group(2)
            return
        made = re.search(r"(%s)(?:\s+\w+)?\{([^{};]*)$" % WORD, before)
        if made:
            of, number, depth = made.group(1).split("::")[-1], 0, 0
            for mark in made.group(2):
                depth += (mark in OPENING) - (mark in CLOSING)
                number += mark == "," and depth == 0
            if depth == 0:
                for _, members in self.types_named(of, path):
                    if number < len(members):
                        yield path, of, members[number][0]


def room(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" else parts[2]


def looked_through(texts):
    """What stands twice, and how many readings were followed."""
    sources = Sources(texts)
    twice, followed = [], 0
    for path, holder, variable, name, usual in sources.declared():
        for reader, of, member in sorted(set(sources.targets(path, holder, variable))):
            places = list(sources.member(of, member, reader))
            followed += len(places) > 0
            for place, kind, value in places:
                of_member = initial(value) if value else None
                if of_member and of_member[1] == usual[1] and (
                        usual[0] in ("", of_member[0]) or not of_member[0] or usual[0] == kind):
                    twice.append("%s: the default of '%s' is that of %s::%s (%s) written again; take it "
                                 "from there" % (path, name, of, member, place))
    return twice, followed


def asked_for(texts):
    """Where a section is asked for a key by name, with a literal as default."""
    told = []
    for path, text in texts.items():
        text = bare(text)
        for found in ASKING.finditer(text):
            given = arguments(text, found.end())
            place = 2 if found.group(1) == "get_name" else 1
            if len(given) > place and WORTH.match(given[place]):
                told.append("%s: %s(%s) has its default written there; declare the key, and read it by "
                            "its declaration" % (path, found.group(1), ", ".join(given)))
    return told


def count_all(texts):
    """Readings of all keys, also of those that take their default from a type."""
    sources = Sources(texts)
    count = 0
    for path, text in sources.texts.items():
        for found in re.finditer(r"(?:\w+(?:\(\))?\.)?\b\w+\.read\(", text):
            count += any(True for reader, of, member in sources.target(path, found.start())
                         for _ in sources.member(of, member, reader))
    return count


def self_test():
    header = ("struct Inner {\n  double share = 0.5;\n};\nstruct Settings {\n  unsigned depth = 8;  // flits\n"
              "  Bytes size = Bytes(64);\n  bool fair = true;\n  unsigned none = 0;\n  Inner inner;\n"
              "  std::string name = \"ring\";\n};\n")
    source = ("const Key<unsigned> depth_key{\"depth\", 8, \"a\"};\n"
              "const Key<Bytes> size = of_cost(Key<Bytes>(\"size\", Bytes(64), \"a\"));\n"
              "const Key<bool> fair{\"fair\", true, \"a\"};\nconst Key<unsigned> none{\"none\", 0, \"a\"};\n"
              "const Key<double> share{\"share\", 0.5, \"a\"};\nconst NameKey name{\"name\", \"ring\", \"a\"};\n"
              "Settings read(Section& s) {\n  Settings settings{depth_key.read(s), size.read(s)};\n"
              "  settings.none = none.read(s);\n  settings.inner.share = share.read(s);\n  return settings;\n}\n"
              "Members all{Member{fair, &Settings::fair}};\n")
    twice, followed = looked_through({"src/a/b.hpp": header, "src/a/b.cpp": source})
    told = sorted(re.search("'(.*)'", line).group(1) for line in twice)
    assert told == ["depth", "fair", "share", "size"] and followed == 4, (twice, followed)
    once = source.replace('"depth", 8', '"depth", Settings{}.depth').replace("0.5", "0.6")
    twice, _ = looked_through({"src/a/b.hpp": header, "src/a/b.cpp": once})
    assert len(twice) == 2, twice
    # Of a header, as a function gives its keys; those of another type of keys are others.
    keys = "struct Keys {\n  config::Key<unsigned> depth{\"depth\", 8, \"a\"};\n};\nconst Keys& keys();\n"
    reads = "void read(Settings& to, Section& s) {\n  to.depth = keys().depth.read(s);\n}\n"
    files = {"include/tessera/c/b.hpp": header, "src/a/keys.hpp": keys, "src/a/read.cpp": reads}
    assert len(looked_through(files)[0]) == 1
    files["src/a/read.cpp"] = reads.replace("keys()", "others()")
    assert looked_through(files) == ([], 0)
    asking = ("a = s.get_name(\"model\", all().names(), \"packet\");\nb = s->get_or<bool>(\"fair\", false);\n"
              "c = s.get_or(key, Bytes(64), range);\nd = s.get_name(\"then\", {\"then\", \"else\"});\n"
              "e = s.get_or<double>(\"share\", usual.share);\nf = s.get_name(key(), names_(), usual);\n"
              "g = s.get_name(\"kind\", {\"a\", \"b\"}, \"\");\n")
    told = asked_for({"src/a/b.cpp": asking})
    assert len(told) == 3 and all(name in line for name, line in zip(("packet", "false", "64"), told)), told
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = Path(sys.argv[1])
    texts = {file.relative_to(root).as_posix(): file.read_text(encoding="utf-8")
             for top in ("src", "include") for file in sorted((root / top).rglob("*.?pp"))}
    twice, _ = looked_through(texts)
    asked = asked_for(texts)
    for line in twice + asked:
        print(line)
    followed = count_all(texts)
    print("%d readings into members followed" % followed)
    if followed < LEAST_FOLLOWED:
        print("there were %d: the check sees less than it did" % LEAST_FOLLOWED)
        return 1
    return 1 if twice or asked else 0


if __name__ == "__main__":
    sys.exit(main())
