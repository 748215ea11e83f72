"""Latency of messages over the load of a network."""

import os

from .errors import NothingToDraw
from .figure import OTHER_COLOURS, COLOURS, new_plain_figure, save
from .json_report import read_report

_CURVES = [COLOURS["backward"], COLOURS["pipeline"], COLOURS["update"], COLOURS["data"], *OTHER_COLOURS]
_DONE = ("steady", "not steady")


def draw(paths, directory):
    reports = [read_report(path, "tessera-traffic", "tessera traffic -o FILE.json") for path in paths]
    if not any(report["points"] for report in reports):
        raise NothingToDraw(f"{paths[0]}: there are no points")
    first = reports[0]
    figure, axes = new_plain_figure(
        "Latency and throughput over load",
        f"{first['machine']}, {first['nodes']} nodes, network {first['network']}, {first['pattern']}, "
        f"{first['process']}, messages of {first['message_flits']} flits", 10, 4.5, columns=2)
    latency, accepted = axes[0]
    for number, (path, report) in enumerate(zip(paths, reports)):
        colour = _CURVES[number % len(_CURVES)]
        name = os.path.splitext(os.path.basename(path))[0]
        points = sorted(report["points"], key=lambda point: point["rate"])
        done = [point for point in points if point["status"] in _DONE]
        latency.plot([point["rate"] for point in done], [point["latency"] for point in done],
                     marker="o", markersize=3, color=colour, label=name)
        accepted.plot([point["rate"] for point in points],
                      [point["accepted_rate"] for point in points],
                      marker="o", markersize=3, color=colour, label=name)
    latency.set_ylim(bottom=0)
    latency.set_ylabel("mean latency [cycles]")
    top = max(point["rate"] for report in reports for point in report["points"])
    accepted.plot([0, top], [0, top], color="#7f7f7f", linestyle="--", label="offered")
    accepted.set_ylabel("accepted [flits / (node · cycle)]")
    for part in (latency, accepted):
        part.set_xlim(left=0)
        part.set_xlabel("offered [flits / (node · cycle)]")
        part.legend(frameon=False)
    name = os.path.splitext(os.path.basename(paths[0]))[0] + "_load"
    return save(figure, directory, name)
