"""What can go wrong, as the program tells it: by kind, with the place in the file or the key."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Diagnostic:
    """One complaint. Without a file the place is the key that the message begins with."""

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    text: str = ""
    """The line of the file, where it could be read."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.file else ""
        return place + self.message + (f"\n    {self.text.strip()}" if self.text else "")


class TesseraError(Exception):
    """The root of all errors of this package. `exit_code` is that of the program."""

    exit_code = 70


class ConfigError(TesseraError, ValueError):
    """A machine, a work or an experiment is wrong: an unknown key, a value out of its range, parts
    that do not go together. `diagnostics` holds each complaint."""

    exit_code = 2

    def __init__(self, diagnostics: str | Sequence[Diagnostic]) -> None:
        if isinstance(diagnostics, str):
            diagnostics = [Diagnostic(diagnostics)]
        self.diagnostics = list(diagnostics)
        super().__init__("\n".join(str(one) for one in self.diagnostics))


class ModelError(TesseraError):
    """The input is sound, but the simulation cannot go on: a deadlock, say."""

    exit_code = 3


class Stopped(TesseraError):
    """The run was stopped before its end; its folder holds a checkpoint to go on from."""

    exit_code = 75


class TraceError(TesseraError, OSError):
    """A file could not be read or written, or is damaged."""

    exit_code = 74


class MissingError(TesseraError, KeyError):
    """A run has no such table, or served no such model."""

    exit_code = 2

    def __str__(self) -> str:
        return str(self.args[0])


class ProgramError(TesseraError):
    """The program was not found, or failed in a way that is a defect of its own."""


_PLACED = re.compile(r"^(?P<file>.*?):(?P<line>\d+):(?P<column>\d+): error: (?P<message>.*)$")
_PLAIN = re.compile(r"^(?:rank \d+: )?(?:internal )?error: (?P<message>.*)$")
_OF_FILE = re.compile(r"^(?P<file>[^:]+): error: (?P<message>.*)$")
_BY_CODE: dict[int, type[TesseraError]] = {
    3: ModelError, 74: TraceError, 75: Stopped}


def diagnostics_of(output: str, sources: dict[str, str] | None = None) -> list[Diagnostic]:
    """The complaints in what the program wrote to stderr. `sources`: texts of files by name, of
    which the offending line is shown."""
    found = []
    for line in output.splitlines():
        if placed := _PLACED.match(line):
            file, number = placed["file"], int(placed["line"])
            lines = (sources or {}).get(file, "").splitlines()
            text = lines[number - 1] if 0 < number <= len(lines) else ""
            found.append(Diagnostic(placed["message"], file, number, int(placed["column"]), text))
        elif plain := _PLAIN.match(line):
            found.append(Diagnostic(plain["message"]))
        elif of_file := _OF_FILE.match(line):  # as of a folder, which has no lines
            found.append(Diagnostic(f"{of_file['file']}: {of_file['message']}"))
    return found


def error_of(exit_code: int, output: str, sources: dict[str, str] | None = None) -> TesseraError:
    """The error that the program ended with."""
    found = diagnostics_of(output, sources)
    if exit_code == 2 and found:
        return ConfigError(found)
    text = "\n".join(str(one) for one in found) or output.strip() or f"ended with {exit_code}"
    return _BY_CODE.get(exit_code, ProgramError)(text)
