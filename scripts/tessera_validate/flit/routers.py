"""The flit network against BookSim 2, its speed, its memory, and a torus that must not come to rest."""

import csv
import json
import re
import statistics
from concurrent.futures import ThreadPoolExecutor

from page import REFERENCE, call, launched

ROWS = REFERENCE / "booksim_mesh.csv"
LATENCY = ((0.80, 3.0), (0.95, 8.0))  # share of saturation, per cent
THROUGHPUT = 3.0
SEEDS, REDUCED_SEEDS = 8, 3
HOPS_A_SECOND = 3e6
ROUTER_BYTES = 4096
# Of BookSim 2, and ours. Its `alloc_iters` is read where an allocator is made with the configuration,
# which its routers are not (booksim2, src/allocators/allocator.hpp: NULL unless given;
# src/routers/iq_router.cpp): one iteration, unless the name itself says more, as islip(3) does.
ALLOCATORS = {"islip": "islip", "separable_input_first": "round-robin"}


def allocator_of(name):
    """Our name for an allocator of BookSim's, and its iterations."""
    found = re.fullmatch(r"(\w+)(?:\((\d+)\))?", name)
    return ALLOCATORS[found[1]], int(found[2] or 1)


def allocators_of(row):
    """Keys of the network; its routers have one kind for channels and for the switch."""
    both = {allocator_of(row[key]) for key in ("vc_allocator", "sw_allocator")}
    if len(both) > 1:
        raise ValueError(f"allocators differ: {row['vc_allocator']}, {row['sw_allocator']}")
    (name, iterations), = both
    return f"allocator: {name}, allocator_iterations: {iterations}"


def traffic_text(row, rate, seed):
    """A file for `tessera traffic`; BookSim's parameters are columns of the row."""
    tail = "true" if row["wait_for_tail_credit"] == "1" else "false"
    return f"""machine:
  name: {row["topology"]}
  topology: {{kind: {row["topology"]}, rows: {row["k"]}, columns: {row["k"]}, bandwidth: 32 GB/s, latency: 1 ns}}
  network:
    {{model: flit, flit_size: 32 B, packet_size: 4 KiB, loopback: true, virtual_channels: {row["num_vcs"]},
     buffer: {row["vc_buf_size"]}, routing_delay: {row["routing_delay"]}, credit_delay: {row["credit_delay"]},
     vc_allocation_delay: {row["vc_alloc_delay"]}, switch_allocation_delay: {row["sw_alloc_delay"]},
     {allocators_of(row)},
     input_speedup: {row["input_speedup"]}, output_speedup: {row["output_speedup"]}, tail_credit: {tail}}}
traffic:
  {{pattern: {row["traffic"]}, message: {row["packet_size"]}, rates: [{rate}], sample: {row["sample_period"]},
   warmup: {row["warmup_periods"]}, samples: {row["max_samples"]}, latency_limit: {row["latency_thres"]},
   measure: {row["sim_type"]}, seed: {seed}}}
"""


def run(program, file, text, ranks=1, extra=()):
    """The report of one run."""
    file.write_text(text, encoding="utf-8")
    out = file.with_suffix(".json")
    call(launched(ranks, [program, "traffic", file, "-o", out, *extra]))
    return json.loads(out.read_text(encoding="utf-8"))


def points_of(program, folder, row, number, seeds, saturation):
    """The row with several seeds. Where BookSim came to an end below saturation, at the load that its
    nodes really sent: over so few packets that is not the one asked for."""
    steady = row["status"] == "ok" and float(row["injection_rate_flits"]) < saturation
    rate = row["injected_flit_rate"] if steady else row["injection_rate_flits"]

    def one(seed):
        return run(program, folder / f"{number}-{seed}.yaml", traffic_text(row, rate, seed))["points"][0]

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, range(1, seeds + 1)))


def configuration(row):
    return row["profile"], row["k"], row["num_vcs"], row["traffic"], row["packet_size"]


def saturations(rows):
    """By configuration: the most that BookSim accepted where it was asked for more."""
    most = {}
    for row in rows:
        accepted = float(row["accepted_flit_rate"])
        if float(row["injection_rate_flits"]) > 1.05 * accepted:
            most[configuration(row)] = max(most.get(configuration(row), 0), accepted)
    return most


def mean_routers(row):
    """Routers on the way of a packet, over all pairs of the pattern."""
    k = int(row["k"])
    if row["traffic"] == "transpose":
        return 1 + 2 * sum(abs(x - y) for x in range(k) for y in range(k)) / k**2
    return 1 + 2 * (k * k - 1) / (3 * k)


def per_cent(value, reference):
    return 100 * (value / reference - 1)


def against_booksim(report, program, folder, setting):
    with ROWS.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["k"] != "100"]
    most = saturations(rows)
    seeds = REDUCED_SEEDS if setting.reduced else SEEDS
    if setting.reduced:
        rows = [row for row in rows if int(row["packet_size"]) == 1 and row["k"] == "8"][::6]
    report.say("### BookSim 2")
    report.say()
    report.say(f"Every row of `{ROWS.name}` except the 100×100 one (below), with the same routers, warm-up, samples "
               "and limits. BookSim's figures are from one run with one seed; ours are means of "
               f"{seeds}, with the standard deviation of a single run (σ). *H* corrects for BookSim's few packets, "
               "which passed more or fewer routers than the pattern's mean: the difference in hops, times the delay of "
               "a router and its link. Saturation is the most that BookSim accepted where more was "
               "offered; beyond 95 % of it, and where runs are cut off because messages wait too long, latency is only "
               "a snapshot and has no bound.")
    report.say()
    table, scattered = [], []
    for number, row in enumerate(rows):
        points = points_of(program, folder, row, number, seeds, most.get(configuration(row), 1))
        name = " ".join(configuration(row)) + f" at {row['injection_rate_flits']}"
        delay = 5 if row["profile"] == "plain" else 4
        latency = statistics.mean(point["latency"] for point in points)
        spread = statistics.stdev(point["latency"] for point in points)
        accepted = statistics.mean(point["accepted_rate"] for point in points)
        accepted_spread = statistics.stdev(point["accepted_rate"] for point in points)
        reference = float(row["avg_packet_latency"])
        shift = (mean_routers(row) - float(row["avg_hops_routers"] or mean_routers(row))) * delay
        share = float(row["accepted_flit_rate"]) / most.get(configuration(row), 1)
        off = per_cent(latency, reference + shift)
        accepted_off = per_cent(accepted, float(row["accepted_flit_rate"]))
        steady = row["status"] == "ok" and share <= 0.95
        verdict = "–"
        if steady:
            bound = LATENCY[0][1] if share <= LATENCY[0][0] else LATENCY[1][1]
            within = abs(off) <= bound
            by_chance = abs(latency - reference - shift) <= 2 * spread
            if not within and by_chance:
                scattered.append(f"{name}: {off:+.1f} %, bound {bound:g} %, σ {100 * spread / latency:.1f} %")
            verdict = report.bound(within or by_chance, f"{name}: latency off by {off:+.1f} %, at most {bound:g} % "
                                   f"(or 2 σ of one run)")
            verdict += "" if within else " (2 σ)"
        else:
            within = abs(accepted_off) <= THROUGHPUT
            by_chance = abs(accepted - float(row["accepted_flit_rate"])) <= 2 * accepted_spread
            if not within and by_chance:
                scattered.append(f"{name}: accepted {accepted_off:+.1f} %, bound {THROUGHPUT:g} %")
            verdict = report.bound(within or by_chance, f"{name}: accepted off by {accepted_off:+.1f} %, "
                                   f"at most {THROUGHPUT:g} % (or 2 σ of one run)")
            verdict += "" if within else " (2 σ)"
        table.append([row["profile"], row["k"], row["num_vcs"], row["traffic"], row["packet_size"],
                      row["injection_rate_flits"], row["status"], f"{reference:.2f}", f"{shift:+.2f}",
                      f"{latency:.2f} ± {spread:.2f}", f"{off:+.1f} %" if row["status"] == "ok" else "–",
                      f"{float(row['accepted_flit_rate']):.4f}", f"{accepted:.4f}", f"{accepted_off:+.1f} %", verdict])
    report.table(["profile", "k", "VCs", "pattern", "flits", "rate", "BookSim", "latency", "H", "ours ± σ", "off",
                  "accepted", "ours", "off", "bound"], table)
    if scattered:
        report.say("Beyond the bound, but within the spread of single runs: " + "; ".join(scattered) + ".")
        report.say()


def largest(report, program, folder):
    with ROWS.open(encoding="utf-8") as file:
        row = next(row for row in csv.DictReader(file) if row["k"] == "100")
    point = run(program, folder / "largest.yaml", traffic_text(row, row["injection_rate_flits"], 1))["points"][0]
    report.say("### 100×100")
    report.say()
    report.say("BookSim's run on the 100×100 mesh measures its speed. It ended after three samples of "
               f"{row['sample_period']} cycles, in which a packet can hardly cross the machine, so its latency is "
               "that of the packets that arrived first and has no bound.")
    report.say()
    hops = float(row["flit_sends_total"])
    report.table(["", "cycles", "latency", "M hops", "CPU s", "M hops / CPU s"],
                 [["BookSim", row["sim_cycles"], f"{float(row['avg_packet_latency']):.1f}", f"{hops / 1e6:.2f}",
                   f"{float(row['user_cpu_s']):.1f}", f"{hops / float(row['user_cpu_s']) / 1e6:.3f}"],
                  ["ours", point["cycles"], f"{point['latency']:.1f}", f"{point['hops'] / 1e6:.2f}",
                   f"{point['cpu_s']:.1f}", f"{point['hops'] / point['cpu_s'] / 1e6:.2f}"]])


def zero_load(report, program, folder):
    report.say("### Zero load")
    report.say()
    report.say("Least latency of a packet to its own node through one router, T₀ = H (r + 1) + 2 + (F − 1); unit "
               "tests (`flit_network_test`) cover all other distances and delays.")
    report.say()
    rows = []
    with ROWS.open(encoding="utf-8") as file:
        seen = {}
        for row in csv.DictReader(file):
            if row["k"] == "8" and row["status"] == "ok":
                seen.setdefault((row["profile"], row["packet_size"]), row)
    for (profile, flits), row in sorted(seen.items()):
        point = run(program, folder / f"zero-{profile}-{flits}.yaml", traffic_text(row, 0.02, 1))["points"][0]
        delay = 5 if profile == "plain" else 4
        expected = delay + 2 + int(flits) - 1
        report.bound(point["latency_least"] == expected == float(row["min_packet_latency"]),
                     f"{profile}, {flits} flits: zero-load latency {point['latency_least']:g}, exactly {expected}")
        rows.append([profile, flits, row["min_packet_latency"], expected, f"{point['latency_least']:g}"])
    report.table(["profile", "flits", "BookSim", "T₀", "ours"], rows)


def base(k, kind="mesh"):
    return {"topology": kind, "k": str(k), "num_vcs": "4", "vc_buf_size": "8", "vc_allocator": "islip",
            "sw_allocator": "islip", "wait_for_tail_credit": "0",
            "credit_delay": "0", "routing_delay": "1", "vc_alloc_delay": "1", "sw_alloc_delay": "1",
            "input_speedup": "1", "output_speedup": "1", "traffic": "uniform", "packet_size": "1",
            "sample_period": "4000", "warmup_periods": "1", "max_samples": "4", "latency_thres": "500",
            "sim_type": "throughput"}


def speed(report, program, folder, setting):
    report.say("### Speed and memory")
    report.say()
    report.say("Flits through routers per second of CPU time, set-up included (BookSim, counted the same way in "
               "the reference: 0.08 to 0.55 M). 0.3 flits per node and cycle are 72 % of what the 8×8 mesh can accept; "
               "a 128×128 mesh accepts 4 / 128 = 0.031 at most, so 0.3 is far beyond saturation, and 0.0225 is the "
               "same share. Beyond saturation, messages wait at their senders, 48 B each, and count with the routers.")
    report.say()
    cases = [(8, 0.3, 1.0, "12000"), (128, 0.0225, 0.5, "200"), (128, 0.3, 0.5, "200")]
    rows = []
    for k, rate, share, sample in cases[:1] if setting.reduced else cases:
        best = 0
        for attempt in range(1 if setting.counts_only else 3 if k == 8 else 2):
            data = run(program, folder / f"speed-{k}-{rate}.yaml",
                       traffic_text({**base(k), "sample_period": sample}, rate, attempt + 1))
            point = data["points"][0]
            best = max(best, point["hops"] / point["cpu_s"])
        text = f"{best / 1e6:.2f} M"
        if not setting.counts_only:
            text = report.at_least(best / 1e6, share * HOPS_A_SECOND / 1e6, f"{k}×{k} at {rate}: M hops a second",
                                   "{:.2f}")
        router_bytes = data["network_bytes"] / data["nodes"]
        bytes_text = f"{router_bytes:.0f}"
        if rate < 4 / k:
            bytes_text = report.at_most(router_bytes, ROUTER_BYTES, f"{k}×{k}: bytes a router", "{:.0f}")
        rows.append([f"{k}×{k}", rate, text, f"{point['events'] / point['hops']:.2f}", bytes_text])
    report.table(["mesh", "rate", "M hops / CPU s", "events a hop", "bytes a router, 4 VCs × 8 flits"], rows)
    still = run(program, folder / "idle.yaml",
                traffic_text({**base(8), "sample_period": "1000000"}, 1e-6, 1))["points"][0]
    events = still["events"] / still["hops"]
    report.bound(events < 8, f"idle routers: {events:.1f} events a hop at a load of 1e-6, below 8")
    report.say(f"Idle routers cost nothing: at 10⁻⁶ flits per node and cycle, {still['cycles']} cycles take "
               f"{still['events']} events, {events:.1f} per flit and router.")
    report.say()


def ranks(report, program, folder, setting):
    report.say("### Ranks")
    report.say()
    cases = [("mesh", "uniform"), ("torus", "tornado")][:1 if setting.reduced else 2]
    for kind, pattern in cases:
        text = traffic_text({**base(8, kind), "traffic": pattern, "packet_size": "5", "sim_type": "latency",
                             "sample_period": "500"}, 0.3, 1)
        found = []
        for count in (1, 2, 3, 4):
            point = run(program, folder / f"ranks-{kind}-{count}.yaml", text, count)["points"][0]
            found.append({key: value for key, value in point.items() if key not in ("cpu_s",)})
        report.bound(all(point == found[0] for point in found), f"{kind}, {pattern}: equal on 1, 2, 3, 4 ranks")
    report.say(f"Results of {len(cases)} cases (mesh, uniform; torus, tornado) are equal on 1, 2, 3 and 4 ranks, "
               "events and hops included.")
    report.say()


TORI = (("8×8", "8", "8", "uniform", 1), ("16×16", "16", "16", "uniform", 0.5), ("1×16", "1", "16", "tornado", 1 / 7))
LOADS = (0.5, 0.8, 1.0, 1.2, 1.6, 2.0)  # of the most that the links can carry


def tori(report, program, folder, setting):
    report.say("### Tori beyond saturation")
    report.say()
    report.say("Accepted flits per node and cycle, for messages of 5 flits and 4 virtual channels of 8 flits; loads "
               "are shares of what the links can carry. The BookSim reference has no torus.")
    report.say()
    rows = []
    for name, height, width, pattern, most in TORI[:1] if setting.reduced else TORI:
        row = {**base(8, "torus"), "packet_size": "5", "traffic": pattern, "max_samples": "3",
               "sample_period": "1000" if setting.reduced else "5000"}
        accepted = []
        for load in LOADS:
            text = traffic_text(row, load * most, 1).replace("measure:", "threshold: 0, measure:")
            text = text.replace("rows: 8, columns: 8", f"rows: {height}, columns: {width}")
            accepted.append(run(program, folder / f"torus-{name}-{load}.yaml", text)["points"][0]["accepted_rate"])
        rows.append([name, pattern, f"{most:.3f}"] + [f"{rate:.3f}" for rate in accepted])
        if name == "8×8":
            report.at_least(accepted[-1] / max(accepted), 0.85, f"{name} torus: share of its best at twice the load",
                            "{:.2f}")
    report.table(["torus", "pattern", "links carry"] + [f"at {load:g}" for load in LOADS], rows)
    if not setting.reduced:
        report.say("An 8×8 torus keeps nearly all of its best throughput, long rings do not. The likely reason: "
                   "routers grant the buffer space that a packet in a ring frees behind it alternately to packets in "
                   "the ring and to newly injected ones, so that under overload little free space gets back to where "
                   "packets have far to go; with two dimensions, one also waits for the other. In the ring of 16, more "
                   "channels or larger buffers change little. Injection is not controlled, as it is in such networks.")
        report.say()


def soak(report, program, folder, setting):
    cycles = 50_000 if setting.reduced else 10_000_000
    row = {**base(5, "torus"), "num_vcs": "2", "vc_buf_size": "4", "packet_size": "5", "max_samples": "100",
           "sample_period": str(cycles // 100)}
    text = traffic_text(row, 0.9, 1).replace("measure:", "threshold: 0, measure:")
    point = run(program, folder / "soak.yaml", text)["points"][0]
    report.bound(point["status"] == "overload" and point["cycles"] >= cycles,
                 f"torus soak: {point['cycles']} cycles at overload end as {point['status']}")
    report.say("### A torus that must not come to rest")
    report.say()
    report.say(f"5×5 torus, 2 virtual channels of 4 flits, messages of 5 flits, 0.9 offered: after {point['cycles']} "
               f"cycles and {point['hops']} hops it still accepts {point['accepted_rate']:.4f} flits per node and "
               f"cycle ({point['status']}; a sample in which nothing arrived would have been a deadlock).")
    report.say()


def sections(report, program, folder, setting):
    report.say("## The flit network")
    report.say()
    zero_load(report, program, folder)
    against_booksim(report, program, folder, setting)
    if not setting.reduced:
        largest(report, program, folder)
    speed(report, program, folder, setting)
    ranks(report, program, folder, setting)
    tori(report, program, folder, setting)
    soak(report, program, folder, setting)
