#!/usr/bin/env python3
"""Holds the program against the digests of results/digests.md, and against those that other pages and documents state
and that have no row there (scripts/tessera_validate/digests/stated.py).

    check_digests.py TESSERA PART [EXPERIMENT...]

Names each experiment whose digest a page does not give, and the command that makes it again. PART is one of
results/digests.md, or `onnx`: what other pages state of models that python3-onnx makes. Those named, from the root, are not run: tests/parallel/run_case.py holds their runs against the page.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts" / "tessera_validate"))

from catalogue import PAGES
from digests import stated
from digests.rows import experiments, stale


def main():
    program, part, *elsewhere = sys.argv[1:]
    page, names = PAGES["digests"], {name for name, _ in experiments(part)}
    with tempfile.TemporaryDirectory() as folder:
        faults = list(stated.stale(part, program, folder))
        if part in page.parts:
            faults += stale(page, part, program, folder, elsewhere)
            if not names > set(elsewhere):
                faults.append(f"not in part {part}: {', '.join(sorted(set(elsewhere) - names)) or 'anything'}")
    print("\n".join(faults) or f"digests of part {part} agree")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
