"""Configurations of ASTRA-sim, SCALE-Sim and ONNXim, taken over by `tessera import --from`."""
import csv
import json
import re
import sys

from program import HERE, check, expect, expect_refusal, fits

REFERENCE = HERE.parent / "validation" / "reference"
VALIDATE = HERE.parent.parent / "scripts" / "tessera_validate"
# Rows of astra_reference.csv, as sim_ns_max has them: backend, topology, sizes, collective, algorithm, chunks, order.
ASTRA = [("unaware", "FullyConnected", "8", "all_reduce", "direct", "1", "baseline"),
         ("aware", "Switch", "8", "all_gather", "halvingDoubling", "1", "baseline"),
         ("aware", "Switch", "8", "all_reduce", "ring", "1", "baseline"),
         ("aware", "Ring", "16", "all_to_all", "ring", "4", "baseline"),
         ("unaware", "Ring_Ring_Ring", "4x4x4", "all_gather", "ring_ring_ring", "1", "baseline"),
         ("unaware", "Ring_FullyConnected_Switch", "4x4x4", "reduce_scatter",
          "ring_direct_halvingDoubling", "32", "themis"),
         ("unaware", "Ring_Switch", "8x8", "all_reduce", "ring_halvingDoubling", "64", "baseline")]


def rows_of(name):
    with open(REFERENCE / name, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def call(program, *words):
    done = program.call("import", *words)
    expect(done.returncode == 0, done.stderr_text)
    return done


def run(program, experiment, *words, ranks=0):
    program.runs = getattr(program, "runs", 0) + 1
    folder = program.scratch / ("run%d" % program.runs)
    done = program.call("run", experiment, "-o", folder, "-q", "--trace", "none", *words, ranks=ranks)
    expect(done.returncode == 0, done.stderr_text)
    return program.summary(folder)


def write(program, name, content):
    path = program.scratch / name
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2) + "\n",
                    encoding="utf-8")
    return path


def network_of(row):
    return "topology: [ %s ]\nnpus_count: [ %s ]\nbandwidth: [ %s ]  # GB/s\nlatency: [ %s ]  # ns\n" % (
        ", ".join(row["topology"].split("_")), ", ".join(row["npus_per_dim"].split("x")),
        ", ".join(row["bandwidth_GBps_2p30"].split("_")), ", ".join(row["latency_ns"].split("_")))


def system_of(row):
    algorithms = row["algorithm"].split("_")
    kinds = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
    return {"scheduling-policy": row["sched"], "endpoint-delay": int(row["endpoint_delay_ns"]),
            "active-chunks-per-dimension": int(row["active_chunks"]),
            "preferred-dataset-splits": int(row["chunks"]),
            **{kind + "-implementation": algorithms for kind in kinds},
            "collective-optimization": row["coll_opt"], "local-mem-bw": float(row["local_mem_bw_GBps"]),
            "inter-dimension-scheduling": row["inter_dim"],
            "intra-dimension-scheduling": row["intra_dim"], "boost-mode": 0}


def asked(row):
    return (row["backend"], row["topology"], row["npus_per_dim"], row["collective"], row["algorithm"],
            row["chunks"], row["inter_dim"])


def astra_words(program, row):
    return [write(program, "network.yml", network_of(row)),
            "--with", "system=%s" % write(program, "system.json", system_of(row)),
            "--with", "collective=" + row["collective"].replace("_", "-"),
            "--with", "size=%s B" % row["size_bytes"], "--with", "backend=" + row["backend"]]


@check
def import_of_astra_takes_the_times_of_its_rows(program):
    """The time of the row, and to the picosecond that of the experiment of results/collectives.md."""
    sys.path[:0] = [str(VALIDATE), str(VALIDATE / "collectives")]
    import backends
    for wanted in ASTRA:
        row = next(row for row in rows_of("astra_reference.csv")
                   if row["rc"] == "0" and not row["note"].startswith("Themis") and asked(row) == wanted)
        output = program.scratch / "astra.yaml"
        call(program, "--from", "astra-sim", *astra_words(program, row), "-o", output, "--force")
        expect(program.call("check", output).returncode == 0, output.read_text(encoding="utf-8"))
        ours = run(program, output)["simulated_time_ps"]
        text = backends.experiment_of(row, backends.BACKENDS[row["backend"]][0])
        shipped = run(program, write(program, "shipped.yaml", text))["simulated_time_ps"]
        expect(ours == shipped, "%s: %d, %d of the shipped mode" % (wanted, ours, shipped))
        off = abs(ours / 1000 / float(row["sim_ns_max"]) - 1)
        expect(off < 0.001, "%s: %g off" % (wanted, off))


GPT = {"scheduling-policy": "LIFO", "endpoint-delay": 10, "active-chunks-per-dimension": 1,
       "preferred-dataset-splits": 4, "collective-optimization": "localBWAware", "local-mem-bw": 2000,
       "roofline-enabled": 1, "peak-perf": 234, "boost-mode": 0,
       **{kind + "-implementation": ["ring", "direct", "halvingDoubling"]
          for kind in ("all-reduce", "all-gather", "reduce-scatter")},
       "all-to-all-implementation": ["direct", "direct", "direct"]}


@check
def import_of_astra_runs_traces(program):
    """gpt_222: 144 316 ns there (README of the reference), on one rank and on two."""
    network = write(program, "network.yml", "topology: [Ring, FullyConnected, Switch]\nnpus_count: [2, 2, 2]\n"
                    "bandwidth: [300, 100, 50]\nlatency: [100, 200, 500]\n")
    system = write(program, "system.json", GPT)
    memory = write(program, "memory.json", {"memory-type": "PER_NODE_MEMORY_EXPANSION", "num-nodes": 4,
                                            "num-npus-per-node": 2, "remote-mem-latency": 5, "remote-mem-bw": 128})
    traces = REFERENCE / "gpt_222"
    output = program.scratch / "gpt.yaml"
    done = call(program, "--from", "astra-sim", network, "--with", "system=%s" % system,
                "--with", "workload=%s" % (traces / "w"), "--with", "comm_group=%s" % (traces / "w.json"),
                "--with", "remote_memory=%s" % memory, "-o", output)
    expect("not carried over: boost-mode: 0 (system.json:10): " in done.stdout_text, done.stdout_text)
    text = output.read_text(encoding="utf-8")
    expect("# not carried over: boost-mode: 0 (system.json:10): " in text, text)
    expect("- {bandwidth: 322.1225472 GB/s, latency: 100 ns}" in text, text)
    expect("# network.yml:3: 300 GB/s of 2^30 B" in text, text)
    write(program, "system.json", dict(GPT, **{"roofline-enabled": 0}))
    recorded = call(program, "--from", "astra-sim", network, "--with", "system=%s" % system,
                    "--with", "workload=%s" % (traces / "w"), "--with", "comm_group=%s" % (traces / "w.json")).stdout_text
    expect("times: recorded" in recorded and "without a recorded time" in recorded, recorded)
    one, two = run(program, output), run(program, output, ranks=2)
    expect(one["result_digest"] == two["result_digest"], "digests differ")
    expect(one["simulated_time_ps"] == 144_316_000, one["simulated_time_ps"])


@check
def import_of_astra_reads_the_rest(program):
    """Windows, flat algorithms, logical dimensions, queues, pools of memory, what is not known."""
    network = write(program, "network.yml", "topology: [FullyConnected]\nnpus_count: [8]\nbandwidth: [50.5]\n"
                    "latency: [0]\nfuture: 3\n")
    system = dict(GPT, **{"all-reduce-implementation": ["direct3", "ring"], "replay-only": 1, "new-key": [1],
                          "all-gather-implementation": ["ring", "ring"], "roofline-enabled": False,
                          "reduce-scatter-implementation": ["direct3", "ring"],
                          "all-to-all-implementation": ["direct3", "direct3"]})
    del system["local-mem-bw"]
    words = ["--from", "astra-sim", network, "--with", "system=%s" % write(program, "system.json", system),
             "--with", "logical_topology=%s" % write(program, "logical.json", {"logical-dims": ["4", "2"]}),
             "--with", "remote_memory=%s" % write(program, "pool.json", {"memory-type": "MEMORY_POOL",
                                                                         "remote-mem-bw": 512}),
             "--with", "queues_per_dim=2", "--with", "collective=all-reduce", "--with", "size=1 MiB"]
    text = call(program, *words).stdout_text
    for line in ("shape: [4, 2]", "algorithms: [direct, ring-relay]", "algorithm_window: 3", "queues: [2, 2]",
                 "npus: 8", "chunks: 4", "new-key: [1] (system.json:", "future: 3 (network.yml:5): not known",
                 "latency: 1 ps", "assumed: a latency of 1 ps", "assumed: additions take no time"):
        expect(line in text, "no '%s' in:\n%s" % (line, text))
    flat = dict(GPT, **{"all-reduce-implementation": ["oneRing"]})
    words[4] = "system=%s" % write(program, "flat.json", {k: v for k, v in flat.items() if "gather" not in k
                                                            and "scatter" not in k and "to-all" not in k})
    text = call(program, *words).stdout_text
    expect("communicators: flat" in text and "other_algorithm: ring-relay" in text, text)


def scale_sim(program, row, layers):
    side = row["array"].split("x")
    config = write(program, "scale.cfg", "[general]\nrun_name = some: name\n\n[architecture_presets]\n"
                   "ArrayHeight:    %s\nArrayWidth:     %s\nIfmapSramSzkB:   64\nBandwidth : 10\nDataflow : %s\n"
                   "[layout]\nIfmapCustomLayout: False\n[run_presets]\nInterfaceBandwidth: CALC\n" % (*side, row["dataflow"]))
    topology = write(program, "layers.csv", layers)
    return ["--from", "scale-sim", config, "--with", "topology=%s" % topology]


def layer_of(row):
    if row["kind"] == "gemm":
        return "Layer,M,N,K,\nfirst, %s, %s, %s,\n" % (row["M"], row["N"], row["K"])
    return ("Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
            "first, %s\n\n" % ", ".join(row[key] for key in ("ih", "iw", "fh", "fw", "ch", "nf", "stride")))


@check
def import_of_scale_sim_takes_its_cycles(program):
    """Three products and three convolutions of each dataflow; a cycle is a nanosecond."""
    seen = {}
    for row in rows_of("scalesim_cycles.csv"):
        kind = (row["dataflow"], row["kind"])
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] > 3:
            continue
        output = program.scratch / "scale.yaml"
        call(program, *scale_sim(program, row, layer_of(row)), "-o", output, "--force")
        ours = run(program, output)["simulated_time_ps"]
        expect(ours == (int(float(row["total_cycles"])) + 1) * 1000, "%s: %d ps" % (row, ours))
    expect(len(seen) == 6, seen)


@check
def import_of_scale_sim_sweeps_layers(program):
    rows = [row for row in rows_of("scalesim_cycles.csv")
            if row["array"] == "8x8" and row["dataflow"] == "os" and row["kind"] == "gemm"][:3]
    layers = "Layer,M,N,K,\n" + "".join("l%d, %s, %s, %s,\n" % (n, row["M"], row["N"], row["K"])
                                         for n, row in enumerate(rows))
    output = program.scratch / "three.yaml"
    words = scale_sim(program, rows[0], layers)
    done = call(program, *words, "-o", output, "--json")
    told = json.loads(done.stdout_text)
    fits(told, "import.schema.json")
    expect([file["kind"] for file in told["written"]] == ["experiment", "sweep"], told)
    left = {one["what"]: one for one in told["not_carried_over"]}
    expect(left["architecture_presets.Bandwidth: 10"]["line"] == 8, left)
    sweep = program.scratch / "three_layers.yaml"
    done = program.call("sweep", sweep, "-o", program.scratch / "sweep", "-q")
    expect(done.returncode == 0, done.stderr_text)
    with open(program.scratch / "sweep" / "sweep.csv", encoding="utf-8") as file:
        text = [line for line in file if not line.startswith("#")]
    times = [int(point["iteration_time_ps"]) for point in csv.DictReader(text)]
    expect(times == [(int(float(row["total_cycles"])) + 1) * 1000 for row in rows], times)
    expect_refusal(program.call("import", *words), 2, "becomes 2 files; name the first with -o")


@check
def import_of_scale_sim_takes_depth_wise_layers_apart(program):
    """As its reader does with DP in their names: each channel takes ⌈9 / 8⌉ folds of 2 * 8 + 16 + 196 - 2 cycles."""
    layers = ("Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
              "DP1, 16, 16, 3, 3, 32, 1, 1,\n")
    output = program.scratch / "dp.yaml"
    call(program, *scale_sim(program, {"array": "8x16", "dataflow": "ws"}, layers), "-o", output)
    done = program.call("sweep", program.scratch / "dp_layers.yaml", "-o", program.scratch / "sweep", "-q")
    expect(done.returncode == 0, done.stderr_text)
    with open(program.scratch / "sweep" / "sweep.csv", encoding="utf-8") as file:
        times = [int(point["iteration_time_ps"]) for point in csv.DictReader(file)]
    expect(times == [452_000] * 32, times)


CORE = {"core_type": "systolic_ws", "spad_size": 32768, "accum_spad_size": 4096, "sram_width": 32,
        "vector_process_bit": 65536, "core_width": 128, "core_height": 128,
        **{name + "_latency": 1 for name in ("add", "mul", "mac", "exp", "gelu", "div", "add_tree", "scalar_sqrt",
                                             "scalar_add", "scalar_mul")}}
# What configs/machines/onnxim_server.yaml says of the rows of onnxim_cycles.csv.
SERVER = {"num_cores": 4, "core_freq": 1000, "core_print_interval": 8000,
          "core_config": {"core_%d" % core: CORE for core in range(4)},
          "dram_type": "ramulator2", "dram_freq": 1200, "dram_channels": 16, "dram_req_size": 32, "dram_latency": 10,
          "dram_size": 16, "dram_config_path": "../configs/ramulator2_configs/HBM2.yaml", "icnt_type": "simple",
          "icnt_latency": 1, "icnt_freq": 1000, "icnt_injection_ports_per_core": 16, "precision": 2,
          "layout": "NHWC", "scheduler": "simple"}


def ramulator(program, timing, name="HBM2.yaml"):
    folder = program.scratch / "ramulator2_configs"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("Frontend:\n  impl: GEM5            \n\nMemorySystem:\n  impl: GenericDRAM\n  DRAM:\n"
                               "    impl: HBM2\n    timing:\n      preset: %s\n\n  Controller:\n    plugins:\n" % timing,
                               encoding="utf-8")


def chip(program, machine, size):
    text = "machine: %s\nworkload: {kind: operators, operators: [{kind: gemm, rows: %d, columns: %d, depth: %d}]}\n"
    return run(program, write(program, "chip.yaml", text % (machine, size, size, size)))


@check
def import_of_onnxim_takes_its_cycles(program):
    """As long as on the shipped machine, and within what results/npu.md bounds of theirs."""
    ramulator(program, "HBM2_2.5Gbps")
    output = program.scratch / "server.yaml"
    done = call(program, "--from", "onnxim", write(program, "npu.json", SERVER), "-o", output)
    expect("machine written to" in done.stdout_text, done.stdout_text)
    expect("not carried over: layout: NHWC (npu.json:" in done.stdout_text, done.stdout_text)
    theirs = {row["model"]: row for row in rows_of("onnxim_cycles.csv") if row["config"] == "server_simple"}
    shipped = HERE.parent.parent / "configs" / "machines" / "onnxim_server.yaml"
    for size in (128, 256, 512):
        ours = chip(program, output, size)["simulated_time_ps"]
        expect(ours == chip(program, shipped, size)["simulated_time_ps"], "%d: %d ps" % (size, ours))
        off = ours / 1000 / int(theirs["matmul_%d_%d_%d" % (size, size, size)]["core_cycles"]) - 1
        expect(abs(off) < 0.1, "%d: %g off" % (size, off))


@check
def import_of_onnxim_reads_older_files(program):
    """Keys of all cores at the top, DDR4 with more than a request a burst, a simple DRAM."""
    ramulator(program, "DDR4_1600J", "DDR4.yaml")
    mobile = dict({k: v for k, v in SERVER.items() if k != "core_config"}, **dict(CORE, core_width=8, core_height=8,
                  spad_size=64, accum_spad_size=16, vector_process_bit=2048), dram_freq=400, dram_channels=2,
                  icnt_freq=2000, dram_config_path="../configs/ramulator2_configs/DDR4.yaml")
    del mobile["icnt_injection_ports_per_core"]
    output = program.scratch / "mobile.yaml"
    call(program, "--from", "onnxim", write(program, "mobile.json", mobile), "-o", output)
    shipped = HERE.parent.parent / "configs" / "machines" / "onnxim_mobile.yaml"
    ours, known = chip(program, output, 64), chip(program, shipped, 64)
    expect(ours["simulated_time_ps"] == known["simulated_time_ps"], ours["simulated_time_ps"])
    simple = write(program, "simple.json", dict(mobile, dram_type="simple", icnt_type="booksim2"))
    text = call(program, "--from", "onnxim", simple).stdout_text
    expect("model: channel" in text and "a crossbar in place of the network of BookSim 2" in text, text)


SHORT = {"astra-sim": ["network.yml", "--with", "system=system.json", "--with", "collective=all-reduce",
                       "--with", "size=1 MiB"],
         "scale-sim": ["scale.cfg", "--with", "topology=layers.csv"], "onnxim": ["npu.json"]}
NETWORK = "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n"
SYSTEM = json.dumps({"all-reduce-implementation": ["ring"], "local-mem-bw": 50,
                     "collective-optimization": "baseline"}, indent=1)
CONFIG = "[architecture_presets]\nArrayHeight: 8\nArrayWidth: 8\nDataflow: ws\n"
LAYERS = "Layer,M,N,K,\na, 4, 4, 4,\n"
NPU = json.dumps(SERVER, indent=1)
# Format, file, its text, what in it becomes what, what is said.
FAULTS = [
    ("astra-sim", "network.yml", "Ring ]", "Ring", r"network.yml:\d+:\d+: error: not valid YAML: expected ',' or '\]'"),
    ("astra-sim", "network.yml", "Ring", "Rng", "network.yml:1:13: error: topology: unknown building block 'Rng'; did "
     "you mean 'Ring'"),
    ("astra-sim", "network.yml", "[ 4 ]", "[ 4, 4 ]", "network.yml:2:1: error: npus_count: expected a list"),
    ("astra-sim", "network.yml", "[ 50 ]", "[ 0 ]", "network.yml:3:14: error: bandwidth: expected GB/s"),
    ("astra-sim", "network.yml", "500", "-1", "network.yml:4:12: error: latency: expected nanoseconds"),
    ("astra-sim", "network.yml", "500", "fast", r"network.yml:4:12: error: latency\[0\]: "),
    ("astra-sim", "system.json", ",", "", r"system.json:5:\d+: error: not valid JSON: expected ',' or '}'"),
    ("astra-sim", "system.json", "ring", "rimg", r"system.json:3:\d+: error: all-reduce-implementation: unknown collective "
     "algorithm 'rimg'; did you mean 'ring'"),
    ("astra-sim", "system.json", '"ring"', '"ring", "ring"', "system.json:2:.*expected a list of one algorithm for each of"),
    ("astra-sim", "system.json", '"ring"', '"oneRing", "direct"', "all-reduce-implementation: "),
    ("astra-sim", "system.json", "baseline", "basline", "system.json:6:.*collective-optimization: .*'baseline'"),
    ("astra-sim", "system.json", "50", "-50", "system.json:5:.*local-mem-bw: expected GB/s"),
    ("astra-sim", "system.json", '[\n  "ring"\n ]', '"ring"', "system.json:2:31: error: all-reduce-implementation: expected a list; got a single"),
    ("astra-sim", "system.json", '[\n  "ring"\n ]', "[]", "system.json:2:2: error: all-reduce-implementation: expected a list of one algorithm"),
    ("astra-sim", "system.json", '"local-mem-bw": 50', '"roofline-enabled": 1', "system.json:5:.*has a peak-perf and a local"),
    ("astra-sim", "network.yml", "[ 4 ]", "[ 400000000000 ]",
     "what would be written is no good: machine.topology.shape: .*that line is of topology and npus_count"),
    ("scale-sim", "layers.csv", "4, 4, 4", "16000000, 16000000, 16000000",
     "workload.input: expected .*that line is of layers.csv:2: rows and depth of the product"),
    ("scale-sim", "scale.cfg", "ws", "wz", "scale.cfg:4:11: error: architecture_presets.Dataflow: unknown"),
    ("scale-sim", "scale.cfg", "ArrayWidth: 8", "ArrayWidth 8", "scale.cfg:3:1: error: expected '.section.', 'key"),
    ("scale-sim", "scale.cfg", "ArrayWidth: 8\n", "", "error: architecture_presets.ArrayWidth: missing"),
    ("scale-sim", "scale.cfg", "[arch", "a: 1\n[arch", "scale.cfg:1:1: error: a key stands before the first section"),
    ("scale-sim", "scale.cfg", "ArrayWidth", "ArrayHeight", "scale.cfg:3:1: error: ArrayHeight: given twice; first at line 2"),
    ("scale-sim", "layers.csv", "4, 4, 4", "4, four, 4", "layers.csv:2:7: error: .*four"),
    ("scale-sim", "layers.csv", "4, 4, 4", "4, 4", "layers.csv:2:7: error: expected a name and 3 numbers; got 2"),
    ("scale-sim", "layers.csv", "a, 4, 4, 4,\n", "", "layers.csv:1:1: error: expected a head and a row for each layer"),
    ("scale-sim", "layers.csv", "M,N,K,\na, 4, 4, 4", "H,W,h,w,C,N,S\na, 4, 4, 5, 5, 1, 1, 1",
     "layers.csv:2:10: error: the filter is larger than the image"),
    ("onnxim", "npu.json", "systolic_ws", "systolic_os", "npu.json:7:17: error: core_config.core_0.core_type: unknown .*known: systolic_ws"),
    ("onnxim", "npu.json", '"core_1"', '"core_9"', "npu.json:5:.*there is no 'core_1', but num_cores is 4"),
    ("onnxim", "npu.json", '"spad_size": 32768', '"spad_size": 16384', "core_1: a core unlike core_0"),
    ("onnxim", "npu.json", '"num_cores": 4', '"num_cores": 0', "npu.json:2:15: error: num_cores: must be between 1"),
    ("onnxim", "npu.json", "HBM2.yaml", "HBM3.yaml", "dram_config_path: no such file beside .*--with dram=FILE"),
    ("onnxim", "npu.json", '"dram_type": "ramulator2"', '"dram_type": "ramulator"', "dram_type: .*did you mean 'ramulator2'"),
    ("onnxim", "npu.json", "}", "", "npu.json:.*not valid JSON")]


def write_good(program):
    for name, text in (("network.yml", NETWORK), ("system.json", SYSTEM), ("scale.cfg", CONFIG), ("layers.csv", LAYERS),
                       ("npu.json", NPU)):
        write(program, name, text)
    ramulator(program, "HBM2_2.5Gbps")


def words_of(program, form, *more):
    words = [re.sub(r"(^|=)(\w+\.(?:yml|json|cfg|csv))$",
                    lambda found: found.group(1) + str(program.scratch / found.group(2)), word) for word in SHORT[form]]
    return ["import", "--from", form, *words, *more]


@check
def import_takes_the_dram_that_is_named(program):
    """A file in place of that of the configuration is no key that was left."""
    write_good(program)
    named = program.scratch / "ramulator2_configs" / "HBM2.yaml"
    text = call(program, *words_of(program, "onnxim", "--with", "dram=%s" % named)[1:]).stdout_text
    expect("dram_config_path" not in text and "preset: HBM2-PC" in text, text)


@check
def import_says_where_sources_are_wrong(program):
    output = program.scratch / "out.yaml"
    for form, file, what, instead, complaint in FAULTS:
        write_good(program)
        text = (program.scratch / file).read_text(encoding="utf-8")
        expect(what in text, "%s is not in %s" % (what, file))
        last = what in ("}",)
        text = text[:text.rindex(what)] if last else text.replace(what, instead, 1)
        write(program, file, text)
        done = program.call(*words_of(program, form, "-o", output))
        expect(not output.exists(), "written in spite of: " + complaint)
        expect_refusal(done, 2, complaint)
    write_good(program)
    for form in SHORT:
        done = program.call(*words_of(program, form))
        expect(done.returncode == 0, done.stderr_text)


# A file, a key of it that must be there, what stands there instead, and how many complaints there are: that it is
# missing and that the other is not known, but none of what follows from that.
MISSPELT = [("astra-sim", "network.yml", "bandwidth", "bandwith", 2), ("astra-sim", "network.yml", "topology", "topolgy", 2),
            ("scale-sim", "scale.cfg", "ArrayHeight", "ArayHeight", 2),
            ("scale-sim", "scale.cfg", "architecture_presets", "architecture_preset", 4),
            ("onnxim", "npu.json", "num_cores", "num_cors", 2), ("onnxim", "npu.json", "core_freq", "core_feq", 2),
            ("onnxim", "npu.json", "core_width", "core_widht", 2), ("onnxim", "npu.json", "icnt_freq", "icnt_frq", 2)]


@check
def import_says_which_key_was_meant(program):
    for form, file, key, instead, complaints in MISSPELT:
        write_good(program)
        text = (program.scratch / file).read_text(encoding="utf-8")
        expect(key in text, "%s is not in %s" % (key, file))
        write(program, file, text.replace(key, instead, 1))
        done = program.call(*words_of(program, form))
        lines = done.stderr_text.splitlines()
        expect(done.returncode == 2 and len(lines) == complaints, done.stderr_text)
        expect(any(re.search(r"%s:\d+:\d+: error: .*%s: unknown key; did you mean '%s'" % (file, instead, key), line)
                   for line in lines), done.stderr_text)
    # One that may be absent is no complaint, but it is said.
    write_good(program)
    text = (program.scratch / "system.json").read_text(encoding="utf-8")
    write(program, "system.json", text.replace("local-mem-bw", "local-mem-wb"))
    done = program.call(*words_of(program, "astra-sim", "-o", program.scratch / "out.yaml"))
    expect("local-mem-wb: 50 (system.json:5): not known to this import; did you mean 'local-mem-bw'?" in done.stdout_text,
           done.stdout_text + done.stderr_text)


@check
def import_says_where_words_are_wrong(program):
    write_good(program)
    write(program, "memory.json", {"memory-type": "MEMORY_POL"})
    write(program, "logical.json", {"logical-dims": ["3"]})
    write(program, "ddr3.yaml", "MemorySystem: {DRAM: {timing: {preset: DDR3_1600K}}}\n")
    scratch = program.scratch
    for form, words, complaint in (
            ("astra-sim", ["--with", "sytem=x"], "error: sytem: unknown key; did you mean 'system'"),
            ("astra-sim", ["--with", "system"], "--with: expected KEY=VALUE; got 'system'"),
            ("astra-sim", ["--with", "size=2 MiB"], "--with: 'size' is given twice"),
            ("astra-sim", ["--with", "workload=w"], "give what is to run: either workload=PREFIX"),
            ("astra-sim", ["--with", "backend=awar"], "did you mean 'aware'"),
            ("astra-sim", ["--with", "queues_per_dim=0"], "queues_per_dim: must be between 1 and 1024"),
            ("astra-sim", ["--with", "remote_memory=%s" % (scratch / "memory.json")],
             "memory.json:2:.*memory-type: .*did you mean 'MEMORY_POOL'"),
            ("astra-sim", ["--with", "logical_topology=%s" % (scratch / "logical.json")],
             "logical.json:2:.*product is the number of NPUs, 4"),
            ("astra-sim", ["--with", "comm_group=%s" % (scratch / "nowhere.json"), "--dim", "x=1"],
             "--dim is for models of ONNX, not for --from"),
            ("astra-sim", ["--json"], "--json goes with a file to write"),
            ("astra-sim", ["-o", scratch / "a.txt"], "must end in .yaml"),
            ("scale-sim", ["--with", "rows=gem"], "did you mean 'gemm'"),
            ("onnxim", ["--with", "dram=%s" % (scratch / "ddr3.yaml")],
             "ddr3.yaml:1:.*unknown timing 'DDR3_1600K'; .*known: HBM2_2Gbps")):
        expect_refusal(program.call(*words_of(program, form, *words)), 2, complaint)
    expect_refusal(program.call("import", "--from", "astra-sm", scratch / "network.yml"), 2,
                   "--from: unknown value 'astra-sm'; did you mean 'astra-sim'.*known: astra-sim, onnxim, scale-sim")
    expect_refusal(program.call("import", "--from", "onnxim", scratch / "nowhere.json"), 2, "nowhere.json")
    expect_refusal(program.call("import", "--from", "astra-sim", scratch / "network.yml", "--with",
                                "system=%s" % (scratch / "system.json")), 2, "error: give what is to run: either workload=PREFIX")
    for words, complaint in ((["collective=all-redce", "size=1 MB"], "did you mean 'all-reduce'"),
                             (["collective=all-reduce", "size=0 B"], "size: must be at least 1 B")):
        given = [word for one in [*words, "system=%s" % (scratch / "system.json")] for word in ("--with", one)]
        expect_refusal(program.call("import", "--from", "astra-sim", scratch / "network.yml", *given), 2, complaint)
    expect_refusal(program.call("import", "--from", "astra-sim", scratch / "network.yml", "--with",
                                "workload=%s" % (scratch / "none"), "--with", "system=%s" % (scratch / "system.json")),
                   2, "what would be written is no good: .*none")
    for form, source, needed in (("astra-sim", "network.yml", "system=FILE: system.json"),
                                 ("scale-sim", "model.cfg", "topology=FILE: CSV file of layers")):
        expect_refusal(program.call("import", "--from", form, scratch / source), 2,
                       "^error: --from %s needs --with %s; tessera list formats has all" % (form, needed))
    expect_refusal(program.call("import", "--from", "astra-sim", scratch / "network.yml", "--with", "sytem=x"), 2,
                   "needs --with system=FILE: system.json; did you mean it by 'sytem'")
    expect_refusal(program.call("import", scratch / "x.onnx", "--force"), 2, "--force goes with --from")


@check
def import_keeps_files_that_are_there(program):
    write_good(program)
    output = write(program, "mine.yaml", "mine\n")
    words = words_of(program, "astra-sim", "-o", output)
    expect_refusal(program.call(*words), 2, "mine.yaml: error: is there; name another file with -o, or give --force")
    expect(output.read_text(encoding="utf-8") == "mine\n", "overwritten")
    done = program.call(*words, "--force", ranks=2)
    expect(done.returncode == 0 and done.stdout_text.count("written to") == 1, done.stderr_text + done.stdout_text)
    expect(output.read_text(encoding="utf-8").startswith("# tessera import --from astra-sim, of network.yml"), "not written")


VOICE = HERE.parent / "onnx" / "models" / "silero_vad_v5.onnx"


@check
def import_systolic_and_dram_as_json(program):
    model = json.loads(call(program, VOICE, "--dim", "input.0=1", "--dim", "input.1=512", "--dim", "state.1=1",
                            "--value", "sr=16000", "--optimize", "basic", "--json").stdout_text)
    fits(model, "model.schema.json")
    expect(model["levels"][0]["matrix_flops"] == 1127936 and model["file_parameters"] == 545286, model["levels"])
    expect(len(model["nodes"]) == model["levels"][-1]["nodes"], "nodes")
    shown = program.call("systolic", "--array", "8x8", "--dataflow", "ws", "16x16x16,8x8x8", "--json", "--step")
    found = json.loads(shown.stdout_text)
    fits(found, "systolic.schema.json")
    expect(found["products"][0]["cycles"] == 152 and found["stepped"], found)
    expect(found["products"][0]["paper_cycles"] is None, found)
    found = json.loads(program.call("dram", "--requests", "1000", "--json").stdout_text)
    fits(found, "dram.schema.json")
    expect(found["requests"] == 1000, found)
