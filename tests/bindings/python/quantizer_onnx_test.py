"""Models for which calibration matters: the two trained models for pixels of 0 to 255, with the division in their first weights.

A format with four significant bits rounds all numbers in its range equally well at any scale, so on a model whose numbers are near 1,
calibrated formats are better than the defaults, whose range is 2^-11 to 120 for scale -1, only by chance (quantizer_test.py). Here the
pixels are above that range, and the first weights are at its lower end. Users export models in both forms, which give the same results."""

import os
import pickle
import tempfile
import unittest

import numpy as np
import onnx
import onnx.numpy_helper
import poprt
from quantizer_test import DIGITS, IMAGES, ROOT, SHAPE, accuracy

PIXELS = IMAGES * 255
DEFAULTS = ("F143,F143,-1,-1", "F143,F143,0,0")  # defaults of the command and of Converter
LOSSES = ("mse", "mae", "snr", "kld", "cos_dist")


def for_bytes(path):
    """The trained model for pixels of 0 to 255."""
    model = onnx.load(path)
    first = next(n for n in model.graph.node if n.op_type in ("Conv", "MatMul"))
    weight = next(t for t in model.graph.initializer if t.name == first.input[1])
    weight.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(weight) / np.float32(255), weight.name))
    return model.SerializeToString()


class Calibration(unittest.TestCase):
    def scores(self, model, **options):
        executable = poprt.Compiler.compile(model, None, poprt.CompilerOptions(options={"input_shape": SHAPE, **options}))
        with poprt.Runner(executable) as runner:
            result = runner.run({"image": PIXELS.astype(runner.get_execute_inputs()[0].numpy_data_type())})
        return np.asarray(next(iter(result.values())), np.float64)

    def test_calibrated_beats_uncalibrated(self):
        for path in (os.path.join(DIGITS, "digits.onnx"), os.path.join(ROOT, "tests", "data", "precision", "transformer.onnx")):
            model = for_bytes(path)
            full = self.scores(model)
            wanted = accuracy(full)
            self.assertGreater(wanted, 0.95)

            def lost(result, full=full):
                return ((result - full) ** 2).sum() / (full ** 2).sum()

            with tempfile.TemporaryDirectory() as folder:
                data = os.path.join(folder, "data.pickle")
                with open(data, "wb") as file:
                    pickle.dump({"image": PIXELS[:40]}, file)
                for precision in ("fp8", "fp8_weight"):
                    eight = {"precision": precision, "ipu_version": "ipu21"}
                    given = {formats: self.scores(model, fp8_params=formats, **eight) for formats in DEFAULTS}
                    for loss in LOSSES:
                        found = self.scores(model, calibration_with_data="True", data_preprocess=data, calibration_loss_type=loss, **eight)
                        with self.subTest(model=os.path.basename(path), precision=precision, loss=loss):
                            self.assertLessEqual(abs(accuracy(found) - wanted), 0.005)
                            for formats, result in given.items():
                                self.assertLess(lost(found), 0.6 * lost(result), formats)
                                self.assertGreaterEqual(accuracy(found), accuracy(result), formats)
                    if precision == "fp8":  # pixels of more than 120 become 120
                        self.assertLess(accuracy(given[DEFAULTS[0]]), wanted - 0.2)


class AnyShape(unittest.TestCase):
    """Models whose shapes are compiled when their first request arrives. The data may have a shape that no request has."""

    def test_all_shapes_have_the_formats_of_one_calibration(self):
        rng = np.random.default_rng(3)
        make = onnx.helper
        nodes = [make.make_node("Conv", ["x", "k"], ["c"], pads=[1] * 4), make.make_node("Relu", ["c"], ["r"]),
                 make.make_node("GlobalAveragePool", ["r"], ["g"]), make.make_node("Flatten", ["g"], ["f"]),
                 make.make_node("MatMul", ["f", "w"], ["y"])]
        weights = {"k": rng.standard_normal((16, 3, 3, 3)), "w": rng.standard_normal((16, 10))}
        graph = make.make_graph(nodes, "g", [make.make_tensor_value_info("x", 1, ["N", 3, "H", "W"])],
                                [make.make_tensor_value_info("y", 1, ["N", 10])],
                                [onnx.numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items()])
        model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8).SerializeToString()
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, "data.npz")
            np.savez(data, x=rng.standard_normal((12, 3, 8, 8)).astype(np.float32))
            images = {shape: rng.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 5, 9), (3, 3, 8, 8), (1, 3, 6, 6))}
            with poprt.Runner(model) as runner:
                exact = {shape: runner.run({"x": x})["y"] for shape, x in images.items()}
            for precision in ("int8", "fp8", "fp8_weight"):
                options = {"precision": precision, "ipu_version": "ipu21", "calibration_with_data": "True", "data_preprocess": data}
                with poprt.Runner(model, compiler_options=poprt.CompilerOptions(options=options)) as runner:
                    kind = runner.get_execute_inputs()[0].numpy_data_type()
                    for shape, x in images.items():
                        with self.subTest(precision, shape=shape):
                            found = runner.run({"x": x.astype(kind)})["y"].astype(np.float64)
                            lost = ((found - exact[shape]) ** 2).sum() / (exact[shape] ** 2).sum()
                            self.assertLess(lost, 0.01)
                            first = runner.run({"x": x[:1].astype(kind)})["y"].astype(np.float64)
                            np.testing.assert_allclose(first, found[:1], rtol=0.01, atol=0.01)


if __name__ == "__main__":
    unittest.main()
