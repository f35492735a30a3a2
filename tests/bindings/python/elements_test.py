"""Every type of elements as arrays of NumPy, lists and other buffers (scenario 79)."""

import array
import os
import unittest

import numpy as np

import poprt
from poprt.compiler import Compiler
from poprt.runtime import Runner, RuntimeConfig

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "types.onnx")
TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": np.uint16, "s8": np.int8, "u8": np.uint8, "s16": np.int16,
         "u16": np.uint16, "s32": np.int32, "u32": np.uint32, "s64": np.int64, "u64": np.uint64, "bool": np.bool_}


def arrays():
    """The extremes of each type, and numbers that distinguish bytes, rows and columns."""
    made = {}
    for name, dtype in TYPES.items():
        if name == "bf16":
            made[name] = np.array([[0x3f80, 0x4000, 0x7f7f], [0x0080, 0xc000, 0x3eab]], dtype)
        elif name == "bool":
            made[name] = np.array([[True, False, True], [True, True, False]])
        elif np.issubdtype(dtype, np.integer):
            limits = np.iinfo(dtype)
            made[name] = np.array([[1, 2, 3], [limits.min, limits.max, 0x12]], dtype)
        else:
            limits = np.finfo(dtype)
            made[name] = np.array([[1, -2, 0.5], [limits.max, limits.tiny, 3]], dtype)
    return made


class Types(unittest.TestCase):
    def setUp(self):
        self.runner = Runner(Compiler.compile(MODEL), RuntimeConfig(threads=1))
        self.addCleanup(self.runner.close)

    def check(self, outputs):
        for name, given in arrays().items():
            found = outputs[name + "_y"]
            self.assertEqual(found.dtype, TYPES[name], name)
            np.testing.assert_array_equal(found, given, name)

    def test_scenario_79_arrays_of_every_type(self):
        self.check(self.runner.run(arrays()))
        outputs = {name + "_y": np.zeros_like(a) for name, a in arrays().items()}
        self.runner.execute(arrays(), outputs)
        self.check(outputs)
        outputs = {name + "_y": np.zeros_like(a) for name, a in arrays().items()}
        self.runner.bind(arrays(), outputs).execute()
        self.check(outputs)

    def test_scenario_79_columns_and_other_byte_orders(self):
        strided = {name: np.asfortranarray(a) for name, a in arrays().items()}
        self.check(self.runner.run(strided))
        every_second = {name: np.repeat(a, 2, axis=1)[:, ::2] for name, a in arrays().items()}
        self.check(self.runner.run(every_second))

    def test_scenario_79_lists(self):
        lists = {name: a.tolist() for name, a in arrays().items() if name != "bf16"}  # lists have no bfloat16
        self.check(self.runner.run({**lists, "bf16": arrays()["bf16"]}))

    def test_scenario_79_other_buffers(self):
        codes = {"f32": "f", "f64": "d", "s8": "b", "u8": "B", "s16": "h", "u16": "H", "s32": "i", "u32": "I", "s64": "q", "u64": "Q"}
        given = arrays()
        for name, code in codes.items():
            given[name] = memoryview(array.array(code, given[name].ravel().tolist())).cast("B").cast(code, (2, 3))
        self.check(self.runner.run(given))

    def test_scenario_79_other_types_are_refused(self):
        outputs = {name + "_y": np.zeros_like(a) for name, a in arrays().items()}
        for name in TYPES:
            for other, dtype in TYPES.items():
                if TYPES[name] == dtype:
                    continue
                with self.subTest(f"{other} for {name}"):
                    with self.assertRaisesRegex(poprt.errors.InvalidArgumentError, f"{name}_y"):
                        self.runner.execute(arrays(), {**outputs, name + "_y": np.zeros((2, 3), dtype)})
                    with self.assertRaises((poprt.errors.InvalidArgumentError, TypeError)):
                        self.runner.bind({**arrays(), name: np.ones((2, 3), dtype)}, outputs)


if __name__ == "__main__":
    unittest.main()
