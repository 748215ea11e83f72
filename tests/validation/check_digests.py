#!/usr/bin/env python3
"""Holds the program against the digests of results/digests.md.

    check_digests.py TESSERA PART [EXPERIMENT...]

Names each experiment whose digest the page does not give, and the command that makes the rows again.
Those named, from the root, are not run: tests/parallel/run_case.py holds their runs against the page.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts" / "tessera_validate"))

from catalogue import PAGES
from digests.rows import experiments, stale


def main():
    program, part, *elsewhere = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        faults = list(stale(PAGES["digests"], part, program, folder, elsewhere))
    print("\n".join(faults) or f"{len(experiments(part)) - len(elsewhere)} digests agree")
    return 1 if faults or not {name for name, _ in experiments(part)} > set(elsewhere) else 0


if __name__ == "__main__":
    sys.exit(main())
