"""poprt.frontend.convert with stand-ins for frameworks and exporters: the arguments of each exporter, and the result.

exporters_onnx_test.py runs the real exporters where there are any."""

import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import numpy as np
import onnx_models as m
from onnx_models import node
from poprt.errors import FailedPreconditionError, InvalidArgumentError
from poprt.frontend import TensorflowFrontend, convert

ADD = m.make([node("Add", ["x", "x"], ["y"])], {"x": [2, 3]}, {"y": [2, 3]})
MUL = m.make([node("Mul", ["x", "x"], ["y"])], {"x": [2, 3]}, {"y": [2, 3]})


def operators(model):
    return [n.op_type for n in model.graph.node]


def package(name, **members):
    """A module and its parent packages, for sys.modules."""
    made = types.ModuleType(name)
    vars(made).update(members)
    above = {name[:at]: types.ModuleType(name[:at]) for at, c in enumerate(name) if c == "."}
    return {**above, name: made}


class StandIns(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.calls = []

    def file(self, name, data=b"x"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def modules(self, *packages):
        self.enterContext(mock.patch.dict(sys.modules, {name: made for p in packages for name, made in p.items()}))


class Module:
    """A module of PyTorch."""

    __module__ = "torch.nn"
    trained = True

    def eval(self):
        self.trained = False


class ScriptModule(Module):
    pass


class Program:
    __module__ = "torch.export"


class PyTorch(StandIns):
    def setUp(self):
        super().setUp()
        self.old = False

        def export(model, arguments, target=None, **options):
            if self.old and "dynamo" in options:
                raise TypeError("export() got an unexpected keyword argument 'dynamo'")
            if "broken" in options:
                raise TypeError("broken")
            self.calls.append((model, arguments, options))
            if target is None:
                return types.SimpleNamespace(model_proto=ADD)
            target.write(MUL.SerializeToString())

        def loaded(path, **options):
            self.calls.append((path, options))
            return self.loaded

        torch = types.ModuleType("torch")
        torch.export = types.SimpleNamespace(load=loaded, ExportedProgram=Program)
        torch.jit = types.SimpleNamespace(load=loaded, ScriptModule=ScriptModule)
        torch.onnx = types.SimpleNamespace(export=export)
        torch.zeros = lambda shape: ("zeros", shape)
        self.modules({"torch": torch}, package("onnxscript"))

    def test_a_module_is_exported_by_dynamo_in_evaluation_mode(self):
        model = Module()
        self.assertEqual(operators(convert(model, example_inputs=7)), ["Add"])
        self.assertEqual(self.calls, [(model, (7,), {"dynamo": True, "verbose": False, "opset_version": 18})])
        self.assertFalse(model.trained)

    def test_inputs_by_shape_are_zeros_with_names_in_order(self):
        convert(Module(), input_shape={"b": [None, 4], "a": [3]}, opset=20)
        (_, arguments, options), = self.calls
        self.assertEqual(arguments, (("zeros", [1, 4]), ("zeros", [3])))
        self.assertEqual((options["input_names"], options["opset_version"]), (["b", "a"], 20))

    def test_given_inputs_names_and_options_have_priority(self):
        convert(Module(), example_inputs=(1, 2), input_shape={"x": [1]}, input_names=["z"], opset_version=13, verbose=True)
        (_, arguments, options), = self.calls
        self.assertEqual((arguments, options), ((1, 2), {"dynamo": True, "verbose": True, "opset_version": 13, "input_names": ["z"]}))

    def test_inputs_are_required_except_by_an_exported_program(self):
        with self.assertRaisesRegex(InvalidArgumentError, "convert of pytorch: give example_inputs .*or input_shape"):
            convert(Module())
        program = Program()
        self.assertEqual(operators(convert(program)), ["Add"])
        self.assertEqual(self.calls, [(program, (), {"dynamo": True, "verbose": False, "opset_version": 18})])

    def test_files_are_loaded_by_their_ending(self):
        path = self.file("m.pt2")
        self.loaded = Program()
        self.assertEqual(operators(convert(path)), ["Add"])
        self.assertEqual(self.calls[0], (path, {}))
        self.calls.clear()
        path = self.file("m.pt")
        self.loaded = ScriptModule()
        self.assertEqual(operators(convert(path, example_inputs=1)), ["Mul"])  # the operator of the exporter that writes to a stream
        self.assertEqual(self.calls, [(path, {"map_location": "cpu"}), (self.loaded, (1,), {"dynamo": False, "opset_version": 17})])
        self.assertFalse(self.loaded.trained)

    def test_torchscript_needs_no_onnxscript_and_works_with_an_old_torch(self):
        with mock.patch.dict(sys.modules, onnxscript=None):
            convert(ScriptModule(), example_inputs=1, opset=15)
            with self.assertRaisesRegex(ImportError, "pip install onnxscript"):
                convert(Module(), example_inputs=1)
        self.old = True
        self.assertEqual(operators(convert(ScriptModule(), example_inputs=1, opset=15)), ["Mul"])
        self.assertEqual([c[2] for c in self.calls], [{"dynamo": False, "opset_version": 15}, {"opset_version": 15}])
        self.old = False
        with self.assertRaisesRegex(TypeError, "^broken$"):
            convert(ScriptModule(), example_inputs=1, broken=True)
        del sys.modules["torch"].export  # PyTorch before version 2 has no torch.export
        self.assertEqual(operators(convert(ScriptModule(), example_inputs=1)), ["Mul"])


class Layer:
    __module__ = "paddle.nn"
    trained = True

    def eval(self):
        self.trained = False


class Paddle(StandIns):
    def setUp(self):
        super().setUp()
        self.ending = ".json"

        def save(layer, target, input_spec):
            self.calls.append((layer, input_spec))
            for ending in (self.ending, ".pdiparams"):
                with open(target + ending, "wb"):
                    pass

        def export(path, weights, made, **options):
            self.assertTrue(os.path.exists(path))
            self.calls.append((path, weights, options))
            with open(made, "wb") as file:
                file.write(ADD.SerializeToString())

        self.modules(package("paddle2onnx", export=export), package("paddle", static=types.SimpleNamespace(
            InputSpec=lambda shape, kind, name: (name, shape, kind)), jit=types.SimpleNamespace(save=save)))

    def test_a_layer_is_saved_and_exported(self):
        for self.ending in (".json", ".pdmodel"):
            self.calls.clear()
            layer = Layer()
            self.assertEqual(operators(convert(layer, input_shape={"x": [None, 3]}, quick=True)), ["Add"])
            (saved, spec), (path, weights, options) = self.calls
            self.assertIs(saved, layer)
            self.assertFalse(layer.trained)
            self.assertEqual(spec, [("x", [None, 3], "float32")])
            self.assertEqual((os.path.splitext(path)[1], weights), (self.ending, os.path.splitext(path)[0] + ".pdiparams"))
            self.assertEqual(options, {"opset_version": 15, "quick": True})
            self.assertFalse(os.path.exists(path))

    def test_given_inputs_have_priority_and_some_are_needed(self):
        convert(Layer(), example_inputs=("spec",), input_shape={"x": [1]}, opset=13)
        self.assertEqual((self.calls[0][1], self.calls[1][2]), (["spec"], {"opset_version": 13}))
        with self.assertRaisesRegex(InvalidArgumentError, "convert of paddle: give input_shape"):
            convert(Layer())

    def test_a_file_is_exported_with_its_weights_if_there_are_any(self):
        path = self.file("m.pdmodel")
        convert(path)
        weights = self.file("m.pdiparams")
        convert(path)
        self.assertEqual([c[:2] for c in self.calls], [(path, ""), (path, weights)])


class Tables(StandIns):
    """scikit-learn, LightGBM and XGBoost."""

    def setUp(self):
        super().setUp()
        types_of = {"FloatTensorType": lambda shape: ("floats", shape)}

        def converter(name):
            def run(model, **options):
                self.calls.append((name, model, options))
                return ADD
            return run

        class Booster:
            def __init__(self, model_file=None):
                self.file = model_file

            def load_model(self, path):
                self.file = path

            def num_feature(self):
                return 6

        class Boosted(Booster):
            num_feature = None

            def num_features(self):
                return 7

        del Boosted.num_feature
        self.modules(package("skl2onnx.common.data_types", **types_of), package("onnxmltools.convert.common.data_types", **types_of),
                     package("joblib", load=lambda path: types.SimpleNamespace(path=path, n_features_in_=5)),
                     package("lightgbm", Booster=Booster), package("xgboost", Booster=Boosted))
        sys.modules["skl2onnx"].to_onnx = converter("sklearn")
        for name in ("lightgbm", "xgboost"):
            setattr(sys.modules["onnxmltools"], "convert_" + name, converter(name))

    def model(self, package_name, **members):
        return type("Model", (), {"__module__": package_name, **members})()

    def one(self, *arguments, **options):
        self.calls.clear()
        self.assertIs(convert(*arguments, **options), ADD)
        (found,) = self.calls
        return found

    def test_an_estimator_of_sklearn(self):
        model = self.model("sklearn.linear", n_features_in_=5)
        self.assertEqual(self.one(model), ("sklearn", model, {"initial_types": [("input", ("floats", [None, 5]))], "target_opset": None}))
        model = self.model("sklearn.linear", n_features_in_=5, predict_proba=None)
        self.assertEqual(self.one(model, opset=14)[2], {"initial_types": [("input", ("floats", [None, 5]))], "target_opset": 14,
                                                        "options": {"zipmap": False}})
        self.assertEqual(self.one(model, options={"zipmap": True})[2]["options"], {"zipmap": True})
        path = self.file("m.joblib")
        self.assertEqual(self.one(path, "sklearn")[1].path, path)

    def test_the_input_of_a_table(self):
        model = self.model("sklearn.linear", n_features_in_=5)

        def of(model, **options):
            return self.one(model, **options)[2]["initial_types"]

        self.assertEqual(of(model, input_shape={"x": (8, 5)}), [("x", ("floats", [8, 5]))])
        self.assertEqual(of(model, example_inputs=np.zeros((3, 9))), [("input", ("floats", [None, 9]))])
        self.assertEqual(of(model, example_inputs=np.zeros(3)), [("input", ("floats", [None, 5]))])
        self.assertEqual(of(self.model("sklearn.x"), example_inputs=np.zeros((3, 9))), [("input", ("floats", [None, 9]))])
        with self.assertRaisesRegex(InvalidArgumentError, "convert of sklearn: the model has one input, input_shape has 2"):
            convert(model, input_shape={"x": [1], "y": [1]})
        with self.assertRaisesRegex(InvalidArgumentError, "number of features is not known: give input_shape"):
            convert(self.model("sklearn.x"))

    def test_trees(self):
        for name, count, more in (("lightgbm", 6, {"zipmap": False}), ("xgboost", 7, {})):
            with self.subTest(name):
                model = self.model(name + ".sklearn", n_features_in_=4)
                types_of = {"initial_types": [("input", ("floats", [None, 4]))]}
                self.assertEqual(self.one(model), (name, model, {**types_of, "target_opset": 15, **more}))
                self.assertEqual(self.one(model, opset=12, split=2)[2], {**types_of, "target_opset": 12, **more, "split": 2})
                self.assertEqual(self.one(model, zipmap=True)[2]["zipmap"], True)
                path = self.file("m." + name)
                _, booster, options = self.one(path, name)
                self.assertEqual((booster.file, options["initial_types"]), (path, [("input", ("floats", [None, count]))]))
                with self.assertRaisesRegex(InvalidArgumentError, "number of features"):
                    convert(self.model(name + ".sklearn"))


TF2ONNX = '''import json, os, sys
folder = {folder!r}
words = sys.argv[1:]
options = dict(zip(words[::2], words[1::2]))
with open(os.path.join(folder, "calls.json"), "a") as file:
    file.write(json.dumps(options) + "\\n")
with open(os.path.join(folder, "plan.json")) as file:
    plan = json.load(file)
step = plan.pop(0)
with open(os.path.join(folder, "plan.json"), "w") as file:
    json.dump(plan, file)
print(step["out"])
print("\\n" + step["err"] + "\\n  ", file=sys.stderr)
if step["model"]:
    with open(step["model"], "rb") as source, open(options["--output"], "wb") as target:
        target.write(source.read())
sys.exit(step["code"])
'''


class TensorFlow(StandIns):
    def setUp(self):
        super().setUp()
        self.saved = os.path.join(self.folder, "saved")
        os.makedirs(os.path.join(self.folder, "tf2onnx"))
        os.makedirs(self.saved)
        self.file("saved/saved_model.pb")
        self.file("tf2onnx/__init__.py", b"")
        self.file("tf2onnx/convert.py", TF2ONNX.format(folder=self.folder).encode())
        self.enterContext(mock.patch.dict(os.environ, PYTHONPATH=self.folder + os.pathsep + os.environ.get("PYTHONPATH", "")))
        self.enterContext(mock.patch.dict(sys.modules, tf2onnx=types.ModuleType("tf2onnx")))
        shapes = m.make([node("Add", ["x", "x"], ["y"])], {"x": ["N", 3]}, {"y": ["N", 3]})
        self.model, self.other = self.file("made.onnx", shapes.SerializeToString()), self.file("other.onnx", MUL.SerializeToString())

    def plan(self, *steps):
        """Plans the calls of the stand-in for tf2onnx: (exit code, model that it writes, stdout, stderr)."""
        self.file("calls.json", b"")
        self.file("plan.json", json.dumps([{"code": code, "model": model, "out": out, "err": err} for code, model, out, err in steps]).encode())

    def options(self):
        with open(os.path.join(self.folder, "calls.json"), encoding="utf-8") as file:
            found = [json.loads(line) for line in file]
        for call in found:
            del call["--output"]
        return found

    def test_options_are_words_of_tf2onnx(self):
        self.plan((0, self.model, "", ""))
        made = TensorflowFrontend(self.saved, signature_def="serve", tag="t", opset=12, inputs="x:0, y:0", outputs=["z:0"],
                                  inputs_as_nchw="x:0", input_shape={"x:0": [1, 2], "q": [3]}).load_model()
        self.assertEqual(operators(made), ["Add"])
        self.assertEqual(self.options(), [{"--saved-model": self.saved, "--opset": "12", "--signature_def": "serve", "--tag": "t",
                                           "--inputs": "x:0[1,2],y:0", "--outputs": "z:0", "--inputs-as-nchw": "x:0"}])
        self.plan((0, self.model, "", ""))
        TensorflowFrontend(self.saved, outputs_as_nchw=["Identity:0"]).load_model()
        self.assertEqual(self.options(), [{"--saved-model": self.saved, "--opset": "11", "--outputs-as-nchw": "Identity:0"}])

    def test_input_shapes_are_set_in_the_model(self):
        for given, wanted in (({"x": [7, 3]}, [7, 3]), ({"other": [7, 3]}, [0, 3]), ({}, [0, 3])):
            self.plan((0, self.model, "", ""))
            made = TensorflowFrontend(self.saved, input_shape=given).load_model()
            self.assertEqual([d.dim_value for d in made.graph.input[0].type.tensor_type.shape.dim], wanted)

    def test_an_operator_that_the_opset_lacks_is_written_with_a_later_opset(self):
        for first in ((0, self.model, "", "ERROR Unsupported ops: Counter({'Einsum': 1})"), (1, self.model, "", "Unsupported ops: Counter({'Einsum': 1})"),
                      (0, "", "", "Unsupported ops: Counter({'Einsum': 1})")):
            self.plan(first, (0, self.other, "", ""))
            with self.assertLogs("poprt", "WARNING") as logs:
                self.assertEqual(operators(TensorflowFrontend(self.saved).load_model()), ["Mul"])
            self.assertIn("with opset 11 (Counter({'Einsum': 1})); it was written with the opset that tf2onnx takes", logs.output[0])
            self.assertEqual([c.get("--opset") for c in self.options()], ["11", None])
        # No opset has the operator, so the first model is the result.
        self.plan((0, self.model, "", "Unsupported ops: X"), (0, self.other, "", "Unsupported ops: X"))
        self.assertEqual(operators(TensorflowFrontend(self.saved).load_model()), ["Add"])

    def test_a_failure_has_the_last_line_of_tf2onnx(self):
        for steps, text in ((((1, self.model, "working", "first\nValueError: no such tag"),) * 2, "'.*saved': ValueError: no such tag$"),
                            (((1, "", "", ""),) * 2, "'.*saved': it printed nothing$"), (((0, "", "only", ""),) * 2, "'.*saved': only$")):
            self.plan(*steps)
            with self.subTest(text), self.assertRaisesRegex(FailedPreconditionError, "tf2onnx could not convert " + text):
                TensorflowFrontend(self.saved).load_model()

    def test_names_that_tf2onnx_ignores_are_refused(self):
        cases = (({"inputs_as_nchw": "z"}, "", "inputs_as_nchw: the model has no input 'z'; it has x"),
                 ({"outputs_as_nchw": "z"}, "", "outputs_as_nchw: the model has no output 'z'; it has y"),
                 ({"outputs_as_nchw": "Identity_1:0"}, "", "no output 'Identity_1:0'"),
                 ({"inputs_as_nchw": "x"}, "WARNING transpose_input for x: shape must be rank 4, ignored", "inputs_as_nchw: x: expected four dim"),
                 ({"outputs_as_nchw": "y"}, "WARNING transpose_output for y: shape must be rank 4", "outputs_as_nchw: y: expected four dim"))
        for options, printed, text in cases:
            self.plan((0, self.model, "", printed))
            with self.subTest(text), self.assertRaisesRegex(InvalidArgumentError, text):
                TensorflowFrontend(self.saved, **options).load_model()
        for options in ({"inputs_as_nchw": "x,x:0"}, {"outputs_as_nchw": ["y", "y:0", "Identity:0"][:1]}, {"inputs": "q:0", "inputs_as_nchw": "q:0"},
                        {"outputs_as_nchw": "Identity:0"}):
            self.plan((0, self.model, "", "transpose_input for other" if "outputs_as_nchw" in options else ""))
            self.assertEqual(operators(TensorflowFrontend(self.saved, **options).load_model()), ["Add"])

    def test_frozen_graphs_are_refused(self):
        with self.assertRaisesRegex(InvalidArgumentError, "saved_model=True"):
            TensorflowFrontend(self.saved, saved_model=False)

    def test_convert_of_a_saved_model(self):
        for framework in (None, "tensorflow", "keras"):
            self.plan((0, self.model, "", ""))
            made = convert(self.saved, framework, opset=13, input_shape={"x": [None, 3]}, tag="t")
            self.assertEqual([d.dim_value for d in made.graph.input[0].type.tensor_type.shape.dim], [1, 3])
            self.assertEqual(self.options(), [{"--saved-model": self.saved, "--opset": "13", "--tag": "t"}])
        self.plan((0, self.model, "", ""))
        convert(self.saved)
        self.assertEqual(self.options()[0]["--opset"], "11")

    def test_convert_of_a_keras_model_and_its_file(self):
        def export(path):
            os.makedirs(path)
            self.calls.append("export")

        def save(model, path):
            os.makedirs(path)
            self.calls.append(("save", model))

        model = type("Model", (), {"__module__": "keras", "export": staticmethod(export)})()
        old = type("Model", (), {"__module__": "tf_keras"})()
        tf = types.ModuleType("tensorflow")
        tf.saved_model = types.SimpleNamespace(save=save)
        tf.keras = types.SimpleNamespace(models=types.SimpleNamespace(load_model=lambda path, compile: self.calls.append((path, compile)) or model))
        path = self.file("m.keras")
        with mock.patch.dict(sys.modules, tensorflow=tf):
            for given, calls, opset in ((model, ["export"], None), (old, [("save", old)], None), (path, [(path, False), "export"], 9)):
                self.plan((0, self.model, "", ""))
                self.calls.clear()
                self.assertEqual(operators(convert(given, opset=opset)), ["Add"])
                self.assertEqual(self.calls, calls)
                self.assertEqual(self.options()[0]["--opset"], str(opset or 15))
                self.assertNotEqual(self.options()[0]["--saved-model"], self.saved)


class Onnx(StandIns):
    def test_options_have_no_use(self):
        with self.assertLogs("poprt", "WARNING") as logs:
            convert(ADD, verbose=True)
        self.assertIn("no use for argument 'verbose' of an ONNX model", logs.output[0])

    def test_the_program_reports_a_missing_package(self):
        path = self.file("m.pt")
        done = subprocess.run([sys.executable, "-c", "import sys; sys.modules['torch'] = None; from poprt.frontend import main; "
                               "sys.exit(main(['--framework', 'pytorch', '--output', 'made.onnx', sys.argv[1]]))", path],
                              capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^ImportError: convert of pytorch needs .*pip install torch onnxscript\n$")


if __name__ == "__main__":
    unittest.main()
