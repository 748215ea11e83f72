"""Writes small ONNX models without python3-onnx: messages of proto3 (onnx.proto of the standard). Weights are
external data in a file that is not there; shapes need none."""

from chakra_writer import field_bytes as _bytes
from chakra_writer import field_number as _number

FLOAT16 = 10
INTS, INT = 7, 2


def _text(field, text):
    return _bytes(field, text.encode())


def _attribute(name, value):
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, INT)
    return _text(1, name) + b"".join(_number(8, each) for each in value) + _number(20, INTS)


class Model:
    """A graph under construction; nodes are named as the caller says."""

    def __init__(self, opset=17):
        self._opset, self._nodes, self._weights, self._ends = opset, b"", b"", b""

    def _value(self, field, name, shape):
        dims = b"".join(_bytes(1, _number(1, side)) for side in shape)
        tensor = _number(1, FLOAT16) + _bytes(2, dims)
        self._ends += _bytes(field, _text(1, name) + _bytes(2, _bytes(1, tensor)))

    def input(self, name, *shape):
        self._value(11, name, shape)
        return name

    def output(self, name, *shape):
        self._value(12, name, shape)

    def weight(self, name, *shape):
        place = _text(1, "location") + _text(2, "weights")
        self._weights += _bytes(5, b"".join(_number(1, side) for side in shape) + _number(2, FLOAT16)
                                + _text(8, name) + _bytes(13, place) + _number(14, 1))
        return name

    def node(self, kind, name, *inputs, **attributes):
        """The name of its output."""
        self._nodes += _bytes(1, b"".join(_text(1, each) for each in inputs) + _text(2, name + "_out")
                              + _text(3, name) + _text(4, kind)
                              + b"".join(_bytes(5, _attribute(*each)) for each in attributes.items()))
        return name + "_out"

    def data(self):
        graph = self._nodes + _text(2, "graph") + self._weights + self._ends
        return _number(1, 8) + _bytes(7, graph) + _bytes(8, _text(1, "") + _number(2, self._opset))
