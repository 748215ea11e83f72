"""What all pictures share: palette, titles, units, saving."""

import itertools
import os
import textwrap

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # after the choice of its backend
from matplotlib.colors import hsv_to_rgb, to_hex, to_rgb
from matplotlib.text import Text

from .errors import PlotError

# Okabe and Ito's palette, which readers of every kind of colour vision tell apart, and more. All differ
# but `compute` and `backward`: computing is most often shown either whole or by passes.
COLOURS = {
    "forward": "#56b4e9",
    "backward": "#0072b2",
    "update": "#009e73",
    "compute": "#0072b2",
    "tensor": "#e69f00",
    "data": "#cc79a7",
    "pipeline": "#d55e00",
    "memory": "#f0e442",
    "input_gradient": "#1b2a6b",
    "weight_gradient": "#c7b9ff",
    "context": "#8c564b",
    "expert": "#7b3294",
    "collective": "#882255",
    "message": "#8a8a00",
    "host": "#7f7f7f",
    "bubble": "#e4e4e4",
}
OTHER_COLOURS = ["#000000", "#8c6d31", "#5254a3", "#637939", "#bd9e39", "#ad494a"]
LABELS = {
    "tensor": "tensor communication",
    "data": "data communication",
    "context": "context communication",
    "expert": "expert communication",
    "pipeline": "pipeline communication",
    "memory": "memory (DRAM)",
    "bubble": "idle (bubble)",
}
DPI = 120

matplotlib.rcParams.update({
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": DPI,
    "savefig.dpi": DPI,
})


_GOLDEN = 0.6180339887  # steps of the hue by it leave no two alike


def _free_colours():
    """Those without a meaning; after the first few of any hue, in three shades."""
    yield from OTHER_COLOURS
    for number in range(300):
        yield to_hex(hsv_to_rgb((number * _GOLDEN % 1, (0.9, 0.45, 0.7)[number % 3], (0.8, 0.95, 0.5)[number % 3])))


def _near(colour, other):
    return sum(abs(one - another) for one, another in zip(to_rgb(colour), to_rgb(other))) < 0.35


def colours_of(names):
    """{name: colour} in the order of `names`: of each its own, or one that no other of them has."""
    found = {}
    for name in names:
        if name in COLOURS and COLOURS[name] not in found.values():
            found[name] = COLOURS[name]
    free = list(_free_colours())
    for name in names:
        if name not in found:
            unlike = [colour for colour in free if colour not in found.values()]
            found[name] = next((colour for colour in unlike if not any(_near(colour, one) for one in found.values())),
                               unlike[0])
    return {name: found[name] for name in names}


_SERIES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#f0e442",
           *itertools.islice(_free_colours(), 200)]


def series_colour(number):
    """Of what has a number and no colour of its own, as services."""
    return _SERIES[number % len(_SERIES)]


def rgb_of(name):
    return to_rgb(COLOURS[name])


def text_colour(colour):
    """Black or white, by the brightness behind it (ITU-R BT.601)."""
    red, green, blue = to_rgb(colour)
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.45 else "white"


def label_of(name):
    return LABELS.get(name, name)


def scaled(value, steps):
    """The largest (factor, unit) of `steps`, ascending, that `value` reaches."""
    chosen = steps[0]
    for step in steps:
        if value >= step[0]:
            chosen = step
    return chosen


def time_unit(end_ps):
    """Picoseconds in a unit in which `end_ps` has two or more digits, and its name."""
    return scaled(end_ps / 3, [(1, "ps"), (1e3, "ns"), (1e6, "µs"), (1e9, "ms"), (1e12, "s")])


def rate_unit(bytes_per_s):
    return scaled(bytes_per_s, [(1, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s"),
                                (1e12, "TB/s"), (1e15, "PB/s")])


def time_text(ps):
    factor, unit = time_unit(ps)
    return f"{ps / factor:.4g} {unit}"


def _shortened(text):
    return text if len(text) <= 40 else text[:39] + "…"


def run_text(run):
    """Which run this is: experiment, machine, workload and iteration time."""
    summary = run.summary
    experiment = summary.get("experiment") or (
        run.traces[0].attributes.get("experiment") if run.traces else "")
    parts = [_shortened(part) for part in (experiment, summary.get("workload")) if part]
    text = ": ".join(parts) or os.path.basename(os.path.abspath(run.folder))
    if summary.get("machine"):
        text += f" on {_shortened(summary['machine'])}"
    status = summary.get("status")
    if run.complete and status in (None, "finished"):
        iteration = 0 if summary.get("services") else summary.get("iteration_time_ps")
        time = iteration or run.end_ps()
        what = "iteration" if iteration else "run"
        return f"{text}; {what} of {time_text(time)}" if time else text
    what = status if status and status not in ("finished", "running") else "cut short"
    return f"{text}; {what} at {time_text(run.end_ps())}"


def new_plain_figure(title, subtitle, width, height, rows=1, columns=1, **options):
    """Figure and array of axes, with a title of two lines over them."""
    figure, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False,
                                layout="constrained", **options)
    characters = int(10 * width)  # of a line of this size
    figure.suptitle("\n".join(textwrap.fill(text, characters) for text in (title, subtitle)),
                    fontsize=12)
    return figure, axes


def new_figure(run, title, width, height, rows=1, columns=1, **options):
    """The same, with a title that says what is drawn and of which run."""
    return new_plain_figure(title, run_text(run), width, height, rows, columns, **options)


def legend_above(ax, handles, columns, note=None):
    """A legend between the title and the axes, where it covers neither data nor tick labels, in as
    many columns as the figure has room for."""
    longest = max((len(handle.get_label()) for handle in handles), default=1)
    columns = max(1, min(columns, int(ax.figure.get_figwidth() / (0.075 * longest + 0.5))))
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=columns,
              frameon=False, fontsize=9, title=note, title_fontsize=8)


def save(figure, directory, name):
    path = os.path.join(directory, name + ".png")
    aside = path + ".new"
    for text in figure.findobj(Text):
        # Names may have dollars, and mean no formulas; ticks of logarithmic axes are none yet.
        text.set_parse_math("$" not in text.get_text())
    try:
        figure.savefig(aside, format="png")
        os.replace(aside, path)
    except OSError as error:
        raise PlotError(f"{path}: {error.strerror or error}") from error
    finally:
        plt.close(figure)
        if os.path.exists(aside):
            os.remove(aside)
    return path
