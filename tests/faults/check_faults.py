#!/usr/bin/env python3
"""Disturbs runs of the program in random ways and checks what is left of them.

    check_faults.py TESSERA MPIEXEC TRIAL [--count N] [--minutes M] [--seed S]
    check_faults.py --list

Each trial is one disturbed run, or a few. Ends with 1 at the first that fails, and keeps its folder; with 77 where
none failed, but what was to be provoked did not happen in any, also not in three times as many as asked for.
"""
import argparse
import json
import pathlib
import random
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the sources stay as they are

from launch import Bench, Failure  # noqa: E402
from trials import PROVOKED, TRIALS  # noqa: E402

NOT_PROVOKED = 77
LONGER = 3  # times the count, until what is to be provoked has happened


def is_provoked(name, figures):
    return name not in PROVOKED or figures.get(PROVOKED[name], 0) > 0


def run_trials(name, options, folder):
    """Trials until there are enough; figures over all, and whether none failed."""
    figures = {}
    done = 0
    began = time.time()
    while (done < options.count or time.time() - began < 60 * options.minutes
           or (not is_provoked(name, figures) and done < LONGER * options.count)):
        scratch = folder / str(done)
        scratch.mkdir()
        bench = Bench(options.tessera, options.mpiexec, scratch,
                      random.Random("%s:%d:%d" % (name, options.seed, done)))
        bench.figures = figures
        bench.short = options.short
        try:
            # Trials take turns by their number; other seeds begin elsewhere.
            TRIALS[name](bench, options.seed + done)
        except Failure as failure:
            print("%s: trial %d of seed %d: %s\nkept: %s" % (name, done, options.seed, failure,
                                                           scratch), flush=True)
            return figures, done, False
        shutil.rmtree(scratch)
        done += 1
    return figures, done, True


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(TRIALS))
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tessera")
    parser.add_argument("mpiexec")
    parser.add_argument("trial", choices=TRIALS)
    parser.add_argument("--count", type=int, default=1, help="trials at least")
    parser.add_argument("--minutes", type=float, default=0, help="of trials at least")
    parser.add_argument("--short", action="store_true", help="runs of trials are shorter")
    parser.add_argument("--seed", type=int, help="default: another one each time")
    parser.add_argument("--report", type=pathlib.Path, help="write the figures here, as JSON")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 32)
    print("%s: seed %d" % (options.trial, options.seed), flush=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tessera-faults-"))
    began = time.time()
    figures, done, good = run_trials(options.trial, options, folder)
    seconds = time.time() - began
    print("%s: %d trials in %.0f s: %s" % (options.trial, done, seconds, figures), flush=True)
    if options.report is not None:
        options.report.write_text(json.dumps({
            "trial": options.trial, "seed": options.seed, "trials": done, "seconds": seconds,
            "figures": figures, "good": good, "provoked": is_provoked(options.trial, figures),
            "kept": "" if good else str(folder)}), encoding="utf-8")
    if good:
        shutil.rmtree(folder)
        if not is_provoked(options.trial, figures):
            print("%s: not provoked: %s" % (options.trial, PROVOKED[options.trial]), flush=True)
            return NOT_PROVOKED
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
