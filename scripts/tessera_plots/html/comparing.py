"""Says what differs between runs: as tables, as JSON, as one HTML file, as pictures."""

import argparse
import json
import sys

from ..errors import PlotError, ended, named

_FEW = 12


def _parse(words):
    parser = argparse.ArgumentParser(
        prog="tessera compare", description=__doc__, epilog="exit codes: 0 done, 2 bad request, 74 "
        "damaged or missing files, 70 a defect of this program")
    parser.add_argument("runs", metavar="RUN", nargs="+", help="folders that 'tessera run' left; all "
                        "others are compared with the first")
    parser.add_argument("-o", "--output", type=named, metavar="FILE.html", help="also write one report of all runs")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--all", action="store_true", help=f"print all rows of tables, not only the first {_FEW}")
    parser.add_argument("--pictures", metavar="DIR", help="draw maps of links and breakdowns into this "
                        "folder, on equal scales")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")
    options = parser.parse_args(words)
    if len(options.runs) < 2:
        parser.error("give two run folders or more")
    return options


class _Links:
    """The share of time of every link by its name; of many links only the busier ones."""

    _MOST = 200_000

    def __init__(self):
        self.shares = {}

    def __call__(self, links, name_of):
        rows = links.rows
        order = (-links.share).argsort(kind="stable")[:self._MOST]
        self.shares = {f"{name_of(rows['node'][i])} → {name_of(rows['to'][i])}":
                       (links.class_name(rows["class"][i]), float(links.share[i]))
                       for i in order.tolist()}


def _compare(options):
    from ..run_folder import RunFolder
    from ..sweep_folder import is_sweep
    from . import words
    from .blobs import Blobs
    from .compare import Comparison, as_json
    from .page import page, write
    from .run import collect
    from .table import print_table
    for folder in options.runs:
        if is_sweep(folder):
            raise PlotError(f"{folder}: is a sweep; tessera report {folder} shows its points",
                            exit_code=2)
    folders = [RunFolder(folder) for folder in options.runs]
    for other in folders[1:]:
        if other.shape() == folders[0].shape():
            other.named_as = folders[0]
    blobs, links = Blobs(), [_Links() for _ in folders]
    runs = [collect(run, label, blobs, 250_000 // len(folders), options.quiet, keep)
            for run, label, keep in zip(folders, words.labels_of(options.runs), links)]
    comparison = Comparison(runs, [keep.shares for keep in links])
    tables = comparison.tables()
    if options.output:  # first: who reads the tables may stop early
        title = " against ".join(comparison.labels)
        write(options.output, page(title, "; ".join(
            f"{label}: {words.title_of(run)}, {words.subtitle_of(run)}"
            for label, run in zip(comparison.labels, folders)),
            {"kind": "compare", "program": words.program_of(folders[0]), "runs": runs,
             "tables": tables}, blobs))
    if options.json:
        json.dump(as_json(comparison, tables), sys.stdout, indent=1, ensure_ascii=False)
        print()
    else:
        for name, content in tables.items():
            whole = options.all or name in ("numbers", "differences")
            print_table(content, None if whole else _FEW, sys.stdout)
    out = sys.stderr if options.json else sys.stdout
    if options.output:
        print(options.output, file=out, flush=True)
    if options.pictures:
        from ..compared import draw
        for path in draw(folders, comparison.labels, options.pictures):
            print(path, file=out, flush=True)


def main(words):
    options = _parse(words)
    return ended(lambda: _compare(options), options.runs[0], options.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
