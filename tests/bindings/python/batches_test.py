"""Models compiled with batches_per_step and num_io_tiles: results are those of one batch at a time, for each kind of runner."""

import functools
import os
import threading
import unittest

import numpy as np
from poprt.compiler import Compiler, CompilerOptions
from poprt.runtime import Runner, RuntimeConfig

BINDINGS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIGITS = os.path.join(os.path.dirname(os.path.dirname(BINDINGS)), "examples", "digits", "digits.onnx")
MODELS = {
    "digits": (DIGITS, {"image": [2, 1, 8, 8]}),
    "affine": (os.path.join(BINDINGS, "data", "affine.onnx"), {"x": [4, 4]}),
    "slow": (os.path.join(BINDINGS, "data", "slow.onnx"), {}),
}
CHOICES = [(batches, tiles) for batches in (1, 3, 4) for tiles in (0, 32)]
REQUESTS = 24  # a multiple of every step


@functools.cache
def compiled(name, batches=1, tiles=0):
    path, shapes = MODELS[name]
    return Compiler.compile(path, None, CompilerOptions(input_shape=shapes, batches_per_step=batches, num_io_tiles=tiles))


def memory(runner, rng, rows=None):
    """Random inputs and empty outputs of a request, with ``rows`` rows if that is given."""
    def shape(anchor):
        return [rows, *anchor.shape[1:]] if rows else list(anchor.shape)
    return ({d.name: rng.standard_normal(shape(d), dtype=np.float32) for d in runner.get_execute_inputs()},
            {d.name: np.full(shape(d), np.nan, np.float32) for d in runner.get_execute_outputs()})


@functools.cache
def expected(name):
    """Requests, and the answers of a file with one batch in a step."""
    rng = np.random.default_rng(1)
    with Runner(compiled(name), RuntimeConfig(threads=1)) as plain:
        given = [memory(plain, rng)[0] for _ in range(REQUESTS)]
        return given, [plain.run(inputs) for inputs in given]


class Batches(unittest.TestCase):
    def equal(self, outputs, expected):
        for name, value in expected.items():
            np.testing.assert_array_equal(outputs[name], value)

    def each(self, name):
        """An executable for every choice, with requests and the answers of a file with one batch in a step."""
        for batches, tiles in CHOICES:
            executable = compiled(name, batches, tiles)
            self.assertEqual(executable.popef_model().metadata.deviceIterations(), batches)
            yield executable, batches, *expected(name)

    def test_one_call_after_the_other(self):
        for name in MODELS:
            for executable, _, given, answers in self.each(name):
                # The step is not full, and no other request would complete it.
                with Runner(executable, RuntimeConfig(threads=1, timeout_ns=0)) as runner:
                    for inputs, answer in zip(given[:5], answers):
                        self.equal(runner.run(inputs), answer)

    def test_a_call_on_a_replica_does_not_wait_for_a_full_step(self):
        # The runner has no timeout, so a call that waited for a full step would never end.
        given, answers = expected("affine")
        with Runner(compiled("affine", 4), RuntimeConfig(replication_factor=2, timeout_ns=0)) as runner:
            _, outputs = memory(runner, np.random.default_rng(1))
            for i in range(6):
                runner.execute(given[i], outputs, replica=i % 2)
                self.equal(outputs, answers[i])
            self.assertEqual([r["completed"] for r in runner.statistics()["replicas"]], [3, 3])

    def test_requests_in_flight_fill_steps(self):
        for name in MODELS:
            for executable, batches, given, answers in self.each(name):
                with Runner(executable, RuntimeConfig(threads=1, timeout_ns=0)) as runner:
                    outputs = [{n: np.empty_like(a) for n, a in answer.items()} for answer in answers]
                    for request in [runner.execute_async(i, o) for i, o in zip(given, outputs)]:
                        request.wait()
                    for out, answer in zip(outputs, answers):
                        self.equal(out, answer)
                    counts = runner.statistics()
                    self.assertEqual((counts["batches"], counts["steps"]), (REQUESTS, REQUESTS // batches))

    def test_a_step_that_is_not_full_goes_after_the_timeout(self):
        for executable, _, given, answers in self.each("affine"):
            with Runner(executable, RuntimeConfig(threads=1, timeout_ns=1_000_000)) as runner:
                outputs = {n: np.empty_like(a) for n, a in answers[0].items()}
                runner.execute_async(given[0], outputs).wait(60)
                self.equal(outputs, answers[0])

    def test_several_threads(self):
        for executable, _, given, answers in self.each("digits"):
            with Runner(executable, RuntimeConfig(threads=1)) as runner:
                wrong = []

                def client(own, runner=runner, given=given, answers=answers, wrong=wrong):
                    for k in range(own, REQUESTS, 3):
                        answer = runner.run(given[k])
                        wrong.extend(n for n, a in answers[k].items() if not np.array_equal(answer[n], a))

                clients = [threading.Thread(target=client, args=(n,)) for n in range(3)]
                for thread in clients:
                    thread.start()
                for thread in clients:
                    thread.join()
                self.assertEqual(wrong, [])

    def test_requests_of_any_number_of_rows(self):
        for name in ("digits", "affine"):
            for executable, *_ in self.each(name):
                rng = np.random.default_rng(2)
                with Runner(compiled(name), RuntimeConfig(threads=1, batching_dim=0, timeout_ns=100_000)) as plain, \
                        Runner(executable, RuntimeConfig(threads=1, batching_dim=0, timeout_ns=1_000_000)) as runner:
                    asked = [memory(plain, rng, int(rows)) for rows in rng.integers(1, 14, 40)]
                    requests = [runner.execute_async(*one) for one in asked]
                    for request, (inputs, outputs) in zip(requests, asked):
                        request.wait()
                        self.equal(outputs, plain.run(inputs))


class SharedBatches(unittest.TestCase):
    """Requests of several callers in one batch (batching_dim) never change each other's results."""

    def test_a_model_with_separate_rows_is_served(self):
        executable = compiled("affine")
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        with Runner(executable, RuntimeConfig(threads=1, batching_dim=0, timeout_ns=1000)) as runner:
            rows = runner.run({"x": x})["y"]
        with Runner(executable, RuntimeConfig(threads=1)) as runner:
            whole = runner.run({"x": np.concatenate([x, x[:1]])})["y"]
        np.testing.assert_array_equal(rows, whole[:3])



if __name__ == "__main__":
    unittest.main()
