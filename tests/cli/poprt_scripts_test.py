"""poprt --custom_pass_config and --custom_shape_inference: files in Python. What needs the package onnx runs with POPRT_ONNX_PYTHON."""

import json
import os
import signal
import struct
import sys
import tempfile
import time
import unittest
import zipfile
from unittest import mock

import onnx_writer as w
from support import BIN, CommandTest, model

PACKAGES = os.path.join(os.path.dirname(BIN), "python")
PYTHON = os.environ.get("POPRT_ONNX_PYTHON") or ""
needs_onnx = unittest.skipUnless(PYTHON and os.path.isdir(os.path.join(PACKAGES, "poprt")), "no Python with onnx and poprt")

# The pass of the documented demonstration.
ADD_TO_SUB = b'''import onnx
from poprt.passes import Pass, register


@register("replace_add_with_sub")
class ReplaceAddWithSub(Pass):
    """Replace Add with Sub."""

    def __init__(self):
        super().__init__()

    def run_transform(self, graph: onnx.GraphProto, is_main_graph: bool) -> onnx.GraphProto:
        for node in graph.node:
            if node.op_type == "Add":
                node.op_type = "Sub"
        return graph

    def run(self, onnx_model: onnx.ModelProto) -> onnx.ModelProto:
        onnx_model.graph.CopyFrom(self.traverse_graph(onnx_model.graph, self.run_transform))
        return onnx_model
'''
SHAPES = b'''import onnx.helper
from poprt.passes import ShapeFunc, get_dtype, get_shape, register_shape_func


@register_shape_func(["MyRelu"])
class MyRelu(ShapeFunc):
    def __call__(self, model, node):
        dtype, shape = get_dtype(model.graph, node.input[0]), get_shape(model.graph, node.input[0])
        if not dtype or not shape or 0 in shape:
            return model, False
        return self.update_value_info(model, onnx.helper.make_tensor_value_info(node.output[0], dtype, shape)), True
'''


class ScriptTest(CommandTest):
    command = "poprt"

    def setUp(self):
        super().setUp()
        patch = mock.patch.dict(os.environ, {"POPRT_PYTHON": PYTHON or sys.executable, "PYTHONPATH": PACKAGES,
                                             "PYTHONDONTWRITEBYTECODE": "1"})
        patch.start()
        self.addCleanup(patch.stop)
        self.write("sub.py", ADD_TO_SUB)
        self.write("add.onnx", w.model([w.node("Add", ["x", "x"], ["s"]), w.node("Add", ["s", "x"], ["y"])],
                                       [w.value("x", w.F32, [2, 3])], [w.value("y", w.F32, [2, 3])]))

    def ops(self, name):
        printed = self.succeeds(name, "--json", command="poprt_exec flops")
        return [node["op_type"] for node in json.loads(printed)["nodes"]]


@needs_onnx
class CustomPasses(ScriptTest):
    def test_they_are_listed(self):
        lines = self.succeeds("--list_all_passes", "--custom_pass_config", "sub.py").splitlines()
        self.assertIn("replace_add_with_sub", [line.split()[0] for line in lines])
        self.assertIn("eliminate_identity", [line.split()[0] for line in lines])
        self.assertNotIn("replace_add_with_sub", self.succeeds("--list_all_passes"))
        rows = json.loads(self.succeeds("--list_all_passes", "--json", "--custom_pass_config", "sub.py"))
        self.assertEqual(rows[-1], {"name": "replace_add_with_sub", "summary": "Replace Add with Sub"})

    def test_the_documented_demonstration(self):
        self.succeeds("--input_model", "add.onnx", "--passes", "replace_add_with_sub", "--custom_pass_config", "sub.py")
        self.assertEqual(self.ops("add.optimized.onnx"), ["Sub", "Sub"])
        self.succeeds("--input_model", "add.onnx")
        self.assertEqual(self.ops("add.optimized.onnx"), ["Add", "Add"])

    def test_a_check_reports_that_it_excludes_passes_in_python(self):
        printed = self.succeeds("-i", "add.onnx", "--passes", "replace_add_with_sub", "--custom_pass_config", "sub.py", "--check",
                             "--precision_compare", "--output_dir", "out")
        self.assertIn("check: the outputs are those of the original; not checked: pass replace_add_with_sub in Python\n  tolerance: fp32:", printed)
        self.assertIn("precision: out/precision_compare.log\n  no Conv, MatMul or Gemm is in both models\n", printed)
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["add.optimized.onnx", "check.json", "precision_compare.log"])

    def test_compiles_the_result_of_a_script(self):
        words = ["-i", "add.onnx", "--passes", "replace_add_with_sub", "--custom_pass_config", "sub.py", "--export_popef"]
        for _ in range(2):  # the second one replaces the first one's files
            self.succeeds(*words)
        self.write_x()
        self.succeeds("executable.popef", "--input", "x=x.npy", "--output", "y=y.npy", command="poprt_exec run")
        with open(self.path("y.npy"), "rb") as file:
            data = file.read()
        self.assertEqual(struct.unpack("<6f", data[-24:]), tuple(-float(i) for i in range(6)))  # (x - x) - x

    def write_x(self):
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".ljust(117) + "\n"
        self.write("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                   struct.pack("<6f", *range(6)))

    def test_options_of_the_executable_act_too(self):
        """An executable is the same with a pass that changes nothing as without it."""
        self.write("same.py", b"from poprt import Pass\nclass Same(Pass):\n    name = 'same'\n    def run(self, m):\n        return m\n")
        weights = [w.floats(name, [64, 64], [(i * 37 % 101) / 64 for i in range(4096)]) for name in ("v", "w")]
        self.write("dense.onnx", w.model([w.node("MatMul", ["x", "v"], ["h"]), w.node("Relu", ["h"], ["r"]), w.node("MatMul", ["r", "w"], ["y"])],
                                         [w.value("x", w.F32, [8, 64])], [w.value("y", w.F32, [8, 64])], weights))
        self.write("convolution.onnx", w.model([w.node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])], [w.value("x", w.F32, [1, 16, 32, 32])],
                                               [w.value("y", w.F32, [1, 16, 32, 32])], [w.floats("w", [16, 16, 3, 3], [i % 7 / 8 for i in range(2304)])]))
        sizes = {}
        for model, words in (("dense", []), ("dense", ["--reproducible"]), ("dense", ["--execution_precision", "bf16"]),
                             ("dense", ["--precision", "bf16"]), ("dense", ["--precision", "fp16"]),
                             ("dense", ["--precision", "fp16", "--fp16_skip_op_types", "MatMul"]), ("dense", ["--embed_source"]),
                             ("dense", ["--estimate"]), ("dense", ["--numerics", "faithful"]), ("convolution", []),
                             ("convolution", ["--winograd", "off"]), ("convolution", ["--compact"])):
            with self.subTest(words):
                for path, more in ((f"a_{model}.popef", []), (f"b_{model}.popef", ["--custom_pass_config", "same.py", "--passes", "same"])):
                    self.succeeds("-i", model + ".onnx", *words, *more, "-o", path)
                found = [self.contents(f"{part}_{model}.popef") for part in "ab"]
                for part in "ab":
                    os.remove(self.path(f"{part}_{model}.popef"))
                if words == ["--embed_source"]:  # the one has the converted model, the other that of the user
                    self.assertGreater(found[1][1], sizes["dense",][1])
                    found = [facts[:1] for facts in found]
                self.assertEqual(*found)
                sizes[model, *words] = found[0]
        different = [key for key in sizes if key[1:] and key[1:] != ("--precision", "bf16") and sizes[key] == sizes[key[:1]]]
        self.assertEqual(different, [])  # the options act

    def contents(self, path):
        """The anchors and the metadata of a PopEF file, and the size of its program in units of 512 bytes."""
        dump = self.succeeds("--all", path, command="popef_dump").replace(path, "")
        lines = [line for line in dump.splitlines() if " = " in line and "hash" not in line]
        return lines, os.path.getsize(self.path(path)) // 512

    def test_the_defaults_of_the_command_act_too(self):
        self.write("same.py", b"from poprt import Pass\nclass Same(Pass):\n    name = 'same'\n    def run(self, m):\n        return m\n")
        self.write("wide.onnx", w.model([w.node("Add", ["x", "x"], ["y"])], [w.value("x", w.S64, [2])], [w.value("y", w.S64, [2])], opset=17))
        shown = []
        for more in ([], ["--custom_pass_config", "same.py", "--passes", "same"]):
            self.succeeds("-i", "wide.onnx", *more)
            shown.append((self.succeeds("-i", "wide.optimized.onnx", "--show"),
                          self.succeeds("print", "--model", "wide.optimized.onnx", "--level", "model", command="poprt_exec debug")))
        self.assertIn("input x: dtype - s32", shown[0][0])
        self.assertEqual(*shown)

    def test_int8_with_a_script(self):
        data = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + b"{'descr': '<f4', 'fortran_order': False, 'shape': (16, 64), }".ljust(117) + \
            b"\n" + struct.pack("<1024f", *(i % 13 / 8 for i in range(1024)))
        with zipfile.ZipFile(self.path("samples.npz"), "w") as file:
            file.writestr("x.npy", data)
        self.write("bytes.onnx", w.model([w.node("MatMul", ["x", "w"], ["y"])], [w.value("x", w.F32, [8, 64])], [w.value("y", w.F32, [8, 64])],
                                         [w.floats("w", [64, 64], [(i * 37 % 101) / 64 for i in range(4096)])]))
        words = ["-i", "bytes.onnx", "--precision", "int8", "--calibration_with_data", "--data_preprocess", "samples.npz", "--export_popef",
                 "--lowest_opset", "13"]
        self.succeeds(*words, "--passes", "replace_add_with_sub", "--custom_pass_config", "sub.py")
        self.assertIn("QuantizeLinear", self.ops("bytes.optimized.onnx"))

    def test_several_shapes_are_refused(self):
        words = ["-i", "add.onnx", "--input_shape", "x=2,3/4,3", "--custom_pass_config", "sub.py", "-o", "several.popef"]
        self.misused(words, "--custom_pass_config", "--input_shape x=2,3/4,3 gives several")

    def test_a_signal_ends_the_interpreter_too(self):
        self.write("slow.py", b"import os, time\nfrom poprt import Pass\nclass Slow(Pass):\n    name = 'slow'\n    def run(self, m):\n"
                              b"        open('child', 'w').write(str(os.getpid()))\n        time.sleep(2)\n        return m\n")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            with self.subTest(number), tempfile.TemporaryDirectory() as temporary:
                process = self.begun(["-i", "add.onnx", "--output_dir", "out", "--custom_pass_config", "slow.py", "--passes", "slow"],
                                     self.folder, {**os.environ, "TMPDIR": temporary},
                                     preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
                while not os.path.exists(self.path("child")) or not os.path.getsize(self.path("child")):
                    self.assertIsNone(process.poll())
                    time.sleep(0.01)
                process.send_signal(number)
                self.assertEqual(process.wait(60), -number)
                if number != signal.SIGKILL:  # the command can remove nothing then
                    self.assertEqual(os.listdir(temporary), [])
                time.sleep(2.5)
                self.assertFalse(os.path.exists(self.path("out/add.optimized.onnx")))
                os.remove(self.path("child"))

    def test_order_is_that_of_passes(self):
        self.write("log.py", b"from poprt import Pass\n" + b"".join(
            b"class %c(Pass):\n    name = 'say_%c'\n    def run(self, m):\n        print('%c', len(m.graph.node))\n        return m\n"
            % (c, c, c) for c in b"ab"))
        out = self.succeeds("-i", "add.onnx", "--custom_pass_config", "log.py,", "sub.py", "--passes",
                            "say_b,eliminate_deadend,say_a,replace_add_with_sub,say_b", "--disable_compilation_progress_bar")
        self.assertEqual(out.splitlines()[:3], ["b 2", "a 2", "b 2"])
        self.assertEqual(self.ops("add.optimized.onnx"), ["Sub", "Sub"])

    def test_other_options_act_too(self):
        self.succeeds("-i", "add.onnx", "--passes", "replace_add_with_sub", "--custom_pass_config", "sub.py", "--precision", "fp16",
                      "--checkpoints", "s", "--output_model", "half.onnx", "--skip_passes", "eliminate_identity", "--export_popef")
        self.assertIn("output s: dtype - f16", self.succeeds("-i", "half.onnx", "--show"))
        self.assertIn("s", self.succeeds("executable.popef", command="popef_dump"))

    def test_arguments_of_the_librarys_passes_with_a_script(self):
        weights = [w.floats("w", [3, 4], [i / 8 for i in range(12)])]
        self.write("dense.onnx", w.model([w.node("MatMul", ["x", "w"], ["h"]), w.node("Add", ["h", "h"], ["y"])],
                                         [w.value("x", w.F32, [2, 3])], [w.value("y", w.F32, [2, 4])], weights))
        words = ["-i", "dense.onnx", "--custom_pass_config", "sub.py", "--passes", "serialize_matmul,replace_add_with_sub", "--pass_args"]
        self.succeeds(*words, "serialize_matmul.matmuls=node_h=2/output_channels", "constant_folding.max_tensor_size=64")
        self.assertEqual(self.ops("dense.optimized.onnx"), ["MatMul", "MatMul", "Concat", "Sub"])
        self.fails([*words, "serialize_matmul.matmuls=node_h=3", "--output_dir", "out"], "the factor 3 does not divide")

    def test_wrong_scripts_are_one_line(self):
        self.write("broken.py", b"from poprt import Pass\nclass P(Pass)\n    pass\n")
        self.write("raises.py", b"from poprt import Pass\nclass P(Pass):\n    name = 'p'\n    def run(self, m):\n        m.nothing()\n")
        self.write("twice.py", ADD_TO_SUB.replace(b"replace_add_with_sub", b"eliminate_identity"))
        self.write("ends.py", b"import sys\nsys.exit(4)\n")
        convert = ["-i", "add.onnx", "--output_dir", "out", "--custom_pass_config"]
        for script, passes, facts in (
                ("none.py", [], ["--custom_pass_config: there is no file 'none.py'"]), ("broken.py", [], ["broken.py:2: SyntaxError"]),
                ("raises.py", ["--passes", "p"], ["raises.py:5: AttributeError", "nothing"]),
                ("twice.py", [], ["there is a pass 'eliminate_identity' already"]), ("ends.py", [], ["ended Python with 4"])):
            with self.subTest(script):
                self.fails([*convert, script, *passes], *facts)
        self.misused([*convert, "sub.py", "--passes", "replace_add_with_su"], "did you mean replace_add_with_sub")

    def test_a_yaml_file_has_them(self):
        self.write("c.yaml", b"input_model: add.onnx\npasses: replace_add_with_sub\ncustom_pass_config: sub.py\n")
        self.succeeds("--config_yaml", "c.yaml")
        self.assertEqual(self.ops("add.optimized.onnx"), ["Sub", "Sub"])


@needs_onnx
class CustomShapes(ScriptTest):
    def setUp(self):
        super().setUp()
        self.write("shapes.py", SHAPES)
        custom = w.message(1, w.message(1, "x"), w.message(2, "h"), w.message(3, "custom"), w.message(4, "MyRelu"),
                           w.message(7, "ai.graphcore"))
        self.write("custom.onnx", w.model([custom, w.node("Relu", ["h"], ["y"])], [w.value("x", w.F32, ["N", 3])],
                                          [w.value("y", w.F32, ["N", 3])]))

    def test_custom_operators_are_converted_around(self):
        self.succeeds("-i", "custom.onnx", "--input_shape", "x=2,3", "--custom_shape_inference", "shapes.py")
        printed = self.succeeds("print", "--model", "custom.optimized.onnx", "--level", "tensor", command="poprt_exec debug")
        self.assertIn("Op type: ai.graphcore.MyRelu", printed)
        self.assertIn("h: f32[2,3]", printed)
        self.assertIn("input x: dtype - f32, shape - [2, 3]", self.succeeds("-i", "custom.optimized.onnx", "--show"))

    def test_the_documented_demonstration_is_one_custom_operator(self):
        custom = w.message(1, w.message(1, "x"), w.message(2, "y"), w.message(3, "custom"), w.message(4, "MyRelu"),
                           w.message(7, "ai.graphcore"))
        self.write("one.onnx", w.model([custom], [w.value("x", w.F32, [8, 8])], [w.value("y", w.F32, [8, 8])], opset=11))
        for precision, dtype in (("fp32", "f32"), ("fp16", "f16")):
            self.succeeds("--input_model", "one.onnx", "--custom_shape_inference", "shapes.py", "--precision", precision)
            shown = self.succeeds("-i", "one.optimized.onnx", "--show")
            self.assertEqual(shown, f"input x: dtype - {dtype}, shape - [8, 8]\noutput y: dtype - {dtype}, shape - [8, 8]\n")
            printed = self.succeeds("print", "--model", "one.optimized.onnx", "--level", "node", command="poprt_exec debug")
            self.assertEqual(printed.count("Op type: "), 1)
            self.assertIn("Op type: ai.graphcore.MyRelu", printed)

    def test_without_it_or_without_shapes(self):
        self.fails(["-i", "custom.onnx", "--output_dir", "out", "--input_shape", "x=2,3", "--logging_level", "ERROR"], "MyRelu")
        self.fails(["-i", "custom.onnx", "--output_dir", "out", "--custom_shape_inference", "shapes.py"],
                   "--custom_shape_inference", "shapes of all inputs must be fixed")


class Missing(ScriptTest):
    """The interpreter or a package is missing."""

    WORDS = ["-i", "add.onnx", "--output_dir", "out", "--custom_pass_config", "sub.py"]

    def test_no_python(self):
        with mock.patch.dict(os.environ, {"POPRT_PYTHON": "no_such_python"}):
            self.fails(self.WORDS, "--custom_pass_config: cannot start no_such_python")
            self.fails(["--list_all_passes", "--custom_pass_config", "sub.py"], "cannot start no_such_python")

    def test_no_package(self):
        with mock.patch.dict(os.environ, {"PYTHONPATH": self.folder, "POPRT_PYTHON": sys.executable}):
            self.fails(self.WORDS, "has no package poprt: python3 -m pip install", "POPRT_PYTHON")
            os.mkdir(self.path("poprt"))
            self.write("poprt/__init__.py", b"import no_such_package\n")
            self.fails(self.WORDS, "cannot import poprt: No module named 'no_such_package'")

    def test_a_folder_of_that_name_here_is_not_the_package(self):
        os.mkdir(self.path("poprt"))
        self.write("poprt/__init__.py", b"raise SystemExit(5)\n")
        self.write("json.py", b"raise SystemExit(6)\n")
        with mock.patch.dict(os.environ, {"PYTHONPATH": "", "POPRT_PYTHON": sys.executable}):
            self.fails(self.WORDS, "has no package poprt")

    def test_all_of_the_path_of_modules_is_kept(self):
        """Also with PYTHONSAFEPATH, which leaves the working folder out."""
        os.mkdir(self.path("poprt"))
        self.write("poprt/__init__.py", b"import os\nos._exit(7)\n")
        for safe in ("", "1"):
            values = {"PYTHONPATH": self.folder, "PYTHONSAFEPATH": safe, "POPRT_PYTHON": sys.executable}
            with mock.patch.dict(os.environ, values):
                self.fails(self.WORDS, "ended early with code 7")

    def test_python_that_dies(self):
        os.mkdir(self.path("poprt"))
        self.write("poprt/__init__.py", b"import os\nos._exit(7)\n")
        with mock.patch.dict(os.environ, {"PYTHONPATH": self.folder, "POPRT_PYTHON": sys.executable}):
            self.fails(self.WORDS, "ended early with code 7")


if __name__ == "__main__":
    unittest.main()
