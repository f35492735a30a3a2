"""Features that users expect of a runtime: models by path, new outputs, checked data, the interface of ONNX Runtime."""

import array
import asyncio
import logging
import os
import shutil
import tempfile
import unittest
from unittest import mock

import numpy as np
import poprt
from poprt import errors
from poprt.compiler import Compiler, CompilerOptions, Executable
from poprt.runtime import Runner, RuntimeConfig

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(os.path.dirname(HERE), "data")
CLI = os.path.join(os.path.dirname(os.path.dirname(HERE)), "data", "cli")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
DIGITS = os.path.join(ROOT, "examples", "digits", "digits.onnx")


class Exchanged:
    """An array of another package, which has only DLPack, or only ``__array__``."""

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
        runner = Runner(DIGITS, RuntimeConfig(threads=1), compiler_options=CompilerOptions(batch_size=2, shapes="fixed"))
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

    def test_a_list_that_the_type_does_not_hold_is_refused(self):
        self.refused([[1e300, 1, 2, 3]] * 2, "input 'x'", "expected f32, which does not hold 1e+300 of the list given")
        x = [[float("inf"), 1, 2, 3], [4, 5, 6, 0.1]]
        np.testing.assert_array_equal(self.runner.run({"x": x})["y"][0, 0], np.inf)
        half = Runner(os.path.join(DATA, "half.onnx"), compiler_options=CompilerOptions(batch_size=2))
        self.addCleanup(half.close)
        (desc,) = half.get_inputs()
        self.assertEqual(desc.data_type.name, "F16")
        many = np.zeros(desc.shape).ravel()
        many[0] = 70000
        for value in (many.reshape(desc.shape).tolist(), many.reshape(desc.shape).astype(int).tolist()):
            with self.assertRaisesRegex(errors.InvalidArgumentError, f"input '{desc.name}': expected f16, which does not hold 70000"):
                half.run({desc.name: value})

    def test_frozen_inputs_are_checked(self):
        def frozen(x):
            return affine(frozen_inputs={"x": x})

        for x, found in ((np.zeros((2, 4), np.int32), "s32[2,4]"), (np.zeros((4, 2), np.float32), "f32[4,2]"),
                         (np.zeros(8, np.float32), "f32[8]"), (np.zeros((2, 4)), "f64[2,4]"), ([1, 2], "f32[2]")):
            with self.assertRaises(errors.InvalidArgumentError) as caught:
                frozen(x)
            self.assertEqual(str(caught.exception), f"frozen input 'x': expected f32[2,4], given {found}")
        with self.assertRaisesRegex(errors.NotFoundError, "no input 'z', which frozen_inputs has; inputs are: 'x'"):
            affine(frozen_inputs={"z": counting(2, 4)})
        for x in (counting(2, 4), counting(2, 4).tolist(), counting(2, 4).tobytes(), np.asfortranarray(counting(2, 4)),
                  array.array("f", range(8)), Exchanged(counting(2, 4), "dlpack")):
            with frozen(x) as runner:
                np.testing.assert_array_equal(runner.run({})["y"], 2 * counting(2, 4) + 1)
        for value in ([1], "x", (1, 2, 3)):
            with self.assertRaisesRegex(TypeError, "RuntimeConfig.frozen_inputs: expected a dict|frozen_inputs: expected"):
                affine(frozen_inputs=value)

    def test_rows_for_padding_are_checked(self):
        x, y = counting(2, 4), np.zeros((2, 4), np.float32)
        for inputs, outputs, message in (
                ({"x": np.zeros((2, 4), np.int32)}, {"y": y}, "flush input 'x': expected f32[2,4], given s32[2,4]"),
                ({"x": x.T}, {"y": y}, "flush input 'x': expected f32[2,4], given f32[4,2]"),
                ({"x": x}, {"y": y.reshape(4, 2)}, "flush output 'y': expected f32[2,4], given f32[4,2]"),
                ({"x": x}, {"y": y.tolist()}, "flush output 'y': expected something that is written, given list"),
                ({"x": x}, {"y": bytes(32)}, "flush output 'y': the bytes cannot be written")):
            with self.assertRaises(errors.InvalidArgumentError) as caught:
                affine(batching_dim=0, flush_by_name=(inputs, outputs))
            self.assertEqual(str(caught.exception), message)
        with affine(batching_dim=0, timeout_ns=1000, flush_by_name=({"x": x}, {"y": y})) as runner:
            np.testing.assert_array_equal(runner.run({"x": x[:1]})["y"], 2 * x[:1] + 1)
        for wrong in (5, {"x": x}, ({"x": x},)):
            with self.assertRaisesRegex(TypeError, "RuntimeConfig.flush_by_name: expected a pair of dicts"):
                affine(batching_dim=0, flush_by_name=wrong)

    def test_a_fifo_is_not_opened(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            os.mkfifo(path)
            with self.assertRaises(errors.Error):
                Runner(path)

    def test_bind_checks_arguments_immediately(self):
        x, y = counting(2, 4), np.empty((2, 4), np.float32)
        for inputs, outputs, kind, message in (
                ({"z": x}, {"y": y}, errors.NotFoundError, "there is no input 'z'"),
                ({"x": x}, {"z": y}, errors.NotFoundError, "there is no output 'z'; outputs are: 'y'"),
                ({}, {"y": y}, errors.InvalidArgumentError, "input 'x' is missing"),
                ({"x": x}, {}, errors.InvalidArgumentError, "output 'y' is missing"),
                ({"x": x.astype(np.float64)}, {"y": y}, errors.InvalidArgumentError, "input 'x': expected f32[2,4], given f64[2,4]"),
                ({"x": x.reshape(4, 2)}, {"y": y}, errors.InvalidArgumentError, "input 'x': expected f32[2,4], given f32[4,2]"),
                ({"x": x}, {"y": y.astype(np.int32)}, errors.InvalidArgumentError, "output 'y': expected f32[2,4], given s32[2,4]"),
                ({"x": x}, {"y": y.reshape(4, 2)}, errors.InvalidArgumentError, "output 'y': expected f32[2,4], given f32[4,2]"),
                ({"x": x}, {"y": np.empty((4, 4), np.float32)}, errors.InvalidArgumentError,
                 "output 'y': expected f32[2,4], given f32[4,4]"),
                ({"x": x}, {"y": bytearray(12)}, errors.InvalidArgumentError, "output 'y': expected f32[2,4], given 12 bytes"),
                ({"x": x.tolist()}, {"y": y}, errors.InvalidArgumentError, "input 'x': expected an array that can be bound"),
                ({"x": np.asfortranarray(x)}, {"y": y}, errors.InvalidArgumentError, "input 'x': the array is not C-contiguous")):
            with self.subTest(message), self.assertRaises(kind) as caught:
                self.runner.bind(inputs, outputs)
            self.assertIn(message, str(caught.exception))
        for shape in ((2, 4), (1, 2, 4), (6, 4), (3, 2, 4)):
            given, made = counting(*shape), np.empty(shape, np.float32)
            bound = self.runner.bind({"x": given}, {"y": made})
            given[:] = 3
            bound.execute()
            np.testing.assert_array_equal(made, np.full(shape, 7))
        made = bytearray(32)
        self.runner.bind({"x": x.tobytes()}, {"y": made}).execute()
        np.testing.assert_array_equal(np.frombuffer(made, np.float32).reshape(2, 4), 2 * x + 1)

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

    def test_without_validation_small_arrays_are_refused(self):
        for options in ({}, {"batching_dim": 0}):
            runner = affine(validate_io_params=False, **options)
            self.addCleanup(runner.close)
            x, y = counting(4, 4), np.full((3, 4), -1, np.float32)
            for run in (runner.execute, lambda i, o: runner.execute_async(i, o).wait(), lambda i, o: runner.bind(i, o).execute()):
                with self.assertRaises(errors.InvalidArgumentError) as caught:
                    run({"x": x}, {"y": y})
                self.assertIn("output 'y': expected at least 64 bytes", str(caught.exception))
            np.testing.assert_array_equal(y, np.full((3, 4), -1))


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
        self.assertEqual(len(runner.run([], feeds)), 2)
        with self.assertRaises(errors.NotFoundError) as caught:
            runner.run(["nowhere"], feeds)
        self.assertIn("there is no output 'nowhere'; outputs are: 'rows', 'next'", str(caught.exception))
        self.assertEqual([d.name for d in runner.get_inputs()], ["table", "ids"])
        self.assertEqual([d.name for d in runner.get_outputs()], ["rows", "next"])
        (only,) = runner.run(output_names=["next"], input_feed=feeds, run_options=None)
        np.testing.assert_array_equal(only, after)
        self.assertEqual(len(runner.run(None, feeds, None)), 2)
        for arguments in (([1, 2],), (None, None), (None, [1]), (None, feeds, object())):
            with self.assertRaises(TypeError):
                runner.run(*arguments)

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

    def test_crops_padded_outputs(self):
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

    def test_a_model_is_known_by_its_first_byte(self):
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, "model.pb")
            shutil.copy(os.path.join(DATA, "affine.onnx"), model)
            self.assertEqual(Runner(model, compiler_options=CompilerOptions(batch_size=2)).run({"x": counting(2, 4)})["y"].shape[0], 2)
            text = os.path.join(folder, "notes")
            with open(text, "w", encoding="utf-8") as file:
                file.write("no model")
            with self.assertRaisesRegex(errors.DataLossError, "notes"):
                Runner(text)
            with self.assertRaisesRegex(errors.FileMissingError, "none"):
                Runner(os.path.join(folder, "none"))

    def test_an_onnx_model_in_capitals(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "MODEL.ONNX")
            shutil.copy(os.path.join(DATA, "lookup.onnx"), path)
            with Runner(path, compiler_options=CompilerOptions(cache_path=folder)) as runner:
                self.assertEqual(len(runner.get_outputs()), 2)

    def test_names_that_are_not_utf8_are_given_back(self):
        """The name of affine.onnx's input, x, and of its output become bytes that are no text."""
        with open(os.path.join(DATA, "affine.onnx"), "rb") as file:
            model = file.read()
        for name in (b"x", b"y"):
            self.assertGreaterEqual(model.count(b"\x01" + name), 2)
            model = model.replace(b"\x01" + name, b"\x01" + bytes([name[0] + 0x80]))
        options = CompilerOptions(batch_size=2)
        try:
            executable = Compiler.compile(model, None, options)
        except errors.Error as error:  # the compiler refuses such names
            self.skipTest(str(error))
        with Runner(executable, RuntimeConfig(threads=1)) as runner:
            (given,), (made,) = runner.get_inputs(), runner.get_outputs()
            self.assertEqual((given.name, made.name), ("\udcf8", "\udcf9"))
            x = counting(2, 4)
            np.testing.assert_array_equal(runner.run({given.name: x})[made.name], 2 * x + 1)
            self.assertEqual(len(runner.run([made.name], {given.name: x.tolist()})), 1)
            with self.assertRaises(errors.InvalidArgumentError):
                runner.run({given.name: x.T})

    def test_messages_name_options(self):
        for make, message in (
                (lambda: CompilerOptions(batch_size="8"), "CompilerOptions.batch_size: expected a whole number, found '8'"),
                (lambda: CompilerOptions(input_shape=[1, 2]), "CompilerOptions.input_shape: expected shapes, found [1, 2]"),
                (lambda: RuntimeConfig(threads="2"), "RuntimeConfig.threads: expected a whole number, found '2'"),
                (lambda: RuntimeConfig(profile="False"), "RuntimeConfig.profile: expected True or False, found 'False'"),
                (lambda: RuntimeConfig(device=3), "RuntimeConfig.device: expected a Device or None, found 3"),
                (lambda: CompilerOptions(passes="abc"), "CompilerOptions.passes: expected a list, found 'abc'"),
                (lambda: CompilerOptions(stop_after=None), "CompilerOptions.stop_after: expected a str, found None")):
            with self.assertRaises(TypeError) as caught:
                make()
            self.assertEqual(str(caught.exception), message)
        for options, name in (({"input_shape": {"x": 5}}, "input_shape"), ({"input_shape": {"x": ["a", 4]}}, "input_shape"),
                              ({"input_shape": {"x": "24"}}, "input_shape"), ({"input_shape": {3: [2, 4]}}, "input_shape"),
                              ({"input_length": {"x": "3"}}, "input_length"), ({"batch_size": 2**70}, "batch_size"),
                              ({"passes": [3]}, "passes"), ({"opaque_blobs": {"a": 3}}, "opaque_blobs"),
                              ({"max_tensor_size": 2**70}, "max_tensor_size"), ({"convert_version": 2**70}, "convert_version")):
            with self.subTest(name), self.assertRaisesRegex(TypeError, rf"^CompilerOptions\.{name}: expected .*, found .*{list(options.values())[0]!r}"
                                                            if not isinstance(options[name], dict) else
                                                            rf"^CompilerOptions\.{name}: expected .*, found {{"):
                Compiler.compile(os.path.join(DATA, "affine.onnx"), None, CompilerOptions(**options))
        with self.assertRaisesRegex(TypeError, "outputs: expected names, found 3"):
            Compiler.compile(os.path.join(DATA, "affine.onnx"), [3])
        with self.assertRaisesRegex(TypeError, "threads: expected a whole number of 64 bits"):
            affine().close()
            Runner(os.path.join(DATA, "lookup.onnx"), RuntimeConfig(threads=2**70))

    def test_the_raw_layer_names_arguments(self):
        """Arguments that no class of the package checks reach SWIG's functions, whose messages number the arguments."""
        from poprt.runtime import DeviceManager
        for call, message in ((lambda: DeviceManager("many"), "device_count: expected a whole number of 64 bits"),
                              (lambda: DeviceManager().get_device("one"), "num_ipus: expected a whole number of 64 bits"),
                              (lambda: DeviceManager().get_specific_device(None), "id: expected a whole number")):
            with self.assertRaises(TypeError) as caught:
                call()
            self.assertIn(message, str(caught.exception))

    def test_messages_name_arguments(self):
        with self.assertRaises(errors.InvalidArgumentError) as caught:
            Runner(os.path.join(DATA, "affine.onnx"), compiler_options=CompilerOptions(shapes="fixed"))
        self.assertIn("give `input_shape` x=... or `batch_size`", str(caught.exception))
        self.assertNotIn("--", str(caught.exception))

    def test_a_model_in_memory(self):
        with open(DIGITS, "rb") as file:
            content = file.read()
        x = np.random.default_rng(5).random((2, 1, 8, 8), np.float32)
        options = CompilerOptions(batch_size=2)
        with Runner(DIGITS, compiler_options=options) as runner:
            (expected,) = runner.run(None, {"image": x})

        class Proto:
            """An object with the methods of onnx.ModelProto."""

            def SerializeToString(self):
                return content

            def ParseFromString(self, data):
                raise NotImplementedError

        for model in (content, bytearray(content), memoryview(content), Proto()):
            with Runner(model, compiler_options=options) as runner:
                np.testing.assert_array_equal(runner.run(None, {"image": x})[0], expected)
        with self.assertRaisesRegex(errors.DataLossError, "blob header"), Runner(b"PopEF cut off"):
            pass
        with tempfile.TemporaryDirectory() as folder:
            popef = os.path.join(folder, "model.popef")
            Compiler.compile(DIGITS, None, options).save(popef)
            with open(popef, "rb") as file, Runner(file.read()) as runner:
                np.testing.assert_array_equal(runner.run(None, {"image": x})[0], expected)

    def test_the_wrong_kind_of_file(self):
        with tempfile.TemporaryDirectory() as folder:
            popef = os.path.join(folder, "model.popef")
            executable = Compiler.compile(os.path.join(DATA, "lookup.onnx"))
            executable.save(popef)
            for compiled in (popef, executable):
                with self.assertRaisesRegex(errors.InvalidArgumentError, "compiler_options are for an ONNX model"):
                    Runner(compiled, compiler_options=CompilerOptions(batch_size=3))
            with self.assertLogs("poprt", "WARNING") as logs, poprt.subscribe_log(logging.getLogger("poprt").log):
                Executable.load(popef, CompilerOptions(batch_size=3, precision="fp16"))
            self.assertEqual(len(logs.output), 1)
            self.assertIn("no effect: batch_size, precision. Compile the ONNX model with them", logs.output[0])
            with self.assertRaises(errors.InvalidArgumentError) as caught:
                Compiler.compile(popef)
            self.assertIn("a PopEF file, not an ONNX model: it is compiled already", str(caught.exception))
            with self.assertRaises(errors.InvalidArgumentError) as caught:
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
