#!/usr/bin/env python3
"""Loads the module files of an installed tree.

    modules.py PREFIX VERSION

With Environment Modules that of Tcl, with Lmod that of Lua; whichever is there, both must set the same.
"""
import os
import pathlib
import re
import shutil
import sys

from common import run, skip

MODULES = pathlib.Path("share/tessera/modulefiles")
SHELLS = {"Environment Modules": ("/usr/share/modules/init/bash", "modulecmd"),
          "Lmod": ("/usr/share/lmod/lmod/init/bash", None)}
VARIABLES = ["TESSERA_ROOT", "PATH", "PYTHONPATH", "CMAKE_PREFIX_PATH"]


def settings_of_tcl(text):
    found = re.findall(r"^(setenv|prepend-path) (\w+) \$prefix(?:/(\S+))?$", text, re.MULTILINE)
    return {(verb.replace("-", "_"), name, below) for verb, name, below in found}


def settings_of_lua(text):
    found = re.findall(r'^(setenv|prepend_path)\("(\w+)", (?:prefix|pathJoin\(prefix, "([^"]+)"\))\)$',
                       text, re.MULTILINE)
    return set(found)


def load(shell, prefix, version):
    """What a shell has after `module load`, and that nothing of it is left after `module unload`."""
    show = "; ".join(f'echo "{name}=${{{name}-}}"' for name in VARIABLES)
    said = run("bash", "-c", f"source {shell} && module use {prefix / MODULES} && "
               f"module load tessera && command -v tessera && tessera --version && {show} && "
               f"module unload tessera && echo left=${{TESSERA_ROOT-nothing}} && ! command -v tessera",
               env={"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/")})
    lines = said.splitlines()
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    assert lines[0] == str(prefix / "bin/tessera"), said
    assert lines[1].startswith(f"tessera {version} "), said
    assert values["TESSERA_ROOT"] == str(prefix), said
    assert values["PATH"].startswith(f"{prefix}/bin:"), said
    assert values["PYTHONPATH"] == f"{prefix}/lib/python3/dist-packages", said
    assert values["left"] == "nothing", said


def main():
    prefix, version = pathlib.Path(sys.argv[1]), sys.argv[2]
    folder = prefix / MODULES / "tessera"
    tcl = settings_of_tcl((folder / version).read_text("utf-8"))
    lua = settings_of_lua((folder / f"{version}.lua").read_text("utf-8"))
    assert tcl == lua and {name for _, name, _ in tcl} == set(VARIABLES), (tcl, lua)
    loaded = []
    for name, (shell, command) in SHELLS.items():
        if os.path.exists(shell) and (command is None or shutil.which(command)):
            load(shell, prefix, version)
            loaded.append(name)
    if not loaded:
        skip("neither Environment Modules nor Lmod is installed")
    print("loaded by", *loaded)


if __name__ == "__main__":
    main()
