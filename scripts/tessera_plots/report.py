"""Prints tables from the trace of a run."""

import argparse
import csv
import os
import sys

from .errors import NothingToDraw, ended

_FEW = 20  # rows of a table, unless all are asked for


def _time(ps):
    return f"{ps / 1e6:.3f}"


def _percent(part, whole):
    return f"{100 * part / whole:.2f}" if whole else ""


def operators(run):
    """Time of tiles by name and activity of operators."""
    import numpy as np
    rows = run.read("operators")
    names = {int(row["name"]): row["text"].decode("utf-8", "replace") for row in run.read("names")}
    activities = run.names("activities")
    tiles = np.unique(rows["node"]).size
    keys = rows["name"].astype(np.int64) * 256 + rows["activity"]
    known, place, times = np.unique(keys, return_inverse=True, return_counts=True)
    took = (rows["end"] - rows["start"]).astype(np.int64)
    sums = np.bincount(place, took, known.size)
    longest = np.zeros(known.size, np.int64)
    np.maximum.at(longest, place, took)
    head = ["operator", "activity", "times", "mean [us]", "longest [us]", "of a tile [us]",
            "of its time [%]"]
    table = [[names.get(int(known[i]) // 256, "?"), activities[int(known[i]) % 256], int(times[i]),
              _time(sums[i] / times[i]), _time(longest[i]), _time(sums[i] / tiles),
              _percent(sums[i] / tiles, run.end_ps())] for i in np.argsort(-sums, kind="stable")]
    return f"operators: mean over the {tiles} tile(s) in the trace", head, table


def collectives(run):
    from . import hiding
    table = [[kind.replace("_", "-"), "-" if dimension == 255 else dimension, _time(busy),
              _time(open_), _percent(open_, busy), _percent(open_, run.end_ps())]
             for kind, dimension, busy, open_ in hiding.by_kind_and_dimension(run)]
    head = ["collective", "dimension", "under way [us]", "exposed [us]", "exposed [%]",
            "exposed, of all time [%]"]
    return ("collectives: mean over the tiles in the trace; exposed is what no computing or memory "
            "access hides", head, table)


def links(run):
    """Links that carried something, by class."""
    import numpy as np
    from .node_names import names_of
    rows = run.read("links")
    classes = run.names("link_classes")
    name_of = names_of(run)
    end = run.end_ps()
    table = []
    for number in np.unique(rows["class"]):
        own = rows[rows["class"] == number]
        first = own[np.argmax(own["busy"])]
        table.append([classes[number] if number < len(classes) else f"class {number}", own.size,
                      f"{own['bytes'].sum() / 1e6:.3f}", _percent(own["busy"].mean(), end),
                      f"{name_of(first['node'])} to {name_of(first['to'])}", _percent(int(first["busy"]), end)])
    head = ["links", "used", "carried [MB]", "mean use [%]", "busiest", "its use [%]"]
    return "links that carried something, by kind", head, table


def stragglers(run):
    import numpy as np
    from . import hiding
    nodes, times = hiding.tile_times(run)
    median = float(np.median(times[0]))
    order = np.argsort(-times[0], kind="stable")
    table = [[int(nodes[i]), _time(times[0][i]), f"{times[0][i] / median:.3f}" if median else "",
              _time(times[1][i]), _time(times[2][i])] for i in order]
    head = ["node", "computes, accesses memory [us]", "over the median", "exposed collectives [us]",
            "ends at [us]"]
    return "tiles in the trace, the slowest first", head, table


def tenants(run):
    """Of the summary: what shared the machine."""
    rows = run.summary.get("tenants")
    if not rows:
        raise NothingToDraw("one workload had all of the machine")
    table = [[row["name"], row["workload"], row["tiles"], row["iterations"], _time(row["start_ps"]),
              _time(row["end_ps"]), _time(row["iteration_time_ps"]),
              f"{row['throughput_samples_per_s']:.4g}",
              _percent(row["achieved_flops_per_s"], row["peak_flops_per_s"])] for row in rows]
    head = ["tenant", "workload", "tiles", "iterations", "begins [us]", "ends [us]",
            "iteration [us]", "samples/s", "of its peak [%]"]
    return "tenants", head, table


_OF_GRAPHS = ("collectives", "stragglers")
TABLES = {"tenants": tenants, "operators": operators, "collectives": collectives, "links": links,
          "stragglers": stragglers}


def _print(title, head, table, all_rows):
    shown = table if all_rows else table[:_FEW]
    cells = [head, *([str(cell) for cell in row] for row in shown)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    print(title)
    for row in cells:
        # Words to the left, numbers to the right.
        print("  " + "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
    if len(shown) < len(table):
        print(f"  and {len(table) - len(shown)} more (--all)")
    print()


def _report(options):
    from .run_folder import RunFolder
    run = RunFolder(options.run)
    printed = 0
    usual = [name for name in TABLES if (name not in _OF_GRAPHS or run.of_graphs())
             and (name != "tenants" or run.names("tenants"))]
    for name in dict.fromkeys(options.only or usual):
        try:
            title, head, table = TABLES[name](run)
        except NothingToDraw as nothing:
            if options.only:
                raise NothingToDraw(f"{options.run}: {name}: {nothing}") from nothing
            print(f"note: {name}: {nothing}", file=sys.stderr)
            continue
        if options.csv:
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerows([["table", *head], *([name, *row] for row in table)])
        else:
            _print(title, head, table, options.all)
        printed += 1
    if printed == 0:
        raise NothingToDraw(f"{options.run}: there is nothing to print")


def main(words):
    parser = argparse.ArgumentParser(
        prog=os.environ.get("TESSERA_TOOL", "report"), description=__doc__, epilog="exit codes: 0 done, 2 bad request or nothing to "
        "print, 74 damaged or missing files, 70 a defect of this program")
    parser.add_argument("run", metavar="RUN_DIR", help="folder that 'tessera run' left behind")
    parser.add_argument("--only", metavar="NAME", action="append",
                        help="print only this (repeatable): " + ", ".join(TABLES))
    parser.add_argument("--all", action="store_true", help=f"print all rows, not only the first {_FEW}")
    parser.add_argument("--csv", action="store_true", help="print CSV, with all rows")
    options = parser.parse_args(words)
    for name in options.only or []:
        if name not in TABLES:
            parser.error(f"there is no table '{name}', but {', '.join(TABLES)}")
    return ended(lambda: _report(options), options.run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
