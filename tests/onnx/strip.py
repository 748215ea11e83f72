#!/usr/bin/env python3
"""Takes the weights out of an ONNX model: constants of more than 64 elements become external data of
a file that is not there. Shapes, operators and all constants that make shapes stay.

    strip.py MODEL.onnx STRIPPED.onnx
"""
import sys

import onnx
from onnx import TensorProto


def strip(tensor):
    count = 1
    for side in tensor.dims:
        count *= side
    if count <= 64:
        return
    for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data"):
        tensor.ClearField(field)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="left_out")


def walk(graph):
    for tensor in graph.initializer:
        strip(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                strip(attribute.t)
            if attribute.HasField("g"):
                walk(attribute.g)


model = onnx.load(sys.argv[1])
walk(model.graph)
with open(sys.argv[2], "wb") as file:
    file.write(model.SerializeToString())
