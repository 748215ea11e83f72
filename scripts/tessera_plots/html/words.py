"""What heads of reports say of a run."""

import os

from .table import text_of


def title_of(run):
    summary = run.summary
    return summary.get("experiment") or os.path.basename(os.path.abspath(run.folder))


def subtitle_of(run):
    summary = run.summary
    parts = [" on ".join(part for part in (summary.get("workload"), summary.get("machine")) if part)]
    if not run.complete or summary.get("status") not in (None, "finished"):
        parts.append(f"{summary.get('status', 'cut short')} at {text_of(run.end_ps(), 'time')}")
    elif summary.get("iteration_time_ps") and not summary.get("services"):
        parts.append(f"iteration of {text_of(summary['iteration_time_ps'], 'time')}")
    return "; ".join(part for part in parts if part)


def program_of(run):
    """The program that made it, as its traces say."""
    return run.traces[0].attributes.get("program", "Tessera") if run.traces else "Tessera"


def labels_of(folders):
    """Short names that tell folders apart."""
    names = [os.path.basename(os.path.abspath(folder)) for folder in folders]
    if len(set(names)) == len(names):
        return names
    paths = [os.path.abspath(folder).split(os.sep) for folder in folders]
    for count in range(2, max(map(len, paths)) + 1):
        names = [os.sep.join(path[-count:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [f"{os.path.basename(os.path.abspath(folder))} ({i + 1})"
            for i, folder in enumerate(folders)]
