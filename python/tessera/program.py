"""The program: where it is, and how it is started."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import ProgramError, error_of

#: Environment variable that names the program.
VARIABLE = "TESSERA"


def use_program(path: str | os.PathLike[str] | None) -> None:
    """Takes this program from now on, in this process and those it starts; None:
    finds one again."""
    if path is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = os.fspath(path)


def _candidates() -> list[str]:
    here = Path(__file__).resolve().parent
    installed = [parent / "bin" / "tessera" for parent in here.parents[1:6]]
    built = [here.parents[1] / "build" / preset / "tessera" for preset in ("release", "ci")]
    on_path = shutil.which("tessera")
    return [*map(str, installed), *([on_path] if on_path else []), *map(str, built)]


def find_program() -> str:
    """The program that is used: that of use_program() or the environment variable TESSERA, of the
    installation that this package is of, the first on PATH, or one built in the tree."""
    given = os.environ.get(VARIABLE)
    if given:
        return given
    for path in _candidates():
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise ProgramError(f"the program tessera was not found; put it on PATH, name it in the "
                       f"environment variable {VARIABLE}, or call tessera.use_program()")


@dataclass(frozen=True)
class Progress:
    """How a run is going."""

    simulated_ps: int
    fraction: float
    """Of all instructions, from 0 to 1."""
    events: int
    events_per_s: float
    resident_bytes: int
    wall_s: float
    left_s: float | None
    """Seconds left; None: not known yet."""

    @staticmethod
    def of(line: str) -> Progress | None:
        """Of a line that the program wrote to stderr; None: it is no progress."""
        if not line.startswith("{"):
            return None
        try:
            return Progress(**json.loads(line))
        except (ValueError, TypeError):
            return None


@dataclass(frozen=True)
class Finished:
    """What a program that ended left behind."""

    exit_code: int
    output: str
    complaints: str


def _environment() -> dict[str, str]:
    # Root, as in containers, and more ranks than processors are the user's business.
    return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy":
            ":oversubscribe", **os.environ}


def _words(words: Sequence[str], ranks: int) -> list[str]:
    command = [find_program(), *words]
    if ranks == 1:
        return command
    launcher = shutil.which("mpiexec") or shutil.which("mpirun")
    if launcher is None:
        raise ProgramError("several ranks need mpiexec or mpirun, and there is none on PATH")
    return [launcher, "-n", str(ranks), *command]


def call(words: Sequence[str], *, ranks: int = 1,
         on_progress: Callable[[Progress], None] | None = None) -> Finished:
    """Runs the program to its end. An interrupt of this process (Ctrl-C) is handed on, so that a
    run stops at a checkpoint; a second one kills it."""
    try:
        process = subprocess.Popen(
            _words(words, ranks), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace",
            env=_environment(), start_new_session=True)
    except OSError as error:
        raise ProgramError(f"{find_program()}: {error.strerror}") from error
    output: list[str] = []
    stdout, stderr = process.stdout, process.stderr
    assert stdout is not None and stderr is not None
    reader = threading.Thread(target=lambda pipe: output.append(pipe.read()), args=(stdout,))
    reader.start()
    complaints = []
    try:
        for line in stderr:
            progress = Progress.of(line)
            if progress is None:
                complaints.append(line)
            elif on_progress is not None:
                on_progress(progress)
        process.wait()
    except BaseException:
        process.send_signal(signal.SIGUSR1)  # which mpiexec hands on to all ranks
        # Else what it still has to say could fill the pipe.
        threading.Thread(target=stderr.read, daemon=True).start()
        try:
            process.wait()  # for as long as it writes its checkpoint
        except KeyboardInterrupt:
            process.kill()
        raise
    finally:
        reader.join()
        stdout.close()
        stderr.close()
    return Finished(process.returncode, "".join(output), "".join(complaints))


def ask(*words: str, ranks: int = 1, sources: Mapping[str, str] | None = None) -> str:
    """What the program prints. Raises the error that it ends with."""
    done = call(words, ranks=ranks)
    if done.exit_code != 0:
        raise error_of(done.exit_code, done.complaints, dict(sources or {}))
    return done.output


def ask_json(*words: str, ranks: int = 1, sources: Mapping[str, str] | None = None) -> Any:
    """The JSON that the program prints."""
    return json.loads(ask(*words, ranks=ranks, sources=sources))


def version() -> str:
    """Of the program, such as "0.2.0"."""
    return ask("--version").split()[1]


class Bar:
    """Progress on one line of stderr, or in a notebook's cell."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._width = 0

    def show(self, text: str) -> None:
        line = f"{self._title}: {text}"
        print("\r" + line.ljust(self._width), end="", file=sys.stderr, flush=True)
        self._width = len(line)

    def __call__(self, progress: Progress) -> None:
        left = "" if progress.left_s is None else f", {progress.left_s:.0f} s left"
        self.show(f"{progress.fraction:.0%} done{left}")

    def close(self) -> None:
        if self._width:
            print(file=sys.stderr, flush=True)
