"""Small faults that a mutator plants in C++: one operator or constant of one line at a time."""

import hashlib
import re
from collections import Counter
from dataclasses import dataclass

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
                    r"operator|reserve\(|constexpr const char|throw |resident_bytes|_bytes\(\) const|"
                    r"\) (const )?= 0;$")


@dataclass(frozen=True)
class Fault:
    """One place of a file, and what is put there. Its name holds while the line stays, wherever it moves."""
    file: str
    line: int
    operator: str
    code: str  # the line, without what is before it
    number: int  # among those with the same operator in lines that read the same
    begin: int
    end: int
    replacement: str

    @property
    def name(self):
        return f"{self.file} | {self.operator} | {self.number} | {self.code}"

    def place_in_draw(self, seed):
        """Faults are tried in this order: at random, but the same whatever becomes of other lines."""
        return hashlib.sha256(f"{seed}:{self.name}".encode()).digest()

    def is_in(self, text):
        """Whether its line is where it was when faults were read."""
        lines = text.split("\n")
        return self.line <= len(lines) and lines[self.line - 1].strip() == self.code

    def planted_in(self, text):
        lines = text.split("\n")
        line = lines[self.line - 1]
        lines[self.line - 1] = line[:self.begin] + self.replacement + line[self.end:]
        return "\n".join(lines)


def code_of(line):
    """The line without strings, characters and remarks, which become blanks."""
    blank = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])*\'', lambda found: "\x00" * len(found[0]), line)
    return re.sub(r"//.*$", lambda found: "\x00" * len(found[0]), blank)


def faults_of(file, text):
    """Every fault that can be planted in a file with this text."""
    seen = Counter()
    for number, line in enumerate(text.split("\n"), start=1):
        if SPARED.search(line):
            continue
        code = code_of(line)
        for operator, pattern, replacement in OPERATORS:
            for found in pattern.finditer(code):
                same = (operator, line.strip())
                yield Fault(file, number, operator, line.strip(), seen[same], found.start(), found.end(), replacement)
                seen[same] += 1
