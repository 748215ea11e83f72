#!/usr/bin/env python3
"""Says what a program is made of, as CycloneDX 1.5, and gathers the licences of it.

    sbom.py --program FILE --version X -o SBOM.json [--licences FOLDER]

Components are the packages of Debian that hold the shared libraries which the program is linked with
(`direct`, as ELF names them) and those that these need, and the libraries of headers that are compiled into
it. Their versions, sums and licence texts are those of the packages that are installed. On other systems a
library is a component by its file name and SHA-256 alone. Same input, same bytes: no times, no random names.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

# Compiled in: a header of each, by which its package is known.
HEADERS = {"cxxopts": "/usr/include/cxxopts.hpp", "nlohmann-json": "/usr/include/nlohmann/json.hpp",
           "spdlog": "/usr/include/spdlog/spdlog.h", "fmt": "/usr/include/fmt/format.h",
           "yaml-cpp": "/usr/include/yaml-cpp/yaml.h",
           "protobuf": "/usr/include/google/protobuf/message.h", "onnx": "/usr/include/onnx/onnx_pb.h"}
KNOWN = re.compile(r"^License: *(\S.*)$", re.MULTILINE)


def output_of(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def needed(program):
    """Names of the libraries that the program itself asks for."""
    return set(re.findall(r"NEEDED.*\[(.+)\]", output_of("readelf", "-d", str(program)))) or \
        set(re.findall(r"NEEDED\s+(\S+)", output_of("objdump", "-p", str(program))))


def libraries(program):
    """Paths of all libraries by name, of those too that others need."""
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", output_of("ldd", str(program)), re.MULTILINE))


def packages_of(paths):
    """Debian's packages of files by path; asked under each of the names that a file has (/lib is /usr/lib)."""
    if not shutil.which("dpkg-query"):
        return {}
    names = {}
    for path in paths:
        real = str(Path(path).resolve())
        for name in (path, real, real.removeprefix("/usr"), "/usr" + path):
            names.setdefault(name, set()).add(path)
    owners = re.findall(r"^([^,:\s]+)[^/\n]*: (/\S+)$", output_of("dpkg-query", "-S", *names), re.MULTILINE)
    return {path: package for package, name in owners for path in names.get(name, ())}


def copyright_of(package):
    path = Path("/usr/share/doc") / package / "copyright"
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def licences_of(text):
    """Short names of a machine-readable copyright file, without doubles."""
    return sorted({name.strip() for name in KNOWN.findall(text)})


def component(status, scope):
    package, version, architecture, source, homepage = (status.split("\t") + [""] * 5)[:5]
    made = {"type": "library", "bom-ref": f"{package}@{version}", "name": package, "version": version,
            "purl": f"pkg:deb/debian/{package}@{version}?arch={architecture}",
            "properties": [{"name": "debian:source", "value": source}, {"name": "tessera:scope", "value": scope}]}
    names = licences_of(copyright_of(package))
    if names:
        made["licenses"] = [{"license": {"name": name}} for name in names]
    if homepage:
        made["externalReferences"] = [{"type": "website", "url": homepage}]
    return made


def components(scopes):
    """One for each package, by name; of those of which several architectures are installed the first."""
    form = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${Homepage}\n"
    lines = output_of("dpkg-query", "-W", "-f", form, *sorted(scopes)).splitlines() if scopes else []
    first = {}
    for line in lines:
        first.setdefault(line.split("\t")[0], line)
    return [component(line, scopes[package]) for package, line in sorted(first.items())]


def sum_of(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def survey(program):
    """Components by package (or file), with how each is used: direct, compiled-in, indirect."""
    scopes, files = {}, []
    direct, linked = needed(program), libraries(program)
    headers = [path for path in HEADERS.values() if Path(path).exists()]
    owners = packages_of([*headers, *linked.values()])
    for path in headers:
        if path in owners:
            scopes[owners[path]] = "compiled-in"
    for name, path in linked.items():
        scope = "direct" if name in direct else "indirect"
        if path not in owners:
            files.append({"type": "library", "bom-ref": name, "name": name, "hashes": [
                {"alg": "SHA-256", "content": sum_of(path)}],
                "properties": [{"name": "tessera:scope", "value": scope}]})
        elif scopes.get(owners[path], "indirect") == "indirect":
            scopes[owners[path]] = scope
    return scopes, sorted(files, key=lambda made: made["name"])


def sbom(options):
    scopes, files = survey(options.program)
    parts = components(scopes) + files
    own = {"type": "application", "bom-ref": f"tessera@{options.version}", "name": "tessera",
           "version": options.version}
    used = [part["bom-ref"] for part in parts
            if {"name": "tessera:scope", "value": "indirect"} not in part["properties"]]
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"component": own}, "components": parts,
            "dependencies": [{"ref": own["bom-ref"], "dependsOn": used}]}, scopes


def write_licences(folder, scopes):
    """A file a package of what is linked or compiled in; what these need in turn has its own package."""
    folder.mkdir(parents=True, exist_ok=True)
    for package, scope in sorted(scopes.items()):
        text = copyright_of(package)
        if text and scope != "indirect":
            (folder / f"{package}.txt").write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--licences", type=Path)
    options = parser.parse_args()
    if not options.program.is_file():
        print(f"error: {options.program}: no such program", file=sys.stderr)
        return 2
    made, scopes = sbom(options)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if options.licences:
        write_licences(options.licences, scopes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
