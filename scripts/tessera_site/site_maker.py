"""Stages pages, runs MkDocs on them, looks through what it made, and lists the versions there are."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import faults
import stage

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETTINGS = pathlib.Path(__file__).with_name("mkdocs.yml")


def version():
    """Of the program, as CMake has it."""
    return re.search(r"project\(tessera VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def commit():
    """Of the tree, if it is one of git's, with a plus where files differ from it."""
    done = subprocess.run(["git", "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=+"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def build(source, target):
    """Runs MkDocs on staged pages; its exit code."""
    here = os.path.relpath(source, SETTINGS.parent)
    label = f"Tessera {version()}, documentation of commit {commit()}"
    names = {"TESSERA_SITE_NAME": f"Tessera {version()}", "TESSERA_SITE_LABEL": label, "TESSERA_SITE_PAGES": here}
    return subprocess.run(["mkdocs", "build", "--quiet", "--strict", "--clean", "-f", str(SETTINGS),
                           "-d", str(target)], env={**os.environ, **names}, check=False).returncode


def list_versions(folder):
    """versions.json is what the theme's selector reads; the root leads to the newest."""
    found = [each.name for each in folder.iterdir() if (each / "sitemap.xml").exists()]
    found.sort(key=lambda name: [int(part) for part in re.findall(r"\d+", name)], reverse=True)
    entries = [{"version": name, "title": name, "aliases": ["latest"] if name == found[0] else []} for name in found]
    (folder / "versions.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    (folder / "index.html").write_text(
        f'<!doctype html><meta charset="utf-8"><title>Tessera</title>'
        f'<meta http-equiv="refresh" content="0; url={found[0]}/"><a href="{found[0]}/">Tessera {found[0]}</a>\n',
        encoding="utf-8")


def main(folder):
    """The exit code."""
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        source, target = pathlib.Path(scratch) / "pages", pathlib.Path(scratch) / "site"
        wrong = stage.stage(ROOT, source)
        wrong += faults.outside_navigation(SETTINGS, source)
        if build(source, target) != 0:
            wrong.append("mkdocs has complaints, see above")
        else:
            wrong += faults.faults(target)
        for fault in wrong:
            print(f"error: {fault}", file=sys.stderr)
        if wrong:
            return 1
        shutil.rmtree(folder / version(), ignore_errors=True)
        shutil.copytree(target, folder / version())
    list_versions(folder)
    print(f"{folder / version()}/index.html")
    return 0
