#!/usr/bin/env python3
"""Reads damaged ONNX models and Chakra traces under sanitizers and writes its part of results/soak.md.

Half of the files are damaged in their bytes, half of the models in their content (operators,
attributes, names, sides). Each must be read or refused as bad input, without a crash, an error of
another kind, or 20 s for one file.
"""

import argparse
import concurrent.futures
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import made
from catalogue import PAGES
from page import ROOT, version

TEST_MODELS = Path("/usr/share/libonnx-testdata/data/node")
BATCH = 2500


def seeds(folder):
    """Models of this tree, those that the script makes, those of Debian's libonnx-testdata; traces."""
    sys.path.insert(0, str(ROOT / "scripts"))
    import onnx_models  # needs python3-onnx
    made = [onnx_models.write(name, folder) for name in onnx_models.MODELS]
    models = made + sorted((ROOT / "tests/onnx/models").glob("*.onnx"))
    models += sorted(TEST_MODELS.glob("*/model.onnx"))
    traces = sorted((ROOT / "tests/validation/reference/gpt_222").glob("*.et"))
    return [str(path) for path in models + traces], len(models), len(traces)


def run_batch(options, files, first):
    count = min(BATCH, options.count - first)
    command = [options.program, "--seed", str(options.seed), "--first", str(first), "--count",
               str(count), *files]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1",
                               "ASAN_OPTIONS": "allocator_may_return_null=0"}, check=False)
    return first, done


def part_of_page(options, total, models, traces, seconds):
    figures = [("files", total["models_read"] + total["models_refused"] + total["traces_read"] +
                total["traces_refused"]),
               ("models read", total["models_read"]), ("models refused", total["models_refused"]),
               ("traces read", total["traces_read"]), ("traces refused", total["traces_refused"]),
               ("crashes, hangs and errors of other kinds", 0),
               ("longest file [s]", f"{total['longest_s']:.2f}"),
               ("most memory of a process [MB]", total["memory_mb"])]
    lines = [f"Seed {options.seed}, under AddressSanitizer and UndefinedBehaviorSanitizer, from {models} "
             "ONNX models (those of the tree, of `scripts/onnx_models.py` and of Debian's libonnx-testdata) "
             f"and {traces} Chakra traces. Each file is damaged in its bytes or, for models, in its content; it must "
             "be read or refused as bad input within 20 s. Models that are read go through all passes of a "
             "randomly chosen level.", "", "| | |", "|---|---|"]
    return [*lines, *(f"| {name} | {value} |" for name, value in figures), "",
            made.footer(seconds, version(options.program), ()), ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=str(ROOT / "build/asan/tests/import_soak"))
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    total = {}
    started = time.time()
    with tempfile.TemporaryDirectory(prefix="tessera-soak-") as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        files, models, traces = seeds(folder)
        work = [pool.submit(run_batch, options, files, first)
                for first in range(0, options.count, BATCH)]
        for each in concurrent.futures.as_completed(work):
            first, done = each.result()
            if done.returncode != 0:
                print(f"error: files from {first} on: exit code {done.returncode}\n"
                      f"{done.stderr[-4000:]}", file=sys.stderr)
                pool.shutdown(cancel_futures=True)
                return 1
            for name, value in json.loads(done.stdout).items():
                worst = name in ("longest_s", "memory_mb")
                total[name] = max(total.get(name, 0), value) if worst else total.get(name, 0) + value
            print(f"files {first} to {min(first + BATCH, options.count) - 1}", flush=True)
    made.put(PAGES["soak"], "damaged-files",
             part_of_page(options, total, models, traces, time.time() - started))
    return 0


if __name__ == "__main__":
    sys.exit(main())
