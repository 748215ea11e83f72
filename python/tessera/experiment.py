"""Experiments: a machine, the work it does, and how that is cut, simulated and read."""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from . import declared, yaml_text
from .errors import ConfigError, error_of
from .parts import Execution, Machine, RunOptions, Strategy
from .program import Bar, Progress, ask_json, call
from .runs import Run
from .sections import Section
from .workloads import Workload

PathLike = str | os.PathLike[str]
OnProgress = bool | Callable[[Progress], None]

#: Keys of the file, and the attributes of an experiment that hold them.
_PARTS = {"machine": "machine", "workload": "workload", "strategy": "strategy",
          "execution": "execution", "run": "options"}


@dataclass
class Experiment:
    """What is simulated: one run of one work on one machine.

    Each part is an object of this package, a mapping with the keys of the file, or the path of a
    file. `settings` are keys that are set on top, by their dotted names, as `tessera run --set`
    does.

    >>> experiment = Experiment(
    ...     name="first",
    ...     machine="configs/machines/palm_wafer.yaml",
    ...     workload=workloads.Transformer(layers=8, hidden=512, heads=8, sequence=256,
    ...                                    vocabulary=8192, batch=32),
    ...     strategy=Strategy(pipeline=8, tensor=4, data=2))
    >>> run = experiment.run(ranks=2)
    """

    machine: Machine | Mapping[str, Any] | PathLike
    workload: Workload | Mapping[str, Any] | PathLike
    strategy: Strategy | Mapping[str, Any] | PathLike | None = None
    execution: Execution | Mapping[str, Any] | None = None
    options: RunOptions | Mapping[str, Any] | None = None
    """The section `run` of the file: trace level, iterations, bins and so on."""
    name: str = "experiment"
    settings: dict[str, Any] = field(default_factory=dict)

    def __setattr__(self, name: str, value: Any) -> None:
        keys = {attribute: key for key, attribute in _PARTS.items()}
        if name in keys and value is not None:
            node = declared.root().fields[keys[name]]
            value = node.check(value, keys[name], declared.Place())
        elif name == "settings":
            value = {key: declared.plain(one) for key, one in dict(value).items()}
            for key in value:
                _check_setting(key)
        object.__setattr__(self, name, value)

    # ---- Files

    @classmethod
    def load(cls, path: PathLike) -> Experiment:
        """From a file. Parts that are files of their own stay paths."""
        data = yaml_text.load(path)
        folder = os.path.dirname(os.path.abspath(os.fspath(path)))
        place = declared.Place(folder, lenient=True)
        parts: dict[str, Any] = {"name": pathlib.Path(path).stem}
        for key, value in data.items():
            node = declared.root().fields.get(str(key))
            if node is None:
                raise ConfigError(f"{os.fspath(path)}: "
                                  + declared.unknown("key", str(key), declared.root().fields))
            parts[_PARTS.get(key, key)] = None if value is None else node.check(value, key, place)
        missing = [key for key in ("machine", "workload") if parts.get(key) is None]
        if missing:
            raise ConfigError(f"{os.fspath(path)}: missing: " + ", ".join(missing))
        return cls(**parts)

    def to_dict(self) -> dict[str, Any]:
        """As the file has it; `settings` are not in it."""
        data: dict[str, Any] = {"name": self.name}
        for key, attribute in _PARTS.items():
            value = getattr(self, attribute)
            if value is not None:
                data[key] = declared.plain(value)
        return data

    def to_yaml(self) -> str:
        return yaml_text.dump(self.to_dict())

    def save(self, path: PathLike) -> None:
        """Writes the file; paths of other files in it are absolute."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_yaml())

    def with_settings(self, settings: Mapping[str, Any] | None = None, name: str | None = None
                      ) -> Experiment:
        """A copy with keys set on top, by dotted name: {"machine.network.model": "analytical"}."""
        parts = {attribute: getattr(self, attribute) for attribute in _PARTS.values()}
        return Experiment(**parts, name=name or self.name,
                          settings={**self.settings, **(settings or {})})

    # ---- The program

    def _setting_words(self) -> list[str]:
        return [word for key, value in self.settings.items()
                for word in ("--set", f"{key}={yaml_text.inline(value)}")]

    @contextmanager
    def _file(self) -> Iterator[tuple[str, dict[str, str]]]:
        """The experiment as a file, and its text by name."""
        with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
            path = os.path.join(folder, "experiment.yaml")
            text = self.to_yaml()
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            yield path, {path: text}

    def check(self, ranks: int = 1) -> Check:
        """What the program finds in it: whether all of it goes together, what it consists of, the
        memory that a run needs. Raises ConfigError with every complaint."""
        with self._file() as (path, sources):
            found = ask_json("check", path, "--json", "--ranks", str(ranks),
                             *self._setting_words(), sources=sources)
        return Check(found)

    def run(self, folder: PathLike | None = None, *, ranks: int = 1, progress: OnProgress = False,
            trace: str | None = None, weights: PathLike | None = None,
            partition: str | None = None) -> Run:
        """Simulates it and reads what came out.

        folder: where results go; out/NAME without it. ranks: processes, started by mpiexec; the
        results do not depend on them. progress: True for a line on stderr, or a function that is
        called with a Progress each second. trace: "none", "summary" or "full", in place of
        options.trace. weights, partition: how the machine is partitioned over ranks.

        Raises ConfigError for bad input, ModelError where the simulation cannot go on, Stopped
        where it was interrupted.
        """
        if ranks < 1:
            raise ConfigError(f"ranks: must be at least 1; got {ranks}")
        target = os.fspath(folder) if folder is not None else os.path.join("out", self.name)
        words = ["--json", "--progress", "json", "-o", target, *self._setting_words()]
        for option, value in (("--trace", trace), ("--weights", weights),
                              ("--partition", partition)):
            if value is not None:
                words += [option, os.fspath(value)]
        bar = Bar(self.name) if progress is True else None
        on_progress = bar if bar is not None else progress if callable(progress) else None
        with self._file() as (path, sources):
            done = call(["run", path, *words], ranks=ranks, on_progress=on_progress)
            if bar is not None:
                bar.show("done" if done.exit_code == 0 else f"ended with {done.exit_code}")
                bar.close()
            if done.exit_code != 0:
                raise error_of(done.exit_code, done.complaints, sources)
        return Run(target)


def _check_setting(key: str) -> None:
    known = declared.setting_keys()
    if key in known:
        return
    # Below names of the user's own, in lists and in open kinds the program knows better.
    parent = key
    while "." in parent:
        parent = parent.rpartition(".")[0]
        if parent in known:
            below = [name for name in known if name.startswith(parent + ".")]
            if below and not any(".NAME" in name for name in below) and (
                    not parent.startswith("workload")):
                raise ConfigError("settings: " + declared.unknown("key", key, known))
            return
    raise ConfigError("settings: " + declared.unknown("key", key, known))


@dataclass(frozen=True)
class Check:
    """What `tessera check --json` says; docs/json-output.md has all keys."""

    found: dict[str, Any]

    @property
    def configuration(self) -> dict[str, Any]:
        """With all defaults."""
        return dict(self.found["configuration"])

    @property
    def notes(self) -> list[str]:
        """What bends results, as a run says before it begins: keys without effect, and the like."""
        return list(self.found["notes"])

    @property
    def ideal_time_s(self) -> float | None:
        """Least time of an iteration; None: not known."""
        time = self.found["ideal_time_ps"]
        return None if time is None else time / 1e12

    @property
    def predicted_bytes(self) -> int:
        """Memory of the largest rank."""
        return int(self.found["predicted_bytes"])

    def __getitem__(self, key: str) -> Any:
        return self.found[key]


def load(path: PathLike) -> Experiment:
    """The experiment in a file."""
    return Experiment.load(path)


__all__ = ["Check", "Experiment", "Section", "load"]
