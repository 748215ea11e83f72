"""CXL memory devices, pools and switches that were measured: latency of a line, streaming bandwidth."""

from page import Runner

LINE = 64
STREAM = 2 ** 20  # lines: 64 MiB

# Y. Wang et al., "CXL-DMSim", arXiv:2411.02282: an FPGA and an ASIC device beside local DDR5, by
# LMbench and STREAM. From its abstract: latency as a multiple of local DRAM's, and the range of
# bandwidth as a share of local DRAM's.
MEASURED = {"ASIC": (2.18, 0.82, 0.83), "FPGA": (2.88, 0.45, 0.69)}
# What its authors put into their own simulator (its repository, and others' accounts of its Tables II
# and III; the tables themselves were not at hand, and the testbed's channels are assumed to be those of
# the simulator's example): local DDR5 130 ns from end to end, one channel of DDR5-4400; one way over
# the bridge 50 ns, protocol at the host 12 ns and at the device 15 or 60 ns; 128 entries in the queues
# of the host's link, 48 in those of the device.
LOCAL_NS, LOCAL_GB_S = 130, 35.2
BRIDGE_NS, HOST_NS, DEVICE_NS = 50, 12, {"ASIC": 15, "FPGA": 60}
OUTSTANDING, DEVICE_QUEUE = 128, 48
LINK_GB_S = 63  # PCIe 5.0 x16
# The same paper: bandwidth is best with this share of reads.
BEST_READS = 0.74

# H. Li et al., "Pond", ASPLOS 2023: a pool of 8 to 16 sockets adds 70 to 90 ns. Its budget of an
# access (general knowledge, unverified): 85 ns local; 25 ns for the port at each end, 5 ns of flight,
# 15 ns in the pool's controller; 20 ns for a retimer, which 16 sockets need.
POND_LOCAL_NS, POND = 85, {"8 sockets": 2 * 25 + 5 + 15, "16 sockets": 2 * 25 + 5 + 15 + 20}
POND_ADDS = (70, 90)
# asplos.dev/wiki/pcie-cxl/pcie.html: 90 ns to access one hop of XConn's switch.
SWITCH_NS = 90
# J. Liu et al., "Systematic CXL Memory Characterization", ASPLOS 2025: four devices on five
# platforms, at 140 to 410 ns.
SWITCHED = (140, 410)

MACHINE = """# A host, its DRAM and a device behind one link.
machine:
  topology:
    kind: graph
    nodes: {{host: {{count: 1}}, device: {{kind: memory, of: host, capacity: 1 TB}}}}
    links: [{{from: host, to: device, bandwidth: {link} GB/s, latency: {way_ps} ps}}]
  tile: {{peak: {{fp16: 1 TFLOP/s}}}}
  dram: {{at: each, bandwidth: {local_mb} MB/s, latency: {local} ns}}
  network: {{model: flow}}
  coherence: {{flit: 68 B, device_latency: {local} ns}}
workload:
  kind: graph
  vertices: [{{name: load, start: true, bytes: {size} B, remote: {size} B}}]
run: {{trace: none}}
"""


class Device:
    """What an access to it takes; `added` [ns] is what it takes beyond one to local memory."""

    def __init__(self, runner, folder, name, added, local=LOCAL_NS, outstanding=OUTSTANDING):
        self.runner, self.outstanding = runner, outstanding
        self.paths = {}
        for lines in (1, STREAM):
            self.paths[lines] = folder / f"{name.replace(' ', '-')}-{lines}.yaml"
            self.paths[lines].write_text(
                MACHINE.format(link=LINK_GB_S, way_ps=round(added * 1000 / 2), local=local,
                               local_mb=round(LOCAL_GB_S * 1000), size=lines * LINE),
                encoding="utf-8")

    def ns(self, lines, **keys):
        extra = [word for key, value in keys.items()
                 for word in ("--set", f"machine.coherence.{key}={value}")]
        # Not the simulated time: after the access, the network may wake once more for nothing.
        total = self.runner.run(self.paths[lines], extra=extra)["breakdown"]["total"]
        return total["memory"]["mean_ps"] / 1000

    def latency(self):
        return self.ns(1)

    def local_latency(self):
        return self.ns(1, hit_rate=1)

    def rate(self, **keys):  # [GB/s]
        return STREAM * LINE / self.ns(STREAM, **keys)

    def limited_rate(self):
        return self.rate(outstanding=self.outstanding)


def sections(report, program, folder, setting):
    del setting  # all of it takes seconds
    runner = Runner(program, folder)
    rows = []

    def row(what, source, low, high, ours, slack, form, why):
        holds = low - slack <= ours <= high + slack
        wanted = form.format(low) if low == high else f"{form.format(low)} to {form.format(high)}"
        within = f" ± {form.format(slack)}" if slack else ""
        text = report.bound(holds, f"{what}: {form.format(ours)}, measured {wanted}{within}")
        rows.append([what, source, wanted + within, form.format(ours), text, why])

    devices = {name: Device(runner, folder, name, 2 * (BRIDGE_NS + HOST_NS + way))
               for name, way in DEVICE_NS.items()}
    rates = {}
    for name, (latency, low, high) in MEASURED.items():
        device = devices[name]
        rates[name] = device.limited_rate()
        row(f"{name}: latency / local", "CXL-DMSim", latency, latency,
            device.latency() / device.local_latency(), 0.05 * latency, "{:.2f}",
            "local latency and both directions; parameters that its authors fitted to the same devices")
        row(f"{name}: bandwidth / local", "CXL-DMSim", low, high,
            rates[name] / device.rate(hit_rate=1), 0.03, "{:.2f}",
            f"{OUTSTANDING} lines per round trip, relative to one channel of {LOCAL_GB_S} GB/s")
    # Nothing of local memory in it: by how much the slower device is slower.
    row("bandwidth, FPGA / ASIC", "CXL-DMSim", MEASURED["FPGA"][1] / MEASURED["ASIC"][2],
        MEASURED["FPGA"][2] / MEASURED["ASIC"][1], rates["FPGA"] / rates["ASIC"], 0, "{:.2f}",
        "the same number of lines in longer round trips")
    for name, added in POND.items():
        pool = Device(runner, folder, name, added, POND_LOCAL_NS)
        row(f"pool, {name}: added [ns]", "Pond", *POND_ADDS, pool.latency() - pool.local_latency(), 5,
            "{:.0f}", "the sum of its parts")
        switched = Device(runner, folder, f"{name} and a switch", added + SWITCH_NS, POND_LOCAL_NS)
        row(f"pool, {name}, one switch [ns]", "Liu et al.", *SWITCHED, switched.latency(), 0, "{:.0f}",
            "the range over measured devices, not over switches alone: a weak bound")
    switched = Device(runner, folder, "ASIC and a switch",
                      2 * (BRIDGE_NS + HOST_NS + DEVICE_NS["ASIC"]) + SWITCH_NS)
    row("ASIC, one switch [ns]", "Liu et al.", *SWITCHED, switched.latency(), 0, "{:.0f}", "the same")

    report.say("## CXL devices, pools and switches")
    report.say()
    report.say("A host, its DRAM and one device behind a link (`machine.coherence`, flits of 68 B): the latency "
               "of one line, and the bandwidth of streaming 64 MiB. Parameters are those that the sources give "
               "for the components; none is fitted to a row. Ratios are to runs with `hit_rate` 1.")
    report.say()
    few = devices["ASIC"].rate(outstanding=DEVICE_QUEUE) / devices["ASIC"].rate(hit_rate=1)
    report.say(f"Bandwidth is limited by the {OUTSTANDING} lines of the host's queues, held for the whole round trip. "
               f"With the {DEVICE_QUEUE} lines of the device's queues instead, the ASIC would reach only {few:.2f} of "
               "local bandwidth, which does not hold: lines are in those queues for only part of the trip.")
    report.say()
    report.table(["", "source", "measured", "ours", "", "what it rests on"], rows)
    shares = (1, BEST_READS, 0.5, 0)
    mixed = [devices["ASIC"].rate(reads=share) for share in shares]
    report.table(["share of reads", "ASIC, lines without limit [GB/s]"],
                 [[share, f"{rate:.1f}"] for share, rate in zip(shares, mixed)])
    report.say(f"The flits of both directions are used best with as many reads as writes. CXL-DMSim measures "
               f"the best bandwidth at {BEST_READS:.0%} reads: **does not hold**, because the DRAM behind the "
               "device, which reads and writes share and which turns around between them, is only a rate here.")
    report.say()
    report.bound(mixed[2] == max(mixed), "flits: both directions are used best with half reads")
