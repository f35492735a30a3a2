"""Sessions, back ends, front ends and layer_precision_compare, as published programs use them."""

import asyncio
import contextlib
import logging
import os
import pickle
import re
import sys
import tempfile
import types
import unittest
from unittest import mock

import numpy as np
import onnx
import onnx_models as m
import poprt
from onnx_models import node
from poprt.backend import get_session
from poprt.backends import Backend
from poprt.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, NotFoundError
from poprt.frontend import OnnxFrontend, TensorflowFrontend, get_frontend
from poprt.passes import layer_precision_compare
from poprt.utils import get_input_info_from_model_proto


def linear():
    """z = gemm(b) + a, where b is the first input."""
    rng = np.random.default_rng(1)
    return m.make([node("Gemm", ["b", "w"], ["g"], name="gemm"), node("Add", ["g", "a"], ["z"]), node("Relu", ["g"], ["y"])],
                  {"b": [2, 4], "a": [2, 3]}, {"z": [2, 3], "y": [2, 3]}, {"w": rng.standard_normal((4, 3)).astype(np.float32)})


X = {"b": np.random.default_rng(2).standard_normal((2, 4)).astype(np.float32),
     "a": np.random.default_rng(3).standard_normal((2, 3)).astype(np.float32)}


class SharedBatches(unittest.TestCase):
    def softmax(self, axis):
        model = m.make([node("Softmax", ["x"], ["y"], axis=axis)], {"x": [4, 3]}, {"y": [4, 3]})
        return poprt.runtime.Runner(poprt.compiler.Compiler.compile(model.SerializeToString(), ["y"]),
                                    poprt.runtime.RuntimeConfig(threads=1, batching_dim=0, timeout_ns=1000))

    def test_a_model_that_mixes_the_rows_of_requests_is_refused(self):
        with self.assertRaisesRegex(FailedPreconditionError, "batching_dim 0: requests in one batch would change each "
                                                             "other's results: Softmax node .* combines places"):
            self.softmax(0)

    def test_a_model_with_separate_rows_is_served(self):
        x = np.random.default_rng(4).standard_normal((2, 3)).astype(np.float32)
        wanted = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
        with self.softmax(1) as runner:
            np.testing.assert_allclose(runner.run({"x": x})["y"], wanted, rtol=1e-5)


class FailedRuns(unittest.TestCase):
    def test_the_name_of_a_node_may_be_long(self):
        """Asynchronous runs fail with the message of the library, in which a long name is shortened."""
        model = m.make([node("Reshape", ["x", "s"], ["y"], name="\u00e9" * 2000)], {"x": ["n", 4]}, {"y": [3, "k"]},
                       {"s": np.array([3, -1], np.int64)})
        runner = poprt.runtime.Runner(model, poprt.runtime.RuntimeConfig(threads=1))
        wrong, y = {"x": np.ones((5, 4), np.float32)}, {"y": np.zeros((3, 4), np.float32)}
        for run in (lambda: runner.execute(wrong, y), lambda: runner.execute_async(wrong, y).wait(60),
                    lambda: asyncio.run(runner.submit(wrong, y))):
            with self.assertRaises(poprt.errors.Error) as caught:
                run()
            self.assertIn("\u00e9\u00e9\u00e9 ... ", str(caught.exception))
            self.assertNotIn("\ufffd", str(caught.exception))
        right = {"x": np.ones((3, 4), np.float32)}
        runner.execute_async(right, y).wait(60)
        np.testing.assert_array_equal(y["y"], right["x"])


class Sessions(unittest.TestCase):
    def test_get_io_info_is_a_pair_of_dictionaries(self):
        session = get_session(linear().SerializeToString(), 1, "poprt")
        self.assertIs(session.load(), session)
        inputs, outputs = session.get_io_info()
        self.assertEqual(list(inputs.items()), [("b", ([2, 4], np.float32)), ("a", ([2, 3], np.float32))])
        self.assertEqual(list(outputs), ["z", "y"])
        z, y = session.run([o for o in outputs], X)
        weights = onnx.numpy_helper.to_array(linear().graph.initializer[0]).astype(np.float64)
        np.testing.assert_allclose(z, X["b"] @ weights + X["a"], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(y, np.maximum(X["b"] @ weights, 0), rtol=1e-5, atol=1e-6)
        self.assertEqual(len(session.run(None, X)), 2)

    def test_models_are_paths_bytes_and_messages(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            onnx.save(linear(), path)
            results = [get_session(given, 1, "poprt").run(["z"], X)[0] for given in (path, linear(), linear().SerializeToString())]
        np.testing.assert_array_equal(results[0], results[1])
        np.testing.assert_array_equal(results[0], results[2])

    def test_options_are_a_dictionary_or_compiler_options(self):
        options = poprt.CompilerOptions(partials_type="float")
        for given in ({"num_io_tiles": 32, "partials_type": "float"}, options):
            get_session(linear(), 1, "poprt", options=given).load()
        self.assertEqual(options, poprt.CompilerOptions(partials_type="float"))
        with self.assertRaisesRegex(TypeError, "no option 'nonsense'"):
            get_session(linear(), 1, "poprt", options={"nonsense": 1})

    def test_export_popef(self):
        with tempfile.TemporaryDirectory() as folder:
            get_session(linear(), 1, "poprt", output_dir=folder, export_popef=True).load()
            self.assertEqual(os.listdir(folder), ["executable.popef"])

    def test_wrong_names(self):
        with self.assertRaisesRegex(ValueError, "'poprt', 'onnxruntime' or 'tensorflow'"):
            get_session(linear(), 1, "tensorrt")
        with self.assertRaisesRegex(NotFoundError, "no output 'none'; it has: z, y"):
            get_session(linear(), 1, "poprt").run(["none"], X)
        with self.assertRaises(NotImplementedError):
            get_session(linear(), 1, "poprt").set_output_names(["z"])

    def test_packages_that_are_not_installed(self):
        for backend, line in (("onnxruntime", "pip install onnxruntime"), ("tensorflow", "pip install tensorflow")):
            with mock.patch.dict(sys.modules, {backend: None}), self.assertRaisesRegex(ImportError, line):
                get_session(linear(), 1, backend).load()

    def test_onnxruntime_has_the_same_form(self):
        """Uses a substitute with the interface of the package."""
        class InferenceSession:
            def __init__(self, model, providers):
                self.model = onnx.load_from_string(model)

            def get_inputs(self):
                return [types.SimpleNamespace(name="b", shape=["N", 4], type="tensor(float)"),
                        types.SimpleNamespace(name="i", shape=[2], type="tensor(int64)")]

            def get_outputs(self):
                return [types.SimpleNamespace(name="z", shape=[2], type="tensor(float16)")]

            def run(self, names, feeds):
                return [feeds["b"]]

        with mock.patch.dict(sys.modules, {"onnxruntime": types.SimpleNamespace(InferenceSession=InferenceSession)}):
            session = get_session(linear(), 1, "onnxruntime").load()
            self.assertEqual(session.get_io_info(), ({"b": (["N", 4], np.float32), "i": ([2], np.int64)}, {"z": ([2], np.float16)}))
            self.assertIs(session.run(["z"], X)[0], X["b"])

    def test_a_saved_model_in_tensorflow_has_the_names_of_its_signature(self):
        """Uses a substitute with the interface of the package."""
        class Tensor:
            def __init__(self, name):
                self.name, self.shape = name, types.SimpleNamespace(rank=2, as_list=lambda: [None, 4])
                self.dtype = types.SimpleNamespace(as_numpy_dtype=np.float32)

        class Graph(contextlib.nullcontext):
            def as_default(self):
                return self

            def get_operations(self):
                return []

            def get_tensor_by_name(self, name):
                return Tensor(name)

        class Session:
            def __init__(self, graph):
                self.graph = graph

            def run(self, names, feeds):
                return [(name, sorted(feeds)) for name in names]

        def info(**names):
            return {key: types.SimpleNamespace(name=name) for key, name in names.items()}

        signatures = {"__saved_model_init_op": None, "first": types.SimpleNamespace(inputs=info(x="first_x:0"), outputs=info(y="Call:0"))}
        loader = types.SimpleNamespace(load=lambda session, tags, path: types.SimpleNamespace(signature_def=signatures))
        module = types.SimpleNamespace(compat=types.SimpleNamespace(v1=types.SimpleNamespace(Graph=Graph, Session=Session, saved_model=loader)))
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(sys.modules, {"tensorflow": module}):
            session = get_session(folder, 1, "tensorflow")
            self.assertEqual(session.get_io_info(), ({"x": ([None, 4], np.float32)}, {"y": ([None, 4], np.float32)}))
            self.assertEqual(session.run(["y"], {"x": 1}), [("Call:0", ["first_x:0"])])
            self.assertEqual(session.run(None, {"first_x:0": 1}), [("Call:0", ["first_x:0"])])
            signatures["second"] = signatures["first"]
            with self.assertRaisesRegex(InvalidArgumentError, "no signature 'serving_default'; it has first, second"):
                get_session(folder, 1, "tensorflow").load()

    def test_align_output_dtype(self):
        model = m.make([node("Relu", ["x"], ["y"])], {"x": [2]}, {"y": [2]})
        options = {"precision": "fp16"}
        x = {"x": np.array([1, -2], np.float16)}
        self.assertEqual(Backend(model, compiler_options=options).run(None, x)[0].dtype, np.float16)
        self.assertEqual(Backend(model, compiler_options=options).run(None, x, align_output_dtype=True)[0].dtype, np.float32)
        aligned = get_session(model, 1, "poprt", options=options, align_output_dtype=True)
        self.assertEqual(aligned.run(["y"], x)[0].dtype, np.float32)


class Utilities(unittest.TestCase):
    def test_input_info_is_two_dictionaries(self):
        model = m.make([node("Gather", ["x", "i"], ["y"])], {"x": ["N", 3], "i": ([2], m.INT64)}, {"y": [2, 3]})
        self.assertEqual(get_input_info_from_model_proto(model),
                         ({"x": [0, 3], "i": [2]}, {"x": np.dtype(np.float32), "i": np.dtype(np.int64)}))

    def test_constants_are_no_inputs(self):
        model = linear()
        model.graph.input.append(onnx.helper.make_tensor_value_info("w", m.FLOAT, [4, 3]))
        self.assertEqual(list(get_input_info_from_model_proto(model)[0]), ["b", "a"])


class FrontEnds(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()

    def save(self, name):
        path = os.path.join(self.folder, name)
        onnx.save(linear(), path)
        return path

    def test_onnx_files_and_folders_with_one(self):
        with self.assertRaisesRegex(InvalidArgumentError, "holds 0 .onnx files"):
            OnnxFrontend(self.folder).load_model()
        path = self.save("one.onnx")
        for given in (path, self.folder):
            self.assertEqual(OnnxFrontend(given).load_model(), linear())
        self.assertEqual(OnnxFrontend.get_onnx_name(self.folder), path)
        self.save("two.onnx")
        with self.assertRaisesRegex(InvalidArgumentError, "holds 2 .onnx files"):
            OnnxFrontend(self.folder).load_model()
        with self.assertRaisesRegex(NotFoundError, "no file or folder 'none.onnx'"):
            OnnxFrontend("none.onnx").load_model()

    def test_get_frontend(self):
        self.assertIsInstance(get_frontend("m.onnx"), OnnxFrontend)
        self.assertIsInstance(get_frontend("m", framework="tensorflow", tag="serve"), TensorflowFrontend)
        with self.assertRaisesRegex(InvalidArgumentError, "expected one of onnx, pytorch, .*, found 'torch'"):
            get_frontend("m", framework="torch")
        with self.assertLogs("poprt", "WARNING"):
            get_frontend("m.onnx", opset=11)

    def test_tensors_of_a_tensorflow_graph_without_numpy_type_are_none_of_its_inputs(self):
        """Handles of variables are placeholders in the graphs of SavedModels."""
        class Resource:
            @property
            def as_numpy_dtype(self):
                raise KeyError(20)

        def tensor(name, dtype, readers):
            return types.SimpleNamespace(name=name, shape=types.SimpleNamespace(rank=2, as_list=lambda: [None, 4]), dtype=dtype,
                                         consumers=lambda: readers)

        numbers = types.SimpleNamespace(as_numpy_dtype=np.float32)
        operations = [types.SimpleNamespace(type="Placeholder", outputs=[tensor("x:0", numbers, [1])]),
                      types.SimpleNamespace(type="Placeholder", outputs=[tensor("unknown:0", Resource(), [])]),
                      types.SimpleNamespace(type="MatMul", outputs=[tensor("y:0", numbers, [])])]
        graph = types.SimpleNamespace(get_operations=lambda: operations)
        self.assertEqual(TensorflowFrontend.get_inputs_meta(graph), {"x:0": ([0, 4], np.float32)})
        self.assertEqual(TensorflowFrontend.get_outputs_meta(graph), {"y:0": ([0, 4], np.float32)})

    def test_tensorflow_through_tf2onnx(self):
        """With a replacement for the package, run by a separate Python."""
        os.mkdir(os.path.join(self.folder, "tf2onnx"))
        model, words = self.save("made.onnx"), os.path.join(self.folder, "words")
        with open(os.path.join(self.folder, "tf2onnx", "__init__.py"), "w") as file:
            file.write("")
        with open(os.path.join(self.folder, "tf2onnx", "convert.py"), "w") as file:
            file.write("import shutil, sys\n"
                       "if 'broken' in sys.argv: sys.exit('no signature broken')\n"
                       f"open({words!r}, 'w').write(' '.join(sys.argv[1:]))\n"
                       f"shutil.copy({model!r}, sys.argv[sys.argv.index('--output') + 1])\n")
        saved = os.path.join(self.folder, "saved")
        os.mkdir(saved)
        with mock.patch.object(sys, "path", [self.folder, *sys.path]), \
                mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join([self.folder, os.environ.get("PYTHONPATH", "")])}):
            found = TensorflowFrontend(saved, signature_def="s", outputs="Identity:0", inputs="b:0", inputs_as_nchw=["b:0"],
                                       input_shape={"b:0": [2, 4]}).load_model()
            self.assertEqual(found, linear())
            with open(words) as file:
                text = file.read()
            for part in (f"--saved-model {saved}", "--opset 11", "--signature_def s", "--outputs Identity:0", "--inputs b:0[2,4]",
                         "--inputs-as-nchw b:0"):
                self.assertIn(part, text)
            with self.assertRaisesRegex(FailedPreconditionError, "no signature broken"):
                TensorflowFrontend(saved, tag="broken").load_model()
            with self.assertRaisesRegex(NotFoundError, "is no folder of a SavedModel"):
                TensorflowFrontend("none").load_model()
        with mock.patch.dict(sys.modules, {"tf2onnx": None}), self.assertRaisesRegex(ImportError, "pip install tf2onnx"):
            TensorflowFrontend(saved).load_model()

    @contextlib.contextmanager
    def tf2onnx(self, program):
        """A replacement for the package, whose convert.py is `program`, with `model` and `words` of tf2onnx's options."""
        os.makedirs(os.path.join(self.folder, "tf2onnx"))
        os.makedirs(os.path.join(self.folder, "saved"))
        model = self.save("made.onnx")
        head = f"import shutil, sys\nwords = ' '.join(sys.argv[1:])\nshutil.copy({model!r}, sys.argv[sys.argv.index('--output') + 1])\n"
        for name, text in (("__init__.py", ""), ("convert.py", head + program)):
            with open(os.path.join(self.folder, "tf2onnx", name), "w") as file:
                file.write(text)
        with mock.patch.object(sys, "path", [self.folder, *sys.path]), \
                mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join([self.folder, os.environ.get("PYTHONPATH", "")])}):
            yield os.path.join(self.folder, "saved")

    def test_an_opset_that_lacks_an_operator_is_not_insisted_on(self):
        """tf2onnx keeps the Einsum of TensorFlow if the opset is 11, and warns."""
        printed = "if '--opset' in sys.argv: print(\"ERROR - Unsupported ops: Counter({'Einsum': 2})\", file=sys.stderr)\n"
        with self.tf2onnx(printed) as saved, self.assertLogs("poprt", "WARNING") as logs:
            self.assertEqual(TensorflowFrontend(saved).load_model(), linear())
        self.assertEqual(len(logs.output), 1)
        self.assertIn("with opset 11 (Counter({'Einsum': 2})); it was written with the opset that tf2onnx takes by default", logs.output[0])

    def test_operators_that_no_opset_has_stay(self):
        with self.tf2onnx("print(\"Unsupported ops: Counter({'Custom': 1})\")\n") as saved, self.assertNoLogs("poprt", "WARNING"):
            self.assertEqual(TensorflowFrontend(saved).load_model(), linear())

    def test_checks_names_of_nchw_inputs_and_outputs(self):
        with self.tf2onnx("") as saved:
            for names in ("z", "y", "Identity:0", "Identity_1:0"):
                TensorflowFrontend(saved, outputs_as_nchw=names).load_model()
            TensorflowFrontend(saved, outputs="t:0", outputs_as_nchw="t:0").load_model()
            for names in ("b", "a:0"):
                TensorflowFrontend(saved, inputs_as_nchw=names).load_model()
            for names, why in (({"outputs_as_nchw": "nothing"}, "outputs_as_nchw: the model has no output 'nothing'; it has z, y"),
                               ({"outputs_as_nchw": "Identity_2:0"}, "no output 'Identity_2:0'"),
                               ({"inputs_as_nchw": ["b", "z"]}, "inputs_as_nchw: the model has no input 'z'; it has b, a")):
                with self.subTest(names), self.assertRaisesRegex(InvalidArgumentError, why):
                    TensorflowFrontend(saved, **names).load_model()

    def test_nchw_needs_four_dimensions(self):
        with self.tf2onnx("print('WARNING - transpose_output for z: shape must be rank 4, ignored')\n") as saved:
            with self.assertRaisesRegex(InvalidArgumentError, "outputs_as_nchw: z: expected four dimensions"):
                TensorflowFrontend(saved, outputs_as_nchw="z").load_model()

    def test_names_with_shapes(self):
        split = TensorflowFrontend.split_nodename_and_shape
        self.assertEqual(split("x:0[1,2],y:0"), (["x:0", "y:0"], {"x:0": [1, 2]}))
        self.assertEqual(split("x:0"), (["x:0"], None))
        self.assertEqual(split(None), (None, None))


class PrecisionCompare(unittest.TestCase):
    def test_layers_are_compared_by_name(self):
        origin = linear()
        converted = poprt.Converter(precision="fp16").convert(origin)
        with tempfile.TemporaryDirectory() as folder:
            path, data = os.path.join(folder, "m.onnx"), os.path.join(folder, "data.pickle")
            onnx.save(origin, path)
            with open(data, "wb") as file:
                pickle.dump({k: np.concatenate([v] * 3) for k, v in X.items()}, file)
            found = layer_precision_compare(origin_model_path=path, converted_model=converted, data_preprocess=data,
                                            output_dir=folder)
            with open(os.path.join(folder, "precision_compare.log")) as file:
                log = file.read()
        self.assertEqual(list(found), ["g"])
        for word in ("Gemm gemm -> g", "cosine_distance", "mse", "mae", "snr", "noise: mean=", "hist=", "kurtosis="):
            self.assertIn(word, log)
        self.assertLess(found["g"]["cosine_distance"], 1e-5)
        self.assertGreater(found["g"]["mse"], 0)
        self.assertLess(found["g"]["mse"], 1e-4)

    def test_the_numbers(self):
        from poprt.passes._compare_numbers import difference
        rng = np.random.default_rng(0)
        a = rng.standard_normal(1000).astype(np.float32)
        b = a + rng.standard_normal(1000).astype(np.float32) / 10
        x, y = a.astype(np.float64), b.astype(np.float64)
        found = difference(a, b)
        self.assertAlmostEqual(found["mse"], sum((p - q) ** 2 for p, q in zip(x, y)) / 1000)
        self.assertAlmostEqual(found["mae"], sum(abs(p - q) for p, q in zip(x, y)) / 1000)
        self.assertAlmostEqual(found["snr"], sum((p - q) ** 2 for p, q in zip(x, y)) / sum(p * p for p in x))
        cosine = sum(p * q for p, q in zip(x, y)) / (sum(p * p for p in x) * sum(q * q for q in y)) ** 0.5
        self.assertAlmostEqual(found["cosine_distance"], 1 - cosine)
        self.assertEqual(sum(found["noise"]["hist"]), 1000)
        self.assertEqual(len(found["noise"]["hist"]), 32)
        self.assertAlmostEqual(found["origin"]["std"], (sum((p - x.mean()) ** 2 for p in x) / 1000) ** 0.5)
        holes = difference(np.float32([1, np.inf, np.nan, 2]), np.float32([1, np.inf, 3, 2]))
        self.assertEqual([holes[part]["not_finite"] for part in ("origin", "converted", "noise")], [2, 1, 2])
        self.assertEqual((holes["origin"]["mean"], sum(holes["noise"]["hist"]), holes["noise"]["max"]), (1.5, 2, 0))
        same = difference(np.ones(4), np.ones(4))
        self.assertEqual((same["mse"], same["cosine_distance"], same["noise"]["kurtosis"]), (0, 0, 0))
        with self.assertRaisesRegex(ValueError, "one shape"):
            difference(np.ones(2), np.ones(3))

    def compared(self, origin, converted, **arguments):
        """Returns the numbers of layer_precision_compare, and the log."""
        with tempfile.TemporaryDirectory() as folder:
            found = layer_precision_compare(origin, converted, output_dir=folder, **arguments)
            with open(os.path.join(folder, "precision_compare.log"), encoding="utf-8") as file:
                return found, file.read()

    def test_the_log_begins_with_the_largest_differences(self):
        """0.1 is 0.0999756 in float16, and the differences are those of the products with it."""
        weights = {"w": np.full((2, 1), 0.1, np.float32)}
        origin = m.make([node("MatMul", ["x", "w"], ["y"])], {"x": [3, 2]}, {"y": [3, 1]}, weights)
        _, log = self.compared(origin, poprt.Converter(precision="fp16").convert(origin))
        head = log.split("\n\n")[0].split("\n")
        self.assertRegex(head[0], r"^largest absolute difference: \S+ in 'y' at \[\d, 0\]: \S+ in the original, \S+ in the converted model \(inputs: ")
        self.assertRegex(head[1], r"^largest relative \(elements above 1 % of the largest\) difference: ")
        self.assertEqual(head[2], "tolerance of check: fp16: 2 % of the original's value + 1 % of the tensor's largest magnitude")
        self.assertEqual([line.split("'")[1] for line in head[3:-1]], ["random", "zeros", "ones", "negative", "positive", "sparse", "repeated"])
        self.assertEqual(head[-1], "numbers of each layer: with inputs 'random'")
        amount, was, now = re.search(r"difference: (\S+) in .*: (\S+) in the original, (\S+) in", head[0]).groups()
        self.assertAlmostEqual(float(amount), abs(float(was) - float(now)), 7)

    def test_results_of_run_time_size(self):
        """The model multiplies the elements above a limit by a weight; its size is zero for inputs without such elements."""
        def products(above):
            nodes = [node("Greater", ["x", "zero"], ["c"]), node("Compress", ["x", "c"], ["k"], axis=0), node("Unsqueeze", ["k", "one"], ["u"]),
                     node("MatMul", ["u", "w"], ["y"])]
            return m.make(nodes, {"x": [6]}, {"y": [None, 1]}, {"zero": np.float32(above), "w": np.float32([[2]]), "one": np.int64([1])}, opset=13)
        found, log = self.compared(products(0), products(0))
        self.assertEqual(found["y"]["mse"], 0)
        self.assertEqual(found["y"]["sizes"]["zeros"], {"origin": [0, 1], "converted": [0, 1]})
        self.assertIn("  size with zeros: [0, 1] in the original, [0, 1] in the converted model\n", log)
        self.assertNotIn("outside", log)
        found, log = self.compared(products(0), products(-9))
        self.assertEqual(found["y"]["sizes"]["zeros"], {"origin": [0, 1], "converted": [6, 1]})
        self.assertTrue(np.isnan(found["y"]["mse"]))
        self.assertIn("outside the tolerance: 'y' has the size [0, 1] in the original and [6, 1] in the converted model (inputs: zeros)\n", log)

    def test_reports_values_that_are_infinite_in_one_model(self):
        def product(weight):
            return m.make([node("MatMul", ["x", "w"], ["y"])], {"x": [1, 1]}, {"y": [1, 1]}, {"w": np.float32([[weight]])})
        _, log = self.compared(product(3e38), product(np.inf), data_preprocess={"x": np.float32([[1]])})
        self.assertRegex(log, r"^largest absolute difference: inf in 'y' at \[0, 0\]: 3\S*e\+38 in the original, inf in the converted model \(inputs: data\)")
        self.assertIn("outside the tolerance: 'y' differs in 1 of 1 elements", log)
        _, log = self.compared(product(np.inf), product(np.inf))
        self.assertNotIn("outside", log)

    def test_the_tolerance_is_that_of_the_precision(self):
        for precision, printed in (("fp32", "fp32: 0.1 %"), ("fp16", "fp16: 2 %"), ("fp8", "fp8: 20 %"), ("fp8_weight", "fp8: 20 %")):
            with self.subTest(precision):
                _, log = self.compared(linear(), poprt.Converter(precision=precision).convert(linear()))
                self.assertIn("tolerance of check: " + printed, log)

    def test_data_that_does_not_fit(self):
        converted = poprt.Converter().convert(linear())
        for data, why in (({"b": X["b"]}, "lacks input 'a'"), ({"a": X["a"], "b": X["b"][:1]}, "needs 2 samples"),
                          ([1], "expected {input name: array")):
            with self.subTest(why), tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(ValueError, why):
                layer_precision_compare(linear(), converted, data, output_dir=folder)

    def test_nothing_in_common(self):
        other = m.make([node("Relu", ["x"], ["y"])], {"x": [2]}, {"y": [2]})
        with self.assertRaisesRegex(FailedPreconditionError, "none of the 1 results"):
            layer_precision_compare(linear(), other)


class CheckReport(unittest.TestCase):
    """The report of Converter(check=True)."""

    def converted(self, model, **arguments):
        """Converts the model, and returns the converter and the lines that it has logged."""
        logger, lines = logging.Logger("check", logging.INFO), []
        handler = logging.Handler()
        handler.emit = lambda record: lines.append(record.getMessage())
        logger.addHandler(handler)
        converter = poprt.Converter(check=True, logger=logger, **arguments)
        converter.convert(model)
        return converter, lines

    def test_the_report_is_kept_and_logged(self):
        converter, lines = self.converted(linear(), precision="fp16")
        report = converter.check_report
        self.assertEqual((report["equal"], report["within_tolerance"], report["tolerance"]["precision"]), (False, True, "fp16"))
        self.assertEqual([line for line in lines if line.startswith("check: ")], ["check: " + line for line in report["text"]])
        self.assertIn(report["largest_absolute"]["output"], ("y", "z"))
        self.assertEqual(len(report["largest_absolute"]["index"]), 2)
        self.assertIsNone(poprt.Converter().check_report)
        plain = poprt.Converter()
        plain.convert(linear())
        self.assertIsNone(plain.check_report)

    def test_sizes_that_depend_on_data(self):
        converter, _ = self.converted(m.make([node("NonZero", ["x"], ["y"])], {"x": [2, 3]}, {"y": ([2, None], onnx.TensorProto.INT64)}))
        report = converter.check_report
        self.assertTrue(report["equal"])
        sizes = report["sizes"]["y"]
        self.assertEqual((sizes["bound"], sizes["zero"]["inputs"], sizes["equal_to_bound"]["inputs"]), ([2, 6], "zeros", "random"))
        self.assertGreater(sizes["between"]["runs"], 0)
        self.assertEqual(report["outputs"][0]["no_elements_with"], ["zeros"])

    def test_a_difference_is_an_error_that_names_the_output(self):
        beyond = m.make([node("Mul", ["x", "c"], ["y"])], {"x": [2]}, {"y": [2]}, {"c": np.float32([1e5])})
        with self.assertRaisesRegex(DataLossError, "output 'y' of the converted model differs in 2 of 2 elements, most at .* tolerance: fp16: 2 %"):
            self.converted(beyond, precision="fp16")

    def test_check_report_lists_unchecked_passes_in_python(self):
        class Doubled(poprt.Pass):
            name = "doubled"

            def run(self, onnx_model):
                onnx_model.graph.node[0].op_type = "Add"
                return onnx_model

        sub = m.make([node("Sub", ["a", "b"], ["y"])], {"a": [2], "b": [2]}, {"y": [2]})
        converter, lines = self.converted(sub, used_passes=[Doubled()])
        self.assertEqual(converter.check_report["not_checked"], ["pass doubled in Python"])
        self.assertIn("check: the outputs are those of the original; not checked: pass doubled in Python", lines)


if __name__ == "__main__":
    unittest.main()
