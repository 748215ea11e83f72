"""Element-wise operators and norms of decoder layers beside measured ones, without a bound."""

from operators.products import EVERY, of, tokens_groups
from operators.rows import DEVICES, ELEMENT, HEAD, VECTORS, errors, measured, times_us


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


def sections(report, program, _, setting):
    report.say("## Norms, activations and sums")
    report.say()
    report.say("Operators without a product take their bytes at a share of the memory's bandwidth, in elements of "
               f"{ELEMENT} bytes, after `launch_overhead`: one share for each class of kernels, norms, activations "
               "with rotary positions, and sums, as plans have it. They are bytes over time of these rows from 2048 "
               "tokens on (`scripts/tessera_validate/operators/fit.py`); RTX PRO 6000 has one share for all. Where the "
               "class is not known, as in graphs and served models, `vector_memory_efficiency` counts. Cached data is "
               "not modelled, and is why few tokens are faster: no bound.")
    report.say()
    table = []
    for device in DEVICES:
        rows = measured(device, VECTORS)[::EVERY if setting.reduced else 1]
        pairs = list(zip(rows, times_us(program, device, rows)))
        table.append([device, "all", *errors(pairs).cells()])
        operator = of(lambda each: each.operator)
        groups = [(name, operator(name)) for name in VECTORS] + tokens_groups()
        for name, belongs in groups:
            part = [pair for pair in pairs if belongs(pair[0])]
            if part:
                table.append([device, name, *errors(part).cells()])
    report.table(["device", "", *HEAD], table)
    shares(report)
