#!/usr/bin/env python3
"""Looks at what an installed tree says it is made of, and at the sums of packages: parts.py REPOSITORY PREFIX."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from common import skip

LINKED = {"libhdf5-103-1", "libopenmpi3", "libyaml-cpp0.7", "libprotobuf32", "libmetis5", "libonnx1", "zlib1g"}
COMPILED_IN = {"libcxxopts-dev", "nlohmann-json3-dev", "libspdlog-dev"}


def check_bill(prefix):
    path = prefix / "share/doc/tessera/sbom.cdx.json"
    bill = json.loads(path.read_text(encoding="utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5"), bill
    scopes = {part["name"]: next(entry["value"] for entry in part["properties"] if entry["name"] == "tessera:scope")
              for part in bill["components"]}
    if not any("purl" in part for part in bill["components"]):
        skip("not a system with Debian's packages")
    assert all(part["version"] for part in bill["components"] if "purl" in part)
    if "libopenmpi3" in scopes:  # another MPI has another package
        missing = [name for name in LINKED if scopes.get(name) != "direct"]
        assert not missing, f"not named as linked: {missing}"
    missing = [name for name in COMPILED_IN if scopes.get(name) != "compiled-in"]
    assert not missing, f"not named as compiled in: {missing}"
    references = {part["bom-ref"] for part in bill["components"]}
    assert set(bill["dependencies"][0]["dependsOn"]) <= references
    for name, scope in scopes.items():
        licence = prefix / "share/doc/tessera/licences" / f"{name}.txt"
        if scope != "indirect" and not name.endswith(".so"):
            assert licence.is_file() and licence.stat().st_size > 100, f"no licence text of {name}"


def check_signature(repository, folder):
    """With a key of its own, in a folder of its own."""
    with tempfile.TemporaryDirectory() as home:
        environment = dict(os.environ, GNUPGHOME=home, TESSERA_SIGNING_KEY="test@tessera.invalid")

        def call(*words):
            subprocess.run(words, check=True, env=environment, capture_output=True)
        call("gpg", "--batch", "--passphrase", "", "--quick-gen-key", "test@tessera.invalid")
        call("bash", "-c", f'source "{repository}/scripts/lib.sh"; write_sums "{folder}"')
        call("gpg", "--verify", folder / "SHA256SUMS.asc", folder / "SHA256SUMS")
        call("gpgconf", "--kill", "all")


def check_sums(repository):
    """Sums are those of the files, and are signed where there is a key."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "made"
        folder.mkdir()
        (folder / "tessera_1_amd64.deb").write_bytes(b"a package")
        (folder / "tessera-1.tar.gz").write_bytes(b"an archive")
        subprocess.run(["bash", "-c", f'source "{repository}/scripts/lib.sh"; write_sums "{folder}"'], check=True)
        lines = (folder / "SHA256SUMS").read_text(encoding="ascii").splitlines()
        assert sorted(lines) == sorted(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}"
                                       for name in ("tessera_1_amd64.deb", "tessera-1.tar.gz")), lines
        assert not (folder / "SHA256SUMS.asc").exists()
        if shutil.which("gpg"):
            check_signature(repository, folder)


def main():
    check_sums(pathlib.Path(sys.argv[1]))
    check_bill(pathlib.Path(sys.argv[2]))


if __name__ == "__main__":
    main()
