"""`tessera plan` against brute force: spaces of strategies of which every point is simulated."""

import csv
import json
from dataclasses import dataclass, field

from page import ROOT, call

LEAST_POINTS = 500  # that finish, of a space
LEAST_REDUCED = 150
MOST_REGRET = 1.0   # %
HEAD = ("space", "points", "fit", "finished", "the best of them", "of plan", "regret", "simulated by plan",
        "certain gap", "bounds, of the time", "bounds violated", "processor seconds: all points", "plan")

DENSE = "{kind: transformer, layers: 8, hidden: 256, heads: 8, sequence: 128, vocabulary: 1024, batch: 32}"
LONG = "{kind: transformer, layers: 4, hidden: 256, heads: 8, sequence: 2048, vocabulary: 1024, batch: 8}"
LARGER = "{kind: transformer, layers: 8, hidden: 1024, heads: 16, sequence: 512, vocabulary: 8192, batch: 32}"
EXPERTS = ("{kind: transformer, layers: 4, hidden: 128, heads: 8, sequence: 128, vocabulary: 1024, batch: 32, "
           "experts: {count: 8, top_k: 2}}")
MESH = ("{topology: {kind: mesh, rows: 4, columns: 4, bandwidth: 16 GB/s, latency: 20 ns}, "
        "tile: {peak: {fp16: 4 TFLOP/s}, sram: SRAM}DRAM}")
EDGE = ", dram: {at: edge, edges: [west, east], bandwidth: 20 GB/s, latency: 100 ns, capacity: 64 MB}"
CROWDED = ("{topology: {kind: mesh, rows: 6, columns: 6, bandwidth: 8 GB/s, latency: 50 ns}, "
           "tile: {peak: {fp16: 2 TFLOP/s}, sram: 512 KiB}, "
           "dram: {at: edge, edges: [west], bandwidth: 30 GB/s, latency: 80 ns, capacity: 256 MB}}")
WAFER = ("{topology: {kind: wafer, tiles: [2, 2], cores: [2, 4], intra_tile: {bandwidth: 64 GB/s, latency: 2 ns}, "
         "inter_tile: {bandwidth: 16 GB/s, latency: 10 ns}}, tile: {peak: {fp16: 4 TFLOP/s}, sram: 1 MB}, "
         "dram: {at: edge, edges: [west, east], bandwidth: 16 GB/s, latency: 100 ns, capacity: 64 MB}}")
CLUSTER = ("{topology: {kind: cluster, nodes: NODES, accelerators: 4, nics: 4, "
           "switch: {bandwidth: 200 GB/s, latency: 250 ns}, nic: {bandwidth: 25 GB/s, latency: 1 us}, "
           "port: {bandwidth: 12.5 GB/s, latency: 1 us}, fabric: {kind: switch}}, "
           "tile: {peak: {fp16: 50 TFLOP/s}, sram: 1 MB, operands: dram}, "
           "dram: {at: each, bandwidth: 1000 GB/s, latency: 400 ns, capacity: CAPACITY}}")

UPLINKS = ("{topology: {kind: cluster, nodes: 3, accelerators: 8, nics: 1, "
           "switch: {bandwidth: 64 GB/s, latency: 100 ns}, nic: {bandwidth: 8 GB/s, latency: 100 ns}, "
           "port: {bandwidth: 2 GB/s, latency: 100 ns}, "
           "fabric: {kind: fat-tree, leaf_nodes: 1, spines: 1, bandwidth: 4 GB/s, latency: 100 ns}}, "
           "tile: {peak: {fp16: 4 TFLOP/s}, sram: 5 MB, operands: dram}, "
           "dram: {at: each, bandwidth: 24 GB/s, latency: 50 ns, capacity: 54 MB}, network: {model: analytical}}")
PORTS = ("{topology: {kind: stack, dimensions: [{block: ring, size: 4, bandwidth: 200 GB/s, latency: 10 us}, "
         "{block: switch, size: 3, bandwidth: 200 GB/s, latency: 10 us}]}, "
         "tile: {peak: {fp16: 100 TFLOP/s}, sram: 160 MB}, network: {model: crossbar, collective_overhead: 2 us}}")
SIDES = ("{topology: {kind: mesh, rows: 4, columns: 4, bandwidth: 20 GB/s, latency: 20 ns}, "
         "tile: {peak: {fp16: 1 TFLOP/s}, sram: 512 KiB}, dram: {at: edge, edges: [north, south, west, east], "
         "bandwidth: 60 GB/s, latency: 400 ns, capacity: 400 MB}, network: {model: packet, message_overhead: 200 ns}}")


@dataclass(frozen=True)
class Space:
    """What `tessera plan` varies, but for what `keep` says of keys; `fewer` makes it small for tests."""
    name: str
    machine: str
    workload: str
    keep: dict
    about: str
    fewer: dict = field(default_factory=dict)
    settings: tuple = ()

    def experiment(self):
        return (f"name: {self.name}\nmachine: {self.machine}\nworkload: {self.workload}\n"
                "strategy: {pipeline: 1, tensor: 1, data: 1, placement: {layout: linear}}\n")

    def words(self, reduced):
        kept = {**self.keep, **self.fewer} if reduced else self.keep
        return self.set() + [word for key, values in kept.items() for word in ("--keep", f"{key}={values}")]

    def set(self):
        return [word for setting in self.settings for word in ("--set", setting)]


GRID = {"placement": "s-shape,line,linear,replicas"}
PLAIN = {"context": "1", "sequence_parallel": "false", "overlap_tensor": "false"}
SPACES = (
    Space("mesh", MESH.replace("SRAM", "64 MB").replace("DRAM", ""), DENSE,
          {**PLAIN, **GRID, "chunks": "1", "recompute": "none", "zero": "0,1,3"},
          "a mesh whose SRAM holds everything: degrees, micro-batch, schedule, ZeRO, gradient overlap and layout",
          {"placement": "s-shape,linear", "zero": "0,1", "micro_batch": "1,4"}),
    Space("edges", MESH.replace("SRAM", "1 MB").replace("DRAM", EDGE), DENSE,
          {**PLAIN, "placement": "s-shape,replicas", "chunks": "1", "recompute": "none,full", "zero": "0,1,3"},
          "the same with too little SRAM, and DRAM at two edges: recomputation, ZeRO, schedule"),
    Space("crowded", CROWDED, "{kind: transformer, layers: 6, hidden: 192, heads: 6, sequence: 96, "
          "vocabulary: 2000, batch: 24}",
          {"context": "1", "overlap_tensor": "false", "chunks": "1", "schedule": "1f1b,zb-h1", "zero": "1,3",
           "recompute": "none,full", "placement": "s-shape,linear", "micro_batch": "1,2,4"},
          "a mesh with DRAM at one edge, whose links carry everything that tiles read besides collectives"),
    Space("wafer", WAFER, DENSE,
          {**PLAIN, **GRID, "chunks": "1", "recompute": "none,full", "zero": "0,2,3",
           "overlap_gradients": "true", "schedule": "1f1b,zb-h1"},
          "a two-level wafer with DRAM at its edges"),
    Space("servers", CLUSTER.replace("NODES", "4").replace("CAPACITY", "24 MB"), DENSE, PLAIN,
          "servers with little memory: ZeRO, recomputation, gradient overlap, schedule and chunks"),
    Space("a100", f"{ROOT}/configs/machines/a100_cluster_4nic.yaml", LARGER,
          {"context": "1", "chunks": "1", "recompute": "none,full", "zero": "0,1,3", "overlap_tensor": "false",
           "schedule": "1f1b,zb-h1"},
          "two servers of eight A100 with four NICs each, as shipped: rails, sequence parallelism",
          settings=("machine.topology.nodes=2",)),
    Space("context", CLUSTER.replace("NODES", "4").replace("CAPACITY", "1 GB"), LONG,
          {"zero": "0,3", "recompute": "none", "chunks": "1", "schedule": "1f1b"},
          "long sequences: context, sequence parallelism, both overlaps"),
    Space("experts", CLUSTER.replace("NODES", "2").replace("CAPACITY", "1 GB"), EXPERTS,
          {**PLAIN, "zero": "0,1,2"},
          "a mixture of experts", {"recompute": "none", "zero": "0,1", "micro_batch": "1,4"}),
    Space("chunks", CLUSTER.replace("NODES", "4").replace("CAPACITY", "1 GB"),
          DENSE.replace("layers: 8", "layers: 14"),
          {**PLAIN, "zero": "0,1", "recompute": "none,full"},
          "interleaved chunks and deferred weight gradients"),
    Space("hybrid", CLUSTER.replace("NODES", "4").replace("CAPACITY", "64 MB"), DENSE,
          {**PLAIN, "chunks": "1", "schedule": "1f1b", "zero": "1,2,3", "shard": "0,2,4,8"},
          "hybrid sharding: ZeRO over some of the replicas, those of one or two servers, and over all",
          {"recompute": "none,full", "micro_batch": "4"}),
    Space("v", CLUSTER.replace("NODES", "4").replace("CAPACITY", "1 GB"),
          DENSE.replace("layers: 8", "layers: 14"),
          {"context": "1", "sequence_parallel": "false", "zero": "0,1", "recompute": "none,full", "chunks": "1,2",
           "schedule": "1f1b,zb-h1,interleaved,zb-v,dualpipe-v"},
          "V-shaped schedules beside others, and overlaps"),
    Space("turns", CLUSTER.replace("NODES", "2").replace("CAPACITY", "1 GB"),
          EXPERTS.replace("batch: 32", "batch: 128"),
          {**PLAIN, "zero": "0,2", "recompute": "none,full", "chunks": "1,2", "micro_batch": "1,2,4",
           "schedule": "1f1b,interleaved,dualpipe-v"},
          "a mixture of experts whose passes may alternate, so that exchanges are hidden"),
    # The hardest of 200 random ones.
    Space("uplinks", UPLINKS, "{kind: transformer, layers: 12, hidden: 192, heads: 4, sequence: 64, "
          "vocabulary: 8192, batch: 24}",
          {"context": "1", "sequence_parallel": "false", "recompute": "none,selective", "zero": "0,3",
           "schedule": "1f1b,dualpipe-v", "micro_batch": "1,4"},
          "servers with one slow NIC each, and messages that share no link beyond the first one"),
    Space("ports", PORTS, "{kind: transformer, layers: 8, hidden: 192, heads: 4, sequence: 64, vocabulary: 1024, "
          "batch: 32, tie_embeddings: false, experts: {count: 8, top_k: 2, every: 2}}",
          {"context": "1", "overlap_tensor": "false", "async_tensor": "false", "recompute": "selective,full",
           "zero": "0,2", "chunks": "1", "micro_batch": "1,2"},
          "a crossbar of long latency, and experts"),
    Space("sides", SIDES, "{kind: transformer, layers: 6, hidden: 256, heads: 8, sequence: 1024, vocabulary: 1024, "
          "batch: 8}",
          {"sequence_parallel": "false", "overlap_tensor": "false", "async_tensor": "false",
           "placement": "replicas", "recompute": "none,selective", "zero": "3", "micro_batch": "1,2"},
          "long sequences with DRAM at all edges, and the replicas layout alone"),
)
REDUCED = ("mesh", "experts", "hybrid")


def plan(program, folder, space, reduced, name, *more):
    """What plan answers, as JSON, and its processor seconds."""
    done = call([program, "plan", str(folder / "experiment.yaml"), "-q", "--json", "-o",
                 str(folder / f"{name}.yaml"), "--folder", str(folder / name),
                 *space.words(reduced), *more])
    return json.loads(done.stdout), done.user_s + done.system_s


def points_of(folder):
    """(bound, simulated time) of all points that finished, by their keys."""
    with open(folder / "candidates.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["status"] == "finished"]
    keys = list(rows[0])[:-5]
    return {"/".join(row[key] for key in keys): (int(row["bound_ps"]), int(row["iteration_time_ps"]))
            for row in rows}


def time_of_a_run(program, folder, space):
    call([program, "run", str(folder / "experiment.yaml"), "--set", f"strategy={folder / 'plan.yaml'}", "--set",
          "run.trace=none", *space.set(), "-q", "-q", "-o", str(folder / "run")])
    return json.loads((folder / "run" / "summary.json").read_text(encoding="utf-8"))["iteration_time_ps"]


def row(report, program, folder, space, setting):
    folder.mkdir()
    (folder / "experiment.yaml").write_text(space.experiment(), encoding="utf-8")
    print(f"space   {space.name}", flush=True)
    every, seconds = plan(program, folder, space, setting.reduced, "all", "--all")
    answer, plan_seconds = plan(program, folder, space, setting.reduced, "plan")
    points = points_of(folder / "all")
    best = min(time for _, time in points.values())
    planned = min(each["iteration_time_ps"] for each in answer["proposals"] if not each["own"])
    violated = [key for key, (bound, time) in points.items() if bound > time]
    report.bound(not violated, f"{space.name}: bounds violated: {len(violated)} {' '.join(violated[:3])}".rstrip())
    report.bound(time_of_a_run(program, folder, space) == planned, f"{space.name}: a run takes what plan says")
    shares = sorted(bound / time for bound, time in points.values())
    least = LEAST_REDUCED if setting.reduced else LEAST_POINTS
    gap = 100 * (1 - min(answer["least_ps"], planned) / planned)
    return (space.name, every["candidates"], every["fitting"],
            report.at_least(len(points), least, f"{space.name}: points", "{:d}"),
            f"{best / 1e6:.3f} us", f"{planned / 1e6:.3f} us",
            report.at_most(100 * (planned / best - 1), MOST_REGRET, f"{space.name}: regret [%]", "{:.2f}") + " %",
            len(answer["proposals"]), f"{gap:.1f} %",
            f"{shares[0]:.2f} to {shares[-1]:.2f}, median {shares[len(shares) // 2]:.2f}", len(violated),
            f"{seconds:.1f}", f"{plan_seconds:.1f}")


def sections(report, program, folder, setting):
    report.say("## Against brute force")
    report.say()
    report.say("Each space is what `tessera plan` searches, with some keys restricted to given values "
               "(`--keep KEY=VALUES`). `tessera plan --all` simulates every point that fits, `tessera plan` those that "
               "it expects may win; both list the same points and simulate them in the same way. The regret is how "
               "much slower the best point that plan simulated is than the fastest of all. The certain gap is what "
               "plan states without brute force: how far the smallest bound of the points that it did not simulate is "
               "below its best. Bounds are given relative to the simulated times of all points; one above 1 is "
               "violated, which is a defect. A run of the strategy that plan writes takes the time that plan states.")
    report.say()
    spaces = [space for space in SPACES if not setting.reduced or space.name in REDUCED]
    report.table(HEAD, [row(report, program, folder / space.name, space, setting) for space in spaces])
    for space in spaces:
        kept = ", ".join(f"`{key}={values}`" for key, values in space.keep.items())
        report.say(f"- `{space.name}`: {space.about}. Restricted: {kept}.")
    report.say()
