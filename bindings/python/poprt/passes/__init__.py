"""Passes: rewrites of ONNX models, from the library and from users.

>>> @poprt.passes.register("replace_add_with_sub")
... class ReplaceAddWithSub(poprt.Pass):
...     def run_transform(self, graph, is_main_graph):
...         for node in graph.node:
...             if node.op_type == "Add":
...                 node.op_type = "Sub"
...         return graph
>>> model = poprt.PassManager(["replace_add_with_sub", "eliminate_deadend"]).run(model)

Passes are identified by name. The modules that contain them may change.
"""

from . import apply_ir_pass, base_pass, onnx_helper, pass_manager, pattern_helper, remove_duplicated_initializer  # noqa: F401
from . import shape_inference  # noqa: F401
from . import layer_precision_compare as _compare_module
from .apply_ir_pass import ApplyIrPass
from .base_pass import ImmutablePass, Pass
from .onnx_helper import clean_info, get_constant, get_dtype, get_shape, topological_sort
from .pass_manager import PassManager
from .pattern_helper import PatternMatcher
from .shape_inference import ShapeFunc, infer_shapes, register_shape_func, update_value_info

__all__ = ["ApplyIrPass", "ImmutablePass", "Pass", "PassManager", "PatternMatcher", "ShapeFunc", "clean_info", "get_constant",
           "get_dtype", "get_pass", "get_registered_passes", "get_shape", "get_typed_registered_passes", "infer_shapes",
           "layer_precision_compare", "override_register", "register", "register_shape_func", "topological_sort",
           "update_value_info"]

register = Pass.register_pass
override_register = Pass.override_register_pass
get_pass = Pass.get_pass
get_registered_passes = Pass.get_registered_passes
get_typed_registered_passes = Pass.get_typed_registered_passes
layer_precision_compare = _compare_module.layer_precision_compare
