#!/usr/bin/env python3
"""Holds that no call has two arguments that read keys or draw random numbers.

    check_order.py REPOSITORY
    check_order.py --self-test

In which order arguments are evaluated is the compiler's choice: GCC and Clang differ. Keys are written to
config.resolved.yaml in the order in which they are read, and draws of a stream depend on what was drawn
before, so that folders and results would be those of one compiler. Braced lists have an order.
"""
import pathlib
import re
import sys

WITH_ORDER = re.compile(r"(?:\.|->)(?:read|section|raw|next|draw)\(|\b(?:read|draw)_\w+\(")
NOT_CALLS = {"if", "for", "while", "switch", "return", "catch", "decltype", "sizeof"}
SAMPLE = ("x = f(a.read(s), b.read(s));\n"
          "g(section.section(\"key, (\"), limit,\n  keys().size.read(section));  // h(a.read(s), b.read(s))\n"
          "h(T{a.read(s), b.read(s)}, c);\nif (a.read(s) < 1) { k(draw.next(), draw.next()); }\n"
          "m([&] { return a.read(s); }, [&] { return b.read(s); });\n")


def without_words(text):
    """The same lines with no comments and empty literals."""
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"//[^\n]*", "", text)


def calls(text):
    """Line, name and arguments of each call."""
    open_ones = []
    for at, character in enumerate(text):
        if character in "([{":
            name = re.search(r"[\w>]+$", text[max(0, at - 80):at])
            open_ones.append([character, name[0] if name else "", at + 1, []])
        elif character == "," and open_ones:
            open_ones[-1][3].append(text[open_ones[-1][2]:at])
            open_ones[-1][2] = at + 1
        elif character in ")]}" and open_ones:
            kind, name, begin, arguments = open_ones.pop()
            if kind == "(" and name and name not in NOT_CALLS:
                yield text.count("\n", 0, at) + 1, name, [*arguments, text[begin:at]]


def violations(text):
    for line, name, arguments in calls(without_words(text)):
        # A function that is passed on is called later.
        found = [argument for argument in arguments
                 if WITH_ORDER.search(argument) and not argument.lstrip().startswith("[")]
        if len(found) > 1:
            yield line, name


def self_test():
    found = list(violations(SAMPLE))
    assert found == [(1, "f"), (3, "g"), (5, "k")], found


def main():
    if sys.argv[1] == "--self-test":
        self_test()
        return 0
    root = pathlib.Path(sys.argv[1])
    files = sorted(path for folder in ("include", "src") for path in (root / folder).rglob("*.?pp"))
    assert len(files) > 500, f"only {len(files)} files"
    code = 0
    for path in files:
        for line, name in violations(path.read_text(encoding="utf-8")):
            print(f"{path.relative_to(root)}:{line}: two arguments of {name}() read keys or draw numbers, "
                  "in an order that compilers choose: read them before the call")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
