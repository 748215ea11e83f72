"""The one place that knows the project's pictures and its reader of traces (tessera_plots).

Of the reader this uses RunFolder (`summary`, `complete`, `traces`, `names`, `nodes`), TraceFile
(`path`, `attributes`, `read`) and windows of services; of the pictures only their command line.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import ConfigError, TesseraError, TraceError

_PACKAGE = "tessera_plots"


def _home() -> str:
    """The folder that has the package: beside this one where installed, scripts/ in the tree."""
    here = Path(__file__).resolve().parents[1]
    for folder in (here, here.parent / "scripts"):
        if (folder / _PACKAGE / "__init__.py").exists():
            return str(folder)
    raise TesseraError(f"the package {_PACKAGE}, which reads traces, is not installed beside this")


def _module(name: str) -> Any:
    home = _home()
    if home not in sys.path:
        sys.path.append(home)
    return importlib.import_module(f"{_PACKAGE}.{name}")


def open_run(folder: str) -> Any:
    """The checked folder of a run."""
    reader, errors = _module("run_folder"), _module("errors")
    try:
        return reader.RunFolder(folder)
    except errors.PlotError as error:
        raise _error_of(error.exit_code, str(error)) from None


def windows_of(service: dict[str, Any]) -> list[dict[str, Any]]:
    """Of a service over time, from `begin_s` to `end_s`, with means over the time that each lasted."""
    module = _module("service_windows")
    edges = [edge / 1e12 for edge in module.edges_of(service)]
    return [{"begin_s": begin, "end_s": end, **{key: value for key, value in window.items() if key != "seconds"}}
            for begin, end, window in zip(edges, edges[1:], module.windows_of(service))]


def _error_of(exit_code: int, text: str) -> TesseraError:
    text = text.strip().rpartition("error: ")[2]  # behind the usage, where that is shown
    return ConfigError(text) if exit_code == 2 else TraceError(text)


@dataclass(frozen=True)
class Picture:
    """A picture in a file; notebooks show it."""

    path: str

    def _repr_png_(self) -> bytes | None:
        return Path(self.path).read_bytes() if self.path.endswith(".png") else None

    def _repr_svg_(self) -> str | None:
        return Path(self.path).read_text("utf-8") if self.path.endswith(".svg") else None

    def __fspath__(self) -> str:
        return self.path


def draw(folder: str, target: str | None, words: list[str]) -> list[Picture]:
    """Draws with scripts/plot's options and gives the pictures."""
    where = ["-o", target] if target is not None else []
    paths = [_home(), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", _PACKAGE, folder, *where, *words], capture_output=True, text=True,
        encoding="utf-8", check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
    if done.returncode != 0:
        raise _error_of(done.returncode, done.stderr)
    return [Picture(line) for line in done.stdout.splitlines() if os.path.exists(line)]
