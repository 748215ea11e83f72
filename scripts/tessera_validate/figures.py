"""Figures that documents state, held to the tables of the pages that they come from.

A document marks a figure as a link to its page whose title names a row, by its first cell, and a
column of a table there, or a heading and the first words of a line below it:

    [847 s](results/ranks.md "wafer_training: one rank [s]")
    [3.7 %](results/palm.md "Megatron-LM, SC'21, table 1: Mean absolute error")

The first number of the link's text must be that of the cell, rounded to the digits that the text has;
`8.86 · 10⁹` counts in thousands of millions.
"""

import re
import sys
from decimal import ROUND_HALF_EVEN, Decimal

from page import ROOT

DOCUMENTS = ("README.md", "results/README.md", "results/claims.md", "docs/**/*.md")
MARK = re.compile(r'\[([^\]]*)\]\(((?:[\w./-]*/)?[\w-]+\.md) "([^"\n]+): ([^":\n]+)"\)')
NUMBER = re.compile(r"[+-]?\d+(?:\.(\d+))?")
POWER = re.compile(r"( · 10)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def found_in(text, row, column):
    """The cells of all tables of the page with these names, and what follows them in lines."""
    head, heading, found = None, "", []
    for line in text.splitlines():
        if not line.startswith("|"):
            head = None
            heading = line.lstrip("# ") if line.startswith("#") else heading
            if heading == row and line.startswith(column):
                found.append(line[len(column):])
        elif head is None:
            head = cells(line)
        elif column in head and cells(line)[0] == row:
            found.append(cells(line)[head.index(column)])
    return found


def rounded(text, cell):
    """The text with the number of the cell in place of its own, to as many digits."""
    number, power = NUMBER.search(text), POWER.search(text)
    scale = Decimal(10) ** int(power[2].translate(RAISED)) if power else Decimal(1)
    digits = Decimal(1).scaleb(-len(number[1] or ""))
    value = (Decimal(NUMBER.search(cell)[0]) / scale).quantize(digits, ROUND_HALF_EVEN)
    sign = "+" if number[0].startswith("+") and value >= 0 else ""
    return text[:number.start()] + sign + str(value) + text[number.end():]


def compare(document, text):
    """(a mark, what it has to be or None, what is wrong) of each figure in a document."""
    for mark in MARK.finditer(text):
        said, page, row, column = mark.groups()
        where = f"{document.name}: '{said}'"
        path = document.parent / page
        found = set(found_in(path.read_text(encoding="utf-8"), row, column)) if path.exists() else set()
        if len(found) != 1 or not all(NUMBER.search(each) for each in (said, *found)):
            yield mark, None, f"{where}: {page} has no one number in row '{row}', column '{column}'"
            continue
        due = rounded(said, found.pop())
        yield mark, due, "" if due == said else f"{where}: {page} says '{due}' ({row}, {column})"


def documents(root):
    return [document for names in DOCUMENTS for document in sorted(root.glob(names))]


def faults(root=ROOT):
    """What documents say and pages do not."""
    for document in documents(root):
        for _, _, fault in compare(document, document.read_text(encoding="utf-8")):
            if fault:
                yield fault


def rewrite(root=ROOT):
    """Puts the figures of the pages into the documents; what cannot be put."""
    left = []
    for document in documents(root):
        text = document.read_text(encoding="utf-8")
        for mark, due, fault in list(compare(document, text)):
            if fault and due is None:
                left.append(f"error: {fault}")
            elif fault:
                print(f"changed {fault}", flush=True)
                text = text.replace(mark[0], f"[{due}]{mark[0][len(mark[1]) + 2:]}")
        document.write_text(text, encoding="utf-8")
    return left


if __name__ == "__main__":
    wrong = list(faults())
    print("\n".join(wrong) or "the documents say what the pages say")
    sys.exit(1 if wrong else 0)
