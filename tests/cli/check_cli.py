#!/usr/bin/env python3
"""Checks what the program says and how it ends, one check a call.

    check_cli.py TESSERA MPIEXEC CHECK
    check_cli.py --list
"""
import sys
import tempfile

sys.dont_write_bytecode = True  # the sources stay as they are

import checks_bytes  # noqa: E402, F401
import checks_calibrate  # noqa: E402, F401
import checks_campaign  # noqa: E402, F401
import checks_checkpoints  # noqa: E402, F401
import checks_folders  # noqa: E402, F401
import checks_graphs  # noqa: E402, F401
import checks_import  # noqa: E402, F401
import checks_json  # noqa: E402, F401
import checks_models  # noqa: E402, F401
import checks_plans  # noqa: E402, F401
import checks_scripts  # noqa: E402, F401
import checks_services  # noqa: E402, F401
import checks_shipped  # noqa: E402, F401
import checks_signals  # noqa: E402, F401
import checks_sweeps  # noqa: E402, F401
import checks_systolic  # noqa: E402, F401
import checks_topology  # noqa: E402, F401
import checks_traffic  # noqa: E402, F401
import checks_trust  # noqa: E402, F401
import checks_words  # noqa: E402, F401
from program import CHECKS, Program  # noqa: E402


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(CHECKS))
        return 0
    tessera, mpiexec, name = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        try:
            CHECKS[name](Program(tessera, mpiexec, scratch))
        except AssertionError as failure:
            print("%s: %s" % (name, failure))
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
