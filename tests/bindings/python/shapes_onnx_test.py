"""Models of any shape whose outputs have no declared type, or one that is no tensor: each runs at several sizes without options."""

import unittest

import numpy as np
import onnx_models as m
from onnx import TensorProto, ValueInfoProto, helper
from onnx_models import node
from poprt.errors import UnimplementedError
from poprt.runtime import Runner

WEIGHTS = np.random.default_rng(6).standard_normal((3, 4)).astype(np.float32)
X = {"x": ["N", 4]}
ML = ("ai.onnx.ml",)


def undeclared(name, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, None)


def with_outputs(nodes, outputs, inputs=None, **options):
    model = m.make(nodes, inputs or X, {}, **options)
    model.graph.output.extend(outputs)
    return model


def maps(name, kind):
    value = ValueInfoProto(name=name)
    element = value.type.sequence_type.elem_type.map_type
    element.key_type = kind
    element.value_type.tensor_type.elem_type = TensorProto.FLOAT
    return value


def classifier(labels, zip_map, declared=True):
    """A classifier as skl2onnx writes it: the class, and with ``zip_map`` a map of the classes to their probabilities."""
    text = isinstance(labels[0], str)
    kind = TensorProto.STRING if text else TensorProto.INT64
    names = {"classlabels_strings" if text else "classlabels_ints": labels}
    keys = {"classlabels_strings" if text else "classlabels_int64s": labels}
    nodes = [node("LinearClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml", coefficients=WEIGHTS.ravel(),
                  intercepts=np.zeros(3, np.float32), **names)]
    label = helper.make_tensor_value_info("label", kind, ["N"] if declared else None)
    if not zip_map:
        return with_outputs(nodes, [label, undeclared("scores")], domains=ML)
    nodes.append(node("ZipMap", ["scores"], ["maps"], domain="ai.onnx.ml", **keys))
    return with_outputs(nodes, [label, maps("maps", kind)], domains=ML)


def branches():
    """y: the first two rows of x if their sum is positive, otherwise x."""
    y = [undeclared("b")]
    first = helper.make_graph([node("Slice", ["x", "from", "to"], ["b"])], "then", [], y)
    whole = helper.make_graph([node("Identity", ["x"], ["b"])], "else", [], y)
    nodes = [node("ReduceSum", ["x"], ["sum"], keepdims=0), node("Greater", ["sum", "zero"], ["positive"]),
             node("If", ["positive"], ["y"], then_branch=first, else_branch=whole)]
    return m.make(nodes, X, {"y": [None, 4]}, {"zero": np.float32(0), "from": np.int64([0]), "to": np.int64([2])})


class Undeclared(unittest.TestCase):
    def expect(self, model, expected, sizes=(1, 4, 3), dims=(4,)):
        random = np.random.default_rng(1)
        with Runner(model.SerializeToString()) as runner:
            for size in (*sizes, sizes[0]):
                x = random.standard_normal((size, *dims)).astype(np.float32)
                given, wanted = runner.run({"x": x}), expected(x)
                self.assertEqual(set(given), set(wanted))
                for name, value in wanted.items():
                    np.testing.assert_allclose(given[name], value, rtol=1e-4, atol=1e-5, err_msg=f"{name} of {size}")

    def test_classifiers(self):
        for labels in ([0, 1, 2], ["a", "b", "c"]):
            for declared in (True, False):
                for zip_map in (True, False):
                    with self.subTest(labels=labels, declared=declared, zip_map=zip_map):
                        self.expect(classifier(labels, zip_map, declared), lambda x, zip_map=zip_map: {
                            "label": (x @ WEIGHTS.T).argmax(1), "maps" if zip_map else "scores": x @ WEIGHTS.T})

    def test_outputs_without_a_shape(self):
        gelu = with_outputs([node("FastGelu", ["x"], ["y"], domain="com.microsoft")], [undeclared("y")], domains=("com.microsoft",))
        self.expect(gelu, lambda x: {"y": x / 2 * (1 + np.tanh(0.79788456 * x + 0.035677408 * x**3))})
        optional = with_outputs([node("Optional", ["x"], ["o"]), node("OptionalGetElement", ["o"], ["g"]), node("Relu", ["g"], ["y"])],
                                [undeclared("y")], opset=18)
        self.expect(optional, lambda x: {"y": np.maximum(x, 0)})
        transform = with_outputs([node("DFT", ["x"], ["y"], axis=1)], [undeclared("y")], {"x": ["N", 4, 1]}, opset=17)
        self.expect(transform, lambda x: {"y": np.stack([np.fft.fft(x[..., 0]).real, np.fft.fft(x[..., 0]).imag], -1)}, dims=(4, 1))

    def test_sequences(self):
        kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
        both = with_outputs([node("Neg", ["x"], ["n"]), node("SequenceConstruct", ["x", "n"], ["s"])], [helper.make_value_info("s", kind)])
        self.expect(both, lambda x: {"s[0]": x, "s[1]": -x})
        rows = with_outputs([node("SplitToSequence", ["x"], ["s"], axis=0)], [helper.make_value_info("s", kind)])
        with self.assertRaises(UnimplementedError) as caught:
            Runner(rows.SerializeToString())
        for part in ("output 's'", "the number of outputs depends on the size of an input", "input_shape"):
            self.assertIn(part, str(caught.exception))

    def test_branches_of_several_lengths(self):
        self.expect(branches(), lambda x: {"y": x[:2] if x.sum() > 0 else x}, (1, 2, 3, 5, 9, 4, 7, 8))


if __name__ == "__main__":
    unittest.main()
