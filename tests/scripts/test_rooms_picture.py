"""The picture of rooms: drawn of this tree, and of one where what it must show is known.

    python3 -m unittest tests/scripts/test_rooms_picture.py
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "scripts" / "rooms_picture.py"
sys.dont_write_bytecode = True
sys.path.append(str(SCRIPT.parent))
import rooms_picture  # noqa: E402

TREE = {
    "tests/house/rooms.txt": "[may include]\ncore:\nconfig: core\nsim: config\n[only home]\n",
    "include/tessera/core/time.hpp": "#pragma once\n\nint now();\n",
    "src/core/time.cpp": '#include "tessera/core/time.hpp"\nint now() { return 0; }\n',
    "include/tessera/config/key.hpp": '#include "tessera/core/time.hpp"\n',
    "src/sim/run.cpp": '#include "tessera/config/key.hpp"\n#include "tessera/core/time.hpp"\n',
    "src/sim/cuts/cut.cpp": '#include "tessera/core/time.hpp"\n\n\nint cut();\n',
}


def texts(svg):
    return [one.text for one in xml.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


class Picture(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.tree = pathlib.Path(scratch.name)
        for name, text in TREE.items():
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")

    def test_counts_lines_folders_and_includes(self):
        table = rooms_picture.may_include(self.tree)
        rooms = {name: rooms_picture.read_room(self.tree, name) for name in table}
        self.assertEqual([rooms[name].lines for name in table], [4, 1, 4])
        self.assertEqual(rooms["sim"].rows(), [(rooms_picture.OWN_FILES, 2), ("cuts", 2)])
        self.assertEqual(dict(rooms["sim"].includes), {"config": 1, "core": 2})

    def test_joins_rooms_that_none_between_joins(self):
        table = rooms_picture.may_include(self.tree)
        rooms = {name: rooms_picture.read_room(self.tree, name) for name in table}
        self.assertEqual(list(rooms_picture.joined(rooms, table)),
                         [("config", "core", 1), ("sim", "config", 1)])

    def test_names_all(self):
        shown = texts(rooms_picture.picture(self.tree, "small"))
        self.assertIn("small: 3 rooms, 1 folders, 9 lines of code", shown)
        for name in ("core", "config", "sim", "cuts"):
            self.assertIn(name, shown)

    def test_draws_this_tree(self):
        output = self.tree / "rooms.svg"
        done = subprocess.run([sys.executable, str(SCRIPT), str(output)], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        shown = texts(output.read_text("utf-8"))
        for name in rooms_picture.may_include(REPOSITORY):
            self.assertIn(name, shown)
        lines = re.search(r"(\d+) lines of code", " ".join(filter(None, shown)))
        self.assertGreater(int(lines.group(1)), 50_000)


if __name__ == "__main__":
    unittest.main()
