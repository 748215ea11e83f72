"""Windows of a service over time, whose last one is as long as the service was there."""

_MEANS = ("running", "waiting", "cache_blocks", "replicas")


def _last_ps(service):
    return service.get("last_window_ps") or service["window_ps"]  # older runs do not say


def edges_of(service):
    """Where they begin, and where the last one ends [ps]."""
    if not service["windows"]:
        return []
    begins = [number * service["window_ps"] for number in range(len(service["windows"]))]
    return [*begins, begins[-1] + _last_ps(service)]


def windows_of(service):
    """With the `seconds` of each. The summary's means are over a width; these are over its time."""
    if not service["windows"]:
        return []
    *others, last = service["windows"]
    width, last_ps = service["window_ps"], _last_ps(service)
    means = {name: last[name] * width / last_ps for name in _MEANS if name in last}
    return [*({**one, "seconds": width / 1e12} for one in others), {**last, **means, "seconds": last_ps / 1e12}]
