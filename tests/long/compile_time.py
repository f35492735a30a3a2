"""Measures how compile time grows with the number of nodes.

Makes chains of several kinds, compiles each with poprt, and prints the processor time and the
exponent between the first and each later size: 1 is linear growth. Above 16 000 nodes a graph is
larger than the caches, so the exponent is above 1 although the work is linear
(CompilerWork.* in tests/core/compiler/compiler_test.cpp counts the work).
"""

import argparse
import math
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Model:
    def __init__(self):
        self.nodes, self.weights = [], []

    def node(self, kind, inputs):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name]))
        return name

    def weight(self, shape):
        name = f"w{len(self.weights)}"
        values = np.random.default_rng(len(self.weights)).random(shape, np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def save(self, path, last):
        info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 4]) for n in ("x", last)]
        graph = helper.make_graph(self.nodes, "chain", info[:1], info[1:], self.weights)
        opset = [helper.make_opsetid("", 17)]
        onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)


def unary(model, count):
    last = "x"
    for i in range(count):
        last = model.node(["Relu", "Sigmoid", "Tanh", "Softplus"][i % 4], [last])
    return last


def products(model, count):
    last = "x"
    for _ in range(count // 2):
        last = model.node("Softmax", [model.node("MatMul", [last, model.weight((4, 4))])])
    return last


def residuals(model, count):
    last = "x"
    for _ in range(count // 4):
        product = model.node("MatMul", [last, model.weight((4, 4))])
        inner = model.node("Relu", [model.node("Add", [product, model.weight((4,))])])
        last = model.node("Add", [inner, last])
    return last


def readers(model, count):
    """Half of the nodes read the input."""
    last = "x"
    for _ in range(count // 2):
        last = model.node("Add", [model.node("Relu", ["x"]), last])
    return last


KINDS = (unary, products, residuals, readers)


def seconds(poprt, path, folder, repeat):
    times = []
    for _ in range(repeat):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [poprt, "--input_model", path, "--export_popef", "--overwrite"]
        subprocess.run(command + ["--output_dir", folder], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("poprt")
    parser.add_argument("--sizes", default="4000,16000,50000")
    parser.add_argument("--repeat", type=int, default=3, help="compilations; the fastest counts")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    if len(sizes) < 2 or min(sizes) < 4:
        sys.exit("--sizes needs at least two numbers of at least 4")
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            taken = []
            for size in sizes:
                model = Model()
                path = os.fspath(pathlib.Path(folder, f"{kind.__name__}.onnx"))
                model.save(path, kind(model, size))
                taken.append(seconds(options.poprt, path, folder, options.repeat))
                growth = ""
                if len(taken) > 1:
                    exponent = math.log(taken[-1] / taken[0]) / math.log(size / sizes[0])
                    growth = f"   n^{exponent:.2f} from {sizes[0]}"
                print(f"{kind.__name__:10} {size:7} nodes {taken[-1]:8.2f} s{growth}", flush=True)


if __name__ == "__main__":
    main()
