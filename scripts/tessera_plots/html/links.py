"""Links: how busy each is, over the run and over time; the hottest; their capacity."""

import numpy as np

from ..cluster import Layout, cluster_of
from ..errors import NothingToDraw
from ..link_layout import Map, arrows
from ..link_use import Links
from ..link_left_out import left_out_of
from ..node_names import names_of
from .blobs import codes_of
from .table import table

_MOST_ARROWS = 6000
_HOTTEST = 100
_CURVES = 12
_PIXELS = 720  # a side of a map, of machines that are larger


def hottest(links, name_of):
    rows = links.rows
    order = np.argsort(-links.share, kind="stable")[:_HOTTEST]
    peak = links.shares.max(axis=0)
    return table(
        "Hottest links", [("link", "text"), ("kind", "text"), ("busy", "share"),
                          ("busiest bin", "share"), ("bytes", "bytes"), ("mean rate", "rate"),
                          ("capacity", "rate"), ("largest queue", "bytes")],
        [[f"{name_of(rows['node'][i])} → {name_of(rows['to'][i])}",
          links.class_name(rows["class"][i]), float(links.share[i]), float(peak[i]),
          int(rows["bytes"][i]), float(rows["bytes"][i] / links.span * 1e12),
          float(links.capacity[i]), int(rows["largest_queue"][i])] for i in order.tolist()],
        f"the {order.size} busiest of {rows.size} links that carried something")


def by_class(links):
    found = []
    for number in np.unique(links.rows["class"]):
        own = links.rows["class"] == number
        found.append([links.class_name(number), int(own.sum()),
                      int(links.rows["bytes"][own].sum()), float(links.share[own].mean()),
                      float(np.quantile(links.share[own], 0.99)), float(links.share[own].max()),
                      float(np.median(links.capacity[own])), links.said[int(number)]])
    return table("Links by kind", [("kind", "text"), ("used", "count"), ("carried", "bytes"),
                                   ("mean busy", "share"), ("99th percentile", "share"),
                                   ("busiest", "share"), ("capacity", "rate"),
                                   ("capacity is of", "text")], found)


def curves(links, name_of, blobs):
    """Rates of the hottest links over time, and of all links together."""
    order = np.argsort(-links.share, kind="stable")[:_CURVES]
    seconds = links.frames.lengths * 1e-12
    rows = links.rows
    rates = links.over_time["bytes"] / seconds[:, None]
    quantiles = np.quantile(links.shares, [0.5, 0.99, 1.0], axis=1)
    return {
        "edges": links.frames.edges.tolist(),
        "links": [{"name": f"{name_of(rows['node'][i])} → {name_of(rows['to'][i])}",
                   "capacity": float(links.capacity[i]),
                   "rate": blobs.add(rates[:, i].astype("f4"))} for i in order.tolist()],
        "total": blobs.add(rates.sum(axis=1)),
        "busy": {name: blobs.add(part.astype("f4"))
                 for name, part in zip(("median", "99th percentile", "busiest"), quantiles)},
    }


def _pixels(where, shares):
    """[row][column] of each node's busiest outgoing link; of large machines the most of a block."""
    column = np.rint((where.x - where.x.min()) / where.spacing_x).astype(int)
    row = np.rint((where.y - where.y.min()) / where.spacing_y).astype(int)
    size = (row.max() + 1, column.max() + 1)
    block = -(-max(size) // _PIXELS)
    image = np.zeros((shares.shape[0], -(-size[0] // block), -(-size[1] // block)))
    place = row // block * image.shape[2] + column // block
    for frame, share in enumerate(shares):
        np.maximum.at(image[frame].reshape(-1), place[where.source], share)
    exists = np.zeros(image.shape[1:], bool)
    exists.reshape(-1)[place] = True
    return image, exists, block


def _image_map(where, shares, blobs):
    image, exists, block = _pixels(where, shares)
    codes = codes_of(image)
    return {"form": "image", "rows": image.shape[1], "columns": image.shape[2], "block": block,
            "what": "busiest outgoing link of each node" + (
                f", the most of {block}×{block} nodes a pixel" if block > 1 else ""),
            "exists": blobs.add(exists.astype(np.uint8).ravel()),
            "frames": [blobs.add(frame.ravel()) for frame in codes]}


def _arrow_map(where, shares, rows, name_of, blobs):
    x, y, dx, dy = arrows(where)
    return {"form": "arrows", "what": "each direction of each link", "width": 0.09 * min(
                where.spacing_x, where.spacing_y),
            "nodes": {"x": blobs.add(where.x.astype("f4")), "y": blobs.add(where.y.astype("f4")),
                      "used": blobs.add(where.used.astype(np.uint8))},
            "spacing": [where.spacing_x, where.spacing_y],
            "x": blobs.add(x.astype("f4")), "y": blobs.add(y.astype("f4")),
            "dx": blobs.add(dx.astype("f4")), "dy": blobs.add(dy.astype("f4")),
            "names": [f"{name_of(a)} → {name_of(b)}" for a, b in
                      zip(rows["node"].tolist(), rows["to"].tolist())],
            "frames": [blobs.add(frame) for frame in codes_of(shares)]}


def _box_map(layout, links, shares, blobs):
    nodes = layout.boxes.shape[0]
    most = np.zeros((shares.shape[0], nodes))
    for frame, share in enumerate(shares):
        np.maximum.at(most[frame], links.rows["node"], share)
    return {"form": "boxes", "what": "busiest outgoing link of each node, a column a server", "size": layout.size,
            "boxes": blobs.add(layout.boxes.astype("f4").ravel()), "labels": layout.labels(),
            "cluster": {"first": layout.cluster.first.tolist(), "nics": layout.cluster.nics,
                        "accelerators": layout.cluster.accelerators,
                        "rails": layout.cluster.rails},
            "frames": [blobs.add(frame) for frame in codes_of(most)]}


def link_map(run, links, values, name_of, blobs):
    """Codes of shares: first of the whole run, then of each frame."""
    shares = np.vstack((links.share, links.shares))
    cluster = cluster_of(values, run.rows("nodes"))
    if cluster:
        drawn = _box_map(Layout(cluster), links, shares, blobs)
    else:
        where = Map(run, links.rows, 10)
        drawn = (_arrow_map(where, shares, links.rows, name_of, blobs)
                 if where.with_arrows and links.rows.size <= _MOST_ARROWS
                 else _image_map(where, shares, blobs))
        drawn["part"] = where.part()
    if left_out := left_out_of(values):
        drawn["what"] += "; " + left_out
    return {**drawn, "edges": links.frames.edges.tolist(), "links": int(links.rows.size)}


def links_of(run, values, blobs, keep):
    """Throws NothingToDraw. `keep(links, name_of)` is told of all of them."""
    if not run.rows("links") and not run.rows("link_bins"):
        raise NothingToDraw("the network keeps no account of its links")
    links = Links(run, values)
    name_of = names_of(run, values)
    keep(links, name_of)
    return {"hottest": hottest(links, name_of), "by_class": by_class(links),
            "curves": curves(links, name_of, blobs),
            "map": link_map(run, links, values, name_of, blobs)}
