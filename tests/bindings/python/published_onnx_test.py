"""Programs in the forms of PopRT's and Model Runtime's published scripts."""

import datetime
import json
import os
import tempfile
import unittest

import model_runtime
import numpy as np
import onnx
import onnx_models as m
import popef
import poprt
from onnx_models import node
from poprt import runtime
from poprt.compiler import Compiler, CompilerOptions, Executable
from poprt.errors import InvalidArgumentError, NotFoundError, UnavailableError
from poprt.optimizer import Optimizer
from poprt.profile import Profiler, get_model_flops

FLOAT = onnx.TensorProto.FLOAT


def affine(batch=2):
    """y = 2x + 1, with a value in between."""
    return m.make([node("Mul", ["x", "two"], ["d"]), node("Add", ["d", "one"], ["y"])], {"x": [batch, 4]}, {"y": [batch, 4]},
                  {"two": np.full(4, 2, np.float32), "one": np.ones(4, np.float32)})


def rows(count):
    return np.arange(count * 4, dtype=np.float32).reshape(count, 4)


def read_model(model, folder, **options):
    """Compiles `model` and returns the popef.Model of the file."""
    path = os.path.join(folder, "model.popef")
    Compiler.compile(model.SerializeToString(), None, CompilerOptions(**options)).save(path)
    reader = popef.Reader()
    reader.parseFile(path)
    return popef.ModelBuilder(reader).createModel()


class Passes(unittest.TestCase):
    def test_merged_inputs_are_tuples(self):
        model = m.make([node("Add", ["a", "b"], ["s"]), node("Add", ["s", "c"], ["y"])], {n: [2, 1] for n in "abc"}, {"y": [2, 1]})
        for merged, inputs in (([(FLOAT, (2, 1), 50)], ["hcsr_a"]), ([("fp32", (2, 1), 2)], ["c", "hcsr_a"]), ((FLOAT, (2, 1)), ["hcsr_a"]),
                               ([(np.float32, [2, 1], None)], ["hcsr_a"]), (["fp32,[2,1],3"], ["hcsr_a"])):
            with self.subTest(merged=merged):
                made = poprt.get_pass("apply_host_concat_split", merged).run(model)
                self.assertEqual(sorted(i.name for i in made.graph.input), inputs)

    def test_a_script_may_change_the_batch_after_a_pass(self):
        passes = ["constant_folding", "eliminate_deadend"]
        for made in (Optimizer(passes).run(affine()), poprt.get_pass("constant_folding").run(affine()), poprt.PassManager(passes).run(affine())):
            self.assertEqual(len(made.graph.value_info), 0)
            for value in (*made.graph.input, *made.graph.output):
                value.type.tensor_type.shape.dim[0].dim_value = 5
            onnx.checker.check_model(made)
            onnx.shape_inference.infer_shapes(made, strict_mode=True)
            with runtime.Runner(Compiler.compile(made, ["y"])) as runner:
                np.testing.assert_array_equal(runner.run({"x": rows(5)})["y"], 2 * rows(5) + 1)
        known = onnx.shape_inference.infer_shapes(affine())
        self.assertEqual([v.name for v in Optimizer(passes).run(known).graph.value_info], ["d"])
        self.assertIn("d", [v.name for v in poprt.get_pass("shape_inference").run(affine()).graph.value_info])


class Times(unittest.TestCase):
    def test_a_time_is_a_timedelta(self):
        second = datetime.timedelta(seconds=1)
        self.assertEqual(runtime.PackRunnerConfig(second).timeout_microseconds, 1_000_000)
        config = runtime.PackRunnerConfig()
        config.timeout_microseconds = datetime.timedelta(milliseconds=2)
        self.assertEqual(config.timeout_microseconds, 2000)
        self.assertEqual(runtime.DeviceWaitConfig(second, 2 * second).sleep_time_sec, 2)
        self.assertEqual(runtime.HostConcatRunnerConfig(timeout_ns=second).timeout_ns, 10**9)
        self.assertEqual(runtime.RequestOptions(timeout_ns=second).timeout_ns, 10**9)
        with runtime.Runner(Compiler.compile(affine().SerializeToString())) as runner:
            output = {"y": np.zeros((2, 4), np.float32)}
            runner.execute_async({"x": rows(2)}, output, begin_within=100 * second).wait(100 * second)
            np.testing.assert_array_equal(output["y"], 2 * rows(2) + 1)

    def test_queues_wait_for_a_timedelta(self):
        with model_runtime.Session(Compiler.compile(affine().SerializeToString())) as session:
            called = []

            def pad(queue):
                called.append(queue)
                queue.enqueue(rows(2))
            queues = session.createQueueManager(4, pad, datetime.timedelta(milliseconds=1))
            y = np.zeros((2, 4), np.float32)
            queues.outputQueue("y").enqueue(y)
            session.runLoadPrograms()
            session.runMainPrograms()
            self.assertEqual(len(called), 1)
            np.testing.assert_array_equal(y, 2 * rows(2) + 1)


class Models(unittest.TestCase):
    def test_runners_and_sessions_take_a_popef_model(self):
        with tempfile.TemporaryDirectory() as folder:
            model = read_model(affine(), folder)
            for make in (runtime.Runner, runtime.ModelRunner, Executable):
                made = make(model)
                with made if make is not Executable else runtime.Runner(made) as runner:
                    np.testing.assert_array_equal(runner.run({"x": rows(2)})["y"], 2 * rows(2) + 1)
            with model_runtime.ModelRunner(model) as runner:
                np.testing.assert_array_equal(runner.execute({"x": rows(2)})["y"], 2 * rows(2) + 1)
            with model_runtime.Session(model) as session:
                self.assertEqual([a.name for a in session.getUserInputAnchors()], ["x"])

    def test_async_runs_have_as_many_rows_as_their_inputs(self):
        with model_runtime.ModelRunner(Compiler.compile(affine().SerializeToString())) as runner:
            inputs = model_runtime.InputMemoryView()
            for count in (2, 6):
                inputs["x"] = rows(count)
                result = runner.executeAsync(inputs)
                result.wait()
                np.testing.assert_array_equal(result["y"].reshape(-1, 4), 2 * rows(count) + 1)
                np.testing.assert_array_equal(np.reshape(runner.execute(inputs)["y"], (-1, 4)), 2 * rows(count) + 1)

    def test_types_are_those_of_onnx_runtime(self):
        kinds = {"x": (FLOAT, "tensor(float)"), "i": (m.INT64, "tensor(int64)"), "h": (m.FLOAT16, "tensor(float16)"),
                 "b": (onnx.TensorProto.BOOL, "tensor(bool)")}
        model = m.make([node("Identity", [n], [n + "_out"]) for n in kinds], {n: ([2], k) for n, (k, _) in kinds.items()},
                       {n + "_out": ([2], k) for n, (k, _) in kinds.items()})
        with runtime.Runner(Compiler.compile(model.SerializeToString())) as runner:
            self.assertEqual({d.name: d.type for d in runner.get_inputs()}, {n: t for n, (_, t) in kinds.items()})

    def test_the_metadata_has_one_ipu_version(self):
        for version, number in (("ipu2", 2), ("ipu21", 21)):
            with tempfile.TemporaryDirectory() as folder:
                metadata = read_model(affine(), folder, ipu_version=version).metadata
                self.assertEqual(metadata.ipuVersion(), number)
                self.assertEqual([o.value() for o in metadata.engineOptions() if o.name() == "ipu_version"], [version])
                with runtime.Runner(os.path.join(folder, "model.popef")) as runner:
                    np.testing.assert_array_equal(runner.run({"x": rows(2)})["y"], 2 * rows(2) + 1)

    def test_a_serialised_ir_lists_the_operators_of_each_graph(self):
        model = m.make([node("Neg", ["X"], ["Y"])], {"X": [3, 2]}, {"Y": [3, 2]})
        model.graph.name = "single-relu"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ir.json")
            Compiler.compile(model.SerializeToString(), ["Y"], CompilerOptions(serialize_ir=True, serialized_ir_dest=path))
            with open(path, encoding="utf-8") as file:
                ir = json.load(file)
            self.assertEqual(len(list(filter(lambda op: "Neg" in op["type"], ir["single-relu"]))), 1)


class Fused(unittest.TestCase):
    def test_a_request_may_have_the_index(self):
        fused = Executable.fuse([Compiler.compile(affine(count).SerializeToString()) for count in (2, 3)])
        for validate in (True, False):
            with runtime.Runner(fused, runtime.RuntimeConfig(validate_io_params=validate)) as runner:
                for kind in (np.uint8, np.int32, np.uint32, np.int64):
                    y = np.zeros((3, 4), np.float32)
                    runner.execute({"index": np.array([1], kind), "graph1/x": rows(3)}, {"graph1/y": y})
                    np.testing.assert_array_equal(y, 2 * rows(3) + 1)
                    with self.assertRaisesRegex(InvalidArgumentError, "'index' is 0, but the other anchors are graph 1's"):
                        runner.execute({"index": np.array([0], kind), "graph1/x": rows(3)}, {"graph1/y": y})
                with self.assertRaisesRegex(InvalidArgumentError, "'index': expected 4 bytes, given 2"):
                    runner.execute({"index": np.array([1], np.int16), "graph1/x": rows(3)}, {"graph1/y": y})
                if validate:
                    with self.assertRaisesRegex(NotFoundError, "nope"):
                        runner.execute({"nope": rows(3), "graph1/x": rows(3)}, {"graph1/y": y})


class Devices(unittest.TestCase):
    def test_managers_have_the_names_of_model_runtime(self):
        manager = model_runtime.DeviceManager(2)
        self.assertEqual((manager.getNumDevices(), manager.ipuHardwareVersion()), (2, "ipu21"))
        with tempfile.TemporaryDirectory() as folder:
            model = read_model(affine(), folder)
            device = manager.getDevice(model)
            self.assertEqual(device.num_ipus(), 1)
            other = manager.getDevice()
            wait = model_runtime.DeviceWaitConfig(datetime.timedelta(milliseconds=1), datetime.timedelta(milliseconds=1))
            for config in (None, model_runtime.DeviceWaitConfig(), wait):
                with self.assertRaises(UnavailableError):
                    manager.getDevice(1, config)
            self.assertEqual(manager.createSmallIpuModelDevice(model).ipu_version(), 21)
            self.assertEqual(manager.createIpuModelDevice(2, 2, 8).tiles_per_ipu(), 8)
            number = other.id()
            other.close()
            del other
            self.assertEqual(manager.getSpecificDevice(number, model).id(), number)


class Costs(unittest.TestCase):
    def test_counts_accept_unknown_shapes(self):
        matmul = Profiler().get_profiler("MatMul")
        op = node("MatMul", ["a", "b"], ["c"])
        self.assertEqual(matmul(op, [["batch", 3], [3, 5]], [[None, 5]]), 2 * 3 * 5)
        self.assertEqual(matmul(op, [None, [3, 5]], [None]), 0)
        self.assertEqual(matmul(op, [[], []], [[]]), 0)
        self.assertEqual(Profiler().get_profiler("Relu")(node("Relu", ["x"], ["y"]), [[-1, 4]], [[-1, 4]]), 4)

    def test_variable_dimensions_count_as_one(self):
        model = affine("batch")
        model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "batch"
        before = model.SerializeToString()
        with self.assertLogs("poprt", "WARNING") as logs:
            self.assertEqual(get_model_flops(model), 8)
        self.assertIn("count as 1", logs.output[0])
        self.assertEqual(model.SerializeToString(), before)


if __name__ == "__main__":
    unittest.main()
