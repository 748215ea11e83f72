"""DRAM channels: the hottest, and bytes over time beside their capacity."""

from ..channel_use import Channels
from ..node_names import names_of
from .table import table

_CURVES = 8
_HOTTEST = 100


def _hottest(channels, name_of):
    rows, span = channels.rows, channels.span
    moved = rows["read"].astype(float) + rows["written"]
    return table(
        "Hottest DRAM channels",
        [("channel", "text"), ("at", "text"), ("busy", "share"), ("read", "bytes"),
         ("written", "bytes"), ("mean rate", "rate"), ("capacity", "rate"), ("longest wait", "time")],
        [[f"channel {rows['channel'][i]}", name_of(rows["node"][i]), float(channels.share[i]),
          int(rows["read"][i]), int(rows["written"][i]), float(moved[i] / span * 1e12),
          float(channels.capacity[i]), int(rows["longest_wait"][i])]
         for i in channels.order[:_HOTTEST].tolist()],
        f"{rows.size} channels in use, busy {channels.share.mean():.1%} of the time on average; "
        f"capacity: {channels.said}")


def channels_of(run, values, blobs):
    """Throws NothingToDraw."""
    channels = Channels(run, values)
    rates = channels.read + channels.written
    return {
        "hottest": _hottest(channels, names_of(run, values)), "count": int(channels.rows.size),
        "mean_busy": float(channels.share.mean()), "most_busy": float(channels.share.max()),
        "edges": channels.frames.edges.tolist(), "capacity": float(channels.capacity.sum()),
        "read": blobs.add(channels.read.sum(axis=1)),
        "written": blobs.add(channels.written.sum(axis=1)),
        "channels": [{"name": f"channel {channels.rows['channel'][i]}",
                      "capacity": float(channels.capacity[i]),
                      "rate": blobs.add(rates[:, i].astype("f4"))}
                     for i in channels.order[:_CURVES].tolist()],
    }
