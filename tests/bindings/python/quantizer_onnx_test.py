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


if __name__ == "__main__":
    unittest.main()
