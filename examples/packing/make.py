"""Generates encoder.onnx, one layer of BERT's architecture with random weights. Needs the Python package onnx."""

import os

import numpy
from onnx import TensorProto, helper, numpy_helper, save

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS, LENGTH, WIDTH, HEADS = 4, 16, 12, 3
random = numpy.random.default_rng(0)
nodes, constants = [], []


def constant(name, value):
    constants.append(numpy_helper.from_array(numpy.asarray(value), name))
    return name


def weight(name, *shape):
    return constant(name, random.normal(0, 0.4, shape).astype(numpy.float32))


def op(op_type, inputs, output, **attributes):
    nodes.append(helper.make_node(op_type, inputs, [output], **attributes))
    return output


def heads(name, perm):
    product = op("MatMul", ["x", weight("w" + name, WIDTH, WIDTH)], name + "_rows")
    split = op("Reshape", [product, "heads"], name + "_heads")
    return op("Transpose", [split], name, perm=perm)


constant("heads", numpy.array([0, 0, HEADS, WIDTH // HEADS], numpy.int64))
constant("join", numpy.array([0, 0, WIDTH], numpy.int64))
op("Gather", [weight("words", 50, WIDTH), "input_ids"], "word")
op("Add", ["word", weight("positions", 1, LENGTH, WIDTH)], "token")
op("LayerNormalization", ["token", weight("gamma", WIDTH), weight("beta", WIDTH)], "x", axis=-1)
# The mask that is added to the scores is 0 for tokens and -10000 elsewhere.
op("Unsqueeze", ["attention_mask", constant("axes", numpy.array([1, 2], numpy.int64))], "mask_keys")
op("Cast", ["mask_keys"], "mask_float", to=TensorProto.FLOAT)
op("Sub", [constant("one", numpy.float32(1)), "mask_float"], "no_token")
op("Mul", ["no_token", constant("low", numpy.float32(-10000))], "mask")
op("MatMul", [heads("q", [0, 2, 1, 3]), heads("k", [0, 2, 3, 1])], "scores")
op("Div", ["scores", constant("root", numpy.float32((WIDTH // HEADS)**0.5))], "scaled")
op("Add", ["scaled", "mask"], "masked")
op("Softmax", ["masked"], "weights", axis=-1)
op("MatMul", ["weights", heads("v", [0, 2, 1, 3])], "weighted")
op("Transpose", ["weighted"], "weighted_rows", perm=[0, 2, 1, 3])
op("Reshape", ["weighted_rows", "join"], "joined")
op("MatMul", ["joined", weight("wo", WIDTH, WIDTH)], "out")
op("Add", ["out", "x"], "hidden")

inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, [ROWS, LENGTH]) for n in ("input_ids", "attention_mask")]
output = helper.make_tensor_value_info("hidden", TensorProto.FLOAT, [ROWS, LENGTH, WIDTH])
save(helper.make_model(helper.make_graph(nodes, "encoder", inputs, [output], constants), ir_version=8,
                       opset_imports=[helper.make_opsetid("", 17)], producer_name="poprt examples"),
     os.path.join(HERE, "encoder.onnx"))
