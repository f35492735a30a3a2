"""Forms that the manual of PopRT 1.5 prints, written as it prints them: full paths of names, every argument by its name. The effects of the
calls are tested in user_scripts_onnx_test.py and passes_onnx_test.py; tests/SNIPPETS.md lists the test of each form."""

import os
import pickle
import tempfile
import unittest

import numpy as np
import onnx
import onnx_models as m
import poprt
from onnx_models import node
from poprt.compiler import Compiler, CompilerOptions, Executable
from poprt.passes import Pass, ShapeFunc, get_dtype, get_shape, register_shape_func

W = np.random.default_rng(8).standard_normal((4, 4)).astype(np.float32)
X = np.random.default_rng(9).standard_normal((2, 4)).astype(np.float32)


def chain():
    """y = relu(x W) W; nodes "first", "relu" and "second"."""
    nodes = [node("MatMul", ["x", "w"], ["h"], name="first"), node("Relu", ["h"], ["r"], name="relu"),
             node("MatMul", ["r", "w"], ["y"], name="second")]
    return m.make(nodes, {"x": [2, 4]}, {"y": [2, 4]}, {"w": W})


class PrintedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.onnx_file = os.path.join(self.folder, "model.onnx")
        onnx.save(chain(), self.onnx_file)

    def assertComputes(self, model):
        """Asserts that the compiled model computes relu(X @ W) @ W."""
        with poprt.runtime.Runner(Compiler.compile(model, None, CompilerOptions())) as runner:
            found = runner.run({"x": X})["y"]
        np.testing.assert_allclose(found, np.maximum(X @ W, 0) @ W, rtol=1e-5, atol=1e-5)


class ConverterObjects(PrintedTest):
    def test_models_are_fused(self):
        models = [poprt.converter.Converter().convert(chain()), poprt.converter.Converter().convert(chain())]
        fused = poprt.converter.MFConverter().convert(models)
        self.assertEqual([i.name for i in fused.graph.input], ["graph0/x", "graph1/x", "index"])
        self.assertTrue(Compiler.compile(fused, outputs=None, options=CompilerOptions()).get_outputs())

    def test_a_model_is_sharded(self):
        sharding_info, pipelining_info = {"first": 0, "relu": 1}, {"first": 0, "relu": 1}
        for call in (lambda model: poprt.converter.Sharder(sharding_info, pipelining_info).run(model),
                     lambda model: poprt.converter.Sharder(sharding_info=sharding_info, pipelining_info=pipelining_info).run(model)):
            found = {n.name: {a.name: a.i for a in n.attribute} for n in call(chain()).graph.node}
            self.assertEqual([found[n]["__ipu_number"] for n in ("first", "relu", "second")], [0, 1, 2])
            self.assertEqual([found[n]["__pipeline_stage"] for n in ("first", "relu", "second")], [0, 1, 2])

    def test_the_optimizer(self):
        for path_or_model in (self.onnx_file, chain()):
            self.assertComputes(poprt.optimizer.Optimizer(["pre_scale", "gelu_pattern"]).run(path_or_model))


class Fp8(PrintedTest):
    def test_the_quantizer_by_its_arguments(self):
        onnx_model = poprt.Converter(precision="fp8", quantize=True).convert(onnx.load(self.onnx_file))
        made = poprt.quantizer.quantize(onnx_model=onnx_model, input_model=self.onnx_file, output_dir=self.folder, data_preprocess={"x": X},
                                        precision="fp8", quantize_loss_type="kld", num_of_layers_keep_fp16=0, options=None)
        by_class = poprt.quantizer.FP8Quantizer(output_dir=self.folder, loss_type="kld", data_preprocess={"x": X}, precision="fp8",
                                                num_of_layers_keep_fp16=0, options=None).quantize(onnx_model)
        for model in (made, by_class):
            self.assertEqual([n.op_type for n in model.graph.node].count("FP8MatMul"), 2)

    def test_layers_are_compared(self):
        converted = poprt.Converter(precision="fp8").convert(chain())
        pickled = os.path.join(self.folder, "data.pickle")
        with open(pickled, "wb") as file:
            pickle.dump({"x": X}, file)
        poprt.passes.layer_precision_compare(origin_model_path=self.onnx_file, converted_model=converted, data_preprocess=pickled,
                                             output_dir=self.folder)
        self.assertIn("precision_compare.log", os.listdir(self.folder))

    def test_floats_become_bytes(self):
        array, scale = np.array([1.0, -0.5, 240.0], np.float32), -1
        found = poprt.utils.convert_float_to_uint8(array, "F143", scale)
        # Codes of 2, of -1, and of the largest number instead of 480; with bias 8, 1.0 is 0x40.
        self.assertEqual(found.tolist(), [0x48, 0xC0, 0x7F])


class FrontEnds(PrintedTest):
    def test_onnx(self):
        self.assertEqual(poprt.frontend.OnnxFrontend(path=self.folder).load_model(), chain())
        self.assertEqual(poprt.frontend.OnnxFrontend.get_onnx_name(dir_or_name=self.folder), self.onnx_file)
        self.assertEqual(poprt.frontend.get_frontend(path=self.onnx_file, framework="onnx").load_model(), chain())

    def test_tensorflow(self):
        made = poprt.frontend.TensorflowFrontend(self.folder, saved_model=True, signature_def="", tag="", opset=11, inputs_as_nchw=None,
                                                 outputs_as_nchw=None, inputs=None, input_shape={}, outputs=None)
        self.assertIsInstance(poprt.frontend.get_frontend(self.folder, framework="tensorflow", opset=13), type(made))
        self.assertEqual(made.split_nodename_and_shape("x:0[1,2]"), (["x:0"], {"x:0": [1, 2]}))


class PassClass(PrintedTest):
    def test_every_decorator_and_traverse_graph(self):
        seen = []

        @Pass.register_pass("printed_pass")
        @Pass.property_register("type", "printed")
        @Pass.against_passes(["gelu_pattern"])
        @Pass.constraint_passes("depend", ["eliminate_identity"])
        @Pass.constraint_passes(kind="before", passes=["sort_graph"])
        class Printed(Pass):
            def transform(self, graph, is_main):
                seen.append(is_main)
                return graph

            def run(self, onnx_model):
                onnx_model.graph.CopyFrom(self.traverse_graph(graph=onnx_model.graph, transform=self.transform, is_main_graph=True))
                return onnx_model

        self.assertComputes(Pass.get_pass("printed_pass")(chain()))
        self.assertEqual(seen, [True])
        self.assertIs(Pass.get_registered_passes()["printed_pass"], Printed)
        self.assertEqual(list(Pass.get_typed_registered_passes("printed")), ["printed_pass"])
        manager = poprt.PassManager(used_passes=["sort_graph", "printed_pass", "eliminate_identity"], gather_ir_passes=False)
        self.assertEqual([p.name for p in manager.sort_passes()], ["eliminate_identity", "printed_pass", "sort_graph"])

        @Pass.override_register_pass("printed_pass")
        class Other(Pass):
            def run(self, onnx_model):
                return onnx_model

        self.assertIs(poprt.get_registered_passes()["printed_pass"], Other)

        @poprt.passes.register("printed_pass_too")
        class Third(Other):
            pass

        self.assertIs(poprt.get_pass("printed_pass_too").__class__, Third)

    def test_ir_passes_are_called(self):
        self.assertComputes(poprt.passes.apply_ir_pass.ApplyIrPass(["eliminate_identity", "eliminate_nop_cast"])(chain()))

    def test_patterns(self):
        patterns = ["s:0->MatMul:1->Relu:2->e:3"]
        found = poprt.passes.pattern_helper.PatternMatcher(patterns).next_pattern(chain().graph)
        self.assertEqual({key: (found[key][0].name, found[key][1]) for key in "12"}, {"1": ("first", 0), "2": ("relu", 1)})

    def test_shapes_of_a_custom_operator(self):
        @register_shape_func(["PrintedOp"])
        class Shapes(ShapeFunc):
            def __call__(self, model, node):
                shape = get_shape(model.graph, node.input[0])
                if shape is None:
                    return model, False
                info = onnx.helper.make_tensor_value_info(node.output[0], get_dtype(model.graph, node.input[0]), shape)
                return self.update_value_info(model, info), True

        model = m.make([node("PrintedOp", ["x"], ["h"], domain="ai.graphcore"), node("Relu", ["h"], ["y"])], {"x": [2, 4]}, {"y": [2, 4]},
                       domains=["ai.graphcore"])
        self.assertEqual(get_shape(poprt.passes.shape_inference.infer_shapes(model).graph, "h"), [2, 4])


class CompilerForms(PrintedTest):
    def test_options(self):
        options = CompilerOptions()
        options.custom_patterns = ["PadConvChannel", "InPlace:0"]
        options.constant_weights = False
        self.assertEqual(CompilerOptions.from_dict({"custom_patterns": ["PadConvChannel", "InPlace:0"], "constant_weights": False}), options)
        self.assertEqual([d.name for d in Compiler.compile(chain(), ["y"], options).get_outputs()], ["y"])

    def test_an_executable_of_a_path(self):
        path = os.path.join(self.folder, "executable.popef")
        Compiler.compile_and_export(model=chain(), outputs=["y"], filename=path, options=CompilerOptions())
        self.assertEqual([d.name for d in Executable(path).get_inputs()], ["x"])
        self.assertIn("x", Compiler.compile_and_get_summary_report(chain(), ["y"], CompilerOptions(), reset_profile=True))

    def test_errors_name_the_argument_that_is_not_a_path(self):
        executable = Compiler.compile(chain())
        for name, call in (("filename", lambda: Compiler.compile_and_export(chain(), ["y"], None)),
                           ("filename", lambda: Compiler.compile_and_export(self.onnx_file, ["y"], 3)), ("path", lambda: executable.save(None)),
                           ("variables_path", lambda: executable.save(self.folder + "/a", 3)), ("path", lambda: poprt.frontend.OnnxFrontend(None)),
                           ("dir_or_name", lambda: poprt.frontend.OnnxFrontend.get_onnx_name(None)),
                           ("output_dir", lambda: poprt.quantizer.quantize(chain(), None, None, {"x": X})),
                           ("export_popef", lambda: poprt.Backend(chain(), export_popef=3.0)), ("path", lambda: poprt.dump_popef(None)),
                           ("path", lambda: Executable.load(None)), ("out", lambda: Compiler.convert(self.onnx_file, None))):
            with self.subTest(name), self.assertRaisesRegex(TypeError, f"^{name}: expected a path, found"):
                call()
        for why, call in (("outputs: expected names, found 3", lambda: Compiler.compile(chain(), 3)),
                          ("expected a list of onnx.ModelProto, found None", lambda: poprt.converter.MFConverter().convert(None)),
                          ("inputs: expected a dict of name to array, found None", lambda: poprt.Backend(chain()).run(None, None)),
                          ("get_input_info_from_model_proto: expected an onnx.ModelProto", lambda: poprt.utils.get_input_info_from_model_proto(None)),
                          ("PatternMatcher: expected a list of chains, found None", lambda: poprt.passes.pattern_helper.PatternMatcher(None)),
                          ("register_shape_func: expected types of operators, found 3", lambda: register_shape_func(3))):
            with self.subTest(why), self.assertRaisesRegex(TypeError, why):
                call()


class Profile(PrintedTest):
    def test_flops(self):
        model, verbose = chain(), False
        self.assertEqual(poprt.profile.get_model_flops(model, verbose), 2 * (2 * 2 * 4 * 4) + 2 * 4)
        op_type, in_shapes, out_shapes = "MatMul", [[2, 4], [4, 4]], [[2, 4]]
        self.assertEqual(poprt.profile.Profiler().get_profiler(op_type)(model.graph.node[0], in_shapes, out_shapes), 2 * 2 * 4 * 4)


if __name__ == "__main__":
    unittest.main()
