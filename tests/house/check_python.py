#!/usr/bin/env python3
"""Holds the Python of scripts/ and tests/ to the rules of ruff.toml.

    check_python.py REPOSITORY FOLDER
    check_python.py --self-test REPOSITORY FOLDER

FOLDER has ruff, as `scripts/test` installs it there with npm (@astral-sh/ruff-wasm-nodejs, ruff built
for Node.js) at the version of .tool-versions; Debian 12 has no package of it. The self-test plants
faults and wants them found.
"""
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

FAULTS = {
    "F401": "import os\n",
    "F821": "print(unknown)\n",
    "B006": "def f(all=[]):\n    return all\n",
    "B904": "try:\n    f = 1\nexcept OSError:\n    raise ValueError('no')\n",
    "PLW1510": "import subprocess\nsubprocess.run(['true'])\n",
    "E999": "def f(:\n",
}


def settings_of(repository):
    """As nested tables, which is how the library takes them."""
    with open(repository / "ruff.toml", "rb") as file:
        return tomllib.load(file)


def check(repository, folder, files):
    """Exit code and what ruff says."""
    program = Path(__file__).with_name("ruff.js")
    # Optimising ruff takes ten times as long as it runs.
    node = ["node", "--liftoff-only"]
    done = subprocess.run(
        [*node, str(program), str(folder), json.dumps(settings_of(repository)), *map(str, files)],
        capture_output=True, text=True, timeout=100, check=False, cwd=repository)
    return done.returncode, done.stdout + done.stderr


def files_of(repository):
    for folder in ("scripts", "tests", "python"):
        yield from sorted(file.relative_to(repository) for file in (repository / folder).rglob("*.py"))


def self_test(repository, folder):
    with tempfile.TemporaryDirectory() as scratch:
        sound = Path(scratch) / "sound.py"
        sound.write_text("import os\n\nprint(os.name)\n", encoding="utf-8")
        code, text = check(repository, folder, [sound])
        assert code == 0, text
        # All at a time, as it is the start of ruff that takes long.
        faults = {rule: Path(scratch) / f"{rule}.py" for rule in FAULTS}
        for rule, file in faults.items():
            file.write_text(FAULTS[rule], encoding="utf-8")
        code, text = check(repository, folder, [sound, *faults.values()])
        assert code != 0 and str(sound) not in text, text
        for rule, file in faults.items():
            found = [line for line in text.splitlines() if line.startswith(f"{file}:")]
            assert found and (rule == "E999" or any(f" {rule} " in line for line in found)), f"{rule}: {text}"
    return 0


def main():
    words = [word for word in sys.argv[1:] if word != "--self-test"]
    repository, folder = (Path(word).resolve() for word in words)
    if not (folder / "node_modules/@astral-sh/ruff-wasm-nodejs").is_dir():
        print(f"no ruff in {folder}; scripts/test installs it there")
        return 1
    if "--self-test" in sys.argv:
        return self_test(repository, folder)
    code, text = check(repository, folder, files_of(repository))
    print(text or "ruff finds nothing")
    return code


if __name__ == "__main__":
    sys.exit(main())
