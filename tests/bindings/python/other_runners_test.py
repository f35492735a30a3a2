"""The further kinds of runners: scenarios 46 to 49 of tests/bindings/README.md."""

import json
import os
import tempfile
import unittest

import numpy as np
from poprt import errors
from poprt.compiler import Compiler, CompilerOptions, Executable
from poprt.runtime import (DeviceManager, HostConcatConfig, HostConcatRunner, HostConcatRunnerConfig, LightRunner,
                           LightRunnerConfig, ModelFusionRunner, PackAlgorithm, PackRunner, PackRunnerConfig,
                           Runner, RuntimeConfig)

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")


def compiled(name, **options):
    return Compiler.compile(os.path.join(DATA, name), None, CompilerOptions(**options))


def affine():
    return compiled("affine.onnx", input_shape={"x": [2, 4]})


class Runners(unittest.TestCase):
    def test_a_runner_without_a_configuration_has_that_of_its_kind(self):
        with self.assertRaisesRegex(errors.InvalidArgumentError, "pack timeout must be more than 0"):
            PackRunner(affine())
        with self.assertRaisesRegex(errors.NotFoundError, "no host_concat_config was given"):
            HostConcatRunner(affine())
        with LightRunner(compiled("weights.onnx", constant_weights=False)) as runner:
            runner.run({d.name: np.ones(d.shape, d.numpy_data_type()) for d in runner.get_inputs()})

    def test_scenario_46_model_fusion_runner(self):
        with ModelFusionRunner(compiled("fused.onnx"), RuntimeConfig(threads=1)) as runner:
            self.assertEqual([d.name for d in runner.get_execute_inputs()], ["graph0/x", "graph1/x"])
            x = np.arange(4, dtype=np.float32)
            for g in range(2):
                y, k = np.empty_like(x), np.zeros(1, np.uint32)
                runner.execute({f"graph{g}/x": x}, {f"graph{g}/y": y, f"graph{g}/k": k})
                np.testing.assert_array_equal(y, (g + 2) * x)
                self.assertEqual(k[0], g)
            with self.assertRaisesRegex(ValueError, "different graphs"):
                runner.execute({"graph0/x": x}, {"graph1/y": y})
        with self.assertRaisesRegex(errors.FailedPreconditionError, "not a fused"):
            ModelFusionRunner(affine(), RuntimeConfig(threads=1))

    def test_scenario_61_fused_models(self):
        fused = Executable.fuse([affine(), compiled("weights.onnx")])
        x = np.arange(8, dtype=np.float32).reshape(2, 4)
        with Runner(fused, RuntimeConfig(threads=1)) as runner:
            self.assertEqual([d.name for d in runner.get_execute_inputs()], ["graph0/x", "graph1/x"])
            for _ in range(3):
                one = runner.run({"graph0/x": x})
                self.assertEqual(list(one), ["graph0/y"])
                np.testing.assert_array_equal(one["graph0/y"], 2 * x + 1)
                two = runner.run(["graph1/y"], {"graph1/x": x})
                np.testing.assert_array_equal(two[0], x * [1, 2, 3, 4] + 1)
            outputs = [{f"graph{i % 2}/y": np.empty_like(x)} for i in range(100)]
            futures = [runner.execute_async({f"graph{i % 2}/x": x + i}, out) for i, out in enumerate(outputs)]
            for i, (future, out) in enumerate(zip(futures, outputs)):
                future.wait()
                np.testing.assert_array_equal(out[f"graph{i % 2}/y"], (x + i) * ([1, 2, 3, 4] if i % 2 else 2) + 1)
            with self.assertRaisesRegex(ValueError, "different graphs"):
                runner.run({"graph0/x": x, "graph1/x": x})
        with self.assertRaisesRegex(ValueError, "several variants"):
            Executable.fuse([fused])
        with self.assertRaisesRegex(ValueError, "no models"):
            Executable.fuse([])
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "fused.onnx")
            Compiler.fuse([os.path.join(DATA, "weights.onnx")] * 2, file)
            both = Compiler.compile(file, None, CompilerOptions(enable_model_fusion=True))
            with Runner(both, RuntimeConfig(threads=1, timeout_ns=0, validate_io_params=False)) as runner:
                np.testing.assert_array_equal(runner.run({"graph1/x": x})["graph1/y"], x * [1, 2, 3, 4] + 1)

    def test_scenario_62_shape_buckets(self):
        executable = compiled("affine.onnx", options={"input_shape": "x=1,4/4,4"})
        with Runner(executable, RuntimeConfig(threads=1)) as runner:
            for rows in range(1, 5):
                x = np.arange(4 * rows, dtype=np.float32).reshape(rows, 4)
                np.testing.assert_array_equal(runner.run({"x": x})["y"], 2 * x + 1)
                y = np.empty_like(x)
                runner.execute_async({"x": x}, {"y": y}).wait()
                np.testing.assert_array_equal(y, 2 * x + 1)
            with self.assertRaisesRegex(ValueError, "is 5: expected 1 to 4"):
                runner.run({"x": np.zeros((5, 4), np.float32)})
            with self.assertRaisesRegex(ValueError, r"'x'.*\[4,5\]"):
                runner.run({"x": np.zeros((4, 5), np.float32)})
            with self.assertRaisesRegex(ValueError, "is 0: expected 1 to 4"):
                runner.run({"x": np.zeros((0, 4), np.float32)})
            buckets = runner.statistics()["shape_buckets"]
            self.assertEqual([(b["requests"], b["padded"]) for b in buckets], [(2, 0), (6, 4)])
        more = compiled("affine.onnx", options={"input_shape": "x=1,4/4,4"}, max_padding=0.4)
        with Runner(more, RuntimeConfig(threads=1)) as runner:
            np.testing.assert_array_equal(runner.run({"x": np.ones((2, 4), np.float32)})["y"], np.full((2, 4), 3, np.float32))
            buckets = runner.statistics()["shape_buckets"]
            self.assertEqual([(b["requests"], b["padded"]) for b in buckets], [(0, 0), (1, 0), (0, 0)])
        for fraction in (-0.1, 0.95, float("nan")):
            with self.assertRaisesRegex(ValueError, "`max_padding` is .*, expected a fraction from 0 to 0.9"):
                compiled("affine.onnx", max_padding=fraction)

    def test_scenario_63_several_ipus(self):
        x = (np.arange(512 * 512, dtype=np.float32) % 7 / 7).reshape(512, 512)
        several = dict(num_ipus=2, virtual_graph_mode="auto", enable_pipelining=True, batches_per_step=2)
        executable = compiled("slow.onnx", **several)
        self.assertEqual(executable.popef_model().metadata.numIpus(), 2)
        with Runner(compiled("slow.onnx"), RuntimeConfig(threads=1)) as runner:
            expected = runner.run({"x": x})["y"]
        with Runner(executable, RuntimeConfig(threads=1)) as runner:
            results = [np.empty_like(x) for _ in range(6)]
            requests = [runner.execute_async({"x": x}, {"y": y}) for y in results]
            for request, y in zip(requests, results):
                request.wait()
                np.testing.assert_array_equal(y, expected)
            np.testing.assert_array_equal(runner.run({"x": x})["y"], expected)
        with self.assertRaisesRegex(ValueError, "virtual_graph_mode"):
            compiled("slow.onnx", num_ipus=2)

    def test_scenario_65_packed_sequences(self):
        executable = compiled("sums.onnx", options={"pack_args": "max_valid_num=4\nsegment_max_size=8"})
        with PackRunner(executable, PackRunnerConfig(timeout_microseconds=5000)) as runner:
            self.assertEqual([d.name for d in runner.get_execute_inputs()], ["x"])
            self.assertEqual([(d.name, list(d.shape)) for d in runner.get_execute_outputs()], [("y", [1, 8])])
            x = [np.arange(1, n + 1, dtype=np.float32)[np.newaxis] for n in (1, 3, 5, 2, 8, 4)]
            y = [np.empty((1, 8), np.float32) for _ in x]
            for future in [runner.execute_async({"x": a}, {"y": b}) for a, b in zip(x, y)]:
                future.wait()
            for a, b in zip(x, y):
                np.testing.assert_array_equal(b[:, :a.shape[1]], a + a.sum())
            with self.assertRaisesRegex(ValueError, "longer than 8"):
                runner.run({"x": np.ones((1, 9), np.float32)})
        with self.assertRaisesRegex(ValueError, "segment_max_size"):
            compiled("sums.onnx", options={"pack_args": "max_valid_num=4"})

    def test_scenario_47_pack_runner(self):
        config = PackRunnerConfig(5000, 16, "x")
        config.algorithm, config.disable_data_across_rows = PackAlgorithm.first_fit, True
        config.compile_batch_size, config.threads = 2, 1
        with PackRunner(affine(), config) as runner:
            x = [np.arange(1 + n % 4, dtype=np.float32) + n for n in range(12)]
            y = [np.empty_like(a) for a in x]
            for future in [runner.execute_async({"x": a}, {"y": b}) for a, b in zip(x, y)]:
                future.wait()
            for a, b in zip(x, y):
                np.testing.assert_array_equal(b, 2 * a + 1)
            five = np.zeros(5, np.float32)
            with self.assertRaisesRegex(ValueError, "longer than 4"):
                runner.execute({"x": five}, {"y": five})
        with self.assertRaisesRegex(ValueError, "timeout"):
            PackRunner(affine(), PackRunnerConfig(0, 16, "x"))
        with self.assertRaises(errors.Error):
            PackRunner(affine(), PackRunnerConfig(1000, 16, "nope"))

    def test_scenario_48_light_runner(self):
        with LightRunner(compiled("weights.onnx", constant_weights=False), LightRunnerConfig(threads=1)) as runner:
            self.assertEqual([d.name for d in runner.get_execute_inputs()], ["x"])
            self.assertEqual({d.name: d.popef_contains_tensor_data for d in runner.get_model_inputs()},
                             {"x": False, "w": True, "b": True})
            x = np.arange(8, dtype=np.float32).reshape(2, 4)
            np.testing.assert_array_equal(runner.run({"x": x})["y"], x * [1, 2, 3, 4] + 1)
            runner.set_input_anchor("w", np.full(4, 5, np.float32))
            runner.update_weights()
            np.testing.assert_array_equal(runner.run({"x": x})["y"], x * 5 + 1)
            for name, error in (("nope", LookupError), ("w", ValueError), ("x", errors.FailedPreconditionError)):
                with self.assertRaises(error):
                    runner.set_input_anchor(name, x)
            for value, found in ((np.zeros(4, np.int32), "s32[4]"), (np.zeros((1, 4, 1), np.float32), "f32[1,4,1]"),
                                 (np.zeros((2, 2), np.float32), "f32[2,2]"), ([1, 2, 3], "f32[3]")):
                with self.assertRaises(ValueError) as caught:
                    runner.set_input_anchor("w", value)
                self.assertEqual(str(caught.exception), f"input 'w': expected f32[4], given {found}")
            for value in ([2, 3, 4, 5], np.arange(2, 10, dtype=np.float32)[:4].repeat(2)[::2]):
                runner.set_input_anchor("w", value)
                runner.update_weights()
                np.testing.assert_array_equal(runner.run({"x": x})["y"], x * [2, 3, 4, 5] + 1)
            runner.set_input_anchor("w", np.full(4, 5, np.float32))
            runner.update_weights()
            runner.stop()
            with self.assertRaises(errors.CancelledError):
                runner.run({"x": x})
            manager = DeviceManager()
            taken = [manager.get_device() for _ in range(manager.get_num_devices())]
            with self.assertRaises(errors.UnavailableError):
                runner.reload()
            for device in taken:
                device.close()
            runner.reload()
            np.testing.assert_array_equal(runner.run({"x": x})["y"], x * 5 + 1)

    def test_scenario_49_host_concat_runner(self):
        config = HostConcatRunnerConfig(threads=1)
        config.host_concat_config["x"] = join = HostConcatConfig(
            tensor_name="x", input_tensor_names=["a", "b"], shape=[2, 4], data_size_bytes=32)
        x, y = np.arange(8, dtype=np.float32), np.empty(8, np.float32)
        for cut, sizes in ((4, []), (3, [12, 20]), (8, [32, 0])):
            join.sizes = sizes
            with HostConcatRunner(affine(), config) as runner:
                y.fill(0)
                runner.execute({"a": x[:cut].tobytes(), "b": x[cut:].tobytes()}, {"y": y.reshape(2, 4)})
            np.testing.assert_array_equal(y, 2 * x + 1)
        for sizes, message in (([32], "2 inputs"), ([12, 21], "33"), ([2**63, 2**63 + 32], None)):
            join.sizes = sizes
            with self.assertRaisesRegex((ValueError, errors.Error), message or ""):
                HostConcatRunner(affine(), config)
        join.sizes = [-1, 33]
        with self.assertRaises(OverflowError):
            HostConcatRunner(affine(), config)
        join.sizes = []
        with self.assertRaisesRegex(errors.NotFoundError, "HostConcatRunnerConfig"):
            HostConcatRunner(affine(), HostConcatRunnerConfig(threads=1))
        blob = {"x": {"tensor_name": "x", "input_tensor_names": ["a", "b"], "shape": [2, 4], "data_size_bytes": 32}}
        model = compiled("affine.onnx", input_shape={"x": [2, 4]},
                         opaque_blobs={"HostConcatRunnerConfig": json.dumps(blob)})
        with HostConcatRunner(model, HostConcatRunnerConfig(threads=1)) as runner:
            y.fill(0)
            runner.execute({"a": x[:4], "b": x[4:]}, {"y": y.reshape(2, 4)})
        np.testing.assert_array_equal(y, 2 * x + 1)
        join.tensor_name = "z"
        with self.assertRaisesRegex(errors.NotFoundError, "'z'"):
            HostConcatRunner(affine(), config)
