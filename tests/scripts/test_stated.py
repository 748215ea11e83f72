#!/usr/bin/env python3
"""Digests that pages and documents state, held against results/digests.md or a program; and who may make a part."""

import contextlib
import io
import sys
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "tessera_validate"))
sys.path.insert(0, str(ROOT / "tests" / "scripts"))

import catalogue  # noqa: E402
import commit  # noqa: E402
import made  # noqa: E402
import parts  # noqa: E402
from digests import stated  # noqa: E402
from page import Runner  # noqa: E402
from test_pages import COMMIT, FOOTER, HOLDS, OTHER, SmallPage, WithFolder  # noqa: E402

ONE, TWO = 32 * "1", 32 * "2"
QUICKSTART, WAFER = "configs/experiments/quickstart.yaml", "configs/experiments/full_wafer.yaml"
KNOWN = {QUICKSTART: ONE, WAFER: TWO}
# Stands for the program: every digest is that of ones.
PROGRAM = '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nmkdir -p "$2"\n' \
          f'echo \'{{"result_digest": "{ONE}"}}\' > "$2/summary.json"\n'


def on_page(*lines, part="small"):
    return stated.stated_in("results/ranks.md", "\n".join((f"<!-- part {part} -->", *lines)))


def faults(*lines):
    return list(stated.faults(on_page(*lines), KNOWN))


class OfExperiments(unittest.TestCase):
    """What results/digests.md has a row of."""

    def test_by_path_and_by_name(self):
        self.assertEqual(faults(f"| `{QUICKSTART}` | 1, 2 | `{ONE}` |", f"| full_wafer | {TWO} |"), [])
        fault, = faults(f"| quickstart | {TWO} |")
        self.assertIn(f"results/ranks.md:2: {TWO} for {QUICKSTART}, where results/digests.md has {ONE}", fault)
        self.assertIn("scripts/validate ranks --part small --update", fault)

    def test_by_what_the_part_names_last_before(self):
        rows = f"`{WAFER}`, and `{QUICKSTART}`:", "", "| ranks | digest |", "|---|---|", "| 1 | `{}` |"
        self.assertEqual(faults(*rows[:-1], rows[-1].format(ONE)), [])
        self.assertEqual(len(faults(*rows[:-1], rows[-1].format(TWO))), 1)
        # What another part names does not count.
        self.assertIn("no experiment is named", faults(*rows[:-1], "<!-- part b -->", rows[-1].format(ONE))[0])

    def test_each_of_a_row(self):
        self.assertEqual(len(faults(f"| `{QUICKSTART}` | `{ONE}`; `{TWO}`: holds |")), 1)

    def test_parts_that_say_they_are_out_of_date(self):
        old = "*Out of date: made before the wafer changed.*"
        self.assertEqual(faults(f"| `{QUICKSTART}` | `{ONE}` |", f"| full_wafer | {ONE} |", old), [])
        self.assertEqual(len(faults(old, "<!-- part b -->", f"| full_wafer | {ONE} |")), 1)
        fault, = faults(f"| full_wafer | {TWO} |", old)
        self.assertIn("says that it is out of date, and its digests are those", fault)

    def test_the_first_digits(self):
        self.assertEqual(faults(f"| `{QUICKSTART}` | `11111111…` | `11111111…` (holds) |"), [])
        self.assertEqual(len(faults(f"| `{QUICKSTART}` | `11111111…` | `11111112…` (holds) |")), 1)

    def test_the_table_of_a_run(self):
        text = f"experiment      quickstart\ndigest          {TWO}\n"
        fault, = stated.faults(stated.stated_in("README.md", text), KNOWN)
        self.assertIn(f"README.md:2: {TWO} for {QUICKSTART}", fault)

    def test_what_stands_in_place_of_a_digest(self):
        for cell in (ONE[1:], "", "none"):
            self.assertEqual(len(faults("| experiment | digest |", "|---|---|", f"| quickstart | {cell} |")), 1, cell)
        self.assertEqual(len(faults(f"`{QUICKSTART}`", "| figure | ours |", "|---|---|", f"| digest | {ONE[1:]} |")), 1)

    def test_what_nothing_holds(self):
        self.assertIn("no experiment is named", faults(f"| GPT-3 | `{ONE}` |")[0])
        self.assertIn("has no row of configs/experiments/serving.yaml", faults(f"| serving | `{ONE}` |")[0])


class OfRuns(WithFolder):
    """What has no row is run."""

    def setUp(self):
        super().setUp()
        self.runner = Runner(str(self.write("tessera", PROGRAM, 0o755)), self.folder)

    def quietly(self, make):
        with contextlib.redirect_stdout(io.StringIO()):
            return list(make())

    def test_other_settings(self):
        given = on_page(*(f"| quickstart | --set a.b=1 --set c.d=2 | {digest} |" for digest in (ONE, TWO)))
        self.assertEqual({one.settings for one in given}, {("a.b=1", "c.d=2")})
        self.assertEqual(list(stated.faults(given, KNOWN)), [])
        fault, = self.quietly(lambda: stated.with_settings(given, "cheap", self.runner))
        self.assertIn(f"results/ranks.md:3: quickstart: {TWO}, and the program gives {ONE}", fault)
        self.assertEqual(self.quietly(lambda: stated.with_settings(given, "long", self.runner)), [])

    def test_what_a_part_makes_itself(self):
        given = on_page(f"| GPT-3, `deadline` | `{ONE}` |", f"| BERT | `{TWO}` |", f"| gone | `{ONE}` |")
        workloads = [("GPT-3, `deadline`", "a.yaml", ()), ("BERT", "b.yaml", ("--set", "a.b=1"))]
        stale, gone = self.quietly(lambda: stated.of_workloads(given, workloads, self.runner))
        self.assertIn(f"results/ranks.md:3: BERT: {TWO}, and the program gives {ONE}", stale)
        self.assertIn("its part makes no 'gone'", gone)

    def test_parts_that_make_their_own_say_what(self):
        for (page, part), held in stated.OWN.items():
            self.assertIn(held, (stated.ONNX, *catalogue.PAGES["digests"].parts))
            self.assertTrue(any((one.page, one.part) == (page, part) for one in stated.stated()))
            with contextlib.suppress(ModuleNotFoundError):
                self.assertTrue(callable(catalogue.PAGES[page].module(part).workloads))


class WhoMakesAPart(WithFolder):
    """A commit, which anybody can look up."""

    def setUp(self):
        super().setUp()
        self.page = SmallPage("small", "Small", ("good",), folder=str(self.folder))
        made.put(self.page, "good", [FOOTER.format(1, OTHER, HOLDS)])

    def call(self, *words, tree=COMMIT, program=COMMIT):
        """What it ends with, and prints."""
        path = self.write("tessera", f"#!/bin/sh\necho 'tessera 0.1.0 ({program}), MPI: none'\n", 0o755)
        out = io.StringIO()
        with mock.patch.object(commit, "commit_of_tree", lambda: tree), contextlib.redirect_stdout(out), \
                mock.patch.object(SmallPage, "sections", lambda *_: lambda report, *_: report.say("made")), \
                mock.patch.object(parts, "options_of", lambda page, words: options(page, words, path)):
            try:
                return parts.make_page(self.page, words), out.getvalue()
            except SystemExit as stopped:
                return stopped.code, out.getvalue()

    def maker(self):
        return made.made_of(made.read(self.page)["good"]).commit

    def test_a_commit(self):
        self.assertEqual(self.call("--part", "good", "--update")[0], 0)
        self.assertEqual(self.maker(), COMMIT)

    def test_no_tree_with_changes(self):
        for words in (("--part", "good", "--update"), ()):
            code, text = self.call(*words, tree=f"{COMMIT}-dirty")
            self.assertIn("the tree has changes", str(code))
            self.assertEqual(text, "")
        self.assertEqual(self.maker(), OTHER)

    def test_no_other_program(self):
        for program in (f"{COMMIT}-dirty", OTHER):
            code, _ = self.call("--part", "good", "--update", program=program)
            self.assertIn(f"is of commit {program}, the tree of {COMMIT}", str(code))
        self.assertEqual(self.maker(), OTHER)

    def test_a_trial_prints(self):
        for words in (("--part", "good"), ("--part", "good", "--reduced")):
            code, text = self.call(*words, tree=f"{COMMIT}-dirty", program=f"{COMMIT}-dirty")
            self.assertEqual(code, 0)
            self.assertIn(f"({COMMIT}-dirty)", text)
        self.assertEqual(self.maker(), OTHER)

    def test_no_maker_puts_what_a_tree_with_changes_made(self):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            made.put(self.page, "good", ["a figure", FOOTER.format(1, f"{COMMIT}-dirty", HOLDS)])
        self.assertIn("small.md is as it was", err.getvalue())
        self.assertIn("a figure", out.getvalue())
        self.assertEqual(self.maker(), OTHER)


def options(page, words, program):
    """As parts.options_of, of a page that is not below the root."""
    with mock.patch.object(parts, "DESCRIPTION", ""), mock.patch.object(parts, "ROOT", page.path.parent):
        return OPTIONS(page, (*words, "--program", str(program)))


OPTIONS = parts.options_of


if __name__ == "__main__":
    unittest.main()
