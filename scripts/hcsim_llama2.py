#!/usr/bin/env python3
"""Writes HCSim's LLaMA2-13B: data-parallel training as a graph of vertices (its Table 4 and Fig. 7).

Every layer of a decoder is a vertex for the forward and one for the backward pass, at all XPUs; the
gradients of each decoder are added up behind its backward pass, and the next iteration's forward
pass of that decoder waits for them. What layers read and write is in memory that is not the XPU's
own, as where its own is too small for them; `--remote` changes that.

Tables:
  printed    Table 4 as it stands. Its FLOPs are in units of 2^40 / 1000, its bytes in GiB of 16-bit
             numbers (the text says FP32), and its block is GPT's: GeLU, two linear layers of four
             times the hidden size, layer norm, dropout.
  corrected  LLaMA-2's own block: RMSNorm, rotary positions, SwiGLU of 13824 (H. Touvron et al.,
             arXiv:2307.09288, and the model's configuration), FLOPs of the products, 16-bit numbers;
             a layer reads its inputs and weights and writes its outputs, backward twice the reads of
             activations, and weights and their gradients.
"""
import argparse
import pathlib
import sys

import graph_yaml

GIB = 2 ** 30
UNIT = 2 ** 40 / 1000  # FLOP in a "GFLOP" of Table 4: 195 of them are 2 * 4096 * 5120^2
SEQUENCE, HIDDEN, HEADS, MLP = 4096, 5120, 40, 13824
HALF = 2  # bytes of a 16-bit number
# Table 4: layer, forward FLOPs for a batch of 1, forward bytes (fixed, for each of the batch),
# backward FLOPs, backward bytes. FLOPs in UNIT, bytes in GiB. "Negligible" is 0.
NORM = ("norm", 0, (0.00002, 0.039), 0, (0.00015, 0.156))
PRINTED = [
    NORM,
    ("linear K", 195, (0.0488, 0.039), 390, (0.39, 0.156)),
    ("linear Q", 195, (0.0488, 0.039), 390, (0.39, 0.156)),
    ("linear V", 195, (0.0488, 0.039), 390, (0.39, 0.156)),
    ("self-attention", 312.5, (0, 3.242), 625, (0, 0.234)),
    ("concat", 0, (0, 0), 0, (0, 0)),
    ("linear", 195, (0.0488, 0.039), 390, (0.39, 0.156)),
    ("dropout", 0, (0, 0.0195), 0, (0.0195, 0)),
    ("add", 0, (0, 0.078), 0, (0.039, 0)),
    NORM,
    ("linear up", 780, (0.195, 0.039), 1560, (1.562, 0.39)),
    ("GeLU", 0, (0, 0.156), 0, (0.078, 0)),
    ("linear down", 780, (0.195, 0.156), 1560, (1.562, 0.39)),
    ("dropout", 0, (0, 0.0195), 0, (0.0195, 0)),
    ("add", 0, (0, 0.078), 0, (0.156, 0)),
]


def printed(batch):
    """Layers as (name, forward FLOP, forward bytes, backward FLOP, backward bytes), and the bytes of a
    decoder's gradients: as many as weights, which are the fixed forward bytes."""
    rows = []
    for name, forward, forward_bytes, backward, backward_bytes in PRINTED:
        rows.append((name, forward * UNIT * batch,
                     (forward_bytes[0] + forward_bytes[1] * batch) * GIB,
                     backward * UNIT * batch,
                     (backward_bytes[0] + backward_bytes[1] * batch) * GIB))
    return rows, sum(row[2][0] for row in PRINTED) * GIB


def corrected(batch):
    """The same of LLaMA-2's block."""
    tokens = batch * SEQUENCE
    rows = []

    def add(name, flops, weights, inputs, outputs):
        """Numbers of weights, inputs and outputs. Backward reads inputs, weights and gradients of
        outputs, and writes gradients of inputs and of weights."""
        rows.append((name, flops, HALF * (weights + inputs + outputs), 2 * flops,
                     HALF * (2 * weights + 2 * inputs + outputs)))

    def linear(name, width_in, width_out):
        add(name, 2 * tokens * width_in * width_out, width_in * width_out, tokens * width_in,
            tokens * width_out)

    wide, scores = tokens * HIDDEN, batch * HEADS * SEQUENCE ** 2
    add("norm", 0, HIDDEN, wide, wide)
    for name in ("linear K", "linear Q", "linear V"):
        linear(name, HIDDEN, HIDDEN)
    add("rotary", 0, 0, 2 * wide, 2 * wide)
    # Scores and probabilities are written and read, as without a fused kernel.
    add("self-attention", 2 * 2 * tokens * SEQUENCE * HIDDEN, 0, 3 * wide + 2 * scores,
        wide + 2 * scores)
    linear("linear", HIDDEN, HIDDEN)
    add("add", 0, 0, 2 * wide, wide)
    add("norm", 0, HIDDEN, wide, wide)
    linear("linear gate", HIDDEN, MLP)
    linear("linear up", HIDDEN, MLP)
    add("SwiGLU", 0, 0, 2 * tokens * MLP, tokens * MLP)
    linear("linear down", MLP, HIDDEN)
    add("add", 0, 0, 2 * wide, wide)
    return rows, HALF * (4 * HIDDEN ** 2 + 3 * HIDDEN * MLP + 2 * HIDDEN)


TABLES = {"printed": printed, "corrected": corrected}


class Graph:
    """What graph_yaml needs of a NetworkX graph."""

    def __init__(self):
        self._nodes, self._edges = {}, []

    def add_node(self, name, **attributes):
        self._nodes[name] = attributes

    def add_edge(self, source, target, **attributes):
        self._edges.append((source, target, attributes))

    def nodes(self, data=True):
        return list(self._nodes.items()) if data else list(self._nodes)

    def edges(self, data=True):
        return list(self._edges) if data else [edge[:2] for edge in self._edges]

    def number_of_edges(self):
        return len(self._edges)


def build(table="printed", batch=1, decoders=40, remote=("forward", "backward"), gather="sent",
          overlap=True, make=Graph):
    """The graph. `make` may be networkx.DiGraph. Without `overlap` the backward pass of a decoder
    waits for the gradients of the one behind it."""
    rows, gradients = TABLES[table](batch)
    graph = make()
    last = None

    def add(name, flops, size, is_remote, **more):
        nonlocal last
        attributes = {key: round(value) for key, value in (("flops", flops), ("bytes", size)) if value}
        if is_remote and size:
            attributes["remote"] = round(size)
        graph.add_node(name, **attributes, **more)
        if last is not None:
            graph.add_edge(last, name)
        last = name

    for decoder in range(decoders):
        for number, (layer, flops, size, _, _) in enumerate(rows):
            first = {"start": True} if last is None else {}
            add(f"F{decoder} {number} {layer}", flops, size, "forward" in remote, **first)
    start = next(iter(graph.nodes(data=False)))
    syncs = []
    for decoder in reversed(range(decoders)):
        for number, (layer, _, _, flops, size) in reversed(list(enumerate(rows))):
            add(f"B{decoder} {number} {layer}", flops, size, "backward" in remote)
        sync = f"S{decoder} gradients"
        graph.add_node(sync, collective="all-reduce", bytes=round(gradients), gather=gather)
        graph.add_edge(last, sync)
        last = last if overlap else sync
        syncs.append((sync, f"F{decoder} 0 {rows[0][0]}"))
    graph.add_edge(last, start)
    for sync, forward in syncs:
        if forward != start:
            graph.add_edge(sync, forward, first=False)
        elif overlap:
            graph.add_edge(sync, start)
    return graph


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--table", choices=sorted(TABLES), default="printed")
    parser.add_argument("--batch", type=int, default=1, help="of an XPU")
    parser.add_argument("--decoders", type=int, default=40)
    parser.add_argument("--access", choices=("move", "coherent"), default="coherent")
    parser.add_argument("--remote", nargs="*", choices=("forward", "backward"),
                        default=["forward", "backward"], help="passes whose bytes are not local")
    parser.add_argument("--gather", choices=("sent", "read", "free"), default="sent",
                        help="of gradients: everywhere, read where needed, reads not counted")
    parser.add_argument("--no-overlap", action="store_true",
                        help="the backward pass waits for gradients")
    parser.add_argument("--iterations", type=int, default=1)
    arguments = parser.parse_args()
    graph = build(arguments.table, arguments.batch, arguments.decoders, arguments.remote,
                  arguments.gather, not arguments.no_overlap)
    graph_yaml.write(graph, arguments.output, access=arguments.access,
                     iterations=arguments.iterations, name=f"llama2_13b_{arguments.table}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
