"""poprt --framework tensorflow: with a replacement for tf2onnx that copies a model."""

import os
import subprocess
import unittest
from unittest import mock

from support import CommandTest, model

TF2ONNX = """import os, shutil, sys
if "--signature_def" in sys.argv and "broken" in sys.argv:
    sys.exit("no signature 'broken'\\n")
with open(os.environ["TF2ONNX_WORDS"], "w") as file:
    file.write(" ".join(sys.argv[1:]))
if "lacking" in sys.argv and "--opset" in sys.argv:
    print("ERROR - Unsupported ops: Counter({'Einsum': 6})", file=sys.stderr)
if "flat" in sys.argv:
    print("WARNING - transpose_output for y: shape must be rank 4, ignored")
shutil.copy(os.environ["TF2ONNX_MODEL"], sys.argv[sys.argv.index("--output") + 1])
"""


class Tensorflow(CommandTest):
    command = "poprt"

    def environment(self, package):
        """An environment in which Python finds a tf2onnx that copies a model, or with `package` off none."""
        os.makedirs(self.path("python/tf2onnx"))
        os.mkdir(self.path("saved"))
        if package:
            self.write("python/tf2onnx/__init__.py", b"")
            self.write("python/tf2onnx/convert.py", TF2ONNX.encode())
        else:
            os.rmdir(self.path("python/tf2onnx"))
        values = {"PYTHONPATH": self.path("python"), "TF2ONNX_WORDS": self.path("words"), "TF2ONNX_MODEL": model("relu")}
        return mock.patch.dict(os.environ, values)

    def test_framework_onnx_tensorflow(self):
        with self.environment(True):
            self.succeeds("-i", "saved/", "--framework", "tensorflow", "--export_popef", "tf2onnx", "--saved_model")
            with open(self.path("words")) as file:
                words = file.read().split()
        self.assertEqual(words[:2] + words[4:], ["--saved-model", "saved", "--opset", "11"])
        self.assertIn("saved.optimized.onnx", self.tree())
        by_tensorflow = self.tree()["saved.optimized.onnx"]
        self.succeeds("-i", model("relu"), "--framework", "onnx")
        self.assertEqual(self.tree()["relu.optimized.onnx"], by_tensorflow)

    def test_modules_in_the_working_folder_are_not_imported(self):
        self.write("tf2onnx.py", b"raise SystemExit(5)\n")
        self.write("runpy.py", b"raise SystemExit(6)\n")
        self.write("importlib.py", b"raise SystemExit(7)\n")
        with self.environment(True):
            self.succeeds("-i", "saved", "--framework", "tensorflow", "tf2onnx", "--saved_model")

    def test_a_package_in_the_working_folder_is_not_installed(self):
        os.mkdir(self.path("tf2onnx"))
        self.write("tf2onnx/__init__.py", b"")
        self.write("tf2onnx/convert.py", b"raise SystemExit(5)\n")
        with self.environment(False):
            self.fails(["-i", "saved", "--framework", "tensorflow", "tf2onnx", "--saved_model"], "tf2onnx is not installed")

    def test_tf2onnx_sub_command_8_options(self):
        with self.environment(True):
            self.succeeds("-i", "saved", "--framework", "tensorflow", "tf2onnx", "--saved_model", "--signature_def", "s", "--tag",
                          "t", "--inputs", "a:0,b:0", "--outputs", "c:0,", "d:0", "--opset", "13", "--inputs_as_nchw", "a:0",
                          "--outputs_as_nchw", "c:0")
            with open(self.path("words")) as file:
                words = file.read()
        for part in ("--opset 13", "--signature_def s", "--tag t", "--inputs a:0,b:0", "--outputs c:0,d:0",
                     "--inputs-as-nchw a:0", "--outputs-as-nchw c:0"):
            self.assertIn(part, words)

    def test_an_opset_that_lacks_an_operator_is_not_insisted_on(self):
        """tf2onnx then uses its default opset, and the conversion continues as usual."""
        with self.environment(True):
            words = ["-i", "saved", "--framework", "tensorflow", "tf2onnx", "--saved_model", "--tag"]
            printed = self.run_command(*words, "lacking")
            self.assertEqual((printed.code, printed.err), (0, "poprt: --framework tensorflow: tf2onnx cannot write the model with opset 11 "
                                                        "(Counter({'Einsum': 6})); it was written with tf2onnx's default opset\n"))
            with open(self.path("words")) as file:
                self.assertNotIn("--opset", file.read())
            self.succeeds(*words, "other")

    def test_checks_names_of_nchw_inputs_and_outputs(self):
        with self.environment(True):
            words = ["-i", "saved", "--framework", "tensorflow", "tf2onnx", "--saved_model"]
            for given in (["--outputs_as_nchw", "y"], ["--outputs_as_nchw", "Identity:0"], ["--inputs_as_nchw", "x"], ["--inputs_as_nchw", "x:0"],
                          ["--outputs", "t:0,u:0", "--outputs_as_nchw", "t:0, u:0"]):
                self.succeeds(*words, *given)
            tree = self.tree()
            for given, why in ((["--outputs_as_nchw", "nothing"], "tf2onnx --outputs_as_nchw: the model has no output 'nothing'; it has y"),
                               (["--outputs_as_nchw", "y,Identity_1:0"], "no output 'Identity_1:0'"),
                               (["--inputs_as_nchw", "y"], "tf2onnx --inputs_as_nchw: the model has no input 'y'; it has x"),
                               (["--tag", "flat", "--outputs_as_nchw", "y"], "tf2onnx --outputs_as_nchw: y: it does not have four dimensions")):
                ran = self.run_command(*words, *given)
                self.assertEqual((ran.code, ran.err.count("\n")), (1, 1), ran.err)
                self.assertIn(why, ran.err)
            self.assertEqual({**self.tree(), "words": tree["words"]}, tree)

    def test_fails_without_the_package_or_its_arguments(self):
        with self.environment(False):
            ran = subprocess.run(["python3", "-c", "import tf2onnx"], capture_output=True, check=False)
            if ran.returncode:
                self.fails(["-i", "saved", "--framework", "tensorflow", "tf2onnx", "--saved_model"], "pip install tf2onnx")
            self.misused(["-i", "saved", "--framework", "tensorflow"], "tf2onnx --saved_model")
            self.misused(["-i", "saved", "tf2onnx", "--saved_model"], "--framework tensorflow")
            self.fails(["-i", "nothing", "--framework", "tensorflow", "tf2onnx", "--saved_model"], "'nothing'")

    def test_its_last_line_is_the_error(self):
        with self.environment(True):
            self.fails(["-i", "saved", "--framework", "tensorflow", "tf2onnx", "--saved_model", "--signature_def", "broken"],
                       "tf2onnx failed: no signature 'broken'")


if __name__ == "__main__":
    unittest.main()
