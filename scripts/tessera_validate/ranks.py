#!/usr/bin/env python3
"""Reruns everything behind results/ranks.md and rewrites it: real experiments on one rank and on two.

Ends with 1 when a bound is missed. `--reduced` runs the quick part and writes nothing: what the test
suite does. Wall times mean something on two processors that nothing else uses.
"""

import sys

from parts import make_page

if __name__ == "__main__":
    sys.exit(make_page(__doc__, "ranks", "Ranks that pay",
                       ("wafer_training", "full_wafer", "cluster", "tiles", "small", "digests")))
