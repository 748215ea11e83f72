"""What a fuzzer of each reader begins with: files of the tree, and what others would write."""

import json

from page import ROOT

TESTS = ROOT / "tests"
LARGEST = 1 << 18


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
SEGMENT = {"tessera": "0.2.0", "git": "0123456789ab", "ranks": 1, "until_ps": 5, "wall_s": 1.0, "traces": [
    {"path": "trace.00000.h5", "rows": {"operators": 5, "messages": 1}}]}
STORED = [
    (0, {"number": 1, "tessera": "0.2.0", "git": "0123456789ab", "configuration_hash": "ab", "cut_ps": 5,
         "files": [{"path": "rank.00000.h5", "bytes": 5, "crc32c": "0123abcd"}], "segments": [SEGMENT]}),
    (1, {"files": [{"path": "trace.00000.h5", "bytes": 5, "crc32c": "0123abcd", "rows": {"operators": 5}}]}),
    (2, {"file_type": "tessera-summary", "format_version": "1.0", "status": "finished", "ranks": 2,
         "rank_events": [1, 2], "breakdown": {"total": {"tiles": 2}, "stages": []}, "tenants": []}),
    (3, {"sweep": "a.yaml", "overrides": ["a=b"], "hash": "ab", "points": 5}),
    (4, {"point": 1, "status": "finished", "values": {"a": "1"}, "metrics": {"simulated_time_ps": 5}})]


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
            bundle("onnxim", ("a.json", dumps(ONNXIM, indent=1)))]


def seeds(reader):
    """Bytes of the files that the reader is given first."""
    if reader == "yaml":
        return files("configs/*/*.yaml", "tests/config_errors/*/*.yaml", "tests/config_errors/*.yaml")
    if reader == "experiment":
        return files("configs/experiments/*.yaml", "tests/config_errors/*.yaml", "tests/config_errors/*/*.yaml",
                     "tests/parallel/*.yaml", "tests/golden/*.yaml", "tests/golden/*/*.yaml")
    if reader == "collective":
        return [MSCCL.encode(), *files("configs/collectives/*", "tests/**/*.xml", "tests/parallel/collectives/*")]
    if reader == "chakra":
        return files("tests/validation/reference/gpt_222/*.et")
    if reader == "onnx":
        models = files("tests/onnx/models/*.onnx")
        return [model + bytes([choice]) for model in models for choice in (0x40, 0xd1)]
    if reader == "requests":
        texts = [text.encode() for text in REQUESTS] + files("configs/requests/*", "tests/parallel/*.jsonl",
                                                            "tests/config_errors/requests/*")
        return [text + bytes([choice]) for text in texts for choice in (0, 1)]
    if reader == "stored":
        return [json.dumps(content).encode() + bytes([choice]) for choice, content in STORED]
    return imports() if reader == "import" else []  # of others: tests/fuzz/corpus
