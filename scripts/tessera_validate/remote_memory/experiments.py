"""HCSim's systems and its workload as experiments (its section 3.1)."""

import sys

from page import ROOT

sys.path.append(str(ROOT / "scripts"))
import graph_yaml
import hcsim_llama2

# XPUs of a rack, all of one type.
RACK, SERVER = 128, 8
TYPES = {"H100": "[h100]", "H100+A100": "[h100, a100]", "H100+V100": "[h100, v100]"}
# FP32 of an H100 in PCIe form, which fits Table 6; the SXM form of the machine files has 66.9.
# NVIDIA, H100 data sheet (general knowledge, unverified: 51.2 TFLOP/s).
H100_PCIE = "51.2TFLOP/s"


def workload(folder, access="coherent", gather="sent", table="printed", label="", **more):
    """The path of a workload, written once."""
    told = [key for key, value in more.items() if value is True]
    name = "-".join(filter(None, ["llama2", table, label, access, gather, *told]))
    path = folder / f"{name}.yaml"
    if not path.exists():
        graph = hcsim_llama2.build(table, gather=gather, **more)
        graph_yaml.write(graph, path, access=access, name=name)
    return path


def part_of_workload(folder, first_letters, label):
    """That of coherent access with those vertices alone whose names begin so: F forward, B backward, S
    sums of gradients."""
    path = folder / f"llama2-part-{label}.yaml"
    if not path.exists():
        whole, part = hcsim_llama2.build(), hcsim_llama2.Graph()
        kept = [(name, more) for name, more in whole.nodes() if name[0] in first_letters]
        if first_letters == "S":
            kept = kept[:1]
        names = [name for name, _ in kept]
        for name, more in kept:
            part.add_node(name, **(more if name != names[0] else {**more, "start": True}))
        for source, target, more in whole.edges():
            if source in names and target in names and target != names[0]:
                part.add_edge(source, target, **more)
        graph_yaml.write(part, path, access="coherent", name=path.stem)
    return path


def experiment(folder, coherent, written, trace="none"):
    machine = "hcsim_cxl" if coherent else "hcsim_pcie"
    path = folder / f"{machine}-{written.stem}-{trace}.yaml"
    if not path.exists():
        path.write_text(f"machine: {ROOT}/configs/machines/{machine}.yaml\nworkload: {written}\n"
                        f"execution: {{data_type: fp32}}\nrun: {{trace: {trace}}}\n",
                        encoding="utf-8")
    return path


def settings(coherent, system, xpus, bandwidth=None, latency=None, h100=H100_PCIE, more=()):
    """Of the command line; racks of the types in turn, so that up to 128 XPUs all are the first."""
    servers = min(RACK, xpus) // SERVER
    racks = max(1, xpus // RACK)
    types = TYPES[system] if racks > 1 else TYPES["H100"]
    pairs = [f"machine.topology.nodes.tor.count={racks}",
             f"machine.topology.templates.tor.nodes.server.count={servers}",
             f"machine.topology.nodes.tor.type={types}",
             f"machine.types.h100.peak.fp32={h100}",
             "machine.network.pairs=in-turn", *more]
    if coherent:
        # Ways over the CXL fabric have fewer hops than those over Ethernet, whatever their latency.
        pairs.append("machine.topology.ways.by=hops")
        if bandwidth:
            pairs.append(f"machine.topology.link_types.cxl.bandwidth={bandwidth}")
        if latency:
            pairs.append(f"machine.topology.link_types.cxl.latency={latency}")
    return [word for pair in pairs for word in ("--set", pair)]


def seconds(runner, folder, coherent, system, xpus, gather="sent", overlap=True, written=None, **more):
    """Of an iteration: each XPU does a batch of one."""
    written = written or workload(folder, "coherent" if coherent else "move", gather, overlap=overlap)
    path = experiment(folder, coherent, written)
    summary = runner.run(str(path), 1, tuple(settings(coherent, system, xpus, **more)))
    return summary["simulated_time_ps"] / 1e12


def batches(runner, folder, coherent, system, xpus, **more):
    """Batches a second of the whole system, the paper's figure of merit."""
    return xpus / seconds(runner, folder, coherent, system, xpus, **more)
