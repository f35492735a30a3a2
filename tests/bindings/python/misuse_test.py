"""Mistakes of Python programs, with errors in the terms of the caller; objects that are copied, pickled, or used after a fork."""

import asyncio
import copy
import math
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import unittest

import model_runtime
import numpy as np
import popef
import poprt
from poprt import errors
from poprt.compiler import Compiler, CompilerOptions, Executable
from poprt.runtime import DeviceManager, Runner, RuntimeConfig

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data")


def affine():
    return Compiler.compile(os.path.join(DATA, "affine.onnx"), None, CompilerOptions(input_shape={"x": [2, 4]}))


def counting():
    return np.arange(8, dtype=np.float32).reshape(2, 4)


EXPECTED = 2 * counting() + 1


class Strided:
    """An array of another package that is not contiguous."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Words(unittest.TestCase):
    def setUp(self):
        self.runner = Runner(affine(), RuntimeConfig(threads=1))
        self.addCleanup(self.runner.close)

    def refused(self, kind, call, text):
        with self.assertRaises(kind) as caught:
            call()
        self.assertIn(text, str(caught.exception))

    def test_errors_name_the_wrong_name_for_any_value(self):
        for value in (1, [1], counting(), None, "text"):
            self.refused(errors.NotFoundError, lambda: self.runner.run({"nope": value}), "there is no input 'nope'; inputs are: 'x'")
            self.refused(errors.NotFoundError, lambda: self.runner.execute({"x": counting()}, {"nope": value}),
                         "there is no output 'nope'; outputs are: 'y'")

    def test_memory_of_other_packages_that_cannot_be_written(self):
        y = Strided(np.zeros((2, 8), np.float32)[:, ::2])
        self.refused(errors.InvalidArgumentError, lambda: self.runner.execute({"x": counting()}, {"y": y}),
                     "output 'y': the Strided is not C-contiguous; results are written to its memory directly")
        np.testing.assert_array_equal(self.runner.run({"x": Strided(np.asfortranarray(counting()))})["y"], EXPECTED)

    def test_a_binding_of_a_closed_runner(self):
        y = np.zeros((2, 4), np.float32)
        bound = self.runner.bind({"x": counting()}, {"y": y})
        bound.execute()
        np.testing.assert_array_equal(y, EXPECTED)
        y[:] = 0
        self.runner.close()
        self.refused(ValueError, bound.execute, "the runner is closed")
        np.testing.assert_array_equal(y, 0)

    def test_bytes_are_no_path(self):
        path = os.fsencode(os.path.join(DATA, "affine.onnx"))
        with tempfile.NamedTemporaryFile() as file:
            for given in (path, bytearray(path), b"nowhere.onnx", b"nowhere.popef", os.fsencode(file.name)):
                for call in (Runner, Executable, Compiler.compile):
                    self.refused(errors.InvalidArgumentError, lambda: call(given), "bytes are the contents of a file, given the path")
        with open(os.path.join(DATA, "affine.onnx"), "rb") as file:
            Compiler.compile(file.read(), None, CompilerOptions(input_shape={"x": [2, 4]}))

    def test_memory_for_copies_is_exhausted(self):
        # The address space is limited in another process. The input has 3.6 GB and one element of memory.
        script = """
import resource, sys
import numpy as np
from poprt import errors
from poprt.compiler import Compiler, CompilerOptions
from poprt.runtime import Runner, RuntimeConfig
runner = Runner(Compiler.compile(sys.argv[1], None, CompilerOptions(input_shape={"x": [2, 4]})), RuntimeConfig(threads=1))
with open("/proc/self/statm") as file:
    size = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 1_000_000_000,) * 2)
x, y = np.broadcast_to(np.float32(1), (225_000_000, 4)), np.zeros((2, 4), np.float32)
for call in (lambda: runner.run({"x": x}), lambda: runner.execute({"x": x}, {"y": y}), lambda: runner.execute_async({"x": x}, {"y": y})):
    try:
        call()
    except errors.ResourceExhaustedError as error:
        assert "out of memory" in str(error), error
    else:
        raise AssertionError("no error")
print(runner.run({"x": np.ones((2, 4), np.float32)})["y"][0, 0])
"""
        done = subprocess.run([sys.executable, "-c", script, os.path.join(DATA, "affine.onnx")], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "3.0\n"), done.stderr)

    def test_inputs_and_outputs_are_dicts(self):
        for wrong in (None, counting(), "x", [1]):
            for call in (lambda: self.runner.execute({"x": counting()}, wrong), lambda: self.runner.execute(wrong, {}),
                         lambda: self.runner.execute_async({"x": counting()}, wrong), lambda: self.runner.bind(wrong, {}),
                         lambda: self.runner.bind({"x": counting()}, wrong), lambda: asyncio.run(self.runner.submit(wrong)),
                         lambda: asyncio.run(self.runner.submit({"x": counting()}, 3 if wrong is None else wrong))):
                self.refused(TypeError, call, "of name to array, given ")

    def test_a_misspelt_option_is_guessed(self):
        for make, wrong, right in ((RuntimeConfig, "threds", "threads"), (CompilerOptions, "batchsize", "batch_size")):
            with self.assertRaisesRegex(TypeError, f"{make.__name__} has no option '{wrong}'; did you mean '{right}'\\?$"):
                make(**{wrong: 1})
        with self.assertRaisesRegex(TypeError, "has no option 'nonsense_without_end'; options are: "):
            RuntimeConfig(nonsense_without_end=1)
        with self.assertRaisesRegex(TypeError, "CompilerOptions has no option 'threads'; it is an option of RuntimeConfig$"):
            CompilerOptions(threads=1)
        with self.assertRaisesRegex(TypeError, "CompilerOptions has no option 'num_threads'; did you mean 'threads' of RuntimeConfig\\?$"):
            CompilerOptions(num_threads=1)

    def test_a_keyword_of_another_place_is_named_with_its_place(self):
        model = os.path.join(DATA, "affine.onnx")
        for call, text in (
                (lambda: Runner(model, precision="fp16"),
                 "Runner() has no argument 'precision'; give compiler_options=CompilerOptions(precision=...) or "
                 "config=RuntimeConfig(execution_precision=...)"),
                (lambda: Runner(model, threads=1), "Runner() has no argument 'threads'; give config=RuntimeConfig(threads=...)"),
                (lambda: Runner(model, num_threads=1), "give config=RuntimeConfig(threads=...)"),
                (lambda: Runner(model, execution_precision="bf16"), "give config=RuntimeConfig(execution_precision=...)"),
                (lambda: Runner(model, batchsize=8), "give compiler_options=CompilerOptions(batch_size=...)"),
                (lambda: Runner(model, compile_options={}), "Runner() has no argument 'compile_options'; did you mean 'compiler_options'?"),
                (lambda: Runner(model, providers=[]), "poprt.backends.ORTBackend"),
                (lambda: Runner(model, zzz=1), "Runner() has no argument 'zzz'; arguments are: popef, config, compiler_options"),
                (lambda: Runner(model, CompilerOptions()), "give Runner(popef, compiler_options=CompilerOptions(...))"),
                (lambda: Runner(model, {"threads": 1}), "give RuntimeConfig(threads=1, ...), or RuntimeConfig.from_dict(...)"),
                (lambda: Compiler.compile(model, precision="fp16"),
                 "Compiler.compile() has no argument 'precision'; give options=CompilerOptions(precision=...)"),
                (lambda: Compiler.compile(model, option=None), "did you mean 'options'?"),
                (lambda: Executable.load(model, batch_size=2), "give options=CompilerOptions(batch_size=...)"),
                (lambda: poprt.Converter(batch=3), "Converter() has no argument 'batch'; did you mean 'batch_size'?"),
                (lambda: poprt.Generator(model, maxlength=3), "Generator() has no argument 'maxlength'; did you mean 'max_length'?"),
                (lambda: self.runner.run(x=counting()), "inputs are given as a dict of name to array: run({'x': ...})"),
                (lambda: self.runner.run({"x": counting()}, timeout=1), "execute_async() and submit() have begin_within")):
            self.refused(TypeError, call, text)

    def test_compiler_options_are_a_dict_wherever_they_are_taken(self):
        model = os.path.join(DATA, "affine.onnx")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        options = {"input_shape": {"x": [2, 4]}, "cache_path": folder.name}
        for runner in (Runner(model, compiler_options=options), Runner(Executable.load(model, options)),
                       Runner(Compiler.compile(model, None, options))):
            with runner:
                np.testing.assert_array_equal(runner.run({"x": counting()})["y"], EXPECTED)

    def test_limits_are_numbers_of_seconds(self):
        x, y = {"x": counting()}, {"y": np.empty((2, 4), np.float32)}

        def submit(limit):
            return asyncio.run(self.runner.submit(x, y, limit))

        for ask in (lambda limit: self.runner.execute_async(x, y, limit).result(), submit):
            for none in (None, math.inf, 1e300):
                np.testing.assert_array_equal(ask(none)["y"], EXPECTED)
            self.refused(ValueError, lambda: ask(math.nan), "begin_within: expected seconds, given nan")
            self.refused(TypeError, lambda: ask("1"), "begin_within: expected seconds, given '1'")
            for passed in (-1, -math.inf):
                self.refused(errors.DeadlineExceededError, lambda: ask(passed), "time was over")


class Copies(unittest.TestCase):
    def test_executables_are_pickled_as_popef(self):
        executable = affine()
        for made in (pickle.loads(pickle.dumps(executable)), copy.deepcopy(executable), copy.copy(executable)):
            with Runner(made, RuntimeConfig(threads=1)) as runner:
                np.testing.assert_array_equal(runner.run({"x": counting()})["y"], EXPECTED)
            self.assertEqual(made.to_bytes(), executable.to_bytes())
        executable.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            pickle.dumps(executable)

    def test_objects_of_a_process_refuse_pickle_and_copy(self):
        executable = affine()
        runner = Runner(executable, RuntimeConfig(threads=1))
        self.addCleanup(runner.close)
        manager = DeviceManager()
        session = model_runtime.Session(executable)
        self.addCleanup(session.close)
        for made in (runner, manager, manager.get_device(), session, session.createQueueManager(), executable.popef_model(), popef.Reader(),
                     runner.bind({"x": counting()}, {"y": np.empty((2, 4), np.float32)})):
            with self.subTest(type(made).__name__):
                for call in (pickle.dumps, copy.deepcopy):
                    with self.assertRaisesRegex(TypeError, "belongs to this process"):
                        call(made)
        with self.assertRaisesRegex(TypeError, "a ModelRunner belongs to this process"):
            copy.copy(runner)

    def test_options_are_pickled(self):
        self.assertEqual(pickle.loads(pickle.dumps(RuntimeConfig(threads=3))).threads, 3)
        self.assertEqual(pickle.loads(pickle.dumps(CompilerOptions(batch_size=3))).batch_size, 3)
        error = pickle.loads(pickle.dumps(errors.NotFoundError("what")))
        self.assertEqual((type(error), str(error)), (errors.NotFoundError, "what"))


def in_child(executable, ways, results):
    """Sends the results or errors of `ways` in a process whose parent had a runner."""
    for way in ways:
        try:
            results.send(way(executable)["y"].tolist())
        except Exception as error:
            results.send(f"{type(error).__name__}: {error}")
    results.close()


def fresh(executable):
    with Runner(executable, RuntimeConfig(threads=1)) as runner:
        return runner.execute_async({"x": counting()}, {"y": np.empty((2, 4), np.float32)}).result(60)


class Processes(unittest.TestCase):
    def child(self, context, executable, *ways):
        ours, theirs = context.Pipe(False)
        process = context.Process(target=in_child, args=(executable, ways, theirs))
        process.start()
        theirs.close()
        printed = [ours.recv() for _ in ways]
        process.join(60)
        self.assertEqual(process.exitcode, 0)
        ours.close()
        return printed

    def test_forked(self):
        """Synchronous calls still work; asynchronous ones need a new runner, and raise an error instead of waiting without end."""
        executable = affine()
        runner = Runner(executable, RuntimeConfig(threads=1))
        self.addCleanup(runner.close)
        y = {"y": np.empty((2, 4), np.float32)}
        runner.execute_async({"x": counting()}, y).result()
        bound = runner.bind({"x": counting()}, y)

        def again(_):
            bound()
            return y

        ways = [lambda _: runner.run({"x": counting()}), again, fresh, lambda _: runner.execute_async({"x": counting()}, y).result(60),
                lambda _: asyncio.run(runner.submit({"x": counting()}))]
        printed = self.child(multiprocessing.get_context("fork"), executable, *ways)
        self.assertEqual(printed[:3], [EXPECTED.tolist()] * 3)
        for text in printed[3:]:
            self.assertRegex(text, "FailedPreconditionError: .*make a new runner")
        np.testing.assert_array_equal(runner.execute_async({"x": counting()}, y).result()["y"], EXPECTED)

    def test_spawned(self):
        """An executable is an argument like any other."""
        self.assertEqual(self.child(multiprocessing.get_context("spawn"), affine(), fresh), [EXPECTED.tolist()])


class Signals(unittest.TestCase):
    def test_an_interrupt_ends_a_wait(self):
        with Runner(Compiler.compile(os.path.join(DATA, "slow.onnx")), RuntimeConfig(threads=1)) as runner:
            x, y = {"x": np.zeros((512, 512), np.float32)}, {"y": np.empty((512, 512), np.float32)}
            many = [runner.execute_async(x, y) for _ in range(64)]
            many[0].add_done_callback(lambda _: os.kill(os.getpid(), signal.SIGINT))
            with self.assertRaises(KeyboardInterrupt):
                many[-1].result()
            self.assertFalse(many[-1].done())
            runner.stop()


if __name__ == "__main__":
    unittest.main()
