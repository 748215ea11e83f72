#!/usr/bin/env python3
"""Looks at Debian packages: `tessera` and `tessera-dev` in FOLDER.

    debian.py FOLDER VERSION [lintian]

With lintian: Debian's own rules, of which none that it calls an error may be broken.
"""
import pathlib
import re
import shutil
import sys

from common import run, skip

# What is started or imported, beside the libraries that dpkg-shlibdeps finds.
STARTED = ["openmpi-bin", "python3", "python3-h5py", "python3-numpy"]
LIBRARIES = ["libc6", "libopenmpi3", "libhdf5-103-1", "libmetis5", "libonnx1", "libyaml-cpp0.7",
             "libfmt9", "zlib1g"]
HELD = ["usr/bin/tessera", "usr/bin/tessera-quickstart", "usr/share/man/man1/tessera.1.gz",
        "usr/share/man/man1/tessera-run.1.gz", "usr/share/doc/tessera/copyright",
        "usr/share/doc/tessera/changelog.gz", "usr/share/doc/tessera/sbom.cdx.json",
        "usr/share/doc/tessera/licences/libhdf5-103-1.txt", "usr/share/doc/tessera/CHANGELOG.md",
        "usr/share/tessera/configs/experiments/quickstart.yaml", "usr/share/tessera/scripts/quickstart",
        "usr/lib/python3/dist-packages/tessera/__init__.py"]
HELD_FOR_PROGRAMS = ["usr/include/tessera/core/version.hpp", "usr/lib/cmake/tessera/FindMETIS.cmake",
                     "usr/lib/cmake/tessera/FindONNX.cmake",
                     "usr/lib/cmake/tessera/tessera-config.cmake", "usr/share/doc/tessera-dev/copyright"]
# `-rwxr-xr-x root/root 342 2026-11-24 19:52 ./usr/bin/x -> y`
ROW = re.compile(r"(\S{10}) (\S+) +\d+ \S+ \S+ \./(.*?)(?: -> .*)?$")


def control_of(package):
    """The fields of its control file."""
    return dict(re.findall(r"^ ([A-Z][\w-]*): (.*)$", run("dpkg-deb", "-I", package), re.MULTILINE))


def names_in(field):
    return [entry.split()[0] for entry in field.split(",")]


def rows_of(package):
    """Mode and owner of each file and folder, by its name."""
    rows = [ROW.match(line) for line in run("dpkg-deb", "-c", package).splitlines()]
    return {row[3]: (row[1], row[2]) for row in rows}


def check_control(package, name, version):
    control = control_of(package)
    assert (control["Package"], control["Version"]) == (name, version), control
    assert control["Maintainer"].count("@") == 1 and control["Description"], control
    return control


def check_files(package, held):
    rows = rows_of(package)
    missing = [name for name in held if name not in rows]
    assert not missing, f"{package.name} lacks {missing}"
    for name, (mode, owner) in rows.items():
        assert owner == "root/root", f"{name} belongs to {owner}"
        assert name in ("", "usr/") or name.startswith("usr/"), f"{name} is outside of /usr"
        assert mode[0] != "d" or mode == "drwxr-xr-x", f"{name} is {mode}"
        assert mode[0] == "l" or mode[5] == mode[8] == "-", f"{name} is {mode}"
    return {name for name, (mode, _) in rows.items() if mode[0] != "d"}


def main():
    folder, version = pathlib.Path(sys.argv[1]), sys.argv[2]
    program = next(folder.glob(f"tessera_{version}_*.deb"))
    development = next(folder.glob(f"tessera-dev_{version}_*.deb"))
    if "lintian" in sys.argv[3:]:
        if shutil.which("lintian") is None:
            skip("lintian is not installed")
        print(run("lintian", "--allow-root", "--fail-on", "error", program, development))
        return
    control = check_control(program, "tessera", version)
    needed = names_in(control["Depends"])
    missing = [name for name in STARTED + LIBRARIES if name not in needed]
    assert not missing, f"does not depend on {missing}: {needed}"
    # matplotlib would bring a compiler.
    assert "python3-matplotlib" not in needed and "python3-matplotlib" in control["Recommends"]
    assert f"tessera (= {version})" in check_control(development, "tessera-dev", version)["Depends"]
    shared = check_files(program, HELD) & check_files(development, HELD_FOR_PROGRAMS)
    assert not shared, f"in both packages: {shared}"
    assert not any(name.endswith((".a", ".hpp", ".1")) for name in check_files(program, HELD))


if __name__ == "__main__":
    main()
