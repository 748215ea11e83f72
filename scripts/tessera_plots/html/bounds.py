"""Shares in the words of advice."""

import math


def percent(share):
    """With a digit more where it is near nothing or near all: such a share is what a line is about."""
    value = 100 * share
    near = min(abs(value), abs(100 - value))
    digits = 1 if near == 0 else min(6, max(1, -math.floor(math.log10(near))))
    return f"{value:.{digits}f} %"
