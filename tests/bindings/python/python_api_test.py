"""PopRT's documented names in Python: their modules, arguments and defaults. The tests do not need the onnx package."""

import importlib
import inspect
import subprocess
import sys
import unittest

import poprt

NOTHING = inspect.Parameter.empty

# Module, name in it, {argument: default}; None instead of arguments: the name exists, and is no function.
DOCUMENTED = [
    ("poprt", "Pass", {}), ("poprt", "PassManager", {"used_passes": (), "gather_ir_passes": False}),
    ("poprt", "get_pass", {"name": NOTHING, "args": NOTHING, "kwargs": NOTHING}), ("poprt", "get_registered_passes", {}),
    ("poprt", "Backend", None), ("poprt", "Converter", None), ("poprt", "Compiler", None), ("poprt.converter", "Converter", None),
    ("poprt.compiler", "Compiler", None), ("poprt.compiler", "CompilerOptions", None), ("poprt.compiler", "Executable", None),
    ("poprt.passes", "Pass", None), ("poprt.passes", "register", {"name": NOTHING}), ("poprt.passes", "ShapeFunc", {}),
    ("poprt.passes", "register_shape_func", {"op_types": NOTHING}), ("poprt.passes", "get_dtype", {"graph": NOTHING, "name": NOTHING}),
    ("poprt.passes", "get_shape", {"graph": NOTHING, "name": NOTHING}),
    ("poprt.passes", "layer_precision_compare", {"origin_model_path": NOTHING, "converted_model": NOTHING, "data_preprocess": None,
                                                 "options": None, "output_dir": "./"}),
    ("poprt.passes.base_pass", "ImmutablePass", {}), ("poprt.passes.base_pass", "get_all_named_subclasses", {"cls": NOTHING}),
    ("poprt.passes.apply_ir_pass", "ApplyIrPass", {"passes": ()}),
    ("poprt.passes.remove_duplicated_initializer", "RemoveDuplicatedInitializer", {}),
    ("poprt.passes.onnx_helper", "topological_sort", {"graph": NOTHING}), ("poprt.passes.onnx_helper", "clean_info", {"model": NOTHING}),
    ("poprt.passes.onnx_helper", "get_dtype", {"graph": NOTHING, "name": NOTHING}),
    ("poprt.passes.onnx_helper", "get_shape", {"graph": NOTHING, "name": NOTHING}),
    ("poprt.passes.onnx_helper", "get_constant", {"graph": NOTHING, "name": NOTHING}),
    ("poprt.passes.pattern_helper", "PatternMatcher", {"pattern": NOTHING}),
    ("poprt.passes.pattern_helper", "PatternMatcher.next_pattern", {"self": NOTHING, "graph": NOTHING}),
    ("poprt.passes.shape_inference", "infer_shapes", {"model": NOTHING}), ("poprt.passes.shape_inference", "ShapeFunc", {}),
    ("poprt.passes.shape_inference", "register_shape_func", {"op_types": NOTHING}),
    ("poprt.passes.shape_inference", "update_value_info", {"model": NOTHING, "value_info": NOTHING}),
    ("poprt.passes.shape_inference", "ShapeInference", {}), ("poprt.passes.shape_inference", "register", {"op_types": NOTHING}),
    ("poprt.passes", "Pass.run", {"self": NOTHING, "onnx_model": NOTHING}),
    ("poprt.passes", "Pass.__call__", {"self": NOTHING, "model": NOTHING}),
    ("poprt.passes", "Pass.traverse_graph", {"self": NOTHING, "graph": NOTHING, "transform": NOTHING, "is_main_graph": True}),
    ("poprt.passes", "Pass.get_pass", {"name": NOTHING, "args": NOTHING, "kwargs": NOTHING}),
    ("poprt.passes", "Pass.get_registered_passes", {}), ("poprt.passes", "Pass.get_typed_registered_passes", {"type": NOTHING}),
    ("poprt.passes", "Pass.register_pass", {"name": NOTHING}), ("poprt.passes", "Pass.override_register_pass", {"name": NOTHING}),
    ("poprt.passes", "Pass.property_register", {"k": NOTHING, "v": NOTHING}),
    ("poprt.passes", "Pass.against_passes", {"passes": NOTHING}),
    ("poprt.passes", "Pass.constraint_passes", {"kind": NOTHING, "passes": NOTHING}),
    ("poprt.passes", "PassManager.add_passes", {"self": NOTHING, "passes": NOTHING}),
    ("poprt.passes", "PassManager.get_passes", {"self": NOTHING}), ("poprt.passes", "PassManager.sort_passes", {"self": NOTHING}),
    ("poprt.passes", "PassManager.get_all_pass_names", {"self": NOTHING}),
    ("poprt.passes", "PassManager.run", {"self": NOTHING, "model": NOTHING}),
    ("poprt.optimizer", "Optimizer", {"passes": NOTHING}), ("poprt.optimizer", "Optimizer.run", {"self": NOTHING, "model": NOTHING}),
    ("poprt.profile", "get_model_flops", {"model": NOTHING, "verbose": False}), ("poprt.profile", "Profiler", {}),
    ("poprt.profile", "Profiler.get_profiler", {"self": NOTHING, "op_type": NOTHING}),
    ("poprt.backend", "get_session", {"model": NOTHING, "num_ipus": 1, "backend": "poprt", "output_dir": None, "options": None,
                                      "batches_per_step": 1, "export_popef": False, "align_output_dtype": False}),
    ("poprt.backends", "get_session", None),
    ("poprt.backends", "Backend", {"path_or_bytes": NOTHING, "export_popef": None, "compiler_options": None, "runtime_options": None,
                                   "align_output_dtype": False, "logger": None}),
    ("poprt.backends", "Backend.run", {"self": NOTHING, "output_names": NOTHING, "inputs": NOTHING, "align_output_dtype": False}),
    ("poprt.backends", "Backend.get_io_info", {"self": NOTHING}),
    ("poprt.backends", "ORTBackend", {"path_or_bytes": NOTHING, "sess_options": None, "providers": None, "provider_options": None,
                                      "lazy_load": False, "options": NOTHING}),
    ("poprt.backends", "ORTBackend.run", {"self": NOTHING, "output_names": NOTHING, "input_feed": NOTHING, "run_options": None}),
    ("poprt.frontend", "OnnxFrontend", {"path": NOTHING, "kwargs": NOTHING}), ("poprt.frontend", "OnnxFrontend.load_model", {"self": NOTHING}),
    ("poprt.frontend", "OnnxFrontend.get_onnx_name", {"dir_or_name": NOTHING}),
    ("poprt.frontend", "TensorflowFrontend", {
        "path": NOTHING, "saved_model": True, "signature_def": "", "tag": "", "opset": 11, "inputs_as_nchw": None,
        "outputs_as_nchw": None, "inputs": None, "input_shape": {}, "outputs": None}),
    ("poprt.frontend", "TensorflowFrontend.load_model", {"self": NOTHING}),
    ("poprt.frontend", "TensorflowFrontend.get_inputs_meta", {"graph": NOTHING}),
    ("poprt.frontend", "TensorflowFrontend.get_outputs_meta", {"graph": NOTHING}),
    ("poprt.frontend", "TensorflowFrontend.split_nodename_and_shape", {"name": NOTHING}),
    ("poprt.frontend", "get_frontend", {"path": NOTHING, "framework": "onnx", "kwargs": NOTHING}),
    ("poprt.utils", "get_logger", {"name": "poprt", "level": None}), ("poprt.utils", "LazyImport", {"name": NOTHING}),
    ("poprt.utils", "onnx_tensor_dtype_to_np_dtype", {"tensor_dtype": NOTHING}),
    ("poprt.utils", "get_input_info_from_model_proto", {"model_proto": NOTHING}),
    ("poprt.utils", "convert_float_to_uint8", {"values": NOTHING, "format": "F143", "scale": 0}),
    ("poprt.quantizer", "quantize", {
        "onnx_model": NOTHING, "input_model": NOTHING, "output_dir": NOTHING, "data_preprocess": None, "precision": "fp8",
        "quantize_loss_type": "kld", "num_of_layers_keep_fp16": 0, "options": None}),
    ("poprt.quantizer", "FP8Quantizer", {"output_dir": "./", "loss_type": "kld", "data_preprocess": None, "precision": "fp8",
                                         "num_of_layers_keep_fp16": 0, "options": None}), ("poprt.quantizer", "SimpleQuantizer", None),
    ("poprt.converter", "Converter.convert", {"self": NOTHING, "model": NOTHING}),
    ("poprt.converter", "MFConverter.convert", {"self": NOTHING, "models": NOTHING}),
    ("poprt.compiler", "Compiler.compile", {"model": NOTHING, "outputs": None, "options": None}),
    ("poprt.compiler", "Compiler.compile_and_export", {"model": NOTHING, "outputs": NOTHING, "filename": NOTHING, "options": None}),
    ("poprt.compiler", "Compiler.compile_and_get_summary_report", {"model": NOTHING, "outputs": None, "options": None,
                                                                   "reset_profile": True}),
    ("poprt.compiler", "CompilerOptions.from_dict", {"values": NOTHING}),
    ("poprt.runtime", "Runner.execute", {"self": NOTHING, "input": NOTHING, "output": NOTHING, "replica": None, "options": None}),
    ("poprt.runtime", "Runner.execute_async", {"self": NOTHING, "input": NOTHING, "output": NOTHING, "begin_within": None,
                                                "replica": None, "options": None}),
    ("poprt.runtime", "Runner.executeAsync", {"self": NOTHING, "input": NOTHING, "output": NOTHING}),
    *(("poprt.runtime", f"Runner.{name}", {"self": NOTHING}) for name in (
        "get_execute_inputs", "get_execute_outputs", "get_model_inputs", "get_model_outputs")),
    ("poprt.runtime", "DeviceManager.get_device", {"self": NOTHING, "num_ipus": 1}),
    ("poprt.runtime", "DeviceManager.get_specific_device", {"self": NOTHING, "device_id": NOTHING}),
    ("poprt.runtime", "DeviceManager.get_num_devices", {"self": NOTHING}),
    ("poprt.runtime", "DeviceManager.ipu_hardware_version", {"self": NOTHING}),
    ("poprt.runtime", "LightRunner.set_input_anchor", {"self": NOTHING, "name": NOTHING, "array": NOTHING}),
    *(("poprt.runtime", f"LightRunner.{name}", {"self": NOTHING}) for name in ("update_weights", "stop", "reload", "get_model_inputs")),
    *(("poprt.runtime", name, None) for name in (
        "RuntimeConfig", "LightRunnerConfig", "HostConcatRunnerConfig", "HostConcatConfig", "RunnerType", "PackAlgorithm", "DataDesc",
        "ModelRunner", "ReplicaIdToDevice", "InputMemoryView", "OutputMemoryView", "DeviceWaitConfig")),
    ("poprt._argparse", "PopHelpFormatter", None), ("poprt._argparse", "argparse", None),
    ("poprt._names", "sHostConcatRunnerConfig", None), ("poprt.runtime", "AnyConfig", None),
]


class Names(unittest.TestCase):
    def test_documented_names_take_the_documented_arguments(self):
        for module, name, arguments in DOCUMENTED:
            with self.subTest(f"{module}.{name}"):
                found = importlib.import_module(module)
                for part in name.split("."):
                    found = getattr(found, part)
                if arguments is not None:
                    parameters = inspect.signature(found).parameters
                    self.assertEqual({n: p.default for n, p in parameters.items()}, arguments)
        self.assertGreater(len(DOCUMENTED), 70)

    def test_keyword_arguments(self):
        for function in (poprt.backends.Backend, poprt.frontend.TensorflowFrontend):
            first, *rest = inspect.signature(function).parameters.values()
            self.assertIs(first.kind, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            self.assertEqual({p.kind for p in rest}, {inspect.Parameter.KEYWORD_ONLY})

    def test_same_things_under_several_names(self):
        self.assertIs(poprt.Pass, poprt.passes.Pass)
        self.assertIs(poprt.get_pass, poprt.passes.Pass.get_pass)
        self.assertIs(poprt.backends.get_session, poprt.backend.get_session)
        self.assertIs(poprt.Backend, poprt.backends.Backend)

    def test_all_105_documented_passes_are_registered(self):
        import os
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../data/poprt_passes.txt")
        with open(path, encoding="utf-8") as file:
            documented = [line.split()[0] for line in file if line.strip() and not line.startswith("#")]
        self.assertEqual(len(documented), 105)
        known = poprt.get_registered_passes()
        self.assertEqual({name for name in documented if name not in known}, set())

    def test_the_package_comes_without_onnx(self):
        program = ("import sys\nsys.modules['onnx'] = None\nimport poprt\nassert 'eliminate_identity' in poprt.get_registered_passes()\n"
                   "class P(poprt.Pass):\n    name = 'p'\nassert poprt.get_registered_passes()['p'] is P\n"
                   "try:\n    poprt.optimizer.Optimizer([]).run(b'')\nexcept ImportError as error:\n    print(error)\n")
        done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
        self.assertIn("Optimizer.run needs Python's package onnx", done.stdout)

    def test_lazy_import(self):
        json = poprt.utils.LazyImport("json")
        self.assertEqual(json.dumps([1]), "[1]")


if __name__ == "__main__":
    unittest.main()
