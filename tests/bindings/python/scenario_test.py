"""The scenario list of tests/bindings/README.md in Python: python3 -m unittest scenario_test (poprt on PYTHONPATH)."""

import asyncio
import ctypes
import datetime
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent import futures

import numpy as np
import model_runtime
import poprt
from poprt.compiler import Compiler, CompilerOptions, Executable
from poprt.runtime import DeviceManager, DeviceWaitConfig, RequestOptions, Runner, RuntimeConfig

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(os.path.dirname(HERE), "data")
NO_WAIT = DeviceWaitConfig(0, 0)


def model(name):
    return os.path.join(DATA, name)


def compiled(name, **shapes):
    return Compiler.compile(model(name), None, CompilerOptions(input_shape=shapes))


def config(**options):
    return RuntimeConfig(threads=1, **options)


def counting(first=0):
    return np.arange(8, dtype=np.float32).reshape(2, 4) + np.float32(first)


def slow_memory():
    return {"x": np.zeros((512, 512), np.float32)}, {"y": np.empty((512, 512), np.float32)}


def resident_bytes():
    """The memory in use: malloc returns free memory to the system."""
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Scenario(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.affine = compiled("affine.onnx", x=[2, 4])
        cls.slow = Compiler.compile(model("slow.onnx"))

    def runner(self, executable=None, **options):
        runner = Runner(executable or self.affine, config(**options))
        self.addCleanup(runner.close)
        return runner

    def fails(self, kinds, *parts):
        """Expects an exception of all those classes whose text has all those parts."""
        test = self

        class Expectation:
            def __enter__(self):
                return self

            def __exit__(self, kind, error, _):
                test.assertIsNotNone(error, f"expected {kinds}")
                for expected in kinds:
                    test.assertIsInstance(error, expected)
                for part in parts:
                    test.assertIn(part, str(error))
                return True

        return Expectation()

    def assert_devices_free(self):
        manager = DeviceManager()
        for _ in range(1000):
            devices = []
            try:
                for _ in range(manager.get_num_devices()):
                    devices.append(manager.get_device(1))
                return
            except poprt.errors.UnavailableError:
                del devices
                gc.collect()
                time.sleep(0.01)
        self.fail("a device is not given back")

    def test_scenario_01_compile(self):
        steps, passes = [], []
        options = CompilerOptions(input_shape={"x": [2, 4]},
                                  compilation_progress_logger=lambda value, end: steps.append(value / end),
                                  after_pass=lambda *report: passes.append(report))
        first = Compiler.compile(model("affine.onnx"), None, options)
        self.assertEqual(steps, sorted(steps))
        self.assertEqual(steps[-1], 1)
        self.assertTrue(passes and all(name and len(numbers) == 4 for name, *numbers in passes))
        with open(model("affine.onnx"), "rb") as file:
            onnx = file.read()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "affine.popef")
            first.save(path)
            Compiler.compile_and_export(model("affine.onnx"), ["y"], os.path.join(folder, "again.popef"), options)
            options.compilation_progress_logger = None
            for e in (first, Executable(path), Executable([path]), Executable(first.to_bytes()),
                      Executable(os.path.join(folder, "again.popef")), Compiler.compile(onnx, ["y"], options)):
                with e:
                    self.assertEqual([(d.name, d.shape, d.data_type, d.size_in_bytes) for d in e.get_inputs()],
                                     [("x", [2, 4], poprt.DataType.F32, 32)])
                    self.assertEqual([(d.name, d.shape, d.numpy_data_type(), d.size_in_bytes) for d in e.get_outputs()],
                                     [("y", [2, 4], np.float32, 32)])
                    self.assertGreaterEqual(e.arena_bytes, 0)
                    self.assertIn("y", e.listing())

    def test_scenario_02_run(self):
        runner = self.runner()
        x, y = counting(), np.zeros((2, 4), np.float32)
        runner.execute({"x": x}, {"y": y})
        np.testing.assert_array_equal(y, 2 * x + 1)
        np.testing.assert_array_equal(runner.run({"x": x})["y"], 2 * x + 1)
        bound = runner.bind({"x": x}, {"y": y})
        for k in range(3):
            x[0, 0] = k
            bound.execute()
            np.testing.assert_array_equal(y, 2 * x + 1)

    def test_scenario_03_run_several_types(self):
        outputs = self.runner(Compiler.compile(model("lookup.onnx"))).run(
            {"table": np.arange(6, dtype=np.float32).reshape(3, 2), "ids": np.array([2, 0, 1, 2])})
        np.testing.assert_array_equal(outputs["rows"], [[4, 5], [0, 1], [2, 3], [4, 5]])
        np.testing.assert_array_equal(outputs["next"], [3, 1, 2, 3])

    def test_scenario_72_numbers_outside_their_range(self):
        def compiled_with(name, **options):
            return Compiler.compile(model(name), None, CompilerOptions(options=options))

        def look(runner, last):
            return runner.run({"table": np.arange(6, dtype=np.float32).reshape(3, 2), "ids": np.array([2, 0, 1, last])})["rows"]

        checked = self.runner(compiled_with("lookup.onnx"))
        with self.fails([poprt.errors.OutOfRangeError], "index 3"):
            look(checked, 3)
        np.testing.assert_array_equal(look(checked, 2), [[4, 5], [0, 1], [2, 3], [4, 5]])
        zero = self.runner(compiled_with("lookup.onnx", out_of_range="zero"))
        np.testing.assert_array_equal(look(zero, 3), [[4, 5], [0, 1], [2, 3], [0, 0]])
        with self.fails([poprt.errors.InvalidArgumentError], "turns"):
            self.runner(compiled_with("endless.onnx")).run({"x": np.zeros(1, np.float32)})
        bounded = self.runner(compiled_with("range.onnx", max_size="n=4"))
        np.testing.assert_array_equal(bounded.run({"n": np.array(3)})["y"], [0, 1, 2])
        with self.fails([poprt.errors.OutOfRangeError], "max_size"):
            bounded.run({"n": np.array(5)})

    def test_scenario_70_positions_by_name(self):
        runner = self.runner(Compiler.compile(model("lookup.onnx")))
        self.assertEqual([runner.input_index(name) for name in ("table", "ids")], [0, 1])
        self.assertEqual([runner.output_index(name) for name in ("rows", "next")], [0, 1])
        with self.fails([poprt.errors.NotFoundError], "nope", "table"):
            runner.input_index("nope")

    def test_scenario_71_batching_refusal(self):
        executable = compiled("softmax.onnx", x=[2, 4])
        self.assertEqual(executable.batching_refusal(0), "")
        self.assertIn("Softmax", executable.batching_refusal(1))
        with self.fails([poprt.errors.InvalidArgumentError], "[2,4]"):
            executable.batching_refusal(2)

    def test_scenario_90_estimate(self):
        def estimate(name="affine.onnx", **options):
            return Compiler.estimate(model(name), None, CompilerOptions(input_shape={"x": [2, 4]}, options=options))

        e = estimate()
        self.assertGreater(e.cycles, 0)
        self.assertAlmostEqual(e.milliseconds, e.cycles / 1.5e6, delta=1e-9)
        self.assertGreater(e.throughput, 0)
        self.assertEqual((e.target(), e.samples, e.fits, e.available_bytes), ("c600", 2, True, 638976))
        self.assertEqual(next(iter(json.loads(e.json()))), "cycles")
        self.assertEqual(json.loads(e.json())["cycles"], e.cycles)
        self.assertTrue(e.report().startswith("Target: c600 (ipu21)"))
        self.assertTrue(e.svg().startswith("<svg"))
        self.assertTrue(e.cycle_quality().startswith("unchecked"))
        self.assertTrue(e.memory_quality().startswith("checked"))
        self.assertEqual(repr(e), f"<Estimate: {e.cycles} cycles, fits>")
        first = estimate(estimate_target="mk1")
        self.assertEqual(first.available_bytes, 262144)
        self.assertAlmostEqual(first.milliseconds, first.cycles / 1.6e6, delta=1e-9)
        with self.fails([poprt.errors.NotFoundError, FileNotFoundError], "missing.onnx"):
            estimate("missing.onnx")
        with self.fails([poprt.errors.InvalidArgumentError], "ipu9"):
            estimate(estimate_target="ipu9")

    def test_scenario_91_an_estimate_in_the_executable(self):
        options = CompilerOptions(input_shape={"x": [2, 4]}, options={"estimate": "True"})
        cycles = Compiler.estimate(model("affine.onnx"), None, options).cycles
        executable = Compiler.compile(model("affine.onnx"), None, options)
        self.assertEqual(json.loads(executable.estimate())["cycles"], cycles)
        self.assertEqual(json.loads(poprt.Executable(executable.to_bytes()).estimate())["cycles"], cycles)
        with self.fails([poprt.errors.NotFoundError], "estimate"):
            compiled("affine.onnx", x=[2, 4]).estimate()

    def test_scenario_92_a_closed_estimate(self):
        with Compiler.estimate(model("affine.onnx"), None, CompilerOptions(input_shape={"x": [2, 4]})) as e:
            pass
        e.close()
        for use in (e.json, lambda: e.cycles):
            with self.assertRaisesRegex(ValueError, "the estimate is closed"):
                use()
        self.assertEqual(repr(e), "<Estimate, closed>")

    def test_scenario_04_half_precision(self):
        # In Python, NumPy's float16 is the helper.
        outputs = self.runner(compiled("half.onnx", x=[2, 4])).run({"x": counting().astype(np.float16)})
        self.assertEqual(outputs["y"].dtype, np.float16)
        np.testing.assert_array_equal(outputs["y"], 2 * counting() + 1)

    def test_scenario_68_replicas_with_caches(self):
        with tempfile.TemporaryDirectory() as folder:
            runner = self.runner(Compiler.compile(model("cache.onnx")), replication_factor=2, shared_devices=folder)
            with self.fails([poprt.errors.UnavailableError], "busy"):
                DeviceManager(2, shared=folder).get_device(1)
            y = np.empty(3, np.float32)
            for step in range(4):
                for replica in range(2):
                    last = 10 * replica + step + 1
                    inputs = {"step": np.int32(step).reshape(()), "x": np.array([last], np.float32)}
                    if step % 2:
                        runner.execute(inputs, {"y": y}, replica=replica)
                    else:
                        runner.execute_async(inputs, {"y": y}, replica=replica).wait()
                    np.testing.assert_array_equal(y, [last - i if i <= step else 0 for i in range(3)])
            for replica in (2, -1):
                with self.fails([poprt.errors.NotFoundError], f"no replica {replica}"):
                    runner.execute(inputs, {"y": y}, replica=replica)
            runner.close()

    def test_scenario_69_options_of_a_request(self):
        runner = self.runner(replication_factor=2, batches_per_step=4, timeout_ns=0)
        x, y = counting(), np.zeros((2, 4), np.float32)
        for submit in (lambda o: runner.execute_async({"x": x}, {"y": y}, options=o).wait(),
                       lambda o: asyncio.run(runner.submit({"x": x}, {"y": y}, options=o))):
            y[:] = 0
            submit(RequestOptions(at_once=True, replica=1))
            np.testing.assert_array_equal(y, 2 * x + 1)
            with self.fails([poprt.errors.DeadlineExceededError]):
                submit(RequestOptions(timeout_ns=datetime.timedelta(milliseconds=5)))
            with self.fails([poprt.errors.NotFoundError], "no replica 2"):
                submit(RequestOptions(replica=2))
            with self.fails([poprt.errors.InvalidArgumentError], "timeout_ns"):
                submit(RequestOptions(timeout_ns=-1))
        self.assertEqual([r["completed"] for r in runner.statistics()["replicas"]], [0, 2])
        # The replica of the call has priority over that of the options.
        runner.execute({"x": x}, {"y": y}, replica=0, options=RequestOptions(replica=2))
        with self.fails([poprt.errors.DeadlineExceededError]):
            runner.execute_async({"x": x}, {"y": y}, begin_within=0.005, options=RequestOptions(timeout_ns=10**15)).wait()
        with self.fails([TypeError], "expected a RequestOptions"):
            runner.execute({"x": x}, {"y": y}, options={"replica": 0})

    def test_scenario_67_faithful_numerics(self):
        options = CompilerOptions(input_shape={"x": [2, 4]}, options={"numerics": "faithful"})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "half.popef")
            Compiler.compile_and_export(model("half.onnx"), None, path, options)
            half = Executable(path)
            x = counting().astype(np.float16)
            x[1, 3] = 40000
            for numerics, last in (("faithful", np.nan), ("saturating", 65504)):
                with Runner(half, config(numerics=numerics)) as runner:
                    for _ in range(2):
                        y = runner.run({"x": x})["y"]
                        np.testing.assert_array_equal(y.ravel(), [1, 3, 5, 7, 9, 11, 13, last])
            with self.fails([poprt.errors.FailedPreconditionError], "numerics=faithful"):
                self.runner(numerics="faithful")
            with self.fails([poprt.errors.InvalidArgumentError], "slow"):
                self.runner(half, numerics="slow")
            with self.fails([poprt.errors.InvalidArgumentError], "replication_factor"):
                self.runner(half, numerics="faithful", replication_factor=2)

    def test_scenario_93_precision_of_a_runner(self):
        linear = compiled("linear.onnx", x=[2, 4])
        x = counting()
        exact = 1 + 2**-10 + 2**-12
        for precision, factor in ((None, exact), ("f32", exact), ("auto", exact), ("f16", 1 + 2**-10), ("bf16", 1)):
            y = self.runner(linear, execution_precision=precision, load="copy").run({"x": x})["y"]
            np.testing.assert_array_equal(y, x * np.float32(factor), precision)
        with self.fails([poprt.errors.InvalidArgumentError], "int8"):
            self.runner(linear, execution_precision="int8")

    def test_scenario_126_names_of_options_in_errors(self):
        with self.fails([poprt.errors.InvalidArgumentError], "`batch_size` is -1"):
            poprt.Compiler.compile(model("affine.onnx"), None, poprt.CompilerOptions(batch_size=-1))
        with self.fails([poprt.errors.InvalidArgumentError], "queue_depth", "found -1"):
            self.runner(compiled("linear.onnx", x=[2, 4]), queue_depth=-1)
        with self.fails([poprt.errors.InvalidArgumentError], "`calibration_with_data` needs `data_preprocess`"):
            poprt.Compiler.compile(model("affine.onnx"), None, poprt.CompilerOptions(options={"calibration_with_data": "1"}))

    def test_scenario_128_zero_characters(self):
        affine = compiled("affine.onnx", x=[2, 4])
        runner = self.runner(affine)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a\0b")
            for call, argument in (
                    (lambda: Executable(path), "path"), (lambda: Compiler.compile(path), "onnx_path"), (lambda: affine.save(path), "path"),
                    (lambda: poprt.Generator(path), "model"), (lambda: poprt.dump_popef(path), "path"),
                    (lambda: poprt.set_log_level("INFO\0"), "level"),
                    (lambda: Compiler.compile(model("affine.onnx"), None, CompilerOptions(options={"num\0": "1"})), "name"),
                    (lambda: Compiler.compile(model("affine.onnx"), None, CompilerOptions(options={"num_io_tiles": "3\0002"})), "value"),
                    (lambda: self.runner(affine, numerics="fast\0"), "numerics"),
                    (lambda: runner.run({"x\0": counting()}), "name of an input"),
                    (lambda: runner.execute({"x": counting()}, {"y\0": counting()}), "name of an output")):
                with self.subTest(argument):
                    with self.fails([poprt.errors.InvalidArgumentError, ValueError], f"argument '{argument}' contains the character \\0"):
                        call()
            self.assertEqual(os.listdir(folder), [])

    def test_scenario_129_an_input_is_missing(self):
        for runner in (self.runner(compiled("affine.onnx", x=[2, 4])), self.on_demand()):
            with self.fails([poprt.errors.InvalidArgumentError], "input 'x' is missing"):
                runner.run({})

    def test_scenario_73_damaged_and_truncated_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "weights.popef")
            weights = compiled("weights.onnx")
            weights.save(path)
            runner = self.runner(Executable(path), load="copy")
            with open(path, "r+b") as file:
                data = file.read()
                file.truncate(0)
            np.testing.assert_array_equal(runner.run({"x": counting()})["y"].ravel(), [1, 3, 7, 13, 5, 11, 19, 29])
            at = data.index(np.array([3, 4], np.float32).tobytes())
            with open(path, "wb") as file:
                file.write(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
            self.runner(Executable(path))
            with self.fails([poprt.errors.DataLossError], path, "'weights'", "is damaged"):
                self.runner(Executable(path), verify=True)
            self.assertIn("is damaged", str(self.raised(lambda: poprt.dump_popef(path, "verify"))))
            with self.fails([poprt.errors.InvalidArgumentError], "slow"):
                self.runner(Executable(path), load="slow")

    def raised(self, call):
        with self.assertRaises(poprt.errors.Error) as caught:
            call()
        return caught.exception

    def test_scenario_05_asynchronous(self):
        runner = self.runner()
        pairs = [(counting(i), np.empty((2, 4), np.float32)) for i in range(100)]
        submitted = [runner.execute_async({"x": x}, {"y": y}) for x, y in pairs]
        for f in submitted:
            f.wait()
        for x, y in pairs:
            np.testing.assert_array_equal(y, 2 * x + 1)

    def test_scenario_06_unicode(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "størrelse 🚀.popef")
            compiled("unicode.onnx", størrelse=[2, 4]).save(path)
            executable = Executable(path)
            self.assertEqual(executable.get_inputs()[0].name, "størrelse")
            outputs = self.runner(executable).run({"størrelse": counting()})
            np.testing.assert_array_equal(outputs["ut_🚀"], 2 * counting() + 1)
            with self.fails([FileNotFoundError], "størrelse 🚀.popef🚀"):
                Executable(path + "🚀")

    def test_scenario_07_wrong_name(self):
        with self.fails([poprt.errors.NotFoundError, LookupError, RuntimeError], "'nope'", "'x'"):
            self.runner().execute({"nope": counting()}, {"y": counting()})

    def test_scenario_08_wrong_size(self):
        runner = self.runner()
        for n in (7, 9):
            with self.fails([poprt.errors.InvalidArgumentError, ValueError], "'x'", "f32[2,4]", f"f32[{n}]"):
                runner.execute({"x": np.zeros(n, np.float32)}, {"y": counting()})

    def test_scenario_09_wrong_type(self):
        runner = self.runner()
        for wrong in (np.zeros(4, np.float64), np.zeros((2, 4), np.int32), np.zeros((2, 4), ">f4")):
            with self.fails([ValueError], "'x'", "f32"):
                runner.execute({"x": wrong}, {"y": counting()})
        y = np.empty((2, 4), np.float32)
        runner.execute({"x": bytes(32)}, {"y": y})
        np.testing.assert_array_equal(y, 1)
        for wrong in ([1.0] * 8, None):
            with self.fails([ValueError], "input 'x'"):
                runner.execute({"x": wrong}, {"y": y})
        read_only = counting()
        read_only.flags.writeable = False
        for unfit in (read_only, counting().T.copy().T):
            with self.assertRaises((ValueError, BufferError)):
                runner.execute({"x": counting()}, {"y": unfit})

    def test_scenario_10_missing_tensor(self):
        runner = self.runner()
        with self.fails([ValueError], "'x'"):
            runner.execute({}, {"y": counting()})
        with self.fails([ValueError], "'y'"):
            runner.execute({"x": counting()}, {})

    def test_scenario_11_missing_file(self):
        with self.fails([FileNotFoundError, poprt.errors.NotFoundError], "missing.popef"):
            Executable("missing.popef")
        with self.fails([FileNotFoundError, poprt.errors.NotFoundError], "missing.onnx"):
            Compiler.compile("missing.onnx")

    def test_scenario_12_no_popef(self):
        with self.fails([poprt.errors.InvalidArgumentError]):
            Executable(model("affine.onnx"))

    def test_scenario_13_unsupported_operator(self):
        with self.fails([poprt.errors.UnimplementedError, NotImplementedError, RuntimeError], "Frobnicate"):
            Compiler.compile(model("unknown_op.onnx"))

    def test_scenario_14_free_in_odd_order(self):
        executable = compiled("affine.onnx", x=[2, 4])
        manager = DeviceManager()
        device = manager.get_device(1)
        runner = Runner(executable, config(device=device))
        x, y = counting(), np.empty((2, 4), np.float32)
        future = runner.execute_async({"x": x}, {"y": y})
        executable.close()
        del executable, manager
        device.close()
        runner.close()
        del device, runner, x
        gc.collect()
        future.wait()
        np.testing.assert_array_equal(y, 2 * counting() + 1)

    def test_scenario_15_use_after_close(self):
        executable = compiled("affine.onnx", x=[2, 4])
        runner = Runner(executable, config())
        for closed in (runner, executable):
            closed.close()
            closed.close()
        x, y = {"x": counting()}, {"y": counting()}
        for use in (lambda: runner.execute(x, y), lambda: runner.execute_async(x, y), runner.get_execute_inputs,
                    runner.stop, runner.profile, executable.get_inputs, lambda: executable.save("never"),
                    lambda: Runner(executable)):
            with self.fails([ValueError], "is closed"):
                use()

    def test_scenario_16_close_during_a_run(self):
        runner = Runner(self.slow, config())
        started, errors = threading.Event(), []

        def work():
            try:
                while True:
                    started.set()
                    runner.execute(*slow_memory())
            except (ValueError, poprt.errors.CancelledError) as error:
                errors.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        started.wait()
        runner.close()
        thread.join()
        self.assertEqual(len(errors), 1)
        self.assert_devices_free()

    def test_scenario_17_two_threads(self):
        runner = self.runner()

        def work(k):
            for i in range(200):
                x = counting(1000 * k + i)
                np.testing.assert_array_equal(runner.run({"x": x})["y"], 2 * x + 1)

        with futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(work, range(2)))

    def test_scenario_18_callback(self):
        runner = self.runner()
        calls = []
        done = threading.Event()
        x, y, z = counting(), np.zeros((2, 4), np.float32), np.zeros((2, 4), np.float32)

        def second(future):
            calls.append((threading.get_ident(), future.exception()))
            done.set()

        def first(future):
            calls.append((threading.get_ident(), future.exception()))
            runner.execute_async({"x": x}, {"y": z}).add_done_callback(second)

        runner.execute_async({"x": self.gate(x)}, {"y": y}).add_done_callback(first)
        self.assertTrue(done.wait(60))
        self.assertEqual([error for _, error in calls], [None, None])
        np.testing.assert_array_equal(y, 2 * x + 1)
        np.testing.assert_array_equal(z, 2 * x + 1)

    @staticmethod
    def gate(x):
        return x

    def test_scenario_18_callback_comes_on_another_thread(self):
        runner = self.runner(self.slow)
        seen = []
        future = runner.execute_async(*slow_memory())  # the run ends after the callback is registered
        future.add_done_callback(lambda f: seen.append(threading.get_ident()))
        future.wait()
        while not seen:
            time.sleep(0.001)
        self.assertNotEqual(seen, [threading.get_ident()])

    def test_scenario_18_asyncio(self):
        runner = self.runner()
        x, y = counting(), np.empty((2, 4), np.float32)

        async def main():
            await asyncio.wrap_future(runner.execute_async({"x": x}, {"y": y}))

        asyncio.run(main())
        np.testing.assert_array_equal(y, 2 * x + 1)

    def test_scenario_19_exception_in_a_callback(self):
        runner = self.runner()
        x, y = counting(), np.empty((2, 4), np.float32)

        def boom(*_):
            raise KeyError("boom")

        with self.assertLogs("concurrent.futures", "ERROR") as logs:
            future = runner.execute_async({"x": x}, {"y": y})
            future.add_done_callback(boom)
            future.wait()
            deadline = time.monotonic() + 60
            while not logs.records and time.monotonic() < deadline:
                time.sleep(0.001)
        runner.execute({"x": x}, {"y": y})
        with self.fails([KeyError], "boom"):
            Compiler.compile(model("affine.onnx"), None, CompilerOptions(
                input_shape={"x": [2, 4]}, compilation_progress_logger=boom))
        # A compilation that fails in addition raises the exception of the callback, too, and does not affect the next one.
        with self.fails([KeyError], "boom"):
            Compiler.compile(model("unknown_op.onnx"), None, CompilerOptions(compilation_progress_logger=boom))
        compiled("affine.onnx", x=[2, 4])

    def test_scenario_20_large_tensor(self):
        runner = self.runner(compiled("affine.onnx", x=[4194304, 4]))
        x = np.resize(np.arange(1000, dtype=np.float32), (4194304, 4))
        y = np.empty_like(x)
        before = poprt.bytes_copied()
        runner.execute({"x": x}, {"y": y})
        runner.execute_async({"x": x}, {"y": y}).wait()
        self.assertEqual(poprt.bytes_copied() - before, 0)
        x *= 2
        x += 1
        self.assertTrue(np.array_equal(y, x))

    def test_scenario_20_strided_inputs_are_copied_and_counted(self):
        x = np.arange(16, dtype=np.float32).reshape(2, 8)[:, ::2]
        before = poprt.bytes_copied()
        np.testing.assert_array_equal(self.runner().run({"x": x})["y"], 2 * x + 1)
        self.assertEqual(poprt.bytes_copied() - before, 32)

    def test_scenario_21_zero_size_tensor(self):
        executable = compiled("affine.onnx", x=[0, 4])
        self.assertEqual(executable.get_inputs()[0].size_in_bytes, 0)
        outputs = self.runner(executable).run({"x": np.empty((0, 4), np.float32)})
        self.assertEqual(outputs["y"].shape, (0, 4))
        self.runner(executable).execute({"x": b""}, {"y": bytearray()})

    def test_scenario_22_cancellation(self):
        runner = self.runner(self.slow)
        submitted = [runner.execute_async(*slow_memory()) for _ in range(8)]
        runner.stop()
        errors = [f.exception() for f in submitted]
        cancelled = [e for e in errors if e is not None]
        self.assertGreaterEqual(len(cancelled), 6)
        for error in cancelled:
            self.assertIsInstance(error, poprt.errors.CancelledError)
            self.assertIsInstance(error, futures.CancelledError)
        with self.assertRaises(poprt.errors.CancelledError):
            runner.execute(*slow_memory())

    def test_scenario_23_waiting_with_a_limit(self):
        future = self.runner(self.slow).execute_async(*slow_memory())
        try:
            future.wait(1e-9)
        except (TimeoutError, futures.TimeoutError):
            pass
        future.wait()

    def test_scenario_24_device_busy(self):
        self.assert_devices_free()
        manager = DeviceManager()
        self.assertEqual(manager.ipu_hardware_version(), "ipu21")
        devices = [manager.get_device(1) for _ in range(manager.get_num_devices())]
        with self.fails([poprt.errors.UnavailableError, OSError]):
            manager.get_device(1)
        with self.fails([poprt.errors.UnavailableError]):
            Runner(self.affine, config(device_wait_config=NO_WAIT))
        number = devices[0].id()
        devices[0].close()
        devices[0] = manager.get_specific_device(number)
        runner = self.runner(device=devices[0])
        with self.fails([poprt.errors.FailedPreconditionError]):
            Runner(self.affine, config(device=devices[0]))
        with self.fails([LookupError]):
            manager.get_specific_device(len(devices))
        runner.close()
        for d in devices:
            d.close()

    def test_scenario_24_waiting_for_a_device(self):
        self.assert_devices_free()
        manager = DeviceManager()
        devices = [manager.get_device(1) for _ in range(manager.get_num_devices())]
        timer = threading.Timer(0.05, devices[0].close)
        timer.start()
        Runner(self.affine, config(device_wait_config=DeviceWaitConfig(60, 0.01))).close()
        timer.join()

    def test_scenario_25_statistics(self):
        import json
        runner = self.runner(profile=True)
        for _ in range(3):
            runner.run({"x": counting()})
        profile = json.loads(runner.profile())
        self.assertEqual(profile["runs"], 3)
        self.assertTrue(profile["instructions"])
        with self.fails([poprt.errors.FailedPreconditionError]):
            self.runner().profile()

    def test_scenario_26_no_explicit_close(self):
        x, y = counting(), np.empty((2, 4), np.float32)
        after_1000 = 0
        for i in range(4000):
            Runner(self.affine, config()).execute({"x": x}, {"y": y})
            if i == 1000:
                gc.collect()
                after_1000 = resident_bytes()
        gc.collect()
        self.assertLess(resident_bytes() - after_1000, 6 << 20)
        self.assert_devices_free()

    def test_scenario_27_exit_with_runs_in_flight(self):
        program = """
import sys
import numpy as np
from poprt.compiler import Compiler
from poprt.runtime import Runner, RuntimeConfig
runner = Runner(Compiler.compile(sys.argv[1]), RuntimeConfig(threads=1))
for _ in range(8):
    f = runner.execute_async({"x": np.zeros((512, 512), np.float32)}, {"y": np.empty((512, 512), np.float32)})
    f.add_done_callback(lambda f: f.exception())
"""
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", program, model("slow.onnx")], capture_output=True, text=True,
                                  check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_scenario_28_version(self):
        self.assertEqual(poprt.version(), poprt.__version__)
        self.assertEqual(len(poprt.version().split(".")), 3)
        raw = poprt.poprt_raw
        real = raw.raw_header_version, raw.raw_version
        try:
            raw.raw_header_version = lambda: 1_002_003
            for found in (0, 999_999, 1_001_999, 2_000_000, 99_000_000):  # older, or of another major version
                raw.raw_version = lambda: found
                with self.assertRaises(ImportError, msg=str(found)):
                    poprt._load.check_version()
            for found in (1_002_000, 1_002_003, 1_003_000, 1_999_999):
                raw.raw_version = lambda: found
                poprt._load.check_version()
        finally:
            raw.raw_header_version, raw.raw_version = real

    def test_scenario_29_waiting_for_a_device(self):
        self.assert_devices_free()
        manager = DeviceManager(2)
        self.assertEqual(manager.get_device_ids(), [0, 1])
        first, second = manager.get_specific_device(0), manager.get_specific_device(1)
        for wait in (None, DeviceWaitConfig(0.001, 0)):
            with self.fails([poprt.errors.UnavailableError]):
                manager.acquire(wait=wait)
        timer = threading.Timer(0.05, second.close)
        timer.start()
        got = manager.acquire(ipu_version=21, wait=DeviceWaitConfig(60, 0.02))
        self.assertEqual((got.id(), got.num_ipus(), got.ipu_version(), got.is_ipu_model()), (1, 1, 21, False))
        timer.join()
        with manager.create_ipu_model_device(1, 2, 4) as ipu_model:
            self.assertEqual((ipu_model.id(), ipu_model.tiles_per_ipu(), ipu_model.is_ipu_model()), (-1, 4, True))
        timer = threading.Timer(0.02, first.close)
        timer.start()
        for_ever = DeviceWaitConfig(float("inf"), 0)
        with manager.acquire(executable=self.affine, device_id=0, wait=for_ever) as fits:
            self.assertEqual(fits.id(), 0)
        timer.join()
        got.close()

    def test_scenario_30_telemetry(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(model_runtime.read_telemetry(folder), [])

    def test_scenario_31_a_limit_on_waiting_in_the_queue(self):
        runner = self.runner(self.slow)
        runs = [runner.execute_async(*slow_memory()) for _ in range(4)]
        late = runner.execute_async(*slow_memory(), begin_within=1e-9)
        with self.fails([poprt.errors.DeadlineExceededError, TimeoutError]):
            late.wait()
        for run in runs:
            run.wait()
        runner.execute_async(*slow_memory(), begin_within=60).wait()

    def test_scenario_32_any_number_of_rows(self):
        runner = self.runner(compiled("affine.onnx", x=[4, 4]), batching_dim=0)
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        y = np.empty_like(x)
        runner.execute({"x": x}, {"y": y})
        np.testing.assert_array_equal(y, 2 * x + 1)

    def on_demand(self, options=None, **runner_options):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        options = options or CompilerOptions()
        options.cache_path, options.enable_engine_caching = folder, True
        runner = Runner(model("affine.onnx"), config(**runner_options), compiler_options=options)
        self.addCleanup(runner.close)
        return runner

    def check_rows(self, runner, rows):
        x = np.arange(4 * rows, dtype=np.float32).reshape(rows, 4)
        y = runner.run({"x": x})["y"]
        self.assertEqual(y.shape, x.shape)
        np.testing.assert_array_equal(y, 2 * x + 1)
        into = np.empty_like(x)
        runner.execute({"x": x}, {"y": into})
        np.testing.assert_array_equal(into, y)

    def test_scenario_80_any_shape(self):
        runner = self.on_demand()
        for rows in (3, 1, 3):
            self.check_rows(runner, rows)
        x = np.ones((5, 4), np.float32)
        y = np.empty_like(x)
        runner.execute_async({"x": x}, {"y": y}).wait()
        np.testing.assert_array_equal(y, 2 * x + 1)
        with self.fails([poprt.errors.InvalidArgumentError], "x", "[3,5]"):
            runner.run({"x": np.zeros((3, 5), np.float32)})

    def test_scenario_81_batch_compiled_ahead(self):
        runner = self.on_demand(CompilerOptions(batch_size=2))
        self.assertEqual(list(runner.get_inputs()[0].shape), [2, 4])
        for rows in (2, 5, 1):
            self.check_rows(runner, rows)

    def test_scenario_82_warm_up(self):
        runner = self.on_demand()
        runner.warm_up([{"x": (2, 4)}, {"x": [6, 4]}])
        runner.warm_up({"x": (7, 4)})
        runner.warm_up("x=8,4/9,4")
        self.assertEqual(runner.statistics()["shapes"]["compiled"], 5)
        with self.fails([poprt.errors.NotFoundError], "z"):
            runner.warm_up({"z": (2, 4)})
        with self.assertRaises(TypeError):
            runner.warm_up(3)
        with self.fails([poprt.errors.UnimplementedError], "fixed"):
            self.runner().warm_up({"x": (2, 4)})

    def test_scenario_112_open_dimensions(self):
        runner = self.on_demand(CompilerOptions(batch_size=2))
        self.assertEqual(runner.open_dimensions(), {"on_demand": True, "inputs": {"x": ["N", 4]}, "outputs": {"y": ["N", 4]}})
        self.assertEqual(self.runner().open_dimensions(), {"on_demand": False, "inputs": {"x": [2, 4]}, "outputs": {"y": [2, 4]}})

    def test_scenario_83_shape_sets(self):
        executable = Compiler.compile(model("affine.onnx"), None, CompilerOptions(input_shape=[{"x": [1, 4]}, {"x": [4, 4]}]))
        runner = self.runner(executable)
        for rows in (3, 1, 4):
            self.check_rows(runner, rows)
        with self.fails([poprt.errors.InvalidArgumentError], "5"):
            runner.run({"x": np.zeros((5, 4), np.float32)})

    def test_scenario_84_shapes_are_removed(self):
        runner = self.on_demand(max_shapes=1)
        for rows in (1, 2, 3, 4):
            self.check_rows(runner, rows)
        shapes = runner.statistics()["shapes"]
        self.assertEqual((shapes["removed"], len(shapes["kept"]), shapes["kept"][0]["sizes"]), (3, 1, {"N": 4}))

    def test_scenario_123_memory_of_shapes(self):
        runner = self.on_demand(max_shape_memory=4096)
        self.check_rows(runner, 3)
        with self.fails([poprt.errors.InvalidArgumentError], "32000 bytes", "4096"):
            self.check_rows(runner, 1000)
        self.check_rows(runner, 3)

    def test_scenario_100_a_popef_file_at_any_shape(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        path = os.path.join(folder, "affine.popef")

        def load(source=True, **more):
            Compiler.compile_and_export(model("affine.onnx"), None, path, CompilerOptions(input_shape={"x": [2, 4]}, embed_source=source))
            options = CompilerOptions(shapes="on_demand", cache_path=folder, enable_engine_caching=True, **more)
            runner = Runner(path, config(), compiler_options=options)
            self.addCleanup(runner.close)
            return runner
        runner = load()
        for rows in (3, 2, 1, 3):
            self.check_rows(runner, rows)
        with self.fails([poprt.errors.InvalidArgumentError], "precision"):
            load(precision="fp16")
        with self.fails([poprt.errors.FailedPreconditionError], "embed_source"):
            load(source=False)
        with self.fails([poprt.errors.InvalidArgumentError], "shapes on_demand"):
            Runner(path, config(), compiler_options=CompilerOptions())

    def test_scenario_33_runner_statistics(self):
        runner = self.runner(flush_on_waiting_outputs=True)
        for _ in range(3):
            runner.run({"x": counting()})
        self.assertEqual(runner.statistics()["completed"], 3)
        self.assertEqual(len([p for p in runner.tracepoints() if "compute_begin" in p]), 3)

    def test_scenario_33_counters_of_a_runner(self):
        runner = self.runner(replication_factor=2)
        for _ in range(3):
            runner.run({"x": counting()})
        statistics = runner.statistics()
        self.assertEqual((statistics["completed"], statistics["latency"]["count"]), (3, 3))
        self.assertEqual(sum(statistics["latency"]["buckets"]), 3)
        self.assertEqual([r["queue_capacity"] for r in statistics["replicas"]], [64, 64])
        self.assertEqual(sum(r["completed"] for r in statistics["replicas"]), 3)


if __name__ == "__main__":
    unittest.main()
