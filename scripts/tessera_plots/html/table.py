"""Tables whose numbers keep their unit, for the report and for the screen."""

# What a cell of a column is: text, count, time [ps], bytes, rate [B/s], energy [J], share (1 is all), factor.
_STEPS = {
    "time": [(1, "ps"), (1e3, "ns"), (1e6, "µs"), (1e9, "ms"), (1e12, "s")],
    "bytes": [(1, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"), (1e15, "PB")],
    "rate": [(1, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s"), (1e12, "TB/s"),
             (1e15, "PB/s")],
    "energy": [(1, "J"), (1e3, "kJ"), (1e6, "MJ"), (1e9, "GJ"), (1e12, "TJ")],
    "flops": [(1, "FLOP/s"), (1e9, "GFLOP/s"), (1e12, "TFLOP/s"), (1e15, "PFLOP/s"),
              (1e18, "EFLOP/s")],
}


def table(title, columns, rows, note=""):
    """`columns`: [(name, what its cells are)]; a cell may be None."""
    return {"title": title, "note": note,
            "columns": [{"name": name, "kind": kind} for name, kind in columns], "rows": rows}


def text_of(value, kind):
    """A cell for the screen."""
    if value is None:
        return "-"
    if kind in _STEPS:
        factor, unit = _STEPS[kind][0]
        for step in _STEPS[kind]:
            if abs(value) >= step[0]:
                factor, unit = step
        return f"{value / factor:.4g} {unit}"
    if kind == "share":
        return f"{round(100 * value, 2) + 0:.2f} %"  # no -0.00
    if kind == "factor":
        return f"{value:.4g}"
    if kind == "count" and isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def print_table(content, most_rows, out):
    columns = content["columns"]
    shown = content["rows"][:most_rows]
    cells = [[column["name"] for column in columns]]
    cells += [[text_of(value, column["kind"]) for value, column in zip(row, columns)]
              for row in shown]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    print(content["title"], file=out)
    if not content["rows"]:
        print(f"  {content['note'] or 'nothing'}\n", file=out)
        return
    for row in cells:
        line = (cell.ljust(width) if column["kind"] == "text" else cell.rjust(width)
                for cell, width, column in zip(row, widths, columns))
        print("  " + "  ".join(line).rstrip(), file=out)
    if len(shown) < len(content["rows"]):
        print(f"  and {len(content['rows']) - len(shown)} more", file=out)
    print(file=out)
