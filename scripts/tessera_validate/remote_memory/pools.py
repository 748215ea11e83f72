"""ASTRA-sim 2.0's case study of memory pools: Tables IV and V, and the sweep that finds the optimum.

The paper gives rates, but not its trace, its batch or how GPUs are connected. Here the model is
DeepSpeed-MoE's with a trillion parameters (S. Rajbhandari et al., arXiv:2201.05596, "24B+MoE-128" on 256
GPUs: 30 layers of hidden size 8192, 128 experts instead of the MLP in every other layer, tensor
parallelism of 8, each expert split in two), with sequences of 2048 tokens. Parameters, gradients and
Adam's states are in remote memory. For each parameter, 2 B are loaded for each pass, 2 B of gradients are
stored, and 14 B are loaded and stored for an update. Experts are spread over all GPUs, each of which loads
its own; of the other parameters every GPU needs a complete eighth. GPUs are connected by two levels of
switches at the rate of the in-node fabric, for ZeRO-Infinity at that of the baseline. Parameters are loaded
two layers ahead. Only the smallest batch is compared with the paper, whose speed-up requires a step that is
nearly all memory: this batch is a choice, not a finding.
"""

import chakra_writer as chakra
from page import Runner, percent

NODES, NPUS = 16, 16
GPUS = NODES * NPUS
LAYERS, HIDDEN, EXPERTS, SEQUENCE, TENSOR = 30, 8192, 128, 2048, 8
REPLICAS = GPUS // TENSOR
# Sequences of a step, of which the first is used in the sweep; assumed.
BATCHES = (32, 128, 512)
AHEAD = 2
ATTENTION, MLP = 4 * HIDDEN ** 2, 8 * HIDDEN ** 2
# Both halves of an expert need its tokens.
SLICES = GPUS // EXPERTS
OWN_EXPERT = MLP // SLICES

# Table IV [GB/s].
ZERO_INFINITY = 100
BASELINE, OPTIMUM = (256, 100), (512, 500)
FABRICS = range(256, 2049, 256)
GROUPS = range(100, 501, 100)
# The paper: ZeRO-Infinity 0.1 % faster than the baseline, the optimum 4.6 times the baseline.
SPEED_UP = 4.6


def is_moe(layer):
    return layer % 2 == 1


def dense_parameters(layer):
    return ATTENTION if is_moe(layer) else ATTENTION + MLP


class Step:
    """One training step of any GPU: all have the same graph."""

    def __init__(self, batch, in_switch):
        self.tokens = batch * SEQUENCE // REPLICAS
        self.in_switch = in_switch
        self.trace = chakra.Trace()
        self.over = []  # the last node of each pass through a layer
        for layer in range(LAYERS):
            self.layer(layer, 1, "forward")
        for layer in reversed(range(LAYERS)):
            self.backward(layer)
        for layer in range(LAYERS):
            self.update(layer)

    def before(self, passes):
        return self.over[-passes] if len(self.over) >= passes else None

    def load(self, layer):
        """Parameters of a layer, some layers ahead: the nodes to wait for."""
        after = [self.before(AHEAD + 1)]
        if self.in_switch:  # all GPUs together gather what one of them needs
            part = 2 * dense_parameters(layer) // TENSOR // GPUS
            nodes = [self.trace.access(f"load layer {layer}", chakra.LOAD, part, after, True)]
        else:
            part = 2 * dense_parameters(layer) // GPUS
            loaded = self.trace.access(f"load layer {layer}", chakra.LOAD, part, after)
            nodes = [self.trace.collective(f"gather layer {layer}", chakra.ALL_GATHER, part, [loaded],
                                           chakra.FAR)]
        if is_moe(layer):
            nodes.append(self.trace.access(f"load expert {layer}", chakra.LOAD, 2 * OWN_EXPERT, after))
        return nodes

    def compute(self, name, times, parameters, tokens, after, more=0):
        flops = times * (2 * parameters * tokens + more)
        moved = times * 2 * (parameters + 2 * tokens * HIDDEN)
        return self.trace.compute(name, flops, moved, after)

    def dense(self, name, times, parameters, after, more=0):
        """Cut over the tensor group, whose parts are summed."""
        last = self.compute(name, times, parameters // TENSOR, self.tokens, after, more // TENSOR)
        return self.trace.collective(f"sum {name}", chakra.ALL_REDUCE, 2 * self.tokens * HIDDEN, [last],
                                     chakra.NEAR)

    def experts(self, name, times, after):
        """Each GPU of a tensor group takes its share of the tokens to their experts and back."""
        exchanged = SLICES * self.tokens // TENSOR * HIDDEN * 2
        last = self.trace.collective(f"dispatch {name}", chakra.ALL_TO_ALL, exchanged, after)
        last = self.compute(name, times, OWN_EXPERT, SLICES * self.tokens // TENSOR, [last])
        return self.trace.collective(f"combine {name}", chakra.ALL_TO_ALL, exchanged, [last])

    def layer(self, layer, times, name):
        """Forward (`times` 1) or backward (2) through a layer."""
        loaded = self.load(layer)
        attention = 4 * SEQUENCE * HIDDEN * self.tokens
        last = self.before(1)
        for part in ("attention", "rest") if times == 1 else ("rest", "attention"):
            after, text = [last, *loaded], f"{name} {part} {layer}"
            if part == "attention":
                last = self.dense(text, times, ATTENTION, after, attention)
            elif is_moe(layer):
                last = self.experts(text, times, after)
            else:
                last = self.dense(text, times, MLP, after)
        self.over.append(last)
        return last

    def backward(self, layer):
        last = self.layer(layer, 2, "backward")
        gradients = 2 * dense_parameters(layer) // TENSOR
        name = f"gradients {layer}"
        if self.in_switch:
            self.trace.access(f"store {name}", chakra.STORE, gradients // GPUS, [last], True)
        else:
            own = self.trace.collective(f"scatter {name}", chakra.REDUCE_SCATTER, gradients, [last],
                                        chakra.FAR)
            self.trace.access(f"store {name}", chakra.STORE, gradients // REPLICAS, [own])
        if is_moe(layer):
            self.trace.access(f"store expert's {name}", chakra.STORE, 2 * OWN_EXPERT, [last])

    def update(self, layer):
        own = dense_parameters(layer) // GPUS + (OWN_EXPERT if is_moe(layer) else 0)
        loaded = self.trace.access(f"load state {layer}", chakra.LOAD, 14 * own, [self.over[-1]])
        updated = self.trace.compute(f"update {layer}", 12 * own, 28 * own, [loaded])
        self.trace.access(f"store state {layer}", chakra.STORE, 14 * own, [updated])


def experiment_of(workload, remote, fabric):
    dimension = f"{{bandwidth: {fabric} GB/s, latency: 500 ns}}"  # latency assumed
    return f"""\
machine:
  name: memory
  topology: {{kind: stack, shape: Switch({NPUS})_Switch({NODES}), dimensions: [{dimension}, {dimension}]}}
  tile: {{peak: {{fp16: 2048 TFLOP/s}}, operands: dram}}
  dram: {{at: each, bandwidth: 4096 GB/s, latency: 0 ns}}
  remote_memory: {remote}
  network: {{model: analytical}}
workload: {workload}
execution: {{collectives: {{chunks: 4}}}}
run: {{trace: none}}
"""


def pool(fabric, group):
    """Rates from and to switches outside of nodes are none of Table IV's: never the limit here."""
    return (f"{{kind: hierarchical, nodes: {NODES}, npus: {NPUS}, switches: 16, groups: 256, "
            f"group_bandwidth: {group} GB/s, memory_bandwidth: {group} GB/s, "
            f"node_bandwidth: {fabric} GB/s, npu_bandwidth: {fabric} GB/s, chunk: 64 KiB}}")


# Pools of pairs of an NPU and a memory: the topology, the equation's keys, and pairs. Numbers assumed.
LINK_GB_S, LINK_NS, CHUNK = 50, 100, 4096
LINK = f"bandwidth: {LINK_GB_S} GB/s, latency: {LINK_NS} ns"
SPREAD = [*((f"ring of {n}", f"kind: stack, shape: Ring({n}), dimensions: [{{{LINK}}}]",
             f"kind: ring, npus: {n}", n) for n in (8, 32)),
          *((f"mesh of {n} x {n}", f"kind: mesh, rows: {n}, columns: {n}, {LINK}",
             f"kind: mesh, rows: {n}, columns: {n}", n * n) for n in (4, 8))]
SPREAD_SIZES = (64 << 10, 1 << 20, 16 << 20)


def contention(report, runner, folder):
    """Every NPU loads a tensor that is spread over the memories of all, on the network that joins them."""
    report.say("## Pools of memory: equations and simulated contention")
    report.say()
    report.say("Pairs of an NPU and a memory, connected by a ring or a mesh. Each NPU loads a tensor "
               "that is spread over all memories, which is an all-to-all from the memories to the NPUs. "
               "The equation uses the busiest link and the number of links on the longest path, and forwards "
               "chunks stage by stage. The simulation has packets of the size of a chunk, first in, first "
               f"out at every link, with {LINK_GB_S} GB/s and {LINK_NS} ns per link (assumed).")
    report.say()
    rows = []
    for number, (name, topology, equation, npus) in enumerate(SPREAD):
        machine = f"""\
machine:
  name: spread
  topology: {{{topology}}}
"""
        for size in SPREAD_SIZES:
            path = folder / f"spread-{number}-{size}.yaml"
            path.write_text(f"""\
{machine}  network: {{model: packet, packet_size: {CHUNK} B}}
workload: {{kind: collective, collective: all-to-all, size: {size} B}}
execution: {{collectives: {{shape: [{npus}], algorithms: [direct]}}}}
run: {{trace: none}}
""", encoding="utf-8")
            simulated = runner.run(str(path))["simulated_time_ps"] / 1e6
            trace = chakra.Trace()
            trace.access("load", chakra.LOAD, size, [])
            prefix = folder / f"load-{number}-{size}"
            for npu in range(npus):
                (folder / f"{prefix.name}.{npu}.et").write_bytes(trace.data())
            path = folder / f"equation-{number}-{size}.yaml"
            path.write_text(f"""\
{machine}  remote_memory: {{{equation}, bandwidth: {LINK_GB_S} GB/s, chunk: {CHUNK} B, latency: 0 ns}}
  network: {{model: analytical}}
workload: {{kind: chakra, traces: {prefix}}}
run: {{trace: none}}
""", encoding="utf-8")
            closed = runner.run(str(path))["simulated_time_ps"] / 1e6
            rows.append([name, f"{size >> 10} KiB", f"{closed:.2f}", f"{simulated:.2f}",
                         percent(simulated, closed)])
    report.table(["pool", "tensor", "equation [us]", "simulated [us]", "simulated over the equation"],
                 rows)
    report.say("The two differ where a tensor has few chunks per memory. The equation adds the load of the busiest "
               "link to the longest path, but on a ring no chunk incurs both; on a mesh, chunks that turn "
               "wait for those that go straight, which the busiest link alone does not show. With large "
               "tensors both are the load of that link.")
    report.say()


def memory_study(report, runner, folder, setting):
    def traces(batch, in_switch):
        return chakra.write_alike(folder, f"{'gathered' if in_switch else 'own'}-{batch}",
                                  Step(batch, in_switch).trace, GPUS, TENSOR)

    def run(name, workload, remote, fabric):
        path = folder / f"{name}.yaml"
        path.write_text(experiment_of(workload, remote, fabric), encoding="utf-8")
        return runner.run(str(path))["simulated_time_ps"] / 1e9  # ms

    report.say("## ASTRA-sim 2.0's Tables IV and V: ZeRO-Infinity and a pool of memory")
    report.say()
    report.say(__doc__.split("\n\n", 1)[1].replace("\n", " ").strip())
    report.say()
    batches = BATCHES[:1] if setting.reduced else BATCHES
    gathered = {batch: traces(batch, True) for batch in batches}
    rows, baselines = [], {}
    for batch in batches:
        infinity = run(f"infinity-{batch}", traces(batch, False),
                       f"{{kind: per-npu, bandwidth: {ZERO_INFINITY} GB/s}}", BASELINE[0])
        baseline, best = (run(f"pool-{batch}-{point[0]}-{point[1]}", gathered[batch], pool(*point),
                              point[0]) for point in (BASELINE, OPTIMUM))
        baselines[batch] = baseline
        rows.append([batch, f"{infinity:.1f}", f"{baseline:.1f}", f"{baseline / infinity:.3f}",
                     f"{best:.1f}", f"{baseline / best:.2f}"])
        if batch == BATCHES[0]:
            report.bound(abs(baseline / infinity - 1) <= 0.05,
                         f"{batch} sequences: ZeRO-Infinity and the baseline of the pool within 5 %: "
                         f"{baseline / infinity:.3f}")
            report.bound(abs(baseline / best / SPEED_UP - 1) <= 0.1,
                         f"{batch} sequences: the paper's optimum {SPEED_UP} times the baseline within "
                         f"10 %: {baseline / best:.2f}")
    report.table(["sequences", "ZeRO-Infinity [ms]", "HierMem, baseline [ms]",
                  "over ZeRO-Infinity (paper 1.001)", "HierMem, opt [ms]",
                  f"speed-up over the baseline (paper {SPEED_UP})"], rows)
    if setting.reduced:
        return
    batch = BATCHES[0]
    times = {(fabric, group): run(f"sweep-{fabric}-{group}", gathered[batch], pool(fabric, group), fabric)
             for fabric in FABRICS for group in GROUPS}
    report.say(f"Speed-up over the baseline with {batch} sequences, by the rates of the in-node fabric and of "
               "a memory group:")
    report.say()
    report.table(["fabric [GB/s]", *(f"group {group} GB/s" for group in GROUPS)],
                 [[fabric, *(f"{baselines[batch] / times[fabric, group]:.2f}" for group in GROUPS)]
                  for fabric in FABRICS])
    best = min(times.values())

    def least_within(share):
        return min((sum(point), point) for point, time in times.items()
                   if time <= (1 + share) * best)[1]

    least, closer = least_within(0.1), least_within(0.05)
    report.bound(least == OPTIMUM, f"the least rates within 10 % of the best are {least[0]} and "
                                   f"{least[1]} GB/s; the paper's are {OPTIMUM[0]} and {OPTIMUM[1]}")
    report.say(f"The lowest rates within 10 % of the best are {least[0]} GB/s for the fabric and {least[1]} "
               f"GB/s for a group, {baselines[batch] / times[least]:.2f} times the baseline (paper: "
               f"{OPTIMUM[0]}, {OPTIMUM[1]} and {SPEED_UP}); within 5 % of the best they are {closer[0]} and "
               f"{closer[1]} GB/s. The paper does not say how it defines the best. The batch determines how much of "
               "a step is memory: with more sequences, computation and communication dominate, and the pool's "
               "rates matter less.")
    report.say()


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    memory_study(report, runner, folder, setting)
    contention(report, runner, folder)
