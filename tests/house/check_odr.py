#!/usr/bin/env python3
"""One definition of each type in the whole program, which the linker alone sees: links it with its types
(preset `odr`: GCC's link-time optimisation with -Wodr and -Wlto-type-mismatch) and fails on what that says.

    check_odr.py REPOSITORY
    check_odr.py --self-test

Two structs of one name and two layouts in two sources are undefined behaviour that no compiler of one
source can see, and that works by luck of inlining.
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PRESET = "odr"
SKIPPED = 77
COMPILER, ARCHIVER = "g++", "gcc-ar"
SAID = re.compile(r"\[-W(?:error=)?(?:odr|lto-type-mismatch)\]|violates the C\+\+ One Definition Rule")
# A type with another layout in each of two sources; of one in a namespace without a name, nobody complains.
FAULTS = {
    "fault": ("namespace a { struct Tensor { int rows; long bytes; }; long f(const Tensor& t) { return t.bytes; } }\n",
              "namespace a { struct Tensor { long bytes; int rows; char more[64]; }; long g(const Tensor& t) "
              "{ return t.rows; } }\nint main() { return 0; }\n", True),
    "sound": ("namespace a { namespace { struct Tensor { int rows; }; } int f() { return Tensor{1}.rows; } }\n",
              "namespace a { namespace { struct Tensor { long bytes; }; } long g() { return Tensor{1}.bytes; } }\n"
              "int main() { return 0; }\n", False)}


def flags():
    presets = json.loads((Path(__file__).parents[2] / "CMakePresets.json").read_text("utf-8"))["configurePresets"]
    found = next(preset for preset in presets if preset["name"] == PRESET)
    return shlex.split(found["cacheVariables"]["CMAKE_CXX_FLAGS"])


def call(words, folder):
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def complaints(text):
    """Lines that say so, each with those behind it that belong to it."""
    lines = text.splitlines()
    return "\n".join(line for place, line in enumerate(lines)
                     if any(SAID.search(near) for near in lines[max(0, place - 4):place + 1]))


def self_test():
    for name, (first, second, is_fault) in FAULTS.items():
        with tempfile.TemporaryDirectory() as scratch:
            objects = []
            for number, text in enumerate((first, second)):
                source = Path(scratch) / f"source{number}.cpp"
                source.write_text(text, "utf-8")
                objects.append(str(source.with_suffix(".o")))
                code, said = call([COMPILER, *flags(), "-c", str(source), "-o", objects[-1]], scratch)
                if code != 0:
                    return f"{name}: {said}"
            code, said = call([COMPILER, *flags(), *objects, "-o", "program"], scratch)
            if bool(complaints(said)) != is_fault:
                return f"{name}: {'nothing is found' if is_fault else 'something is found'}: {code} {said}"
    return ""


def of_program(repository):
    code, said = call(["cmake", "--preset", PRESET], repository)
    if code != 0:
        return said
    # What is linked already says nothing once more.
    (repository / "build" / PRESET / "tessera").unlink(missing_ok=True)
    code, said = call(["cmake", "--build", "--preset", PRESET, "--target", "tessera", "--parallel",
                       str(os.cpu_count())], repository)
    return said if code != 0 else complaints(said)


def main():
    if shutil.which(COMPILER) is None or shutil.which(ARCHIVER) is None:
        print(f"{COMPILER} and {ARCHIVER} are not both installed")
        return SKIPPED
    found = self_test() if sys.argv[1] == "--self-test" else of_program(Path(sys.argv[1]).resolve())
    print(found or "each type has one definition")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
