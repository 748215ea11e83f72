"""Small faults that a mutator plants in C++: one operator or constant of one line at a time."""

import re

# What is found, and what is put in its place. Templates, includes, arrows and streams are spared by the pattern.
OPERATORS = [
    ("less or equal", re.compile(r"(?<= )<=(?= )"), "<"), ("less", re.compile(r"(?<= )<(?= )"), "<="),
    ("greater or equal", re.compile(r"(?<= )>=(?= )"), ">"), ("greater", re.compile(r"(?<= )>(?= )"), ">="),
    ("equal", re.compile(r"(?<= )==(?= )"), "!="), ("unequal", re.compile(r"(?<= )!=(?= )"), "=="),
    ("and", re.compile(r"(?<= )&&(?= )"), "||"), ("or", re.compile(r"(?<= )\|\|(?= )"), "&&"),
    ("plus", re.compile(r"(?<= )\+(?= )"), "-"), ("minus", re.compile(r"(?<= )-(?= )"), "+"),
    ("times", re.compile(r"(?<= )\*(?= )"), "+"), ("divided", re.compile(r"(?<= )/(?= )"), "*"),
    ("add to", re.compile(r"(?<= )\+=(?= )"), "-="), ("take from", re.compile(r"(?<= )-=(?= )"), "+="),
    ("true", re.compile(r"\btrue\b"), "false"), ("false", re.compile(r"\bfalse\b"), "true"),
    ("zero", re.compile(r"(?<=[ ({])0(?=[;,) }])"), "1"), ("one", re.compile(r"(?<=[ ({])1(?=[;,) }])"), "2"),
    ("least", re.compile(r"\bstd::min\b"), "std::max"), ("most", re.compile(r"\bstd::max\b"), "std::min"),
    ("not", re.compile(r"(?<=\()!(?=\w)"), ""),
]
# Lines that say nothing about what a run does.
SPARED = re.compile(r"^\s*(//|#|static_assert|template|using|namespace|ensure\(|class|struct|enum|friend)|"
                    r"operator|reserve\(|constexpr const char|throw |resident_bytes|_bytes\(\) const")


def code_of(line):
    """The line without strings, characters and remarks, which become blanks."""
    blank = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])*\'', lambda found: "\x00" * len(found[0]), line)
    return re.sub(r"//.*$", lambda found: "\x00" * len(found[0]), blank)


def mutants_of(text):
    """(line number, operator, the whole mutated text) of every fault that can be planted."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if SPARED.search(line):
            continue
        code = code_of(line)
        for name, pattern, replacement in OPERATORS:
            for found in pattern.finditer(code):
                changed = line[:found.start()] + replacement + line[found.end():]
                yield number + 1, name, "\n".join([*lines[:number], changed, *lines[number + 1:]])
