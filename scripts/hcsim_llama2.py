#!/usr/bin/env python3
"""Writes HCSim's LLaMA2-13B: data-parallel training as a graph of vertices (its Table 4 and Fig. 7).

Every layer of a decoder is a vertex for the forward and one for the backward pass, at all XPUs; the
gradients of each decoder are added up behind its backward pass, and the next iteration's forward
pass of that decoder waits for them. What layers read and write is in memory that is not the XPU's
own, as where its own is too small for them; `--remote` changes that, and with `--tensors` it follows
from the capacity of each XPU's memory.

Tables:
  printed    Table 4 as it stands. Its FLOPs are in units of 2^40 / 1000, its bytes in GiB of 16-bit
             numbers (the text says FP32), and its block is GPT's: GeLU, two linear layers of four
             times the hidden size, layer norm, dropout.
  llama      LLaMA's own block: RMSNorm, rotary positions, SwiGLU, with fewer heads of keys and values
             where --kv-heads says so (grouped-query attention), FLOPs of the products, 16-bit
             numbers; a layer reads its inputs and weights and writes its outputs, backward twice the
             reads of activations, and weights and their gradients. Presets 7b, 13b and 70b: H. Touvron
             et al., arXiv:2307.09288 (context, grouped-query attention), with the sizes of
             arXiv:2302.13971, Table 2, and, for the MLP, of the published configurations.
  corrected  that of the preset 13b.

Tensors (--tensors), of each decoder, with P parameters:
  W  weights           2 P bytes; printed: the bytes of Table 4's forward pass that are fixed
  G  gradients         as many
  O  optimizer states  12 P bytes: Adam's 32-bit weight, momentum and variance (S. Rajbhandari et al.,
                       arXiv:1910.02054)
  A  activations       outputs of all layers, kept for the backward pass, 2 bytes each; printed: the
                       bytes of the forward pass that grow with the batch
Layers access W and A forward; W, G and A backward (printed: of the fixed bytes as many as the weights
are W, the others G, or A in layers without weights). Behind the sum of gradients a vertex updates the
weights: it reads G, reads and writes O, and writes W.
"""
import argparse
import collections
import pathlib
import sys

import graph_yaml

GIB = 2 ** 30
UNIT = 2 ** 40 / 1000  # FLOP in a "GFLOP" of Table 4: 195 of them are 2 * 4096 * 5120^2
HALF = 2  # bytes of a 16-bit number
ADAM = 12 / HALF  # bytes of optimizer states for one of 16-bit weights
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

# What a layer does: FLOPs, and bytes by what they are of.
Pass = collections.namedtuple("Pass", "flops weights gradients activations")
Layer = collections.namedtuple("Layer", "name forward backward")
# Bytes of a decoder's weights, and of the activations that it keeps.
Decoder = collections.namedtuple("Decoder", "layers weights activations")
Shape = collections.namedtuple("Shape", "hidden heads kv_heads mlp layers sequence")
PRESETS = {"7b": Shape(4096, 32, 32, 11008, 32, 4096),
           "13b": Shape(5120, 40, 40, 13824, 40, 4096),
           "70b": Shape(8192, 64, 8, 28672, 80, 4096)}


def printed(batch):
    layers = []
    for name, forward, forward_bytes, backward, backward_bytes in PRINTED:
        fixed, weights = backward_bytes[0], forward_bytes[0]
        others = fixed - weights
        kept = backward_bytes[1] * batch
        layers.append(Layer(
            name, Pass(forward * UNIT * batch, weights * GIB, 0, forward_bytes[1] * batch * GIB),
            Pass(backward * UNIT * batch, weights * GIB, others * GIB if weights else 0,
                 (kept if weights else kept + others) * GIB)))
    return Decoder(layers, sum(layer.forward.weights for layer in layers),
                   sum(layer.forward.activations for layer in layers))


def llama(batch, shape):
    tokens, width = batch * shape.sequence, shape.hidden // shape.heads * shape.kv_heads
    layers, parameters, kept = [], 0, 0

    def add(name, flops, weights, inputs, outputs):
        """Numbers of weights, inputs and outputs. Backward reads inputs, weights and gradients of
        outputs, and writes gradients of inputs and of weights."""
        nonlocal parameters, kept
        parameters, kept = parameters + weights, kept + outputs
        layers.append(Layer(name, Pass(flops, HALF * weights, 0, HALF * (inputs + outputs)),
                            Pass(2 * flops, HALF * weights, HALF * weights,
                                 HALF * (2 * inputs + outputs))))

    def linear(name, width_in, width_out):
        add(name, 2 * tokens * width_in * width_out, width_in * width_out, tokens * width_in,
            tokens * width_out)

    wide, narrow = tokens * shape.hidden, tokens * width
    scores = batch * shape.heads * shape.sequence ** 2
    add("norm", 0, shape.hidden, wide, wide)
    linear("linear K", shape.hidden, width)
    linear("linear Q", shape.hidden, shape.hidden)
    linear("linear V", shape.hidden, width)
    add("rotary", 0, 0, wide + narrow, wide + narrow)
    # Scores and probabilities are written and read, as without a fused kernel.
    add("self-attention", 2 * 2 * tokens * shape.sequence * shape.hidden, 0,
        wide + 2 * narrow + 2 * scores, wide + 2 * scores)
    linear("linear", shape.hidden, shape.hidden)
    add("add", 0, 0, 2 * wide, wide)
    add("norm", 0, shape.hidden, wide, wide)
    linear("linear gate", shape.hidden, shape.mlp)
    linear("linear up", shape.hidden, shape.mlp)
    add("SwiGLU", 0, 0, 2 * tokens * shape.mlp, tokens * shape.mlp)
    linear("linear down", shape.mlp, shape.hidden)
    add("add", 0, 0, 2 * wide, wide)
    return Decoder(layers, HALF * parameters, HALF * kept)


TABLES = ("corrected", "llama", "printed")


def decoder_of(table, batch, shape):
    return printed(batch) if table == "printed" else llama(batch, shape)


class Graph:
    """What graph_yaml needs of a NetworkX graph."""

    def __init__(self, **attributes):
        self.graph, self._nodes, self._edges = attributes, {}, []

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


def tensors_of(decoder, decoders):
    sizes = (("W", decoder.weights), ("G", decoder.weights), ("O", ADAM * decoder.weights),
             ("A", decoder.activations))
    return [{"name": f"{kind}{number}", "bytes": round(size)}
            for kind, size in sizes for number in range(decoders)]


def accesses(done, number):
    """Uses of tensors, of a pass of a layer in decoder `number`."""
    sizes = (("W", done.weights), ("G", done.gradients), ("A", done.activations))
    return [{"tensor": f"{kind}{number}", "bytes": round(size)} for kind, size in sizes if size]


def build(table="printed", batch=1, decoders=None, remote=("forward", "backward"), gather="sent",
          overlap=True, make=Graph, tensors=False, shape=PRESETS["13b"], gradient=HALF):
    """The graph. `make` may be networkx.DiGraph. Without `overlap` the backward pass of a decoder
    waits for the gradients of the one behind it. `gradient` is the bytes of one where they are added
    up. `remote` is of no effect with `tensors`, `shape`
    with Table 4."""
    decoders = decoders or shape.layers
    decoder = decoder_of(table, batch, shape)
    graph = make(tensors=tensors_of(decoder, decoders)) if tensors else make()
    last = None

    def add(name, number, done, is_remote, **more):
        nonlocal last
        size = sum(done[1:])
        if tensors:
            attributes = {"flops": round(done.flops)} if done.flops else {}
            attributes["uses"] = accesses(done, number)
        else:
            attributes = {key: round(value)
                          for key, value in (("flops", done.flops), ("bytes", size)) if value}
            if is_remote and size:
                attributes["remote"] = round(size)
        graph.add_node(name, **attributes, **more)
        if last is not None:
            graph.add_edge(last, name)
        last = name

    for number in range(decoders):
        for place, layer in enumerate(decoder.layers):
            first = {"start": True} if last is None else {}
            add(f"F{number} {place} {layer.name}", number, layer.forward, "forward" in remote, **first)
    start = next(iter(graph.nodes(data=False)))
    ready = []
    for number in reversed(range(decoders)):
        for place, layer in reversed(list(enumerate(decoder.layers))):
            add(f"B{number} {place} {layer.name}", number, layer.backward, "backward" in remote)
        over = f"S{number} gradients"
        graph.add_node(over, collective="all-reduce", gather=gather,
                       bytes=round(decoder.weights * gradient / HALF))
        graph.add_edge(last, over)
        if tensors:
            update = f"U{number} update"
            sizes = (("G", 1), ("O", 2 * ADAM), ("W", 1))
            graph.add_node(update, uses=[{"tensor": f"{kind}{number}",
                                          "bytes": round(times * decoder.weights)}
                                         for kind, times in sizes])
            graph.add_edge(over, update)
            over = update
        last = last if overlap else over
        ready.append((over, f"F{number} 0 {decoder.layers[0].name}"))
    graph.add_edge(last, start)
    for over, forward in ready:
        if forward != start:
            graph.add_edge(over, forward, first=False)
        elif overlap:
            graph.add_edge(over, start)
    return graph


def shape_of(parser, arguments):
    """The preset with what is given instead."""
    given = {key: getattr(arguments, key) for key in ("hidden", "heads", "kv_heads", "mlp", "layers",
                                                      "sequence")}
    given = {key: value for key, value in given.items() if value is not None}
    if arguments.table != "llama" and (arguments.preset or given):
        parser.error(f"the table {arguments.table} has its own sizes; they are of --table llama")
    shape = PRESETS[arguments.preset or "13b"]
    if "heads" in given and "kv_heads" not in given:
        given["kv_heads"] = given["heads"]
    shape = shape._replace(**given)
    if min(shape) < 1:
        parser.error("sizes must be positive")
    if shape.hidden % shape.heads or shape.heads % shape.kv_heads:
        parser.error(f"{shape.heads} heads must divide the hidden size, {shape.hidden}, and "
                     f"{shape.kv_heads} heads of keys and values the heads")
    return shape


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--table", choices=TABLES, default="printed")
    parser.add_argument("--preset", choices=sorted(PRESETS), help="of --table llama (13b)")
    for key in ("hidden", "heads", "kv-heads", "mlp", "layers", "sequence"):
        parser.add_argument(f"--{key}", type=int, help="of --table llama, in place of the preset's")
    parser.add_argument("--batch", type=int, default=1, help="of an XPU")
    parser.add_argument("--decoders", type=int, help="fewer than the model has")
    parser.add_argument("--access", choices=("move", "coherent"), default="coherent")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--remote", nargs="*", choices=("forward", "backward"),
                       default=["forward", "backward"], help="passes whose bytes are not local")
    where.add_argument("--tensors", action="store_true",
                       help="write tensors: what is remote follows from the XPUs' memory")
    parser.add_argument("--gather", choices=("sent", "read", "free"), default="sent",
                        help="of gradients: everywhere, read where needed, reads not counted")
    parser.add_argument("--gradient", type=int, choices=(2, 4), default=HALF,
                        help="bytes of one where they are added up (the paper's text says FP32)")
    parser.add_argument("--no-overlap", action="store_true",
                        help="the backward pass waits for gradients")
    parser.add_argument("--iterations", type=int, default=1)
    arguments = parser.parse_args()
    shape = shape_of(parser, arguments)
    graph = build(arguments.table, arguments.batch, arguments.decoders, arguments.remote,
                  arguments.gather, not arguments.no_overlap, tensors=arguments.tensors, shape=shape,
                  gradient=arguments.gradient)
    name = f"llama_{arguments.preset or 'own'}" if arguments.table == "llama" else \
        f"llama2_13b_{arguments.table}"
    graph_yaml.write(graph, arguments.output, access=arguments.access,
                     iterations=arguments.iterations, name=name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
