"""Scripts as users of PopRT 1.5, PopEF and Model Runtime write them, with the documented names and defaults."""

import datetime
import os
import tempfile
import threading
import unittest

import model_runtime
import numpy as np
import popef
import poprt
from poprt import runtime
from poprt.backends import Backend, ORTBackend
from poprt.compiler import Compiler, CompilerOptions

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(os.path.dirname(HERE), "data")
LOOKUP = os.path.join(DATA, "lookup.onnx")
FEEDS = {"table": np.arange(6, dtype=np.float32).reshape(3, 2), "ids": np.array([2, 0, 1, 2])}
ROWS = np.array([[4, 5], [0, 1], [2, 3], [4, 5]], np.float32)


class Popef(unittest.TestCase):
    """A file of the lookup model for each test."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "executable.popef")
        Compiler.compile_and_export(LOOKUP, ["rows", "next"], self.path, CompilerOptions())


class PoprtScripts(Popef):
    def test_run_a_popef_with_random_inputs(self):
        """The loop of PopRT's run_popef example."""
        config = runtime.RuntimeConfig()
        config.timeout_ns = datetime.timedelta(microseconds=300)
        config.validate_io_params = True
        config.ring_buffer_size_multiplier = 3
        runner = runtime.Runner(self.path, config)
        input_descs = runner.get_execute_inputs()
        output_descs = runner.get_execute_outputs()
        inputs = {d.name: np.zeros(d.shape, dtype=d.numpy_data_type()) for d in input_descs
                  if not d.popef_contains_tensor_data}
        outputs = {d.name: np.zeros(d.shape, dtype=d.numpy_data_type()) for d in output_descs}
        inputs["table"][:] = FEEDS["table"]
        inputs["ids"][:] = FEEDS["ids"]
        runner.execute(inputs, outputs)
        np.testing.assert_array_equal(outputs["rows"], ROWS)
        self.assertEqual(outputs["next"].dtype, np.int64)

    def test_run_an_executable_asynchronously(self):
        options = poprt.compiler.CompilerOptions()
        options.num_ipus = 1
        options.ipu_version = poprt.runtime.DeviceManager().ipu_hardware_version()
        options.batches_per_step = 1
        options.partials_type = "half"
        options.stream_buffering_depth = 2
        options.show_compilation_progress_bar = False
        executable = Compiler.compile(LOOKUP, ["rows"], options)
        runner = poprt.runtime.Runner(executable)
        outputs = [{"rows": np.zeros((4, 2), np.float32)} for _ in range(20)]
        futures = [runner.execute_async(FEEDS, o) for o in outputs]
        for future in futures:
            future.wait()
        for o in outputs:
            np.testing.assert_array_equal(o["rows"], ROWS)
        self.assertEqual([d.name for d in runner.get_execute_outputs()], ["rows"])

    def test_options_have_the_documented_defaults(self):
        o = CompilerOptions()
        self.assertEqual((o.num_ipus, o.ipu_version, o.batches_per_step, o.partials_type, o.num_io_tiles),
                         (1, "", 1, "half", 0))
        self.assertEqual((o.available_memory_proportion, o.outline_threshold, o.constant_weights), (0.6, 1.0, True))
        self.assertEqual((o.time_limit_scheduler, o.swap_limit_scheduler), (1e9, 1000000000))
        self.assertEqual(CompilerOptions.from_dict({"num_io_tiles": 32}).num_io_tiles, 32)
        c = runtime.RuntimeConfig()
        self.assertEqual((c.timeout_ns, c.validate_io_params, c.batching_dim, c.ring_buffer_size_multiplier),
                         (10_000_000, True, 2**32 - 1, 2))
        self.assertEqual((c.thread_safe, c.check_package_hash, c.auto_reset, c.flush_on_waiting_outputs),
                         (True, True, False, False))
        self.assertEqual((c.batch_size_timeout_ns, c.data_parallel_timeout_ns, c.request_tracepoints_buffer_size),
                         (2**63 - 1, 2**63 - 1, 1000))
        self.assertEqual((c.device_wait_config.timeout_sec, c.device_wait_config.sleep_time_sec), (1, 6))
        self.assertEqual(c.runner_type, runtime.RunnerType.ModelRunner)
        # Two objects do not share their dictionaries.
        o.engine_options["a"] = "b"
        self.assertEqual(CompilerOptions().engine_options, {})
        with self.assertRaisesRegex(AttributeError, "num_ipus"):
            o.numIpus = 2

    def test_several_ipus_need_to_know_who_has_what(self):
        for options, why in ((CompilerOptions(num_ipus=2), "virtual_graph_mode"),
                             (CompilerOptions(virtual_graph_mode="manual"), "__ipu_number"),
                             (CompilerOptions(enable_pipelining=True), "several IPUs"),
                             (CompilerOptions(virtual_graph_mode="executionPhases"), "training")):
            with self.assertRaisesRegex(RuntimeError, why):
                Compiler.compile(LOOKUP, None, options)

    def test_choose_a_device(self):
        manager = runtime.DeviceManager()
        self.assertGreaterEqual(manager.get_num_devices(), 1)
        for number in range(manager.get_num_devices()):
            try:
                device = manager.get_specific_device(number)
                break
            except RuntimeError:
                continue
        config = runtime.RuntimeConfig()
        replica_to_device = runtime.ReplicaIdToDevice()
        replica_to_device[0] = device
        config.replica_to_device = replica_to_device
        self.assertIs(config.replica_id_to_device, replica_to_device)
        runner = runtime.Runner(self.path, config)
        np.testing.assert_array_equal(runner.run(FEEDS)["rows"], ROWS)
        with self.assertRaises(poprt.errors.FailedPreconditionError):
            runtime.Runner(self.path, config)

    def test_runner_makes_the_kind_that_the_configuration_is_for(self):
        self.assertIsInstance(runtime.Runner(self.path), runtime.ModelRunner)
        with self.assertRaises(TypeError):
            runtime.Runner(self.path, {"timeout_ns": 0})

    def test_earlier_spellings(self):
        runner = runtime.ModelRunner(self.path)
        y = {d.name: d.empty() for d in runner.get_model_outputs()}
        x = runtime.InputMemoryView(FEEDS)
        runner.executeAsync(x, runtime.OutputMemoryView(y)).wait()
        np.testing.assert_array_equal(y["rows"], ROWS)
        self.assertEqual([d.name for d in runner.get_model_inputs()], ["table", "ids"])

    def test_backends(self):
        export = os.path.join(self.folder.name, "backend.popef")
        with Backend(LOOKUP, export_popef=export, compiler_options=CompilerOptions()) as backend:
            rows, = backend.run(["rows"], FEEDS)
            np.testing.assert_array_equal(rows, ROWS)
            self.assertEqual(backend.get_io_info()[1]["next"], ([4], np.int64))
        self.assertEqual(len(Backend(export).run(None, FEEDS)), 2)
        lazy = ORTBackend(LOOKUP, None, ["CPUExecutionProvider"], lazy_load=True)
        np.testing.assert_array_equal(lazy.load().run(["rows"], FEEDS)[0], ROWS)
        session = poprt.backend.get_session(LOOKUP, 1, "poprt").load()
        np.testing.assert_array_equal(session.run(["rows"], FEEDS)[0], ROWS)
        self.assertEqual(session.get_io_info()[0]["table"], ([3, 2], np.float32))

    def test_backends_take_any_shape_of_an_open_model(self):
        affine = os.path.join(DATA, "affine.onnx")
        for session in (ORTBackend(affine, providers=["CPUExecutionProvider"]), Backend(affine)):
            for rows in (1, 3):
                x = np.arange(4 * rows, dtype=np.float32).reshape(rows, 4)
                np.testing.assert_array_equal(session.run(None, {"x": x})[0], 2 * x + 1)
            session.close()
        with self.assertRaises(TypeError) as caught:
            ORTBackend(affine, batch_size=3)
        self.assertIn("give compiler_options=CompilerOptions(batch_size=...)", str(caught.exception))

    def test_summary_report(self):
        report = Compiler.compile_and_get_summary_report(LOOKUP, None, CompilerOptions())
        self.assertIn("rows", report)
        self.assertIn("bytes of device memory", report)

    def test_utils(self):
        self.assertEqual(poprt.utils.onnx_tensor_dtype_to_np_dtype(10), np.float16)
        with self.assertRaises(ValueError):
            poprt.utils.onnx_tensor_dtype_to_np_dtype(8)
        self.assertEqual(poprt.utils.get_logger("x", "info").level, 20)
        self.assertEqual(poprt.utils.LazyImport("math").sqrt(4), 2)

    def test_convert_float_to_uint8_rounds_to_the_nearest_value(self):
        """The codes are those of a table of all 256 values of each format, made from its definition."""
        rng = np.random.default_rng(1)
        for name, mantissa, bias in (("F143", 3, 8), ("F152", 2, 16)):
            values = []
            for code in range(128):
                exponent, fraction = code >> mantissa, code & ((1 << mantissa) - 1)
                values.append(fraction * 2.0**(1 - bias - mantissa) if exponent == 0
                              else (1 + fraction / (1 << mantissa)) * 2.0**(exponent - bias))
            values = np.array(values)
            np.testing.assert_array_equal(poprt.utils.convert_float_to_uint8(values, name), np.arange(128))
            np.testing.assert_array_equal(poprt.utils.convert_float_to_uint8(-values[1:], name), np.arange(129, 256))
            x = rng.normal(0, values[-1] / 8, 2000)
            nearest = np.abs(np.abs(x)[:, None] - values).min(axis=1)
            codes = poprt.utils.convert_float_to_uint8(x, name)
            np.testing.assert_array_equal(np.abs(np.abs(x) - values[codes & 127]), nearest)
            special = poprt.utils.convert_float_to_uint8(np.array([np.inf, -np.inf, np.nan, -0.0, 1e30]), name)
            np.testing.assert_array_equal(special, [127, 255, 128, 0, 127])
        np.testing.assert_array_equal(poprt.utils.convert_float_to_uint8(np.array([0.5]), "F143", -1),
                                      poprt.utils.convert_float_to_uint8(np.array([1.0]), "F143", 0))


class PopefScripts(Popef):
    def test_read_everything(self):
        reader = popef.Reader()
        reader.parseFile(self.path)
        metadata, = reader.metadata()
        self.assertEqual((metadata.numIpus(), metadata.replicationFactor(), metadata.isInference()), (1, 1, True))
        anchors = {a.name(): a for a in metadata.anchors()}
        self.assertEqual(anchors["table"].type(), popef.TensorType.INPUT)
        self.assertEqual(anchors["rows"].tensorInfo().shape(), [4, 2])
        self.assertEqual(anchors["ids"].tensorInfo().dataType(), popef.DataType.S64)
        self.assertEqual(anchors["ids"].tensorInfo().sizeInBytes(), 32)
        self.assertEqual(popef.popefTypeToNumpyDType(anchors["ids"].tensorInfo().dataType()), np.int64)
        self.assertEqual(anchors["rows"].programs(), metadata.programFlow().main())
        self.assertIn("main", metadata.programsMap().values())
        model = popef.ModelBuilder(reader).createModel()
        self.assertEqual([a.name() for a in model.getUserInputAnchors()], ["table", "ids"])
        executable, = reader.executables()
        self.assertEqual(executable.name, metadata.executable())
        with open(self.path, "rb") as file:
            self.assertIn(executable.executable(), file.read())

    def test_tensors(self):
        """Weights are tensor blobs in a separate file."""
        program, weights = (os.path.join(self.folder.name, n) for n in ("program.popef", "weights.popef"))
        executable = Compiler.compile(os.path.join(HERE, "../../../examples/digits/digits.onnx"), None,
                                      CompilerOptions(input_shape={"image": [8, 1, 8, 8]}))
        executable.save(program, weights)
        reader = popef.Reader()
        reader.parseFile(program)
        reader.parseFile(weights)
        self.assertEqual(len(reader.metadata()), 1)
        for tensor in reader.tensors():
            self.assertEqual(list(tensor.data().shape), tensor.info.tensorInfo().shape())
            self.assertEqual(tensor.data().nbytes, tensor.info.tensorInfo().sizeInBytes())

    def test_errors_are_runtime_errors(self):
        for path, kind in (("missing.popef", FileNotFoundError), (LOOKUP, poprt.errors.InvalidArgumentError)):
            with self.assertRaises(RuntimeError) as caught:
                popef.Reader().parseFile(path)
            self.assertIsInstance(caught.exception, kind)


class ModelRuntimeScripts(Popef):
    def test_synchronous(self):
        config = model_runtime.ModelRunnerConfig()
        config.device_wait_config = model_runtime.DeviceWaitConfig(datetime.timedelta(seconds=60),
                                                                   datetime.timedelta(milliseconds=10))
        runner = model_runtime.ModelRunner(self.path, config=config)
        inputs = model_runtime.InputMemoryView()
        for desc in runner.getExecuteInputs():
            inputs[desc.name] = FEEDS[desc.name]
        result = runner.execute(inputs)
        np.testing.assert_array_equal(np.frombuffer(result["rows"], dtype=np.float32).reshape(4, 2), ROWS)
        output = model_runtime.OutputMemoryView({d.name: d.empty() for d in runner.getExecuteOutputs()})
        runner.execute(inputs, output)
        np.testing.assert_array_equal(output["rows"], ROWS)

    def test_asynchronous_from_several_threads(self):
        program, weights = (os.path.join(self.folder.name, n) for n in ("program.popef", "weights.popef"))
        poprt.Executable(self.path).save(program, weights)
        runner = model_runtime.ModelRunner(model_runtime.PopefPaths(program, weights))
        wrong = []

        def client():
            for _ in range(50):
                result = runner.executeAsync(FEEDS)
                result.wait()
                if not np.array_equal(result["rows"], ROWS):
                    wrong.append(result)

        threads = [threading.Thread(target=client) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_waiting_for_devices(self):
        no_wait = model_runtime.DeviceWaitConfig()
        self.assertEqual((no_wait.strategy, no_wait.timeout, no_wait.sleepTime),
                         (model_runtime.DeviceWaitStrategy.NO_WAIT, datetime.timedelta(0),
                          datetime.timedelta(seconds=15)))
        manager = model_runtime.DeviceManager()
        devices = [manager.get_device(1) for _ in range(manager.get_num_devices())]
        with self.assertRaises(poprt.errors.UnavailableError):
            model_runtime.ModelRunner(self.path)
        timer = threading.Timer(0.05, devices.clear)
        timer.start()
        model_runtime.ModelRunner(self.path, model_runtime.ModelRunnerConfig(
            device_wait_config=model_runtime.DeviceWaitConfig(
                model_runtime.DeviceWaitStrategy.WAIT_FOREVER, sleepTime=datetime.timedelta(milliseconds=10))))
        timer.join()


if __name__ == "__main__":
    unittest.main()
