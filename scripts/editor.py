"""Writes a JSON Schema for each kind of files, from what the program declares, and the settings by which editors hold
every file of configs/ and workloads/ against its own: names, values and units are completed and checked while one types.

Schemas go to build/schemas, settings to .vscode/settings.json (VS Code, VSCodium, with the extension YAML of Red Hat);
other editors with yaml-language-server take the same table `yaml.schemas`. Both are made again when the program is
another one; settings of yours in that file stay."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Kind of files, and where they are. Files of requests and models in JSON have no schema.
FILES = {"experiment": "configs/experiments/*.yaml", "machine": "configs/machines/*.yaml",
         "sweep": "configs/sweeps/*.yaml", "campaign": "configs/campaigns/*.yaml", "dram": "configs/dram/*.yaml",
         "traffic": "configs/traffic/*.yaml", "workload": "workloads/*.yaml",
         "strategy": "**/strategy.yaml"}  # as plan calls it


def schema_of(program, kind):
    return subprocess.run([program, "list", "--schema", kind], check=True, capture_output=True, text=True).stdout


def settings_with(text, table):
    """Those that are there, with the table of schemas put in."""
    settings = json.loads(text) if text.strip() else {}
    settings.setdefault("yaml.schemas", {}).update(table)
    return json.dumps(settings, indent=2) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="scripts/editor", description=__doc__)
    parser.add_argument("--program", default=ROOT / "build" / "release" / "tessera",
                        help="whose declarations (default: build/release/tessera)")
    parser.add_argument("--folder", type=Path, default=ROOT, help="the tree that is edited (default: this one)")
    options = parser.parse_args()
    schemas, settings = options.folder / "build" / "schemas", options.folder / ".vscode" / "settings.json"
    try:
        made = {kind: schema_of(options.program, kind) for kind in FILES}
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: {options.program}: {error}; scripts/build makes one")
    schemas.mkdir(parents=True, exist_ok=True)
    for kind, text in made.items():
        (schemas / f"{kind}.schema.json").write_text(text, encoding="utf-8")
    table = {f"./build/schemas/{kind}.schema.json": files for kind, files in FILES.items()}
    before = settings.read_text(encoding="utf-8") if settings.exists() else ""
    try:
        after = settings_with(before, table)
    except ValueError as error:
        sys.exit(f"error: {settings}: {error}; it is left as it is, put this into it: "
                 + json.dumps({"yaml.schemas": table}))
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(after, encoding="utf-8")
    print(f"{len(made)} schemas in {schemas}, settings in {settings}")


if __name__ == "__main__":
    main()
