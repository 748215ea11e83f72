"""Matrix products of the `gemm` model beside measured ones, on three devices."""

from operators.rows import DEVICES, HEAD, PRODUCTS, errors, listed, measured, times_us

BOUND = 10  # percent, mean absolute error
DECODE = 256  # tokens of a step at most: one for each sequence
SETS = (("whole", lambda tokens: True), (f"decode (up to {DECODE} tokens)", lambda tokens: tokens <= DECODE),
        ("prefill (beyond)", lambda tokens: tokens > DECODE))
# Tokens of a step: those of decoding alone, of small batches, of prefill.
RANGES = ((1, 32, "decode"), (33, 256, "decode of many, short prefill"), (257, 1024, "prefill"),
          (1025, None, "prefill"))
EVERY = 16  # one row in so many in the reduced form


def introduction(report):
    report.say("## Products of decoder layers")
    report.say()
    report.say("Each row is one dense operator of a decoder layer at a number of tokens and a "
               "tensor degree: `tests/validation/reference/operators_*.csv`, from Vidur (A100, "
               "H100: all of Llama-2-7B and half of Llama-2-70B) and "
               "LLMServingSim (RTX PRO 6000: Llama-3.1-8B), both MIT licence. Ours is the time "
               "that the compute model `gemm` gives the shape, by the program's own code "
               "(`gemm_rates`), with the machine files `a100_server`, `h100_server` and "
               "`rtx_pro_6000`: one set of constants per device, none of which depends on a model, an "
               "operator or a number of tokens. Vidur's times are whole microseconds.")
    report.say()


def whole_sets(report, found):
    report.say("### Whole sets")
    report.say()
    report.say("Five constants per device were fitted to these rows "
               "(`scripts/tessera_validate/operators/fit.py`): `matrix_efficiency`, "
               "`memory_efficiency`, `launch_overhead`, `fill`, `cache_bandwidth`. The other "
               "half of Llama-2-70B's rows is held out.")
    report.say()
    table = []
    for device, pairs in found.items():
        for name, belongs in SETS:
            whole = errors([pair for pair in pairs if belongs(pair[0].tokens)])
            rows, _, bias, worst = whole.cells()
            bound = report.at_most(whole.absolute, BOUND, f"{device}, products, {name}, mean absolute error [%]")
            table.append([f"{device}, {name}", DEVICES[device][1], rows, bound, bias, worst])
    report.table(["device and set", "machine", *HEAD], table)


def grouped(report, heading, key, found, groups):
    report.say(f"### {heading}")
    report.say()
    table = []
    for device, pairs in found.items():
        for name, belongs in groups:
            part = [pair for pair in pairs if belongs(pair[0])]
            if part:
                table.append([device, name, *errors(part).cells()])
    report.table(["device", key, *HEAD], table)


def tokens_groups():
    def within(low, high):
        return lambda each: low <= each.tokens and (high is None or each.tokens <= high)
    return [(f"{low} to {high} ({name})" if high else f"from {low} ({name})", within(low, high))
            for low, high, name in RANGES]


def remaining(report, found):
    """Of the range where tiles matter most."""
    low, high, _ = RANGES[1]
    biases = [f"{errors(part).bias:+.1f} % on {device}" for device, pairs in found.items()
              if (part := [pair for pair in pairs if low <= pair[0].tokens <= high])]
    of_range = f" (mean errors of products of {low} to {high} tokens: {listed(biases)})" if biases else ""
    report.say("Known causes of the remaining errors: a library chooses its tile from a table, while the model tries "
               f"all of them, which makes it too fast{of_range}; and the model's waves are sharper than measured ones, "
               "whose units do not finish at the same time.")
    report.say()


def of(key):
    return lambda value: lambda each: (key(each) == value)


def sections(report, program, _, setting):
    found = {}
    for device in DEVICES:
        rows = measured(device, PRODUCTS)[::EVERY if setting.reduced else 1]
        found[device] = list(zip(rows, times_us(program, device, rows)))
    introduction(report)
    whole_sets(report, found)
    grouped(report, "By tokens", "tokens", found, tokens_groups())
    operator = of(lambda each: each.operator)
    grouped(report, "By operator", "operator", found, [(name, operator(name)) for name in PRODUCTS])
    degree = of(lambda each: (each.row["model"], each.row["tensor"]))
    cuts = sorted({(each.row["model"], each.row["tensor"]) for pairs in found.values() for each, _ in pairs})
    grouped(report, "By model and tensor degree", "model, tensor degree", found,
            [(", ".join(cut), degree(cut)) for cut in cuts])
    remaining(report, found)
