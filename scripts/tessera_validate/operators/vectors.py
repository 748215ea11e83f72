"""Element-wise operators and norms of decoder layers beside measured ones."""

from operators.products import BOUND, EVERY, SETS, of, tokens_groups
from operators.rows import DEVICES, ELEMENT, HEAD, VECTORS, errors, measured, times_us

RESOLUTION = {"A100": 1.0, "H100": 1.0, "RTX PRO 6000": 0.01}  # of the tables [us]


def shares(report):
    """Of the memory's bandwidth, as measured on the largest operators."""
    report.say("### What kernels reach")
    report.say()
    report.say("Bytes read and written, each once, over the measured time at the most tokens "
               "and tensor degree 1. A share that depends on the kernel is why one constant "
               "does not fit them: vLLM's norm of that time reads its rows twice (a likely "
               "cause, not verified), and what fits the level-2 cache is faster than memory "
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
    report.say("Operators without a product go through their bytes, in elements of "
               f"{ELEMENT} bytes, at a share of the memory's bandwidth, or faster so far as half of the level-2 cache holds "
               "them, after a time to begin; a block of threads goes through each row (token), at a rate of its own, and "
               "what the last wave of blocks lacks is time in which units wait. These four numbers are of a "
               "class of kernels: norms, activations, rotary positions, sums (src/compute/vector_kernels.hpp). They are "
               "fitted to these rows (`scripts/tessera_validate/operators/fit.py`); the other half of Llama-2-70B's rows "
               "is kept back. How many threads a unit holds is of the device, and how many a block has of the library. "
               "RTX PRO 6000's rotary positions fit half of its cache in all rows and norms in nearly all, so that nothing is "
               "known of their share of the memory, and `norm` there adds the skip connection. Measured kernels leave "
               "out the gap between two of them (`kernel_gap`), and so do ours here.")
    report.say()


def beyond(pairs, resolution):
    """Mean error that the table's rounding does not explain [%]."""
    return 100 * sum(max(0.0, abs(ours - each.us) - resolution / 2) / each.us for each, ours in pairs) / len(pairs)


def whole_sets(report, found):
    report.say("### Whole sets")
    report.say()
    report.say("Times of Vidur are whole microseconds, and most of these kernels take one to ten: a time of 2 us may be "
               "off by a quarter through that alone. The second error is what is left beyond half of the table's last "
               "digit, and is held to the bound.")
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
    report.say("What the rows of RTX PRO 6000 show that is not modelled: times jump with the size of buffers. An activation "
               "of 640 tokens takes 15.7 us and one of 672 takes 12.4; of 736 to 768 tokens it takes 19 to 20, of 720 and of "
               "784 it takes 13 and 14; and one of 1792 tokens of half the width takes 11.5 us, one of 1808 takes 20.1. Bytes that "
               "move are few more, so that where the allocator puts them makes the difference.")
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
