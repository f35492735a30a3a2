"""What people expect of a runtime: models by path, new outputs, checked data, ONNX Runtime's way of asking."""

import array
import asyncio
import os
import tempfile
import unittest
from unittest import mock

import numpy as np
from poprt import errors
from poprt.compiler import Compiler, CompilerOptions, Executable
from poprt.runtime import Runner, RuntimeConfig

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(os.path.dirname(HERE), "data")
CLI = os.path.join(os.path.dirname(os.path.dirname(HERE)), "data", "cli")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
DIGITS = os.path.join(ROOT, "examples", "digits", "digits.onnx")


class Exchanged:
    """What another package's array is to us: DLPack alone, or ``__array__`` alone."""

    def __init__(self, values, way):
        self.values = values
        if way == "dlpack":
            self.__class__ = type("Tensor", (Exchanged,), {
                "__dlpack__": lambda s, **options: s.values.__dlpack__(**options),
                "__dlpack_device__": lambda s: s.values.__dlpack_device__()})
        elif way == "array":
            self.__class__ = type("Tensor", (Exchanged,), {"__array__": lambda s, dtype=None: s.values})


def affine(rows=2, **config):
    executable = Compiler.compile(os.path.join(DATA, "affine.onnx"), None, CompilerOptions(input_shape={"x": [rows, 4]}))
    return Runner(executable, RuntimeConfig(threads=1, **config))


def counting(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


class Data(unittest.TestCase):
    def setUp(self):
        self.runner = affine()
        self.addCleanup(self.runner.close)

    def refused(self, x, *parts, kind=errors.InvalidArgumentError):
        with self.assertRaises(kind) as caught:
            self.runner.run({"x": x})
        for part in parts:
            self.assertIn(part, str(caught.exception))
        self.assertNotIn("--", str(caught.exception))

    def test_shapes_and_dtypes_are_checked_by_name(self):
        self.refused(np.zeros((4, 2), np.float32), "input 'x'", "expected f32[2,4]", "given f32[4,2]")
        self.refused(np.zeros(8, np.float32), "expected f32[2,4]", "given f32[8]")
        self.refused(np.zeros((2, 4)), "expected f32[2,4]", "given f64[2,4]")
        self.refused(np.zeros((2, 4), np.int32), "given s32[2,4]")
        self.refused(np.zeros((2, 4), "datetime64[s]"), "input 'x'", "datetime64")
        with self.assertRaises(errors.InvalidArgumentError) as caught:
            self.runner.execute({"x": counting(2, 4)}, {"y": np.empty((4, 2), np.float32)})
        self.assertIn("output 'y': expected f32[2,4], given f32[4,2]", str(caught.exception))

    def test_a_transposed_image_is_refused(self):
        runner = Runner(DIGITS, RuntimeConfig(threads=1), compiler_options=CompilerOptions(batch_size=2))
        with self.assertRaises(errors.InvalidArgumentError) as caught:
            runner.run({"image": np.zeros((2, 8, 8, 1), np.float32)})
        self.assertIn("input 'image': expected f32[2,1,8,8], given f32[2,8,8,1]", str(caught.exception))

    def test_bytes_and_rows_of_numbers_have_no_shape(self):
        expected = 2 * counting(2, 4) + 1
        for x in (counting(2, 4).tobytes(), bytearray(counting(2, 4)), array.array("f", range(8))):
            np.testing.assert_array_equal(self.runner.run({"x": x})["y"], expected)
        self.refused(array.array("d", range(8)), "expected f32[2,4]")
        self.refused(memoryview(counting(8)), "given f32[8]")

    def test_lists_are_converted_or_refused_by_name(self):
        np.testing.assert_array_equal(self.runner.run({"x": [[0, 1, 2, 3], (4, 5, 6, 7.0)]})["y"],
                                      2 * counting(2, 4) + 1)
        self.refused([[1, 2], [3]], "input 'x'", "rows differ in length")
        self.refused([["a"] * 4] * 2, "input 'x'", "do not fit")
        self.refused([1.0] * 8, "expected f32[2,4]", "given f32[8]")
        self.refused("text", "input 'x'", "given str")
        self.refused({1: 2}, "input 'x'", "given dict")
        with self.assertRaises(errors.InvalidArgumentError) as caught:
            self.runner.execute({"x": counting(2, 4)}, {"y": [[0.0] * 4] * 2})
        self.assertIn("output 'y': expected something that is written", str(caught.exception))

    def test_lists_of_other_numbers_do_not_lose_anything(self):
        runner = Runner(os.path.join(DATA, "lookup.onnx"))
        self.addCleanup(runner.close)
        np.testing.assert_array_equal(runner.run({"table": [[1, 2]] * 3, "ids": [0, 1, 2, 0]})["next"], [1, 2, 3, 1])
        with self.assertRaises(errors.InvalidArgumentError) as caught:
            runner.run({"table": [[1, 2]] * 3, "ids": [0.5, 1, 2, 0]})
        self.assertIn("input 'ids': expected s64, the list given holds float64 that do not fit", str(caught.exception))

    def test_arrays_of_other_packages(self):
        expected = 2 * counting(2, 4) + 1
        for way in ("dlpack", "array"):
            np.testing.assert_array_equal(self.runner.run({"x": Exchanged(counting(2, 4), way)})["y"], expected)
        y = np.empty((2, 4), np.float32)
        self.runner.execute({"x": counting(2, 4)}, {"y": Exchanged(y, "dlpack")})
        np.testing.assert_array_equal(y, expected)
        self.refused(Exchanged(counting(2, 4), ""), "input 'x'", "given Exchanged")
        made = self.runner.run({"x": counting(2, 4)})["y"]
        np.testing.assert_array_equal(np.from_dlpack(made), expected)

    def test_without_validation_sizes_are_believed(self):
        runner = affine(validate_io_params=False)
        self.addCleanup(runner.close)
        y = np.empty(8, np.float32)
        runner.execute({"x": counting(8)}, {"y": y})
        np.testing.assert_array_equal(y, 2 * counting(8) + 1)


class Running(unittest.TestCase):
    def test_onnx_runtimes_way_of_asking(self):
        runner = Runner(os.path.join(DATA, "lookup.onnx"))
        self.addCleanup(runner.close)
        feeds = {"table": counting(3, 2), "ids": np.array([2, 0, 1, 1])}
        rows, after = runner.run(None, feeds)
        np.testing.assert_array_equal(rows, counting(3, 2)[feeds["ids"]])
        np.testing.assert_array_equal(after, feeds["ids"] + 1)
        (only,) = runner.run(["next"], feeds)
        np.testing.assert_array_equal(only, after)
        with self.assertRaises(errors.NotFoundError) as caught:
            runner.run(["nowhere"], feeds)
        self.assertIn("there is no output 'nowhere'; outputs are: 'rows', 'next'", str(caught.exception))
        self.assertEqual([d.name for d in runner.get_inputs()], ["table", "ids"])
        self.assertEqual([d.name for d in runner.get_outputs()], ["rows", "next"])
        with self.assertRaises(TypeError):
            runner.run([1, 2])

    def test_any_number_of_rows(self):
        whole, dynamic = affine(), affine(batching_dim=0, timeout_ns=1000)
        for runner in (whole, dynamic):
            self.addCleanup(runner.close)
            np.testing.assert_array_equal(runner.run({"x": counting(6, 4)})["y"], 2 * counting(6, 4) + 1)
        np.testing.assert_array_equal(whole.run({"x": counting(3, 2, 4)})["y"].reshape(6, 4), 2 * counting(6, 4) + 1)
        np.testing.assert_array_equal(dynamic.run({"x": counting(3, 4)})["y"], 2 * counting(3, 4) + 1)
        np.testing.assert_array_equal(dynamic.run({"x": counting(1, 4).tolist()})["y"], 2 * counting(1, 4) + 1)
        with self.assertRaises(errors.InvalidArgumentError) as caught:
            whole.run({"x": counting(3, 4)})
        self.assertIn("expected f32[2,4], given f32[3,4]", str(caught.exception))

        async def ask():
            return await dynamic.submit({"x": counting(5, 4)})
        np.testing.assert_array_equal(asyncio.run(ask())["y"], 2 * counting(5, 4) + 1)

    def test_what_is_padded_is_cropped(self):
        runner = Runner(os.path.join(CLI, "nonzero.onnx"))
        self.addCleanup(runner.close)
        (desc,) = runner.get_inputs()
        x = np.zeros(desc.shape, np.float32)
        x[0, 1] = x[-1, -1] = 1
        (found,) = runner.run(None, {desc.name: x})
        np.testing.assert_array_equal(found, np.stack(np.nonzero(x)))
        self.assertEqual([d.name for d in runner.get_outputs()], [runner.get_outputs()[0].name])

    def test_an_onnx_model_is_compiled_once(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"XDG_CACHE_HOME": folder}):
            for _ in range(2):
                with Runner(os.path.join(DATA, "lookup.onnx")) as runner:
                    self.assertEqual(len(runner.get_outputs()), 2)
            self.assertEqual(len(os.listdir(os.path.join(folder, "poprt"))), 1)
            cached = os.path.join(folder, "own")
            Runner(os.path.join(DATA, "affine.onnx"),
                   compiler_options=CompilerOptions(input_shape={"x": [2, 4]}, cache_path=cached)).close()
            self.assertEqual(len(os.listdir(cached)), 1)

    def test_messages_name_arguments(self):
        with self.assertRaises(errors.InvalidArgumentError) as caught:
            Runner(os.path.join(DATA, "affine.onnx"))
        self.assertIn("give `input_shape` x=... or `batch_size` with `batch_axis`", str(caught.exception))
        self.assertNotIn("--", str(caught.exception))

    def test_the_wrong_kind_of_file(self):
        with tempfile.TemporaryDirectory() as folder:
            popef = os.path.join(folder, "model.popef")
            Compiler.compile(os.path.join(DATA, "lookup.onnx")).save(popef)
            with self.assertRaises(errors.InvalidArgumentError) as caught:
                Compiler.compile(popef)
            self.assertIn("a PopEF file, not an ONNX model: it is compiled already", str(caught.exception))
            with self.assertRaises(errors.DataLossError) as caught:
                Executable(os.path.join(DATA, "lookup.onnx"))
            self.assertIn("an ONNX model, not a PopEF file: compile it first", str(caught.exception))

    def test_metadata_and_repr(self):
        with tempfile.TemporaryDirectory() as folder:
            made = Compiler.compile(DIGITS, None, CompilerOptions(batch_size=1))
            self.assertIn("producer_name", made.metadata)
            made.save(os.path.join(folder, "digits.popef"))
            runner = Runner(os.path.join(folder, "digits.popef"))
            self.assertEqual(runner.metadata, made.metadata)
            self.assertIn("DataDesc('image', [1, 1, 8, 8], F32)", repr(runner))
            self.assertIn("DataDesc('scores', [1, 10], F32)", repr(made))
            runner.close()
            self.assertEqual(repr(runner), "<ModelRunner, closed>")

    def test_many_runners(self):
        runners = [affine() for _ in range(12)]
        self.assertEqual(len(runners), 12)
        for runner in runners:
            runner.close()


if __name__ == "__main__":
    unittest.main()
