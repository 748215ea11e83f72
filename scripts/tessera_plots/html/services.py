"""Of runs that serve requests: what the summary says of each service, whatever was kept of the trace."""

from ..service_windows import edges_of, windows_of
from .table import table

_MOST_SERVICES = 8
_HELD = ("running", "waiting", "cache_blocks")
_TIMES = (("first token", "first_token_ps"), ("between tokens", "between_tokens_ps"),
          ("a token of a request, in the mean", "a_token_ps"), ("whole request", "latency_ps"))


def wholes(summary):
    """Services; of one with replicas, all of these together."""
    totals = summary.get("service_totals") or []
    names = {one["tenant"] for one in totals}
    return [*totals, *(one for one in summary.get("services") or []
                       if one["tenant"].rpartition(".")[0] not in names)]


def _quantile(service, key, name):
    times = service.get(key) or {}
    return times.get(name) if times.get("count") else None


def table_of(summary):
    """A line for each service, and for all of its replicas; None where nothing is served."""
    rows = []
    for more, services in (("", summary.get("services")), (" (all replicas)", summary.get("service_totals"))):
        for one in services or []:
            served = one["served"]
            rows.append([one["tenant"] + more, one.get("npus"), served, one["tokens"],
                         one["met"] / served if served and "met" in one else None, one.get("met_per_s"),
                         one["late_requests"], one["late_tokens"], one["again"], one["cache_blocks"],
                         *(_quantile(one, key, name) for _, key in _TIMES for name in ("p50", "p99"))])
    heads = [(f"{what}, {name}", "time") for what, _ in _TIMES for name in ("median", "99 %")]
    return table("Services", [("service", "text"), ("NPUs", "count"), ("requests", "count"), ("tokens", "count"),
                              ("met all targets", "share"), ("met a second", "count"), ("late requests", "count"),
                              ("late tokens", "count"), ("caches given back", "count"),
                              ("blocks of the cache at most", "count"), *heads], rows) if rows else None


def rows_of_times(summary):
    """As the table of times of requests has them."""
    return [[one["tenant"], what, one[key]["count"], one[key]["mean"],
             *(one[key][name] for name in ("p50", "p95", "p99", "most"))]
            for one in summary["services"] for what, key in _TIMES if _quantile(one, key, "mean") is not None]


def held_in_windows(summary):
    """Of the first services: what they held in each window, in the mean."""
    return [{"tenant": one["tenant"], "edges": edges_of(one),
             **{name: [window[name] for window in windows_of(one)] for name in _HELD}}
            for one in summary["services"][:_MOST_SERVICES] if one.get("windows")]
