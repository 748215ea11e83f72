"""What aggregation keeps from the links of a run."""


def left_out_of(values):
    """Of flattened keys; empty without aggregation."""
    means = {key: value for key, value in values.items()
             if key.endswith("strategy.aggregation") and value != "none"}
    if not means:
        return ""
    return ("aggregation: " + ", ".join(dict.fromkeys(means.values())) + "; not on links: messages of tiles "
            "that others stand for, and of collectives whose time is a closed form")
