"""Element-wise operators and norms of decoder layers beside measured ones."""

from operators.products import BOUND, EVERY, SETS, of, tokens_groups
from operators.rows import DEVICES, ELEMENT, HEAD, VECTORS, errors, measured, times_us

RESOLUTION = {"A100": 1.0, "H100": 1.0, "RTX PRO 6000": 0.01}  # of the tables [us]


def shares(report):
    """Of the memory's bandwidth, as measured on the largest operators."""
    report.say("### What kernels reach")
    report.say()
    report.say("Bytes read and written, each counted once, divided by the measured time, at the most tokens "
               "and tensor degree 1. The share of the memory bandwidth depends on the kernel, so one constant "
               "does not fit all: vLLM's norm of that time reads its rows twice (a likely "
               "cause, not verified), and what fits in the level-2 cache is faster than memory "
               "(RTX PRO 6000: 128 MB).")
    report.say()
    table = []
    for device in DEVICES:
        rows = [each for each in measured(device, VECTORS) if each.row["tensor"] == "1"]
        most = max(each.tokens for each in rows)
        for each in rows:
            if each.tokens == most:
                table.append([device, each.row["model"], each.operator, most, f"{each.bytes / 1e6:.0f}",
                              f"{each.bytes / each.us / 1e3:.0f}"])
    report.table(["device", "model", "operator", "tokens", "bytes [MB]", "measured [GB/s]"], table)


def introduction(report):
    report.say("## Norms, activations, rotary positions and sums")
    report.say()
    report.say(f"Operators without a product stream their bytes, in elements of {ELEMENT} bytes, at a share of the "
               "memory bandwidth, or faster as far as half of the level-2 cache holds them, after a launch overhead. "
               "One block of threads processes each row (token), at a rate of its own, and where the last wave of "
               "blocks is not full, units wait. Each class of kernels has these four constants: norms, activations, "
               "rotary positions, sums (src/compute/vector_kernels.hpp). They are fitted to these rows "
               "(`scripts/tessera_validate/operators/fit.py`); the other half of Llama-2-70B's rows is held out. The "
               "number of threads that a unit holds depends on the device, and the threads per block on the library. "
               "On RTX PRO 6000, rotary positions fit in half of the cache in all rows, and norms in nearly all, so "
               "their share of the memory bandwidth is unknown; `norm` there includes the skip connection. Measured "
               "kernel times exclude the gap between two kernels (`kernel_gap`), and so do ours here.")
    report.say()


def beyond(pairs, resolution):
    """Mean error that the table's rounding does not explain [%]."""
    return 100 * sum(max(0.0, abs(ours - each.us) - resolution / 2) / each.us for each, ours in pairs) / len(pairs)


def whole_sets(report, found):
    report.say("### Whole sets")
    report.say()
    report.say("Vidur's times are whole microseconds, and most of these kernels take one to ten: rounding alone may "
               "change a time of 2 us by a quarter. The second error is what remains beyond half of the table's last "
               "digit, and the bound applies to it.")
    report.say()
    table = []
    for device, pairs in found.items():
        for name, belongs in SETS:
            part = [pair for pair in pairs if belongs(pair[0].tokens)]
            rows, absolute, bias, worst = errors(part).cells()
            bound = report.at_most(beyond(part, RESOLUTION[device]), BOUND,
                                   f"{device}, vector kernels, {name}, mean absolute error beyond rounding [%]")
            table.append([f"{device}, {name}", rows, absolute, bound, bias, worst])
    report.table(["device and set", "rows", "mean absolute error", "beyond rounding", "mean error", "worst"], table)


def left_out(report):
    report.say("The rows of RTX PRO 6000 show one effect that is not modelled: times jump with the size of buffers. An "
               "activation takes 15.7 us with 640 tokens and 12.4 us with 672; 19 to 20 us with 736 to 768 tokens, but "
               "13 and 14 us with 720 and 784; and at half the width 11.5 us with 1792 tokens and 20.1 us with 1808. "
               "Hardly more bytes are moved, so the difference comes from where the allocator places them.")
    report.say()


def sections(report, program, _, setting):
    introduction(report)
    found = {}
    for device in DEVICES:
        rows = measured(device, VECTORS)[::EVERY if setting.reduced else 1]
        found[device] = list(zip(rows, times_us(program, device, rows)))
    whole_sets(report, found)
    left_out(report)
    report.say("### By operator and tokens")
    report.say()
    operator = of(lambda each: each.operator)
    groups = [(name, operator(name)) for name in VECTORS] + tokens_groups()
    table = []
    for device, pairs in found.items():
        for name, belongs in groups:
            part = [pair for pair in pairs if belongs(pair[0])]
            if part:
                table.append([device, name, *errors(part).cells()])
    report.table(["device", "", *HEAD], table)
    shares(report)
