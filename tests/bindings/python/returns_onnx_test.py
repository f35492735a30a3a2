"""Return types of PopRT's documented functions: the types that the manual and published programs name, those that the package declares,
and those of the returned values. All three are in one table; python_api_test.py has a table of arguments."""

import collections.abc
import importlib
import inspect
import logging
import os
import pickle
import sys
import tempfile
import types
import typing
import unittest
from unittest import mock

import numpy as np
import onnx
import onnx_models as m
import poprt
import python_api_test
from onnx_models import node
from poprt import runtime
from poprt.passes import Pass

X = np.arange(6, dtype=np.float32).reshape(2, 3)
DICT_OF_INFO = "dict[str, tuple[list[int], np.dtype[Any]]]"
DECORATOR = "Callable[[_Class], _Class]"


def conv_model():
    """Returns a model of one product: a node with FLOPs, an 8-bit format and numbers to compare."""
    weights = np.random.default_rng(4).standard_normal((3, 3)).astype(np.float32)
    return m.make([node("MatMul", ["x", "w"], ["y"], name="mm")], {"x": [2, 3]}, {"y": [2, 3]}, {"w": weights})


class Calls:
    """Calls functions as the manual does, on small models in a separate folder."""

    def __init__(self, folder):
        self.folder, self.model = folder, conv_model()
        self.file = os.path.join(folder, "m.onnx")
        onnx.save(self.model, self.file)
        self.data = {"x": np.stack([X] * 2)}
        self.pickle = os.path.join(folder, "data.pickle")
        with open(self.pickle, "wb") as file:
            pickle.dump({"x": X}, file)
        self.popef = os.path.join(folder, "m.popef")
        poprt.Compiler.compile_and_export(self.model, ["y"], self.popef)
        self.graph = types.SimpleNamespace(get_operations=lambda: [types.SimpleNamespace(type="Placeholder", outputs=[
            types.SimpleNamespace(name="x:0", dtype=types.SimpleNamespace(as_numpy_dtype=np.float32), consumers=lambda: [],
                                  shape=types.SimpleNamespace(rank=1, as_list=lambda: [None]))])])

    def output(self):
        return {"y": np.zeros((2, 3), np.float32)}

    def runner(self):
        return runtime.Runner(self.popef)

    def light(self):
        executable = poprt.Compiler.compile(self.model, ["y"], poprt.CompilerOptions(constant_weights=False))
        return runtime.LightRunner(executable, runtime.LightRunnerConfig())

    def decorated(self, decorator, base=Pass):
        """Returns the class that the decorator returns."""
        class Made(base):
            def run(self, onnx_model):
                return onnx_model
        made = decorator(Made)
        if made is not Made:
            raise AssertionError(f"{decorator} gave {made}")
        return made

    def saved_model(self):
        """Makes a SavedModel and a replacement for tf2onnx."""
        package, saved = os.path.join(self.folder, "tf2onnx"), os.path.join(self.folder, "saved")
        os.mkdir(package), os.mkdir(saved)
        for name, text in (("__init__.py", ""), ("convert.py", f"import shutil, sys\nshutil.copy({self.file!r}, sys.argv[sys.argv.index('--output') + 1])\n")):
            with open(os.path.join(package, name), "w") as file:
                file.write(text)
        paths = os.pathsep.join([self.folder, os.environ.get("PYTHONPATH", "")])
        with mock.patch.object(sys, "path", [self.folder, *sys.path]), mock.patch.dict(os.environ, {"PYTHONPATH": paths}):
            return poprt.frontend.TensorflowFrontend(saved).load_model()

    def session(self):
        return poprt.backend.get_session(self.model, 1, "poprt").load()

    def converted(self, precision="fp8"):
        return poprt.Converter(precision=precision, quantize=True).convert(self.model)


def instance(name, method, *arguments):
    """A call of a registered pass's method."""
    return lambda c: getattr(poprt.get_pass(name), method)(*(a(c) for a in arguments))


def model(c):
    return c.model


def graph(c):
    return c.model.graph


# Name -> (the type as the package declares it, the description of the manual as a check of the value, a call).
RETURNS = {
    "poprt.get_pass": ("Pass", lambda v: v.name == "eliminate_identity", lambda c: poprt.get_pass("eliminate_identity")),
    "poprt.get_registered_passes": ("dict[str, type[Pass]]", lambda v: "sort_graph" in v, lambda c: poprt.get_registered_passes()),
    "poprt.passes.register": (DECORATOR, lambda v: issubclass(v, Pass), lambda c: c.decorated(poprt.passes.register("returns_a"))),
    "poprt.passes.register_shape_func": (DECORATOR, inspect.isclass, lambda c: c.decorated(poprt.passes.register_shape_func(["ReturnsA"]), poprt.passes.ShapeFunc)),
    "poprt.passes.get_dtype": ("Optional[int]", lambda v: v == m.FLOAT, lambda c: poprt.passes.get_dtype(c.model.graph, "x")),
    "poprt.passes.get_shape": ("Optional[list[int]]", lambda v: v == [2, 3], lambda c: poprt.passes.get_shape(c.model.graph, "x")),
    "poprt.passes.layer_precision_compare": ("dict[str, dict[str, Any]]", lambda v: v["y"]["mse"] >= 0, lambda c: poprt.passes.layer_precision_compare(
        origin_model_path=c.file, converted_model=c.model, data_preprocess=c.pickle, output_dir=c.folder)),
    "poprt.passes.base_pass.get_all_named_subclasses": ("dict[str, Any]", lambda v: isinstance(v, dict),
                                                        lambda c: poprt.passes.base_pass.get_all_named_subclasses(Pass)),
    "poprt.passes.onnx_helper.topological_sort": ("list[NodeProto]", lambda v: [n.name for n in v] == ["mm"],
                                                  lambda c: poprt.passes.onnx_helper.topological_sort(c.model.graph)),
    "poprt.passes.onnx_helper.clean_info": ("ModelProto", lambda v: len(v.graph.node) == 1,
                                            lambda c: poprt.passes.onnx_helper.clean_info(c.model)),
    "poprt.passes.onnx_helper.get_dtype": ("Optional[int]", lambda v: v == m.FLOAT,
                                           lambda c: poprt.passes.onnx_helper.get_dtype(c.model.graph, "w")),
    "poprt.passes.onnx_helper.get_shape": ("Optional[list[int]]", lambda v: v == [3, 3],
                                           lambda c: poprt.passes.onnx_helper.get_shape(c.model.graph, "w")),
    "poprt.passes.onnx_helper.get_constant": ("Optional[TensorProto]", lambda v: v.name == "w",
                                              lambda c: poprt.passes.onnx_helper.get_constant(c.model.graph, "w")),
    "poprt.passes.pattern_helper.PatternMatcher.next_pattern": (
        "Optional[Mapping[str, Match]]", lambda v: v["a"][0].op_type == "MatMul" and v["a"][1] == 0,
        lambda c: poprt.passes.pattern_helper.PatternMatcher(["s:0->MatMul:a->e:1"]).next_pattern(c.model.graph)),
    "poprt.passes.shape_inference.infer_shapes": ("ModelProto", lambda v: len(v.graph.output) == 1,
                                                  lambda c: poprt.passes.shape_inference.infer_shapes(c.model)),
    "poprt.passes.shape_inference.register_shape_func": (
        DECORATOR, inspect.isclass, lambda c: c.decorated(poprt.passes.shape_inference.register_shape_func(["ReturnsB"]), poprt.passes.ShapeFunc)),
    "poprt.passes.shape_inference.update_value_info": ("ModelProto", lambda v: v.graph.value_info[0].name == "h", lambda c: (
        poprt.passes.shape_inference.update_value_info(conv_model(), onnx.helper.make_tensor_value_info("h", 1, [2])))),
    "poprt.passes.shape_inference.register": (DECORATOR, inspect.isclass,
                                              lambda c: c.decorated(poprt.passes.shape_inference.register(["ReturnsC"]), poprt.passes.ShapeFunc)),
    "poprt.passes.Pass.run": ("ModelProto", lambda v: len(v.graph.node) == 1, instance("eliminate_identity", "run", model)),
    "poprt.passes.Pass.__call__": ("ModelProto", lambda v: len(v.graph.node) == 1, instance("eliminate_identity", "__call__", model)),
    "poprt.passes.Pass.traverse_graph": ("_Graph", lambda v: isinstance(v, onnx.GraphProto), instance(
        "eliminate_identity", "traverse_graph", graph, lambda c: lambda g, is_main: g)),
    "poprt.passes.Pass.get_pass": ("Pass", lambda v: v.name == "sort_graph", lambda c: Pass.get_pass("sort_graph")),
    "poprt.passes.Pass.get_registered_passes": ("dict[str, type[Pass]]", lambda v: len(v) >= 105, lambda c: Pass.get_registered_passes()),
    "poprt.passes.Pass.get_typed_registered_passes": ("dict[str, type[Pass]]", lambda v: set(v) < set(Pass.get_registered_passes()),
                                                      lambda c: Pass.get_typed_registered_passes("ir")),
    "poprt.passes.Pass.register_pass": (DECORATOR, lambda v: issubclass(v, Pass), lambda c: c.decorated(Pass.register_pass("returns_b"))),
    "poprt.passes.Pass.override_register_pass": (DECORATOR, lambda v: issubclass(v, Pass),
                                                 lambda c: c.decorated(Pass.override_register_pass("returns_b"))),
    "poprt.passes.Pass.property_register": (DECORATOR, lambda v: v.properties["key"] == "value", lambda c: c.decorated(Pass.property_register("key", "value"))),
    "poprt.passes.Pass.against_passes": (DECORATOR, lambda v: issubclass(v, Pass), lambda c: c.decorated(Pass.against_passes(["sort_graph"]))),
    "poprt.passes.Pass.constraint_passes": (DECORATOR, lambda v: issubclass(v, Pass),
                                            lambda c: c.decorated(Pass.constraint_passes("before", ["sort_graph"]))),
    "poprt.passes.PassManager.add_passes": ("None", None, lambda c: poprt.PassManager().add_passes(["sort_graph"])),
    "poprt.passes.PassManager.get_passes": ("list[Pass]", lambda v: len(v) == 1, lambda c: poprt.PassManager(["sort_graph"]).get_passes()),
    "poprt.passes.PassManager.sort_passes": ("list[Pass]", lambda v: len(v) == 1, lambda c: poprt.PassManager(["sort_graph"]).sort_passes()),
    "poprt.passes.PassManager.get_all_pass_names": ("list[str]", lambda v: v == ["sort_graph"],
                                                    lambda c: poprt.PassManager(["sort_graph"]).get_all_pass_names()),
    "poprt.passes.PassManager.run": ("ModelProto", lambda v: len(v.graph.node) == 1, lambda c: poprt.PassManager(["sort_graph"]).run(c.model)),
    "poprt.optimizer.Optimizer.run": ("ModelProto", lambda v: len(v.graph.node) == 1, lambda c: poprt.optimizer.Optimizer(["pre_scale"]).run(c.file)),
    "poprt.profile.get_model_flops": ("int", lambda v: v == 2 * 2 * 3 * 3, lambda c: poprt.profile.get_model_flops(c.model, False)),
    "poprt.profile.Profiler.get_profiler": ("Count", lambda v: v(conv_model().graph.node[0], [[2, 3], [3, 3]], [[2, 3]]) == 36,
                                            lambda c: poprt.profile.Profiler().get_profiler("MatMul")),
    "poprt.backend.get_session": ("Session", lambda v: v.load() is v, lambda c: poprt.backend.get_session(c.model, 1, "poprt")),
    "poprt.backends.get_session": ("Session", lambda v: v.load() is v, lambda c: poprt.backends.get_session(c.model, 1, "poprt")),
    "poprt.backends.Backend.run": ("list[np.ndarray[Any, Any]]", lambda v: v[0].shape == (2, 3),
                                   lambda c: poprt.backends.Backend(c.model).run(["y"], {"x": X})),
    "poprt.backends.Backend.get_io_info": (f"tuple[{DICT_OF_INFO}, {DICT_OF_INFO}]", lambda v: v[0] == {"x": ([2, 3], np.float32)},
                                           lambda c: poprt.backends.Backend(c.model).get_io_info()),
    "poprt.backends.ORTBackend.run": ("list[np.ndarray[Any, Any]]", lambda v: v[0].dtype == np.float32,
                                      lambda c: poprt.backends.ORTBackend(c.file).run(None, {"x": X})),
    "poprt.frontend.OnnxFrontend.load_model": ("ModelProto", lambda v: v == conv_model(), lambda c: poprt.frontend.OnnxFrontend(c.file).load_model()),
    "poprt.frontend.OnnxFrontend.get_onnx_name": ("str", lambda v: v.endswith("m.onnx"), lambda c: poprt.frontend.OnnxFrontend.get_onnx_name(c.folder)),
    "poprt.frontend.TensorflowFrontend.load_model": ("ModelProto", lambda v: v == conv_model(), lambda c: c.saved_model()),
    "poprt.frontend.TensorflowFrontend.get_inputs_meta": ("dict[str, tuple[list[int], Any]]", lambda v: v == {"x:0": ([0], np.float32)},
                                                          lambda c: poprt.frontend.TensorflowFrontend.get_inputs_meta(c.graph)),
    "poprt.frontend.TensorflowFrontend.get_outputs_meta": ("dict[str, tuple[list[int], Any]]", lambda v: v == {"x:0": ([0], np.float32)},
                                                           lambda c: poprt.frontend.TensorflowFrontend.get_outputs_meta(c.graph)),
    "poprt.frontend.TensorflowFrontend.split_nodename_and_shape": (
        "tuple[Optional[list[str]], Optional[dict[str, list[int]]]]", lambda v: v == (["x:0"], {"x:0": [1, 2]}),
        lambda c: poprt.frontend.TensorflowFrontend.split_nodename_and_shape("x:0[1,2]")),
    "poprt.frontend.get_frontend": ("Frontend", lambda v: v.load_model() == conv_model(), lambda c: poprt.frontend.get_frontend(c.file, framework="onnx")),
    "poprt.utils.get_logger": ("logging.Logger", lambda v: v.name == "poprt", lambda c: poprt.utils.get_logger()),
    "poprt.utils.onnx_tensor_dtype_to_np_dtype": ("np.dtype[Any]", lambda v: v == np.float32,
                                                  lambda c: poprt.utils.onnx_tensor_dtype_to_np_dtype(m.FLOAT)),
    "poprt.utils.get_input_info_from_model_proto": ("tuple[dict[str, list[int]], dict[str, np.dtype[Any]]]",
                                                    lambda v: v == ({"x": [2, 3]}, {"x": np.float32}),
                                                    lambda c: poprt.utils.get_input_info_from_model_proto(c.model)),
    "poprt.utils.convert_float_to_uint8": ("np.ndarray[Any, Any]", lambda v: v.dtype == np.uint8 and v.shape == (2, 3),
                                           lambda c: poprt.utils.convert_float_to_uint8(X, "F143", -1)),
    "poprt.quantizer.quantize": ("_Model", lambda v: isinstance(v, onnx.ModelProto), lambda c: poprt.quantizer.quantize(
        c.converted(), c.file, c.folder, {"x": X}, precision="fp8", quantize_loss_type="kld")),
    "poprt.converter.Converter.convert": ("_Model", lambda v: isinstance(v, onnx.ModelProto), lambda c: poprt.Converter().convert(c.model)),
    "poprt.converter.MFConverter.convert": ("_Model", lambda v: isinstance(v, onnx.ModelProto),
                                            lambda c: poprt.converter.MFConverter().convert([c.model, c.model])),
    "poprt.compiler.Compiler.compile": ("Executable", lambda v: v.get_inputs()[0].name == "x", lambda c: poprt.Compiler.compile(c.model, ["y"])),
    "poprt.compiler.Compiler.compile_and_export": ("None", None, lambda c: poprt.Compiler.compile_and_export(
        c.model, ["y"], os.path.join(c.folder, "again.popef"))),
    "poprt.compiler.Compiler.compile_and_get_summary_report": ("str", lambda v: "input" in v,
                                                               lambda c: poprt.Compiler.compile_and_get_summary_report(c.model, ["y"])),
    "poprt.compiler.CompilerOptions.from_dict": ("_Self", lambda v: isinstance(v, poprt.CompilerOptions) and v.num_io_tiles == 32,
                                                 lambda c: poprt.CompilerOptions.from_dict({"num_io_tiles": 32})),
    "poprt.runtime.Runner.execute": ("None", None, lambda c: c.runner().execute({"x": X}, c.output())),
    "poprt.runtime.Runner.execute_async": ("OutputFuture", lambda v: v.wait() is None or v.wait(), lambda c: c.runner().execute_async({"x": X}, c.output())),
    "poprt.runtime.Runner.executeAsync": ("OutputFuture", lambda v: v.wait() is None or v.wait(), lambda c: c.runner().executeAsync({"x": X}, c.output())),
    **{f"poprt.runtime.Runner.{name}": (
        "list[DataDesc]", lambda v: (v[0].shape, v[0].numpy_data_type(), v[0].popef_contains_tensor_data) == ([2, 3], np.float32, False),
        lambda c, name=name: getattr(c.runner(), name)()) for name in (
            "get_execute_inputs", "get_execute_outputs", "get_model_inputs", "get_model_outputs")},
    "poprt.runtime.DeviceManager.get_device": ("Device", lambda v: v is not None, lambda c: runtime.DeviceManager().get_device(1)),
    "poprt.runtime.DeviceManager.get_specific_device": ("Device", lambda v: v is not None, lambda c: runtime.DeviceManager().get_specific_device(0)),
    "poprt.runtime.DeviceManager.get_num_devices": ("int", lambda v: v >= 1, lambda c: runtime.DeviceManager().get_num_devices()),
    "poprt.runtime.DeviceManager.ipu_hardware_version": ("str", lambda v: v in ("ipu2", "ipu21"), lambda c: runtime.DeviceManager().ipu_hardware_version()),
    "poprt.runtime.LightRunner.set_input_anchor": ("None", None, lambda c: c.light().set_input_anchor("w", np.eye(3, dtype=np.float32))),
    **{f"poprt.runtime.LightRunner.{name}": ("None", None, lambda c, name=name: getattr(c.light(), name)()) for name in ("update_weights", "stop")},
    "poprt.runtime.LightRunner.reload": ("None", None, lambda c: (lambda runner: (runner.stop(), runner.reload())[1])(c.light())),
    "poprt.runtime.LightRunner.get_model_inputs": ("list[DataDesc]", lambda v: any(d.popef_contains_tensor_data for d in v),
                                                   lambda c: c.light().get_model_inputs()),
}


# Types of the package onnx. Without the package, the declared types of poprt are Any.
PROTOS = {name: getattr(onnx, name) for name in ("ModelProto", "NodeProto", "TensorProto")}


def documented_functions():
    """Returns the functions in the table of arguments by name."""
    found = {}
    for module, name, _ in python_api_test.DOCUMENTED:
        thing = importlib.import_module(module)
        for part in name.split("."):
            thing = getattr(thing, part)
        if inspect.isroutine(thing):
            found[f"{module}.{name}"] = thing
    return found


def conforms(value, hint):
    """Whether a value is of a type hint; hints without a check accept every value."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is typing.Any:
        return True
    if hint is None or hint is type(None):
        return value is None
    if origin is typing.Union:
        return any(conforms(value, h) for h in inner)
    if origin in (list, tuple, dict) and not isinstance(value, origin):
        return False
    if origin is list:
        return all(conforms(v, inner[0]) for v in value)
    if origin is tuple:
        return len(value) == len(inner) and all(map(conforms, value, inner))
    if origin is dict:
        return all(conforms(k, inner[0]) and conforms(v, inner[1]) for k, v in value.items())
    if origin is type:
        return isinstance(value, type) and issubclass(value, inner[0])
    if origin is collections.abc.Callable:
        return callable(value)
    if origin is np.dtype:  # published programs compare them with NumPy's types
        return np.dtype(value) == value
    return not isinstance(origin or hint, type) or isinstance(value, origin or hint)


class Returns(unittest.TestCase):
    maxDiff = None

    def test_every_documented_function_is_in_the_table(self):
        self.assertEqual(sorted(RETURNS), sorted(documented_functions()))

    def test_declared_types(self):
        declared = {name: inspect.signature(f).return_annotation for name, f in documented_functions().items()}
        self.assertEqual(declared, {name: row[0] for name, row in RETURNS.items()})

    def test_calls_return_the_documented_and_declared_types(self):
        functions = documented_functions()
        registered = dict(poprt.get_registered_passes())
        for name, (_, is_documented, call) in RETURNS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                value = call(Calls(folder))
                if is_documented is None:
                    self.assertIsNone(value)
                else:
                    self.assertTrue(is_documented(value), value)
                    self.assertIsNot(type(value), type(None))
                scope = {**vars(sys.modules[functions[name].__module__]), **PROTOS}
                hint = typing.get_type_hints(functions[name], scope).get("return")
                self.assertTrue(conforms(value, hint), f"{value!r} is no {hint}")
                del value  # frees a device that the next call may need
        self.assertLess(set(registered), set(poprt.get_registered_passes()))

    def test_conforms_rejects_other_types(self):
        for value, hint in (([1], list[str]), ((1, 2), tuple[int]), ({"a": "b"}, dict[str, int]), ("a", int), (None, int), ([], dict[str, int]),
                            (1, typing.Optional[str]), (logging, type[Pass]), (1, typing.Callable[[], int]), ({}, None)):
            self.assertFalse(conforms(value, hint), (value, hint))


if __name__ == "__main__":
    unittest.main()
