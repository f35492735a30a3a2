"""Helpers of the tests of poprt's options."""

import json
import re

import onnx_writer as onnx
from support import CommandTest, model

SHAPE = ["--input_shape", "image=2,1,8,8"]


def nodes(model_bytes, op_type):
    """The number of nodes of that type in a serialised model: field 4 of NodeProto."""
    return model_bytes.count(bytes([0x22, len(op_type)]) + op_type)


class OptionTest(CommandTest):
    command = "poprt"

    def table(self):
        return json.loads(self.succeeds("--json", command="poprt_exec options"))

    def graph(self, path):
        """Text of a converted model."""
        return self.succeeds(path, "--elide", command="poprt_exec opt")

    def metadata(self, path="executable.popef"):
        """The recorded options."""
        text = self.succeeds("-m", path, command="popef_dump")
        return dict(re.findall(r"^    (\S+) = (.*)$", text.split("engine_options:")[1].split("device_options")[0], re.M))

    def recorded(self, *words):
        self.succeeds("-i", model("relu"), "--export_popef", *words)
        return self.metadata()

    def warned(self, *words):
        """Expects success with one warning, and returns the warning."""
        ran = self.run_command(*words)
        self.assertEqual((ran.code, ran.err.count("\n")), (0, 1), ran.err)
        return ran.err

    def two_outputs(self):
        """y = -x, z = |w|, w = x + x."""
        f32 = [onnx.value(n, onnx.F32, [2, 3]) for n in "xyz"]
        nodes = [onnx.node("Neg", ["x"], ["y"]), onnx.node("Add", ["x", "x"], ["w"]), onnx.node("Abs", ["w"], ["z"])]
        return self.write("two.onnx", onnx.model(nodes, f32[:1], f32[1:]))
