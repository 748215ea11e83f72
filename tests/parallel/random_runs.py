#!/usr/bin/env python3
"""Random experiments, cut over ranks at random: equal digests, and no promise between ranks broken.

    random_runs.py TESSERA MPIEXEC COUNT [SEED [plans|graphs|flits|cores|chips|served]]

Machines, workloads, strategies, models, cuts, numbers of ranks and synchronizations are drawn; what
`tessera check` refuses is drawn again. Every run on several ranks holds each event that crosses
against the promise made before it (exit code 70 when one is broken). A run that fails leaves its
experiment on standard output, and its number, which draws the same again as SEED. One of
three is of graphs (random_graphs.py), or all with `graphs`; with `flits` all networks are of flits,
with `cores` all tiles NPU cores, and with `chips` operators share them (of the others one in twelve does).
With `served` all are services (random_served.py), else one in ten of those that are neither.
"""
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import random_graphs
import random_served

# Two with null messages (5 and 27), one with windows, and one with promises over banks of DRAM: more than half of the
# time of the first fifty was of these. Long calls, and those for one of them, run them.
SLOW = {5, 27, 41, 50}

PARTITIONS = ["blocks", "columns", "stripes", "metis", "stages", "replicas", "stages-replicas", "groups",
              "traffic", "auto"]
PARTITIONS_OF_GRAPHS = ["blocks", "columns", "stripes", "metis", "communicators", "communicators",
                        "tenants", "auto"]
PARTITIONS_OF_SERVICES = ["npus", "npus", "blocks", "columns", "stripes", "auto"]


def flit_network(draw, grid):
    """Routers of all kinds, and flits so large that there are few."""
    size = draw.choice([256, 1024, 4096])
    network = {"model": "flit", "flit_size": f"{size} B", "packet_size": f"{draw.choice([2, 3, 8]) * size} B",
               "virtual_channels": draw.choice([2, 4]), "buffer": draw.choice([1, 2, 8]),
               "routing_delay": draw.choice([0, 1]), "switch_allocation_delay": draw.choice([1, 1, 3]),
               "credit_delay": draw.choice([0, 0, 3]), "interface_delay": draw.choice([1, 5]),
               "speculative": draw.random() < 0.2, "tail_credit": draw.random() < 0.2,
               "loopback": draw.random() < 0.2}
    if grid:
        network["routing"] = draw.choice(["xy", "xy", "yx", "shortest", "west-first"])
    if draw.random() < 0.2:
        network["message_overhead"] = "300 ns"
    return network


def machine(draw, only):
    kind = draw.choice(["mesh", "mesh", "torus", "wafer", "cluster"])
    latency = f"{draw.choice([1, 2, 5, 7, 50])} ns"
    bandwidth = f"{draw.choice([8, 25, 64, 100])} GB/s"
    if kind == "wafer":
        topology = {"kind": "wafer", "tiles": [draw.randint(1, 3), draw.randint(1, 3)],
                    "cores": [draw.randint(1, 3), draw.randint(2, 3)],
                    "intra_tile": {"bandwidth": bandwidth, "latency": latency},
                    "inter_tile": {"bandwidth": "16 GB/s", "latency": f"{draw.choice([1, 20])} ns"}}
    elif kind == "cluster":
        topology = {"kind": "cluster", "nodes": draw.randint(2, 4), "accelerators": draw.choice([2, 4]),
                    "nics": draw.choice([1, 2]), "switch": {"bandwidth": bandwidth, "latency": "500 ns"},
                    "nic": {"bandwidth": "12 GB/s", "latency": "900 ns"},
                    "port": {"bandwidth": "12 GB/s", "latency": "1 us"},
                    "fabric": {"kind": "switch"}}
    else:
        topology = {"kind": kind, "rows": draw.randint(2, 6), "columns": draw.randint(2, 8),
                    "bandwidth": bandwidth, "latency": latency}
    grid = kind != "cluster"
    dram = {"bandwidth": f"{draw.choice([10, 50, 200])} GB/s", "latency": f"{draw.choice([20, 100, 400])} ns"}
    if grid and draw.random() < 0.6:
        dram.update(at="edge", edges=draw.choice([["west"], ["west", "east"], ["north", "south"]]))
    else:
        dram.update(at="each")
    network = {"model": draw.choices(["packet", "analytical", "crossbar", "flow", "flit"],
                                     [16, 6, 4, 6, 3])[0]}
    if network["model"] == "flit" or only == "flits":
        network = flit_network(draw, grid)
    elif network["model"] == "packet":
        network.update(packet_size=f"{draw.choice([256, 1024, 4096])} B",
                       max_packets=draw.choice([1, 4, 16]),
                       switching=draw.choice(["cut-through", "cut-through", "store-and-forward"]))
        if grid:
            network["routing"] = draw.choice(["xy", "yx", "shortest"])
        if draw.random() < 0.2:
            network["message_overhead"] = "300 ns"
    elif network["model"] == "analytical":
        network["ports"] = draw.choice(["free", "shared"])
        if draw.random() < 0.3:
            network.update(message_overhead="300 ns", message_tick="1 ns")
    elif network["model"] == "crossbar":
        network.update(packet_size=f"{draw.choice([256, 1024, 4096])} B")
        if draw.random() < 0.3:
            network.update(message_overhead="300 ns", port_latency=f"{draw.choice([1, 40, 700])} ns")
    elif network["model"] == "flow":
        network.update(pairs=draw.choice(["collectives-in-turn", "collectives-in-turn", "together",
                                          "in-turn"]),
                       weights=draw.choice(["equal", "equal", "latency"]))
        if draw.random() < 0.3:
            network.update(message_overhead="300 ns", flow_limit=f"{draw.choice([3, 20])} GB/s")
        if draw.random() < 0.2:
            network["window"] = f"{draw.choice([200, 4000])} B"
    memory = {"model": draw.choice(["channel", "channel", "channel", "bandwidth", "dram"])}
    if memory["model"] == "dram":
        memory.update(preset=draw.choice(["LPDDR5", "HBM2"]), transfer="1 KiB",
                      window=draw.choice(["1 KiB", "64 KiB"]), latency=draw.choice(["0 ns", "30 ns"]),
                      spread=draw.choice(["nearest", "nearest", "nearest", "all"]),
                      scheduler=draw.choice(["oldest-ready", "bank-queues"]))
    compute = {"model": draw.choice(["roofline", "roofline", "gemm", "systolic", "npu"])}
    if compute["model"] == "npu" or only in ("cores", "chips"):
        compute = {"model": "npu", "array": draw.choice([[8, 8], [16, 16]]), "vector_width": 128,
                   "scratchpad": draw.choice(["64 KiB", "256 KiB"]), "accumulator": "32 KiB",
                   "operands": draw.choice(["sram", "memory"])}
    elif compute["model"] != "roofline":
        compute["array"] = [16, 16]
    return {"topology": topology, "dram": dram, "network": network, "memory": memory,
            "tile": {"peak": {"fp16": f"{draw.choice([100, 1000])} GFLOP/s"},
                     "sram_bandwidth": f"{draw.choice([20, 128])} GB/s",
                     "sram": draw.choice(["16 KiB", "1 MiB", "64 MiB"])},
            "compute": compute}


def operator(draw, number):
    kind = draw.choice(["gemm", "gemm", "softmax", "norm", "transpose"])
    words = {"kind": kind, "name": f"op{number}", "rows": draw.choice([30, 64, 200])}
    if kind == "gemm":
        words.update(columns=draw.choice([32, 100]), depth=draw.choice([16, 96]))
    else:
        words["columns"] = draw.choice([40, 96])
    if number > 0 and draw.random() < 0.7:
        words["after"] = [f"op{other}" for other in sorted({draw.randrange(number) for _ in range(2)})]
    return words


def chip(draw):
    """Operators that the cores of a chip share."""
    operators = [operator(draw, number) for number in range(draw.randint(1, 8))]
    return {"name": "random", "machine": machine(draw, "chips"),
            "workload": {"kind": "operators", "operators": operators},
            "run": {"iterations": draw.choice([1, 2]), "trace": "none"}}


def experiment(draw, only=""):
    layers = draw.randint(1, 6)
    training = draw.random() < 0.85
    work = {"kind": "transformer", "layers": layers, "hidden": draw.choice([64, 128]),
            "heads": draw.choice([4, 8]), "sequence": draw.choice([16, 64]), "vocabulary": 128,
            "batch": draw.choice([4, 8, 16])}
    if not training:
        work["mode"] = "inference"
    strategy = {"pipeline": draw.randint(1, layers), "tensor": draw.choice([1, 2, 4]),
                "data": draw.choice([1, 2, 4]), "micro_batch": draw.choice([1, 2])}
    if training:
        strategy["schedule"] = draw.choice(["gpipe", "1f1b", "zb-h1"])
        strategy["recompute"] = draw.choice(["none", "full"])
        strategy["zero"] = draw.choice([0, 0, 1, 2, 3])
        if strategy["zero"] >= 2:
            strategy["scatter"] = draw.choice(["each", "each", "run"])
    if draw.random() < 0.5:
        strategy["placement"] = {"layout": draw.choice(["line", "s-shape", "linear"])}
    if draw.random() < 0.15:
        strategy["aggregation"] = "tensor"
    if draw.random() < 0.2:
        strategy["wires"] = {sent: draw.choice(["fp8", "mxfp8", "fp32"])
                             for sent in ("weights", "gradients", "tensor_sums")}
    return {"name": "random", "machine": machine(draw, only), "workload": work, "strategy": strategy,
            "run": {"iterations": draw.choice([1, 1, 2]), "trace": "none"}}


def environment():
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                OMPI_MCA_rmaps_base_oversubscribe="1", ASAN_OPTIONS="detect_leaks=0")


def call(words):
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(),
                          timeout=300, check=False)


def digest(folder):
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return summary["status"], summary["simulated_time_ps"], summary["result_digest"]


def latencies(folder):
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return summary["simulated_time_ps"], [
        (service["first_token_ps"], service["latency_ps"]) for service in summary["services"]]


def is_as_walked(tessera, path, folder, seed):
    """A service whose whole steps share nothing, against the same one with steps that are walked."""
    if not random_served.is_as_walked(json.loads(path.read_text(encoding="utf-8"))):
        return True
    walked = call([tessera, "run", path, "-q", "-o", folder / "walked", "--set", "workload.steps=walked"])
    if walked.returncode == 0 and latencies(folder / "one") == latencies(folder / "walked"):
        return True
    print(f"seed {seed}: whole and walked steps differ, exit code {walked.returncode}")
    print(path.read_text(encoding="utf-8"))
    return False


def exporter(tessera, folder):
    """Writes a plan as Chakra traces."""
    def export(plan, prefix):
        path = folder / "plan.yaml"
        path.write_text(json.dumps(plan), encoding="utf-8")
        for old in folder.glob(prefix.name + ".*"):
            old.unlink()
        return call([tessera, "export", path, "--format", "chakra", "-o", prefix]).returncode == 0
    return export


def drawn(tessera, draw, path, only):
    """An experiment that can be run, and the words that cut it."""
    is_graph = only == "graphs" or (only not in ("plans", "chips", "served") and draw.random() < 1 / 3)
    is_chip = only == "chips" or (only == "" and not is_graph and draw.random() < 1 / 8)
    is_served = only == "served" or (only == "" and not is_graph and not is_chip and draw.random() < 1 / 10)
    partitions = PARTITIONS_OF_GRAPHS if is_graph else PARTITIONS_OF_SERVICES if is_served else PARTITIONS
    while True:
        words = random_served.service_of(draw, machine(draw, only)) if is_served else \
            chip(draw) if is_chip else experiment(draw, only)
        if is_graph:
            words = random_graphs.graph_of(draw, words, exporter(tessera, path.parent), path.parent)
            if words is None:
                continue
        path.write_text(json.dumps(words, indent=1), encoding="utf-8")
        ranks = draw.randint(2, 4)
        synchronization = draw.choices(["promise", "window", "null-message"], [8, 1, 1])[0]
        cut = ["--set", f"run.partition={draw.choice(partitions)}", "--set",
               f"run.synchronization={synchronization}", "--set", "run.idle_ranks=false"]
        if call([tessera, "check", path, "--ranks", ranks, *cut]).returncode == 0:
            return ranks, cut


def run_one(tessera, mpiexec, seed, scratch, only):
    draw = random.Random(seed)
    path = scratch / "experiment.yaml"
    ranks, cut = drawn(tessera, draw, path, only)
    alone = call([tessera, "run", path, "-q", "-o", scratch / "one"])
    several = call([mpiexec, "-n", ranks, tessera, "run", path, "-q", "-o", scratch / "several", *cut])
    is_served = '"kind": "serving"' in path.read_text(encoding="utf-8")
    if alone.returncode == several.returncode == 3 and not is_served:
        return True  # a model that cannot go on, on any number of ranks; services always can
    if alone.returncode == several.returncode == 0 and \
            digest(scratch / "one") == digest(scratch / "several"):
        return not is_served or is_as_walked(tessera, path, scratch, seed)
    print(f"seed {seed}: {ranks} ranks {' '.join(cut)}: exit codes {alone.returncode} and "
          f"{several.returncode}")
    print(path.read_text(encoding="utf-8"))
    print(several.stdout.decode("utf-8", "replace")[-2000:])
    return False


def main():
    tessera, mpiexec, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    only = sys.argv[5] if len(sys.argv) > 5 else ""
    failed = 0
    own = (number for number in itertools.count(seed) if number not in SLOW or count == 1 or count > 50)
    for number in itertools.islice(own, count):
        with tempfile.TemporaryDirectory() as scratch:
            failed += not run_one(tessera, mpiexec, number, pathlib.Path(scratch), only)
    print(f"{count} random runs, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
