"""``poprt.serving`` with stand-ins for Spark, Ray, KServe and TensorFlow: the calls that each engine receives, and their results.

tests/serving runs the real engines where there are any."""

import asyncio
import json
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

import numpy as np
from poprt import serving
from poprt.compiler import Compiler, CompilerOptions
from poprt.errors import InvalidArgumentError

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
AFFINE, LOOKUP, TYPES = (os.path.join(DATA, name + ".onnx") for name in ("affine", "lookup", "types"))
X = np.arange(20, dtype=np.float32).reshape(5, 4)


class Engines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.enterClassContext(mock.patch.dict(os.environ, POPART_CACHE_DIR=os.path.join(cls.folder, "cache")))
        cls.affine = os.path.join(cls.folder, "affine.popef")
        Compiler.compile(AFFINE, None, CompilerOptions(input_shape={"x": [2, 4]})).save(cls.affine)

    def modules(self, **members):
        """Puts modules into sys.modules; a double underscore is a dot."""
        made = {}
        for name, values in members.items():
            name = name.replace("__", ".")
            parts = name.split(".")
            for at in range(1, len(parts) + 1):
                made.setdefault(".".join(parts[:at]), types.ModuleType(".".join(parts[:at])))
            vars(made[name]).update(values)
            for at in range(1, len(parts)):
                setattr(made[".".join(parts[:at])], parts[at], made[".".join(parts[:at + 1])])
        self.enterContext(mock.patch.dict(sys.modules, made))

    def counted(self):
        """Counts the predictors that are made, with their arguments."""
        made = []
        original = serving.Predictor.__init__

        def init(predictor, model, **options):
            made.append((model, options))
            original(predictor, model, **options)
        self.enterContext(mock.patch.object(serving.Predictor, "__init__", init))
        return made


class Spark(Engines):
    NAMES = ("BooleanType", "ByteType", "ShortType", "IntegerType", "LongType", "FloatType", "DoubleType")

    def setUp(self):
        kinds = {name: type(name, (), {}) for name in self.NAMES}
        self.modules(pyspark__sql__types={**kinds, "ArrayType": lambda element: ("array", type(element).__name__),
                                          "StructField": lambda name, kind: types.SimpleNamespace(name=name, dataType=kind),
                                          "StructType": lambda fields: ("struct", [(f.name, f.dataType) for f in fields])},
                     pyspark__ml__functions={"predict_batch_udf": lambda make, **options: (make, options)})

    def test_one_output_is_an_array_for_each_row(self):
        made = self.counted()
        options = CompilerOptions(input_shape={"x": [2, 4]})
        make, given = serving.predict_batch_udf(self.affine, batch_size=7, threads=2)
        self.assertEqual(given, {"return_type": ("array", "FloatType"), "batch_size": 7, "input_tensor_shapes": [[4]]})
        predict = make()
        np.testing.assert_array_equal(predict(X), 2 * X + 1)
        predict(X)
        self.assertEqual(made, [(self.affine, {"threads": 2, "compiler_options": None})] * 2)  # one for the description, and one in the worker
        make, given = serving.predict_batch_udf(AFFINE, compiler_options=options)
        self.assertEqual(given["batch_size"], 256)
        self.assertEqual(make()(X).shape, (5, 4))
        self.assertEqual(made[2:], [(AFFINE, {"threads": 1, "compiler_options": options})] * 2)

    def test_several_outputs_are_a_struct_of_flat_arrays(self):
        make, given = serving.predict_batch_udf(TYPES)
        predictor = serving.Predictor(TYPES)
        inputs = {d.name: np.zeros(d.shape, d.numpy_data_type()) for d in predictor.inputs}
        kinds = {"float16": "FloatType", "float32": "FloatType", "float64": "DoubleType", "bool": "BooleanType", "int8": "ByteType",
                 "uint8": "ShortType", "int16": "ShortType", "uint16": "IntegerType", "int32": "IntegerType", "uint32": "LongType",
                 "int64": "LongType", "uint64": "LongType"}
        self.assertEqual(given["return_type"], ("struct", [(d.name, ("array", kinds[str(d.numpy_data_type())])) for d in predictor.outputs]))
        self.assertEqual({str(d.numpy_data_type()) for d in predictor.outputs}, set(kinds))
        self.assertEqual(given["input_tensor_shapes"], [list(d.shape[1:]) for d in predictor.inputs])
        found = make()(*inputs.values())
        self.assertEqual(sorted(found), sorted(d.name for d in predictor.outputs))
        for d in predictor.outputs:
            self.assertEqual(found[d.name].shape, (d.shape[0], int(np.prod(d.shape[1:]))))


class Ray(Engines):
    def setUp(self):
        self.modules(ray__serve={"deployment": lambda *classes, **options: classes[0] if classes else lambda made: (made, options)},
                     starlette__responses={"JSONResponse": lambda content, status_code: (content, status_code)})

    def request(self, content):
        async def read():
            return json.loads(json.dumps(content))
        return types.SimpleNamespace(json=read)

    def test_a_deployment_answers_calls_and_http(self):
        made = self.counted()
        kind = serving.ray_deployment(self.affine, threads=1)
        self.assertEqual(made, [])  # a replica opens the model
        replica = kind()
        self.assertEqual(made, [(self.affine, {"threads": 1, "compiler_options": None})])
        np.testing.assert_array_equal(asyncio.run(replica.predict({"x": X}))["y"], 2 * X + 1)
        found = asyncio.run(replica(self.request({"x": X.astype(int).tolist()})))
        self.assertEqual(found, {"y": (2 * X + 1).tolist()})
        self.assertEqual(len(made), 1)

    def test_a_wrong_request_gets_400(self):
        replica = serving.ray_deployment(self.affine)()
        for content, text in (({"x": [[1, 2]]}, "'x'"), ({"z": X.tolist()}, "'z'"), ([1], "list"), ({"x": [["a"]]}, "could not convert"),
                              ({}, "rows"), ({"x": [[1], [1, 2]]}, "inhomogeneous")):
            with self.subTest(text):
                answer, code = asyncio.run(replica(self.request(content)))
                self.assertEqual((list(answer), code), (["error"], 400))
                self.assertIn(text, answer["error"])

    def test_options_are_those_of_the_engine_and_of_the_compiler(self):
        made = self.counted()
        compiler_options = CompilerOptions(batch_size=2)
        kind, options = serving.ray_deployment(AFFINE, compiler_options=compiler_options, num_replicas=3)
        self.assertEqual(options, {"num_replicas": 3})
        kind()
        self.assertEqual(made, [(AFFINE, {"threads": 0, "compiler_options": compiler_options})])

    def test_columns_of_a_predictor(self):
        made = self.counted()
        predictor = serving.RayPredictor(self.affine, {"x": "pixels"}, threads=2)
        found = predictor({"pixels": X, "y": 0})
        np.testing.assert_array_equal(found["y"], 2 * X + 1)  # an output replaces a column of its name
        self.assertIs(found["pixels"], X)
        serving.RayPredictor(self.affine)
        self.assertEqual([options["threads"] for _, options in made], [2, 1])


class InvalidInput(Exception):
    pass


class InferTensor:
    def __init__(self, name, shape, datatype):
        self.name, self.shape, self.datatype = name, shape, datatype

    def set_data_from_numpy(self, array, binary_data):
        self.array, self.binary = array, binary_data

    def as_numpy(self):
        return self.array


class KServe(Engines):
    def setUp(self):
        class Model:
            def __init__(self, name):
                self.name, self.ready = name, False

        def response(*words, **options):
            return words, options

        self.modules(kserve={"Model": Model, "InferOutput": InferTensor, "InferResponse": response}, kserve__errors={"InvalidInput": InvalidInput},
                     kserve__utils__numpy_codec={"from_np_dtype": lambda kind: "T" + np.dtype(kind).name})

    def infer(self, model, *, id="7", binary=True, **inputs):
        tensors = []
        for name, array in inputs.items():
            tensors.append(InferTensor(name, list(array.shape), "T"))
            tensors[-1].set_data_from_numpy(array, True)
        payload = types.SimpleNamespace(inputs=tensors, id=id, use_binary_outputs=binary, request_outputs=["asked"])
        return asyncio.run(model.predict(payload))

    def test_the_model_describes_itself(self):
        made = self.counted()
        model = serving.kserve_model("m", self.affine, threads=1)
        self.assertEqual((model.name, model.ready), ("m", True))
        self.assertEqual(made, [(self.affine, {"threads": 1, "compiler_options": None})])
        self.assertEqual(model.get_input_types(), [{"name": "x", "datatype": "Tfloat32", "shape": [-1, 4]}])
        self.assertEqual(model.get_output_types(), [{"name": "y", "datatype": "Tfloat32", "shape": [-1, 4]}])

    def test_version_1(self):
        model = serving.kserve_model("m", self.affine)
        found = asyncio.run(model.predict({"instances": X.astype(int).tolist()}))
        self.assertEqual(found, {"predictions": (2 * X + 1).tolist()})

    def test_version_1_of_a_model_with_several_outputs(self):
        parts = {"a": X, "b": X + 9}
        with mock.patch.object(serving.Predictor, "submit", mock.AsyncMock(return_value=parts)) as submit:
            found = asyncio.run(serving.kserve_model("m", self.affine).predict({"instances": X.tolist()}))
        (inputs,), _ = submit.call_args
        self.assertEqual((list(inputs), inputs["x"].dtype), (["x"], np.float32))
        self.assertEqual(found, {"predictions": [{"a": a.tolist(), "b": b.tolist()} for a, b in zip(X, X + 9)]})

    def test_version_2(self):
        model = serving.kserve_model("m", self.affine)
        for binary in (True, False):
            (request, name, outputs), options = self.infer(model, x=X, binary=binary)
            self.assertEqual((request, name), ("7", "m"))
            self.assertEqual(options, {"use_binary_outputs": binary, "requested_outputs": ["asked"]})
            (y,) = outputs
            self.assertEqual((y.name, y.shape, y.datatype, y.binary), ("y", [5, 4], "Tfloat32", True))
            np.testing.assert_array_equal(y.array, 2 * X + 1)
        ids = {self.infer(model, x=X, id="")[0][0] for _ in range(2)}
        self.assertEqual([len(i) for i in ids], [36, 36])

    def test_wrong_requests_are_errors_of_the_client(self):
        model = serving.kserve_model("m", self.affine)
        for payload, text in (({"wrong": []}, "instances"), ({"instances": [[1, 2]]}, "'x'"), ({"instances": [["a"]]}, "could not convert")):
            with self.subTest(text), self.assertRaisesRegex(InvalidInput, text):
                asyncio.run(model.predict(payload))
        with self.assertRaisesRegex(InvalidInput, "'z'"):
            self.infer(model, z=X)


class TensorFlow(Engines):
    def setUp(self):
        saved = self.saved = []

        class TensorSpec:
            def __init__(self, shape, kind, name):
                self.shape, self.dtype, self.name = shape, kind, name

        def function(input_signature):
            def decorate(call):
                call.signature = input_signature
                return call
            return decorate

        def run(**options):
            self.calls.append(options)
            return ["result%d" % i for i in range(len(options["Tout"]))]

        def load(path):
            self.operator = path
            return types.SimpleNamespace(poprt_run=run)

        self.calls = []
        self.modules(tensorflow={
            "load_op_library": load, "bfloat16": "bf16", "dtypes": types.SimpleNamespace(as_dtype=lambda kind: np.dtype(kind).name),
            "TensorSpec": TensorSpec, "Module": type("Module", (), {}), "function": function,
            "ensure_shape": lambda value, shape: (value, shape),
            "saved_model": types.SimpleNamespace(Asset=lambda path: types.SimpleNamespace(asset_path="asset of " + path),
                                                 save=lambda module, folder, signatures: saved.append((module, folder, signatures)))})

    def export(self, popef, **options):
        self.saved.clear()
        self.calls.clear()
        serving.export_saved_model(popef, os.path.join(self.folder, "saved"), **options)
        (module, folder, signatures), = self.saved
        self.assertEqual((folder, list(signatures)), (os.path.join(self.folder, "saved"), ["serving_default"]))
        signature = type(module).serve.signature
        result = signatures["serving_default"](*["tensor%d" % i for i in range(len(signature))])
        return [(s.name, s.dtype, s.shape) for s in signature], result, self.calls[0]

    def compiled(self, name, options=None):
        path = os.path.join(self.folder, name + ".popef")
        Compiler.compile(os.path.join(DATA, name + ".onnx"), None, options).save(path)
        return path

    def test_rows_that_may_share_a_batch_have_any_number(self):
        signature, result, call = self.export(self.affine)
        self.assertEqual(self.operator, "libtensorflow_poprt.so")
        self.assertEqual(signature, [("x", "float32", [None, 4])])
        self.assertEqual(result, {"y": ("result0", [None, 4])})
        self.assertEqual(call, {"filename": "asset of " + self.affine, "inputs": ["tensor0"], "input_names": ["x"], "output_names": ["y"],
                                "timeout_us": 0, "threads": 0, "Tout": ["float32"]})
        call = self.export(self.affine, operator="other.so", timeout_us=5, threads=3)[2]
        self.assertEqual((self.operator, call["timeout_us"], call["threads"]), ("other.so", 5, 3))

    def test_a_model_of_one_shape_keeps_it(self):
        signature, result, call = self.export(self.compiled("lookup"))
        self.assertEqual(signature, [("table", "float32", [3, 2]), ("ids", "int64", [4])])
        self.assertEqual(result, {"rows": ("result0", [4, 2]), "next": ("result1", [4])})
        self.assertEqual((call["input_names"], call["output_names"], call["Tout"]), (["table", "ids"], ["rows", "next"], ["float32", "int64"]))

    def test_a_model_of_several_shapes_has_any(self):
        path = os.path.join(self.folder, "shapes.popef")
        Compiler.compile(AFFINE, None, CompilerOptions(input_shape={"x": [[1, 4], [4, 4]]})).save(path)
        signature, result, _ = self.export(path)
        self.assertEqual((signature, result), ([("x", "float32", [None, None])], {"y": ("result0", [None, None])}))

    def test_a_size_that_depends_on_data_is_unknown(self):
        signature, result, _ = self.export(self.compiled("range", CompilerOptions(options={"max_size": "n=4"})))
        self.assertEqual(signature, [("n", "int64", [])])
        self.assertEqual(result, {"y": ("result0", [None])})

    def test_names_of_tensors_are_words(self):
        signature, result, call = self.export(self.compiled("unicode", CompilerOptions(input_shape={"st\u00f8rrelse": [2, 4]})))
        self.assertEqual((call["input_names"], call["output_names"]), (["st\u00f8rrelse"], ["ut_\U0001f680"]))
        self.assertEqual(([name for name, _, _ in signature], list(result)), (["st\u00f8rrelse"], ["ut__"]))


class Predictors(Engines):
    def test_arguments_that_are_not_rows(self):
        predictor = serving.Predictor(self.affine)
        with self.assertRaisesRegex(InvalidArgumentError, "same number of rows, given {}"):
            predictor({})
        self.assertEqual(predictor({"x": np.zeros((0, 4), np.float32)})["y"].shape, (0, 4))

    def test_a_fixed_batch_does_not_wait_for_other_requests(self):
        with mock.patch.object(serving, "Runner", wraps=serving.Runner) as runner:
            self.assertIsNone(serving.Predictor(self.affine, threads=2).most)
        config = runner.call_args.args[1]
        self.assertEqual((config.batching_dim, config.timeout_ns, config.threads), (0, 1, 2))


if __name__ == "__main__":
    unittest.main()
