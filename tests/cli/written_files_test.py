"""No command replaces a file that it reads, or writes two outputs to one file."""

import os
import unittest

import onnx_writer as onnx
from poprt_exec_recompile_test import added_to_external
from support import CommandTest, model


class WrittenFiles(CommandTest):
    def refused(self, command, words, *facts):
        """Fails for the files, and leaves every file as it was."""
        self.command = command
        self.fails(words, *facts, "give another path")

    def external(self):
        """A model with its weight in a file with a blank in its name."""
        self.write("ext weights.bin", bytes(12))
        return self.write("ext.onnx", added_to_external("ext weights.bin"))

    def test_external_data_stays(self):
        self.external()
        reads = "same file as 'ext weights.bin', which the command reads"
        self.refused("poprt", ["-i", "ext.onnx", "--output_model", "ext weights.bin"], reads)
        os.link(self.path("ext weights.bin"), self.path("hard.bin"))
        self.refused("poprt", ["-i", "ext.onnx", "--output_model", "hard.bin"], reads)
        self.refused("poprt", ["-i", "ext.onnx", "-o", "e.popef", "--compiler_options", "serialize_ir=True",
                               "serialized_ir_dest=ext weights.bin"], reads)

    def test_the_configuration_stays(self):
        self.write("c.yaml", f"input_model: {model('relu')}\n".encode())
        self.refused("poprt", ["--config_yaml", "c.yaml", "--output_model", "c.yaml"], "same file as 'c.yaml'")

    def test_two_outputs_are_two_files(self):
        self.write("two.onnx", onnx.model([onnx.node("Relu", ["x"], ["y"]), onnx.node("Neg", ["x"], ["z"])],
                                          [onnx.value("x", onnx.F32, [2])],
                                          [onnx.value("y", onnx.F32, [2]), onnx.value("z", onnx.F32, [2])]))
        self.refused("poprt", ["-i", "two.onnx", "-o", "r.popef", "--compiler_options", "serialize_ir=True",
                               "serialized_ir_dest=r.popef"], "same file as that of --output")

    def test_a_relative_output_model_keeps_its_folder(self):
        os.makedirs(self.path("out/sub"))
        self.command = "poprt"
        self.succeeds("-i", model("relu"), "--output_dir", "out", "--output_model", "sub/d.onnx")
        self.assertEqual([name for name in self.tree() if name.endswith(".onnx")], ["out/sub/d.onnx"])
        ran = self.run_command("-i", model("relu"), "--output_model", "none/d.onnx")
        self.assertEqual(ran.code, 1)
        self.assertIn("none/d.onnx", ran.err)


if __name__ == "__main__":
    unittest.main()
