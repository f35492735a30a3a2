"""Writes models with weights of 2 to 16 bits for compare_peers_engines: one product, or several one after the other whose weights are
larger than any cache.

    narrow_models.py DIR"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.default_rng(0)


def save(path, nodes, constants, rows, depth, columns):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, depth])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, columns])], constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


def scales(shape):
    return ((RANDOM.random(shape) + 0.5) * 0.01).astype(np.float32)


def nbits(path, rows, depth, columns, bits, level, zeros=False, layers=1, block=32):
    """Writes `layers` MatMulNBits, one after the other."""
    nodes, constants, value = [], [], "x"
    blocks = depth // block
    for i in range(layers):
        given = {f"w{i}": RANDOM.integers(0, 256, (columns, blocks, block * bits // 8), dtype=np.uint8),
                 f"s{i}": scales(columns * blocks)}
        if zeros:
            given[f"z{i}"] = RANDOM.integers(0, 256, columns * ((blocks * bits + 7) // 8), dtype=np.uint8)
        constants += [numpy_helper.from_array(v, k) for k, v in given.items()]
        result = "y" if i == layers - 1 else f"h{i}"
        nodes.append(helper.make_node("MatMulNBits", [value, *given], [result], domain="com.microsoft", N=columns,
                                      K=depth, bits=bits, block_size=block, accuracy_level=level))
        value = result
    save(path, nodes, constants, rows, depth, columns)


def dequantized(path, rows, depth, columns, bits, block):
    """DequantizeLinear of int4 or int8 before MatMul; with block 0, one scale for each column."""
    low, high = -(1 << (bits - 1)), 1 << (bits - 1)
    numbers = RANDOM.integers(low, high, (depth, columns)).astype(np.int8)
    if bits == 4:
        weights = helper.make_tensor("w", TensorProto.INT4, [depth, columns], numbers.flatten().tolist())
    else:
        weights = numpy_helper.from_array(numbers, "w")
    shape = (depth // block, columns) if block else (columns,)
    how = {"axis": 0, "block_size": block} if block else {"axis": 1}
    nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["d"], **how),
             helper.make_node("MatMul", ["x", "d"], ["y"])]
    save(path, nodes, [weights, numpy_helper.from_array(scales(shape), "s")], rows, depth, columns)


def plain(path, rows, depth, columns, layers=1):
    """MatMul of f32 weights, for --precision."""
    nodes, constants, value = [], [], "x"
    for i in range(layers):
        weights = (RANDOM.standard_normal((depth, columns)) / np.sqrt(depth)).astype(np.float32)
        constants.append(numpy_helper.from_array(weights, f"w{i}"))
        result = "y" if i == layers - 1 else f"h{i}"
        nodes.append(helper.make_node("MatMul", [value, f"w{i}"], [result]))
        value = result
    save(path, nodes, constants, rows, depth, columns)


class DecodeStep:
    """One token of GPT-2 small with 128 past tokens; all products with weights are MatMulNBits of 4 bits in blocks of 32."""

    WIDTH, HEADS, PAST, VOCABULARY = 768, 12, 128, 50257

    def __init__(self, level):
        self.level = level
        self.nodes, self.constants = [], []

    def name(self):
        return f"v{len(self.nodes) + len(self.constants)}"

    def constant(self, values):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), self.name() + "c"))
        return self.constants[-1].name

    def numbers(self, shape, deviation=0.02, mean=0.0):
        return self.constant((RANDOM.standard_normal(shape, np.float32) * np.float32(deviation) + np.float32(mean)))

    def node(self, kind, *inputs, results=1, **attributes):
        outputs = [f"{self.name()}_{i}" for i in range(results)]
        self.nodes.append(helper.make_node(kind, inputs, outputs, **attributes))
        return outputs if results > 1 else outputs[0]

    def product(self, x, depth, columns, bias=True):
        weights = self.constant(RANDOM.integers(0, 256, (columns, depth // 32, 16), dtype=np.uint8))
        block_scales = self.constant(scales(columns * depth // 32) / np.float32(np.sqrt(depth) / 20))
        y = self.node("MatMulNBits", x, weights, block_scales, domain="com.microsoft", N=columns, K=depth, bits=4,
                      block_size=32, accuracy_level=self.level)
        return self.node("Add", y, self.numbers(columns)) if bias else y

    def normalized(self, x):
        return self.node("LayerNormalization", x, self.numbers(self.WIDTH, mean=1.0), self.numbers(self.WIDTH))

    def heads(self, x):
        shape = self.constant(np.array([1, 1, self.HEADS, -1]))
        return self.node("Transpose", self.node("Reshape", x, shape), perm=[0, 2, 1, 3])

    def attention(self, layer, x):
        split = self.node("Split", self.product(self.normalized(x), self.WIDTH, 3 * self.WIDTH), results=3, axis=2,
                          num_outputs=3)
        query, key, value = (self.heads(part) for part in split)
        keys, values = f"present_key_{layer}", f"present_value_{layer}"
        self.nodes.append(helper.make_node("Concat", [f"past_key_{layer}", key], [keys], axis=2))
        self.nodes.append(helper.make_node("Concat", [f"past_value_{layer}", value], [values], axis=2))
        scores = self.node("MatMul", query, self.node("Transpose", keys, perm=[0, 1, 3, 2]))
        scores = self.node("Div", scores, self.constant(np.float32(np.sqrt(self.WIDTH / self.HEADS))))
        y = self.node("MatMul", self.node("Softmax", scores, axis=-1), values)
        y = self.node("Reshape", self.node("Transpose", y, perm=[0, 2, 1, 3]), self.constant(np.array([1, 1, -1])))
        return self.node("Add", x, self.product(y, self.WIDTH, self.WIDTH))

    def feed_forward(self, x):
        y = self.product(self.normalized(x), self.WIDTH, 4 * self.WIDTH)
        y = self.node("Gelu", y, approximate="tanh")
        return self.node("Add", x, self.product(y, 4 * self.WIDTH, self.WIDTH))

    def save(self, path, layers=12):
        x = self.node("Gather", self.numbers((self.VOCABULARY, self.WIDTH), 0.05), "input_ids", axis=0)
        x = self.node("Add", x, self.numbers((1, 1, self.WIDTH)))
        for layer in range(layers):
            x = self.feed_forward(self.attention(layer, x))
        y = self.product(self.normalized(x), self.WIDTH, self.VOCABULARY, bias=False)
        self.nodes.append(helper.make_node("Identity", [y], ["logits"]))

        def cache(name, tokens):
            shape = [1, self.HEADS, tokens, self.WIDTH // self.HEADS]
            return [helper.make_tensor_value_info(f"{name}_{kind}_{layer}", TensorProto.FLOAT, shape)
                    for layer in range(layers) for kind in ("key", "value")]

        inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT32, [1, 1]), *cache("past", self.PAST)]
        outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1, self.VOCABULARY]),
                   *cache("present", self.PAST + 1)]
        graph = helper.make_graph(self.nodes, "decode", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    for level in 0, 4:
        nbits(folder / f"int4_level{level}_1.onnx", 1, 4096, 4096, 4, level)
        nbits(folder / f"int4_level{level}_1_cold.onnx", 1, 4096, 4096, 4, level, layers=12)
        for rows in 16, 128:
            nbits(folder / f"int4_level{level}_{rows}.onnx", rows, 768, 3072, 4, level)
    nbits(folder / "int4_zeros_level4_1.onnx", 1, 4096, 4096, 4, 4, zeros=True)
    nbits(folder / "int8_level4_1.onnx", 1, 4096, 4096, 8, 4)
    nbits(folder / "int2_level4_1.onnx", 1, 4096, 4096, 2, 4)
    for level in 0, 4:
        DecodeStep(level).save(folder / f"decode4_level{level}.onnx")
    dequantized(folder / "dequantized4_1.onnx", 1, 4096, 4096, 4, 32)
    dequantized(folder / "dequantized8_1.onnx", 1, 4096, 4096, 8, 0)
    plain(folder / "plain_1_cold.onnx", 1, 4096, 4096, layers=4)
    for rows in 16, 128, 512:
        plain(folder / f"plain_{rows}.onnx", rows, 768, 3072)


if __name__ == "__main__":
    main()
