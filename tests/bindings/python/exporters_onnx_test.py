"""poprt.frontend.convert: frameworks, messages about packages that are missing, and the real exporters if there are any."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import numpy as np
import onnx
import onnx_models as m
from onnx_models import node
from poprt.errors import FileMissingError, InvalidArgumentError
from poprt.frontend import FRAMEWORKS, ExporterFrontend, convert, get_frontend, main

HERE = os.path.dirname(os.path.abspath(__file__))


def add():
    return m.make([node("Add", ["x", "x"], ["y"])], {"x": [2, 3]}, {"y": [2, 3]})


class Frameworks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, data=b""):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def test_a_missing_package_comes_with_its_installation(self):
        for name, model, package in (("pytorch", self.file("m.pt"), "torch onnxscript"), (None, self.file("m.pt2"), "torch onnxscript"),
                                     ("tensorflow", self.file("m.keras"), "tf2onnx tensorflow"), (None, self.file("m.h5"), "tf2onnx tensorflow"),
                                     (None, self.file("m.pdmodel"), "paddle2onnx paddlepaddle"), ("sklearn", self.file("m.joblib"), "skl2onnx"),
                                     ("lightgbm", self.file("m.txt"), "lightgbm onnxmltools"), ("xgboost", self.file("m.json"), "xgboost onnxmltools")):
            with self.subTest(name=name, model=os.path.basename(model)):
                hidden = dict.fromkeys(("torch", "tf2onnx", "paddle2onnx", "skl2onnx", "lightgbm", "xgboost"))
                with mock.patch.dict(sys.modules, hidden), self.assertRaisesRegex(ImportError, "which is not installed: python3 -m pip "
                                                                                              f"install {package}"):
                    convert(model, name)

    def test_objects_are_recognised_by_the_framework_of_their_class(self):
        for package, framework in (("torch", "pytorch"), ("keras", "keras"), ("paddle", "paddle"), ("sklearn", "sklearn"),
                                   ("lightgbm", "lightgbm"), ("xgboost", "xgboost")):
            base = type("Base", (), {"__module__": package + ".inner"})
            model = type("Mine", (base,), {"__module__": "program"})()
            with self.subTest(package), mock.patch.dict("poprt._exporters.EXPORTERS", {framework: lambda request: request}):
                request = convert(model, input_shape={"x": [None, 4]}, opset=17, verbose=True)
                self.assertIs(request.model, model)
                self.assertEqual((request.opset, request.options, dict(request.input_shape)), (17, {"verbose": True}, {"x": [None, 4]}))

    def test_onnx_models_are_accepted(self):
        path = self.file("m.onnx", add().SerializeToString())
        for model in (path, add(), add().SerializeToString(), self.folder.name):
            self.assertEqual([n.op_type for n in convert(model, *(["onnx"] if isinstance(model, bytes) else [])).graph.node], ["Add"])

    def test_refuses_unknown_frameworks_and_missing_files(self):
        for model, framework, kind, part in ((3, None, InvalidArgumentError, "the framework of a int is not recognised"),
                                             (self.file("m.bin"), None, InvalidArgumentError, "give framework, one of onnx, pytorch"),
                                             (add(), "mxnet", InvalidArgumentError, "expected one of onnx, .*, found 'mxnet'"),
                                             ("missing.onnx", None, FileMissingError, "missing.onnx")):
            with self.subTest(part), self.assertRaisesRegex(kind, part):
                convert(model, framework)
        with mock.patch.dict(sys.modules, {"lightgbm": types.ModuleType("lightgbm")}), self.assertRaisesRegex(FileMissingError, "missing.txt"):
            convert("missing.txt", "lightgbm")

    def test_front_ends_have_the_names_of_frameworks(self):
        front = get_frontend("m.pt", "pytorch", input_shape={"x": [1]})
        self.assertIsInstance(front, ExporterFrontend)
        with mock.patch.dict("poprt._exporters.EXPORTERS", {"pytorch": lambda request: request}):
            self.assertEqual(front.load_model().model, "m.pt")
        self.assertEqual(FRAMEWORKS, ("onnx", "pytorch", "tensorflow", "keras", "paddle", "sklearn", "lightgbm", "xgboost"))

    def test_the_program_of_the_command(self):
        made = os.path.join(self.folder.name, "made.onnx")
        with mock.patch.dict("poprt._exporters.EXPORTERS", {"sklearn": lambda request: (self.assertEqual(dict(request.input_shape), {
                "x": [None, 3]}), add())[1]}):
            self.assertEqual(main(["--framework", "sklearn", "--output", made, "--input_shape", "x=-1,3", "--", "m.joblib"]), 0)
        self.assertEqual(len(onnx.load(made).graph.node), 1)
        printed = io.StringIO()
        with contextlib.redirect_stderr(printed):
            self.assertEqual(main(["--framework", "onnx", "--output", made, "missing.onnx"]), 1)
        self.assertRegex(printed.getvalue(), r"^FileMissingError: .*missing.onnx.*\n$")


@unittest.skipUnless(os.environ.get("POPRT_FRONTENDS_PYTHON"), "POPRT_FRONTENDS_PYTHON names no Python with exporters")
class RealExporters(unittest.TestCase):
    def test_results_are_those_of_the_frameworks(self):
        done = subprocess.run([os.environ["POPRT_FRONTENDS_PYTHON"], os.path.join(HERE, "real_exporters.py")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("equal", done.stdout)

    def test_the_command_converts_and_runs(self):
        save = ("import joblib, numpy as np; from sklearn.linear_model import LinearRegression as L; x = np.eye(4, dtype=np.float32); "
                "joblib.dump(L().fit(x, x[:, 0]), 'm.joblib')")
        with tempfile.TemporaryDirectory() as folder:
            python = os.environ["POPRT_FRONTENDS_PYTHON"]
            subprocess.run([python, "-c", save], cwd=folder, check=True)
            command = os.path.join(os.environ["POPRT_BUILD"], "bin", "poprt")
            done = subprocess.run([command, "-i", "m.joblib", "--framework", "sklearn", "--input_shape", "x=4,4", "--export_popef", "--run"],
                                  cwd=folder, env={**os.environ, "POPRT_PYTHON": python}, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("Tput", done.stdout)


if __name__ == "__main__":
    unittest.main()
