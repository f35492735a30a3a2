"""poprt.Converter with its 34 documented arguments; models are objects with those methods of onnx.ModelProto that it uses."""

import inspect
import logging
import os
import tempfile
import unittest

import poprt
from poprt.compiler import Compiler, CompilerOptions
from poprt.converter import Converter, MFConverter, Sharder
from poprt.errors import InvalidArgumentError, NotFoundError, UnimplementedError

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")

# The documented defaults.
DEFAULTS = {
    "input_shape": None, "convert_version": 11, "precision": "fp32", "checkpoints": None, "eightbitsio": False, "fp16_skip_op_types": None,
    "skip_passes": None, "check": False, "disable_fast_norm": False, "pack_args": None, "fp8_skip_op_names": None,
    "fp8_params": "F143,F143,0,0", "quantize": False, "enable_insert_remap": False, "enable_erf_gelu": False,
    "serialize_matmul": None, "serialize_matmul_add": None, "merge_matmul": None, "merge_matmul_add": None, "merge_moe": None,
    "max_tensor_size": -1, "infer_shape_ahead": False, "enable_avoid_overflow_patterns": False, "disable_progress_bar": False,
    "batch_size": None, "batch_axis": None, "fold_periodic_initializer": False, "enable_compress_pattern": False,
    "merge_if_with_same_cond": False, "apply_hcsr": None, "logger": None}
LISTS = {"used_passes": [], "remove_outputs": [], "remap_mode": ["after_matmul"]}


class ModelProto:
    """The part of onnx.ModelProto that the converter uses."""

    def __init__(self, data=b""):
        self.data = data

    @classmethod
    def load(cls, name):
        with open(os.path.join(DATA, name), "rb") as file:
            return cls(file.read())

    def SerializeToString(self):
        return self.data

    def ParseFromString(self, data):
        self.data = data

    def show(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            with open(path, "wb") as file:
                file.write(self.data)
            return Compiler.show(path)


class SharderTest(unittest.TestCase):
    def test_a_model_is_cut(self):
        slow = ModelProto.load("slow.onnx")
        cut = Sharder(sharding_info={"x3": 0}, pipelining_info={"x3": 0}).run(slow)
        self.assertIsInstance(cut, ModelProto)
        self.assertIn(b"__ipu_number", cut.data)
        self.assertIn(b"__pipeline_stage", cut.data)
        made = Compiler.compile(cut.data, None, CompilerOptions(num_ipus=2, virtual_graph_mode="manual"))
        self.assertEqual(made.popef_model().metadata.numIpus(), 2)
        self.assertNotIn(b"__pipeline_stage", Sharder({"x3": 0}).run(slow).data)

    def test_sharder_refuses_invalid_settings(self):
        slow = ModelProto.load("slow.onnx")
        with self.assertRaisesRegex(ValueError, "no cut point"):
            Sharder()
        with self.assertRaisesRegex(NotFoundError, "no node 'nowhere'"):
            Sharder({"nowhere": 0}).run(slow)
        with self.assertRaisesRegex(RuntimeError, "requires a sharded model"):
            Sharder(pipelining_info={"x3": 0}).run(slow)
        with self.assertRaisesRegex(ValueError, "num_ipus must be 2 or more"):
            cut = Sharder({"x3": 0}).run(slow)
            Compiler.compile(cut.data, None, CompilerOptions(virtual_graph_mode="manual"))


class MFConverterTest(unittest.TestCase):
    def test_models_become_one(self):
        weights = ModelProto.load("weights.onnx")
        affine = Converter(input_shape={"x": [2, 4]}).convert(ModelProto.load("affine.onnx"))
        fused = MFConverter().convert([affine, weights, weights])
        self.assertIsInstance(fused, ModelProto)
        names = [line.split()[1].rstrip(":") for line in fused.show().splitlines()]
        self.assertEqual(names, ["graph0/x", "graph1/x", "graph2/x", "index", "graph0/y", "graph1/y", "graph2/y"])
        twice = Compiler.compile(MFConverter().convert([weights, weights]).data, None, CompilerOptions(enable_model_fusion=True))
        self.assertEqual(twice.weights_bytes, Compiler.compile(weights.data, None, CompilerOptions()).weights_bytes)
        with self.assertRaisesRegex(InvalidArgumentError, "is already fused"):
            MFConverter().convert([fused, weights])

    def test_nothing_is_no_model(self):
        with self.assertRaisesRegex(ValueError, "no models"):
            MFConverter().convert([])

    def test_another_model_is_not_fused(self):
        with self.assertRaisesRegex(InvalidArgumentError, "not a fused one"):
            Compiler.compile(ModelProto.load("weights.onnx").data, None, CompilerOptions(enable_model_fusion=True))


class ConverterTest(unittest.TestCase):
    def convert(self, name="affine.onnx", **options):
        return Converter(**options).convert(ModelProto.load(name))

    def test_34_of_34_arguments(self):
        parameters = dict(inspect.signature(Converter).parameters)
        self.assertEqual(len(parameters), 34)
        self.assertTrue(all(p.kind is p.KEYWORD_ONLY for p in parameters.values()))
        for name, default in DEFAULTS.items():
            self.assertEqual(parameters.pop(name).default, default, name)
        for name, default in LISTS.items():
            self.assertEqual(list(parameters.pop(name).default), default, name)
        self.assertEqual(list(parameters), [])
        self.assertIs(poprt.Converter, Converter)

    def test_convert_returns_a_new_model_of_the_same_type(self):
        model = ModelProto.load("affine.onnx")
        before = model.data
        made = Converter(input_shape={"x": [2, 4]}).convert(model)
        self.assertIsInstance(made, ModelProto)
        self.assertEqual(model.data, before)
        self.assertIn("input x: dtype - f32, shape - [2, 4]", made.show())
        runner = poprt.Runner(Compiler.compile(made.data))
        self.assertEqual([d.shape for d in runner.get_execute_inputs()], [[2, 4]])

    def test_options_by_default(self):
        self.assertEqual(Converter().options, {"precision": "fp32", "lowest_opset": "11", "narrow_int64": "True"})

    def test_convert_version_replaces_lowest_opset(self):
        self.assertEqual(Converter(convert_version=11).options["convert_version"], "11")
        self.assertNotIn("lowest_opset", Converter(convert_version=11).options)
        for options in (Converter(convert_version=None).options,):
            self.assertFalse({"lowest_opset", "convert_version"} & set(options))

    def test_integers_are_narrowed_unless_the_pass_is_skipped(self):
        self.assertIn("input ids: dtype - s32", self.convert("lookup.onnx").show())
        self.assertIn("input ids: dtype - s64", self.convert("lookup.onnx", skip_passes="int64_to_int32").show())

    def test_arguments_become_options(self):
        made = Converter(input_shape={"a": [1, 2], "b": (3,)}, used_passes=["p", "q"], skip_passes="r, s", remap_mode=["before_add"],
                         enable_insert_remap=True, serialize_matmul={"m": "4/input_channels/True", "n": "2"}, max_tensor_size=64,
                         remove_outputs=["y"], checkpoints="w", batch_size=3, batch_axis=0, convert_version=13,
                         apply_hcsr={"fp32,[512,1]": 50}, pack_args={"max_valid_num": 40}, fp8_params="F152,F143,0,0")
        self.assertEqual(made.options, {
            "input_shape": "a=1,2\nb=3", "passes": "p,q", "skip_passes": "r, s", "remap_mode": "before_add",
            "enable_insert_remap": "True", "serialize_matmul": "m=4/input_channels/True\nn=2", "max_tensor_size": "64",
            "remove_outputs": "y", "checkpoints": "w", "batch_size": "3", "batch_axis": "0", "convert_version": "13",
            "apply_hcsr": "fp32,[512,1],50", "pack_args": "max_valid_num=40",
            "fp8_params": "F152,F143,0,0", "precision": "fp32", "narrow_int64": "True"})

    def test_every_argument_is_taken_or_refused_by_name(self):
        shape = {"input_shape": {"x": [2, 4]}}
        values = {"checkpoints": "none", "fp16_skip_op_types": "Mul", "skip_passes": "eliminate_identity", "fp8_skip_op_names": "n",
                  "fp8_params": "F152,F143,0,0", "pack_args": {"a": 1}, "serialize_matmul": {"m": "2"}, "max_tensor_size": 64,
                  "serialize_matmul_add": {"m/a": "2"}, "merge_matmul": "a,b", "merge_matmul_add": "a,b", "merge_moe": "a,b",
                  "batch_size": 2, "apply_hcsr": {"fp32,[1]": 2}, "used_passes": ["sort_graph"], "remove_outputs": ["none"],
                  "remap_mode": ["before_add"], "precision": "fp16", "convert_version": 13, "batch_axis": 0}
        refused: set[str] = set()
        wrong = {"quantize": ValueError, "pack_args": InvalidArgumentError, "eightbitsio": InvalidArgumentError, "batch_size": InvalidArgumentError,
                 "batch_axis": InvalidArgumentError, "checkpoints": NotFoundError, "remove_outputs": NotFoundError,
                 "serialize_matmul": NotFoundError, "serialize_matmul_add": NotFoundError, "merge_matmul": NotFoundError,
                 "merge_matmul_add": NotFoundError, "merge_moe": InvalidArgumentError, "apply_hcsr": NotFoundError}
        # An option that names nodes or inputs that the model does not have is refused by its pass.
        passes = {"apply_hcsr": "apply_host_concat_split"}
        for name in [*DEFAULTS, *LISTS]:
            if name in ("input_shape", "logger"):
                continue
            with self.subTest(name):
                options = {name: values.get(name, True), **shape}
                error = UnimplementedError if name in refused else wrong.get(name)
                if error is None:
                    self.assertIn("[2, 4]", self.convert(**options).show())
                else:
                    with self.assertRaises(error) as raised:
                        self.convert(**options)
                    word = "quantize goes with" if name == "quantize" else f"`{name}`"
                    self.assertRegex(str(raised.exception), f"{word}|pass {passes.get(name, name)}:")

    def test_precision_and_check(self):
        self.assertIn("dtype - f16", self.convert(input_shape={"x": [2, 4]}, precision="fp16", check=True).show())
        self.assertIn("dtype - f16", self.convert(input_shape={"x": [2, 4]}, precision="fp8_weight").show())
        self.assertEqual(Converter(precision="fp8").options, {"precision": "fp8", "ipu_version": "ipu21", "fp8_params": "F143,F143,0,0",
                                                             "lowest_opset": "11", "narrow_int64": "True"})
        left = Converter(precision="fp8", quantize=True, fp8_skip_op_names="a,b")
        self.assertEqual(left.options, {"lowest_opset": "11", "narrow_int64": "True"})
        self.assertEqual(left.deferred, {"fp8_params": "F143,F143,0,0", "fp8_skip_op_names": "a,b"})
        with self.assertRaisesRegex(InvalidArgumentError, "expected fp32, fp16, bf16, fp8, fp8_weight or int8, found 'int3'"):
            self.convert(precision="int3")

    def test_messages_go_to_the_logger(self):
        logger = logging.getLogger("converter_test")
        with self.assertLogs(logger, logging.WARNING) as logs:
            self.convert(input_shape={"x": [2, 4], "nothing": [1]}, logger=logger)
        self.assertEqual(len(logs.output), 1)
        self.assertIn("'nothing'", logs.output[0])


class Plugins(unittest.TestCase):
    def test_scenario_64_plugins(self):
        with self.assertRaisesRegex(FileNotFoundError, "missing.so"):
            poprt.load_plugin("missing.so")
        with self.assertRaisesRegex(poprt.Error, "no shared library"):
            poprt.load_plugin(os.path.join(DATA, "affine.onnx"))
        self.assertIsInstance(poprt.list_plugins(), list)


class NamedOptions(unittest.TestCase):
    def test_scenario_74_options_by_name(self):
        path = os.path.join(DATA, "affine.onnx")
        model = Compiler.compile(path, None, CompilerOptions(options={"input_shape": "x=2,4", "num_io_tiles": "32"})).popef_model()
        self.assertEqual(model.getUserInputAnchors()[0].tensorInfo().shape(), [2, 4])
        noted = model.metadata.engineOptions()[1]
        self.assertEqual((noted.name(), noted.value()), ("num_io_tiles", "32"))
        self.assertIn("num_io_tiles", Compiler.list_options())
        self.assertIn("inputs: 1", Compiler.io_statistics(path))
        for name, error in (("nonsense", InvalidArgumentError), ("compiler_options", UnimplementedError)):
            with self.assertRaisesRegex(error, name):
                Compiler.compile(path, None, CompilerOptions(options={name: "virtual_graph_mode=executionPhases"}))

    def test_options_of_the_chip_are_recorded(self):
        options = CompilerOptions(input_shape={"x": [2, 4]}, num_io_tiles=32, partials_type="float", enable_outlining=False,
                                  options={"disable_fast_norm": "True", "compiler_options": "outline_threshold=5"})
        executable = Compiler.compile(os.path.join(DATA, "affine.onnx"), None, options)
        found = {o.name(): o.value() for o in executable.popef_model().metadata.engineOptions()}
        self.assertEqual({k: v for k, v in found.items() if k not in ("input_shapes", "source", "source_hash")},
                         {"disable_fast_norm": "1", "outline_threshold": "5", "num_io_tiles": "32", "partials_type": "float",
                          "enable_outlining": "False"})

    def test_wrong_names(self):
        for name, why in (("nonsense", "there is no option"), ("run", "option of the command poprt")):
            with self.assertRaisesRegex(InvalidArgumentError, why):
                Compiler.compile(os.path.join(DATA, "affine.onnx"), None, CompilerOptions(options={name: "1"}))


if __name__ == "__main__":
    unittest.main()
