#!/usr/bin/env python3
"""Reruns everything behind results/levels.md and rewrites it: one experiment at every level of detail.

Ends with 1 when levels that mean the same differ, or others leave their band. `--reduced` runs a few
experiments of each family and writes nothing: what the test suite does.
"""

import sys

from parts import make_page

if __name__ == "__main__":
    sys.exit(make_page(__doc__, "levels", "Levels hold each other",
                       ("messages", "collectives", "steps", "memory", "compute", "plans")))
