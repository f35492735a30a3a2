"""Guarantees of the binding for every object: new memory replaces the old, every 16-bit float is the same number on both sides,
and objects are closed in any order and refuse any use afterwards (scenarios 75 to 78)."""

import inspect
import itertools
import os
import tempfile
import unittest

import numpy as np

import model_runtime
from poprt.compiler import Compiler, CompilerOptions, Executable
from poprt.runtime import DeviceManager, Runner, RuntimeConfig

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
CODES = np.arange(65536, dtype=np.uint16)


def compiled(name, **shapes):
    return Compiler.compile(os.path.join(DATA, name), options=CompilerOptions(input_shape=shapes))


def half_values():
    """The values of all codes as 64-bit floats, computed from the definition of half precision."""
    sign = np.where(CODES >> 15, -1.0, 1.0)
    exponent, fraction = ((CODES >> 10) & 31).astype(int), (CODES & 1023).astype(float)
    small, normal = fraction * 2.0**-24, (1 + fraction / 1024) * 2.0 ** (exponent - 15)
    special = np.where(fraction == 0, np.inf, np.nan)
    return sign * np.where(exponent == 0, small, np.where(exponent == 31, special, normal))


def brain_values():
    return (CODES.astype(np.uint32) << 16).view(np.float32)


class Rebinding(unittest.TestCase):
    def setUp(self):
        self.runner = Runner(compiled("affine.onnx", x=[2, 4]), RuntimeConfig(threads=1))
        self.addCleanup(self.runner.close)

    def check(self, x, y):
        np.testing.assert_array_equal(y, 2 * x + 1)

    def test_an_output_may_be_in_the_memory_of_an_input(self):
        room = np.zeros((3, 4), np.float32)
        for shift in (-1, 0, 1):
            x, y = (room[:2], room[1:]) if shift < 0 else (room[1:], room[:2]) if shift else (room[:2], room[:2])
            given = np.arange(8, dtype=np.float32).reshape(2, 4)
            bound = self.runner.bind({"x": x}, {"y": y})
            for run in (lambda: self.runner.execute({"x": x}, {"y": y}), bound.execute,
                        lambda: self.runner.execute_async({"x": x}, {"y": y}).wait()):
                x[:] = given
                run()
                self.check(given, y)

    def test_scenario_75_each_binding_has_its_own_memory(self):
        x = [np.full((2, 4), i, np.float32) for i in range(4)]
        y = [np.zeros((2, 4), np.float32) for _ in range(4)]
        bound = [self.runner.bind({"x": x[i]}, {"y": y[i]}) for i in range(4)]
        for order in ((0, 1, 2, 3), (3, 1, 0, 2)):
            for i in order:
                before = [a.copy() for a in y]
                x[i] += 10
                bound[i].execute()
                self.check(x[i], y[i])
                for j in range(4):
                    if j != i:
                        np.testing.assert_array_equal(y[j], before[j])

    def test_scenario_75_a_dict_of_memory_is_read_at_each_call(self):
        inputs, outputs = {"x": np.zeros((2, 4), np.float32)}, {"y": np.zeros((2, 4), np.float32)}
        self.runner.execute(inputs, outputs)
        old = outputs["y"]
        inputs["x"], outputs["y"] = np.ones((2, 4), np.float32), np.zeros((2, 4), np.float32)
        self.runner.execute(inputs, outputs)
        self.check(inputs["x"], outputs["y"])
        np.testing.assert_array_equal(old, np.ones((2, 4)))
        inputs["x"], outputs["y"] = np.full((6, 4), 5, np.float32), np.zeros((6, 4), np.float32)  # three batches
        self.runner.execute(inputs, outputs)
        self.check(inputs["x"], outputs["y"])

    def test_scenario_75_a_run_in_flight_keeps_its_memory(self):
        with Runner(compiled("slow.onnx"), RuntimeConfig(threads=1)) as slow:
            x = np.ones((512, 512), np.float32)
            outputs = {"y": np.zeros((512, 512), np.float32)}
            old = outputs["y"]
            future = slow.execute_async({"x": x}, outputs)
            outputs["y"] = np.zeros((512, 512), np.float32)
            future.wait()
            np.testing.assert_array_equal(old, 1)
            np.testing.assert_array_equal(outputs["y"], 0)


class Cancelling(unittest.TestCase):
    def test_scenario_22_a_run_that_has_ended_cannot_be_cancelled(self):
        with Runner(compiled("affine.onnx", x=[2, 4]), RuntimeConfig(threads=1)) as runner:
            future = runner.execute_async({"x": np.ones((2, 4), np.float32)}, {"y": np.zeros((2, 4), np.float32)})
            future.wait()
            self.assertFalse(future.cancel())
            self.assertFalse(future.cancel() or future.cancelled())
            np.testing.assert_array_equal(future.wait()["y"], 3)


class Floats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runner = Runner(compiled("floats.onnx"), RuntimeConfig(threads=1))

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()

    def run_model(self, value, half=None):
        half = CODES.view(np.float16) if half is None else half
        return self.runner.run({"half": half, "brain": CODES, "value": value.astype(np.float32)})

    def same(self, found, expected):
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(found[numbers].view(np.uint32), expected[numbers].astype(np.float32).view(np.uint32))
        self.assertTrue(np.isnan(found[~numbers]).all())

    def test_scenario_76_every_code_is_its_value_and_back(self):
        outputs = self.run_model(half_values())
        self.same(outputs["half_value"], half_values())
        numbers = ~np.isnan(half_values())
        np.testing.assert_array_equal(outputs["value_half"].view(np.uint16)[numbers], CODES[numbers])
        with np.errstate(invalid="ignore"):
            outputs = self.run_model(brain_values())
        usual = (np.abs(brain_values()) >= 2.0**-126) | (brain_values() == 0)  # a run flushes denormals of f32
        self.same(outputs["brain_value"][usual], brain_values()[usual].astype(np.float64))
        np.testing.assert_array_equal(outputs["value_brain"][usual], CODES[usual])

    def test_scenario_76_ties_round_to_even(self):
        brain = brain_values()[:0x7f80].astype(np.float64)
        for values, output, count in ((half_values()[:0x7c00], "value_half", 0x7c00), (brain, "value_brain", 0x7f80)):
            low = CODES[:count]
            # The last entry is the number that would follow the largest one; from the middle between these two on, numbers become infinity.
            ends = np.append(values, 2 * values[-1] - values[-2])
            middle = ((ends[:-1] + ends[1:]) / 2).astype(np.float32)
            usual = middle >= 2.0**-126
            for near, expected in ((middle, low + (low & 1)), (np.nextafter(middle, np.float32(0)), low),
                                   (np.nextafter(middle, np.float32(np.inf)), low + 1)):
                padded = np.zeros(65536, np.float32)
                padded[:count] = near
                padded[count : 2 * count] = -near
                bits = self.run_model(padded)[output].view(np.uint16)
                np.testing.assert_array_equal(bits[:count][usual], expected[usual])
                np.testing.assert_array_equal(bits[count : 2 * count][usual], (expected | 0x8000)[usual])

    def test_scenario_76_numbers_of_python_become_halves(self):
        with Runner(compiled("half.onnx", x=[2, 4]), RuntimeConfig(threads=1)) as runner:
            y = runner.run({"x": [[0, 1, 2, 3], [4.5, 2.0**-24, -1, 1024]]})["y"]
            np.testing.assert_array_equal(y, np.float16([[1, 3, 5, 7], [10, 1, -1, 2049]]))


def objects():
    """One object of each class that has a method close, by name, and the objects that it needs."""
    manager = DeviceManager()
    executable = compiled("affine.onnx", x=[2, 4])
    device = manager.get_device()
    return {"executable": executable, "device": device, "runner": Runner(executable, RuntimeConfig(threads=1, device=device)),
            "session": model_runtime.Session(executable, model_runtime.SessionConfig(threads=1)),
            "model_runner": model_runtime.ModelRunner(executable)}


# An argument for each parameter of a method, by name; others have a default or are in `skipped`.
ARGUMENTS = {"input": {"x": np.zeros((2, 4), np.float32)}, "output": {"y": np.zeros((2, 4), np.float32)}, "index": 0, "name": "x",
             "inputs": {"x": np.zeros((2, 4), np.float32)}, "outputs": {"y": np.zeros((2, 4), np.float32)}, "path": "never.popef",
             "output_names": {"x": np.zeros((2, 4), np.float32)}, "dimension": 0, "handler": lambda *_: True, "indices": [0],
             "array": np.zeros((2, 4), np.float32), "replica": 0, "memo": {}, "shapes": "x=2,4"}


class Closing(unittest.TestCase):
    def test_scenario_77_in_any_order(self):
        names = sorted(objects())
        for order in itertools.permutations(names):
            made = objects()
            future = made["runner"].execute_async({"x": np.ones((2, 4), np.float32)}, {"y": np.zeros((2, 4), np.float32)})
            for name in order:
                made[name].close()
                made[name].close()
            # Closing the runner has waited for the run.
            np.testing.assert_array_equal(future.wait(10)["y"], 3)
        manager = DeviceManager()
        self.assertGreater(len([manager.get_device() for _ in range(3)]), 0)

    def test_scenario_78_no_method_works_afterwards(self):
        checked = 0
        for name, closed in objects().items():
            closed.close()
            for method, member in inspect.getmembers(type(closed)):
                if method.startswith("_") or method in ("close", "from_model", "load", "fuse"):
                    continue
                if name == "session" and method in ("getUserInputAnchors", "getUserOutputAnchors", "model"):
                    getattr(closed, method)()  # this is known since the session was made
                    continue
                checked += 1
                with self.subTest(f"{name}.{method}"), self.assertRaisesRegex(ValueError, "is closed"):
                    if isinstance(member, property):
                        getattr(closed, method)
                    elif callable(member):
                        call = getattr(closed, method)
                        needed = [p for p in inspect.signature(call).parameters.values()
                                  if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
                        result = call(*(ARGUMENTS[p.name] for p in needed)) if method != "run" else call(ARGUMENTS["inputs"])
                        if inspect.iscoroutine(result):
                            result.send(None)
        self.assertGreater(checked, 50)

    def test_scenario_78_neither_do_readers_and_writers(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "affine.popef")
            compiled("affine.onnx", x=[2, 4]).save(path)
            device = DeviceManager().get_device()
            device.close()
            with self.assertRaisesRegex(ValueError, "is closed"):
                Runner(path, RuntimeConfig(device=device))
            executable = Executable(path)
            executable.close()
            for make in (Runner, model_runtime.Session, model_runtime.ModelRunner):
                with self.assertRaisesRegex(ValueError, "is closed"):
                    make(executable)


if __name__ == "__main__":
    unittest.main()
