"""Dense operators of decoder layers together, whole layers of them, and heads, beside measured ones."""

from collections import defaultdict

from operators.lookups import section as lookups
from operators.products import BOUND, SETS
from operators.rows import DEVICES, HEAD, PRODUCTS, VECTORS, Errors, head_rows, measured, times_us
from operators.unfitted import section as unfitted
from operators.vectors import RESOLUTION, beyond

NORMS = 2  # of a layer; the tables have the time of one
STEPS = SETS[1:]  # of decoding, of prefill
LENGTHS = ((0, 5), (5, 20), (20, None))  # us, of single operators


def every(device, program):
    """[(measurement, ours in us)] of all dense operators."""
    rows = measured(device, PRODUCTS) + measured(device, VECTORS)
    return list(zip(rows, times_us(program, device, rows)))


def all_rows(report, *parts):
    """Of dense operators, norms that nothing is fitted to and look-ups, in raw figures."""
    report.say("### All rows")
    report.say()
    report.say("Every row of the tables: dense operators of layers, norms that nothing is fitted to, and look-ups. The "
               "error includes what the tables' rounding contributes.")
    report.say()
    table = []
    for device in DEVICES:
        pairs = [pair for part in parts for pair in part[device]]
        for name, belongs in STEPS:
            part = Errors(tuple(ours / each.us - 1 for each, ours in pairs if belongs(each.tokens)))
            rows, _, bias, worst = part.cells()
            bound = report.at_most(part.absolute, BOUND, f"{device}, all rows, {name}, mean absolute error [%]")
            table.append([f"{device}, {name}", rows, bound, bias, worst])
    report.table(["device and set", *HEAD], table)


def in_layers(pairs):
    """[(tokens, relative error)] of the sums over a layer's operators, of those whose operators are all there."""
    sums, counts = defaultdict(lambda: [0.0, 0.0]), defaultdict(set)
    for each, ours in pairs:
        layer = (each.row["model"], each.row["tensor"], each.tokens)
        times = NORMS if each.operator == "norm" else 1
        sums[layer][0] += times * each.us
        sums[layer][1] += times * ours
        counts[layer].add(each.operator)
    most = max(len(there) for there in counts.values())
    return [(layer[2], ours / theirs - 1) for layer, (theirs, ours) in sums.items() if len(counts[layer]) == most]


def together(report, found):
    report.say("### All dense operators together")
    report.say()
    report.say("The rows of both preceding parts, each operator on its own; the bound is on the error beyond the "
               "tables' rounding, as for vector kernels.")
    report.say()
    table = []
    for device, pairs in found.items():
        for name, belongs in STEPS:
            part = [pair for pair in pairs if belongs(pair[0].tokens)]
            all_of = Errors(tuple(ours / each.us - 1 for each, ours in part))
            rows, absolute, bias, worst = all_of.cells()
            bound = report.at_most(beyond(part, RESOLUTION[device]), BOUND,
                                   f"{device}, dense operators, {name}, mean absolute error beyond rounding [%]")
            table.append([f"{device}, {name}", rows, absolute, bound, bias, worst])
    report.table(["device and set", "rows", "mean absolute error", "beyond rounding", "mean error", "worst"], table)


def of_length(pairs, low, high):
    return [pair for pair in pairs if low <= pair[0].us and (high is None or pair[0].us < high)]


def rounding(report, found):
    """What a table's last digit may make of the errors of short operators."""
    name, belongs = STEPS[0]
    report.say(f"#### {name.capitalize()}, by measured time")
    report.say()
    report.say("Where the first error is above the bound and the second is not, the rows are short and the tables' "
               "times are rounded to whole microseconds: on H100 two in five rows take less than 5 us, and half of the "
               "last digit is a fifth of their time on average. The column *rounding may be* is this half digit as a "
               "share of each row's time, on average; it is small for longer operators.")
    report.say()
    table = []
    for device, pairs in found.items():
        for low, high in LENGTHS:
            part = of_length([pair for pair in pairs if belongs(pair[0].tokens)], low, high)
            if part:
                half = 100 * sum(RESOLUTION[device] / 2 / each.us for each, _ in part) / len(part)
                rows, absolute, bias, worst = Errors(tuple(ours / each.us - 1 for each, ours in part)).cells()
                table.append([device, f"{low} to {high}" if high else f"from {low}", rows, absolute, f"{half:.1f} %",
                              f"{beyond(part, RESOLUTION[device]):.1f} %", bias, worst])
    report.table(["device", "measured [us]", HEAD[0], HEAD[1], "rounding may be", "beyond rounding", *HEAD[2:]], table)


def layers(report, found):
    report.say("### Whole layers")
    report.say()
    report.say("What a step waits for: the sum over a layer's dense operators, with two norms, for each number of "
               "tokens and tensor degree. Attention has a part of its own.")
    report.say()
    table = []
    for device, pairs in found.items():
        sums = in_layers(pairs)
        for name, belongs in STEPS:
            part = Errors(tuple(error for tokens, error in sums if belongs(tokens)))
            rows, _, bias, worst = part.cells()
            bound = report.at_most(part.absolute, BOUND, f"{device}, layers, {name}, mean absolute error [%]")
            table.append([f"{device}, {name}", rows, bound, bias, worst])
    report.table(["device and set", *HEAD], table)


def heads(report, program):
    report.say("### Heads")
    report.say()
    report.say("The product of the head of Llama-3.1-8B (128256 columns, half of them with tensor degree 2) with one "
               "row per sequence (`tests/validation/reference/head_rtx_pro_6000.csv`, LLMServingSim, MIT licence). No "
               "constant is fitted to these rows. Sampling a token from the logits (25 us for one sequence, 164 us for "
               "256 in the same profile) is not modelled as an operator: it belongs to `batching.host` "
               "(`docs/manual/serving.md`).")
    report.say()
    device = "RTX PRO 6000"
    rows = head_rows()
    pairs = list(zip(rows, times_us(program, device, rows)))
    table = []
    for tensor in ("1", "2"):
        part = Errors(tuple(ours / each.us - 1 for each, ours in pairs if each.row["tensor"] == tensor))
        count, _, bias, worst = part.cells()
        bound = report.at_most(part.absolute, BOUND, f"{device}, heads, tensor degree {tensor}, mean absolute error [%]")
        table.append([device, tensor, count, bound, bias, worst])
    report.table(["device", "tensor", *HEAD], table)


def sections(report, program, _, __):
    report.say("## Layers and heads")
    report.say()
    found = {device: every(device, program) for device in DEVICES}
    together(report, found)
    rounding(report, found)
    norms = unfitted(report, program, found)
    all_rows(report, found, norms, lookups(report, program))
    layers(report, found)
    heads(report, program)
