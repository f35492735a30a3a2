"""Calibration of 8-bit floats: accuracy on held-out digits, the documented calls, and invalid files of data."""

import functools
import io
import os
import pickle
import tempfile
import unittest

import numpy as np

import poprt
from poprt.errors import Error

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
DIGITS = os.path.join(ROOT, "examples", "digits")


class Model:
    """The part of onnx.ModelProto that quantizer and converter use."""

    class Entry:
        def __init__(self, key, value):
            self.key, self.value = key, value

    class Entries(list):
        def add(self, key, value):
            self.append(Model.Entry(key, value))

    def __init__(self):
        self.data = b""
        self.metadata_props = Model.Entries()

    def SerializeToString(self):
        return self.data

    def ParseFromString(self, data):
        self.data = data

    @classmethod
    def load(cls, path):
        model = cls()
        with open(path, "rb") as file:
            model.data = file.read()
        return model


def images():
    with open(os.path.join(DIGITS, "heldout-images.idx3-ubyte"), "rb") as file:
        pixels = np.frombuffer(file.read()[16:], np.uint8)
    with open(os.path.join(DIGITS, "heldout-labels.idx1-ubyte"), "rb") as file:
        labels = np.frombuffer(file.read()[8:], np.uint8)
    return (pixels.reshape(-1, 1, 8, 8) / 16).astype(np.float32), labels


IMAGES, LABELS = images()
SHAPE = "image=360,1,8,8"


@functools.cache
def scores(source, **options):
    """The scores of all images; computed once for the same options, because the tests compare a few results with many others."""
    executable = poprt.Compiler.compile(source, None, poprt.CompilerOptions(options=options))
    with poprt.Runner(executable) as runner:
        result = runner.run({"image": IMAGES.astype(runner.get_execute_inputs()[0].numpy_data_type())})
    return np.asarray(next(iter(result.values())), np.float64)


def accuracy(result):
    return (result.argmax(axis=1) == LABELS).mean()


class Convolutions(unittest.TestCase):
    path, layers, product = os.path.join(DIGITS, "digits.onnx"), 5, b"FP8Conv"

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.data = os.path.join(cls.folder.name, "data.pickle")
        with open(cls.data, "wb") as file:
            pickle.dump({"image": IMAGES[:40]}, file)
        cls.full = scores(cls.path, input_shape=SHAPE)

    def loss(self, result):
        return ((result - self.full) ** 2).sum() / (self.full ** 2).sum()

    def calibrated(self, precision, loss, **more):
        return scores(self.path, input_shape=SHAPE, precision=precision, ipu_version="ipu21", calibration_with_data="True",
                      data_preprocess=self.data, calibration_loss_type=loss, **more)

    def test_accuracy_is_that_of_floats_within_half_a_percent(self):
        wanted = accuracy(self.full)
        self.assertGreater(wanted, 0.95)
        found = {"fp16": scores(self.path, input_shape=SHAPE, precision="fp16"),
                 "int8": scores(self.path, input_shape=SHAPE, passes="float_to_int8"),
                 "mixed": scores(self.path, input_shape=SHAPE, passes="float_to_mixed"),
                 "fp8": self.calibrated("fp8", "kld"), "fp8_weight": self.calibrated("fp8_weight", "kld"),
                 "gptq": self.calibrated("fp8_weight", "gptq")}
        for name, result in found.items():
            self.assertLessEqual(abs(accuracy(result) - wanted), 0.005, name)

    def test_calibrated_formats_lose_less_than_given_ones(self):
        """They lose less than formats that are too coarse or have an unsuitable range, and at most 2 % more than one that fits."""
        for precision in ("fp8", "fp8_weight"):
            given = {formats: self.loss(scores(self.path, input_shape=SHAPE, precision=precision, ipu_version="ipu21", fp8_params=formats))
                     for formats in ("F143,F143,-1,-1", "F152,F152,-1,-1", "F143,F143,-10,-13", "F143,F143,8,5")}
            fits = given.pop("F143,F143,-1,-1")
            for loss in ("mse", "mae", "snr", "kld", "cos_dist"):
                calibrated = self.loss(self.calibrated(precision, loss))
                self.assertLess(calibrated, 1.02 * fits, (precision, loss))
                for formats, lost in given.items():
                    self.assertLess(calibrated, 0.8 * lost, (precision, loss, formats))
        self.assertLess(self.loss(self.calibrated("fp8_weight", "gptq")), 0.8 * self.loss(self.calibrated("fp8_weight", "mse")))

    def test_calibrated_beats_both_documented_defaults(self):
        """Data also selects the layer that stays fp16, and the rounding of weights. The scale of a format with four significant
        bits only moves its range, and hardly affects the loss (the test above)."""
        for precision in ("fp8", "fp8_weight"):
            calibrated = self.loss(self.calibrated(precision, "mse", num_of_layers_keep_fp16="1"))
            for formats in ("F143,F143,-1,-1", "F143,F143,0,0"):
                for keep in ("0", "1"):
                    given = self.loss(scores(self.path, input_shape=SHAPE, precision=precision, ipu_version="ipu21", fp8_params=formats,
                                             num_of_layers_keep_fp16=keep))
                    self.assertLess(calibrated, 0.95 * given, (precision, formats, keep))
                    if precision == "fp8_weight":
                        self.assertLess(self.loss(self.calibrated(precision, "gptq")), 0.6 * given, (formats, keep))

    def test_layers_that_stay_fp16_lose_nothing(self):
        every = self.loss(self.calibrated("fp8", "mse", num_of_layers_keep_fp16=str(self.layers)))
        self.assertLess(every, 1e-6)
        self.assertLess(every, self.loss(self.calibrated("fp8", "mse", num_of_layers_keep_fp16="2")))

    def test_the_documented_calls(self):
        original = Model.load(self.path)
        converted = poprt.Converter(precision="fp8", quantize=True, input_shape={"image": [360, 1, 8, 8]},
                                    fp8_skip_op_names="nothing").convert(original)
        self.assertEqual(len(converted.metadata_props), 1)
        out = os.path.join(self.folder.name, "quantized")
        made = poprt.quantizer.quantize(converted, self.path, out, {"image": IMAGES[:40]}, precision="fp8", quantize_loss_type="mse")
        self.assertEqual(len(converted.metadata_props), 1)
        self.assertIn(self.product, made.data)
        np.testing.assert_array_equal(scores(made.data), self.calibrated("fp8", "mse"))
        with open(os.path.join(out, "quantize.log"), encoding="utf-8") as file:
            log = file.read()
        self.assertTrue(log.startswith(f"precision fp8, loss mse, {self.layers} layers\n"), log[:100])
        self.assertEqual(log.count("  weight: chosen F1"), self.layers)
        again = poprt.quantizer.FP8Quantizer(out, "kld", self.data, "fp8_weight").quantize(converted)
        self.assertIn(self.product, again.data)
        self.assertNotIn(b"CastToFP8", again.data)
        for wrong in ({"precision": "fp16"}, {"data_preprocess": None}):
            with self.assertRaises(ValueError):
                poprt.quantizer.quantize(converted, None, out, **{"data_preprocess": self.data, **wrong})
        with self.assertRaises(FileNotFoundError):
            poprt.quantizer.quantize(converted, "nowhere.onnx", out, self.data)




class Transformer(Convolutions):
    path = os.path.join(ROOT, "tests", "data", "precision", "transformer.onnx")  # made by train.py of the same folder
    layers, product = 14, b"FP8MatMul"


class Hostile:
    def __reduce__(self):
        return os.system, ("touch poprt_was_here",)


class Files(unittest.TestCase):
    def convert(self, data):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "data")
            with open(path, "wb") as file:
                file.write(data)
            options = {"input_shape": SHAPE, "precision": "fp8_weight", "calibration_with_data": "True", "data_preprocess": path}
            poprt.Compiler.compile(os.path.join(DIGITS, "digits.onnx"), None, poprt.CompilerOptions(options=options))

    def test_every_way_in_which_numpy_writes_arrays(self):
        few = IMAGES[:20]
        for protocol in range(6):
            self.convert(pickle.dumps({"image": few}, protocol))
        self.convert(pickle.dumps({"image": np.asfortranarray(few)}))
        self.convert(pickle.dumps({"image": few.astype(np.float64)}))
        self.convert(pickle.dumps({"image": few.astype(np.float16)}))
        archive = io.BytesIO()
        np.savez(archive, image=few)
        self.convert(archive.getvalue())

    def test_refuses_invalid_data_with_one_line(self):
        few = IMAGES[:4]
        packed = io.BytesIO()
        np.savez_compressed(packed, image=few)
        for data, fact in ((b"", "it is empty"), (b"this is a text\n", "no pickle of arrays"), (pickle.dumps([few]), "expected a dict"),
                           (pickle.dumps({"image": [1.0]}), "'image' is no NumPy array"),
                           (pickle.dumps({"image": few})[:-50], "ends early"),
                           (pickle.dumps({"image": Hostile()}), ".system'"),
                           (pickle.dumps({"picture": few}), "no array for input 'image'; the file has 'picture'"),
                           (pickle.dumps({"image": few, "more": few}), "no input 'more'"),
                           (pickle.dumps({"image": few[:, 0]}), "[4,8,8], expected [SAMPLES,1,8,8]"),
                           (pickle.dumps({"image": few.astype(">f4")}), "big-endian"),
                           (pickle.dumps({"image": np.array(["a"])}), "which is no number"),
                           (packed.getvalue(), "numpy.savez"), (b"PK\x03\x04", "no directory")):
            with self.assertRaises(Error) as raised:
                self.convert(data)
            self.assertIn(fact, str(raised.exception))
            self.assertNotIn("\n", str(raised.exception))
        self.assertFalse(os.path.exists("poprt_was_here"))


if __name__ == "__main__":
    unittest.main()
