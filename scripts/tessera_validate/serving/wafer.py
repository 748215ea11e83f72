"""One request to Llama 3 8B: a wafer beside eight GPUs and one, and beside what was published."""

from page import EXPERIMENTS, ROOT, Runner

PUBLISHED = 2700  # tokens/s a request, WSE-2: WaferLLM (He et al., arXiv:2502.04563)
TILE_NS = 1.324  # a hop between tiles of the wafer (configs/machines/wse2.yaml)
REGION, GRID = 39.6, 420  # tiles along a side of a region, and of a grid over most of the wafer (assumed)
REQUESTS = ("--set", "workload.tenants.0.requests={arrivals: closed, count: 1, prompt: 128, generate: 32}")
HOPS = ("--set", "machine.topology.latency=1 ns")
WITHIN = (0.5, 3)  # of the published figure: an order of magnitude, not an accuracy


def crossing(tiles):
    """[ps]"""
    return round(1e3 * tiles * TILE_NS)


def overhead(tiles):
    return ("--set", f"machine.compute.launch_overhead={crossing(tiles)} ps")


# What it is, experiment, settings.
ROWS = (
    ("wafer, as it is: sums inside a region are free", "serving_wafer", ()),
    ("wafer, each operator crosses its region and back", "serving_wafer", overhead(2 * REGION)),
    (f"wafer, each operator crosses {GRID} tiles once", "serving_wafer", overhead(GRID)),
    (f"wafer, each operator crosses {GRID} tiles and back", "serving_wafer", overhead(2 * GRID)),
    ("eight H100, constants of single operators", "serving_h100",
     ("--set", f"machine={ROOT / 'configs' / 'machines' / 'h100_server.yaml'}")),
    ("eight H100, nothing to launch (`h100_dgx`)", "serving_h100", ()),
    ("one H100, nothing to launch (`h100_dgx`)", "serving_h100", ("--set", "workload.tenants.0.tensor=1")),
)


def time_of(runner, experiment, settings):
    """Between tokens [ps]."""
    summary = runner.run(str(EXPERIMENTS / f"{experiment}.yaml"), 1, ("--trace", "none", *REQUESTS, *settings))
    return summary["services"][0]["between_tokens_ps"]["p50"]


def what_limits(report, runner, own, no_hops, operators):
    """What of a token's time is hops between regions, and what an operator would have to take more."""
    more = round((1e12 / PUBLISHED - own) / operators)
    there = 1e12 / time_of(runner, "serving_wafer", ("--set", f"machine.compute.launch_overhead={more} ps"))
    report.table(("what limits the wafer", "between tokens [µs]", "tokens/s a request"),
                 [("as it is", f"{1e-6 * own:.1f}", f"{1e12 / own:.0f}"),
                  ("hops between regions of 1 ns in place of 52.4", f"{1e-6 * no_hops:.1f}", f"{1e12 / no_hops:.0f}"),
                  (f"each of {operators} operators takes {1e-3 * more:.0f} ns more", f"{1e12 / there * 1e-6:.1f}",
                   f"{there:.0f}")])
    near = report.bound(abs(there / PUBLISHED - 1) < 0.02,
                        f"{more} ps an operator: {there:.0f} tokens/s, published {PUBLISHED}")
    report.say(f"Of {1e-6 * own:.0f} µs per token, {1e-6 * (own - no_hops):.0f} µs are hops between regions, in "
               "all-reduces and between stages. Ours would equal the measured rate if every operator took "
               f"{1e-3 * more:.0f} ns more ({near}): in this time a word crosses {1e-3 * more / TILE_NS:.0f} tiles, "
               f"{1e-3 * more / TILE_NS / GRID:.1f} times a grid of {GRID}. It is time inside products, which this "
               "level of detail leaves out, and no constant is fitted to it.")
    report.say()


def sections(report, program, folder, _):
    runner = Runner(program, folder)
    report.say("## Serving: a wafer beside eight GPUs")
    report.say()
    report.say("One request of 128 tokens to Llama 3 8B, with 32 tokens generated. The wafer is the WSE-2 in 16 × 16 "
               "regions, with sixteen stages, each over a row of sixteen (`configs/experiments/serving_wafer.yaml`). "
               f"Its published rate is {PUBLISHED} tokens per second per request (WaferLLM, He et al., "
               "arXiv:2502.04563).")
    report.say()
    rows, times, rates = [], [], []
    for name, experiment, settings in ROWS:
        a_token = time_of(runner, experiment, settings)
        times.append(a_token)
        rates.append(1e12 / a_token)
        rows.append((name, f"{1e-6 * a_token:.0f}", f"{rates[-1]:.0f}", f"{rates[-1] / PUBLISHED:.2f}"))
    report.table(("machine", "between tokens [µs]", "tokens/s a request", "to the published wafer"), rows)
    low, high = min(rates[:4]) / PUBLISHED, max(rates[:4]) / PUBLISHED
    held = report.bound(WITHIN[0] <= low <= 1 <= high <= WITHIN[1],
                        f"the wafer's rows enclose the published figure: {low:.2f} to {high:.2f} of it")
    own, no_hops = times[0], time_of(runner, "serving_wafer", HOPS)
    operators = round((times[3] - own) / crossing(2 * GRID))  # of a token, one after the other
    report.say(f"Ours is {rates[0] / PUBLISHED:.1f} times the measured rate, for a known reason: communication inside "
               "a region is left out. In a step of one token, "
               f"{100 * (own - no_hops) / own:.0f} % of the time goes to hops between regions, nearly all of them in "
               "the 64 all-reduces over rows of regions; the rest includes arithmetic, at the full peak of one stage "
               "in sixteen, and reading weights from SRAM. Communication of a product inside a region (distributing "
               "its input, adding up over cores) costs nothing at this level of detail. By the rows with a crossing, "
               f"a token has {operators} operators one after the other, which add {0.1 * operators:.0f} µs for each "
               "0.1 µs of it: crossing a region and back costs little, but software that maps each layer onto the "
               "whole wafer crosses hundreds of tiles in each product. With one such crossing per operator ours is "
               f"{rates[2] / PUBLISHED:.2f} times the published figure, with two {rates[3] / PUBLISHED:.2f} times (the "
               f"rows of the wafer enclose it: {held}). Which of these the measured software does is not known here, "
               "so no constant is fitted. Compared with eight H100s, the wafer gains by latency: no kernel is "
               "launched, a hop takes 52 ns instead of 500, and weights need not be read from DRAM.")
    report.say()
    what_limits(report, runner, own, no_hops, operators)
