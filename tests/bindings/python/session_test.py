"""Sessions with handlers and queues: scenarios 34 to 45 and 50 of tests/bindings/README.md, with Model Runtime's names."""

import ctypes
import gc
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from concurrent import futures

import model_runtime
import numpy as np
import poprt
from model_runtime import AnchorCallbackPolicy, LaunchPolicy, Session, SessionConfig, predicate_factory
from poprt import errors
from poprt.compiler import Compiler, CompilerOptions
from poprt.runtime import DeviceManager

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(os.path.dirname(HERE), "data")
predicates = predicate_factory.anchor_callbacks


def compiled(name, **options):
    return Compiler.compile(os.path.join(DATA, name), None, CompilerOptions(**options))


def x_of(first):
    return np.arange(8, dtype=np.float32).reshape(2, 4) + np.float32(first)


def y_of(first):
    return 2 * x_of(first) + 1


def nothing(_):
    return None


class Numbers:
    """Gives x = run, run + 1 ... and counts its calls."""

    def __init__(self):
        self.run = self.fetched = self.prefetched = self.invalidated = 0
        self.early = False
        self.threads = set()

    def fetch(self, array):
        self.threads.add(threading.current_thread())
        self.fetched += 1
        array[:] = x_of(self.run)

    def prefetch(self, array):
        if self.early:
            array[:] = x_of(self.run)
            self.prefetched += 1
        return self.early

    def complete(self):
        self.run += 1

    def invalidatePrefetched(self):
        self.invalidated += 1


class Patient:
    """Waits for data that never comes."""

    def __init__(self):
        self.waiting, self.interrupted = threading.Event(), threading.Event()

    def fetch(self, _):
        self.waiting.set()
        self.interrupted.wait()
        return False

    def interrupt(self):
        self.interrupted.set()


class SessionCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.affine = compiled("affine.onnx", input_shape={"x": [2, 4]})

    def session(self, executable=None, **options):
        session = Session(executable or self.affine, SessionConfig(threads=1, **options))
        self.addCleanup(session.close)
        return session

    def in_thread(self, call):
        pool = futures.ThreadPoolExecutor(1)
        self.addCleanup(pool.shutdown)
        return pool.submit(call)

    def assert_devices_free(self):
        manager = DeviceManager()
        devices = [manager.get_device() for _ in range(manager.get_num_devices())]
        self.assertEqual(len(devices), manager.get_num_devices())


class Softmax:
    """y = softmax of the rows of x [2, N], compiled for N = 2 and N = 4, in a session."""

    def __init__(self, case):
        self.bucket, self.y = 1, None
        self.x = np.array([[0, 1, 2, 3]] * 2, np.float32)
        self.session = case.session(compiled("softmax.onnx", input_shape={"x": [[2, 2], [2, 4]]}))
        self.session.setUserInputHandler("poprt.bucket", self.give_bucket)
        self.session.setUserInputHandler("x", self.give_x)
        self.session.setUserOutputHandler("y", self.take_y)

    def give_bucket(self, array):
        array[:] = self.bucket

    def give_x(self, array):
        array.flat[:self.x.size] = self.x.flat  # dense in the shape of the bucket

    def take_y(self, array):
        self.y = array.flat[:self.x.size].reshape(self.x.shape).copy()

    def run(self):
        self.session.runMainPrograms()
        return self.y


def softmax_of(x):
    powers = np.exp(x)
    return powers / powers.sum(axis=1, keepdims=True)


class Sessions(SessionCase):
    def test_masks_of_several_shapes_are_made(self):
        softmax = Softmax(self)
        self.assertEqual([d.name for d in softmax.session.getUserInputAnchors()], ["x", "poprt.bucket"])
        softmax.session.verifyConnected()
        np.testing.assert_allclose(softmax.run(), softmax_of(softmax.x), rtol=1e-6)
        softmax.bucket, softmax.x = 0, np.array([[0, 1], [5, 7]], np.float32)
        np.testing.assert_allclose(softmax.run(), softmax_of(softmax.x), rtol=1e-6)

    def test_a_caller_that_pads_gives_the_mask(self):
        softmax = Softmax(self)

        def give_mask(array):
            array[:] = [True, True, True, False]

        softmax.session.setUserInputHandler("poprt.real.N", give_mask)
        softmax.x[:, 3] = 1e30
        np.testing.assert_allclose(softmax.run()[:, :3], softmax_of(softmax.x[:, :3]), rtol=1e-6)
        softmax.session.setUserInputHandler("poprt.real.N", None)
        softmax.x[:, 3] = 3
        np.testing.assert_allclose(softmax.run(), softmax_of(softmax.x), rtol=1e-6)

    def test_no_queue_is_made_for_a_mask(self):
        session = self.session(compiled("softmax.onnx", input_shape={"x": [[2, 2], [2, 4]]}))
        queues = session.createQueueManager(inputPredicate=lambda anchor: AnchorCallbackPolicy.BIND_USER_CB)
        queues.inputQueue("x")
        with self.assertRaisesRegex(errors.NotFoundError, "poprt.real.N"):
            queues.inputQueue("poprt.real.N")

    def test_scenario_34_session(self):
        session = self.session()
        self.assertTrue(session.isLoaded())
        self.assertEqual(repr(session.getUserInputAnchors()), "[DataDesc('x', [2, 4], F32)]")
        self.assertEqual([d.name for d in session.getUserOutputAnchors()], ["y"])
        for call in (session.verifyConnected, session.runMainPrograms):
            with self.assertRaisesRegex(errors.FailedPreconditionError, "'x', 'y'"):
                call()
        numbers, taken = Numbers(), []
        session.setUserInputHandler("x", numbers)
        session.setUserOutputHandler("y", lambda array: taken.append(array.copy()))
        session.verifyConnected()
        session.runLoadPrograms()
        session.runMainPrograms()
        numbers.early = True
        session.runMainPrograms()
        session.runMainPrograms()
        session.runPrograms([1])
        session.runSavePrograms()
        self.assertEqual(len(taken), 4)
        for i, y in enumerate(taken):
            np.testing.assert_array_equal(y, y_of(i))
        self.assertEqual((numbers.fetched, numbers.prefetched), (2, 3))
        self.assertEqual(numbers.threads, {threading.current_thread()})
        session.unloadFromDevice()
        self.assertEqual(numbers.invalidated, 1)
        self.assertFalse(session.isLoaded())
        with self.assertRaisesRegex(errors.FailedPreconditionError, "on no device"):
            session.runMainPrograms()
        session.reload()
        session.runMainPrograms()
        np.testing.assert_array_equal(taken[4], y_of(4))
        with self.assertRaisesRegex(LookupError, "'nope'.*'x'"):
            session.setUserInputHandler("nope", numbers)
        for indices in ([1, 9], [-1]):
            with self.assertRaises(errors.NotFoundError):
                session.runPrograms(indices)
        session.setUserInputHandler("x", None)
        with self.assertRaisesRegex(errors.FailedPreconditionError, "'x'"):
            session.runMainPrograms()

    def test_scenario_35_no_data_and_exceptions(self):
        session = self.session()
        answers = [False, None]
        session.setUserInputHandler("x", lambda _: answers.pop(0))
        session.setUserOutputHandler("y", nothing)
        with self.assertRaises(errors.CancelledError):
            session.runMainPrograms()
        session.runMainPrograms()
        mine = KeyError("raised by the test")

        def fail(_):
            raise mine

        session.setUserInputHandler("x", fail)
        with self.assertRaises(KeyError) as caught:
            session.runMainPrograms()
        self.assertIs(caught.exception, mine)
        self.assertIsInstance(mine.__context__, errors.CancelledError)
        session.setUserInputHandler("x", nothing)
        session.setUserOutputHandler("y", fail)
        with self.assertRaises(KeyError):
            session.runMainPrograms()

        def write(array):
            array[:] = 0

        session.setUserOutputHandler("y", write)
        with self.assertRaises(ValueError):  # the memory of an output is read-only
            session.runMainPrograms()
        session.setUserOutputHandler("y", nothing)
        session.runMainPrograms()
        with self.assertRaises(TypeError):
            session.setUserInputHandler("x", 5)

    def test_scenario_36_stop_ends_a_run_that_waits(self):
        session = self.session()
        patient = Patient()
        session.setUserInputHandler("x", patient)
        session.setUserOutputHandler("y", nothing)
        run = self.in_thread(session.runMainPrograms)
        patient.waiting.wait()
        session.stop()
        self.assertIs(run.result(), False)
        self.assertIs(session.runMainPrograms(), False)
        with self.assertRaisesRegex(errors.CancelledError, "stopped"):
            session.runSavePrograms()
        session.setUserInputHandler("x", nothing)
        session.reload()
        self.assertIs(session.runMainPrograms(), True)
        session.setUserInputHandler("x", lambda _: session.stop())  # a handler may stop its session
        self.assertIs(session.runMainPrograms(), False)

    def test_scenario_115_events_of_an_output(self):
        class Sink(Patient):
            """Counts the calls, and waits for an interruption if it is full."""

            taken = completed = 0
            full = False

            def fetch(self, array):
                self.taken += 1
                return super().fetch(array) if self.full else None

            def complete(self):
                self.completed += 1

        session, sink = self.session(), Sink()
        session.setUserInputHandler("x", nothing)
        session.setUserOutputHandler("y", sink)
        for _ in range(3):
            session.runMainPrograms()
        self.assertEqual((sink.taken, sink.completed, sink.interrupted.is_set()), (3, 3, False))
        sink.full = True
        run = self.in_thread(session.runMainPrograms)
        sink.waiting.wait()
        session.stop()
        self.assertIs(run.result(), False)
        self.assertEqual((sink.taken, sink.interrupted.is_set()), (4, True))

    def test_scenario_37_predicates(self):
        asked = []
        accept, reject = model_runtime.AnchorCallbackPolicy.BIND_USER_CB, model_runtime.AnchorCallbackPolicy.BIND_EMPTY_CB

        def no_input(anchor):
            asked.append((anchor.name(), anchor.type().name, anchor.programs()))
            return reject

        session = self.session(input_predicate=no_input)
        self.assertEqual(asked, [("x", "INPUT", [1])])
        self.assertEqual((len(session.getUserInputAnchors()), len(session.getUserOutputAnchors())), (0, 1))
        taken = []
        session.setUserOutputHandler("y", lambda array: taken.append(array.copy()))
        session.runMainPrograms()  # zeros replace the rejected input
        np.testing.assert_array_equal(taken[0], np.ones((2, 4)))
        flow = session.model().metadata.programFlow()
        for predicate, inputs in ((predicates.predProgramFlowMain(flow, accept, reject), 1),
                                  (predicates.predProgramFlowLoad(flow), 0), (predicates.predProgramFlowSave(flow), 0),
                                  (predicates.predProgramNotAssigned(), 0),
                                  (predicates.orBind(accept, reject, predicates.predProgramFlowMain(flow),
                                                     predicates.predProgramNotAssigned()), 1)):
            other = self.session(input_predicate=predicate, output_predicate=predicate)
            self.assertEqual((len(other.getUserInputAnchors()), len(other.getUserOutputAnchors())), (inputs, inputs))
            other.close()

        def fail(_):
            raise KeyError("raised by the test")

        with self.assertRaises(KeyError):
            self.session(output_predicate=fail)

    def test_close_raises_the_exception_of_a_handler(self):
        class Broken:
            def fetch(self, _):
                return False

            def interrupt(self):
                raise KeyError("raised by the test")

        for close in (Session.close, Session.__del__):
            session = Session(self.affine, SessionConfig(threads=1))
            session.setUserInputHandler("x", Broken())
            with self.assertRaisesRegex(KeyError, "raised by the test"):
                close(session)
            other = self.session()  # its calls do not raise the exception
            self.assertTrue(other.isLoaded())
            other.stop()
            other.close()

    def test_scenario_38_weights(self):
        session = self.session(compiled("weights.onnx", constant_weights=False))
        self.assertEqual([d.name for d in session.getUserInputAnchors()], ["x"])
        taken = []

        def fetch(array):
            array[:] = x_of(0)

        session.setUserInputHandler("x", fetch)
        session.setUserOutputHandler("y", lambda array: taken.append(array.copy()))
        session.runMainPrograms()
        np.testing.assert_array_equal(taken[0], x_of(0) * [1, 2, 3, 4] + 1)
        session.updateWeights("w", np.full(4, 5, np.float32))
        session.runMainPrograms()
        np.testing.assert_array_equal(taken[1], x_of(0) * 5 + 1)
        value = np.empty(4, np.float32)
        session.readWeights("w", value)
        np.testing.assert_array_equal(value, [5] * 4)
        with self.assertRaisesRegex(errors.NotFoundError, "'x'.*'w'"):
            session.updateWeights("x", value)
        for call in (session.updateWeights, session.readWeights):
            with self.assertRaisesRegex(errors.InvalidArgumentError, r"weights 'w': expected f32\[4\], given f32\[3\]"):
                call("w", np.empty(3, np.float32))
            with self.assertRaisesRegex(errors.InvalidArgumentError, r"weights 'w': expected f32\[4\], given s32\[4\]"):
                call("w", np.empty(4, np.int32))
            with self.assertRaisesRegex(errors.InvalidArgumentError, "16.*12"):
                call("w", bytearray(12))
        session.updateWeights("w", [1, 2, 3, 4])
        session.readWeights("w", value)
        np.testing.assert_array_equal(value, [1, 2, 3, 4])
        session.updateWeights("w", np.arange(8, dtype=np.float32)[::2])
        session.readWeights("w", value)
        np.testing.assert_array_equal(value, [0, 2, 4, 6])
        with self.assertRaisesRegex(errors.InvalidArgumentError, "weights 'w': expected something that is written, given list"):
            session.readWeights("w", [0.0] * 4)
        with self.assertRaisesRegex(errors.InvalidArgumentError, "weights 'w': .*not C-contiguous"):
            session.readWeights("w", np.empty(8, np.float32)[::2])
        with self.assertRaises(ValueError):
            session.readWeights("w", bytes(16))

    def test_scenario_39_the_next_session_takes_the_device(self):
        with DeviceManager().get_device() as device:
            first = self.session(device=device)
            second = self.session(device=device, exclusive=True)
            self.assertEqual((first.isLoaded(), second.isLoaded()), (False, True))
            with self.assertRaisesRegex(errors.FailedPreconditionError, "another session"):
                first.bindToDevice(device)
            second.close()
            first.bindToDevice(device)
            self.assertTrue(first.isLoaded())
            first.close()
        deferred = self.session(policy=LaunchPolicy.Deferred)
        self.assertFalse(deferred.isLoaded())
        deferred.bindToDevice()
        self.assertTrue(deferred.isLoaded())

    def test_scenario_40_a_session_is_closed(self):
        session = self.session()
        patient = Patient()
        session.setUserInputHandler("x", patient)
        session.setUserOutputHandler("y", nothing)
        run = self.in_thread(session.runMainPrograms)
        patient.waiting.wait()
        session.close()
        session.close()
        self.assertIs(run.result(), False)
        for call in (session.runMainPrograms, session.stop, session.createQueueManager, session.isLoaded):
            with self.assertRaisesRegex(ValueError, "session is closed"):
                call()
        self.assertEqual(session.getUserInputAnchors()[0].name, "x")
        del run
        self.assert_devices_free()

    def test_scenario_41_telemetry_of_a_session(self):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["POPRT_TELEMETRY_DIR"] = folder
            self.addCleanup(os.environ.pop, "POPRT_TELEMETRY_DIR")
            self.assertEqual(model_runtime.read_telemetry(folder), [])
            session = self.session(telemetry=True)
            session.setUserInputHandler("x", nothing)
            session.setUserOutputHandler("y", nothing)
            session.runMainPrograms()
            for where in ((), (folder,)):
                entry, = model_runtime.read_telemetry(*where)
                self.assertEqual((entry["pid"], entry["runs"]), (os.getpid(), 1))
            session.close()

    def test_scenario_50_no_explicit_close_of_sessions(self):
        """The cycles run in a separate process, so that memory of other tests is not counted."""
        script = os.path.join(HERE, "session_test.py")
        done = subprocess.run([sys.executable, "-W", "error", script, "cycles"], capture_output=True, text=True,
                              env={**os.environ, "POPRT_DEVICES": "64"}, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_the_process_may_end_while_sessions_run(self):
        script = os.path.join(HERE, "session_test.py")
        done = subprocess.run([sys.executable, "-W", "error", script, "exit"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)


class Queues(SessionCase):
    def test_scenario_130_queues_after_a_wrong_option(self):
        session = self.session()
        queues = session.createQueueManager(4)
        self.assertRaises(ValueError, session.createQueueManager, 4, lambda queue: None, -1)
        x, y = queues.inputQueue("x"), queues.outputQueue("y")
        result = np.empty((2, 4), np.float32)
        done = x.enqueue(x_of(3)), y.enqueue(result)
        session.runMainPrograms()
        for future in done:
            future.result()
        np.testing.assert_array_equal(result, y_of(3))

    def test_scenario_42_queues(self):
        session = self.session()
        queues = session.createQueueManager(3)
        session.verifyConnected()
        x, y = queues.inputQueue("x"), queues.outputQueue("y")
        self.assertIs(queues.inputQueue("x"), x)
        self.assertEqual((repr(x.tensorInfo()), x.capacity()), ("DataDesc('x', [2, 4], F32)", 4))
        with self.assertRaisesRegex(errors.NotFoundError, "'y'.*'x'"):
            queues.inputQueue("y")
        with self.assertRaisesRegex(errors.NotFoundError, "'x'.*'y'"):
            queues.outputQueue("x")
        copied, runs = poprt.bytes_copied(), 100  # more than the queues hold, so producers wait

        def engine():
            for _ in range(runs):
                session.runMainPrograms()

        running = self.in_thread(engine)
        called = []
        results = [np.empty((2, 4), np.float32) for _ in range(runs)]
        done = []
        for i in range(runs):
            done.append(x.enqueue(x_of(i), lambda: called.append(1)))
            done.append(y.enqueue(results[i]))
        for future in done:
            self.assertIsNone(future.result())
        running.result()
        for i in range(runs):
            np.testing.assert_array_equal(results[i], y_of(i))
        self.assertEqual((len(called), x.readAvailable(), poprt.bytes_copied()), (runs, 0, copied))
        # An element may be a part of a transfer, or several transfers.
        both = np.empty(16, np.float32)
        filled = y.enqueue(both)
        parts = x_of(5).ravel()
        x.enqueue(parts[:3])
        x.enqueue(parts[3:])
        x.enqueue(x_of(6).tobytes())
        self.assertEqual(x.readAvailable(), 3)
        session.runMainPrograms()
        self.assertFalse(filled.done())
        session.runMainPrograms()
        filled.result()
        np.testing.assert_array_equal(both, np.concatenate([y_of(5).ravel(), y_of(6).ravel()]))
        # Wrong elements are refused.
        with self.assertRaisesRegex(errors.InvalidArgumentError, "'x'.*f32"):
            x.enqueue(np.zeros(4))
        with self.assertRaisesRegex(errors.InvalidArgumentError, "x.*memory"):
            x.enqueue(np.zeros(0, np.float32))
        with self.assertRaises(errors.InvalidArgumentError):
            y.enqueue(bytes(32))
        with self.assertRaises(ValueError):
            x.enqueue(np.zeros((8, 2), np.float32)[:, 0])  # not contiguous

    def test_scenario_43_padding_after_a_timeout(self):
        session = self.session()
        called = []

        def pad(queue):
            called.append(queue)
            queue.enqueue(np.zeros(4, np.float32))

        queues = session.createQueueManager(timeoutCallback=pad, timeoutNs=1_000_000)
        x = queues.inputQueue("x")
        y = np.empty(8, np.float32)
        filled = queues.outputQueue("y").enqueue(y)
        x.enqueue(np.array([1, 2, 3, 4], np.float32))
        session.runMainPrograms()
        self.assertTrue(filled.done())
        self.assertEqual(called, [x])
        np.testing.assert_array_equal(y, [3, 5, 7, 9, 1, 1, 1, 1])

        def fail(_):
            raise KeyError("raised by the test")

        session.createQueueManager(timeoutCallback=fail, timeoutNs=1_000_000).outputQueue("y").enqueue(y)
        with self.assertRaises(KeyError):
            session.runMainPrograms()
        self.assertIs(session.runMainPrograms(), False)  # the exception stopped the session

    def test_arrays_in_queues_are_checked(self):
        session = self.session()
        queues = session.createQueueManager()
        x, y = queues.inputQueue("x"), queues.outputQueue("y")
        for queue, value, message in (
                (x, np.zeros((4, 2), np.float32), "queue 'x': expected f32[2,4], parts of it or several, given shape [4,2]"),
                (x, np.zeros((2, 4), np.int32), "queue 'x': expected elements of f32"),
                (x, np.zeros((2, 8), np.float32)[:, ::2], "queue 'x': the ndarray cannot be used: it is not C-contiguous"),
                (x, "text", "input 'x': expected an array"),
                (y, [[0.0] * 4] * 2, "output 'y': expected something that is written"),
                (y, bytes(32), "queue 'y': the bytes cannot be used: it is read-only"),
                (y, np.zeros((4, 2), np.float32), "queue 'y': expected f32[2,4]")):
            with self.subTest(message), self.assertRaises(errors.InvalidArgumentError) as caught:
                queue.enqueue(value)
            self.assertIn(message, str(caught.exception))
        given = np.arange(32, dtype=np.float32)
        parts = [given[:8].reshape(2, 4), given[8:12], given[12:16].reshape(1, 4), given[16:24].reshape(1, 2, 4),
                 given[24:].reshape(2, 4).tolist()]
        made = np.empty((4, 2, 4), np.float32)
        done = [x.enqueue(part) for part in parts] + [y.enqueue(made)]
        for _ in range(4):
            session.runMainPrograms()
        for future in done:
            future.result(10)
        np.testing.assert_array_equal(made.ravel(), 2 * given + 1)

    def test_scenario_44_flush_and_disconnect(self):
        session = self.session()
        queues = session.createQueueManager()
        x = queues.inputQueue("x")
        self.assertEqual(x.capacity(), 16)
        waits = x.enqueue(x_of(0))
        queues.flushAll()
        self.assertIsInstance(waits.exception(), futures.CancelledError)
        x.enqueue(x_of(1))
        queues.outputQueue("y").enqueue(x_of(0))
        session.runMainPrograms()
        late = x.enqueue(x_of(2))
        queues.disconnectAll()
        self.assertIsInstance(late.exception(), errors.CancelledError)
        with self.assertRaisesRegex(errors.CancelledError, "disconnected"):
            x.enqueue(x_of(3))
        self.assertIs(session.runMainPrograms(), False)
        # Other queues replace them, also while a run waits for the first ones.
        second = session.createQueueManager()
        for call in (x.readAvailable, lambda: x.enqueue(x_of(3)), queues.flushAll):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()
        begun = threading.Event()

        def run():
            begun.set()
            return session.runMainPrograms()

        running = self.in_thread(run)
        begun.wait()
        third = session.createQueueManager()
        with self.assertRaisesRegex(ValueError, "closed"):
            second.disconnectAll()
        try:
            ran = running.result(0.1)
        except futures.TimeoutError:  # the run had not begun
            third.disconnectAll()
            ran = running.result()
        self.assertIs(ran, False)
        self.assertIsNone(late.cancel() or None)

    def test_predicates_choose_the_queues(self):
        session = self.session()
        session.setUserInputHandler("x", nothing)
        reject = predicates.predProgramNotAssigned()
        queues = session.createQueueManager(inputPredicate=reject)
        with self.assertRaisesRegex(errors.NotFoundError, "none"):
            queues.inputQueue("x")
        y = np.empty(8, np.float32)
        filled = queues.outputQueue("y").enqueue(y)
        session.runMainPrograms()
        self.assertTrue(filled.done())

    def test_scenario_45_queues_and_a_closed_session(self):
        session = self.session()
        queues = session.createQueueManager(1)
        x = queues.inputQueue("x")
        first = x.enqueue(x_of(0))
        begun = threading.Event()

        def produce():  # the queue is full, so this waits until the session is closed
            begun.set()
            x.enqueue(x_of(1))

        producer = self.in_thread(produce)
        begun.wait()
        session.close()
        self.assertIsInstance(first.exception(), errors.CancelledError)
        self.assertIsInstance(producer.exception(), (errors.CancelledError, ValueError))
        for call in (lambda: x.enqueue(x_of(2)), queues.disconnectAll, x.capacity):
            with self.assertRaisesRegex(ValueError, "session is closed"):
                call()
        del producer
        self.assert_devices_free()


def resident_bytes():
    """The memory in use: malloc returns free memory to the system."""
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def serve(executable):
    """Makes handlers that refer to their session, and leaves an element in a queue. Nothing is closed."""
    for _ in range(2):
        try:
            session = Session(executable, SessionConfig(threads=1))
            break
        except errors.UnavailableError:
            gc.collect()
    taken = []

    def fetch(array):
        array[:] = 3
        return len(session.getUserInputAnchors()) == 1

    session.setUserInputHandler("x", fetch)
    session.setUserOutputHandler("y", lambda array: taken.append(array.copy()) or len(session.getUserInputAnchors()) == 1)
    session.runMainPrograms()
    assert taken[0][0, 0] == 7
    queues = session.createQueueManager()
    x = queues.inputQueue("x")
    x.enqueue(x_of(0))
    queues.outputQueue("y").enqueue(x_of(0))
    session.runMainPrograms()
    x.enqueue(x_of(0))


def cycles():
    executable = compiled("affine.onnx", input_shape={"x": [2, 4]})
    for i in range(10000):
        serve(executable)
        if i == 1000:
            gc.collect()
            after1000 = resident_bytes()
    gc.collect()
    grown = resident_bytes() - after1000
    assert grown <= 6 << 20, f"grown by {grown} bytes"
    manager = DeviceManager()
    assert len([manager.get_device() for _ in range(64)]) == 64


def leave():
    """Threads run with handlers, wait for an element, or wait for room in a queue."""
    executable = compiled("affine.onnx", input_shape={"x": [2, 4]})
    busy, waiting, full = (Session(executable, SessionConfig(threads=1)) for _ in range(3))
    busy.setUserInputHandler("x", nothing)
    busy.setUserOutputHandler("y", nothing)
    waiting.createQueueManager()
    queue = full.createQueueManager().inputQueue("x")
    begun = threading.Barrier(4)

    def run(call):
        begun.wait()
        try:
            while True:
                call()
        except errors.CancelledError:
            pass  # the process ends

    for call in (busy.runMainPrograms, waiting.runMainPrograms, lambda: queue.enqueue(x_of(0))):
        threading.Thread(target=run, args=(call,), daemon=True).start()
    begun.wait()


if __name__ == "__main__":
    {"cycles": cycles, "exit": leave}[sys.argv[1]]()
