"""The shape function of LeakyRelu for --custom_shape_inference, as in PopRT's manual. The command does not need it if
the plug-in is loaded, because its infer() returns the same shape. Python's Converter accepts either."""

from onnx import helper

from poprt.passes import ShapeFunc, register_shape_func
from poprt.passes.onnx_helper import get_dtype, get_shape


@register_shape_func(["LeakyRelu"])
class LeakyReluShape(ShapeFunc):
    def __call__(self, model, node):
        dtype, shape = get_dtype(model.graph, node.input[0]), get_shape(model.graph, node.input[0])
        if not dtype or not shape or 0 in shape:
            return model, False  # retry when more shapes are known
        return self.update_value_info(model, helper.make_tensor_value_info(node.output[0], dtype, shape)), True
