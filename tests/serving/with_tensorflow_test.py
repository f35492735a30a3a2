"""Operator PoprtRun and ``poprt.serving.export_saved_model`` in TensorFlow. Skipped without TensorFlow (engine.py):
pip install tensorflow-cpu.

Checked with tensorflow-cpu 2.21.0."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

import engine

engine.enter("tensorflow", "tensorflow", "tensorflow-cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy  # noqa: E402
import tensorflow  # noqa: E402

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import onnx_writer as onnx  # noqa: E402

import poprt.serving  # noqa: E402

OPERATOR = os.path.join(engine.BUILD, "lib", "libtensorflow_poprt.so")


class WithTensorFlow(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.images, cls.labels, cls.accuracy = engine.digits()
        cls.fixed = engine.compiled(cls)
        cls.shapes = engine.compiled(cls, "image=1,1,8,8/4,1,8,8/20,1,8,8")
        cls.library = tensorflow.load_op_library(OPERATOR)
        cls.expected = poprt.serving.Predictor(cls.fixed)({"image": cls.images})["scores"]

    def saved(self, popef, **options):
        """Returns the signature of a SavedModel that was moved after the export, as a server copies it."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        poprt.serving.export_saved_model(popef, os.path.join(folder, "exported"), operator=OPERATOR, **options)
        os.rename(os.path.join(folder, "exported"), os.path.join(folder, "1"))
        loaded = tensorflow.saved_model.load(os.path.join(folder, "1"))
        self.addCleanup(lambda: loaded)  # a signature does not keep its module alive
        return loaded.signatures["serving_default"]

    def run_op(self, popef, *inputs, types=(tensorflow.float32,), **options):
        return self.library.poprt_run(filename=popef, inputs=inputs, Tout=types, **options)

    def test_a_saved_model_has_the_accuracy_of_the_training(self):
        serve = self.saved(self.fixed)
        self.assertEqual(serve.structured_input_signature[1]["image"].shape.as_list(), [None, 1, 8, 8])
        self.assertEqual(serve.structured_outputs["scores"].shape.as_list(), [None, 10])
        for rows in (1, 5, 8, len(self.images)):
            scores = serve(image=tensorflow.constant(self.images[:rows]))["scores"].numpy()
            numpy.testing.assert_allclose(scores, self.expected[:rows], rtol=1e-5, atol=1e-5)
        self.assertAlmostEqual((scores.argmax(1) == self.labels).mean(), self.accuracy, delta=0.001)

    def test_a_model_at_several_shapes(self):
        serve = self.saved(self.shapes)
        for rows in (1, 3, 20):
            scores = serve(image=tensorflow.constant(self.images[:rows]))["scores"].numpy()
            numpy.testing.assert_allclose(scores, self.expected[:rows], rtol=1e-4, atol=1e-4)
        with self.assertRaisesRegex(tensorflow.errors.InvalidArgumentError, "expected 1 to 20"):
            serve(image=tensorflow.constant(self.images[:21]))

    def test_eight_threads_share_batches(self):
        serve, wrong = self.saved(self.fixed, timeout_us=500), []

        def client(first):
            for rows in (1, 3, 8):
                scores = serve(image=tensorflow.constant(self.images[first:first + rows]))["scores"].numpy()
                if not numpy.allclose(scores, self.expected[first:first + rows], rtol=1e-5, atol=1e-5):
                    wrong.append((first, rows))

        threads = [threading.Thread(target=client, args=[first]) for first in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_names_select_and_order_tensors(self):
        found = self.run_op(self.fixed, self.images[:2], input_names=["image"], output_names=["scores", "scores"],
                            types=[tensorflow.float32] * 2)
        for scores in found:
            numpy.testing.assert_allclose(scores.numpy(), self.expected[:2], rtol=1e-5, atol=1e-5)

    def test_errors_have_codes_and_name_the_cause(self):
        errors = tensorflow.errors
        image = self.images[:2]
        truncated = os.path.join(os.path.dirname(self.fixed), "truncated.popef")
        with open(self.fixed, "rb") as file, open(truncated, "wb") as short:
            short.write(file.read()[:1000])
        for kind, text, call in (
                (errors.NotFoundError, "absent.popef", lambda: self.run_op("absent.popef", image)),
                (errors.DataLossError, "truncated.popef", lambda: self.run_op(truncated, image)),
                (errors.InvalidArgumentError, "expected f32, given TensorFlow's type 2", lambda: self.run_op(self.fixed, image.astype("f8"))),
                (errors.InvalidArgumentError, r"image.*\[8,1,8,8\]", lambda: self.run_op(self.fixed, image.reshape(2, 64))),
                (errors.InvalidArgumentError, "expected 1 inputs, given 2", lambda: self.run_op(self.fixed, image, image)),
                (errors.InvalidArgumentError, "'scores' is f32; Tout", lambda: self.run_op(self.fixed, image, types=[tensorflow.int64])),
                (errors.InvalidArgumentError, "Tout: expected 1 types, given 2",
                 lambda: self.run_op(self.fixed, image, types=[tensorflow.float32] * 2)),
                (errors.NotFoundError, "no input 'picture'; inputs are: 'image'", lambda: self.run_op(self.fixed, image, input_names=["picture"])),
                (errors.InvalidArgumentError, "timeout_us: expected 0 to", lambda: self.run_op(self.fixed, image, timeout_us=-1)),
                (errors.InvalidArgumentError, "a scalar string", lambda: self.run_op([self.fixed], image))):
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                call()

    def test_an_index_outside_of_its_range_has_a_code(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        model = onnx.model([onnx.node("Gather", ["w", "i"], ["y"])], [onnx.value("i", onnx.S32, [2])], [onnx.value("y", onnx.F32, [2])],
                           [onnx.floats("w", [3], [1, 2, 3])])
        with open(os.path.join(folder, "gather.onnx"), "wb") as file:
            file.write(model)
        subprocess.run([os.path.join(engine.BUILD, "bin/poprt"), "-i", file.name, "--output_dir", folder, "--export_popef"], check=True,
                       capture_output=True)
        popef = os.path.join(folder, "executable.popef")
        (found,) = self.run_op(popef, numpy.array([0, 2], "i4"))
        self.assertEqual(found.numpy().tolist(), [1, 3])
        with self.assertRaisesRegex(tensorflow.errors.OutOfRangeError, "index 7 at place 1 is outside"):
            self.run_op(popef, numpy.array([0, 7], "i4"))


if __name__ == "__main__":
    unittest.main()
