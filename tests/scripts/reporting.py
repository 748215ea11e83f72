"""What tests of reports need: the program, Python with its libraries, a browser, and what a page holds."""

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from prepared import Prepared, path_with_libraries

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TESSERA = pathlib.Path(os.environ["TESSERA"]).resolve()
PREPARED = Prepared()


def run(*words, **environment):
    """Result of a command that is to end by itself."""
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=300, check=False,
                          env={**os.environ, "PATH": path_with_libraries(), **allowed, **environment})


def python(code, *words):
    """What a piece of Python prints that uses the tools."""
    done = PREPARED.python(code, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@functools.lru_cache
def python_with_jsonschema():
    """Debian's, where this one lacks it."""
    for name in (sys.executable, "/usr/bin/python3"):
        if run(name, "-c", "import jsonschema").returncode == 0:
            return name
    raise AssertionError("no Python with jsonschema; scripts/test installs it")


def chromium():
    """Its path, or None."""
    names = ("chromium-headless-shell", "chromium")
    return next((path for name in names if (path := shutil.which(name))), None)


def embedded(text, name):
    """JSON in an element of the page."""
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', text, re.DOTALL)
    assert not re.search("<!--|</", found[1]), "texts of a run may end the element, or keep it from ending"
    return json.loads(found[1])
