"""Writes the report of a run or a sweep: one HTML file that needs nothing else."""

import argparse
import os
import sys

from ..errors import PlotError, ended, named


def _parse(words):
    parser = argparse.ArgumentParser(
        prog="tessera report", description=__doc__, epilog="exit codes: 0 done, 2 bad request, 74 "
        "damaged or missing files, 70 a defect of this program")
    parser.add_argument("run", metavar="RUN", help="folder that 'tessera run' or 'tessera sweep' left")
    parser.add_argument("-o", "--output", type=named, metavar="FILE.html",
                        help="file to write (RUN/report.html)")
    parser.add_argument("--operators", metavar="N", type=int, default=250_000,
                        help="number of operators that the timeline shows individually; others are "
                        "summed in bins (%(default)s)")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")
    return parser.parse_args(words)


def _sweep(options):
    from ..sweep_folder import SweepFolder
    from . import sweep
    from .blobs import Blobs
    from .page import page
    options.columns = options.axes = options.value = None
    content = sweep.collect(SweepFolder(options.run, options))
    subtitle = (f"sweep: {len(content['numbers'])} of {content['points_run']} points finished; "
                f"objective {content['objective']}")
    return page(content["name"], subtitle, {"kind": "sweep", "sweep": content}, Blobs())


def _run(options):
    from ..run_folder import RunFolder
    from . import words
    from .blobs import Blobs
    from .page import page
    from .run import collect
    run, blobs = RunFolder(options.run), Blobs()
    content = collect(run, words.labels_of([options.run])[0], blobs, max(0, options.operators),
                      options.quiet)
    return page(words.title_of(run), words.subtitle_of(run),
                {"kind": "run", "program": words.program_of(run), "runs": [content]}, blobs)


def _report(options):
    from .. import sweep_folder
    from .page import write
    if not os.path.isdir(options.run):
        raise PlotError(f"{options.run}: no such folder", exit_code=2)
    text = (_sweep if sweep_folder.is_sweep(options.run) else _run)(options)
    path = options.output or os.path.join(options.run, "report.html")
    write(path, text)
    if not options.quiet:
        print(path, flush=True)


def main(words):
    options = _parse(words)
    return ended(lambda: _report(options), options.run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
