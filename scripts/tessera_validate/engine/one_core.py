"""Speed and memory of the engine on one rank, beside the references."""

from dataclasses import dataclass
from pathlib import Path

from bench_runs import millions
from measured import measured

# Of an event and of a logical process beyond the model's state [B].
EVENT_BYTES = 64
PROCESS_BYTES = 64


@dataclass
class Row:
    name: str
    full: str
    reduced: str
    quoted: str = ""
    ratio: float = 0  # at least, over the reference engine in the same run
    rate: float = 0   # at least, millions of events per processor second
    bytes_bound: bool = False
    repeat: int = 3
    reduced_ratio: float = 0


ROWS = [
    Row("mesh 633×633, 800 k in flight, uniform",
        "mesh --side 633 --in-flight 800000 --events 40000000",
        "mesh --side 200 --in-flight 80000 --events 2000000",
        "prototype 11 (std::priority_queue 1.6)", ratio=6, rate=10, reduced_ratio=1),
    Row("mesh 64×64, 4 packets a router, uniform",
        "mesh --side 64 --in-flight 16384 --events 40000000",
        "mesh --side 64 --in-flight 16384 --events 1000000",
        "SST-core 1.1 (its message mesh, 4 messages a component); prototype 19–24 "
        "(std::priority_queue 4.8–5.4)", ratio=4, rate=20, repeat=5),
    Row("mesh 32×32, 4 packets a router, uniform",
        "mesh --side 32 --in-flight 4096 --events 40000000", "",
        "SST-core 2.3 (its message mesh, 4 messages a component)"),
    Row("mesh 633×633, 800 k in flight, transpose",
        "mesh --side 633 --in-flight 800000 --events 40000000 --pattern transpose", ""),
    Row("mesh 64×64, 4 packets a router, transpose",
        "mesh --side 64 --in-flight 16384 --events 40000000 --pattern transpose", ""),
    Row("PHOLD, 4096 LPs", "phold --lps 4096 --events 20000000",
        "phold --lps 4096 --events 1000000", "ROSS 1.05; prototype 16", rate=10, bytes_bound=True,
        repeat=5),
    Row("PHOLD, 65 536 LPs", "phold --lps 65536 --events 20000000",
        "phold --lps 65536 --events 1000000", "ROSS 0.32; prototype 12", rate=8, bytes_bound=True,
        repeat=5),
    Row("PHOLD, 1 M LPs", "phold --lps 1048576 --events 20000000", "",
        "ROSS 0.13; prototype 6", rate=4.5, bytes_bound=True),
    Row("hold, 65 536 events", "hold --pending 65536 --events 20000000",
        "hold --pending 65536 --events 500000"),
    Row("hold, 1 M events", "hold --pending 1048576 --events 20000000", ""),
    Row("ring all-reduce, 256 accelerators", "ring --lps 256 --iterations 50",
        "ring --lps 64 --iterations 10", "SimGrid 0.09–0.26"),
    Row("LogGOPS, dissemination, 1024 processes", "loggops --lps 1024 --iterations 300",
        "loggops --lps 128 --iterations 20", "LogGOPSim 1.8–2.7"),
    Row("LogGOPS, random pairs, 1024 processes",
        "loggops --lps 1024 --iterations 300 --pattern random-pairs", "",
        "LogGOPSim 1.8–2.7"),
    Row("sparse, 1000 accelerators, an event a microsecond", "sparse --events 5000000",
        "sparse --events 100000", rate=3),
]


def measure(report, bench, row, setting):
    words = row.reduced if setting.reduced else row.full
    name = words if setting.reduced else row.name
    run = bench.run(f"{words} --engine both", repeat=1 if setting.reduced else row.repeat)
    reference = run["reference"]
    report.bound(run["identical"], f"{name}: both engines give the same results")
    rate = run["events_per_cpu_s"] / 1e6
    speed = [name, f"{rate:.2f}"]
    if row.rate and not setting.reduced:
        speed[1] = report.at_least(rate, row.rate, f"{name}: M events per CPU s", "{:.2f}")
    ratio_bound = 0 if setting.counts_only else row.reduced_ratio if setting.reduced else row.ratio
    ratio = f"{run['ratio']:.2f}"
    if ratio_bound:
        ratio = report.at_least(run["ratio"], ratio_bound,
                                f"{name}: times the std::priority_queue engine", "{:.2f}")
    speed += [millions(run["events"] / run["cpu_median_s"]),
              millions(reference["events_per_cpu_s"]), ratio, row.quoted, f"`{words}`"]
    event_bytes, process_bytes = run["bytes_per_pending_event"], run["bytes_per_lp"]
    memory = [name, f"{event_bytes:.1f}", f"{process_bytes:.1f}"]
    if row.bytes_bound:
        memory[1] = report.at_most(event_bytes, EVENT_BYTES, f"{name}: bytes a pending event")
        memory[2] = report.at_most(process_bytes, PROCESS_BYTES, f"{name}: bytes an LP")
    memory += [f"{run['model_bytes_per_lp']:.1f}", run["largest_pending"],
               f"{run['peak_rss_bytes'] / 1e6:.0f}", run["windows"],
               f"{run['events_per_window']:.1f}"]
    return speed, memory, run


def speed(report, bench, setting):
    report.say("## One rank, one core")
    report.say()
    report.say("Command: `build/release/tessera-bench CASE --engine both --repeat N --json`, with the "
               "case from the table. Millions of events (for a mesh: packet hops) per CPU "
               "second, best and median of N = 3 or 5 runs, and the best of the reference engine "
               "built into the benchmark: one `std::priority_queue` with the same model code, in the "
               "same process; both must give the same digest. *Quoted* figures were measured by "
               "others and elsewhere (a 2.5 GHz core of the same kind), not here.")
    report.say()
    rows = [row for row in ROWS if row.reduced or not setting.reduced]
    measured = [measure(report, bench, row, setting) for row in rows]
    report.table(["case", "ours, best [M/s]", "median", "`std::priority_queue` [M/s]", "ratio",
                  "quoted, not measured here [M/s]", "CASE"], [each[0] for each in measured])
    report.say("Memory of the engine beyond the model's state, per pending event (at the largest "
               "number of them) and per logical process. ROSS (quoted, not measured here): 352 bytes "
               "per event, 408 per LP; prototype: 57 MB at most for PHOLD, 77 MB for the mesh of "
               "633×633; SST-core 124 MB for 64×64. With few events pending, the engine's minimum "
               "memory dominates.")
    report.say()
    report.table(["case", "bytes a pending event", "bytes an LP", "model's bytes an LP",
                  "most events pending", "peak memory of the process [MB]", "windows with events",
                  "events a window"], [each[1] for each in measured])
    sparse = next(each[2] for each in measured if each[2]["case"] == "sparse")
    passed = sparse["simulated_ps"] // sparse["parameters"]["lookahead_ps"]
    report.say(f"Windows without events cost nothing: the sparse run passed {passed} windows of the "
               f"lookahead and opened {sparse['windows']} of them.")
    report.say()
    report.bound(sparse["windows"] <= sparse["events"],
                 "sparse: no more windows than events are opened")


def simgrid(report, bench, setting):
    beside = Path(bench.program).parent / "tessera-bench-ring-simgrid"
    if not beside.exists():
        report.not_run("SimGrid's ring, for there is no SimGrid on this machine")
        return
    sizes = (16,) if setting.reduced else (64, 256)
    rows = []
    for lps in sizes:
        words = f"ring --lps {lps} --iterations 1"
        theirs = bench.run(f"{words} --engine simgrid", repeat=1 if setting.reduced else 3)
        ours = bench.run(words, repeat=5)
        many = bench.run(f"ring --lps {lps} --iterations {10 if setting.reduced else 100}", repeat=3)
        report.bound(ours["events"] == theirs["events"] and
                     abs(ours["simulated_ps"] - theirs["simulated_ps"]) <= 1e-9 * ours["simulated_ps"],
                     f"ring of {lps}: as many flows and the same simulated time as SimGrid")
        rows.append([lps, theirs["events"], f"{theirs['simulated_ps'] / 1e9:.6f}",
                     f"{ours['simulated_ps'] / 1e9:.6f}", millions(theirs["events_per_cpu_s"], 3),
                     millions(many["events_per_cpu_s"]),
                     f"{many['events_per_cpu_s'] / theirs['events_per_cpu_s']:.0f}"])
    report.say("SimGrid on the same ring, run here: `tessera-bench ring --lps N --iterations 1 --engine "
               "simgrid`; ours with 100 iterations, as one is too short to time. SimGrid solves for the "
               "shares of each link among its flows, which this ring does not need: the ratio shows "
               "the cost of a flow, not which program is better.")
    report.say()
    report.table(["accelerators", "flows", "SimGrid's time [ms]", "our time [ms]",
                  "SimGrid [M flows per CPU s]", "ours", "ratio"], rows)


def one_core(report, tools, setting):
    speed(report, tools.bench, setting)
    simgrid(report, tools.bench, setting)


sections = measured(one_core)
