"""Look-ups of tokens beside measured ones."""

from operators.products import BOUND, SETS
from operators.rows import DEVICES, HEAD, LOOKUPS, errors, measured, times_us
from operators.vectors import RESOLUTION, beyond

SERIAL = 16  # tokens whose rows go one after the other
GROUPS = ((f"up to {SERIAL} tokens", lambda tokens: tokens <= SERIAL), ("more", lambda tokens: tokens > SERIAL))


def introduction(report):
    report.say("### Look-ups")
    report.say()
    report.say("A look-up reads a row of the table for each token and writes it. Look-ups are a class of kernels, with "
               "two constants fitted to these rows, the launch overhead and the rate at which rows are copied (A100 "
               "and H100: `lookup_memory_efficiency`, RTX PRO 6000: `lookup_cache_bandwidth`), and a third measured in "
               f"them, the time of each of up to {SERIAL} rows (`lookup_row_time`). PyTorch's code shows why they are "
               f"slow (`aten/src/ATen/native/cuda/Indexing.cu`, `index_select`). For up to {SERIAL} rows it has a "
               "kernel whose threads share the elements of a row and load one row after the other, so 16 tokens take "
               "14 us on A100, whatever the width, and 24 take 4 us. For more rows, each thread copies one element of "
               "two bytes at a time, with divisions to find its place, and a unit holds at most 1024 threads, so A100 "
               "and H100 copy at 0.16 and 0.19 of their memory bandwidth. Tensor degrees, with which more tokens share "
               "one row, change this little. On RTX PRO 6000 more than 16 rows use a newer kernel that copies 16 bytes "
               "at a time (probably `IndexKernelUtils.cu`; the version was not verified), and the measured data comes "
               "from its cache.")
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
