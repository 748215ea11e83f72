#!/usr/bin/env python3
"""The pages under results/: who made which part, where parts went, what `scripts/validate all` makes and
refuses, the figures that documents take from pages, and digests held against a program.
"""

import contextlib
import functools
import io
import re
import subprocess
import sys
import tempfile
import unittest
from concurrent import futures
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "tessera_validate"))

import catalogue  # noqa: E402
import every_page  # noqa: E402
import figures  # noqa: E402
import made  # noqa: E402
import moved  # noqa: E402
from digests import rows as digests  # noqa: E402
from digests import stated  # noqa: E402
from flit import routers  # noqa: E402
from page import beside  # noqa: E402

COMMIT, OTHER = "0123456789ab", "ba9876543210"
FOOTER = "*Made in {} s by tessera 0.1.0 ({}), MPI: none, on 2 processors (x86_64); {}.*"
HOLDS = "all bounds hold"
# Writes a part as a maker does, and ends as one does whose bound is missed, or that breaks.
MAKER = """
import sys
sys.path.insert(0, {scripts!r})
sys.path.insert(0, {tests!r})
from test_pages import FOOTER, SmallPage
import made
part, commit, folder = sys.argv[1:]
if part == "broken":
    sys.exit("error: no")
verdict = "MISSED: slow" if part == "missed" else "all bounds hold"
made.put(SmallPage("small", "Small", ("good", "missed", "broken"), folder=folder), part,
         [FOOTER.format(7, commit, verdict), ""])
sys.exit(part == "missed")
"""


@dataclass(frozen=True)
class SmallPage(catalogue.Page):
    folder: str = ""

    @property
    def path(self):
        return Path(self.folder) / f"{self.name}.md"


class WithFolder(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def write(self, name, text, mode=0o644):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return path


class PagesAsTheyStand(unittest.TestCase):
    """One page, one commit; or the head says which parts are of which."""

    def test_every_page_is_in_the_catalogue(self):
        names = {path.stem for path in (ROOT / "results").glob("*.md")} - {"README", "claims"}
        self.assertEqual(names, set(catalogue.PAGES))

    def test_heads_say_what_the_footers_say(self):
        for page in catalogue.PAGES.values():
            with self.subTest(page=page.name):
                text, blocks = page.path.read_text(encoding="utf-8"), made.read(page)
                self.assertEqual(text.splitlines()[2], made.head(page, blocks))
                self.assertEqual(text, made.text_of_page(page, blocks))
                self.assertLessEqual(set(blocks), set(page.parts))

    def test_every_part_that_is_made_has_one_footer(self):
        for page in catalogue.PAGES.values():
            for name, block in made.read(page).items():
                with self.subTest(page=page.name, part=name):
                    footers = len(made.FOOTER.findall(block))
                    self.assertEqual(footers, 0 if block.startswith(made.NOT_MADE) else 1)

    def test_no_part_is_made_by_a_tree_with_changes(self):
        for page in catalogue.PAGES.values():
            for name, block in made.read(page).items():
                self.assertNotIn("-dirty", made.made_of(block).commit, f"{page.name}/{name}")

    def test_digests_that_pages_and_documents_state_are_held(self):
        given = stated.stated()
        self.assertGreater(len(given), 50)
        self.assertEqual(list(stated.faults(given, stated.rows_of_page())), [])

    def test_the_index_names_each_part_with_its_command(self):
        text = (ROOT / "results" / "README.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| \[([\w-]+)\]\(([\w-]+)\.md\) \|.*\| `([^`]*)` \|$", text, re.MULTILINE)
        self.assertEqual(sorted(rows), sorted((part, page.name, page.command_of(part))
                                              for page in catalogue.PAGES.values() for part in page.parts))

    def test_the_page_of_claims_leads_to_parts(self):
        text = (ROOT / "results" / "claims.md").read_text(encoding="utf-8")
        places = re.findall(r"\[([\w-]+)/([\w-]+)\]\(([\w-]+)\.md\)", text)
        self.assertGreater(len(places), 40)
        for page, part, file in places:
            self.assertEqual(page, file)
            self.assertIn(part, catalogue.PAGES[page].parts)

    def test_every_part_can_be_found(self):
        for page in catalogue.PAGES.values():
            for part in set(page.parts) - set(page.scripts):
                with self.subTest(page=page.name, part=part):
                    try:
                        self.assertTrue(callable(page.sections(part)))
                    except ModuleNotFoundError as error:
                        self.assertIn(error.name, ("onnx", "numpy", "h5py", "networkx"))


class NamesThatWere(unittest.TestCase):
    """Whoever asks for a page or part that has another name now is told that."""

    def called(self, *words):
        done = subprocess.run([ROOT / "scripts" / "validate", *words], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=100, check=False)
        return done.returncode, done.stderr

    def test_a_page(self):
        code, said = self.called("palm")
        self.assertEqual(code, 2)
        self.assertIn("palm is no more: clusters is now training-clusters/measured", said)

    def test_a_part(self):
        code, said = self.called("engine", "--part", "policies")
        self.assertEqual(code, 2)
        self.assertIn("part policies of engine is now ranks/policies", said)

    def test_a_part_of_all(self):
        code, said = self.called("all", "--only", "hcsim/flows")
        self.assertEqual(code, 2)
        self.assertIn("part flows of hcsim is now flows/simgrid", said)

    def test_one_that_never_was(self):
        self.assertEqual(self.called("nothing")[0], 2)
        self.assertIn("there are one-core, idle", self.called("engine", "--part", "nothing")[1])

    def test_where_they_went_is_there_and_they_are_not(self):
        for page, parts in moved.MOVED.items():
            for part, places in parts.items():
                self.assertNotIn(part, catalogue.PAGES[page].parts if page in catalogue.PAGES else ())
                for place in places.split(" and "):
                    name, part_there = place.split("/")
                    self.assertIn(part_there, catalogue.PAGES[name].parts)

    def test_the_usage_names_all_subjects(self):
        text = (ROOT / "scripts" / "validate").read_text(encoding="utf-8")
        named = re.search(r"Subjects: ([^;]*);", text)[1]
        self.assertEqual(set(re.findall(r"[a-z-]+", named)),
                         {page.name for page in catalogue.PAGES.values() if not page.scripts})


class Beside(unittest.TestCase):
    """Runs beside each other give what they give one after the other."""

    def test_results_are_in_order(self):
        begun = []

        def call(number):
            begun.append(number)
            return 2 * number
        calls = [functools.partial(call, number) for number in range(20)]
        self.assertEqual(beside(calls), [2 * number for number in range(20)])
        self.assertEqual(begun[0], 0)

    def test_a_failure_ends_it(self):
        def fail():
            raise ValueError("no")
        with self.assertRaises(ValueError):
            beside([lambda: 1, fail, lambda: 3])

    def test_parts_of_a_page_are_not_lost(self):
        with tempfile.TemporaryDirectory() as folder:
            names = tuple(f"part{number}" for number in range(30))
            small = SmallPage("small", "Small", names, folder=folder)
            with futures.ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda name: made.put(small, name, [FOOTER.format(1, COMMIT, HOLDS)]), names))
            self.assertEqual(set(made.read(small)), set(names))
            self.assertEqual([path.name for path in Path(folder).iterdir()], ["small.md"])


class BookSim(unittest.TestCase):
    """Its routers take one iteration of an allocator, whatever its key `alloc_iters` says."""

    def test_iterations_are_those_of_the_name(self):
        row = {"vc_allocator": "islip", "sw_allocator": "islip", "alloc_iters": "3"}
        self.assertEqual(routers.allocators_of(row), "allocator: islip, allocator_iterations: 1")
        row = {**row, "vc_allocator": "islip(3)", "sw_allocator": "islip(3)", "alloc_iters": "1"}
        self.assertEqual(routers.allocators_of(row), "allocator: islip, allocator_iterations: 3")
        row = dict.fromkeys(("vc_allocator", "sw_allocator"), "separable_input_first")
        self.assertEqual(routers.allocators_of(row), "allocator: round-robin, allocator_iterations: 1")

    def test_what_has_no_like_is_refused(self):
        for names in (("islip", "islip(2)"), ("wavefront", "wavefront")):
            with self.assertRaises((KeyError, ValueError)):
                routers.allocators_of(dict(zip(("vc_allocator", "sw_allocator"), names)))


class Heads(unittest.TestCase):
    PAGE = catalogue.Page("flows", "", ("a", "b"))

    def head(self, **commits):
        return made.head(self.PAGE, {part: FOOTER.format(1, commit, HOLDS)
                                     for part, commit in commits.items()})

    def test_of_one_commit(self):
        self.assertEqual(self.head(a=COMMIT, b=COMMIT),
                         f"Made by `scripts/validate flows`, every part by the program of commit {COMMIT}.")

    def test_of_several(self):
        self.assertIn(f"commit {COMMIT} (a); commit {OTHER}-dirty (b)",
                      self.head(a=COMMIT, b=f"{OTHER}-dirty"))
        self.assertIn("not made yet: b", self.head(a=COMMIT))

    def test_footers_are_read_as_they_are_written(self):
        line = made.footer(12.4, f"tessera 0.1.0 ({COMMIT}), MPI: none", ["too slow", "too large"])
        self.assertEqual(made.made_of(line), made.Made(COMMIT, 12, "MISSED: too slow; too large"))
        self.assertTrue(made.made_of(line).misses)


class EveryPage(WithFolder):
    def setUp(self):
        super().setUp()
        self.page = SmallPage("small", "Small", ("good", "missed", "broken"), folder=str(self.folder))
        self.maker = self.write("maker.py", MAKER.format(
            scripts=str(ROOT / "scripts" / "tessera_validate"), tests=str(ROOT / "tests" / "scripts")))
        stated = f"tessera 0.1.0 ({COMMIT}), MPI: none"
        self.program = self.write("tessera", f"#!/bin/sh\necho '{stated}'\n", 0o755)

    tree = None  # what the commit of the tree is from call to call, where not the same

    def call(self, *words, commit=COMMIT):
        """What it ends with, and prints."""
        def command(_, part, *__):
            return [sys.executable, self.maker, part, COMMIT, self.folder]
        out = io.StringIO()
        with mock.patch.multiple(every_page, PAGES={"small": self.page}, command_of=command,
                                 commit_of_tree=self.tree or (lambda: commit)), \
                mock.patch.object(figures, "DOCUMENTS", ()), contextlib.redirect_stdout(out):
            try:
                code = every_page.main([*words, "--program", str(self.program)])
            except SystemExit as stopped:
                return stopped.code, out.getvalue()
        return code, out.getvalue()

    def test_one_table_at_the_end_says_what_was_missed_and_did_not_run(self):
        code, text = self.call()
        self.assertEqual(code, 1)
        self.assertRegex(text, rf"small/good +{COMMIT} +this +7 s +all bounds hold")
        self.assertRegex(text, rf"small/missed +{COMMIT} +this +7 s +MISSED: slow")
        self.assertRegex(text, r"small/broken +not made +did not run to its end")
        self.assertIn("1 of 3 parts", text)
        self.assertIn("not: small/missed, small/broken", text)

    def test_what_the_commit_has_made_is_left(self):
        self.call()
        code, text = self.call()
        self.assertEqual(code, 1)
        self.assertNotIn("== small/good", text)
        self.assertNotIn("== small/missed", text)
        self.assertIn("== small/broken", text)
        self.assertIn("== small/good", self.call("--again")[1])

    def test_a_choice_of_parts(self):
        code, text = self.call("--only", "small/good")
        self.assertEqual(code, 0)
        self.assertIn("1 of 1 parts", text)
        self.assertEqual(self.call("--only", "small/none")[0], 2)
        text = self.call("--at-most", "10", "--again")[1]
        self.assertIn("== small/good", text)
        self.assertNotIn("small/broken", text)  # it was never made: who knows how long it takes
        self.assertNotIn("== small/good", self.call("--at-most", "6", "--again")[1])

    def test_what_is_missing_is_shown_and_how_long_it_will_take(self):
        code, text = self.call("--missing")
        self.assertEqual(code, 1)
        self.assertIn("3 parts left, about 0 s and 3 of unknown length", text)
        self.call()
        code, text = self.call("--missing")
        self.assertEqual(code, 1)
        self.assertNotIn("small/good", text)
        self.assertRegex(text, "small/broken +not made")
        code, text = self.call("--missing", "--only", "small/good")
        self.assertEqual(code, 0)
        self.assertIn(f"this commit: {COMMIT}; 0 parts left", text)
        # Of another commit all are, and their last times tell how long.
        code, text = self.call("--missing", "--only", "small/good", "--only", "small/missed", commit=OTHER)
        self.assertEqual(code, 1)
        self.assertIn("2 parts left, about 14 s\n", text)

    def test_each_part_says_what_is_left(self):
        text = self.call()[1]
        self.assertIn("== small/good (3 parts left, about 0 s and 3 of unknown length)", text)
        self.assertIn("== small/broken (1 parts left", text)

    def test_resume_goes_on_with_what_this_commit_has_begun(self):
        self.assertIn("has made no part", str(self.call("--resume")[0]))
        self.call("--only", "small/good")
        code, text = self.call("--resume")
        self.assertEqual(code, 1)
        self.assertNotIn("== small/good", text)
        self.assertIn("== small/missed", text)
        self.assertIn(f"others: {COMMIT} 2", str(self.call("--resume", commit=OTHER)[0]))

    def test_parts_that_hold_counts_go_beside_each_other(self):
        self.page = SmallPage("small", "Small", ("good", "missed", "broken"), folder=str(self.folder),
                              counted=("missed", "broken"))
        code, text = self.call("--jobs", "2")
        self.assertEqual(code, 1)
        self.assertRegex(text, rf"small/good +{COMMIT} +this +7 s +all bounds hold")
        self.assertRegex(text, rf"small/missed +{COMMIT} +this +7 s +MISSED: slow")
        self.assertRegex(text, r"small/broken +not made +did not run to its end")
        self.assertIn("== end of small/broken\nerror: no", text)
        self.assertLess(text.index("== end of small/missed"), text.index("== small/good"))
        self.assertEqual(self.call("--jobs", "0")[0], 2)

    def test_what_counts_is_a_part(self):
        for page in catalogue.PAGES.values():
            self.assertLessEqual(set(page.counted), set(page.parts) - set(page.scripts))

    def test_no_part_begins_when_time_is_up(self):
        code, text = self.call("--minutes", "0.0000001")
        self.assertEqual(code, 1)
        self.assertIn("time is up before small/good", text)

    def test_a_tree_with_changes_is_refused(self):
        code, _ = self.call(commit=f"{COMMIT}-dirty")
        self.assertIn("the tree has changes", str(code))
        code, _ = self.call("--reduced", "--only", "small/good", commit=f"{COMMIT}-dirty")
        self.assertEqual(code, 0)

    def test_a_tree_that_changes_meanwhile_ends_it(self):
        commits = iter((COMMIT, COMMIT, OTHER))
        with mock.patch.object(self, "tree", lambda: next(commits)):
            code, text = self.call("--only", "small/good", "--only", "small/missed")
        self.assertEqual(code, 1)
        self.assertIn(f"the tree is no longer {COMMIT}", text)
        self.assertFalse("== small/missed" in text)

    def test_a_program_of_another_commit_is_refused_but_for_a_trial(self):
        code, _ = self.call(commit=OTHER)
        self.assertIn(f"is of commit {COMMIT}, the tree of {OTHER}", str(code))
        code, text = self.call("--reduced", "--only", "small/good", commit=OTHER)
        self.assertEqual(code, 0, text)

    def test_a_list_makes_nothing(self):
        code, _ = self.call("--list", commit=OTHER)
        self.assertEqual(code, 0)
        self.assertFalse(self.page.path.exists())
        self.call("--only", "small/good")
        self.assertRegex(self.call("--list", commit=OTHER)[1], rf"small/good +{COMMIT} +another +7 s")


class Figures(WithFolder):
    PAGE = ("# Page\n\n| case | one rank [s] |\n|---|---|\n| wafer | 847.447 (≤ 900: holds) |\n"
            "| many | 8855972067 |\n\n## Errors\n\nMean error 3.68 (≤ 10.00: holds).\n")

    def faults(self, text):
        self.write("page.md", self.PAGE)
        document = self.write("README.md", text)
        return [fault for _, _, fault in figures.compare(document, text) if fault]

    def test_they_are_those_of_the_page(self):
        self.assertEqual(self.faults('[847 s](page.md "wafer: one rank [s]"), '
                                     '[8.86 · 10⁹ events](page.md "many: one rank [s]"), '
                                     '[3.7 %](page.md "Errors: Mean error")'), [])

    def test_a_stale_one_is_named_with_what_it_has_to_be(self):
        self.assertEqual(self.faults('[850 s](page.md "wafer: one rank [s]")'),
                         ["README.md: '850 s': page.md says '847 s' (wafer, one rank [s])"])

    def test_one_without_a_row_is_named(self):
        for mark in ("none: one rank [s]", "wafer: two ranks [s]"):
            self.assertIn("has no one number", self.faults(f'[850 s](page.md "{mark}")')[0])

    def test_they_are_put_in(self):
        self.write("page.md", self.PAGE)
        path = self.write("README.md", 'In [850 s](page.md "wafer: one rank [s]") and [9 s](page.md "x: y").')
        with mock.patch.object(figures, "DOCUMENTS", ("README.md",)), \
                contextlib.redirect_stdout(io.StringIO()):
            left = figures.rewrite(self.folder)
        self.assertEqual(path.read_text(encoding="utf-8"),
                         'In [847 s](page.md "wafer: one rank [s]") and [9 s](page.md "x: y").')
        self.assertEqual(len(left), 1)


class Digests(WithFolder):
    EXPERIMENT = "configs/experiments/quickstart.yaml"
    # Stands for the program: every digest is that of zeros.
    PROGRAM = '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nmkdir -p "$2"\n' \
              f'echo \'{{"result_digest": "{32 * "0"}"}}\' > "$2/summary.json"\n'

    def stale(self, rows):
        page = SmallPage("small", "Small", ("cheap",), folder=str(self.folder))
        made.put(page, "cheap", [f"| {name} | 1, 2 | {32 * digit} | 0.1 |" for name, digit in rows])
        program = self.write("tessera", self.PROGRAM, 0o755)
        with mock.patch.object(digests, "experiments", lambda _: [(self.EXPERIMENT, (1, 2))]), \
                contextlib.redirect_stdout(io.StringIO()):
            return list(digests.stale(page, "cheap", str(program), self.folder))

    def test_they_agree(self):
        self.assertEqual(self.stale([(self.EXPERIMENT, "0")]), [])

    def test_a_stale_one_is_named_with_the_command(self):
        fault, = self.stale([(self.EXPERIMENT, "1")])
        self.assertIn(f"{self.EXPERIMENT}: the digest is {32 * '0'}", fault)
        self.assertIn("scripts/validate digests --part cheap --update", fault)

    def test_rows_are_those_of_the_experiments_that_there_are(self):
        faults = self.stale([("gone.yaml", "0")])
        self.assertEqual([fault.split(" in ")[0] for fault in faults],
                         [f"{self.EXPERIMENT}: no row", "gone.yaml: no such experiment"])


if __name__ == "__main__":
    unittest.main()
