"""partials_type from CompilerOptions to the numbers that a chip would give: half rounds the running sum of each 16 products, float does
not. Numbers are compared with sums in double of the same halves."""

import os
import tempfile
import unittest

import numpy as np
import onnx_models as m
import poprt
from onnx_models import node
from poprt import runtime
from poprt.compiler import Compiler, CompilerOptions
from poprt.converter import Converter

RNG = np.random.default_rng(23)
DEPTH = 1024
X = RNG.uniform(0.5, 1, (4, DEPTH)).astype(np.float16)
W = RNG.uniform(0.5, 1, (DEPTH, 3)).astype(np.float16)
SUMS = X.astype(np.float64) @ W.astype(np.float64)


def half_model():
    model = m.make([node("MatMul", ["x", "w"], ["y"])], {"x": [4, DEPTH]}, {"y": [4, 3]}, {"w": W.astype(np.float32)})
    return Converter(precision="fp16").convert(model)


def running_sums():
    """The sums of the chip: 16 products in f32, after which the sum so far is rounded to a half."""
    sums = np.zeros((4, 3), np.float16)
    for k in range(0, DEPTH, 16):
        group = X[:, k:k + 16].astype(np.float32) @ W[k:k + 16].astype(np.float32)
        sums = (sums.astype(np.float32) + group).astype(np.float16)
    return sums.astype(np.float64)


class Partials(unittest.TestCase):
    def worst(self, partials, source):
        """The largest error in units of the result's last place."""
        numerics = runtime.RuntimeConfig(numerics="faithful")
        options = CompilerOptions(partials_type=partials, options={"numerics": "faithful"})
        with runtime.Runner(Compiler.compile(source, None, options), numerics) as runner:
            found = runner.run({"x": X})["y"]
        self.assertEqual(found.dtype, np.float16)
        self.found = found.astype(np.float64)
        return np.max(np.abs(self.found - SUMS) / np.spacing(SUMS.astype(np.float16)).astype(np.float64))

    def test_float_partials_round_once_and_half_ones_in_every_group(self):
        model = half_model()
        self.assertLessEqual(self.worst("float", model), 0.51)
        self.assertGreater(self.worst("half", model), 1.5)
        # The error is not much larger than that of the reference, which rounds in another order.
        spread = np.abs(running_sums() - SUMS).max()
        self.assertLess(np.abs(self.found - SUMS).max(), 3 * spread)

    def test_partials_are_half_by_default(self):
        self.assertEqual(CompilerOptions().partials_type, "half")
        model = half_model()
        self.worst("half", model)
        output = self.found
        with runtime.Runner(Compiler.compile(model, None, CompilerOptions(options={"numerics": "faithful"})),
                            runtime.RuntimeConfig(numerics="faithful")) as runner:
            np.testing.assert_array_equal(runner.run({"x": X})["y"].astype(np.float64), output)

    def test_an_executable_keeps_it(self):
        model = half_model()
        with tempfile.TemporaryDirectory() as folder:
            for partials, at_most in (("float", 0.51), ("half", 100)):
                path = os.path.join(folder, partials + ".popef")
                Compiler.compile_and_export(model, ["y"], path, CompilerOptions(partials_type=partials, options={"numerics": "faithful"}))
                with runtime.Runner(path, runtime.RuntimeConfig(numerics="faithful")) as runner:
                    found = runner.run({"x": X})["y"].astype(np.float64)
                worst = np.max(np.abs(found - SUMS) / np.spacing(SUMS.astype(np.float16)).astype(np.float64))
                self.assertLessEqual(worst, at_most)
                self.assertEqual("partials_type = float" in poprt.dump_popef(path, "metadata"), partials == "float")
            self.assertGreater(worst, 1.5)

    def test_fast_numerics_are_never_less_accurate(self):
        model = half_model()
        for partials in ("half", "float"):
            with runtime.Runner(Compiler.compile(model, None, CompilerOptions(partials_type=partials))) as runner:
                found = runner.run({"x": X})["y"].astype(np.float64)
            self.assertLess(np.abs(found - SUMS).max(), np.abs(running_sums() - SUMS).max())


if __name__ == "__main__":
    unittest.main()
