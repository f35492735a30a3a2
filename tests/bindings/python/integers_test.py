"""Inputs of 32-bit and 64-bit integers accept both types if the values fit."""

import os
import unittest

import numpy as np
from poprt import errors
from poprt.compiler import Compiler, CompilerOptions
from poprt.runtime import Runner, RuntimeConfig

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
TABLE = np.arange(6, dtype=np.float32).reshape(3, 2)
ROWS = np.array([[4, 5], [0, 1], [2, 3], [4, 5]], np.float32)


class Integers(unittest.TestCase):
    def lookup(self, *passes):
        executable = Compiler.compile(os.path.join(DATA, "lookup.onnx"), None, CompilerOptions(passes=list(passes)))
        runner = Runner(executable, RuntimeConfig(threads=1))
        self.addCleanup(runner.close)
        return runner

    def rows(self, runner, ids):
        return runner.run({"table": TABLE, "ids": ids})["rows"]

    def test_64_bits_take_32(self):
        runner = self.lookup()
        self.assertEqual(runner.get_execute_inputs()[1].numpy_data_type(), np.int64)
        for ids in (np.array([2, 0, 1, 2], np.int32), np.array([2, 9, 0, 9, 1, 9, 2], np.int32)[::2], np.array([2, 0, 1, 2])):
            np.testing.assert_array_equal(self.rows(runner, ids), ROWS)

    def test_32_bits_take_64_that_fit(self):
        runner = self.lookup("int64_to_int32")
        self.assertEqual(runner.get_execute_inputs()[1].numpy_data_type(), np.int32)
        for ids in (np.array([2, 0, 1, 2]), np.array([2, 9, 0, 9, 1, 9, 2])[::2], np.array([2, 0, 1, 2], np.int32), [2, 0, 1, 2]):
            np.testing.assert_array_equal(self.rows(runner, ids), ROWS)
        np.testing.assert_array_equal(runner.run({"table": TABLE, "ids": np.array([2, 0, 1, 2])})["next"], [3, 1, 2, 3])

    def test_errors_name_the_input_that_does_not_fit(self):
        runner = self.lookup("int64_to_int32")
        for value in (2**31, -2**31 - 1, 2**63 - 1):
            with self.assertRaisesRegex(errors.InvalidArgumentError, f"input 'ids': is s32, which does not hold {value}"):
                self.rows(runner, np.array([0, 0, value, 0]))
        with self.assertRaisesRegex(errors.InvalidArgumentError, r"'ids'.*s32\[4\].*s32\[3\]"):
            self.rows(runner, np.array([0, 0, 0]))

    def test_other_types_stay_wrong(self):
        for runner in (self.lookup(), self.lookup("int64_to_int32")):
            for dtype in (np.int16, np.uint32, np.uint64, np.float32):
                with self.assertRaisesRegex(errors.InvalidArgumentError, "'ids'"):
                    self.rows(runner, np.array([2, 0, 1, 2], dtype))

    def test_asynchronously_and_into_outputs(self):
        runner = self.lookup("int64_to_int32")
        out = {"rows": np.empty((4, 2), np.float32), "next": np.empty(4, np.int32)}
        runner.execute_async({"table": TABLE, "ids": np.array([2, 0, 1, 2])}, out).wait()
        np.testing.assert_array_equal(out["rows"], ROWS)
        with self.assertRaisesRegex(errors.InvalidArgumentError, "output 'next'"):
            runner.execute({"table": TABLE, "ids": np.array([2, 0, 1, 2])}, {**out, "next": np.empty(4, np.int64)})

    def test_arrays_that_are_bound_must_be_of_the_type(self):
        """A run reads their current values, so a converted copy would be out of date."""
        runner = self.lookup("int64_to_int32")
        out = {"rows": np.empty((4, 2), np.float32), "next": np.empty(4, np.int32)}
        with self.assertRaisesRegex(errors.InvalidArgumentError, "'ids'"):
            runner.bind({"table": TABLE, "ids": np.array([2, 0, 1, 2])}, out).execute()


if __name__ == "__main__":
    unittest.main()
