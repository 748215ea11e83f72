"""Times of single collectives, beside those of ASTRA-sim's public backends."""

from page import REFERENCE, Runner, percent, rows_of

BLOCKS = {"Ring": "Ring", "FullyConnected": "FC", "Switch": "Switch"}
# Its ring all-to-all is handed on from NPU to NPU.
ALGORITHMS = {"ring": "ring-relay", "direct": "direct", "halvingDoubling": "halving-doubling",
              "doubleBinaryTree": "double-binary-tree"}
QUEUES = {"FIFO": "fifo", "smallestFirst": "smallest-first"}
ORDERS = {"baseline": "ascending", "roundRobin": "round-robin", "themis": "themis"}
# Backend: our network, and how far from it we may be [%]. The aware one stores whole messages at
# each hop.
BACKENDS = {
    "unaware": ("{model: analytical, message_tick: 1 ns}", 1.0),
    "aware": ("{model: packet, switching: store-and-forward, max_packets: 1}", 5.0),
}
# Rows that depart: which, how far at most [%], and why. What is fitted there would be no rule.
DEPARTURES = [
    (lambda row: row["algorithm"] == "doubleBinaryTree", 47,
     "The public code takes 7.95 times as long as a message of a whole chunk between two NPUs: each "
     "chunk goes up and down one of the trees. Ours sends half of it over each tree at the same time, as "
     "published by Sanders et al., and takes half as long."),
    (lambda row: row["backend"] == "unaware" and row["algorithm"] == "direct" and
     row["topology"] == "Ring" and row["npus_per_dim"] == "4" and
     row["collective"] == "all_reduce", 1.3,
     "The public code begins to gather when all contributions have arrived, including those not yet added "
     "up: on a ring of four, the one from the far side arrives one latency after the others, but before "
     "they are added up, which takes 1965 ns here. The far latency therefore counts once per chunk, not "
     "twice: 1000 ns with two chunks one after the other. Ours gathers only what has been added up."),
]
# Every how many rows the quick run takes.
REDUCED_STEP = 9


def latency_of(text):
    """A link without any latency would leave the engine no lookahead."""
    return f"{text} ns" if float(text) > 0 else "1 ps"


def experiment_of(row, network):
    """The experiment of a row, as YAML."""
    blocks = [BLOCKS[name] for name in row["topology"].split("_")]
    sizes = row["npus_per_dim"].split("x")
    rates = row["bandwidth_GBps_2p30"].split("_")
    latencies = row["latency_ns"].split("_")
    dimensions = ", ".join(
        f"{{bandwidth: {round(float(rate) * 2 ** 30)} B/s, latency: {latency_of(latency)}}}"
        for rate, latency in zip(rates, latencies))
    algorithms = ", ".join(ALGORITHMS[name] for name in row["algorithm"].split("_"))
    # In some rows Themis was told what an NPU sends into a full mesh over all its links.
    told = ""
    if "told" in row["note"]:
        per_npu = [round(float(rate) * 2 ** 30) * (int(size) - 1 if block == "FC" else 1)
                   for rate, size, block in zip(rates, sizes, blocks)]
        told = f"\n    bandwidths: [{', '.join(f'{rate} B/s' for rate in per_npu)}]"
    decomposition = "baseline" if row["coll_opt"] == "baseline" else "bandwidth-aware"
    return f"""\
machine:
  name: stack
  topology:
    kind: stack
    shape: {"_".join(f"{block}({size})" for block, size in zip(blocks, sizes))}
    dimensions: [{dimensions}]
  network: {network}
workload:
  kind: collective
  collective: {row["collective"].replace("_", "-")}
  size: {row["size_bytes"]} B
execution:
  collectives:
    algorithms: [{algorithms}]
    chunks: {row["chunks"]}
    active_chunks: {row["active_chunks"]}
    order: {ORDERS[row["inter_dim"]]}{told}
    queue: {QUEUES[row["intra_dim"]]}
    decomposition: {decomposition}
    endpoint_delay: {row["endpoint_delay_ns"]} ns
    local_memory: {float(row["local_mem_bw_GBps"]):.0f} GB/s
    compatible: astra
run: {{trace: none}}
"""


# Traces of a small GPT with tensor, data and pipeline parallelism of two each: backend, shape,
# bandwidths [GiB/s], latencies [ns], time [ns] of the public code.
TRACES = [
    ("unaware", "Ring(2)_FC(2)_Switch(2)", (300, 100, 50), (100, 200, 500), 144316),
    ("unaware", "Ring(8)", (100,), (500,), 254284),
    ("aware", "Ring(8)", (100,), (500,), 327490),
]


def trace_experiment(shape, rates, latencies, network):
    dimensions = ", ".join(f"{{bandwidth: {rate} GiB/s, latency: {latency} ns}}"
                           for rate, latency in zip(rates, latencies))
    return f"""\
machine:
  name: stack
  topology: {{kind: stack, shape: {shape}, dimensions: [{dimensions}]}}
  tile: {{peak: {{fp16: 234 TFLOP/s}}, operands: dram}}
  dram: {{at: each, bandwidth: 2000 GB/s, latency: 0 ns}}
  network: {network}
workload:
  kind: chakra
  traces: {REFERENCE}/gpt_222/w
  groups: {REFERENCE}/gpt_222/w.json
execution:
  sends: delivered
  lanes: {{collective: 1}}
  collectives: {{chunks: 4, endpoint_delay: 10 ns, local_memory: 2000 GB/s, compatible: astra}}
run: {{trace: none}}
"""


def traces(report, runner, folder):
    report.say("## Execution traces")
    report.say()
    report.say("Chakra traces of eight NPUs, `tests/validation/reference/gpt_222`. The public code "
               "starts one collective or send at a time, and a send ends when it has arrived: "
               "`lanes.collective: 1`, `sends: delivered`.")
    report.say()
    table = []
    for number, (backend, shape, rates, latencies, theirs) in enumerate(TRACES):
        network, bound = BACKENDS[backend]
        path = folder / f"trace{number}.yaml"
        path.write_text(trace_experiment(shape, rates, latencies, network), encoding="utf-8")
        ours = runner.run(str(path))["simulated_time_ps"] / 1000
        off = 100 * (ours - theirs) / theirs
        said = report.bound(abs(off) <= bound, f"gpt_222 on {shape}, {backend}: {off:+.2f} %")
        table.append([shape, backend, theirs, f"{ours:.0f}", percent(ours, theirs), said])
    report.table(["topology", "backend", "theirs [ns]", "ours [ns]", "off", "holds"], table)


def departure_of(row, bound):
    """Its number, if the row is one that departs, and how far the row may be off [%]."""
    for number, (departs, most, _) in enumerate(DEPARTURES):
        if departs(row):
            return number, most
    return None, bound


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    traces(report, runner, folder)
    for backend, (network, bound) in BACKENDS.items():
        rows = [row for row in rows_of("astra_reference.csv")
                if row["backend"] == backend and row["rc"] == "0"]
        report.say(f"## Single collectives: the congestion-{backend} backend")
        report.say()
        table = []
        for number, row in enumerate(rows[::REDUCED_STEP] if setting.reduced else rows):
            path = folder / f"{backend}{number}.yaml"
            path.write_text(experiment_of(row, network), encoding="utf-8")
            ours = runner.run(str(path))["simulated_time_ps"] / 1000
            theirs = float(row["sim_ns_max"])
            off = 100 * (ours - theirs) / theirs
            departure, most = departure_of(row, bound)
            said = report.bound(abs(off) <= most,
                                f"{backend} {row['topology']} {row['npus_per_dim']} "
                                f"{row['collective']} {row['size_bytes']} B {row['algorithm']} "
                                f"{row['inter_dim']} {row['intra_dim']} chunks "
                                f"{row['chunks']}/{row['active_chunks']}: {off:+.2f} %")
            table.append([row["topology"], row["npus_per_dim"], row["collective"],
                          row["size_bytes"], row["algorithm"], row["chunks"],
                          row["active_chunks"], row["inter_dim"], row["intra_dim"],
                          f"{theirs:.0f}", f"{ours:.0f}", percent(ours, theirs),
                          said if departure is None else f"departs ({departure + 1})"])
        report.table(["topology", "sizes", "collective", "bytes", "algorithm", "chunks", "active",
                      "order", "queue", "theirs [ns]", "ours [ns]", "off", f"within {bound:g} %"],
                     table)
    report.say("Departures, each with a bound of its own:")
    report.say()
    for number, (_, most, reason) in enumerate(DEPARTURES):
        report.say(f"{number + 1}. At most {most} %. {reason}")
    report.say()
