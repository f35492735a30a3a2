"""Finds the operators of a converted model with wrong results. The result of each one is computed by the part of a
model that ends with it: by ONNX Runtime with the source and by poprt with the converted model.

    debug_numeric_issue.py --src_onnx model.onnx --dst_onnx model.optimized.onnx --input_func x=rand --op_type MatMul
"""

import argparse
import sys

import numpy as np
import onnx
from extract_onnx import extract
from poprt.backend import get_session
from poprt.utils import onnx_tensor_dtype_to_np_dtype

FUNCTIONS = {"ones": lambda shape, rng: np.ones(shape), "zeros": lambda shape, rng: np.zeros(shape),
             "rand": lambda shape, rng: rng.random(shape)}


def inputs_of(model, functions, converted):
    """Returns an array for each input of a model, made by the function in the words NAME=FUNCTION, or by `rand`. Variable
    dimensions have the size of the converted model."""
    rng = np.random.default_rng(0)
    sizes = {value.name: [d.dim_value for d in value.type.tensor_type.shape.dim] for value in converted.graph.input}
    made, constants = {}, {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name not in constants:
            tensor = value.type.tensor_type
            dtype = onnx_tensor_dtype_to_np_dtype(tensor.elem_type)
            dims = [d.dim_value for d in tensor.shape.dim]
            fixed = sizes.get(value.name, dims)
            shape = [d or f or 1 for d, f in zip(dims, fixed if len(fixed) == len(dims) else dims)]
            made[value.name] = FUNCTIONS[functions.get(value.name, "rand")](shape, rng).astype(dtype)
    return made


def tensors(model, op_type):
    """Returns the first output of each operator of that type, in order."""
    return [node.output[0] for node in model.graph.node if not op_type or node.op_type == op_type]


def run(model, names, feeds, backend):
    """Computes tensors with a part of the model that ends with them."""
    part = extract(model, [value.name for value in model.graph.input if value.name in feeds], names)
    session = get_session(part, backend=backend).load()
    inputs, _ = session.get_io_info()
    return session.run(names, {name: feeds[name].astype(inputs[name][1]) for name in inputs})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--src_onnx", required=True)
    parser.add_argument("--dst_onnx", required=True)
    parser.add_argument("--input_func", nargs="+", default=[], metavar="NAME=ones|zeros|rand")
    parser.add_argument("--op_type", default="MatMul", help="operators whose results are compared; '' is all")
    parser.add_argument("--every_n", type=int, default=1, help="only each n-th of them")
    words = parser.parse_args()
    functions = dict(word.rpartition("=")[::2] for word in words.input_func)
    wrong = [f"{name}={how}" for name, how in functions.items() if how not in FUNCTIONS]
    if wrong or words.every_n < 1:
        parser.error(f"--input_func: expected NAME=ones, zeros or rand, found '{wrong[0]}'" if wrong else "--every_n: expected 1 or more")
    source, converted = onnx.load(words.src_onnx), onnx.load(words.dst_onnx)
    both = [name for name in tensors(source, words.op_type) if name in set(tensors(converted, words.op_type))][::words.every_n]
    if not both:
        sys.exit(f"debug_numeric_issue.py: no result of {words.op_type or 'an operator'} is in both models")
    feeds = inputs_of(source, functions, converted)
    for name in both:
        first, second = (run(model, [name], feeds, backend)[0].astype(np.float64)
                         for model, backend in ((source, "onnxruntime"), (converted, "poprt")))
        apart = np.abs(first - second)
        print(f"{name}: max {apart.max():.6g} min {apart.min():.6g} mean {apart.mean():.6g}")


if __name__ == "__main__":
    main()
