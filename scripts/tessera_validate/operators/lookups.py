"""Look-ups of tokens beside measured ones."""

from operators.products import BOUND, SETS
from operators.rows import DEVICES, HEAD, LOOKUPS, errors, measured, times_us
from operators.vectors import RESOLUTION, beyond

SERIAL = 16  # tokens whose rows go one after the other
GROUPS = ((f"up to {SERIAL} tokens", lambda tokens: tokens <= SERIAL), ("more", lambda tokens: tokens > SERIAL))


def introduction(report):
    report.say("### Look-ups")
    report.say()
    report.say("A look-up reads a row of the table for each token and writes it. Two numbers of a class of kernels of its own "
               "are fitted to these rows, the time to begin and the rate at which rows are copied (A100 and H100: "
               "`lookup_memory_efficiency`, RTX PRO 6000: `lookup_cache_bandwidth`), and a third is measured in them, what "
               f"each of up to {SERIAL} rows takes (`lookup_row_time`). Why they are slow stands in PyTorch's code "
               "(`aten/src/ATen/native/cuda/Indexing.cu`, `index_select`): for up to "
               f"{SERIAL} rows a kernel is taken whose threads share out the elements of a row and load one row after the "
               "other, so that 16 tokens take 14 us on A100, whatever the width, and 24 take 4; for more, each thread copies one "
               "element of two bytes at a time, with divisions for its place, and 1024 threads of a unit are there at most, so that "
               "A100 and H100 copy at 0.16 and 0.19 of their memory. Tensor degrees, by which more tokens share one row, change "
               "little of that. On RTX PRO 6000 more than 16 rows go by a newer kernel that copies 16 bytes at a time "
               "(`IndexKernelUtils.cu`, as likely; the version was not verified), and what was measured comes out of its cache.")
    report.say()


def pairs_of(device, program):
    rows = measured(device, LOOKUPS)
    return list(zip(rows, times_us(program, device, rows)))


def section(report, program):
    """{device: (measurement, ours) of all look-ups}."""
    introduction(report)
    found = {device: pairs_of(device, program) for device in DEVICES}
    table = []
    for device, pairs in found.items():
        for name, belongs in SETS[1:] + GROUPS:
            part = [pair for pair in pairs if belongs(pair[0].tokens)]
            count, absolute, bias, worst = errors(part).cells()
            if (name, belongs) in SETS:
                absolute = report.at_most(errors(part).absolute, BOUND,
                                          f"{device}, look-ups, {name}, mean absolute error [%]")
            table.append([f"{device}, {name}", count, absolute, f"{beyond(part, RESOLUTION[device]):.1f} %", bias, worst])
    report.table(["device and set", *HEAD[:2], "beyond rounding", *HEAD[2:]], table)
    return found
