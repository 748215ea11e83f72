#!/usr/bin/env python3
"""Compares the parts that a build of Tessera knows with the written list.

    check_parts.py TESSERA LIST

With static libraries the linker drops an object that does nothing but register itself; a part that
is lost, or new and not in the list, is found here.
"""
import re
import subprocess
import sys


def written(path):
    kinds = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.split("#")[0].strip()
            if line:
                kind, names = line.split(":")
                kinds[kind] = sorted(names.split())
    return kinds


def known(tessera, kind):
    done = subprocess.run([tessera, "list", kind], stdout=subprocess.PIPE, check=True, timeout=60)
    lines = done.stdout.decode("utf-8").splitlines()
    # A part is indented by two spaces, its parameters by more.
    return sorted(line.split()[0] for line in lines if re.match("  [^ ]", line))


def main():
    tessera, path = sys.argv[1:]
    code = 0
    kinds = written(path)
    heads = subprocess.run([tessera, "list"], stdout=subprocess.PIPE, check=True, timeout=60)
    listed = [line for line in heads.stdout.decode("utf-8").splitlines() if re.match("[^ ]", line)]
    if sorted(listed) != sorted(kinds):
        print("kinds: `tessera list` has %s, %s has %s" % (sorted(listed), path, sorted(kinds)))
        code = 1
    for kind in sorted(set(kinds) & set(listed)):
        names = known(tessera, kind)
        for name in sorted(set(kinds[kind]) - set(names)):
            print("%s: %s is in the list, but not in the program" % (kind, name))
            code = 1
        for name in sorted(set(names) - set(kinds[kind])):
            print("%s: %s is in the program, but not in the list (%s)" % (kind, name, path))
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
