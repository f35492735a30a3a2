"""Options and errors of `poprt_exec estimate`."""

import os
import unittest

import onnx_writer as onnx
from poprt_exec_recompile_test import added_to_external
from support import CommandTest


class Estimate(CommandTest):
    command = "poprt_exec estimate"

    def compiled(self, operator):
        self.write("m.onnx", onnx.model([onnx.node(operator, ["x"], ["y"])], [onnx.value("x", onnx.F32, [4])],
                                        [onnx.value("y", onnx.F32, [4])]))
        self.succeeds("-i", "m.onnx", "-o", f"{operator}.popef", command="poprt")

    def test_the_model_next_to_a_popef_is_its_source(self):
        self.compiled("Tanh")
        self.compiled("Relu")
        self.succeeds("Relu.popef")
        self.fails(["Tanh.popef"], "'m.onnx' is not the source of 'Tanh.popef'", "recorded hash")

    def test_the_weights_of_the_source_may_be_missing(self):
        self.write("w.bin", bytes(12))
        self.write("e.onnx", added_to_external("w.bin"))
        self.succeeds("-i", "e.onnx", "-o", "e.popef", command="poprt")
        os.unlink(self.path("w.bin"))
        ran = self.run_command("e.popef")
        self.assertEqual(ran.code, 0, ran.err)
        self.assertIn("cannot be compared with the source of 'e.popef'", ran.err)


if __name__ == "__main__":
    unittest.main()
