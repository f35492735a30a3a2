"""``poprt.serving`` without an engine: any number of rows, columns of batches, and missing inputs and packages."""

import asyncio
import importlib.util
import os
import tempfile
import unittest
from unittest import mock

import numpy as np
from poprt import serving
from poprt.compiler import Compiler, CompilerOptions
from poprt.errors import InvalidArgumentError
from poprt.runtime import Runner

BINDINGS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIGITS = os.path.join(os.path.dirname(os.path.dirname(BINDINGS)), "examples", "digits", "digits.onnx")
ROWS = (0, 1, 5, 8, 20, 37)


class Serving(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.enterClassContext(mock.patch.dict(os.environ, POPART_CACHE_DIR=os.path.join(cls.folder, "cache")))
        cls.fixed, cls.shapes = (os.path.join(cls.folder, name) for name in ("fixed.popef", "shapes.popef"))
        Compiler.compile(DIGITS, None, CompilerOptions(batch_size=8)).save(cls.fixed)
        sets = CompilerOptions(input_shape={"image": [[1, 1, 8, 8], [4, 1, 8, 8], [20, 1, 8, 8]]})
        Compiler.compile(DIGITS, None, sets).save(cls.shapes)
        cls.images = np.random.default_rng(7).random((40, 1, 8, 8), np.float32)
        with Runner(Compiler.compile(DIGITS, None, CompilerOptions(batch_size=40))) as runner:
            cls.scores = runner.run({"image": cls.images})["scores"]

    def models(self):
        """The digits model at a fixed batch size, at several ones, and in memory by its ONNX file."""
        yield "fixed", serving.Predictor(self.fixed, threads=1)
        yield "shapes", serving.Predictor(self.shapes, threads=1)
        yield "onnx", serving.Predictor(DIGITS, compiler_options=CompilerOptions(batch_size=3))
        yield "on demand", serving.Predictor(DIGITS)

    def test_any_number_of_rows(self):
        for name, predictor in self.models():
            for rows in ROWS:
                with self.subTest(model=name, rows=rows):
                    found = predictor({"image": self.images[:rows]})
                    self.assertEqual((found["scores"].shape, found["scores"].dtype), ((rows, 10), np.float32))
                    np.testing.assert_allclose(found["scores"], self.scores[:rows], rtol=1e-4, atol=1e-4)

    def test_submitted_requests_of_any_number_of_rows(self):
        async def gather(predictor):
            return await asyncio.gather(*(predictor.submit({"image": self.images[:rows]}) for rows in ROWS))

        for name, predictor in self.models():
            for rows, found in zip(ROWS, asyncio.run(gather(predictor))):
                with self.subTest(model=name, rows=rows):
                    np.testing.assert_allclose(found["scores"], self.scores[:rows], rtol=1e-4, atol=1e-4)

    def test_arrays_of_wider_floats_are_converted_and_others_are_refused(self):
        predictor = serving.Predictor(self.fixed)
        found = predictor({"image": self.images[:3].astype(np.float64)})
        np.testing.assert_allclose(found["scores"], self.scores[:3], rtol=1e-4, atol=1e-4)
        with self.assertRaisesRegex(InvalidArgumentError, "'image'.*f32.*c64"):
            predictor({"image": self.images[:3].astype(np.complex64)})
        with self.assertRaisesRegex(InvalidArgumentError, "same number of rows.*'image': 3.*'other': 2"):
            predictor({"image": self.images[:3], "other": self.images[:2]})
        with self.assertRaisesRegex(Exception, "'picture'"):
            predictor({"picture": self.images[:3]})

    def test_integers_keep_their_values_or_are_refused(self):
        path = os.path.join(BINDINGS, "data", "types.onnx")
        with Runner(path) as runner:
            inputs = {d.name: np.zeros(d.shape, d.numpy_data_type()) for d in runner.get_inputs()}
        name = next(n for n, a in inputs.items() if a.dtype == np.int32)
        predictor, size = serving.Predictor(path), inputs[name].size
        wide = np.arange(size, dtype=np.int64).reshape(inputs[name].shape) - 2
        found = predictor({**inputs, name: wide})
        self.assertTrue(any(np.array_equal(value, wide) for value in found.values() if value.dtype == np.int32))
        with self.assertRaisesRegex(InvalidArgumentError, f"'{name}'"):
            predictor({**inputs, name: wide + 2**40})

    def test_a_model_that_mixes_rows_is_refused_with_its_reason(self):
        for name, reason in (("lookup", "rows are independent; .*Gather"), ("cache", "rows are independent; there is no dimension 0: 'step' has shape")):
            path = os.path.join(self.folder, name + ".popef")
            Compiler.compile(os.path.join(BINDINGS, "data", name + ".onnx")).save(path)
            with self.subTest(name), self.assertRaisesRegex(InvalidArgumentError, f"{name}.popef: expected .*{reason}"):
                serving.Predictor(path)

    def test_batches_of_ray_have_the_columns_and_the_outputs(self):
        batch = {"pixels": self.images[:9], "id": np.arange(9)}
        found = serving.RayPredictor(self.fixed, {"image": "pixels"})(batch)
        self.assertEqual(sorted(found), ["id", "pixels", "scores"])
        np.testing.assert_array_equal(found["id"], np.arange(9))
        np.testing.assert_allclose(found["scores"], self.scores[:9], rtol=1e-4, atol=1e-4)
        with self.assertRaisesRegex(InvalidArgumentError, "input 'image': expected column 'image'; columns are: pixels, id"):
            serving.RayPredictor(self.fixed)(batch)

    def test_a_missing_engine_is_an_error_with_the_command_that_installs_it(self):
        for call, package, install in ((serving.predict_batch_udf, "pyspark", "pyspark pandas pyarrow"),
                                       (serving.ray_deployment, "ray", "'ray\\[serve\\]'"),
                                       (lambda path: serving.kserve_model("digits", path), "kserve", "kserve")):
            if importlib.util.find_spec(package):
                continue
            with self.subTest(package=package), self.assertRaisesRegex(ImportError, f"{package}.*not installed: .*pip install {install}"):
                call(self.fixed)


if __name__ == "__main__":
    unittest.main()
