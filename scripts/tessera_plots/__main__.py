"""Draws the pictures of a run folder, or of the folder of a sweep."""

import argparse
import os
import sys

from .errors import NothingToDraw, PlotError, ended, named


def _parse(words):
    parser = argparse.ArgumentParser(
        prog=os.environ.get("TESSERA_TOOL", "plot"), description="Draws the pictures of a run of Tessera, or of a sweep, as PNG "
        "files and prints their paths.", epilog="exit codes: 0 done, 2 bad request or nothing to draw, 74 damaged or "
        "missing files, 70 a defect of this program")
    parser.add_argument("run", metavar="RUN_DIR", nargs="?",
                        help="folder that 'tessera run' or 'tessera sweep' left behind")
    parser.add_argument("--scale", type=named, metavar="FILE",
                        help="draw instead the speed-up that 'tessera scale -o FILE' predicted")
    parser.add_argument("--traffic", type=named, metavar="FILE", action="append",
                        help="draw instead latency over load from 'tessera traffic -o FILE.json'; one "
                        "curve per file (repeatable)")
    parser.add_argument("-o", "--output", type=named, metavar="DIR",
                        help="folder for the pictures (RUN_DIR/plots, or beside FILE)")
    parser.add_argument("--only", metavar="NAME", action="append",
                        help="draw only this (repeatable): " + ", ".join(_PICTURES) + "; of a sweep: "
                        + ", ".join(_SWEEP_PICTURES))
    parser.add_argument("--over-time", action="store_true",
                        help="short for --only link_map_over_time")
    parser.add_argument("--npu", metavar="NODE", type=int,
                        help="for lanes: number of the node (default: the first in the trace)")
    parser.add_argument("--colours", choices=("logarithmic", "percentile", "linear"),
                        default="logarithmic", help="for link maps: scale of the colours "
                        "(%(default)s)")
    parser.add_argument("--beside", metavar="RUN_DIR", action="append", default=[],
                        help="for lanes: another run, drawn below on the same time axis (repeatable)")
    parser.add_argument("--columns", metavar="X,Y",
                        help="for a sweep: columns of the Pareto front "
                        "(memory_per_tile_bytes,throughput_samples_per_s; for services the tail "
                        "of their first times and the objective)")
    parser.add_argument("--axes", metavar="X,Y",
                        help="for a sweep: keys of the heat map (the first two)")
    parser.add_argument("--value", metavar="COLUMN",
                        help="for a sweep: column of the heat map (the objective)")
    options = parser.parse_args(words)
    if [options.run, options.scale, options.traffic].count(None) != 2:
        parser.error("give a run folder, --scale FILE, or --traffic FILE")
    for name in options.only or []:
        if name not in (*_PICTURES, *_SWEEP_PICTURES):
            parser.error(f"there is no picture '{name}', but {', '.join(_PICTURES)}; of a sweep "
                         + ", ".join(_SWEEP_PICTURES))
    if options.over_time:
        options.only = [*(options.only or []), "link_map_over_time"]
    return options


def _picture(module, function="draw"):
    """Loads a picture's module when it is drawn, so that --help needs no libraries."""
    def draw(run, directory):
        package = __import__(f"{__package__}.{module}", fromlist=[function])
        return getattr(package, function)(run, directory)
    return draw


_PICTURES = {
    "timeline": _picture("timeline"),
    "placement": _picture("placement"),
    "link_map": _picture("link_map"),
    "link_map_over_time": _picture("link_map", "draw_over_time"),
    "communication_bars": _picture("communication_bars"),
    "bandwidth": _picture("bandwidth"),
    "hottest": _picture("hottest"),
    "exposed_communication": _picture("exposed"),
    "stragglers": _picture("exposed", "draw_stragglers"),
    "lanes": _picture("lanes"),
    "request_times": _picture("serving", "draw_times"),
    "service_over_time": _picture("serving", "draw_over_time"),
    "service_load": _picture("service_load"),
    "core_occupancy": _picture("serving", "draw_occupancy"),
}


# Of runs of graphs alone, of those that serve requests, and of all others; of tenants those of each.
_GRAPH_PICTURES = ("exposed_communication", "stragglers", "lanes")
_SERVING_PICTURES = ("request_times", "service_over_time", "service_load", "core_occupancy")
_PLAN_PICTURES = ("placement",)


_SWEEP_PICTURES = {
    "pareto": _picture("sweep", "draw_pareto"),
    "heat_map": _picture("sweep", "draw_heat_map"),
}


def _open(options):
    """What the folder holds, and the pictures there are of it."""
    from . import sweep_folder
    if sweep_folder.is_sweep(options.run):
        return sweep_folder.SweepFolder(options.run, options), _SWEEP_PICTURES
    from .run_folder import RunFolder
    run = RunFolder(options.run)
    run.beside = [RunFolder(folder) for folder in options.beside]
    for one in (run, *run.beside):
        one.npu, one.colours = options.npu, options.colours
    return run, _PICTURES


def _draw_all(options):
    run, pictures = _open(options)
    directory = options.output or os.path.join(options.run, "plots")
    foreign = [name for name in options.only or [] if name not in pictures]
    if foreign:
        raise PlotError(f"{options.run}: {foreign[0]}: there is no such picture of this folder, but "
                        + ", ".join(pictures), exit_code=2)
    _make(directory)
    drawn = 0
    usual = list(pictures)
    if pictures is _PICTURES:
        graphs = run.of_graphs()
        foreign = ((() if run.names("tenants") else _PLAN_PICTURES) if graphs
                   else _GRAPH_PICTURES)
        if not run.of_requests():
            foreign = (*foreign, *_SERVING_PICTURES)
        elif not run.names("tenants"):
            foreign = (*_GRAPH_PICTURES, *_PLAN_PICTURES, "timeline", "communication_bars")
        usual = [name for name in pictures if name not in foreign]
    for name in dict.fromkeys(options.only or usual):
        _say(run, pictures, name)
        try:
            print(pictures[name](run, directory), flush=True)
            drawn += 1
        except NothingToDraw as nothing:
            if options.only:
                raise NothingToDraw(f"{options.run}: {name}: {nothing}") from nothing
            print(f"note: {name}: {nothing}", file=sys.stderr)
    if drawn == 0:
        raise NothingToDraw(f"{options.run}: there is nothing to draw")


def _say(run, pictures, name):
    """Which picture is being drawn, where reading takes a while."""
    if pictures is _PICTURES and run.rows("link_bins") + run.rows("operators") > 2_000_000:
        print(f"plot: {name} …", file=sys.stderr, flush=True)


def _make(directory):
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as error:
        raise PlotError(f"{directory}: {error.strerror}") from error


def _draw_scaling(options):
    from .scaling import draw
    directory = options.output or os.path.dirname(options.scale) or "."
    _make(directory)
    print(draw(options.scale, directory), flush=True)


def _draw_traffic(options):
    from .traffic import draw
    directory = options.output or os.path.dirname(options.traffic[0]) or "."
    _make(directory)
    print(draw(options.traffic, directory), flush=True)


def main(words):
    options = _parse(words)
    draw = _draw_scaling if options.scale else _draw_traffic if options.traffic else _draw_all
    return ended(lambda: draw(options), options.run or options.scale or options.traffic[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
