"""Bytes of memories and networks in summaries, and the energy that follows from them."""
from program import HERE, check, expect

MESH = "{kind: mesh, rows: 1, columns: 8, bandwidth: 100 GB/s, latency: 10 ns}"
MODEL = ("{kind: transformer, layers: 8, hidden: 256, heads: 8, sequence: 128, vocabulary: 1024, batch: 16, "
         "attention: flash}")
MEMORY_ALONE = "{idle: 0, compute: 0, memory: 100, link: 0, host: 0}"
PLAN = f"""name: plan
machine:
  topology: {MESH}
  tile: {{peak: {{fp16: 10 TFLOP/s}}, operands: dram}}
  dram: {{at: each, bandwidth: 100 GB/s, latency: 0 ns, capacity: 16 GB}}
  network: {{model: analytical}}
  power: {MEMORY_ALONE}
workload: {MODEL}
strategy: {{micro_batch: 2}}
"""
STREAMS = PLAN.replace(", operands: dram", ", sram: 4 MiB").replace("100 GB/s, latency: 0 ns", "10 GB/s, latency: 100 ns")
GRAPH = f"""name: graph
machine:
  topology: {MESH}
  tile: {{peak: {{fp16: 10 TFLOP/s}}, operands: dram}}
  dram: {{at: each, bandwidth: 100 GB/s, latency: 0 ns, capacity: 16 GB}}
  network: {{model: analytical}}
  power: {MEMORY_ALONE}
workload: {{kind: graph, vertices: [{{name: a, start: true, flops: 1 GFLOP, bytes: 100 MB}}]}}
"""
JOB = f"workload: {MODEL}, strategy: {{tensor: 4, micro_batch: 2}}"
TENANTS = PLAN[:PLAN.index("workload:")] + f"""workload:
  kind: tenants
  tenants:
    - {{name: x, tiles: [[0, 0, 1, 4]], {JOB}}}
    - {{name: y, tiles: [[0, 4, 1, 4]], {JOB}}}
"""
SERVED = PLAN[:PLAN.index("workload:")] + """workload:
  kind: serving
  tenants:
    - name: chat
      language_model: {layers: 2, hidden: 256, heads: 4, sequence: 512, vocabulary: 1024}
      requests: {arrivals: poisson, rate: 100, count: 3, prompt: 64, generate: 4}
"""


def summary_of(program, text, *settings):
    path = program.scratch / "bytes.yaml"
    path.write_text(text)
    folder = program.scratch / f"run {len(list(program.scratch.iterdir()))}"
    sets = [word for setting in settings for word in ("--set", setting)]
    done = program.call("run", path, "-o", folder, "-q", "-q", *sets)
    expect(done.returncode == 0, done.stderr_text)
    return program.summary(folder)


def expect_near(found, wanted):
    expect(abs(found / wanted - 1) < 1e-6, f"{found}, not {wanted}")


def expect_energy(summary, rate, watts=100):
    """As bytes over what memories move at `rate` say."""
    share = summary["memory_bytes"] / (rate * summary["simulated_time_ps"] * 1e-12)
    expect_near(summary["power_w_per_tile"], watts * share)


@check
def energy_of_memories_is_by_their_bytes(program):
    plan = summary_of(program, PLAN)
    expect(plan["memory_bytes"] > 0 and plan["memory_read_bytes"] is None, plan)
    expect_energy(plan, 100e9)
    graphs = summary_of(program, PLAN, "execution.collectives.communicators=flat")
    for key in ("memory_bytes", "memory_read_bytes", "power_w_per_tile", "energy_j_per_iteration"):
        expect(graphs[key] == plan[key], (key, graphs[key], plan[key]))
    streams = summary_of(program, STREAMS)
    expect(streams["memory_bytes"] == streams["memory_read_bytes"] + streams["memory_written_bytes"], streams)
    expect_energy(streams, 10e9)
    graph = summary_of(program, GRAPH)
    expect(graph["memory_bytes"] == graph["tiles"] * 100e6, graph)
    expect_energy(graph, graph["tiles"] * 100e9)
    tenants = summary_of(program, TENANTS)
    expect_energy(tenants, 8 * 100e9)


@check
def energy_without_bytes_says_so(program):
    served = summary_of(program, SERVED)
    expect(served["memory_bytes"] is None and served["memory_read_bytes"] is None, served)
    expect(any("without what memories draw" in note for note in served["notes"]), served["notes"])


@check
def bytes_of_aggregated_plans_are_of_all_tiles(program):
    keys = ("message_bytes", "collective_bytes", "memory_read_bytes", "memory_written_bytes", "memory_bytes")
    for strategy in ("{pipeline: 2, tensor: 2, data: 2, micro_batch: 2}", "{zero: 3, data: 4, micro_batch: 2}"):
        for network in ("analytical", "flow"):
            settings = (f"strategy={strategy}", f"machine.network.model={network}")
            every = summary_of(program, STREAMS, *settings)
            for one in ("tensor", "stage"):
                found = summary_of(program, STREAMS, *settings, f"strategy.aggregation={one}")
                for key in keys:
                    expect(found[key] == every[key], (strategy, network, one, key, found[key], every[key]))


@check
def memories_of_coherent_accesses_are_among_those_that_energy_knows(program):
    path = HERE.parent / "parallel" / "graph_coherent_dram.yaml"
    coherent = summary_of(program, path.read_text(), f"machine.power={MEMORY_ALONE}")
    expect_energy(coherent, 5 * 256e9 + 3 * 25.6e9)


@check
def memories_that_move_more_than_they_can_are_noted(program):
    few = STREAMS.replace("at: each", "at: edge, edges: [west]")
    summary = summary_of(program, few, "machine.memory.model=bandwidth")
    share = summary["memory_bytes"] / (10e9 * summary["simulated_time_ps"] * 1e-12)
    expect(share > 1.5 and summary["power_w_per_tile"] == 100, summary)
    expect(any(f"moved {round(share, 2):g} times the bytes" in note for note in summary["notes"]), summary["notes"])
