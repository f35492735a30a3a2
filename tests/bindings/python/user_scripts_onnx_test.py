"""Programs as users of PopRT 1.5 wrote them, feature by feature: the calls and argument names of its manual, on small models
whose results NumPy computes. documented_test.py tests PopEF files and Model Runtime, passes_onnx_test.py passes of the user."""

import inspect
import logging
import os
import pickle
import tempfile
import unittest

import numpy as np
import onnx
import onnx_models as m
import poprt
from onnx_models import node
from poprt import runtime
from poprt.backend import get_session
from poprt.backends import Backend, ORTBackend
from poprt.compiler import Compiler, CompilerOptions
from poprt.converter import Converter, MFConverter
from poprt.errors import InvalidArgumentError, NotFoundError
from poprt.frontend import OnnxFrontend, get_frontend

RNG = np.random.default_rng(15)
W, B = RNG.standard_normal((4, 3)).astype(np.float32), RNG.standard_normal(3).astype(np.float32)
X = RNG.standard_normal((2, 4)).astype(np.float32)
Y = X @ W + B


def dense(rows=2):
    """y = x W + b; nodes "mm" and "bias"."""
    return m.make([node("MatMul", ["x", "w"], ["h"], name="mm"), node("Add", ["h", "b"], ["y"], name="bias")],
                  {"x": [rows, 4]}, {"y": [rows, 3]}, {"w": W, "b": B}, opset=11)


def three_inputs():
    """y = (a - b) c."""
    return m.make([node("Sub", ["a", "b"], ["d"]), node("Mul", ["d", "c"], ["y"])], {n: [2, 1] for n in "abc"}, {"y": [2, 1]},
                  opset=11)


def ops(model):
    return [n.op_type for n in model.graph.node]


def input_shape(model):
    return [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]


def results(model, feeds=None, options=None):
    with runtime.Runner(Compiler.compile(model, None, options or CompilerOptions())) as runner:
        return runner.run(feeds or {"x": X})


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def saved(self, model, name="model.onnx"):
        onnx.save(model, self.path(name))
        return self.path(name)

    def pickled(self, data, name="data.pickle"):
        with open(self.path(name), "wb") as file:
            pickle.dump(data, file)
        return self.path(name)


class ConvertCompileAndRun(InFolder):
    def test_convert_compile_and_run(self):
        """The first program of the manual, in its order and with its names."""
        model_proto = onnx.load(self.saved(dense("N")))
        converted = poprt.converter.Converter(input_shape={"x": [2, 4]}).convert(model_proto)
        outputs = [o.name for o in converted.graph.output]
        options = poprt.compiler.CompilerOptions()
        options.num_io_tiles = 0
        options.batches_per_step = 1
        executable = poprt.compiler.Compiler.compile(converted, outputs, options)
        config = poprt.runtime.RuntimeConfig()
        config.timeout_ns = 0
        runner = poprt.runtime.Runner(executable, config)
        inputs = {d.name: X.astype(d.numpy_data_type()) for d in runner.get_execute_inputs()}
        results = {d.name: np.zeros(d.shape, dtype=d.numpy_data_type()) for d in runner.get_execute_outputs()}
        runner.execute(inputs, results)
        np.testing.assert_allclose(results["y"], Y, atol=1e-5)

    def test_execute_by_the_names_of_its_arguments(self):
        for make in (runtime.Runner, runtime.ModelRunner):
            runner = make(Compiler.compile(dense()))
            for run in (lambda **views: runner.execute(**views), lambda **views: runner.execute_async(**views).wait(),
                        lambda **views: runner.executeAsync(**views).wait()):
                output = {"y": np.zeros((2, 3), np.float32)}
                run(input={"x": X}, output=output)
                np.testing.assert_allclose(output["y"], Y, atol=1e-5)

    def test_the_four_compile_methods_by_the_names_of_their_arguments(self):
        source, options = self.saved(dense()), CompilerOptions()
        for model in (source, dense().SerializeToString(), dense()):
            with self.subTest(type(model).__name__):
                self.assertEqual([d.name for d in Compiler.compile(model=model, outputs=["y"], options=options).get_outputs()], ["y"])
                Compiler.compile_and_export(model=model, outputs=["y"], filename=self.path("e.popef"), options=options)
                np.testing.assert_allclose(runtime.Runner(self.path("e.popef")).run({"x": X})["y"], Y, atol=1e-5)
                report = Compiler.compile_and_get_summary_report(model=model, outputs=["y"], options=options, reset_profile=True)
                self.assertIsInstance(report, str)

    def test_one_output_may_be_given_by_its_name(self):
        model = m.make([node("Neg", ["x"], ["scores"]), node("Abs", ["x"], ["other"])], {"x": [2]}, {"scores": [2], "other": [2]})
        self.assertEqual([d.name for d in Compiler.compile(model, "scores", CompilerOptions()).get_outputs()], ["scores"])
        with self.assertRaisesRegex(NotFoundError, "no output 'score'"):
            Compiler.compile(model, "score")

    def test_options_are_a_dictionary_of_benchmarks(self):
        """from_dict accepts the options that benchmarks set, and the same dictionary is accepted in place of CompilerOptions."""
        settings = {"ipu_version": "ipu21", "num_ipus": 1, "batches_per_step": 16, "num_io_tiles": 32, "partials_type": "half",
                    "available_memory_proportion": 0.4, "enable_outlining": True, "outline_threshold": 1e-7,
                    "use_128bit_conv_unit_load": True, "enable_fast_reduce": True, "enable_multi_stage_reduce": False,
                    "group_host_sync": True, "rearrange_anchors_on_host": False, "rearrange_streams_on_host": False,
                    "enable_non_stable_softmax": True, "stream_buffering_depth": 2, "enable_prefetch_datastreams": True,
                    "time_limit_scheduler": 0, "swap_limit_scheduler": 0, "transitive_closure_optimization_threshold": 1}
        options = CompilerOptions.from_dict(settings)
        for name, value in settings.items():
            self.assertEqual(getattr(options, name), value, name)
        for given in (options, settings):
            metadata = Compiler.compile(dense(), None, given).popef_model().metadata
            recorded = {o.name(): o.value() for o in metadata.engineOptions()}
            self.assertEqual((recorded["num_io_tiles"], recorded["batches_per_step"], recorded["enable_fast_reduce"]), ("32", "16", "True"))

    def test_refuses_options_of_the_wrong_kind(self):
        for options, why in (({"ipuVersion": "ipu21"}, "no option 'ipuVersion'"), ("num_io_tiles=3", "expected CompilerOptions or a dict"),
                             (runtime.RuntimeConfig(), "expected CompilerOptions or a dict")):
            with self.assertRaisesRegex(TypeError, why):
                Compiler.compile(dense(), None, options)
        for field, value in (("available_memory_proportion", {}), ("available_memory_proportion", 2), ("batches_per_step", "many"),
                             ("num_io_tiles", []), ("ipu_version", "ipu3"), ("outline_threshold", "low")):
            with self.subTest(field), self.assertRaisesRegex(InvalidArgumentError, f"{field}: expected"):
                Compiler.compile(dense(), None, {field: value})

    def test_numbers_of_a_runner_are_whole_ones_of_at_least_0(self):
        executable = Compiler.compile(dense())
        for field in ("timeout_ns", "batch_size_timeout_ns", "data_parallel_timeout_ns", "request_tracepoints_buffer_size",
                      "ring_buffer_size_multiplier", "queue_depth"):
            for value, error, why in ((-5, InvalidArgumentError, "expected 0 or more, found -5"), ("5", TypeError, "a whole number, found '5'"),
                                      (2.5, TypeError, "a whole number, found 2.5"), (None, TypeError, "found None")):
                config = runtime.RuntimeConfig()
                with self.subTest(field), self.assertRaisesRegex(error, f"RuntimeConfig.{field}: expected .*{why}"
                                                                 if error is TypeError else f"RuntimeConfig.{field}: {why}"):
                    setattr(config, field, value)
                    runtime.Runner(executable, config)
        config = runtime.RuntimeConfig()
        config.timeout_ns = np.int64(300_000)
        runtime.Runner(executable, config).close()

    def test_refuses_other_than_models_and_executables(self):
        for given in (None, 5):
            with self.assertRaisesRegex(TypeError, "expected an onnx.ModelProto, the path of a model or its bytes, found"):
                Compiler.compile(given)
            for make in (runtime.Runner, poprt.Executable):
                with self.assertRaisesRegex(TypeError, "expected the path of a PopEF file, several of them or its bytes, found"):
                    make(given)

    def test_fields_that_may_be_empty_may(self):
        empty = {"custom_patterns": [], "engine_options": {}, "virtual_graph_split_ratios": [], "opaque_blobs": {}, "cache_path": ""}
        np.testing.assert_allclose(results(dense(), options=empty)["y"], Y, atol=1e-5)

    def test_progress_goes_from_0_to_100(self):
        reports = []
        Compiler.compile(dense(), None, CompilerOptions(compilation_progress_logger=lambda value, most: reports.append((value, most))))
        values = [value for value, _ in reports]
        self.assertEqual((values, values[-1], {most for _, most in reports}), (sorted(values), 100, {100}))


class Conversion(InFolder):
    def test_shapes_are_a_dictionary_a_list_of_words_or_texts(self):
        for given in ({"x": [2, 4]}, {"x": (2, 4)}, {"x": np.array([2, 4])}, {"x": "2,4"}, {"x": "[2, 4]"}, ["x=2,4"], ("x=2,4",), "x=2,4"):
            with self.subTest(given=given):
                self.assertEqual(input_shape(Converter(input_shape=given).convert(dense("N"))), [2, 4])

    def test_a_number_has_an_empty_shape(self):
        model = m.make([node("Mul", ["x", "s"], ["y"])], {"x": ["N", 4], "s": []}, {"y": ["N", 4]})
        for given in ({"x": [2, 4], "s": []}, {"x": [2, 4], "s": ()}, {"x": "2,4", "s": "[]"}, ["x=2,4", "s=[]"]):
            self.assertEqual(input_shape(Converter(input_shape=given).convert(model)), [2, 4])
        with self.assertRaisesRegex(InvalidArgumentError, "'x' is f32.N,4., but .. has another rank"):
            Converter(input_shape={"x": []}).convert(model)

    def test_refuses_shapes_of_the_wrong_kind(self):
        for given in ({"x": 4}, {"x": None}, {"x": [2.5, 4]}, {"x": ["a", 4]}, {"x": [[2, 4]]}):
            with self.subTest(given=given), self.assertRaisesRegex(TypeError, "input_shape: expected whole numbers for input 'x'"):
                Converter(input_shape=given)
        for given in (5, [3], [["x", 2]]):
            with self.subTest(given=given), self.assertRaisesRegex(TypeError, "input_shape: expected a dict, or a list of words"):
                Converter(input_shape=given)
        for given in ({"x": [-1, 4]}, ["x"], ["x="], {"x": "2;4"}, "x=2,4 y=3"):
            with self.subTest(given=given), self.assertRaisesRegex(InvalidArgumentError, "`input_shape`: expected NAME=d0,d1"):
                Converter(input_shape=given).convert(dense("N"))

    def test_a_shape_of_no_input_goes_with_a_batch_size(self):
        with self.assertLogs("poprt.scripts", logging.WARNING) as logs:
            made = Converter(input_shape={"other": [1, 4]}, batch_size=2, batch_axis=0,
                             logger=logging.getLogger("poprt.scripts")).convert(dense("N"))
        self.assertEqual(input_shape(made), [2, 4])
        self.assertIn("'other'", logs.output[0])

    def test_a_dynamic_model_needs_a_shape(self):
        with self.assertRaisesRegex(InvalidArgumentError, "'x' is f32.N,4.*input_shape.*batch_size"):
            Converter().convert(dense("N"))
        with self.assertRaisesRegex(InvalidArgumentError, "axis 1 is fixed"):
            Converter(input_shape={"x": [2, 5]}).convert(dense("N"))
        with self.assertRaisesRegex(InvalidArgumentError, "`batch_size` needs `batch_axis`"):
            Converter(batch_size=2).convert(dense("N"))

    def test_refuses_other_than_models(self):
        quantizer = poprt.quantizer.FP8Quantizer(self.folder, data_preprocess={"x": X})
        for given in (self.saved(dense()), dense().SerializeToString(), None, [dense()]):
            for take in (Converter().convert, lambda model: MFConverter().convert([model]), poprt.get_pass("sort_graph"),
                         poprt.PassManager(["sort_graph"]).run, poprt.PassManager(["sort_graph"], gather_ir_passes=True).run,
                         quantizer.quantize):
                with self.assertRaisesRegex(TypeError, "expected an onnx.ModelProto, found .*onnx.load"):
                    take(given)
        with self.assertRaisesRegex(TypeError, "a list of onnx.ModelProto, found one"):
            MFConverter().convert(dense())
        with self.assertRaisesRegex(TypeError, "the name of a pass, found 5"):
            poprt.get_pass(5)

    def test_refuses_arguments_of_the_wrong_kind(self):
        for name, value, error, why in (("convert_version", "eleven", ValueError, "convert_version: expected an opset"),
                                        ("logger", "poprt", TypeError, "logger: expected a logging.Logger, found 'poprt'"),
                                        ("serialize_matmul", 3, TypeError, "serialize_matmul: expected a dict"),
                                        ("apply_hcsr", [2], TypeError, "apply_hcsr: expected a dict")):
            with self.subTest(name), self.assertRaisesRegex(error, why):
                Converter(**{name: value})
        with self.assertRaisesRegex(TypeError, "inputshape"):
            Converter(inputshape={"x": [2, 4]})
        with self.assertRaises(TypeError):
            Converter({"x": [2, 4]})  # keywords only

    def test_serialized_products_compute_the_same(self):
        for words, pieces in (({"mm": "3"}, 3), ({"mm": 3}, 3), ({"mm": "3/output_channels"}, 3), ({"mm": "2/input_channels/False"}, 2),
                              ({"mm": "4/reducing_dim/True"}, 4), (["mm=3/output_channels/False"], 3), ({"mm": "1/none"}, 1)):
            with self.subTest(words=words):
                made = Converter(serialize_matmul=words).convert(dense())
                self.assertEqual(ops(made).count("MatMul"), pieces)
                np.testing.assert_allclose(results(made)["y"], Y, atol=1e-5)
        for words in ({"mm/bias": "3"}, ["mm/bias=3"]):
            made = Converter(serialize_matmul_add=words).convert(dense())
            self.assertEqual((ops(made).count("MatMul"), ops(made).count("Add")), (3, 3))
            np.testing.assert_allclose(results(made)["y"], Y, atol=1e-5)
        for factor in ("2", "0", "x"):
            with self.assertRaisesRegex(InvalidArgumentError, "factor"):
                Converter(serialize_matmul={"mm": factor}).convert(dense())

    def test_where_remaps_go(self):
        for mode, expected in ((["after_matmul"], ["MatMul", "Remap", "Add"]), ("before_add", ["MatMul", "Remap", "Add"]),
                               ("both", ["MatMul", "Remap", "Add"]), (["after_add"], ["MatMul", "Add", "Remap"]),
                               (["before_matmul", "after_add"], ["Remap", "MatMul", "Add", "Remap"])):
            with self.subTest(mode=mode):
                made = Converter(enable_insert_remap=True, remap_mode=mode).convert(dense())
                self.assertEqual(ops(made), expected)
                np.testing.assert_allclose(results(made)["y"], Y, atol=1e-5)

    def test_lists_of_names_are_lists_or_texts(self):
        for names in (["h"], "h", ("h",)):
            self.assertEqual([o.name for o in Converter(checkpoints=names).convert(dense()).graph.output], ["y", "h"])
        for types in ("MatMul, Add", ["MatMul", "Add"]):
            made = Converter(precision="fp16", fp16_skip_op_types=types).convert(dense())
            self.assertEqual({t.data_type for t in made.graph.initializer}, {onnx.TensorProto.FLOAT})
        for passes in (["eliminate_identity", "sort_graph"], "eliminate_identity, sort_graph"):
            self.assertEqual(ops(Converter(used_passes=passes).convert(dense())), ["MatMul", "Add"])

    def test_an_opset_may_be_a_text(self):
        self.assertEqual(Converter(convert_version="13").convert(dense()).opset_import[0].version, 13)

    def test_old_models_list_weights_among_their_inputs(self):
        model = dense()
        for tensor in model.graph.initializer:
            model.graph.input.add().CopyFrom(onnx.helper.make_tensor_value_info(tensor.name, 1, list(tensor.dims)))
        made = Converter().convert(model)
        self.assertEqual([i.name for i in made.graph.input], ["x"])
        np.testing.assert_allclose(results(made)["y"], Y, atol=1e-5)

    def test_nodes_may_stand_in_any_order(self):
        model = dense()
        nodes = list(model.graph.node)[::-1]
        model.graph.ClearField("node")
        model.graph.node.extend(nodes)
        self.assertEqual(ops(Converter().convert(model)), ["MatMul", "Add"])

    def test_converted_models_are_valid(self):
        for options in ({}, {"precision": "fp16"}, {"checkpoints": "h"}, {"convert_version": 17}, {"precision": "fp16", "fp16_skip_op_types": "Add"}):
            with self.subTest(options=options):
                onnx.checker.check_model(Converter(**options).convert(dense()), full_check=True)


class HostConcatSplit(unittest.TestCase):
    FEEDS = {name: np.full((2, 1), number, np.float32) for name, number in (("a", 5), ("b", 2), ("c", 7))}

    def test_inputs_are_joined_and_the_runner_takes_them_as_they_were(self):
        """The map travels from metadata_props through the compiler's options into the PopEF file."""
        from poprt._names import sHostConcatRunnerConfig
        made = Converter(apply_hcsr={"fp32,[2,1]": 50}).convert(three_inputs())
        self.assertEqual([i.name for i in made.graph.input], ["hcsr_a"])
        options = CompilerOptions()
        options.opaque_blobs = {p.key: p.value for p in made.metadata_props if p.key == sHostConcatRunnerConfig}
        self.assertEqual(len(options.opaque_blobs), 1)
        config = runtime.HostConcatRunnerConfig()
        config.check_package_hash, config.ring_buffer_size_multiplier, config.timeout_ns = False, 30, 5_000_000
        runner = runtime.Runner(Compiler.compile(made, ["y"], options), config)
        self.assertEqual([d.name for d in runner.get_execute_inputs()], ["a", "b", "c"])
        self.assertEqual([d.shape for d in runner.get_execute_inputs()], [[2, 1]] * 3)
        output = {"y": np.zeros((2, 1), np.float32)}
        runner.execute(self.FEEDS, output)
        np.testing.assert_array_equal(output["y"], np.full((2, 1), 21))

    def test_how_many_inputs_of_which_kind(self):
        for words, inputs in (({"fp32,[2,1]": 2}, ["c", "hcsr_a"]), ({"fp32,[2,1]": None}, ["hcsr_a"]), (["fp32,[2,1]"], ["hcsr_a"]),
                              (["fp32,[2,1],50"], ["hcsr_a"]), ("fp32,[2,1],2", ["c", "hcsr_a"])):
            with self.subTest(words=words):
                self.assertEqual(sorted(i.name for i in Converter(apply_hcsr=words).convert(three_inputs()).graph.input), inputs)
        for merged in ({"fp32,[2,1]": 3}, {"fp32,[2,1]": None}, "fp32,[2,1]", ["fp32,[2,1],3"]):
            made = poprt.get_pass("apply_host_concat_split", merged_inputs=merged, remap=False).run(three_inputs())
            self.assertEqual([i.name for i in made.graph.input], ["hcsr_a"])


class Fusion(unittest.TestCase):
    def test_three_models_become_one(self):
        """As in the example of model fusion, models have different shapes and types, and a request may have names of any of them."""
        add = m.make([node("Add", ["X", "Y"], ["s"]), node("Reshape", ["s", "shape"], ["O"])], {"X": [1, 2], "Y": [1, 2]}, {"O": [2]},
                     {"shape": np.array([2])}, opset=11)
        concat = m.make([node("Concat", ["X", "c"], ["O"], axis=1)], {"X": ([1, 1], m.FLOAT16)}, {"O": ([1, 3], m.FLOAT16)},
                        {"c": np.array([[1.5, 2.0]], np.float16)}, opset=11)
        fused = MFConverter().convert([Converter().convert(add), Converter().convert(concat), Converter().convert(dense())])
        executable = Compiler.compile(fused, outputs=None, options=CompilerOptions(enable_model_fusion=True))
        config = runtime.RuntimeConfig()
        config.timeout_ns = 0
        config.validate_io_params = False
        runner = runtime.Runner(executable, config)
        for feeds, name, expected in (({"graph0/X": np.ones((1, 2), np.float32), "graph0/Y": np.full((1, 2), 2, np.float32)}, "graph0/O", [3, 3]),
                                      ({"graph1/X": np.zeros((1, 1), np.float16)}, "graph1/O", [[0, 1.5, 2]]), ({"graph2/x": X}, "graph2/y", Y)):
            output = {name: np.zeros(np.shape(expected), np.float16 if name == "graph1/O" else np.float32)}
            runner.execute(feeds, output)
            np.testing.assert_allclose(output[name], expected, atol=1e-5)
        self.assertIn("index", [d.name for d in executable.get_inputs()])


class Float8(InFolder):
    def setUp(self):
        super().setUp()
        self.data = self.pickled({"x": RNG.standard_normal((20, 4)).astype(np.float32)})

    def test_formats_are_a_text_or_a_list(self):
        wanted = Converter(precision="fp8", fp8_params="F152,F143,-3,-2").convert(dense())
        self.assertIn("CastToFP8", ops(wanted))
        for given in (["F152", "F143", "-3", "-2"], ["F152", "F143", -3, -2], ("F152", "F143", -3, -2), "F152, F143, -3, -2"):
            self.assertEqual(Converter(precision="fp8", fp8_params=given).convert(dense()), wanted)

    def test_the_pass_with_its_documented_arguments(self):
        def formats(**arguments):
            made = poprt.get_pass("float_to_fp8", **arguments)(dense())
            scales = sorted(t.name for t in made.graph.initializer if t.name.startswith("fp8_scale"))
            product = next(n for n in made.graph.node if n.op_type in ("FP8MatMul", "MatMul"))
            return product.op_type, [a.s.decode() for a in product.attribute if a.name.startswith("fp8Format")], scales
        eight = ("FP8MatMul", ["F143", "F143"], ["fp8_scale_0"])
        self.assertEqual(formats(), eight)
        self.assertEqual(formats(fp8_params=["F143", "F143", 0, 0], skip_op_names=[], convert_model="fp8", skip_op=True), eight)
        self.assertEqual(formats(fp8_params=["F143", "F143", 0, 0], convert_model="fp8", fp8_input_dict={"mm": ["F152", -1]},
                                 fp8_weight_dict={"mm": ["F143", -2]}), ("FP8MatMul", ["F152", "F143"], ["fp8_scale_-1", "fp8_scale_-2"]))
        self.assertEqual(formats(convert_model="fp8_weight", fp8_weight_dict={"mm": "F152,-2"})[1:], (["F152"], ["fp8_scale_-2"]))
        self.assertEqual(formats(convert_model="fp8", skip_op_names=["mm"])[0], "MatMul")
        self.assertEqual(formats(convert_model="fp8", skip_op_names=["mm"], skip_op=False)[0], "FP8MatMul")
        for wrong, why in (({"fp8_params": ["F144", "F143", 0, 0]}, "F143 or F152, found 'F144'"), ({"fp8_params": ["F143", "F143", 0]}, "fp8_params: expected"),
                           ({"convert_model": "int8"}, "expected fp8 or fp8_weight, found 'int8'"), ({"fp8_params": ["F143", "F143", 0, 40]}, "40")):
            with self.assertRaisesRegex(InvalidArgumentError, why):
                formats(**{"convert_model": "fp8", **wrong})

    def test_the_pass_named_in_used_passes_has_the_scales_of_the_converter(self):
        """They are 0,0 in Python as documented, not the -1,-1 of the command line."""
        def scales(**arguments):
            made = Converter(used_passes=["float_to_fp8"], **arguments).convert(dense())
            return sorted(t.name for t in made.graph.initializer if t.name.startswith("fp8_scale"))
        self.assertEqual(scales(), ["fp8_scale_0"])
        self.assertEqual(scales(fp8_params="F143,F143,-2,-3"), ["fp8_scale_-2", "fp8_scale_-3"])
        with self.assertNoLogs("poprt", "WARNING") if hasattr(self, "assertNoLogs") else self.subTest():
            scales(fp8_params="F143,F143,-2,-3", logger=logging.getLogger("poprt"))

    def test_calibration(self):
        """The Converter and then quantizer.quantize get every documented argument by its name."""
        for precision, loss in (("fp8", "kld"), ("fp8", "cos_dist"), ("fp8_weight", "gptq")):
            with self.subTest(precision=precision, loss=loss):
                converted = Converter(precision=precision, quantize=True).convert(dense())
                out = self.path(f"{precision}_{loss}")
                made = poprt.quantizer.quantize(onnx_model=converted, input_model=self.saved(dense()), output_dir=out,
                                                data_preprocess=self.data, precision=precision, quantize_loss_type=loss,
                                                num_of_layers_keep_fp16=0, options=None)
                self.assertIn("FP8MatMul", ops(made))
                self.assertTrue(os.path.getsize(os.path.join(out, "quantize.log")))
                found = results(made, {"x": X.astype(np.float16)})["y"].astype(np.float32)
                self.assertLess(np.abs(found - Y).max(), 0.1 * np.abs(Y).max())

    def test_options_of_the_compiler_are_options_or_a_dictionary(self):
        for options in ({"num_ipus": 1}, CompilerOptions(num_io_tiles=32)):
            converted = Converter(precision="fp8", quantize=True).convert(dense())
            made = poprt.quantizer.quantize(converted, dense(), self.folder, self.data, options=options)
            self.assertIn("FP8MatMul", ops(made))
        with self.assertRaisesRegex(poprt.errors.InvalidArgumentError, "num_ipus"):  # options are not ignored
            poprt.quantizer.quantize(converted, None, self.folder, self.data, options={"enable_pipelining": True})

    def test_a_forgotten_quantizer_is_a_warning(self):
        converted = Converter(precision="fp8", quantize=True).convert(dense())
        made = poprt.quantizer.quantize(converted, dense(), self.folder, self.data)
        for model, count in ((converted, 1), (made, 0)):
            messages = []
            with poprt.subscribe_log(lambda level, message: messages.append(message)):
                poprt.Compiler.compile(model)
            self.assertEqual(len([text for text in messages if "call poprt.quantizer.quantize" in text]), count, messages)

    def test_data_that_is_none_is_one_line(self):
        converted = Converter(precision="fp8", quantize=True).convert(dense())
        rows, nan, infinite = np.ones((4, 4), np.float32), np.full((4, 4), np.nan, np.float32), np.full((4, 4), 1e300)
        for data, error, why in (([X], TypeError, "expected a dict of arrays .* found list"), (X, TypeError, "found ndarray"),
                                 ({"z": rows}, InvalidArgumentError, "no array for input 'x'; the file has 'z'"),
                                 ({"x": rows, "z": rows}, InvalidArgumentError, "no input 'z'"),
                                 ({"x": rows[:, 0]}, InvalidArgumentError, r"\[4\], expected \[SAMPLES,4\]"),
                                 ({"x": rows[:0]}, InvalidArgumentError, r"\[0,4\], expected"), ({"x": 5}, InvalidArgumentError, r"shape \[1\], expected"),
                                 ({"x": np.array([[None] * 4])}, InvalidArgumentError, "which is no number"),
                                 ({"x": rows.astype(complex)}, InvalidArgumentError, "input 'x' is c128, expected f32"),
                                 ({"x": nan}, InvalidArgumentError, "input 'x': sample 0 has the value nan as f32"),
                                 ({"x": infinite}, InvalidArgumentError, "sample 0 has the value inf as f32"),
                                 (self.path("none"), NotFoundError, "No such file"), (self.folder, InvalidArgumentError, "a directory")):
            with self.subTest(why), self.assertRaisesRegex(error, why) as raised:
                poprt.quantizer.quantize(converted, None, self.path("out"), data)
            self.assertNotIn("\n", str(raised.exception))
        self.assertFalse(os.path.exists(self.path("out")))

    def test_comparing_layers_is_a_function_and_a_pass(self):
        half = Converter(precision="fp16").convert(dense())
        for number, compare in enumerate((
                lambda out: poprt.passes.layer_precision_compare(origin_model_path=self.saved(dense()), converted_model=half,
                                                                 data_preprocess=self.data, output_dir=out),
                lambda out: poprt.get_pass("layer_precision_compare", origin_model=dense(), data_preprocess=self.data, options=None,
                                           output_dir=out)(half))):
            out = self.path(str(number))
            compare(out)
            with open(os.path.join(out, "precision_compare.log"), encoding="utf-8") as file:
                self.assertRegex(file.read(), r"(?m)^MatMul mm -> h\n  cosine_distance: ")

    def test_data_of_a_comparison_is_read_and_nothing_in_it_is_run(self):
        marker = self.path("ran")
        hostile = type("Hostile", (), {"__reduce__": lambda self: (os.mkdir, (marker,))})()
        np.savez(self.path("data.npz"), x=np.ones((4, 4), np.float32))
        poprt.passes.layer_precision_compare(dense(), dense(), self.path("data.npz"), output_dir=self.folder)
        for data, why in ((pickle.dumps({"x": hostile}), "mkdir', which is no array"), (b"", "Ran out of input"), (b"words", "no pickle"),
                          (pickle.dumps([1]), "expected a dict"), (pickle.dumps({"x": X})[:40], "no pickle of arrays"), (b"PK\3\4", "no pickle")):
            with open(self.path("bad"), "wb") as file:
                file.write(data)
            with self.subTest(why), self.assertRaisesRegex(InvalidArgumentError, why) as raised:
                poprt.passes.layer_precision_compare(dense(), dense(), self.path("bad"), output_dir=self.folder)
            self.assertNotIn("\n", str(raised.exception))
        self.assertFalse(os.path.exists(marker))


class Passes(InFolder):
    # Documented arguments of passes, in their order.
    ARGUMENTS = {"const_batch_size": ["const_batch_size"], "remove_outputs": ["outputs"], "add_checkpoints": ["names"],
                 "constant_folding": ["max_tensor_size"], "apply_host_concat_split": ["merged_inputs", "remap"],
                 "model_overview": ["use_print"], "model_io_info_stat": ["use_print"], "check_with_fake_data": ["origin_model"],
                 "auto_insert_remap": ["remap_mode"], "float_to_half": ["skip_op_types", "enable_avoid_overflow_patterns"],
                 "layer_precision_compare": ["origin_model", "data_preprocess", "options", "output_dir"]}

    def test_arguments_have_their_documented_names(self):
        known = poprt.get_registered_passes()
        for name, arguments in self.ARGUMENTS.items():
            self.assertEqual(list(inspect.signature(known[name]).parameters)[:len(arguments)], arguments, name)

    def test_documented_calls(self):
        get_pass, call = poprt.get_pass, lambda name, *args, **kwargs: poprt.get_pass(name, *args, **kwargs)(dense("N"))
        self.assertEqual(input_shape(call("const_batch_size")), [1, 4])
        self.assertEqual(input_shape(call("const_batch_size", const_batch_size=5)), [5, 4])
        self.assertEqual(input_shape(call("const_input_shape", {"x": [2, 4]})), [2, 4])
        self.assertEqual(input_shape(call("const_input_shape", {}, batch_size=3, batch_axis=0)), [3, 4])
        self.assertEqual(input_shape(call("const_input_shape", map={"x": [2, 4]}, batch_size=0, batch_axis=0)), [2, 4])
        with self.assertRaisesRegex(InvalidArgumentError, r"input 'x' has two shapes, \[2,4\] and \[3,4\]"):
            call("const_input_shape", {"x": [2, 4]}, map={"x": [3, 4]})
        self.assertEqual(ops(get_pass("serialize_matmul", {"mm": "3"}).run(dense())).count("MatMul"), 3)
        self.assertEqual(ops(get_pass("serialize_matmul_add", {"mm/bias": "3"}).run(dense())).count("Add"), 3)
        more = get_pass("add_checkpoints", ["h"]).run(dense())
        self.assertEqual([o.name for o in more.graph.output], ["y", "h"])
        self.assertEqual([o.name for o in get_pass("remove_outputs", outputs=["h"]).run(more).graph.output], ["y"])
        half = get_pass("float_to_half", skip_op_types=["Add"], enable_avoid_overflow_patterns=True).run(dense())
        self.assertIn("Cast", ops(half))

    def test_int8_weights_that_are_given(self):
        """A weight becomes (value - offset) * scale, and its earlier value has no effect."""
        value = RNG.integers(-128, 128, W.shape).astype(np.int8)
        offset, scale = np.float32(3), RNG.uniform(0.01, 0.02, (1, 3)).astype(np.float32)
        expected = X @ ((value.astype(np.float32) - offset) * scale) + B
        for given in ({"value": value, "offset": offset, "scale": scale}, (value, offset, scale)):
            made = poprt.get_pass("float_to_int8", int8_offset_scale={"w": given})(dense())
            self.assertIn(onnx.TensorProto.INT8, [t.data_type for t in made.graph.initializer])
            np.testing.assert_allclose(results(made)["y"], expected, rtol=1e-4, atol=1e-4)
        arrays = {"w.value": value, "w.offset": offset, "w.scale": scale}
        np.savez(self.path("w.npz"), **arrays)
        converted = Converter(used_passes=[poprt.get_pass("float_to_int8", self.path("w.npz"))]).convert(dense())
        np.testing.assert_allclose(results(converted)["y"], expected, rtol=1e-4, atol=1e-4)

    def test_int8_weights_that_are_wrong(self):
        value, scale = np.zeros(W.shape, np.int8), np.ones(3, np.float32)
        for given, why in (({"w": {"value": value, "scale": scale}}, "expected value, offset and scale of weight 'w'"),
                           ({"w": 3}, "expected value, offset and scale of weight 'w', found 3"),
                           ({"w": (value[:2], 0, scale)}, r"the value of 'w' is s8 \[2,3\], expected s8 \[4,3\]"),
                           ({"w": (W, 0, scale)}, r"the value of 'w' is f32 \[4,3\], expected s8"),
                           ({"w": (value, 0, np.ones(5))}, r"the scale of 'w' is f32 \[5\]"), (self.path("none.npz"), "none.npz")):
            with self.subTest(why), self.assertRaisesRegex(poprt.Error, why) as raised:
                poprt.get_pass("float_to_int8", int8_offset_scale=given)(dense())
            self.assertNotIn("\n", str(raised.exception))
        np.savez(self.path("w.npz"), w=value)
        with self.assertRaisesRegex(InvalidArgumentError, "expected arrays WEIGHT.value, WEIGHT.offset and WEIGHT.scale, found 'w'"):
            poprt.get_pass("float_to_int8", self.path("w.npz"))(dense())

    def test_nodes_of_converted_models_have_names_of_their_own(self):
        unnamed = dense()
        for n in unnamed.graph.node:
            n.name = ""
        unnamed.graph.node.append(node("Relu", ["h"], ["r"]))
        unnamed.graph.node.append(node("Relu", ["r"], ["z"], name="Relu_0"))
        unnamed.graph.output.append(onnx.helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, [2, 3]))
        names = [n.name for n in Converter().convert(unnamed).graph.node]
        self.assertEqual(len(set(names)), len(names))
        self.assertTrue(all(names), names)
        self.assertIn("MatMul_0", names)
        self.assertIn("", [n.name for n in Converter(skip_passes="unique_name_for_nodes").convert(unnamed).graph.node])

    def test_a_model_is_checked_against_another_in_memory_or_of_a_file(self):
        for origin in (dense(), self.saved(dense())):
            check = poprt.get_pass("check_with_fake_data", origin_model=origin)
            self.assertEqual(ops(check(dense())), ["MatMul", "Add"])
            self.assertLess(len(repr(check)), 200)
        other = dense()
        other.graph.initializer[0].raw_data = (W + 1).tobytes()
        with self.assertRaisesRegex(poprt.Error, "output 'y'"):
            poprt.get_pass("check_with_fake_data", origin_model=other)(dense())

    def test_passes_without_required_arguments_run_with_their_defaults(self):
        """Each documented pass runs, on a model that most do not change."""
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../data/poprt_passes.txt")
        with open(path, encoding="utf-8") as file:
            documented = [line.split()[0] for line in file if line.strip() and not line.startswith("#")]
        known = poprt.get_registered_passes()
        needs_more, ran = {"eight_bits_io", "manual_sharding"}, 0  # these need an input of images, and nodes to cut at
        for name in documented:
            parameters = getattr(getattr(known.get(name), "info", None), "parameters", None)
            if parameters is None or any(p["required"] for p in parameters) or name in needs_more:
                continue
            with self.subTest(name):
                made = poprt.get_pass(name)(dense())
                self.assertEqual([o.name for o in made.graph.output], ["y"])
                ran += 1
        self.assertGreater(ran, 85)

    def test_nodes_in_different_graphs_are_not_merged(self):
        """One product is outside of an If, one is in its branch, and both read x."""
        branch = {name: onnx.helper.make_graph([made], name, [], [onnx.helper.make_tensor_value_info(name, 1, [2, 3])])
                  for name, made in (("t", node("MatMul", ["x", "w"], ["t"], name="inner")), ("e", node("Neg", ["z"], ["e"])))}
        model = m.make([node("MatMul", ["x", "w"], ["a"], name="outer"), node("If", ["c"], ["i"], then_branch=branch["t"], else_branch=branch["e"]),
                        node("Add", ["a", "i"], ["y"])], {"x": [2, 4], "z": [2, 3], "c": ([], onnx.TensorProto.BOOL)}, {"y": [2, 3]}, {"w": W})
        for names in (["outer", "inner"], ["inner", "outer"]):
            with self.assertRaisesRegex(InvalidArgumentError, "different graphs"):
                poprt.get_pass("merge_matmul", names=names)(model)
            with self.assertRaisesRegex(InvalidArgumentError, "different graphs"):
                poprt.get_pass("merge_moe", names=[n for name in names for n in (name, name)])(model)

    def test_nothing_is_not_cut_into_pieces(self):
        with self.assertRaisesRegex(InvalidArgumentError, "the factor 3 does not divide dimension 0 of 'x', which has 0"):
            poprt.get_pass("serialize_matmul", matmuls={"mm": "3/input_channels"})(dense(0))

    def test_a_manager_takes_names_and_instances(self):
        manager = poprt.PassManager(used_passes=["eliminate_identity", poprt.get_pass("unique_name_for_nodes")], gather_ir_passes=True)
        manager.add_passes(["sort_graph"])
        manager.add_passes("eliminate_deadend", "eliminate_nop_cast")
        manager.sort_passes()
        self.assertEqual(sorted(manager.get_all_pass_names()),
                         ["eliminate_deadend", "eliminate_identity", "eliminate_nop_cast", "sort_graph", "unique_name_for_nodes"])
        self.assertEqual(len(manager.get_passes()), 5)
        self.assertEqual(ops(manager.run(dense())), ["MatMul", "Add"])

    def test_the_optimizer_takes_a_path_or_a_model(self):
        names = ["pre_scale", "fused_attention", "gelu_pattern", "erf_gelu_pattern"]
        for model in (self.saved(dense()), dense()):
            self.assertEqual(ops(poprt.optimizer.Optimizer(names).run(model)), ["MatMul", "Add"])

    def test_flops(self):
        self.assertEqual(poprt.profile.get_model_flops(dense(), verbose=False), 2 * 2 * 3 * 4 + 2 * 3)
        count = poprt.profile.Profiler().get_profiler("MatMul")
        self.assertEqual(count(dense().graph.node[0], [[2, 4], [4, 3]], [[2, 3]]), 2 * 2 * 3 * 4)


class CustomOperators(unittest.TestCase):
    def setUp(self):
        from poprt.passes import shape_inference

        @shape_inference.register_shape_func(["LeakyReluOfScripts"])
        class Shapes(shape_inference.ShapeFunc):
            def __call__(self, model, custom):
                dtype = poprt.passes.get_dtype(model.graph, custom.input[0])
                shape = poprt.passes.get_shape(model.graph, custom.input[0])
                if not dtype or not shape or 0 in shape:
                    return model, False
                return self.update_value_info(model, onnx.helper.make_tensor_value_info(custom.output[0], dtype, shape)), True

    @staticmethod
    def leaky(source, target):
        return node("LeakyReluOfScripts", [source], [target], domain="ai.graphcore", alpha=0.01)

    def test_a_model_of_one_custom_operator_is_converted(self):
        """The model of the demonstration has an 8x8 input, LeakyRelu and an output."""
        model = m.make([self.leaky("x", "y")], {"x": ["N", 8]}, {"y": ["N", 8]}, opset=11)
        for options, kind in (({}, onnx.TensorProto.FLOAT), ({"precision": "fp16"}, onnx.TensorProto.FLOAT16)):
            with self.subTest(options=options):
                made = Converter(input_shape={"x": [8, 8]}, **options).convert(model)
                self.assertEqual([(n.op_type, n.domain, list(n.input), list(n.output)) for n in made.graph.node],
                                 [("LeakyReluOfScripts", "ai.graphcore", ["x"], ["y"])])
                self.assertEqual([(v.name, v.type.tensor_type.elem_type) for v in [*made.graph.input, *made.graph.output]],
                                 [("x", kind), ("y", kind)])
                self.assertEqual(input_shape(made), [8, 8])

    def test_custom_operators_in_a_chain_and_with_others(self):
        model = m.make([self.leaky("x", "p"), self.leaky("p", "q"), node("Relu", ["x"], ["r"]), node("Add", ["q", "r"], ["y"])],
                       {"x": [8, 8]}, {"y": [8, 8]}, opset=11)
        made = Converter(precision="fp16").convert(model)
        self.assertEqual(sorted(ops(made)), ["Add", "LeakyReluOfScripts", "LeakyReluOfScripts", "Relu"])
        self.assertEqual(sorted(ops(Converter(input_shape={}).convert(m.make(
            [self.leaky("x", "p"), self.leaky("p", "y")], {"x": [8, 8]}, {"y": [8, 8]}, opset=11)))), ["LeakyReluOfScripts"] * 2)


class BackEnds(InFolder):
    def test_a_back_end_with_every_documented_argument(self):
        with Backend(self.saved(dense()), export_popef=self.path("b.popef"), compiler_options=CompilerOptions(),
                     runtime_options=runtime.RuntimeConfig(), align_output_dtype=True, logger=logging.getLogger("poprt")) as backend:
            np.testing.assert_allclose(backend.run(output_names=["y"], inputs={"x": X}, align_output_dtype=True)[0], Y, atol=1e-5)
            self.assertEqual(backend.get_io_info(), ({"x": ([2, 4], np.float32)}, {"y": ([2, 3], np.float32)}))
        self.assertTrue(os.path.exists(self.path("b.popef")))

    def test_export_popef_may_be_a_flag(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        Backend(dense().SerializeToString(), export_popef=False).close()
        self.assertEqual(os.listdir(), [])
        Backend(dense().SerializeToString(), export_popef=True).close()
        self.assertEqual(os.listdir(), ["executable.popef"])

    def test_lists_are_taken_where_arrays_are(self):
        np.testing.assert_allclose(Backend(dense()).run(["y"], {"x": X.tolist()})[0], Y, atol=1e-5)

    def test_one_output_may_be_given_by_its_name(self):
        backend = Backend(m.make([node("Neg", ["x"], ["scores"]), node("Abs", ["x"], ["other"])], {"x": [2]}, {"scores": [2], "other": [2]}))
        np.testing.assert_array_equal(backend.run("scores", {"x": np.array([1, 2], np.float32)}), [[-1, -2]])

    def test_a_program_for_onnxruntime(self):
        """Only the import changes, to poprt.backends. The model is loaded immediately or at the first call."""
        for lazy in (False, True):
            session = ORTBackend(self.saved(dense()), sess_options=None, providers=["CPUExecutionProvider"], provider_options=None,
                                 lazy_load=lazy)
            self.assertEqual("not loaded" in repr(session), lazy)
            given, = session.get_inputs()
            self.assertEqual((given.name, given.type, given.shape), ("x", "tensor(float)", [2, 4]))
            self.assertEqual([o.name for o in session.get_outputs()], ["y"])
            for names in (None, ["y"]):
                np.testing.assert_allclose(session.run(names, {"x": X}, run_options=None)[0], Y, atol=1e-5)
            session.close()
        self.assertEqual(repr(ORTBackend(dense(), lazy_load=True)), "<ORTBackend, not loaded>")

    def test_a_lazy_back_end_that_cannot_load_fails_each_time(self):
        session = ORTBackend(self.path("none.onnx"), lazy_load=True)
        for _ in range(2):
            with self.assertRaises(FileNotFoundError):
                session.run(None, {"x": X})
        with self.assertRaisesRegex(AttributeError, "nothing"):
            session.nothing  # noqa: B018
        session.close()

    def test_types_are_named_as_onnxruntime_names_them(self):
        model = m.make([node("Cast", ["i"], ["y"], to=10)], {"i": ([2], m.INT64)}, {"y": ([2], m.FLOAT16)})
        session = ORTBackend(model)
        self.assertEqual([v.type for v in session.get_inputs() + session.get_outputs()], ["tensor(int64)", "tensor(float16)"])

    def test_a_session_makes_its_output_folder(self):
        session = get_session(self.saved(dense()), 1, "poprt", output_dir=self.path("new/deep"), options={"num_io_tiles": 32},
                              batches_per_step=2, export_popef=True, align_output_dtype=True)
        self.assertIs(session.load(), session)
        np.testing.assert_allclose(session.run(["y"], {"x": X})[0], Y, atol=1e-5)
        self.assertEqual(os.listdir(self.path("new/deep")), ["executable.popef"])

    def test_programs_feed_32_bit_integers(self):
        model = m.make([node("Gather", ["w", "i"], ["y"])], {"i": ([3], m.INT64)}, {"y": [3, 3]}, {"w": W}, opset=11)
        session = get_session(Converter().convert(model)).load()
        self.assertEqual(session.get_io_info()[0], {"i": ([3], np.int32)})
        for kind in (np.int32, np.int64):
            np.testing.assert_array_equal(session.run(["y"], {"i": np.array([3, 0, 1], kind)})[0], W[[3, 0, 1]])


class FrontEnds(InFolder):
    def test_files_and_folders(self):
        self.saved(dense())
        for path in (self.path("model.onnx"), self.folder):
            self.assertEqual(get_frontend(path, framework="onnx").load_model(), dense())

    def test_refuses_invalid_models_with_one_line(self):
        for data, why in ((b"hello world\n", "no ONNX model"), (b"", "there is no graph"), (b"\x08\x08", "there is no graph"),
                          (dense().SerializeToString()[:-7], "no ONNX model"), (b"\xff" * 100, "no ONNX model")):
            with open(self.path("m.onnx"), "wb") as file:
                file.write(data)
            loads = [lambda: OnnxFrontend(self.path("m.onnx")).load_model(), lambda: poprt.optimizer.Optimizer([]).run(self.path("m.onnx"))]
            if data:
                loads.append(lambda: poprt.optimizer.Optimizer([]).run(data))
            for load in loads:
                with self.subTest(data=data[:12]), self.assertRaisesRegex(InvalidArgumentError, why) as raised:
                    load()
                self.assertNotIn("\n", str(raised.exception))
        with self.assertRaises(FileNotFoundError):
            OnnxFrontend(self.path("none.onnx")).load_model()


class Utilities(unittest.TestCase):
    def test_names_that_tools_import(self):
        from poprt._argparse import PopHelpFormatter
        self.assertEqual(poprt._names.sHostConcatRunnerConfig, "HostConcatRunnerConfig")
        self.assertTrue(issubclass(PopHelpFormatter, __import__("argparse").HelpFormatter))

    def test_input_info_is_two_dictionaries(self):
        self.assertEqual(poprt.utils.get_input_info_from_model_proto(dense()), ({"x": [2, 4]}, {"x": np.float32}))


if __name__ == "__main__":
    unittest.main()
