#!/usr/bin/env python3
"""The site that scripts/site makes: links of staged pages, notebooks, and what is found wrong; and blocks of
commands in pages, which fail when they should."""

import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts" / "tessera_site"), str(ROOT / "tests" / "docs")]

import blocks  # noqa: E402
import faults  # noqa: E402
import site_maker  # noqa: E402
import stage  # noqa: E402

SETTINGS = "nav:\n  - Start: index.md\n  - Flow: methods/flow.md\n"


class WithFolder(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


class Staging(WithFolder):
    def relinked(self, text, page="docs/manual/machine.md"):
        for name in ("src/a.cpp", "results/npu.md", "docs/tutorials/one.ipynb", "docs/index.md", page):
            self.write(name, "")
        return stage.relinked(text, Path(page), self.root)

    def test_pages_of_the_site_are_linked(self):
        self.assertEqual(self.relinked('[3](../../results/npu.md "a: b")'), '[3](../results/npu.md "a: b")')
        self.assertEqual(self.relinked("![x](../index.md#run)"), "![x](../index.md#run)")
        self.assertEqual(self.relinked("[n](../tutorials/one.ipynb)"), "[n](../tutorials/one.notebook.md)")

    def test_files_of_the_tree_become_their_path(self):
        self.assertEqual(self.relinked("[a.cpp](../../src/a.cpp)"), "`src/a.cpp`")
        self.assertEqual(self.relinked("[how](../../src/a.cpp)"), "how (`src/a.cpp`)")

    def test_code_and_other_machines_are_left_alone(self):
        for text in ("`[a](../../src/a.cpp)`", "```cpp\n[](config::Section&)\n```", "[x](https://a.b/c.md)"):
            self.assertEqual(self.relinked(text), text)

    def test_a_notebook_is_a_page(self):
        cells = [{"cell_type": "markdown", "source": ["# One"]}, {"cell_type": "code", "source": ["x = 1"]}]
        page = stage.page_of(json.dumps({"cells": cells}), "one.ipynb")
        self.assertTrue(page.startswith("# One\n"))
        self.assertIn("```python\nx = 1\n```", page)


class Faults(WithFolder):
    def faults(self, body):
        self.write("other.html", '<h1 id="here">x</h1>')
        self.write("index.html", body)
        return faults.faults(self.root)

    def test_links_and_their_places(self):
        self.assertEqual(self.faults('<a href="other.html#here">x</a>'), [])
        self.assertIn("no such place: none.html", self.faults('<a href="none.html">x</a>')[0])
        self.assertIn("no such place: other.html#there", self.faults('<a href="other.html#there">x</a>')[0])

    def test_nothing_is_loaded_from_elsewhere(self):
        self.assertEqual(self.faults('<a href="https://a.b/">x</a><script src="a.js"></script>'), [])
        self.assertIn("loads https://a.b/x.js", self.faults('<script src="https://a.b/x.js"></script>')[0])

    @unittest.skipUnless(shutil.which("node") and (stage.KATEX / "katex.min.js").exists(), "no node or no KaTeX")
    def test_formulas_are_read(self):
        self.assertEqual(self.faults('<span class="arithmatex">\\(a_i\\)</span>'), [])
        self.assertEqual(len(self.faults('<span class="arithmatex">\\(\\frac{a\\)</span>')), 1)

    def test_pages_outside_the_navigation(self):
        settings = self.write("mkdocs.yml", SETTINGS)
        for name in ("index.md", "methods/flow.md", "methods/lost.md"):
            self.write(f"pages/{name}", "")
        self.assertEqual(faults.outside_navigation(settings, self.root / "pages"),
                         ["methods/lost.md is not in the navigation of mkdocs.yml"])


class Versions(WithFolder):
    def test_all_that_were_built_are_listed(self):
        for name in ("0.9.0", "0.10.0", "notes"):
            self.write(f"{name}/index.html", "")
        for name in ("0.9.0", "0.10.0"):
            self.write(f"{name}/sitemap.xml", "")
        site_maker.list_versions(self.root)
        listed = json.loads((self.root / "versions.json").read_text(encoding="utf-8"))
        self.assertEqual([each["version"] for each in listed], ["0.10.0", "0.9.0"])
        self.assertIn('url=0.10.0/"', (self.root / "index.html").read_text(encoding="utf-8"))


class Blocks(WithFolder):
    def run_page(self, text):
        return blocks.run_page(self.write("docs/page.md", text), Path("/bin/true"), self.root)

    def test_what_fails_is_found(self):
        self.assertEqual(self.run_page("```bash\ntessera\n```\n"), [])
        self.assertIn("ends with 1", self.run_page("```bash\nfalse\ntrue\n```\n")[0])
        self.assertIn("ends with 1", self.run_page("```python\nraise ValueError\n```\n")[0])

    def test_files_and_what_is_printed(self):
        text = '```yaml title="a.yaml"\nx: 1\n```\n\n```bash\ncat a.yaml\n```\n\n```text title="prints"\n%s\n```\n'
        self.assertEqual(self.run_page(text % "x:  1"), [])
        self.assertIn("not printed: x: 2", self.run_page(text % "x: 2")[0])

    def test_what_is_not_run_says_so(self):
        self.assertEqual(self.run_page("*Not run by the tests: it needs Slurm.*\n\n```bash\nfalse\n```\n"), [])
        self.assertNotEqual(self.run_page("Not run by the tests: so.\n\n```bash\nfalse\n```\n"), [])

    def test_blocks_have_a_form(self):
        self.write("README.md", "Text\n\n```bash\ntrue\n```\n")
        self.write("docs/good.md", "Text\n\n```bash\ntrue\n```\n")
        self.assertEqual(list(blocks.form(self.root)), [])
        for text in ("Text\n\n    tessera run\n", "```\ntessera run\n```\n", "```sh\ntessera run\n```\n"):
            self.write("docs/bad.md", text)
            self.assertEqual(len(list(blocks.form(self.root))), 1, text)


if __name__ == "__main__":
    unittest.main()
