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
    """MatMulNBits."""
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
    dequantized(folder / "dequantized4_1.onnx", 1, 4096, 4096, 4, 32)
    dequantized(folder / "dequantized8_1.onnx", 1, 4096, 4096, 8, 0)
    plain(folder / "plain_1_cold.onnx", 1, 4096, 4096, layers=4)
    for rows in 16, 128, 512:
        plain(folder / f"plain_{rows}.onnx", rows, 768, 3072)


if __name__ == "__main__":
    main()
