#!/usr/bin/env python3
"""Writes ONNX models of well-known networks: shapes without weights, so that files stay small.

    onnx_models.py MODEL [-o FOLDER]      MODEL: resnet50, bert-base, gpt3-small, encoder-qdq,
                                          llama3-8b, llama3-8b-mha, one layer of these two
                                          (llama3-8b-layer, llama3-8b-mha-layer), or all

Weights are external data in a file that is not there; importers of shapes need none. Operators stand
as common exporters write them: norms, GELU and attention decomposed, shapes computed by Shape,
Gather and Concat, keys and values of a cache as inputs. Dynamic dimensions: batch, and of the
language models sequence and past. Needs python3-onnx (Debian).

Shapes: ResNet-50 v1.5 (arXiv:1512.03385, stride in the 3x3 convolution), BERT-base uncased
(arXiv:1810.04805), GPT-3 Small (arXiv:2005.14165, table 2.1), Llama 3 8B (arXiv:2407.21783, table 3;
llama3-8b-mha with as many heads of keys and values as of queries). encoder-qdq is an encoder of
four layers of width 256 (sizes assumed) whose products stand between QuantizeLinear and
DequantizeLinear of int8, as ONNX Runtime's static quantisation writes them, with a last product
whose weights alone are int4, in blocks of 32.
"""

import argparse
from pathlib import Path

import numpy
from onnx import TensorProto, helper, numpy_helper

FLOAT, HALF, INT64 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64


class Net:
    """A graph under construction; each method adds a node and gives the name of its output."""

    def __init__(self, name, opset, kind=FLOAT):
        self.name, self.opset, self.kind = name, opset, kind
        self.nodes, self.weights, self.inputs, self.outputs = [], {}, [], []
        self.count = 0

    def weight(self, name, *shape):
        tensor = TensorProto(name=name, data_type=self.kind, dims=shape,
                             data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value=self.name + ".weights")
        self.weights[name] = tensor
        return name

    def number(self, value, kind=None):
        array = numpy.array(value, dtype=kind or (numpy.float16 if self.kind == HALF
                                                  else numpy.float32))
        name = f"number_{array.dtype}_{str(value).replace(' ', '')}"
        self.weights[name] = numpy_helper.from_array(array, name)
        return name

    def whole(self, value):
        return self.number(value, numpy.int64)

    def node(self, op, *inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"{op.lower()}_{self.count}" + (f"_{i}" if outputs > 1 else "")
                 for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, f"{op}_{self.count}", **attributes))
        return names if outputs > 1 else names[0]

    def input(self, name, kind, *shape):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, tensor, name, *shape):
        self.nodes.append(helper.make_node("Identity", [tensor], [name], "to_" + name))
        self.outputs.append(helper.make_tensor_value_info(name, self.kind, shape))

    def side(self, tensor, axis):
        """A side of a tensor, as a vector of one."""
        one = self.node("Gather", self.node("Shape", tensor), self.whole(axis), axis=0)
        return self.unsqueeze(one, 0)

    def unsqueeze(self, tensor, axis):
        if self.opset < 13:
            return self.node("Unsqueeze", tensor, axes=[axis])
        return self.node("Unsqueeze", tensor, self.whole([axis]))

    def reshape(self, tensor, *sides):
        parts = [side if isinstance(side, str) else self.whole([side]) for side in sides]
        return self.node("Reshape", tensor, self.node("Concat", *parts, axis=0))

    def linear(self, x, name, inputs, outputs, bias=True):
        y = self.node("MatMul", x, self.weight(name + ".weight", inputs, outputs))
        return self.node("Add", y, self.weight(name + ".bias", outputs)) if bias else y

    def layer_norm(self, x, name, width, eps=1e-5):
        centred = self.node("Sub", x, self.node("ReduceMean", x, axes=[-1]))
        square = self.node("Pow", centred, self.number(2.0))
        variance = self.node("Add", self.node("ReduceMean", square, axes=[-1]), self.number(eps))
        y = self.node("Div", centred, self.node("Sqrt", variance))
        y = self.node("Mul", y, self.weight(name + ".weight", width))
        return self.node("Add", y, self.weight(name + ".bias", width))

    def rms_norm(self, x, name, width):
        square = self.node("Pow", x, self.number(2.0))
        mean = self.node("Add", self.node("ReduceMean", square, axes=[-1]), self.number(1e-5))
        y = self.node("Mul", x, self.node("Reciprocal", self.node("Sqrt", mean)))
        return self.node("Mul", self.weight(name + ".weight", width), y)

    def gelu(self, x):
        y = self.node("Erf", self.node("Div", x, self.number(1.4142135)))
        y = self.node("Mul", x, self.node("Add", y, self.number(1.0)))
        return self.node("Mul", y, self.number(0.5))

    def tanh_gelu(self, x):
        cube = self.node("Mul", self.node("Pow", x, self.number(3.0)), self.number(0.044715))
        inner = self.node("Mul", self.node("Add", x, cube), self.number(0.7978846))
        y = self.node("Add", self.node("Tanh", inner), self.number(1.0))
        return self.node("Mul", self.node("Mul", x, self.number(0.5)), y)

    def heads(self, x, batch, tokens, count, width):
        y = self.reshape(x, batch, tokens, count, width)
        return self.node("Transpose", y, perm=[0, 2, 1, 3])

    def attend(self, query, key, value, width, mask=None):
        """Heads [batch, heads, tokens, width] to tokens of all heads."""
        scores = self.node("MatMul", query, self.node("Transpose", key, perm=[0, 1, 3, 2]))
        scores = self.node("Div", scores, self.number(float(width) ** 0.5))
        if mask:
            scores = self.node("Add", scores, mask)
        values = self.node("MatMul", self.node("Softmax", scores, axis=3), value)
        return self.node("Transpose", values, perm=[0, 2, 1, 3])

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs,
                                  list(self.weights.values()))
        return helper.make_model(graph, producer_name="tessera onnx_models",
                                 opset_imports=[helper.make_opsetid("", self.opset)])


def resnet50():
    net = Net("resnet50", 13)

    def conv(x, name, channels, outputs, kernel, stride=1, relu=True):
        pad = kernel // 2
        y = net.node("Conv", x, net.weight(name + ".weight", outputs, channels, kernel, kernel),
                     kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)
        y = net.node("BatchNormalization", y, *(net.weight(f"{name}.norm.{part}", outputs)
                                                for part in ("scale", "bias", "mean", "var")))
        return net.node("Relu", y) if relu else y

    x = conv(net.input("image", FLOAT, "batch", 3, 224, 224), "conv1", 3, 64, 7, 2)
    x = net.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for stage, (blocks, width) in enumerate([(3, 64), (4, 128), (6, 256), (3, 512)]):
        for block in range(blocks):
            name = f"layer{stage + 1}.{block}"
            stride = 2 if stage > 0 and block == 0 else 1
            y = conv(x, name + ".conv1", channels, width, 1)
            y = conv(y, name + ".conv2", width, width, 3, stride)
            y = conv(y, name + ".conv3", width, 4 * width, 1, relu=False)
            if block == 0:
                x = conv(x, name + ".down", channels, 4 * width, 1, stride, relu=False)
            channels = 4 * width
            x = net.node("Relu", net.node("Add", y, x))
    x = net.node("Flatten", net.node("GlobalAveragePool", x))
    x = net.node("Gemm", x, net.weight("fc.weight", 1000, 2048), net.weight("fc.bias", 1000),
                 transB=1)
    net.output(x, "classes", "batch", 1000)
    return net.model()


def bert_base():
    net, width, heads = Net("bert-base", 11), 768, 12
    ids = net.input("ids", INT64, "batch", "sequence")
    segments = net.input("segments", INT64, "batch", "sequence")
    mask = net.input("mask", FLOAT, "batch", 1, 1, "sequence")
    batch, tokens = net.side(ids, 0), net.side(ids, 1)
    places = net.node("Slice", net.weight("positions.weight", 512, width), net.whole([0]), tokens,
                      net.whole([0]))
    x = net.node("Gather", net.weight("words.weight", 30522, width), ids)
    x = net.node("Add", x, net.node("Gather", net.weight("segments.weight", 2, width), segments))
    x = net.layer_norm(net.node("Add", x, places), "embedding_norm", width)
    for layer in range(12):
        name = f"layer{layer}"
        parts = [net.heads(net.linear(x, f"{name}.{part}", width, width), batch, tokens, heads, 64)
                 for part in ("query", "key", "value")]
        y = net.attend(*parts, 64, mask)
        y = net.linear(net.reshape(y, batch, tokens, width), name + ".output", width, width)
        x = net.layer_norm(net.node("Add", y, x), name + ".norm1", width)
        y = net.gelu(net.linear(x, name + ".up", width, 4 * width))
        y = net.linear(y, name + ".down", 4 * width, width)
        x = net.layer_norm(net.node("Add", y, x), name + ".norm2", width)
    first = net.node("Gather", x, net.whole(0), axis=1)
    net.output(x, "hidden", "batch", "sequence", width)
    net.output(net.node("Tanh", net.linear(first, "pooler", width, width)), "pooled", "batch", width)
    return net.model()


def quantised(net, x):
    """To int8 and back, with one scale."""
    scale, zero = net.number(0.05, numpy.float32), net.number(0, numpy.int8)
    return net.node("DequantizeLinear", net.node("QuantizeLinear", x, scale, zero), scale, zero)


def widened(net, name, kind, sides, scales, **attributes):
    """Weights of few bits, at full width."""
    weights, scale = net.weight(name, *sides), net.weight(name + ".scale", *scales)
    net.weights[weights].data_type = kind
    return net.node("DequantizeLinear", weights, scale, **attributes)


def quantised_linear(net, x, name, inputs, outputs):
    weights = widened(net, name, TensorProto.INT8, (inputs, outputs), (outputs,), axis=1)
    y = net.node("MatMul", quantised(net, x), weights)
    return net.node("Add", y, net.weight(name + ".bias", outputs))


def encoder_qdq(layers=4, width=256, heads=4, labels=64):
    net = Net("encoder-qdq", 21)
    x = net.input("x", FLOAT, "batch", "sequence", width)
    batch, tokens = net.side(x, 0), net.side(x, 1)
    for layer in range(layers):
        name = f"layer.{layer}."
        query, key, value = (
            net.heads(quantised(net, quantised_linear(net, x, name + part, width, width)),
                      batch, tokens, heads, width // heads) for part in "qkv")
        attended = net.attend(query, key, value, width // heads)
        attended = net.reshape(attended, batch, tokens, width)
        x = net.node("Add", quantised_linear(net, attended, name + "o", width, width), x)
        up = quantised(net, quantised_linear(net, x, name + "up", width, 4 * width))
        down = quantised_linear(net, net.node("Relu", up), name + "down", 4 * width, width)
        x = net.node("Add", down, x)
    head = widened(net, "head", 22, (width, labels), (width // 32, labels), axis=0, block_size=32)
    net.output(net.node("MatMul", x, head), "y", "batch", "sequence", labels)
    return net.model()


def with_cache(net, layer, part, new, heads, width):
    """Keys or values of a layer, those of the cache before the new ones."""
    past = net.input(f"past_{part}_{layer}", net.kind, "batch", heads, "past", width)
    both = net.node("Concat", past, new, axis=2)
    net.output(both, f"present_{part}_{layer}", "batch", heads, "total", width)
    return both


def gpt3_small():
    net, width, heads = Net("gpt3-small", 13), 768, 12
    ids = net.input("ids", INT64, "batch", "sequence")
    places = net.input("places", INT64, "batch", "sequence")
    mask = net.input("mask", FLOAT, "batch", 1, "sequence", "total")
    batch, tokens = net.side(ids, 0), net.side(ids, 1)
    table = net.weight("words.weight", 50257, width)
    x = net.node("Add", net.node("Gather", table, ids),
                 net.node("Gather", net.weight("positions.weight", 2048, width), places))
    for layer in range(12):
        name = f"layer{layer}"
        y = net.linear(net.layer_norm(x, name + ".norm1", width), name + ".qkv", width, 3 * width)
        parts = net.node("Split", y, net.whole([width] * 3), outputs=3, axis=2)
        query, key, value = (net.heads(part, batch, tokens, heads, 64) for part in parts)
        key = with_cache(net, layer, "key", key, heads, 64)
        value = with_cache(net, layer, "value", value, heads, 64)
        y = net.attend(query, key, value, 64, mask)
        y = net.linear(net.reshape(y, batch, tokens, width), name + ".output", width, width)
        x = net.node("Add", x, y)
        y = net.linear(net.layer_norm(x, name + ".norm2", width), name + ".up", width, 4 * width)
        y = net.linear(net.tanh_gelu(y), name + ".down", 4 * width, width)
        x = net.node("Add", x, y)
    x = net.layer_norm(x, "norm", width)
    x = net.node("MatMul", x, net.node("Transpose", table, perm=[1, 0]))
    net.output(x, "scores", "batch", "sequence", 50257)
    return net.model()


def rotated(net, x, cosine, sine, width):
    half = [net.node("Slice", x, net.whole([begin]), net.whole([end]), net.whole([3]))
            for begin, end in ((0, width // 2), (width // 2, width))]
    turned = net.node("Concat", net.node("Neg", half[1]), half[0], axis=3)
    return net.node("Add", net.node("Mul", x, cosine), net.node("Mul", turned, sine))


def repeated(net, x, times, width):
    """Each head of keys or values for a group of query heads."""
    if times == 1:
        return x
    sides = [net.side(x, axis) for axis in range(3)]
    shape = net.node("Concat", sides[0], sides[1], net.whole([times]), sides[2],
                     net.whole([width]), axis=0)
    wide = net.node("Expand", net.unsqueeze(x, 2), shape)
    heads = net.node("Mul", sides[1], net.whole([times]))
    return net.reshape(wide, sides[0], heads, sides[2], width)


def llama3_8b(kv_heads=8, layers=32):
    """With fewer layers: those alone, without the product that scores words."""
    name = "llama3-8b" if kv_heads == 8 else "llama3-8b-mha"
    net, width, heads, head, inner = Net(name, 17, HALF), 4096, 32, 128, 14336
    ids = net.input("ids", INT64, "batch", "sequence")
    mask = net.input("mask", HALF, "batch", 1, "sequence", "total")
    cosine = net.input("cosine", HALF, "batch", 1, "sequence", head)
    sine = net.input("sine", HALF, "batch", 1, "sequence", head)
    batch, tokens = net.side(ids, 0), net.side(ids, 1)
    x = net.node("Gather", net.weight("words.weight", 128256, width), ids)
    for layer in range(layers):
        name = f"layer{layer}"
        y = net.rms_norm(x, name + ".norm1", width)
        sizes = {"query": heads, "key": kv_heads, "value": kv_heads}
        parts = {part: net.heads(net.linear(y, f"{name}.{part}", width, count * head, False), batch,
                                 tokens, count, head) for part, count in sizes.items()}
        query = rotated(net, parts["query"], cosine, sine, head)
        key = with_cache(net, layer, "key", rotated(net, parts["key"], cosine, sine, head),
                         kv_heads, head)
        value = with_cache(net, layer, "value", parts["value"], kv_heads, head)
        times = heads // kv_heads
        y = net.attend(query, repeated(net, key, times, head), repeated(net, value, times, head),
                       head, mask)
        y = net.linear(net.reshape(y, batch, tokens, width), name + ".output", width, width, False)
        x = net.node("Add", x, y)
        y = net.rms_norm(x, name + ".norm2", width)
        gate = net.linear(y, name + ".gate", width, inner, False)
        gate = net.node("Mul", gate, net.node("Sigmoid", gate))
        y = net.node("Mul", gate, net.linear(y, name + ".up", width, inner, False))
        x = net.node("Add", x, net.linear(y, name + ".down", inner, width, False))
    if layers < 32:
        net.output(x, "hidden", "batch", "sequence", width)
        return net.model()
    x = net.linear(net.rms_norm(x, "norm", width), "scores", width, 128256, False)
    net.output(x, "scores", "batch", "sequence", 128256)
    return net.model()


MODELS = {"resnet50": resnet50, "bert-base": bert_base, "gpt3-small": gpt3_small,
          "encoder-qdq": encoder_qdq,
          "llama3-8b": llama3_8b, "llama3-8b-mha": lambda: llama3_8b(32),
          "llama3-8b-layer": lambda: llama3_8b(8, 1),
          "llama3-8b-mha-layer": lambda: llama3_8b(32, 1)}


def write(name, folder):
    path = Path(folder) / f"{name}.onnx"
    path.write_bytes(MODELS[name]().SerializeToString())
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=[*MODELS, "all"])
    parser.add_argument("-o", "--output", default=".", help="folder (default: this one)")
    options = parser.parse_args()
    Path(options.output).mkdir(parents=True, exist_ok=True)
    for name in MODELS if options.model == "all" else [options.model]:
        print(write(name, options.output))


if __name__ == "__main__":
    main()
