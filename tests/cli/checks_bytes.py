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
GRAPH = PLAN[:PLAN.index("workload:")] + """\
workload: {kind: graph, vertices: [{name: a, start: true, flops: 1 GFLOP, bytes: 100 MB}]}
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
      language_model:
        {layers: 2, hidden: 256, heads: 4, sequence: 512, vocabulary: 1024, mlp: relu, normalisation: rms_norm,
         positions: none, biases: false, attention: flash, causal: true}
      batching: {block: 1}
      requests: {arrivals: fixed, interval: 10 ms, count: 1, prompt: 64, generate: 4}
"""
TYPES = GRAPH.replace("  network:", "  types: {other: {nodes: [0, 1, 2, 3], OTHER}}\n  network:")
OPERATORS = f"""name: operators
machine:
  topology: {{kind: mesh, rows: 2, columns: 2, bandwidth: 100 GB/s, latency: 10 ns}}
  dram: {{at: each, bandwidth: 10 GB/s, latency: 50 ns}}
  network: {{model: packet}}
  memory: {{model: channel}}
  compute: {{model: npu, array: [8, 8], vector_width: 64, scratchpad: 64 KiB, accumulator: 16 KiB}}
  power: {MEMORY_ALONE}
workload: {{kind: operators, operators: [{{kind: transpose, name: turn, rows: 512, columns: 256}}]}}
"""
STREAMED = STREAMS[:STREAMS.index("workload:")] + "workload:\n  kind: tenants\n  tenants:\n"
TENANT_JOBS = {
    "plan": f"{{name: plan, tiles: [[0, 0, 1, 4]], workload: {MODEL}, strategy: {{tensor: 4, micro_batch: 2MORE}}}}",
    "graph": f"""name: graph
      tiles: [[0, 4, 1, 2]]
      workload: {MODEL}
      strategy: {{tensor: 2, micro_batch: 2}}
      execution: {{collectives: {{communicators: flat}}}}""",
    "served": """name: served
      tiles: [[0, 6, 1, 2]]
      workload:
        kind: serving
        tenants:
          - name: chat
            language_model: {layers: 16, hidden: 512, heads: 4, sequence: 512, vocabulary: 1024}
            requests: {arrivals: fixed, interval: 10 ms, count: 2, prompt: 64, generate: 4}""",
}
COUNTS = ("message_bytes", "collective_bytes", "memory_read_bytes", "memory_written_bytes", "memory_bytes")


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


def elements_of_step(tokens, emitting, keys, layers=2, hidden=256, vocabulary=1024):
    """That operators of SERVED move: of each the weights, what it reads and what it writes."""
    norm = 2 * tokens * hidden + hidden
    products = 12 * hidden**2 + tokens * ((1 + 3) + (1 + 2) + (1 + 4) + (4 + 2)) * hidden
    cache = 2 * 2 * tokens * hidden  # keys and values, read as they were made, and written
    attention = 2 * tokens * hidden + 2 * keys * hidden
    head = 2 * emitting * hidden + hidden + hidden * vocabulary + emitting * (hidden + 2 * vocabulary + 1)
    return 2 * tokens * hidden + layers * (2 * norm + products + cache + attention) + head


@check
def bytes_of_served_models_are_those_of_their_steps(program):
    wanted = 2 * (elements_of_step(64, 1, 64) + sum(elements_of_step(1, 1, 64 + more) for more in (1, 2, 3)))
    for compute in ("{model: roofline}", "{model: gemm, tiles: [16x16], attention_efficiency: 0.5, attention_rows: 64}"):
        for steps in ("walked", "whole"):
            found = summary_of(program, SERVED, f"machine.compute={compute}", f"workload.steps={steps}")
            expect(found["memory_bytes"] == wanted, (compute, steps, found["memory_bytes"], wanted))
            expect(found["memory_read_bytes"] is None, found)
            expect_energy(found, found["tiles"] * 100e9)


@check
def energy_of_memories_of_operators_on_cores(program):
    found = summary_of(program, OPERATORS)
    expect(found["memory_read_bytes"] == found["memory_written_bytes"] == 2 * 512 * 256, found)
    expect_energy(found, 4 * 10e9)
    unknown = summary_of(program, OPERATORS, "machine.memory.model=bandwidth")
    expect(unknown["power_w_per_tile"] == 0, unknown)
    expect(any("power and energy exclude memories" in note for note in unknown["notes"]), unknown["notes"])


@check
def energy_of_memories_of_several_types_of_tiles(program):
    slow = summary_of(program, TYPES.replace("OTHER", "dram: {bandwidth: 50 GB/s, latency: 0 ns}"))
    expect(slow["memory_bytes"] == 8 * 100e6 and slow["simulated_time_ps"] == 2_000_000_000, slow)
    expect_near(slow["power_w_per_tile"], 100 * 8 * 100e6 / (2e-3 * (4 * 50e9 + 4 * 100e9)))
    apart = summary_of(program, TYPES.replace("OTHER", "operands: sram"))
    expect(apart["memory_bytes"] == 4 * 100e6 and apart["simulated_time_ps"] == 1_000_000_000, apart)
    expect_near(apart["power_w_per_tile"], 50)


@check
def bytes_of_tenants_are_those_of_each_alone(program):
    def of(*names, more=""):
        jobs = [TENANT_JOBS[name].replace("MORE", more) for name in names]
        return summary_of(program, STREAMED + "".join(f"    - {job}\n" for job in jobs))

    alone = {name: of(name) for name in TENANT_JOBS}
    for more in ("", ", aggregation: tensor"):
        for names in (("plan", "graph"), ("plan", "served"), ("plan", "graph", "served")):
            found = of(*names, more=more)
            for key in COUNTS:
                wanted = sum(alone[name][key] for name in names)
                expect(found[key] == wanted, (more, names, key, found[key], wanted))


@check
def bytes_of_aggregated_plans_are_of_all_tiles(program):
    for strategy in ("{pipeline: 2, tensor: 2, data: 2, micro_batch: 2}", "{zero: 3, data: 4, micro_batch: 2}"):
        for network in ("analytical", "flow"):
            settings = (f"strategy={strategy}", f"machine.network.model={network}")
            every = summary_of(program, STREAMS, *settings)
            for one in ("tensor", "stage"):
                found = summary_of(program, STREAMS, *settings, f"strategy.aggregation={one}")
                for key in COUNTS:
                    expect(found[key] == every[key], (strategy, network, one, key, found[key], every[key]))


@check
def bytes_of_aggregated_cores_are_of_all_tiles(program):
    """They were not known, and neither was the power of memories."""
    cores = "machine.compute={model: npu, array: [8, 8], vector_width: 64, scratchpad: 64 KiB, accumulator: 16 KiB}"
    for strategy in ("{tensor: 4, micro_batch: 8}", "{pipeline: 2, tensor: 2, data: 2, micro_batch: 4}"):
        for sram in ("64 KiB", "4 MiB"):
            settings = (f"strategy={strategy}", cores, f"machine.tile.sram={sram}", "machine.memory={model: channel}",
                        "workload.layers=2", "workload.hidden=64", "workload.sequence=32")
            every = summary_of(program, STREAMS, *settings)
            expect(every["memory_bytes"] > 0, every["memory_bytes"])
            for one in ("tensor", "stage"):
                found = summary_of(program, STREAMS, *settings, f"strategy.aggregation={one}")
                for key in ("memory_read_bytes", "memory_written_bytes", "memory_bytes"):
                    expect(found[key] == every[key], (strategy, sram, one, key, found[key], every[key]))
                expect(not any("power" in note for note in found["notes"]), found["notes"])


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


@check
def bytes_of_replayed_micro_batches_are_those_of_all(program):
    for text in (PLAN, STREAMS):
        settings = ("workload.batch=128", "strategy={pipeline: 2, tensor: 2, micro_batch: 2}")
        every = summary_of(program, text, *settings)
        some = summary_of(program, text, *settings, "run.replay=exact")
        expect(some["replayed_micro_batches"] > 0 and some["memory_bytes"] > 0, some)
        for key in (*COUNTS, "simulated_time_ps", "power_w_per_tile"):
            expect(some[key] == every[key], (key, some[key], every[key]))


@check
def memories_that_nothing_accesses_have_no_part_in_energy(program):
    mixed = PLAN.replace("operands: dram}", "operands: dram}\n  types: {other: {nodes: [0], operands: sram, sram: 1 GB}}")
    settings = ("strategy={pipeline: 2, micro_batch: 2}",)
    one, other = (summary_of(program, mixed, *settings, f"machine.memory={memory}")
                  for memory in ("{model: channel}", "{model: dram, preset: DDR5}"))
    expect(any("accesses no memory" in note for note in other["notes"]), other["notes"])
    expect(one["power_w_per_tile"] == other["power_w_per_tile"] > 0, (one, other))


@check
def memories_that_share_out_addresses_are_all_at_work(program):
    spread = summary_of(program, STREAMS.replace("sram: 4 MiB", "sram: 1 MiB"),
                        "machine.memory={model: dram, preset: DDR5, spread: all}")
    expect(spread["tiles"] == 1, spread["tiles"])
    expect_energy(spread, 8 * 25.6e9)


SHARED = """name: shared
machine:
  topology: {kind: mesh, rows: 1, columns: 4, bandwidth: 1000 GB/s, latency: 1 ns}
  tile: {peak: {fp16: 1000 TFLOP/s}, sram: 1 kB, sram_bandwidth: 1000 TB/s}
  network: {model: analytical}
  dram: {at: each, bandwidth: 256 GB/s, latency: 31 ns}
workload: {kind: layers, mode: inference, data_type: fp16, batch: 4, input: [64], layers: [
  {kind: linear, name: l, outputs: 65536, bias: false}]}
strategy: {data: 4}
"""


@check
def one_tile_shares_memory_as_those_that_it_stands_for(program):
    """Nothing where nothing is shared; every device where addresses are spread; cores' own accesses have a note."""
    path = program.scratch / "shared.yaml"
    path.write_text(SHARED, encoding="utf-8")

    def taken(aggregation, *settings):
        words = [word for setting in ("strategy.aggregation=" + aggregation, *settings) for word in ("--set", setting)]
        done = program.call("run", path, "-q", "-o", program.folder, *words)
        expect(done.returncode == 0, done.stderr_text)
        summary = program.summary()
        return summary["iteration_time_ps"], "\n".join(summary["notes"])

    edge = "machine.dram={at: edge, edges: [west], bandwidth: 256 GB/s, latency: 31 ns}"
    bandwidth = (edge, "machine.memory.model=bandwidth")
    expect(taken("none", *bandwidth)[0] == taken("stage", *bandwidth)[0], "nothing is shared")
    for settings in ((edge, "machine.memory.model=channel"),
                     ("machine.memory={model: dram, spread: all, window: 1 MiB}",)):
        whole, one = taken("none", *settings)[0], taken("stage", *settings)[0]
        expect(0.9 * whole <= one <= 1.1 * whole, (settings, whole, one))
    core = ("machine.compute={model: npu, array: [16, 16], vector_width: 64, scratchpad: 256 KiB, accumulator: 64 KiB}",
            edge, "machine.tile={peak: {fp16: 1 TFLOP/s}}")
    expect("cores that load operands themselves" in taken("stage", *core)[1], "no word of cores")


@check
def a_stage_of_several_types_of_tiles_runs_where_nothing_is_shared(program):
    path = program.scratch / "mixed.yaml"
    path.write_text(SHARED, encoding="utf-8")
    done = program.call("run", path, "-q", "-o", program.folder, "--set",
                        "machine.types={fast: {nodes: [1], peak: {fp16: 2000 TFLOP/s}}}")
    expect(done.returncode == 0, done.stderr_text)


@check
def memory_of_a_run_is_not_that_of_what_started_it(program):
    held = b"\1" * 300_000_000
    summary = summary_of(program, GRAPH)
    expect(0 < summary["peak_rss_bytes"][0] < len(held) / 2, summary["peak_rss_bytes"])


@check
def tokens_cut_in_inference_are_gathered_and_scattered(program):
    """An all-gather and a reduce-scatter move what an all-reduce moves, in passes without gradients too."""
    text = STREAMS.replace("batch: 16", "batch: 16, mode: inference")
    whole, cut = (summary_of(program, text, "strategy.tensor=4", "strategy.sequence_parallel=" + value)
                  for value in ("false", "true"))
    expect(whole["collective_bytes"] == cut["collective_bytes"] > 0, (whole["collective_bytes"], cut["collective_bytes"]))
    training = summary_of(program, STREAMS, "strategy.tensor=4", "strategy.sequence_parallel=true")
    expect(training["collective_bytes"] > 2 * cut["collective_bytes"], training["collective_bytes"])
    narrow = summary_of(program, text, "strategy.tensor=4", "strategy.sequence_parallel=true",
                        "strategy.wires.tensor_gathers=fp8")
    expect(narrow["collective_bytes"] < cut["collective_bytes"], narrow["collective_bytes"])
