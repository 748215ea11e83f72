"""Attention of steps of a served model beside measured times of one kernel, on one device."""

import subprocess
from collections import namedtuple
from pathlib import Path

from operators.rows import HEAD, Errors
from page import ROOT, rows_of

TABLE, MACHINE = "attention_rtx_pro_6000.csv", "rtx_pro_6000"
SHAPE = "32 8 128 bf16"  # heads, those of keys, width, type
BOUND = 10  # percent, mean absolute error
EVERY = 20  # of the rows of both, one in so many is fitted to
CACHE = 128e6  # bytes of the level-2 cache
KEY_BYTES = 2 * 128 * 2  # keys and values of a token and head

Step = namedtuple("Step", "chunk context generating keys us")


def measured():
    return [Step(*(int(row[key]) for key in Step._fields[:-1]), float(row["us"])) for row in rows_of(TABLE)]


def line_of(step):
    whole = step.chunk + step.context if step.chunk else 0
    return f"{SHAPE} {step.generating} {step.keys} {step.chunk} {whole}\n"


def times_us(program, steps, settings=()):
    """Ours, by the machine file with these settings."""
    tool = Path(program).resolve().parent / "tests" / "attention_rates"
    machine = ROOT / "configs" / "machines" / f"{MACHINE}.yaml"
    done = subprocess.run([tool, machine, *settings], check=True, capture_output=True, text=True,
                          input="".join(line_of(step) for step in steps))
    return [int(line) / 1e6 for line in done.stdout.split()]


def errors(steps, ours):
    return Errors(tuple(mine / step.us - 1 for step, mine in zip(steps, ours)))


def fitted(steps):
    """Those that constants are fitted to: all of one kind alone, each so many of both."""
    both = [step for step in steps if is_mixed(step)]
    return [step for step in steps if not is_mixed(step)] + both[::EVERY]


def is_prompt(step):
    return step.generating == 0


def generates(step):
    return step.chunk == 0


def is_mixed(step):
    return step.chunk > 0 and step.generating > 0


def keeps_keys(step):
    """Keys of a head stay in the cache, until the heads that share them have been there."""
    return is_mixed(step) and step.generating * step.keys * KEY_BYTES < CACHE


SETS = (("prompts alone", is_prompt, True),
        ("generating alone", generates, True),
        ("generating alone, from 64 sequences and 512 keys on",
         lambda step: generates(step) and step.generating >= 64 and step.keys >= 512, True),
        ("both", is_mixed, True),
        ("both, keys of a head fit the level-2 cache", keeps_keys, True),
        ("both, they do not", lambda step: is_mixed(step) and not keeps_keys(step), False),
        ("all", lambda step: True, True))


def sets_of(steps, ours):
    """(name, bounded, steps and times) of all sets, and of the steps of both that nothing is fitted to."""
    pairs = list(zip(steps, ours))
    for name, belongs, bounded in SETS:
        yield name, bounded, [pair for pair in pairs if belongs(pair[0])]
    used = set(fitted(steps))
    kept_back = [pair for pair in pairs if pair[0] not in used]
    if kept_back:
        yield "both, that no constant is fitted to", True, kept_back


def row_of(report, some):
    name, bounded, pairs = some
    found = errors(*zip(*pairs))
    cells = found.cells()
    if bounded:
        cells[1] = report.at_most(found.absolute, BOUND, f"attention, {name}, mean absolute error [%]")
    return [name, *cells]


def sections(report, program, _, __):
    report.say("## Attention of steps")
    report.say()
    report.say(f"`tests/validation/reference/{TABLE}` (LLMServingSim, MIT licence): attention of Llama-3.1-8B on RTX "
               "PRO 6000 under vLLM 0.19, for a prompt's chunk behind cached tokens, for sequences that generate, and "
               "for both in one step. Ours is the time that `gemm` gives the attention of such a step with "
               f"`configs/machines/{MACHINE}.yaml` (`attention_rates`). Five constants are fitted to the rows of only "
               f"one kind and to one in {EVERY} of the rows of both whose keys of a head fit in the cache "
               "(`scripts/tessera_validate/operators/fit_attention.py`): `attention_efficiency`, `attention_fill`, "
               "`attention_skip`, `attention_memory_efficiency` and `attention_launch_overhead`; `attention_rows` is "
               "read off the rows.")
    report.say()
    steps = measured()
    table = [row_of(report, some) for some in sets_of(steps, times_us(program, steps))]
    report.table(["steps", *HEAD], table)
    report.say("In FlashAttention-2's kernel, a sequence that generates beside a prompt takes a block of 64 queries "
               "per head, of which one is used, and its keys are read once for each head that shares them; blocks of "
               "the grid beyond a sequence's last query start and end. Hence a step with both takes longer than its "
               "parts apart. A step that only generates takes two kernels, the second of which adds up partial "
               "results, and blocks of 64 rows start in waves over all units: the shortest step with 16 sequences "
               "takes 13 us, with 32, 64, 128 and 256 (2, 3, 6 and 11 waves) 18, 23, 36 and 62 us. A single sequence "
               "with fewer than 128 keys takes 8.4 us, the time of one kernel. Where the keys of a head exceed the "
               "cache, heads that share them read them again if their blocks are in different waves "
               "(`docs/methods/gpu.md`). No constant is fitted to these steps, and they have no bound of their own.")
    report.say()
