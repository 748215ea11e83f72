"""scripts/editor: a schema for every file, and settings that keep what was there."""

import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TESSERA = sys.argv.pop()


def editor(folder):
    return subprocess.run([REPOSITORY / "scripts" / "editor", "--program", TESSERA, "--folder", folder], check=False,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C.UTF-8"})


class Editor(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="tessera editor ")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.settings = self.folder / ".vscode" / "settings.json"

    def test_every_file_has_one_schema(self):
        done = editor(self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        table = json.loads(self.settings.read_text(encoding="utf-8"))["yaml.schemas"]
        for schema in table:
            self.assertEqual(json.loads((self.folder / schema).read_text(encoding="utf-8"))["type"], "object", schema)
        for top in ("configs", "workloads"):
            for path in sorted((REPOSITORY / top).rglob("*.yaml")):
                name = str(path.relative_to(REPOSITORY))
                self.assertEqual(sum(fnmatch.fnmatch(name, files) for files in table.values()), 1, name)

    def test_every_file_names_its_schema(self):
        """Without set-up: a first line that yaml-language-server knows, with a path in the tree."""
        sys.path.insert(0, str(REPOSITORY / "scripts"))
        from editor import FILES
        for top in ("configs", "workloads"):
            for path in sorted((REPOSITORY / top).rglob("*.y*ml")):
                name = path.relative_to(REPOSITORY)
                line = path.read_text(encoding="utf-8").partition("\n")[0]
                found = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", line)
                self.assertIsNotNone(found, name)
                schema = (path.parent / found[1]).resolve(strict=True)
                kind = next(kind for kind, files in FILES.items() if fnmatch.fnmatch(str(name), files))
                self.assertEqual(schema, REPOSITORY / "docs" / "schemas" / "files" / f"{kind}.schema.json", name)
                self.assertTrue(json.loads(schema.read_text(encoding="utf-8"))["title"].lower().endswith(kind), name)

    def test_other_settings_stay(self):
        self.settings.parent.mkdir()
        self.settings.write_text('{"editor.rulers": [100], "yaml.schemas": {"mine.json": "mine/*.yaml"}}')
        for _ in range(2):
            self.assertEqual(editor(self.folder).returncode, 0)
        found = json.loads(self.settings.read_text(encoding="utf-8"))
        self.assertEqual(found["editor.rulers"], [100])
        self.assertEqual(found["yaml.schemas"]["mine.json"], "mine/*.yaml")
        self.assertEqual(len(found["yaml.schemas"]), 9)

    def test_settings_that_it_cannot_read_are_left(self):
        self.settings.parent.mkdir()
        self.settings.write_text("{ // mine\n}")
        done = editor(self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("it is left as it is", done.stderr)
        self.assertEqual(self.settings.read_text(), "{ // mine\n}")


if __name__ == "__main__":
    unittest.main()
