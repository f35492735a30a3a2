"""Small models of the onnx package, for the tests that need it."""

import numpy as np
import onnx
import onnx.checker
import onnx.helper
import onnx.numpy_helper
import onnx.shape_inference

FLOAT, INT64, FLOAT16 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.FLOAT16
node = onnx.helper.make_node


def make(nodes, inputs, outputs, constants=(), opset=11, domains=()):
    """``inputs`` and ``outputs``: {name: shape}, of floats, or (shape, element type); ``constants``: {name: array}."""
    def values(named):
        return [onnx.helper.make_tensor_value_info(n, *((s[1], s[0]) if isinstance(s, tuple) else (FLOAT, s)))
                for n, s in named.items()]
    graph = onnx.helper.make_graph(nodes, "graph", values(inputs), values(outputs),
                                   [onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in dict(constants).items()])
    imports = [onnx.helper.make_opsetid(d, v) for d, v in (("", opset), *((d, 1) for d in domains))]
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=7)


def add_model():
    """y = (x + x) + b, b = 3."""
    return make([node("Add", ["x", "x"], ["s"], name="first"), node("Add", ["s", "b"], ["y"], name="second")], {"x": [2, 3]},
                {"y": [2, 3]}, {"b": np.full(3, 3, np.float32)})


def op_types(model):
    return [n.op_type for n in model.graph.node]
