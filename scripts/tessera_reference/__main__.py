"""Makes docs/reference/, a page for each kind of parts, with every key as the program declares it, and docs/schemas/files/,
a JSON Schema for each kind of files."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pages
import schemas

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "release" / "tessera"


def built():
    if subprocess.run([ROOT / "scripts" / "build", "--target", "tessera"], check=False).returncode != 0:
        sys.exit("error: the program could not be built")
    return PROGRAM


def main():
    parser = argparse.ArgumentParser(prog="scripts/reference", description=__doc__)
    parser.add_argument("--program", help="this one; nothing is built (default: build/release/tessera)")
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 where a page differs")
    options = parser.parse_args()
    program = options.program or built()
    listed = json.loads(subprocess.run([program, "list", "--json"], check=True,
                                       capture_output=True, text=True).stdout)
    made, of_files = pages.pages_of(listed), schemas.schemas_of(program)
    if options.check:
        faults = [*pages.faults(made, ROOT), *schemas.faults(of_files, ROOT)]
        print("\n".join(faults) or "the pages are what the program says")
        return 1 if faults else 0
    pages.write(made, ROOT)
    schemas.write(of_files, ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
