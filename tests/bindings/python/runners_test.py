"""Runner configuration, and the runners other than ModelRunner, by their documented names."""

import asyncio
import gc
import os
import threading
import time
import unittest
import weakref
from concurrent import futures

import numpy as np
import poprt
from poprt.compiler import Compiler, CompilerOptions
from poprt.runtime import (DeviceManager, HostConcatConfig, HostConcatRunner, HostConcatRunnerConfig, LightRunner,
                           LightRunnerConfig, ModelRunner, PackAlgorithm, PackRunner, PackRunnerConfig, Runner,
                           RuntimeConfig)

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(os.path.dirname(HERE), "data")


def affine(rows):
    return Compiler.compile(os.path.join(DATA, "affine.onnx"), None, CompilerOptions(input_shape={"x": [rows, 4]}))


class DynamicBatch(unittest.TestCase):
    def test_any_number_of_rows(self):
        """PopRT's dynamic_batch_size example: a model of 4 rows, requests of 1, 4 and 7 rows."""
        runner = Runner(affine(4), RuntimeConfig(batching_dim=0, timeout_ns=300_000, threads=1))
        for rows in (1, 4, 7):
            x = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
            y = np.empty_like(x)
            runner.execute({"x": x}, {"y": y})
            np.testing.assert_array_equal(y, 2 * x + 1)

    def test_scenario_132_a_runner_is_closed_while_a_batch_waits(self):
        def patient():  # incomplete batches wait without limit
            return Runner(affine(4), RuntimeConfig(batching_dim=0, timeout_ns=0, threads=1))

        x = np.arange(4, dtype=np.float32).reshape(1, 4)
        first, second, failures = np.empty_like(x), np.empty_like(x), []

        def run():
            try:
                runner.execute({"x": x}, {"y": second})
            except Exception as e:
                failures.append(e)

        runner = patient()
        future = runner.execute_async({"x": x}, {"y": first})
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        while runner.statistics()["submitted"] < 2:
            time.sleep(0.001)
        self.assertFalse(future.done())
        runner.close()
        future.result(timeout=60)
        thread.join(60)
        self.assertEqual((thread.is_alive(), failures), (False, []))
        np.testing.assert_array_equal(first, 2 * x + 1)
        np.testing.assert_array_equal(second, 2 * x + 1)
        with patient() as drained:
            drained.drain()
            drained.execute_async({"x": x}, {"y": first}).result(timeout=60)

    def test_whole_batches_without_it(self):
        runner = Runner(affine(2), RuntimeConfig(threads=1))
        x = np.arange(24, dtype=np.float32).reshape(6, 4)
        y = np.empty_like(x)
        runner.execute({"x": x}, {"y": y})
        np.testing.assert_array_equal(y, 2 * x + 1)
        with self.assertRaises(ValueError):
            runner.execute({"x": x[:5]}, {"y": y[:5]})

    def test_frozen_inputs_are_not_given(self):
        x = np.arange(8, dtype=np.float32).reshape(2, 4)
        runner = Runner(affine(2), RuntimeConfig(frozen_inputs={"x": x}, threads=1))
        described, = runner.get_execute_inputs()
        self.assertTrue(described.popef_contains_tensor_data)
        y = np.empty_like(x)
        runner.execute({}, {"y": y})
        np.testing.assert_array_equal(y, 2 * x + 1)

    def test_memory_that_pads_is_kept_by_bindings_and_runs(self):
        def made(use):
            pad = np.zeros((4, 4), np.float32)
            runner = Runner(affine(4), RuntimeConfig(batching_dim=0, timeout_ns=1000, threads=1,
                                                     flush_by_name=({"x": pad}, {"y": np.zeros((4, 4), np.float32)})))
            return weakref.ref(pad), use(runner)

        x, y = np.ones((1, 4), np.float32), np.empty((1, 4), np.float32)
        pad, binding = made(lambda runner: runner.bind({"x": x}, {"y": y}))
        gc.collect()
        self.assertIsNotNone(pad())
        binding()
        np.testing.assert_array_equal(y, 2 * x + 1)
        del binding
        gc.collect()
        self.assertIsNone(pad())
        pad, future = made(lambda runner: runner.execute_async({"x": x + 1}, {"y": y}))
        future.wait(60)
        np.testing.assert_array_equal(y, 2 * (x + 1) + 1)

    def test_configurations_are_not_changed(self):
        config = RuntimeConfig(threads=1)
        with self.assertRaises(poprt.errors.Error):
            poprt.runtime.ModelFusionRunner(affine(2), config).run({"x": np.ones((3, 3, 3), np.float32)})
        self.assertEqual(config.runner_type, poprt.runtime.RunnerType.ModelRunner)
        with self.assertRaisesRegex(poprt.errors.InvalidArgumentError, "give a PackRunnerConfig"):
            ModelRunner(affine(2), RuntimeConfig(runner_type=poprt.runtime.RunnerType.PackRunner))

    def test_replicas_take_devices(self):
        runner = Runner(affine(2), RuntimeConfig(replication_factor=2, threads=1))
        manager = DeviceManager()
        left = []
        with self.assertRaises(poprt.errors.UnavailableError):
            for _ in range(manager.get_num_devices()):
                left.append(manager.get_device(1))
        self.assertEqual(len(left), manager.get_num_devices() - 2)
        x = np.ones((2, 4), np.float32)
        np.testing.assert_array_equal(runner.run({"x": x})["y"], 2 * x + 1)

    def test_statistics(self):
        runner = Runner(affine(2), RuntimeConfig(threads=1))
        for _ in range(3):
            runner.run({"x": np.ones((2, 4), np.float32)})
        self.assertIn("replicas", runner.statistics())
        self.assertEqual(runner.tracepoints(), [])

    def test_numbers_out_of_range(self):
        with self.assertRaises(OverflowError):
            Runner(affine(2), RuntimeConfig(threads=2**40))
        with self.assertRaises(poprt.errors.InvalidArgumentError):
            Runner(affine(2), RuntimeConfig(threads=-1))


class Cancellation(unittest.TestCase):
    def test_a_request_that_has_not_begun(self):
        runner = Runner(Compiler.compile(os.path.join(DATA, "slow.onnx")), RuntimeConfig(threads=1))
        memory = [({"x": np.zeros((512, 512), np.float32)}, {"y": np.empty((512, 512), np.float32)}) for _ in range(8)]
        submitted = [runner.execute_async(*m) for m in memory]
        self.assertTrue(submitted[-1].cancel())
        with self.assertRaises(futures.CancelledError):
            submitted[-1].wait()
        for future in submitted[:-1]:
            future.wait()
        self.assertFalse(submitted[0].cancel())


class Packing(unittest.TestCase):
    def test_requests_of_variable_length(self):
        """Rows have 4 places; y is 2 x + 1 at the places of each request."""
        config = PackRunnerConfig(timeout_microseconds=5000, max_valid_num=16, dynamic_input_name="x")
        config.algorithm = PackAlgorithm.first_fit
        config.threads = 1
        runner = Runner(affine(2), config)
        self.assertIsInstance(runner, PackRunner)

        def client(k):
            x = np.arange(1 + k % 4, dtype=np.float32) + k
            y = np.empty_like(x)
            runner.execute({"x": x}, {"y": y})
            return np.array_equal(y, 2 * x + 1)

        with futures.ThreadPoolExecutor(4) as pool:
            self.assertTrue(all(pool.map(client, range(40))))

    def test_options(self):
        config = PackRunnerConfig(timeout_microseconds=100, max_valid_num=3, dynamic_input_name="ids")
        config.enable_padding_remove_mode("mask", ["ids", "types"])
        self.assertEqual((config.mask_name, config.dynamic_group), ("mask", ["ids", "types"]))
        config.enable_input_single_row_mode("mask", "", 1)
        self.assertEqual((config.disable_data_across_rows, config.delimiter_num), (True, 1))
        with self.assertRaises(poprt.errors.Error):
            Runner(affine(2), config)  # the model has no input of that name


class Light(unittest.TestCase):
    def test_stop_and_reload(self):
        runner = LightRunner(affine(2), LightRunnerConfig())
        x = np.ones((2, 4), np.float32)
        np.testing.assert_array_equal(runner.run({"x": x})["y"], 3)
        self.assertEqual([d.name for d in runner.get_model_inputs() if not d.popef_contains_tensor_data], ["x"])
        runner.stop()
        with self.assertRaises(poprt.errors.CancelledError):
            runner.run({"x": x})
        runner.reload()
        np.testing.assert_array_equal(runner.run({"x": x})["y"], 3)
        with self.assertRaises(LookupError):
            runner.set_input_anchor("nope", x)

    def test_reload_is_a_light_runners(self):
        runner = ModelRunner(affine(2), RuntimeConfig(threads=1))
        with self.assertRaises(ValueError):
            LightRunner.reload(runner)


class HostConcat(unittest.TestCase):
    def test_inputs_are_joined(self):
        config = HostConcatRunnerConfig(threads=1)
        config.host_concat_config = {"x": HostConcatConfig(
            tensor_name="x", input_tensor_names=["first", "second"], shape=[2, 4], data_size_bytes=32)}
        runner = Runner(affine(2), config)
        self.assertIsInstance(runner, HostConcatRunner)
        first, second = np.arange(4, dtype=np.float32), np.arange(4, 8, dtype=np.float32)
        y = np.empty((2, 4), np.float32)
        runner.execute({"first": first, "second": second}, {"y": y})
        np.testing.assert_array_equal(y.ravel(), 2 * np.arange(8) + 1)

    def test_without_a_configuration(self):
        with self.assertRaises(poprt.errors.NotFoundError):
            Runner(affine(2), HostConcatRunnerConfig())


class Threads(unittest.TestCase):
    def test_partial_batches_of_several_clients_are_merged(self):
        runner = Runner(affine(4), RuntimeConfig(batching_dim=0, timeout_ns=20_000_000, threads=1))
        start = threading.Barrier(4)

        def client(k):
            x = np.full((1, 4), k, np.float32)
            y = np.empty_like(x)
            start.wait()
            runner.execute({"x": x}, {"y": y})
            return np.array_equal(y, 2 * x + 1)

        with futures.ThreadPoolExecutor(4) as pool:
            self.assertTrue(all(pool.map(client, range(4))))


class Submission(unittest.TestCase):
    """Submitting never blocks; a future is a standard one."""

    def blocked(self, **config):
        """A runner whose batch of two rows waits for a second row without limit."""
        return Runner(affine(2), RuntimeConfig(batching_dim=0, timeout_ns=0, queue_depth=1, threads=1, **config))

    @staticmethod
    def row(value):
        return {"x": np.full((1, 4), value, np.float32)}, {"y": np.empty((1, 4), np.float32)}

    def test_a_full_queue_loses_no_request(self):
        runner = Runner(affine(1), RuntimeConfig(queue_depth=1, threads=1))
        x = np.ones((1, 4), np.float32)
        runs = [runner.execute_async({"x": x * i}, {"y": np.empty((1, 4), np.float32)}) for i in range(2000)]
        for i, run in enumerate(runs):
            np.testing.assert_array_equal(run.result()["y"], 2 * x * i + 1)

    def test_late_requests_end_in_line(self):
        runner = self.blocked()
        first = runner.execute_async(*self.row(0))
        late = [runner.execute_async(*self.row(i), begin_within=0.01) for i in range(100)]
        for run in late:
            with self.assertRaises(TimeoutError):
                run.result()
        self.assertEqual(runner.statistics()["timed_out"], 100)
        self.assertEqual(runner.statistics()["in_flight"], 1)
        self.assertTrue(first.cancel())

    def test_cancelled_futures_are_standard_ones(self):
        run = self.blocked().execute_async(*self.row(0))
        self.assertFalse(run.cancelled())
        self.assertTrue(run.cancel())
        self.assertTrue(run.cancelled())
        self.assertTrue(run.cancel())
        self.assertEqual(futures.wait([run], 10).done, {run})
        with self.assertRaises(futures.CancelledError):
            run.result()
        with self.assertRaises(poprt.errors.CancelledError):
            run.wait()

    def test_futures_can_be_awaited(self):
        runner = Runner(affine(1), RuntimeConfig(queue_depth=1, threads=1))

        async def serve():
            beats = 0

            async def heart():
                nonlocal beats
                while True:
                    beats += 1
                    await asyncio.sleep(0)

            beating = asyncio.create_task(heart())
            x = np.ones((1, 4), np.float32)
            answers = await asyncio.gather(*(runner.submit({"x": x * i}) for i in range(500)))
            beating.cancel()
            for i, outputs in enumerate(answers):
                np.testing.assert_array_equal(outputs["y"], 2 * x * i + 1)
            mine = np.empty((1, 4), np.float32)
            np.testing.assert_array_equal((await runner.execute_async({"x": x}, {"y": mine}))["y"], 2 * x + 1)
            return beats

        self.assertGreater(asyncio.run(serve()), 1)

    def test_a_cancelled_task_cancels_its_request(self):
        runner = self.blocked()

        async def serve():
            task = asyncio.create_task(runner.submit(*self.row(0)))
            while runner.statistics()["in_flight"] == 0:
                await asyncio.sleep(0.001)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(serve())
        self.assertEqual(runner.statistics()["cancelled"], 1)


if __name__ == "__main__":
    unittest.main()
