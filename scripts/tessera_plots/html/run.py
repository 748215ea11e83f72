"""Everything that a report shows of one run, as JSON with arrays aside."""

import sys

from .. import resolved
from ..errors import NothingToDraw
from . import advice, channels, links, memory, requests, service_advice, timeline, work

DEFAULT_OPERATORS = 250_000
# Of more services the page has what they held over time for those that it draws alone.
_SERVICES_WITH_WINDOWS = 64


class Progress:
    """Lines on what is under way, where somebody waits for it: a terminal, or a large trace."""

    def __init__(self, run, quiet):
        rows = sum(run.rows(table) for table in ("operators", "link_bins", "channel_bins"))
        self._says = not quiet and rows > 2_000_000

    def __call__(self, what):
        if self._says:
            print(f"report: {what} …", file=sys.stderr, flush=True)


def _or_reason(action):
    """(result, "") or (None, why there is none)."""
    try:
        return action(), ""
    except NothingToDraw as nothing:
        return None, str(nothing)


def _advice(run, values, found):
    if run.summary.get("services"):
        return service_advice.advice(run, values, found["breakdown"], found["channels"])
    return advice.advice(run, values, found["breakdown"], found["links"],
                         found["channels"]) if found["breakdown"] else []


def _shown(summary):
    """The summary; of very many services without what each held over time, which is megabytes."""
    services = summary.get("services") or []
    if len(services) <= _SERVICES_WITH_WINDOWS:
        return summary
    return {**summary, "services": [{**one, "windows": f"in summary.json: there are {len(services)} services"}
                                    for one in services]}


def collect(run, label, blobs, budget=DEFAULT_OPERATORS, quiet=False, keep_links=lambda *_: None):
    config = resolved.read_text(run.folder)
    values = resolved.flatten(config)
    progress = Progress(run, quiet)
    found, missing = {}, {}

    def part(name, what, action):
        progress(what)
        found[name], reason = _or_reason(action)
        if reason:
            missing[name] = reason

    part("breakdown", "breakdown", lambda: work.breakdown(run))
    part("operators", "operators", lambda: work.operators(run))
    part("collectives", "collectives", lambda: work.collectives(run) if run.of_graphs()
         else work.groups_of_collectives(run))
    part("timeline", "timeline", lambda: timeline.timeline(run, blobs, budget))
    part("links", "links", lambda: links.links_of(run, values, blobs, keep_links))
    part("channels", "channels of the memory", lambda: channels.channels_of(run, values, blobs))
    part("memory", "memory a tile", lambda: memory.memory_of(run, values))
    part("requests", "requests", lambda: requests.requests_of(run))
    found["advice"] = _advice(run, values, found)
    return {"label": label, "summary": _shown(run.summary), "complete": run.complete, "config": config,
            "shape": run.shape(), "end": run.end_ps(), "missing": missing, **found}
