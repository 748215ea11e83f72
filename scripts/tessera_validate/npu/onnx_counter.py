"""FLOPs of products and parameters of an ONNX model, counted apart from Tessera: with python3-onnx and
numpy, by carrying the model out. Tensors of numbers are arrays of one zero with strides of 0, so that
nothing is computed or stored; whole numbers and booleans are computed, as shapes follow from them.

Counted as the page says: 2 for each multiply-accumulate of Conv, ConvTranspose, Gemm, MatMul and LSTM;
parameters are elements of constants that are not int64, bool or text, of those that are read.
"""

import math

import numpy
import onnx
from onnx import helper, numpy_helper

TYPES = dict(onnx.mapping.TENSOR_TYPE_TO_NP_TYPE)


def zeros(shape, kind=numpy.float32):
    return numpy.broadcast_to(numpy.zeros((), kind), tuple(int(side) for side in shape))


def is_whole(array):
    return array.dtype.kind in "iub"


def value_of(tensor):
    """A constant; large and real ones without their values."""
    kind = TYPES[tensor.data_type]
    if numpy.dtype(kind).kind not in "iub" or tensor.data_location == onnx.TensorProto.EXTERNAL:
        small = math.prod(tensor.dims) <= 16 and tensor.data_location != onnx.TensorProto.EXTERNAL
        return numpy_helper.to_array(tensor) if small else zeros(tensor.dims, kind)
    return numpy_helper.to_array(tensor)


class Counter:
    def __init__(self, path, inputs):
        """`inputs`: shape, or array, by name."""
        self.model = onnx.load(path, load_external_data=False)
        self.opset = next(o.version for o in self.model.opset_import if o.domain in ("", "ai.onnx"))
        self.flops = 0
        self.parameters = 0
        self.nodes = 0
        self.file_parameters = self.all_parameters(self.model.graph)
        types = {i.name: TYPES[i.type.tensor_type.elem_type] for i in self.model.graph.input}
        given = {name: value if isinstance(value, numpy.ndarray) else zeros(value, types[name])
                 for name, value in inputs.items()}
        self.outputs = self.run(self.model.graph, given)

    def all_parameters(self, graph):
        count = sum(self.weight_of(tensor) for tensor in graph.initializer)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    count += self.all_parameters(attribute.g)
                elif node.op_type == "Constant" and attribute.HasField("t"):
                    count += self.weight_of(attribute.t)
        return count

    @staticmethod
    def weight_of(tensor):
        left_out = (onnx.TensorProto.INT64, onnx.TensorProto.BOOL, onnx.TensorProto.STRING)
        return 0 if tensor.data_type in left_out else math.prod(tensor.dims)

    def run(self, graph, outer):
        names = dict(outer)
        weights = {}
        for tensor in graph.initializer:
            names[tensor.name] = value_of(tensor)
            weights[tensor.name] = self.weight_of(tensor)
        for node in graph.node:
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            for name in node.input:
                self.parameters += weights.pop(name, 0)
            inputs = [names[name] if name else None for name in node.input]
            if node.op_type == "Constant":
                (value,) = attributes.values()
                tensor = isinstance(value, onnx.TensorProto)
                names[node.output[0]] = value_of(value) if tensor else numpy.array(value)
                weights[node.output[0]] = self.weight_of(value) if tensor else 0
                continue
            self.nodes += node.op_type != "If"
            if node.op_type == "If":
                branch = "then_branch" if bool(inputs[0]) else "else_branch"
                results = self.run(attributes[branch], names)
                # Constants of this graph that the branch reads.
                for name in self.read_within(attributes[branch]):
                    self.parameters += weights.pop(name, 0)
            else:
                results = getattr(self, "do_" + node.op_type.lower(), None)
                results = results(attributes, *inputs) if results else self.element_wise(
                    node.op_type, attributes, inputs)
            results = results if isinstance(results, list) else [results]
            names.update({name: value for name, value in zip(node.output, results) if name})
        return [names[output.name] for output in graph.output]

    def read_within(self, graph):
        for node in graph.node:
            yield from node.input
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    yield from self.read_within(attribute.g)

    # Operators of which only whole numbers matter.
    WHOLE = {"Add": numpy.add, "Sub": numpy.subtract, "Mul": numpy.multiply,
             "Div": numpy.floor_divide, "Equal": numpy.equal, "Not": numpy.logical_not}

    def element_wise(self, op, attributes, inputs):
        given = [value for value in inputs if value is not None]
        if op in self.WHOLE and all(is_whole(value) for value in given):
            return self.WHOLE[op](*given)
        known = {"Abs", "Add", "Clip", "Div", "Erf", "HardSigmoid", "Mul", "Neg", "Pow", "Reciprocal",
                 "Relu", "Sigmoid", "Softmax", "Sqrt", "Sub", "Tanh", "BatchNormalization"}
        if op not in known:
            raise NotImplementedError(op)
        if op in ("Clip", "Softmax", "BatchNormalization", "HardSigmoid"):
            given = given[:1]
        return zeros(numpy.broadcast_shapes(*(value.shape for value in given)), given[0].dtype)

    def do_identity(self, _, x):
        return x

    def do_cast(self, attributes, x):
        return x.astype(TYPES[attributes["to"]]) if is_whole(x) else zeros(
            x.shape, TYPES[attributes["to"]])

    def do_shape(self, _, x):
        return numpy.array(x.shape, numpy.int64)

    def do_size(self, _, x):
        return numpy.array(x.size, numpy.int64)

    def do_gather(self, attributes, x, indices):
        axis = attributes.get("axis", 0)
        if is_whole(x):
            return numpy.take(x, indices, axis=axis)
        axis %= x.ndim
        return zeros(x.shape[:axis] + indices.shape + x.shape[axis + 1:], x.dtype)

    def do_concat(self, attributes, *parts):
        axis = attributes["axis"]
        if all(is_whole(part) for part in parts):
            return numpy.concatenate(parts, axis)
        shape = list(parts[0].shape)
        shape[axis] = sum(part.shape[axis] for part in parts)
        return zeros(shape, parts[0].dtype)

    def do_reshape(self, attributes, x, shape):
        sides = [x.shape[i] if side == 0 and not attributes.get("allowzero") else int(side)
                 for i, side in enumerate(shape)]
        return numpy.reshape(x, sides) if is_whole(x) else zeros(
            numpy.empty(0).reshape(0).shape if 0 in x.shape else
            [x.size // -math.prod(sides) if side == -1 else side for side in sides], x.dtype)

    def do_flatten(self, attributes, x):
        axis = attributes.get("axis", 1)
        return zeros([math.prod(x.shape[:axis]), math.prod(x.shape[axis:])], x.dtype)

    def axes(self, attributes, axes):
        return [int(a) for a in (attributes["axes"] if axes is None else axes)]

    def do_unsqueeze(self, attributes, x, axes=None):
        return numpy.expand_dims(x, tuple(self.axes(attributes, axes)))

    def do_squeeze(self, attributes, x, axes=None):
        return numpy.squeeze(x, tuple(self.axes(attributes, axes)))

    def do_transpose(self, attributes, x):
        return numpy.transpose(x, attributes.get("perm"))

    def do_expand(self, _, x, shape):
        return numpy.broadcast_to(x, numpy.broadcast_shapes(x.shape, tuple(shape)))

    def do_slice(self, attributes, x, starts=None, ends=None, axes=None, steps=None):
        starts = attributes["starts"] if starts is None else starts
        ends = attributes["ends"] if ends is None else ends
        axes = attributes.get("axes", range(len(starts))) if axes is None else axes
        cut = [slice(None)] * x.ndim
        for i, axis in enumerate(axes):
            step = 1 if steps is None else int(steps[i])
            end = None if step < 0 and int(ends[i]) < -x.shape[int(axis)] else int(ends[i])
            cut[int(axis)] = slice(int(starts[i]), end, step)
        return x[tuple(cut)]

    def do_split(self, attributes, x, parts):
        return numpy.split(x, numpy.cumsum(parts)[:-1], attributes.get("axis", 0))

    def do_pad(self, _, x, pads, *__):
        half = len(pads) // 2
        return zeros([side + pads[i] + pads[i + half] for i, side in enumerate(x.shape)], x.dtype)

    def do_constantofshape(self, attributes, shape):
        value = numpy_helper.to_array(attributes["value"])
        return numpy.full(tuple(shape), value[0], value.dtype)

    def do_reducemean(self, attributes, x):
        shape = list(x.shape)
        for axis in attributes["axes"]:
            shape[axis] = 1 if attributes.get("keepdims", 1) else None
        return zeros([side for side in shape if side is not None], x.dtype)

    def do_resize(self, _, x, roi=None, scales=None, sizes=None):
        if sizes is not None:
            return zeros(sizes, x.dtype)
        return zeros([math.floor(s * f) for s, f in zip(x.shape, scales)], x.dtype)

    def do_globalaveragepool(self, _, x):
        return zeros([*x.shape[:2], *[1] * (x.ndim - 2)], x.dtype)

    @staticmethod
    def places(attributes, image, kernel):
        sides = len(kernel)
        strides = attributes.get("strides", [1] * sides)
        dilations = attributes.get("dilations", [1] * sides)
        pads = attributes.get("pads", [0] * 2 * sides)
        if attributes.get("auto_pad", b"NOTSET").startswith(b"SAME"):
            return [-(-side // stride) for side, stride in zip(image, strides)]
        return [(image[i] + pads[i] + pads[i + sides] - dilations[i] * (kernel[i] - 1) - 1)
                // strides[i] + 1 for i in range(sides)]

    def do_maxpool(self, attributes, x):
        return zeros([*x.shape[:2], *self.places(attributes, x.shape[2:],
                                                 attributes["kernel_shape"])], x.dtype)

    def do_conv(self, attributes, x, w, b=None):
        y = [x.shape[0], w.shape[0], *self.places(attributes, x.shape[2:], w.shape[2:])]
        self.flops += 2 * math.prod(y) * math.prod(w.shape[1:])
        return zeros(y, x.dtype)

    def do_convtranspose(self, attributes, x, w, b=None):
        sides = x.ndim - 2
        strides = attributes.get("strides", [1] * sides)
        pads = attributes.get("pads", [0] * 2 * sides)
        y = [strides[i] * (x.shape[i + 2] - 1) + w.shape[i + 2] - pads[i] - pads[i + sides]
             for i in range(sides)]
        self.flops += 2 * math.prod(x.shape) * math.prod(w.shape[1:])
        return zeros([x.shape[0], w.shape[1] * attributes.get("group", 1), *y], x.dtype)

    def do_gemm(self, attributes, a, b, c=None):
        a = a.T if attributes.get("transA") else a
        b = b.T if attributes.get("transB") else b
        self.flops += 2 * a.shape[0] * a.shape[1] * b.shape[1]
        return zeros([a.shape[0], b.shape[1]], a.dtype)

    def do_matmul(self, _, a, b):
        y = [*numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]]
        self.flops += 2 * math.prod(y) * a.shape[-1]
        return zeros(y, a.dtype)

    def do_lstm(self, _, x, w, r, *__):
        steps, batch, _ = x.shape
        directions, _, hidden = r.shape
        self.flops += 2 * steps * batch * directions * (w.shape[1] * w.shape[2] +
                                                        r.shape[1] * r.shape[2])
        state = zeros([directions, batch, hidden], x.dtype)
        return [zeros([steps, directions, batch, hidden], x.dtype), state, state]
