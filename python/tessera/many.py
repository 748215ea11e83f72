"""Many experiments: spaces of settings, runs side by side, and one table of what came out."""

from __future__ import annotations

import concurrent.futures
import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, overload

import pandas

from .errors import ConfigError, TesseraError
from .experiment import Experiment
from .program import Bar
from .runs import Run

PathLike = str | os.PathLike[str]
Outcome = Run | TesseraError


def _short(value: Any) -> str:
    text = str(value).replace(" ", "")
    return "".join(letter if letter.isalnum() or letter in ".-_" else "-" for letter in text)


def grid(experiment: Experiment, axes: Mapping[str, Iterable[Any]]) -> list[Experiment]:
    """One experiment for each combination of the values of some keys, the last key fastest.

    >>> grid(experiment, {"strategy.tensor": [2, 4], "machine.network.model": ["flit", "packet"]})
    """
    points = []
    for values in itertools.product(*axes.values()):
        settings = dict(zip(axes, values))
        parts = [f"{key.rpartition('.')[2]}={_short(value)}" for key, value in settings.items()]
        points.append(experiment.with_settings(settings, "_".join([experiment.name, *parts])))
    return points


@overload
def run_many(experiments: Iterable[Experiment], folder: PathLike = ..., *, workers: int | None = ...,
             ranks: int = ..., trace: str | None = ...,
             progress: bool | Callable[[int, int, Experiment], None] = ...,
             errors: Literal["raise"] = ...) -> list[Run]: ...


@overload
def run_many(experiments: Iterable[Experiment], folder: PathLike = ..., *, workers: int | None = ...,
             ranks: int = ..., trace: str | None = ...,
             progress: bool | Callable[[int, int, Experiment], None] = ...,
             errors: Literal["keep"]) -> list[Outcome]: ...


def run_many(experiments: Iterable[Experiment], folder: PathLike = "out", *,
             workers: int | None = None, ranks: int = 1, trace: str | None = None,
             progress: bool | Callable[[int, int, Experiment], None] = False,
             errors: Literal["raise", "keep"] = "raise") -> Sequence[Outcome]:
    """Runs experiments side by side, each in a folder of its name, and gives them in order.

    workers: how many at a time; processors over `ranks` without it. progress: True for a line on
    stderr, or a function of how many are done, of how many, and which was the last. errors:
    "raise" ends with the first error, once those under way are over; "keep" gives errors in the
    places of their runs.
    """
    todo = list(experiments)
    names = [one.name for one in todo]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"two experiments are called '{twice[0]}', and would share a folder")
    side_by_side = workers or max(1, (os.cpu_count() or 1) // ranks)
    bar = Bar("runs") if progress is True else None

    def run(one: Experiment) -> Run:
        return one.run(os.path.join(os.fspath(folder), one.name), ranks=ranks, trace=trace)

    outcomes: dict[int, Outcome] = {}
    with concurrent.futures.ThreadPoolExecutor(side_by_side) as pool:
        futures = {pool.submit(run, one): number for number, one in enumerate(todo)}
        for done in concurrent.futures.as_completed(futures):
            number = futures[done]
            try:
                outcomes[number] = done.result()
            except TesseraError as error:
                if errors == "raise":
                    pool.shutdown(cancel_futures=True)
                    raise
                outcomes[number] = error
            if bar is not None:
                bar.show(f"{len(outcomes)} of {len(todo)} done")
            elif callable(progress):
                progress(len(outcomes), len(todo), todo[number])
    if bar is not None:
        bar.close()
    return [outcomes[number] for number in range(len(todo))]


def summaries(runs: Iterable[Outcome], axes: Iterable[Experiment] = ()) -> pandas.DataFrame:
    """One row a run: its experiment and all numbers of its summary. With the experiments that were
    run, in the same order, their settings are columns too. What `run_many(errors="keep")` has in place of a
    run that failed is a row with its message in the column `error`."""
    settings = [one.settings for one in axes]
    rows = []
    for number, run in enumerate(runs):
        row: dict[str, Any] = dict(settings[number]) if number < len(settings) else {}
        if isinstance(run, TesseraError):
            row["error"] = str(run)
        else:
            row.update((key, value) for key, value in run.summary.items()
                       if isinstance(value, (int, float, str)))
        rows.append(row)
    return pandas.DataFrame(rows)
