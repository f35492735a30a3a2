"""Models at several shapes with two varying dimensions, whose results have sizes that depend on data: every size up to the largest shape,
compared with numpy."""

import itertools
import unittest

import numpy as np
import onnx_models as m
from onnx import TensorProto, helper
from onnx_models import node
from poprt.compiler import Compiler, CompilerOptions
from poprt.runtime import Runner, RuntimeConfig

X = {"x": ["N", "S", 4]}
PAIRS = [([1, 2], [3, 5]), ([1, 1], [4, 4]), ([2, 5], [3, 6])]


def value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def reversed_along(axes):
    count = len(axes)
    constants = {"from": np.int64([-1] * count), "to": np.int64([-1 << 40] * count), "axes": np.int64(axes),
                 "steps": np.int64([-1] * count)}
    return m.make([node("Slice", ["x", "from", "to", "axes", "steps"], ["y"])], X, {"y": ["N", "S", 4]}, constants)


def scanned(axis, output_axis, reverse=0):
    """y: running sums of the slices of x along ``axis``, stacked along ``output_axis``."""
    rest = [d for at, d in enumerate(X["x"]) if at != axis]
    body = helper.make_graph([node("Add", ["s", "a"], ["t"]), node("Identity", ["t"], ["o"])], "body",
                             [value("s", TensorProto.FLOAT, rest), value("a", TensorProto.FLOAT, rest)],
                             [value("t", TensorProto.FLOAT, rest), value("o", TensorProto.FLOAT, rest)])
    stacked = rest.copy()
    stacked.insert(output_axis, X["x"][axis])
    nodes = [node("ReduceSum", ["x"], ["sum"], axes=[axis], keepdims=0), node("Sub", ["sum", "sum"], ["zero"]),
             node("Scan", ["zero", "x"], ["end", "y"], body=body, num_scan_inputs=1, scan_input_axes=[axis],
                  scan_output_axes=[output_axis], scan_output_directions=[reverse])]
    return m.make(nodes, X, {"y": stacked})


def looped():
    """y: x, which a loop extends three times by its last place along the second axis."""
    grown = ["N", None, 4]
    body = helper.make_graph([node("Identity", ["c"], ["d"]), node("Slice", ["v", "last", "end", "axis"], ["place"]),
                              node("Concat", ["v", "place"], ["w"], axis=1)], "body",
                             [value("i", TensorProto.INT64, []), value("c", TensorProto.BOOL, []), value("v", TensorProto.FLOAT, grown)],
                             [value("d", TensorProto.BOOL, []), value("w", TensorProto.FLOAT, grown)])
    constants = {"axis": np.int64([1]), "last": np.int64([-1]), "end": np.int64([1 << 40]), "count": np.int64(3), "yes": np.bool_(True)}
    return m.make([node("Loop", ["count", "yes", "x"], ["y"], body=body)], X, {"y": grown}, constants)


def compressed(axis):
    """y: the places of x along ``axis`` whose first element is positive."""
    others = [a for a in range(3) if a != axis]
    nodes = [node("ReduceMax", ["x"], ["most"], axes=others, keepdims=0), node("Greater", ["most", "zero"], ["keep"]),
             node("Compress", ["x", "keep"], ["y"], axis=axis)]
    shape = X["x"].copy()
    shape[axis] = None
    return m.make(nodes, X, {"y": shape}, {"zero": np.float32(0.8)})


def stacked(x, axis, output_axis, reverse=0):
    y = np.moveaxis(np.cumsum(x, axis), axis, output_axis)
    return np.flip(y, output_axis) if reverse else y


def gathered():
    """y: the rows of x at which a is not zero."""
    nodes = [node("NonZero", ["a"], ["at"]), node("Squeeze", ["at"], ["rows"], axes=[0]), node("Gather", ["x", "rows"], ["y"], axis=0)]
    return m.make(nodes, {"a": ["N"], **X}, {"y": [None, "S", 4]})


# The dimension that is not padded, because its padding would reach results.
EXACT = {"Slice along both": "S", "Slice along three": "S", "Compress along 0": "S", "Compress along 1": "N", "NonZero": "S"}

# The model, and the function that computes y.
CASES = {
    "Slice along 0": (reversed_along([0]), lambda x: x[::-1]),
    "Slice along 1": (reversed_along([1]), lambda x: x[:, ::-1]),
    "Slice along both": (reversed_along([0, 1]), lambda x: x[::-1, ::-1]),
    "Slice along three": (reversed_along([0, 1, 2]), lambda x: x[::-1, ::-1, ::-1]),
    **{f"Scan along {a} to {b}, reversed {r}": (scanned(a, b, r), lambda x, a=a, b=b, r=r: stacked(x, a, b, r))
       for a in (0, 1) for b in (0, 1, 2) for r in (0, 1)},
    "Loop": (looped(), lambda x: np.concatenate([x] + [x[:, -1:]] * 3, 1)),
    "Compress along 0": (compressed(0), lambda x: x[x.max((1, 2)) > 0.8]),
    "Compress along 1": (compressed(1), lambda x: x[:, x.max((0, 2)) > 0.8]),
    "NonZero": (gathered(), lambda x, a: x[a != 0]),
}


class RealSizes(unittest.TestCase):
    def test_every_size_up_to_the_largest(self):
        random = np.random.default_rng(2)
        for (name, (model, expected)), shapes in itertools.product(CASES.items(), PAIRS):
            masked = len(model.graph.input) == 2
            options = CompilerOptions(input_shape=[{"x": [n, s, 4], **({"a": [n]} if masked else {})} for n, s in shapes])
            with Runner(Compiler.compile(model.SerializeToString(), None, options), RuntimeConfig(threads=1)) as runner:
                for n, s in itertools.product(range(1, shapes[-1][0] + 1), range(1, shapes[-1][1] + 1)):
                    exact = EXACT.get(name)
                    if not any((n == N if exact == "N" else n <= N) and (s == S if exact == "S" else s <= S) for N, S in shapes):
                        continue
                    x = random.uniform(-1, 1, (n, s, 4)).astype(np.float32)
                    inputs = {"x": x, **({"a": random.integers(0, 2, n).astype(np.float32)} if masked else {})}
                    with self.subTest(name, shapes=shapes, n=n, s=s):
                        np.testing.assert_allclose(runner.run(inputs)["y"], expected(**inputs), atol=1e-6)


if __name__ == "__main__":
    unittest.main()
