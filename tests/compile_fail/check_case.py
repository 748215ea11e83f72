#!/usr/bin/env python3
"""Compiles one case twice: as it should be written, and with the mistake.

    check_case.py CASE.cpp COMPILER [OPTIONS ...]

Without MISTAKE the file must compile; with -DMISTAKE it must not, and the compiler must say what
the line "// expect: REGEX" of the file asks for.
"""
import os
import re
import subprocess
import sys


def main():
    path, command = sys.argv[1], sys.argv[2:] + ["-fsyntax-only"]
    with open(path, encoding="utf-8") as lines:
        expected = re.search(r"^// expect: (.+)$", lines.read(), re.MULTILINE).group(1)
    environment = dict(os.environ, LC_ALL="C")

    def compile_it(options):
        return subprocess.run(command + options + [path], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env=environment, timeout=120, check=False)

    right = compile_it([])
    if right.returncode != 0:
        print("does not compile even without the mistake:\n" + right.stdout.decode())
        return 1
    wrong = compile_it(["-DMISTAKE"])
    said = wrong.stdout.decode()
    if wrong.returncode == 0:
        print("the mistake compiles")
        return 1
    if not re.search(r"error: .*(%s)" % expected, said):
        print("refused, but not with an error like %s:\n%s" % (expected, said))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
