#!/usr/bin/env python3
"""The commit that a program names (cmake/git_hash.cmake), which pages are made by."""

import subprocess
import tempfile
import unittest
from pathlib import Path

from test_pages import ROOT, WithFolder


class CommitOfTheTree(WithFolder):
    """Documents and pages are no reason for another program."""

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", self.folder, *words],
                       check=True, capture_output=True)

    def stated(self):
        with tempfile.TemporaryDirectory() as beside_it:
            output = Path(beside_it) / "out.inc"
            subprocess.run(["cmake", f"-DSOURCE_DIR={self.folder}", f"-DOUTPUT={output}", "-P",
                            ROOT / "cmake" / "git_hash.cmake"], check=True)
            return output.read_text(encoding="utf-8")

    def test_it_is_the_last_that_changed_the_program(self):
        self.git("init")
        (self.folder / "results").mkdir()
        self.write("a.cpp", "1")
        self.write("README.md", "1")
        self.write("results/a.svg", "1")
        self.git("add", ".")
        self.git("commit", "-m", "one")
        first = self.stated()
        self.assertRegex(first, '^"[0-9a-f]{12}"\n$')
        self.write("README.md", "2")
        self.write("results/a.svg", "2")
        self.assertEqual(self.stated(), first)
        self.git("commit", "-a", "-m", "two")
        self.assertEqual(self.stated(), first)
        self.write("a.cpp", "2")
        self.assertEqual(self.stated(), first.replace('"\n', '-dirty"\n'))
        self.git("commit", "-a", "-m", "three")
        self.assertRegex(self.stated(), '^"[0-9a-f]{12}"\n$')
        self.assertNotEqual(self.stated(), first)

    def test_a_file_that_git_does_not_have_is_a_change(self):
        self.git("init")
        (self.folder / "results").mkdir()
        self.write(".gitignore", "/ignored.hpp\n")
        self.write("a.cpp", "1")
        self.git("add", ".")
        self.git("commit", "-m", "one")
        first = self.stated()
        self.write("b.md", "1")
        self.write("results/b.svg", "1")
        self.write("ignored.hpp", "1")
        self.assertEqual(self.stated(), first)
        self.write("b.hpp", "1")
        self.assertEqual(self.stated(), first.replace('"\n', '-dirty"\n'))

    def test_tests_that_no_page_runs_are_no_part_of_it(self):
        self.git("init")
        for folder in ("unit", "fuzz/corpus", "parallel"):
            (self.folder / "tests" / folder).mkdir(parents=True)
        self.write("a.cpp", "1")
        self.git("add", ".")
        self.git("commit", "-m", "one")
        first = self.stated()
        self.write("tests/unit/a.cpp", "1")
        self.write("tests/fuzz/corpus/a", "1")
        self.assertEqual(self.stated(), first)
        self.write("tests/parallel/a.yaml", "1")
        self.assertEqual(self.stated(), first.replace('"\n', '-dirty"\n'))

    def test_without_git_it_is_not_known(self):
        self.write("a.cpp", "1")
        self.assertEqual(self.stated(), '"unknown"\n')


if __name__ == "__main__":
    unittest.main()
