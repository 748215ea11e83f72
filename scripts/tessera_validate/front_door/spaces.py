"""`tessera plan` against brute force: spaces of strategies of which every point is simulated."""

import csv
import json
from dataclasses import dataclass

from page import call

LEAST_POINTS = 500  # that finish, of a space
MOST_REGRET = 1.0   # %
HEAD = ("space", "points", "finished", "the best of them", "of plan", "regret", "simulated by plan",
        "processor seconds: all points", "plan")

DENSE = "{kind: transformer, layers: 8, hidden: 256, heads: 8, sequence: 128, vocabulary: 1024, batch: 32}"
LONG = "{kind: transformer, layers: 4, hidden: 256, heads: 8, sequence: 2048, vocabulary: 1024, batch: 8}"
EXPERTS = ("{kind: transformer, layers: 4, hidden: 128, heads: 8, sequence: 128, vocabulary: 1024, batch: 32, "
           "experts: {count: 8, top_k: 2}}")
MESH = ("{topology: {kind: mesh, rows: 4, columns: 4, bandwidth: 16 GB/s, latency: 20 ns}, "
        "tile: {peak: {fp16: 4 TFLOP/s}, sram: SRAM}DRAM}")
EDGE = ", dram: {at: edge, edges: [west, east], bandwidth: 20 GB/s, latency: 100 ns, capacity: 64 MB}"
WAFER = ("{topology: {kind: wafer, tiles: [2, 2], cores: [2, 4], intra_tile: {bandwidth: 64 GB/s, latency: 2 ns}, "
         "inter_tile: {bandwidth: 16 GB/s, latency: 10 ns}}, tile: {peak: {fp16: 4 TFLOP/s}, sram: 1 MB}, "
         "dram: {at: edge, edges: [west, east], bandwidth: 16 GB/s, latency: 100 ns, capacity: 64 MB}}")
CLUSTER = ("{topology: {kind: cluster, nodes: NODES, accelerators: 4, nics: 4, "
           "switch: {bandwidth: 200 GB/s, latency: 250 ns}, nic: {bandwidth: 25 GB/s, latency: 1 us}, "
           "port: {bandwidth: 12.5 GB/s, latency: 1 us}, fabric: {kind: switch}}, "
           "tile: {peak: {fp16: 50 TFLOP/s}, sram: 1 MB, operands: dram}, "
           "dram: {at: each, bandwidth: 1000 GB/s, latency: 400 ns, capacity: CAPACITY}}")


@dataclass(frozen=True)
class Space:
    name: str
    machine: str
    workload: str
    axes: dict
    about: str

    def experiment(self):
        return (f"name: {self.name}\nmachine: {self.machine}\nworkload: {self.workload}\n"
                "strategy: {pipeline: 1, tensor: 1, data: 1, placement: {layout: linear}}\n")

    def sweep(self):
        lines = ["experiment: experiment.yaml", "axes:"]
        lines += [f"  strategy.{key}: {json.dumps(values)}" for key, values in self.axes.items()]
        lines += ["constraints:", "  - pipeline * tensor * data * context <= devices"
                  if "context" in self.axes else "  - pipeline * tensor * data <= devices"]
        return "\n".join(lines) + "\nobjective: {minimize: iteration_time_ps}\n"


LAYOUTS = [{"layout": name} for name in ("s-shape", "line", "linear", "replicas")]
SPACES = (
    Space("mesh", MESH.replace("SRAM", "64 MB").replace("DRAM", ""), DENSE,
          {"pipeline": [1, 2, 4, 8], "tensor": [1, 2, 4, 8], "data": [1, 2, 4, 8, 16],
           "micro_batch": [1, 2, 4, 8], "schedule": ["1f1b", "gpipe", "zb-h1"], "zero": [0, 1],
           "placement": LAYOUTS},
          "a mesh whose SRAM holds all: degrees, micro-batch, schedule, ZeRO and layout"),
    Space("edges", MESH.replace("SRAM", "1 MB").replace("DRAM", EDGE), DENSE,
          {"pipeline": [1, 2, 4, 8], "tensor": [1, 2, 4, 8], "data": [1, 2, 4, 8],
           "micro_batch": [1, 2, 4, 8], "recompute": ["none", "selective", "full"], "zero": [0, 1, 3],
           "placement": LAYOUTS[:2]},
          "the same with SRAM that is too small, and DRAM at two edges: recomputation, ZeRO"),
    Space("wafer", WAFER, DENSE,
          {"pipeline": [1, 2, 4, 8], "tensor": [1, 2, 4, 8], "data": [1, 2, 4, 8, 16],
           "micro_batch": [1, 2, 4, 8], "schedule": ["1f1b", "gpipe", "zb-h1"], "recompute": ["none", "full"],
           "placement": LAYOUTS},
          "a wafer of two levels"),
    Space("cluster", CLUSTER.replace("NODES", "4").replace("CAPACITY", "24 MB"), DENSE,
          {"pipeline": [1, 2, 4, 8], "tensor": [1, 2, 4, 8], "data": [1, 2, 4, 8, 16],
           "micro_batch": [1, 2, 4], "zero": [0, 1, 2, 3], "recompute": ["none", "selective", "full"],
           "overlap_gradients": [False, True]},
          "servers with little memory: ZeRO, recomputation, overlap of gradients"),
    Space("context", CLUSTER.replace("NODES", "4").replace("CAPACITY", "1 GB"), LONG,
          {"pipeline": [1, 2, 4], "tensor": [1, 2, 4, 8], "data": [1, 2, 4, 8], "context": [1, 2, 4, 8],
           "micro_batch": [1, 2], "sequence_parallel": [False, True], "overlap_tensor": [False, True],
           "overlap_gradients": [False, True]},
          "long sequences: context, sequence parallelism, both overlaps"),
    Space("experts", CLUSTER.replace("NODES", "2").replace("CAPACITY", "1 GB"), EXPERTS,
          {"pipeline": [1, 2, 4], "tensor": [1, 2, 4, 8], "data": [1, 2, 4, 8], "expert": [1, 2, 4, 8],
           "micro_batch": [1, 2, 4], "zero": [0, 1, 2], "overlap_gradients": [False, True]},
          "a mixture of experts"),
    Space("chunks", CLUSTER.replace("NODES", "4").replace("CAPACITY", "1 GB"),
          DENSE.replace("layers: 8", "layers: 14"),
          {"pipeline": [2, 4, 8, 16], "chunks": [1, 2, 4], "tensor": [1, 2, 4], "data": [1, 2, 4],
           "micro_batch": [1, 2, 4], "recompute": ["none", "full"], "overlap_gradients": [False, True],
           "sequence_parallel": [False, True]},
          "interleaved chunks"),
)


def best_of_all(program, folder):
    """The shortest iteration, how many points there are and finished, and the seconds they took."""
    done = call([program, "sweep", str(folder / "sweep.yaml"), "-q", "-o", str(folder / "all")])
    with open(folder / "all" / "sweep.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    times = [int(row["iteration_time_ps"]) for row in rows if row["status"] == "finished"]
    return min(times), len(rows), len(times), done.user_s + done.system_s


def of_plan(program, folder):
    """The iteration of what plan writes, as a run of its own has it."""
    strategy = folder / "strategy.yaml"
    experiment = str(folder / "experiment.yaml")
    done = call([program, "plan", experiment, "-q", "--json", "-o", str(strategy), "--folder",
                 str(folder / "plan")])
    call([program, "run", experiment, "--set", f"strategy={strategy}", "--set", "run.trace=none", "-q", "-q",
          "-o", str(folder / "run")])
    summary = json.loads((folder / "run" / "summary.json").read_text(encoding="utf-8"))
    return summary["iteration_time_ps"], json.loads(done.stdout), done.user_s + done.system_s


def row(report, program, folder, space):
    folder.mkdir()
    (folder / "experiment.yaml").write_text(space.experiment(), encoding="utf-8")
    (folder / "sweep.yaml").write_text(space.sweep(), encoding="utf-8")
    print(f"space   {space.name}", flush=True)
    best, points, finished, seconds = best_of_all(program, folder)
    planned, outcome, plan_seconds = of_plan(program, folder)
    regret = 100 * (planned / best - 1)
    report.bound(planned == outcome["proposals"][0]["iteration_time_ps"],
                 f"{space.name}: a run takes what plan says")
    return (space.name, points, report.at_least(finished, LEAST_POINTS, f"{space.name}: points", "{:d}"),
            f"{best / 1e6:.3f} us", f"{planned / 1e6:.3f} us",
            report.at_most(regret, MOST_REGRET, f"{space.name}: regret [%]", "{:.2f}") + " %",
            len(outcome["proposals"]), f"{seconds:.1f}", f"{plan_seconds:.1f}")


def sections(report, program, folder, setting):
    report.say("## Against brute force")
    report.say()
    report.say("Each space is a grid over keys of the strategy, of which `tessera sweep` simulates every point that "
               "can be planned; `tessera plan` searches its own space, which has these and more. The regret is by how "
               "much a run of the strategy that plan writes is slower than the fastest point; below zero, plan has "
               "found one that is not in the grid.")
    report.say()
    spaces = SPACES[:1] if setting.reduced else SPACES
    report.table(HEAD, [row(report, program, folder / space.name, space) for space in spaces])
    for space in spaces:
        report.say(f"- `{space.name}`: {space.about}.")
    report.say()
