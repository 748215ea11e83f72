#!/usr/bin/env python3
"""Reruns everything behind results/npu.md and rewrites it.

Ends with 1 when a bound is missed. `--reduced` runs the quick part and writes nothing: what the test
suite does.
"""

import sys

from parts import make_page

if __name__ == "__main__":
    sys.exit(make_page(__doc__, "npu", "ONNX models on NPUs",
                       ("models", "cycles", "llama", "serving", "tenants", "ranks")))
