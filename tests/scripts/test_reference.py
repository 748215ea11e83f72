#!/usr/bin/env python3
"""Pages of docs/reference/: rows of keys, and what is said of stale pages."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "tessera_reference"))

import pages  # noqa: E402

WINDOW = {"name": "window", "type": "size", "unit": "B", "default": "4 KiB", "low": "1 B",
          "help": "bytes of a flow | under way", "source": "src/flow.cpp"}
LINK = {"name": "links[].to", "type": "text", "without": "as the topology says", "required": True,
        "names": ["a", "b"], "cost": True, "help": "its other end"}
LISTED = {"run": {"run": {"help": "a run", "parameters": [WINDOW, LINK]}, "none": {"parameters": []}}}


class Pages(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        with mock.patch.dict(pages.PLACES, {"run": "In a file."}, clear=True):
            self.made = pages.pages_of(LISTED)

    def test_a_row_has_all_of_a_key(self):
        text = self.made["run.md"]
        self.assertIn("| `window` | size | B | `4 KiB` | at least 1 B |  | bytes of a flow \\| under way | "
                      "[flow.cpp](../../src/flow.cpp) |", text)
        self.assertIn("| `links[].to` | text |  | as the topology says | `a`, `b` | yes | *cost*: its other "
                      "end |  |", text)

    def test_parts_without_keys_are_rows(self):
        self.assertIn("| `none` |  |", self.made["run.md"])

    def test_pages_as_they_are_written_agree(self):
        pages.write(self.made, self.root)
        self.assertEqual(list(pages.faults(self.made, self.root)), [])

    def test_stale_missing_and_further_pages_are_named(self):
        pages.write(self.made, self.root)
        folder = self.root / "docs" / "reference"
        page = folder / "run.md"
        page.write_text(page.read_text(encoding="utf-8").replace("4 KiB", "8 KiB"), encoding="utf-8")
        (folder / "README.md").unlink()
        (folder / "gone.md").write_text("", encoding="utf-8")
        missing, stale, further = pages.faults(self.made, self.root)
        self.assertIn("README.md is missing", missing)
        self.assertRegex(stale, r"run\.md, line \d+: .*8 KiB.*, the program says .*4 KiB")
        self.assertIn("gone.md: there is no such kind", further)

    def test_a_kind_without_its_place_is_refused(self):
        with mock.patch.dict(pages.PLACES, {}, clear=True), self.assertRaisesRegex(SystemExit, "differ: run"):
            pages.pages_of(LISTED)


if __name__ == "__main__":
    unittest.main()
