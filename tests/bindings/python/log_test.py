"""Scenarios 54 to 60 of tests/bindings/README.md: log messages, options of the compiler, telemetry, profiles, PopEF by
position."""

import io
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import model_runtime
import numpy as np
import popef
import poprt
from model_runtime import Session, SessionConfig
from poprt import errors
from poprt.compiler import Compiler, CompilerOptions, Executable
from poprt.runtime import DeviceManager, Runner, RuntimeConfig

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(os.path.dirname(HERE), "data")


def compiled(name, **options):
    return Compiler.compile(os.path.join(DATA, name), None, CompilerOptions(**options))


def affine(**options):
    return compiled("affine.onnx", input_shape={"x": [2, 4]}, **options)


class Log(unittest.TestCase):
    def setUp(self):
        file = tempfile.NamedTemporaryFile()
        self.addCleanup(file.close)
        self.no_folder = file.name

    def warn(self):
        """Makes the compiler warn: the cache folder is a file."""
        affine(enable_engine_caching=True, cache_path=self.no_folder)

    def warn_elsewhere(self):
        thread = threading.Thread(target=self.warn)
        thread.start()
        thread.join()
        return thread

    def test_scenario_54_log_messages(self):
        messages, threads = [], set()

        def receive(level, message):
            poprt.set_log_level("WARNING")  # a receiver may call the library
            messages.append((level, message))
            threads.add(threading.current_thread())

        subscription = poprt.subscribe_log(receive)
        self.warn()
        self.warn_elsewhere()
        subscription.close()
        subscription.close()
        self.assertEqual(len(messages), 2)
        self.assertEqual(messages[0], messages[1])
        self.assertEqual(messages[0][0], logging.WARNING)
        self.assertIn(self.no_folder, messages[0][1])
        self.assertEqual(len(threads), 1)
        self.assertNotIn(threading.current_thread(), threads)
        poprt.set_log_level("OFF")
        self.addCleanup(poprt.set_log_level, "WARNING")
        with poprt.subscribe_log(receive):
            self.warn()
        self.assertEqual(len(messages), 2)

    def test_scenario_54_exceptions(self):
        raised, messages = [], []
        before, threading.excepthook = threading.excepthook, lambda args: raised.append(args.exc_value)
        self.addCleanup(setattr, threading, "excepthook", before)
        mine = ValueError("of the test")

        def fail(level, message):
            raise mine

        with poprt.subscribe_log(lambda level, message: messages.append(message)):
            with poprt.subscribe_log(fail):
                self.warn()
                self.warn_elsewhere()
            self.warn()  # one receiver is left
        self.assertEqual(raised, [mine, mine])
        self.assertEqual(len(messages), 3)

    def test_a_receiver_may_end_itself(self):
        closed = threading.Event()

        def receive(level, message):
            subscription.close()
            closed.set()

        subscription = poprt.subscribe_log(receive)
        self.warn()
        self.assertTrue(closed.wait(60))
        subscription.close()

    def test_a_logger_is_a_receiver(self):
        with self.assertLogs("poprt", logging.WARNING) as logs:
            with poprt.subscribe_log(logging.getLogger("poprt").log):
                self.warn()
        self.assertIn(self.no_folder, logs.output[0])

    def test_the_interpreter_ends_with_a_receiver(self):
        done = subprocess.run([sys.executable, os.path.abspath(__file__), "exit", self.no_folder], check=True, timeout=120,
                              capture_output=True, text=True)
        self.assertIn(self.no_folder, done.stdout)
        self.assertEqual(done.stderr, "")


class Options(unittest.TestCase):
    def test_scenario_55_input_lengths(self):
        with self.assertRaisesRegex(errors.InvalidArgumentError, "'s' is a sequence"):
            compiled("sequence.onnx", batch_size=2)
        executable = compiled("sequence.onnx", batch_size=2, input_length={"s": 2})
        self.assertEqual([(d.name, d.shape) for d in executable.get_inputs()], [("s[0]", [2, 3]), ("s[1]", [2, 3])])
        x = np.arange(12, dtype=np.float32).reshape(4, 3)
        with Runner(executable, RuntimeConfig(threads=1)) as runner:
            self.assertTrue(np.array_equal(runner.run({"s[0]": x[:2], "s[1]": x[2:]})["y"], x))
        with self.assertRaisesRegex(errors.InvalidArgumentError, "'s'.*-1"):
            compiled("sequence.onnx", input_length={"s": -1})

    def check_notes(self, model):
        notes, rows = model.opaqueBlobs
        self.assertEqual(rows.name, "poprt.rows")
        self.assertEqual((notes.name, notes.executable, bytes(notes.data())), ("notes", "affine", b"a\0b"))

    def test_scenario_56_opaque_blobs(self):
        for data in (b"a\0b", "a\0b", np.frombuffer(b"a\0b", np.uint8)):
            executable = affine(opaque_blobs={"notes": data})
            model = executable.popef_model()
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "notes.popef")
                executable.save(path)
                executable.close()
                self.assertEqual(Executable(path, executable="affine").name, "affine")
                with self.assertRaisesRegex(errors.FailedPreconditionError, "nope"):
                    Executable(path, executable="nope")
                reader = popef.Reader()
                reader.parseFile(path)
                self.check_notes(popef.ModelBuilder(reader).createModel())
            self.check_notes(model)
            opened = Executable.from_model(model)
            del model
            self.assertEqual(opened.name, "affine")
            self.assertEqual(opened.get_inputs()[0].shape, [2, 4])
            with Session(opened, SessionConfig(threads=1)) as session:
                self.check_notes(session.popefModel())
                self.assertEqual(session.model().metadata, session.popefModel().metadata)
        with self.assertRaisesRegex(errors.InvalidArgumentError, "name"):
            affine(opaque_blobs={"": b""})
        _, source = affine(embed_source=True).popef_model().opaqueBlobs
        with open(os.path.join(DATA, "affine.onnx"), "rb") as file:
            self.assertEqual((source.name, bytes(source.data())), ("poprt.source", file.read()))


class Environment(unittest.TestCase):
    def test_invalid_environment_values_warn_once(self):
        program = f"""
from poprt.runtime import Runner
for _ in range(2):
    Runner({os.path.join(DATA, "lookup.onnx")!r}).close()
"""
        for name, value, known in (("POPRT_ISA", "neon", "baseline, avx2 or avx512"),
                                   ("POPRT_LOG_LEVEL", "loud", "TRACE, DEBUG, INFO, WARNING, ERROR, CRITICAL or OFF")):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                ran = subprocess.run([sys.executable, "-c", program], text=True, check=True, capture_output=True,
                                     env={**os.environ, name: value, "XDG_CACHE_HOME": folder})
                self.assertEqual(ran.stderr.count(f"{name} is '{value}', expected {known}"), 1, ran.stderr)
                self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)


class Observation(unittest.TestCase):
    def test_scenario_57_telemetry_of_a_runner(self):
        x = np.zeros((2, 4), np.float32)
        with tempfile.TemporaryDirectory() as folder:
            os.environ["POPRT_TELEMETRY_DIR"] = folder
            self.addCleanup(os.environ.pop, "POPRT_TELEMETRY_DIR")
            for on in (False, True):
                with Runner(affine(), RuntimeConfig(threads=1, telemetry=on)) as runner:
                    runner.run({"x": x})
                    found = [(e["pid"], e["requests"]["completed"]) for e in model_runtime.read_telemetry(folder)]
                    self.assertEqual(found, [(os.getpid(), 1)] if on else [])

    def test_scenario_58_profile_of_a_session(self):
        with Session(affine(), SessionConfig(threads=1, profile=True)) as session:
            session.setUserInputHandler("x", lambda array: None)
            session.setUserOutputHandler("y", lambda array: None)
            for _ in range(3):
                session.runMainPrograms()
            profile = json.loads(session.profile())
            self.assertEqual(profile["runs"], 3)
            self.assertTrue(all(i["kernel"] for i in profile["instructions"]))
            session.unloadFromDevice()
            with self.assertRaisesRegex(errors.FailedPreconditionError, "device"):
                session.profile()
        with Session(affine(), SessionConfig(threads=1)) as session:
            with self.assertRaisesRegex(errors.FailedPreconditionError, "profiling"):
                session.profile()


class Runners(unittest.TestCase):
    def test_scenario_60_further_options_of_a_runner(self):
        manager, executable = DeviceManager(), affine()
        device = manager.get_specific_device(3)
        self.assertEqual(DeviceManager(6, visible="1,3-4", shared="0").get_device_ids(), [1, 3, 4])
        with self.assertRaises(errors.InvalidArgumentError):
            DeviceManager(shared="relative/folder")
        self.assertEqual(manager.create_small_ipu_model_device(1, 21).tiles_per_ipu(), 4)
        x = np.arange(8, dtype=np.float32).reshape(2, 4)
        config = RuntimeConfig(threads=1, frozen_inputs={"x": x}, replica_id_to_device={0: device})
        with Runner(executable, config) as runner:
            with self.assertRaises(errors.FailedPreconditionError):
                Runner(executable, config)
            x[0, 0] = 100  # the runner has copied x
            self.assertTrue(runner.get_execute_inputs()[0].popef_contains_tensor_data)
            self.assertEqual(runner.run({})["y"][0].tolist(), [1, 3, 5, 7])
        with Runner(executable, RuntimeConfig(threads=1, faults="recoverable_runtime_error@2")) as runner:
            self.assertFalse(runner.get_execute_inputs()[0].popef_contains_tensor_data)
            runner.run({"x": x})
            with self.assertRaises(errors.UnavailableError):
                runner.run({"x": x})
        with self.assertRaisesRegex(errors.InvalidArgumentError, "frozen input 'x': expected f32.2,4., given f32.7."):
            Runner(executable, RuntimeConfig(frozen_inputs={"x": np.zeros(7, np.float32)}))

    def test_blobs_are_exported(self):
        info = popef.TensorInfo(popef.DataType.F32, [4])
        with tempfile.TemporaryDirectory() as folder:
            path, npy = os.path.join(folder, "weights.popef"), os.path.join(folder, "w.npy")
            with popef.FileWriter(path) as writer:
                writer.createTensorData(popef.TensorDataInfo("w", info)).write(np.arange(4, dtype=np.float32))
            poprt.export_popef_tensor(path, "w", npy)
            self.assertEqual(np.load(npy).tolist(), [0, 1, 2, 3])
            with self.assertRaisesRegex(errors.NotFoundError, "nope"):
                poprt.export_popef_feed(path, "nope", npy)
        self.assertIn("x", Compiler.show(os.path.join(DATA, "weights.onnx")))


class Broken(io.BytesIO):
    def read(self, *_):
        raise KeyError("of the test")


class ByPosition(unittest.TestCase):
    def test_scenario_59_popef_by_position(self):
        content = affine().to_bytes()
        whole, reader = popef.Reader(), popef.Reader()
        whole.parseStream(io.BytesIO(content))
        code = whole.executables()[0].executable()
        reader.parseSource(io.BytesIO(content), len(content))
        program, = reader.executables()
        self.assertEqual(program.executable(), code)
        self.assertEqual(program.read(5, 10), code[5:15])
        model = popef.ModelBuilder(reader).createModel()
        del reader, program
        self.assertEqual(Executable.from_model(model).get_inputs()[0].shape, [2, 4])
        self.assertEqual(bytes(model.executable.data()), code)
        with self.assertRaisesRegex(KeyError, "of the test"):
            popef.Reader().parseSource(Broken(content), len(content))

        def kind(call):
            with self.assertRaises(poprt.Error) as raised:
                call()
            return raised.exception.popef_error

        self.assertEqual(kind(lambda: popef.Reader().parseSource(io.BytesIO(content[:100]), 100)), "format")
        self.assertEqual(kind(lambda: popef.Reader().parseFile(os.path.join(DATA, "affine.onnx"))), "format")
        self.assertEqual(kind(lambda: popef.Reader().parseFile("missing.popef")), "file")
        self.assertEqual(kind(lambda: popef.ModelBuilder(whole).createModel("nope")), "link")
        self.assertEqual(kind(lambda: compiled("missing.onnx")), "")


if __name__ == "__main__":
    if sys.argv[1:2] == ["exit"]:
        poprt.subscribe_log(lambda level, message: print(message, flush=True))
        affine(enable_engine_caching=True, cache_path=sys.argv[2])
    else:
        unittest.main()
