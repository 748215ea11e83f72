"""The requests of a real vLLM server's log (RTX PRO 6000, Llama-3.1-8B), served once more."""

from math import ceil

from page import EXPERIMENTS, ROOT, Runner, call, rows_of, trace_rows

EXPERIMENT = EXPERIMENTS / "serving_vllm_log.yaml"
LOG = ROOT / "configs" / "requests" / "vllm_llama31_8b_rtx_pro_6000.csv"
WITHIN = 5.0  # percent
HOSTS = ("0 s", "0.5 ms", "1 ms", "1.5 ms", "2 ms", "3 ms")  # of a step: none, and around the one that is taken


def measured():
    """Arrival, begin of the first step, first token and end of each request [s], and tokens given."""
    return [tuple(float(row[key]) for key in ("arrival_s", "scheduled_s", "first_token_s", "last_token_s",
                                              "output_tokens")) for row in rows_of(LOG)]


def simulated(folder):
    rows = sorted(trace_rows(folder, "requests"), key=lambda row: row["request"])
    return [(*(1e-12 * row[key] for key in ("arrival", "begun", "first", "end")), row["generated"]) for row in rows]


def first_token(request):
    return request[2] - request[0]


def a_token(request):
    return (request[3] - request[2]) / (request[4] - 1)


def whole(request):
    return request[3] - request[0]


def of_all(requests, what):
    """Of requests with more than one token: there is no time between tokens of others."""
    return sorted(what(one) for one in requests if one[4] > 1)


def statistics(times):
    """Mean, and percentiles by nearest rank."""
    return [("mean", sum(times) / len(times))] + [
        (name, times[ceil(percent * len(times) / 100) - 1])
        for name, percent in (("median", 50), ("90 %", 90), ("99 %", 99))]


def at_work(requests, time):
    waiting = sum(one[0] <= time < one[1] for one in requests)
    return waiting, sum(one[1] <= time < one[3] for one in requests)


def errors(real, ours):
    """[(what, unit, factor, statistic, theirs, mine, error in percent)]."""
    found = []
    for name, what, unit, factor in (("first token", first_token, "s", 1), ("between tokens", a_token, "ms", 1e3),
                                     ("end to end", whole, "s", 1)):
        for (part, theirs), (_, mine) in zip(statistics(of_all(real, what)), statistics(of_all(ours, what))):
            found.append((name, unit, factor, part, theirs, mine, 100 * (mine / theirs - 1)))
    return found


def compare(report, real, ours):
    rows = []
    for name, unit, factor, part, theirs, mine, error in errors(real, ours):
        held = report.bound(abs(error) <= WITHIN, f"{name}, {part}: {error:+.1f} %, within {WITHIN:.0f} %")
        rows.append((f"{name} [{unit}], {part}", f"{factor * theirs:.3f}", f"{factor * mine:.3f}",
                     f"{error:+.1f} % (within {WITHIN:.0f} %: {held})"))
    report.table(("time", "vLLM", "ours", "error"), rows)


def by_host(report, runner, real):
    report.say("### How much hangs on the host's time")
    report.say()
    report.say("The same with other values of `batching.host`, the one number taken from the log: errors of the "
               "means, and the largest of all twelve errors.")
    report.say()
    rows, passing = [], []
    for host in HOSTS:
        found = errors(real, served(runner, ("--set", f"workload.tenants.0.batching.host={host}")))
        most = max(found, key=lambda one: abs(one[-1]))
        within = abs(most[-1]) <= WITHIN
        passing += [host] if within else []
        rows.append((host, *(f"{error:+.1f} %" for *_, part, _, _, error in found if part == "mean"),
                     f"{most[-1]:+.1f} % ({most[0]}, {most[3]})", "yes" if within else "no"))
    report.table(("host", "first token, mean", "between tokens, mean", "end to end, mean", "largest",
                  f"all within {WITHIN:.0f} %"), rows)
    report.say(f"All twelve errors are within {WITHIN:.0f} % for a host time of "
               + (" and ".join(passing) or "none of these")
               + ": the log does not distinguish these, and that the bounds hold says no more about the host time.")
    report.say()


def over_time(report, real, ours):
    last = max(one[3] for one in real)
    rows, differences, sums = [], [0, 0], [0, 0]
    for second in range(int(last) + 1):
        theirs, mine = at_work(real, second), at_work(ours, second)
        for which in (0, 1):
            differences[which] += abs(mine[which] - theirs[which])
            sums[which] += theirs[which]
        if second % 5 == 0:
            rows.append((second, theirs[0], mine[0], theirs[1], mine[1]))
    report.table(("second", "waiting, vLLM", "waiting, ours", "running, vLLM", "running, ours"), rows)
    report.say("Mean absolute difference, sampled every second, relative to the log's mean: waiting "
               f"{100 * differences[0] / sums[0]:.1f} %, running {100 * differences[1] / sums[1]:.1f} %.")
    report.say()


def served(runner, settings=()):
    output = runner.new_folder(EXPERIMENT)
    call(runner.command(EXPERIMENT, output, 1, ["-q", "-q", "--trace", "full", *settings]))
    return simulated(output)


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    report.say("## Serving: the log of a real server")
    report.say()
    report.say("`configs/experiments/serving_vllm_log.yaml`: the 300 requests of a vLLM 0.19 server that ran "
               "Llama-3.1-8B on one RTX PRO 6000 (`configs/requests/" + LOG.name + "`, from LLMServingSim, "
               "MIT licence), at the same arrival times, with at most 128 sequences and 2048 tokens per step, and "
               "prompt chunks scheduled after tokens, as in vLLM's scheduler. Operators take the time of the "
               "compute model `gemm` with the constants of `configs/machines/rtx_pro_6000.yaml`, which were fitted to "
               "single products, not to the log. One number is taken from the log: `batching.host`, the time that "
               "vLLM's host needs between steps (choosing requests, inputs, sampling, outputs), from the mean time "
               "between tokens. Times between tokens are means over each request with more than one token.")
    report.say()
    real = measured()
    ours = served(runner)
    compare(report, real, ours)
    report.say("Waiting and running requests, vLLM's and ours:")
    report.say()
    over_time(report, real, ours)
    if not setting.reduced:
        by_host(report, runner, real)
