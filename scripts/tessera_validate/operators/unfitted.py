"""Norms that no constant is fitted to, beside measured ones."""

from collections import defaultdict

from operators.products import BOUND, SETS
from operators.rows import DEVICES, HEAD, UNFITTED, errors, measured, times_us
from operators.vectors import RESOLUTION, beyond

LAYERS = {"7b": 32, "70b": 80, "8b": 32}
BOUNDED = ("post_norm",)
NAMES = {"post_norm": "norm before the MLP", "final_norm": "norm behind the last layer"}
STEPS = SETS[1:]  # of decoding, of prefill


def steps_us(pairs):
    """{(model, tensor, tokens): measured us} of the dense operators of all layers."""
    sums = defaultdict(float)
    for each, _ in pairs:
        model = each.row["model"]
        sums[model, each.row["tensor"], each.tokens] += LAYERS[model] * each.us
    return sums


def off_a_step(part, steps):
    """What the error of these rows is of the dense operators of a step, in the mean [%]."""
    shares = [abs(ours - each.us) / steps[each.row["model"], each.row["tensor"], each.tokens] for each, ours in part]
    return 100 * sum(shares) / len(shares)


def rows_of_device(report, device, pairs, steps):
    for operator in UNFITTED:
        for name, belongs in STEPS:
            part = [pair for pair in pairs if pair[0].operator == operator and belongs(pair[0].tokens)]
            if not part:
                continue
            count, absolute, bias, worst = errors(part).cells()
            rest = beyond(part, RESOLUTION[device])
            what = f"{device}, {NAMES[operator]}, {name}"
            rest = (report.at_most(rest, BOUND, f"{what}, mean absolute error beyond rounding [%]") if operator in BOUNDED
                    else f"{rest:.1f}")
            off = "" if operator in BOUNDED else f"{off_a_step(part, steps):.2f} %"
            yield [what, count, absolute, rest, bias, worst, off]


def section(report, program, found):
    """`found`: of each device, (measurement, ours) of the operators of its layers. Returns the same of these norms."""
    report.say("### Norms that nothing is fitted to")
    report.say()
    report.say("The rows of the tables that are in no other part. The norm before the MLP has the constants of the "
               "norm before attention. The norm behind the last layer occurs once per step; the last column gives its "
               "error relative to the measured time of the dense operators of all layers.")
    report.say()
    table, norms = [], {}
    for device in DEVICES:
        rows = measured(device, UNFITTED)
        pairs = list(zip(rows, times_us(program, device, rows)))
        norms[device] = pairs
        table += rows_of_device(report, device, pairs, steps_us(found[device]))
    report.table(["device, operator and set", HEAD[0], HEAD[1], "beyond rounding", HEAD[2], HEAD[3], "error in a step"], table)
    report.say("On RTX PRO 6000 the norm behind the last layer takes longer than the one within layers, which moves "
               "the same bytes (1.8 times as long with 992 tokens, 1.2 times with 2048). The reason is not known; this "
               "is not modelled and has no bound.")
    report.say()
    return norms
