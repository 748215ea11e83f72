"""What a fuzzer of each reader begins with: files of the tree, and what others would write."""

import json
import re
import tarfile
from collections import Counter

from page import ROOT

TESTS = ROOT / "tests"
LARGEST = 1 << 18
BINARY = ("chakra", "onnx", "traces")
OF_KEYS = ("experiment", "machines")  # of the program, which are more than those in the seeds
MOST_WORDS = 2000


def files(*patterns):
    found = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    return [path.read_bytes() for path in found if path.is_file() and path.stat().st_size <= LARGEST]


# The network, the system and the work of an import from ASTRA-sim, as tests/cli/checks_import.py has them.
ASTRA_NETWORK = """topology: [ Ring, FullyConnected, Switch ]
npus_count: [ 2, 2, 2 ]
bandwidth: [ 300, 100, 50 ]  # GB/s
latency: [ 100, 200, 500 ]  # ns
"""
ASTRA_SYSTEM = {
    "scheduling-policy": "LIFO", "endpoint-delay": 10, "active-chunks-per-dimension": 1,
    "preferred-dataset-splits": 4, "collective-optimization": "localBWAware", "local-mem-bw": 2000,
    "roofline-enabled": 1, "peak-perf": 234, "boost-mode": 0, "inter-dimension-scheduling": "themis",
    "intra-dimension-scheduling": "FIFO", "all-to-all-implementation": ["direct"] * 3,
    **{f"{kind}-implementation": ["ring", "direct", "halvingDoubling"]
       for kind in ("all-reduce", "all-gather", "reduce-scatter")}}
ASTRA_MEMORY = {"memory-type": "MEMORY_POOL", "remote-mem-latency": 5, "remote-mem-bw": 512}
SCALE_SIM = """[general]
run_name = a
[architecture_presets]
ArrayHeight: 32
ArrayWidth: 32
IfmapSramSzkB: 64
FilterSramSzkB: 64
OfmapSramSzkB: 64
IfmapOffset: 0
FilterOffset: 10000000
OfmapOffset: 20000000
Dataflow : ws
Bandwidth : 10
MemoryBanks: 1
[run_presets]
InterfaceBandwidth: CALC
"""
LAYERS = """Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
Conv1, 224, 224, 7, 7, 3, 64, 2,
Conv2, 56, 56, 1, 1, 64, 64, 1,
"""
SCALE_SIM_MORE = """[layout]
IfmapCustomLayout: False
[sparsity]
SparsitySupport : false
"""
PRODUCTS = "Layer, M, N, K,\nGEMM1, 512, 1024, 64,\nGEMM2, 1, 8, 4096,\n"
RAMULATOR = """Frontend:
  impl: External
MemorySystem:
  impl: GenericDRAM
  clock_ratio: 1
  DRAM:
    impl: HBM2
    org: {preset: HBM2_4Gb, channel: 1}
    timing: {preset: HBM2_2Gbps}
  Controller: {impl: Generic}
  AddrMapper: {impl: RoBaRaCoCh}
"""
ONNXIM = {"num_cores": 4, "core_type": "systolic_ws", "core_freq": 1000, "core_width": 8, "core_height": 8,
          "spad_size": 64, "accum_spad_size": 16, "sram_width": 32, "vector_process_bit": 65536,
          "add_latency": 1, "mul_latency": 1, "exp_latency": 1, "gelu_latency": 1, "add_tree_latency": 1,
          "scalar_sqrt_latency": 1, "scalar_add_latency": 1, "scalar_mul_latency": 1, "mac_latency": 1,
          "div_latency": 1, "dram_type": "simple", "dram_freq": 877, "dram_channels": 16,
          "dram_req_size": 32, "dram_latency": 10, "dram_size": 32, "icnt_type": "simple",
          "icnt_latency": 7, "icnt_freq": 8000, "icnt_config_path": "x", "precision": 2,
          "layout": "NHWC", "scheduler": "simple"}
MSCCL = """<algo name="ring" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allgather"
 inplace="1"><gpu id="0" i_chunks="1" o_chunks="2" s_chunks="0"><tb id="0" send="1" recv="1" chan="0">
<step s="0" type="s" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="r" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
</tb></gpu><gpu id="1" i_chunks="1" o_chunks="2" s_chunks="0"><tb id="0" send="0" recv="0" chan="0">
<step s="0" type="s" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="r" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
</tb></gpu></algo>
"""
TRANSFERS = [
    ("all-gather", 3, "", ["0, to: 1, chunks: [0]", "1, to: 2, chunks: [1]", "2, to: 0, chunks: [2]",
                           "0, to: 1, chunks: [2]", "1, to: 2, chunks: [0]", "2, to: 0, chunks: [1]"]),
    ("all-reduce", 2, "chunks: 2\n", ["0, to: 1, chunks: [0], add: true", "1, to: 0, chunks: [1], add: true",
                                      "1, to: 0, chunks: [0]", "0, to: 1, chunks: [1]"]),
    ("all-to-all", 3, "", ["0, to: 1, chunks: [1]", "0, to: 2, chunks: [1, 2]", "1, to: 0, chunks: [0]",
                           "1, to: 2, chunks: [2]", "2, to: 0, chunks: [0]", "2, to: 1, chunks: [1]",
                           "2, to: 1, chunks: [1], of: 0"]),
    ("broadcast", 3, "", ["0, to: 1, chunks: [0, 1, 2]", "1, to: 2, chunks: [0, 1, 2]"]),
    ("reduce", 2, "", ["1, to: 0, chunks: [0, 1], add: true"]),
    ("reduce-scatter", 2, "", ["0, to: 1, chunks: [1], add: true", "1, to: 0, chunks: [0], add: true"]),
    ("gather", 2, "", ["1, to: 0, chunks: [1]"]), ("scatter", 2, "", ["0, to: 1, chunks: [1]"])]
TRACED = """collective: all-reduce
members: 2
traces: ring
size: 200 B
%%
0 s 1 0 100
0 r 1 0 100 0
0 a 0 0 100 1
0 s 1 1 100 2
0 r 1 1 100 3
1 s 0 0 100
1 r 0 0 100
1 a 0 0 100 0 1
1 s 0 1 100 2
1 r 0 1 100
"""


def transfers():
    return [f"collective: {kind}\nmembers: {members}\n{more}transfers:\n".encode() +
            "".join(f"  - {{from: {each}}}\n" for each in steps).encode() for kind, members, more, steps in TRANSFERS]


def raw_strings(*patterns):
    """Texts that unit tests hold."""
    return [text for source in files(*patterns) for text in re.findall(rb'R"\((.*?)\)"', source, re.DOTALL)]


REQUESTS = [
    "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2024-05-11T02:00:00.25+02:00,396,109\n",
    "Timestamp,Session ID,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "5,1,ChatGPT,472,18,490,\"Conversation, log\"\n7.5,2,GPT-4,417.0,276,693,API log\n",
    "request,arrival_s,input_tokens,output_tokens,queued_s,scheduled_s,first_token_s,last_token_s\n"
    "b-0,0.000000,2358,531,0.1,0.2,0.3,15.7\nb-1,0.285059,1034,769,0.2,0.2,0.3,23\n",
    '{"timestamp": 0, "input_length": 1100, "output_length": 20, "hash_ids": [0, 1, 2]}\n'
    '{"timestamp": 27.5, "input_length": 1024, "output_length": 3, "hash_ids": [0, 9]}\n',
    '[{"id": "a", "conversations": [{"from": "human", "value": "hello there"}, {"from": "gpt", "value": "yes"}]}]',
    "arrival,prompt,generate\n0 s,10,4\n1 ms,20,5\n", "arrival,samples\n0,1\n0.5,8\n"]
SEGMENT = {"number": 0, "ranks": 1, "communicator": "one process", "partition": "stripes", "begin_ps": 0, "end_ps": 5,
           "wall_s": 0.5, "cpu_s": 0.25, "waiting_s": 0.1, "windows": 1885, "rounds": 2, "waits": 145,
           "remote_events": 216,
           "traces": [{"path": "trace.00000.h5", "rows": {"operators": 1150, "messages": 292, "requests": 0}}]}
STORED = [
    (0, {"number": 1, "state": 4, "tessera": "0.2.0", "git": "0123456789ab", "configuration_hash": "ab", "inputs": "",
         "cut_ps": 5, "files": [{"path": "rank.00000.h5", "bytes": 5, "crc32c": "0123abcd"}], "segments": [SEGMENT]}),
    (1, {"files": [{"path": "trace.00000.h5", "bytes": 5, "crc32c": "0123abcd", "rows": {"operators": 5}},
                   {"path": "summary.json", "bytes": 5, "crc32c": "0123abcd"}]}),
    (2, {"file_type": "tessera-summary", "format_version": "1.0", "status": "finished", "ranks": 2,
         "rank_events": [1, 2], "breakdown": {"total": {"tiles": 2}, "stages": []}, "tenants": []}),
    (3, {"sweep": "a.yaml", "set": ["a=b"], "hash": "ab", "points": 5, "columns": ["tiles"]}),
    (4, {"point": 117, "places": [1, 0], "status": "finished", "message": "", "digest": "8e4f1cba",
         "numbers": ["575.18", "64"], "notes": ["one"]}),
    (5, {"segments": [{**SEGMENT, "traces": []}, {**SEGMENT, "number": 1, "begin_ps": 5}]}),
    (6, {"pid": 1}), (6, {"boot": "of another start"}), (6, {"ranks": [{"pid": 1, "started_ticks": 5}]})]


def stored():
    """Also what runs of all released versions have left."""
    kinds = {"checkpoint.json": 0, "manifest.json": 1, "summary.json": 2, "segments.json": 5, "tessera.lock": 6}
    found = {json.dumps(content).encode() + bytes([choice]) for choice, content in STORED}
    for path in sorted((TESTS / "data").glob("*.tar.xz")):
        with tarfile.open(path) as archive:
            for member in archive:
                choice = kinds.get(member.name.rpartition("/")[2])
                if choice is not None:
                    found.add(archive.extractfile(member).read() + bytes([choice]))
    return sorted(found)


def bundle(kind, *parts):
    return "\n".join([kind, *(f"%% {name}\n{text}".rstrip("\n") for name, text in parts)]).encode() + b"\n"


def imports():
    dumps = json.dumps
    return [bundle("astra-sim", ("network.yml", ASTRA_NETWORK), ("system system.json", ""),
                   ("system.json", dumps(ASTRA_SYSTEM, indent=1)), ("collective all-reduce", ""),
                   ("size 1 MiB", ""), ("backend aware", ""), ("remote_memory m.json", ""),
                   ("m.json", dumps(ASTRA_MEMORY)), ("logical_topology l.json", ""),
                   ("l.json", dumps({"logical-dims": ["2", "2", "2"]}))),
            bundle("scale-sim", ("a.cfg", SCALE_SIM), ("topology l.csv", ""), ("l.csv", LAYERS)),
            bundle("scale-sim", ("a.cfg", SCALE_SIM + SCALE_SIM_MORE), ("rows gemm", ""), ("topology l.csv", ""),
                   ("l.csv", PRODUCTS)),
            bundle("onnxim", ("a.json", dumps(ONNXIM, indent=1))),
            *(bundle("onnxim", ("a.json", dumps({**ONNXIM, "dram_type": "ramulator2", "dram_config_path": "../r.yaml",
                                                 "icnt_type": "booksim2"}, indent=1)),
                     ("r.yaml", RAMULATOR.replace("HBM2_2Gbps", timing)), *more)
              for timing, more in (("HBM2_2Gbps", ()), ("DDR4_2400R", [("dram r.yaml", "")])))]


def folder_bundles(kind, folder, *more):
    found = sorted((ROOT / "configs" / folder).glob("*.yaml"))
    return [bundle(kind, ("fuzzed.yaml", path.read_text(encoding="utf-8")), *more) for path in found]


def machines():
    """Files of commands, with the settings and files that go with them."""
    experiment = """machine: machine.yaml
workload: {kind: transformer, layers: 2, hidden: 64, heads: 4, sequence: 16, batch: 4, vocabulary: 128}
strategy: {placement: {layout: given, tiles: places.csv}}
"""
    machine = (ROOT / "configs/machines/dojo_tile.yaml").read_text(encoding="utf-8")
    return [*folder_bundles("machine", "machines", ("set machine.name=other", "")),
            *folder_bundles("sweep", "sweeps"), *folder_bundles("traffic", "traffic"),
            bundle("sweep", ("fuzzed.yaml", """experiment: quickstart.yaml
axes: {workload.layers: [2, 4], strategy.data: {from: 1, to: 4, step: 1}}
constraints: ["data * tensor <= devices", "layers % 2 == 0 or batch > 3"]
sample: {random: 3}
""")),
            bundle("experiment", ("fuzzed.yaml", experiment), ("machine.yaml", machine),
                   ("places.csv", "stage,tile\n0,1\n1,2-3\n"), ("set strategy.data=2", ""))]


CAMPAIGN = """iteration: {time: 2, devices: 64, power: 700, idle_power: 100, tokens: 4096}
work: {iterations: 1000000}
failures: {node_mtbf: 50000, devices_per_node: 8}
checkpoint: {cost: 60, interval: 1800}
restart: 300
stragglers: {share: 0.01, slowdown: 1.5}
prices: {kwh: 0.1, device_hour: 2, power_usage: 1.2}
seed: 3
trials: 2
"""
DRAM = "configs/dram/*.yaml"
MEASUREMENTS = [
    "operator,shape,type,time\nproduct,512x4096x4096,fp16,50 us\nnorm,64 MiB,fp16,20 us\n",
    "collective,size,ranks,time,note\nall-reduce,64 MiB,8,1 ms,a\n# not this\nall-gather,1 MiB,4,20 us,\n",
    "experiment,time\nquickstart.yaml,1.5 s\n"]
DESCRIPTION = """model: bert.onnx
dimensions: {batch: 8, sequence: 128}
shapes: {x: [1, 3, 224, 224]}
values: {n: 4, m: [1, 2]}
branches: {"*": then, if_3: else}
loops: {"*": 4}
optimize: extended
unknown: traffic
"""
SETTINGS = "strategy.tensor=2\nmachine.topology.inter_tile.bandwidth=64 GB/s\nstrategy.placement={layout: line}\n"
EVENTS = "# tessera: events that each node sent, in order of nodes\n1\n2\n3\n4\n"
TABLES = [(2, DESCRIPTION), (3, '{"1": [0, 1], "2": [2, 3]}\n'), *((4, text) for text in MEASUREMENTS), (5, EVENTS),
          (6, SETTINGS), (7, "stage,tile\n0,17\n# here\n1,16-31\n"), (15, "[[0, 1], [2-5, 7]]\n")]


def tables():
    own = [text.encode() + bytes([choice]) for choice, text in TABLES]
    campaigns = [text + bytes([0]) for text in files("configs/campaigns/*")]
    campaigns.append(CAMPAIGN.encode() + bytes([0]))
    return [*own, *campaigns, *(text + bytes([1]) for text in files(DRAM))]


def varint(number):
    """A number of a Protocol Buffer."""
    bytes_of = []
    while number >= 128:
        bytes_of.append(number % 128 | 128)
        number //= 128
    return bytes([*bytes_of, number])


def field(number, content):
    """A field of a Protocol Buffer: a number, or what has a length."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def model_with_external_data():
    entries = b"".join(field(13, field(1, key) + field(2, value)) for key, value in
                       ((b"location", b"weights.bin"), (b"offset", b"16"), (b"length", b"16")))
    constant = field(1, 2) + field(1, 2) + field(2, 1) + field(8, b"w") + entries + field(14, 1)
    sides = field(2, field(1, field(1, 1) + field(2, field(1, field(1, 2)) + field(1, field(1, 2)))))
    node = field(1, b"x") + field(1, b"w") + field(2, b"y") + field(4, b"MatMul")
    graph = (field(1, node) + field(2, b"g") + field(5, constant) + field(11, field(1, b"x") + sides) +
             field(12, field(1, b"y") + sides))
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


# Nodes of an execution trace: type, attributes (numbers, texts, lists), inputs; see chakra.hpp.
TRACE = [(1, {}, b'[{"pg_name": "0", "ranks": [0, 1]}, {"pg_name": "1", "ranks": [1, 0]}]'),
         (4, {"num_ops": 4096, "tensor_size": 512, "is_cpu_op": False}),
         (4, {"tensor_size": 1 << 20, "product_count": 1, "product_rows": 4, "product_columns": 8, "product_depth": 16,
              "added_size": 64, "kernel_class": 2, "fused_elements": 3, "twice_keys": 4}),
         (2, {"tensor_size": 64, "tensor_loc": 1, "in_switch": 1}), (3, {"tensor_size": 64}),
         (7, {"comm_type": 0, "comm_size": 1024, "pg_name": "0", "comm_priority": 1, "comm_channels": 2}),
         (7, {"comm_type": 6, "comm_sizes": [8, 16], "pg_name": "1", "involved_dim": [True, False], "root_rank": 1}),
         *((kind, {"comm_dst": npu, "comm_src": npu, "comm_size": 8, "comm_tag": 3})
           for kind in (5, 6) for npu in (0, 1))]


def attribute(name, value):
    if isinstance(value, list):
        number = 28 if isinstance(value[0], bool) else 14
        content = field(number, field(1, b"".join(map(varint, map(int, value)))))
    elif isinstance(value, str):
        content = field(29, value.encode())
    else:
        content = field(27 if isinstance(value, bool) else 11, int(value))
    return field(10, field(1, name.encode()) + content)


def traces_of_nodes():
    """Of all kinds of nodes, and of one kind each."""
    nodes = []
    for number, (kind, attributes, *inputs) in enumerate(TRACE):
        before = field(5, min(number - 1, 1)) + field(4, 0) if number else b""
        nodes.append(field(1, number) + field(2, b"n") + field(3, kind) + before + field(7, number) +
                     b"".join(field(8, field(1, each)) for each in inputs) +
                     b"".join(attribute(*each) for each in attributes.items()))
    head = field(1, b"0.0.4")

    def trace(some):
        return b"".join(varint(len(message)) + message for message in [head, *some])
    return [trace(nodes), trace(nodes[:-4]), *(trace([nodes[0], nodes[1], node]) for node in nodes[2:])]


def words(reader):
    """The words of the seeds, those in most of them first, as a dictionary of libFuzzer: what no mutation of bytes
    finds."""
    if reader in BINARY:
        return ""
    counts = Counter(word for seed in seeds(reader)
                     for word in set(re.findall(rb"[A-Za-z][A-Za-z0-9_-]{2,31}(?: ?[:=] ?)?", seed)))
    if reader in OF_KEYS:
        tree = json.loads((ROOT / "python/tessera/keys.json").read_text(encoding="utf-8"))
        counts.update(name.encode() for name in set(names_of(tree)) if re.fullmatch(r"[\x20-\x7e]{2,32}", name))
    most = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:MOST_WORDS]
    return "".join(f'"{word.decode()}"\n' for word, _ in most if b'"' not in word and b"\\" not in word)


def names_of(tree):
    """Names of keys, and those that keys may have as values."""
    if isinstance(tree, list):
        return [name for item in tree for name in names_of(item)]
    if not isinstance(tree, dict):
        return []
    own = [tree["name"]] if isinstance(tree.get("name"), str) else []
    return [*own, *tree.get("names", []), *(name for value in tree.values() for name in names_of(value))]


def seeds(reader):
    """Bytes of the files that the reader is given first."""
    if reader == "yaml":
        return files("configs/*/*.yaml", "tests/config_errors/*/*.yaml", "tests/config_errors/*.yaml")
    if reader == "experiment":
        return files("configs/experiments/*.yaml", "tests/config_errors/*.yaml", "tests/config_errors/*/*.yaml",
                     "tests/parallel/*.yaml", "tests/golden/*.yaml", "tests/golden/*/*.yaml")
    if reader == "collective":
        return [MSCCL.encode(), TRACED.encode(), *transfers(), *raw_strings("tests/unit/collective/program_test.cpp")]
    if reader == "chakra":
        return [*traces_of_nodes(), *files("tests/validation/reference/gpt_222/*.et")]
    if reader == "onnx":
        models = files("tests/onnx/models/*.onnx")
        return [model + bytes([choice]) for model in [*models, model_with_external_data()] for choice in (0x40, 0xd1)]
    if reader == "requests":
        texts = [text.encode() for text in REQUESTS] + files("configs/requests/*", "tests/parallel/*.jsonl",
                                                            "tests/config_errors/requests/*")
        return [text + bytes([choice]) for text in texts for choice in (0, 1)]
    if reader == "stored":
        return stored()
    if reader == "machines":
        return machines()
    if reader == "tables":
        return tables()
    return imports() if reader == "import" else []  # of others: tests/fuzz/corpus
