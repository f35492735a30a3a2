"""Plug-ins: --custom_library_so_paths, custom_patterns, custom_transform_applier_settings, POPRT_PLUGINS and --plugins, with the
libraries of examples/plugins and tests/plugins."""

import json
import os
import random
import re
import struct
import sys
import unittest
from unittest import mock

import onnx_writer as w
from support import BIN, CommandTest, model

FOLDER = os.path.join(os.path.dirname(BIN), "plugins")
EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "examples", "plugins")
PACKAGES = os.path.join(os.path.dirname(BIN), "python")
PYTHON = os.environ.get("POPRT_ONNX_PYTHON") or ""
needs_onnx = unittest.skipUnless(PYTHON and os.path.isdir(os.path.join(PACKAGES, "poprt")), "no Python with onnx and poprt")
CHECKPOINTS = ["Fwd0", "Fwd1", "Bwd0", "PreAlias", "MainLoops", "Final"]


def library(name):
    return os.path.join(FOLDER, f"lib{name}.so")


def rounded(value):
    """The value rounded to f32."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


class PluginTest(CommandTest):
    command = "poprt"

    def setUp(self):
        super().setUp()
        self.random = random.Random(7)

    def chain(self, name, nodes, shape=(4, 6), outputs=("y",), initializers=()):
        """A model from x to outputs of the same shape."""
        domains = ("org.example", "ai.graphcore")
        self.write(name, w.model(nodes, [w.value("x", w.F32, list(shape))], [w.value(o, w.F32, list(shape)) for o in outputs],
                                 initializers, domains=domains))
        return name

    def leaky(self, **attributes):
        return self.chain("leaky.onnx", [w.node("LeakyRelu", ["x"], ["y"], "org.example", **attributes)])

    def trial(self, op_type, *, inputs=("x",), outputs=("y",), initializers=(), **attributes):
        return self.chain("trial.onnx", [w.node(op_type, list(inputs), list(outputs), "ai.graphcore", **attributes)],
                          outputs=outputs, initializers=initializers)

    def numbers(self, count=24, low=-3.0, high=3.0):
        return [rounded(self.random.uniform(low, high)) for _ in range(count)]

    def computes(self, name, x, *words, output="y", shape=(4, 6), plugins=None):
        """Returns the output of poprt_exec run for input x."""
        self.npy("in.npy", "f4", shape, x)
        given = ["--plugins", plugins] if plugins else []
        self.succeeds(name, *given, "--input", "x=in.npy", "--output", f"{output}=out.npy", *words, command="poprt_exec run")
        return self.read_npy(self.path("out.npy"))[1]

    def near(self, found, expected, tolerance=1e-6):
        self.assertEqual(len(found), len(expected))
        for a, b in zip(found, expected):
            self.assertLessEqual(abs(a - b), tolerance * max(1, abs(b)))

    def plugin_note(self, popef):
        text = self.succeeds(popef, "--all", command="popef_dump")
        self.assertIn("plugins", text)
        return text


class CustomOperators(PluginTest):
    """Runs the demonstration of PopRT's manual: LeakyRelu(alpha 0.01)."""

    def test_leaky_relu_runs_as_the_manual_has_it(self):
        printed = self.succeeds("--input_model", self.leaky(alpha=0.01), "--custom_library_so_paths", library("leaky_relu"), "--run", "--keep_converted")
        self.assertRegex(printed, r"Bs: 4\nLatency: [0-9.]+ms\nTput: [0-9]+\n")
        with open(self.path("leaky.optimized.onnx"), "rb") as file:
            self.assertIn(b"LeakyRelu", file.read())

    def test_leaky_relu_computes_its_definition(self):
        x = self.numbers()
        for alpha, attributes in ((0.01, {}), (0.01, {"alpha": 0.01}), (0.3, {"alpha": 0.3})):
            found = self.computes(self.leaky(**attributes), x, plugins=library("leaky_relu"))
            self.near(found, [v if v >= 0 else alpha * v for v in x])

    def test_parts_on_several_threads(self):
        """Each row is a part. The first run, which is checked, and later runs give the same results on any thread."""
        x = self.numbers(64 * 6)
        nodes = [w.node("Parts", ["x"], ["h"], "ai.graphcore"), w.node("Parts", ["h"], ["y"], "ai.graphcore")]
        name = self.chain("parts.onnx", nodes, (64, 6))
        expected = [rounded(rounded(v + i // 6) + i // 6) for i, v in enumerate(x)]
        for threads in ("1", "2", "3", "8"):
            found = self.computes(name, x, "--threads", threads, shape=(64, 6), plugins=library("trial"))
            self.assertEqual(found, expected, threads)
        popef = self.popef(name, "--custom_library_so_paths", library("trial"))
        with mock.patch.dict(os.environ, {"POPRT_PLUGINS": library("trial"), "POPRT_THREADS": "3"}):
            self.succeeds("--popef", popef, "--iteration", "200", "--numThreads", "3", command="poprt_exec poprt_run_popef")

    def test_a_part_that_fails_fails_its_request(self):
        self.npy("in.npy", "f4", (4, 6), self.numbers())
        for attributes, why in (({"fail_at": 2}, "row 2 is not wanted"), ({"parts": 0}, "parts() returned 0, expected 1 to"),
                                ({"parts": 2**64 - 5}, "parts() returned -5"), ({"parts": 1 << 40}, "parts() returned 1099511627776"),
                                ({"parts": 1, "fail_at": 3}, "row 3 is not wanted")):
            with self.subTest(attributes):
                ran = self.run_command(self.trial("Parts", **attributes), "--plugins", library("trial"), "--input", "x=in.npy", "--threads", "3",
                                       command="poprt_exec run")
                self.assertEqual((ran.code, ran.err.count("\n")), (1, 1), ran.err)
                self.assertIn(why, ran.err)

    def test_an_executable_names_its_plugin_and_runs_with_it(self):
        popef = self.popef(self.leaky(alpha=0.2), "--custom_library_so_paths", library("leaky_relu"))
        x = self.numbers()
        expected = [v if v >= 0 else 0.2 * v for v in x]
        self.near(self.computes(popef, x, plugins=library("leaky_relu")), expected)
        with mock.patch.dict(os.environ, {"POPRT_PLUGINS": library("leaky_relu")}):
            self.near(self.computes(popef, x), expected)
            self.assertIn("throughput", self.succeeds("--popef", popef, "--iteration", "3", command="poprt_exec poprt_run_popef"))
        with open(popef, "rb") as file:
            text = file.read().decode("latin-1")
        self.assertNotIn("libleaky_relu", text)  # its folder is not stored
        note = json.loads(re.search(r'\{"plugins":\[.*?\]\}', text).group(0))
        self.assertEqual(note["plugins"], [{"name": "leaky_relu", "version": "1.0"}])
        self.assertEqual({k: note["operators"][0][k] for k in ("domain", "name", "version", "plugin", "node")},
                         {"domain": "org.example", "name": "LeakyRelu", "version": 1, "plugin": "leaky_relu", "node": "node_y"})
        self.assertEqual(note["operators"][0]["flops"], 24)
        self.assertGreater(note["operators"][0]["cycles"], 20)

    def test_an_executable_without_its_plugin_is_one_line(self):
        popef = self.popef(self.leaky(), "--custom_library_so_paths", library("leaky_relu"))
        self.command = "poprt_exec run"
        self.fails([popef, "--random"], "operator org.example.LeakyRelu (version 1) of plug-in 'leaky_relu' 1.0", "is not loaded",
                   "POPRT_PLUGINS")

    def test_a_model_without_its_plugin_is_one_line(self):
        self.fails(["-i", self.leaky()], "LeakyRelu", "org.example", "--custom_library_so_paths")
        self.fails(["-i", self.trial("SplitSign", outputs=("y", "z"))], "SplitSign", "ai.graphcore", "--custom_library_so_paths")

    def test_other_commands_take_plugins(self):
        self.leaky(alpha=0.5)
        bench = json.loads(self.succeeds("leaky.onnx", "--plugins", library("leaky_relu"), "--iterations", "5", "--json",
                                         command="poprt_exec bench"))
        self.assertTrue(bench)
        x = self.numbers()
        self.npy("x.npy", "f4", [4, 6], x)
        self.npy("y.npy", "f4", [4, 6], [v if v >= 0 else 0.5 * v for v in x])
        self.succeeds("leaky.onnx", "--plugins", library("leaky_relu"), "--input", "x=x.npy", "--reference", "y=y.npy",
                      command="poprt_exec compare")
        self.npy("y.npy", "f4", [4, 6], x)
        wrong = self.run_command("leaky.onnx", "--plugins", library("leaky_relu"), "--input", "x=x.npy", "--reference", "y=y.npy",
                                 command="poprt_exec compare")
        self.assertEqual(wrong.code, 1)

    def test_shape_inference_of_a_plugin_feeds_later_nodes(self):
        self.chain("deep.onnx", [w.node("LeakyRelu", ["x"], ["a"], "org.example", alpha=0.5), w.node("Exp", ["a"], ["b"]),
                                 w.node("LeakyRelu", ["b"], ["y"], "org.example")])
        x = self.numbers(high=1.0)
        import math
        self.near(self.computes("deep.onnx", x, plugins=library("leaky_relu")), [math.exp(v if v >= 0 else 0.5 * v) for v in x], 1e-5)

    def test_constants_are_folded(self):
        values = self.numbers()
        self.chain("folded.onnx", [w.node("LeakyRelu", ["c"], ["a"], "org.example", alpha=0.5), w.node("Add", ["x", "a"], ["y"])],
                   initializers=[w.floats("c", [4, 6], values)])
        self.succeeds("-i", "folded.onnx", "--custom_library_so_paths", library("leaky_relu"))
        with open(self.path("folded.optimized.onnx"), "rb") as file:
            self.assertNotIn(b"LeakyRelu", file.read())
        x = self.numbers()
        self.near(self.computes("folded.optimized.onnx", x), [a + (b if b >= 0 else 0.5 * b) for a, b in zip(x, values)])

    def test_fp16_leaves_it_f32_between_casts(self):
        self.chain("half.onnx", [w.node("Relu", ["x"], ["a"]), w.node("LeakyRelu", ["a"], ["b"], "org.example"),
                                 w.node("Neg", ["b"], ["y"])])
        popef = self.popef("half.onnx", "--custom_library_so_paths", library("leaky_relu"), "--precision", "fp16")
        self.npy("h.npy", "f2", [4, 6], [0.5] * 24)
        self.succeeds(popef, "--plugins", library("leaky_relu"), "--input", "x=h.npy", "--output", "y=y.npy", command="poprt_exec run")
        self.assertEqual(self.read_npy(self.path("y.npy"))[1], [-0.5] * 24)

    def test_an_operator_may_compute_halves(self):
        self.trial("HalfBits")
        popef = self.popef("trial.onnx", "--custom_library_so_paths", library("trial"), "--precision", "fp16")
        self.npy("h.npy", "f2", [4, 6], [0.25, -1.5] * 12)
        self.succeeds(popef, "--plugins", library("trial"), "--input", "x=h.npy", "--output", "y=y.npy", command="poprt_exec run")
        self.assertEqual(self.read_npy(self.path("y.npy"))[1], [-0.25, 1.5] * 12)

    def test_attributes_of_every_kind(self):
        self.trial("Attributes", i=3, f=0.5, text="four", ints=[10, 20], floats=[0.25, 0.5])
        x = self.numbers()
        self.near(self.computes("trial.onnx", x, plugins=library("trial")), [v + 3 + 0.5 + 8 + 30 + 0.75 for v in x])
        self.near(self.computes(self.trial("Attributes"), x, plugins=library("trial")), x)

    def test_an_attribute_of_another_kind_is_an_error(self):
        self.command = "poprt_exec run"
        self.fails([self.trial("Attributes", i=0.5), "--plugins", library("trial"), "--random"], "ai.graphcore.Attributes", "'node_y'",
                   "attribute 'i' is a float, the operator expects an integer")

    def test_several_outputs_and_a_state(self):
        self.trial("SplitSign", outputs=("y", "z"))
        x = self.numbers()
        self.near(self.computes("trial.onnx", x, plugins=library("trial")), [max(v, 0) for v in x])
        self.near(self.computes("trial.onnx", x, output="z", plugins=library("trial")), [min(v, 0) for v in x])

    def test_an_unread_output(self):
        self.chain("one.onnx", [w.node("SplitSign", ["x"], ["y", "unused"], "ai.graphcore")])
        x = self.numbers()
        self.near(self.computes("one.onnx", x, plugins=library("trial")), [max(v, 0) for v in x])

    def test_a_constant_input_decides_the_shape(self):
        times = w.message(5, w.number(2, w.S64), w.message(8, "times"), w.message(9, struct.pack("<q", 2)))
        self.write("rows.onnx", w.model([w.node("RepeatRows", ["x", "times"], ["y"], "ai.graphcore")], [w.value("x", w.F32, [2, 3])],
                                        [w.value("y", w.F32, [4, 3])], [times], domains=["ai.graphcore"]))
        x = self.numbers(6)
        self.near(self.computes("rows.onnx", x, shape=(2, 3), plugins=library("trial")), x + x)

    def test_without_infer_the_model_declares_types(self):
        x = self.numbers(low=0.0)
        self.near(self.computes(self.trial("Declared"), x, plugins=library("trial")), x)

    def test_an_impure_operator_is_run_each_time(self):
        self.chain("count.onnx", [w.node("Counter", ["c"], ["a"], "ai.graphcore"), w.node("Counter", ["c"], ["b"], "ai.graphcore"),
                                  w.node("Sub", ["b", "a"], ["d"]), w.node("Add", ["x", "d"], ["y"])],
                   initializers=[w.floats("c", [4, 6], [0.0] * 24)])
        self.near([abs(v) for v in self.computes("count.onnx", [0.0] * 24, plugins=library("trial"))], [1.0] * 24)

    def test_a_kernel_that_fails_fails_the_request(self):
        popef = self.popef(self.trial("RefuseNegative"), "--custom_library_so_paths", library("trial"))
        self.near(self.computes(popef, [1.0] * 24, plugins=library("trial")), [1.0] * 24)
        self.command = "poprt_exec run"
        for value, why in ((-2.5, "element 0 is -2.5, expected at least 0"), (-200.0, "returned an error without a message"),
                           (-2000.0, "threw an exception: the number is far too small")):
            self.npy("in.npy", "f4", [4, 6], [value] * 24)
            self.fails([popef, "--plugins", library("trial"), "--input", "x=in.npy"], "ai.graphcore.RefuseNegative", "'node_y'", why)

    def test_a_kernel_that_fails_on_one_of_several_ipus_fails_the_request(self):
        nodes = [w.node("RefuseNegative", ["x"], ["a"], "ai.graphcore")]
        nodes += [w.node(op, [a], [b]) for op, a, b in (("Tanh", "a", "b"), ("Neg", "b", "c"), ("Tanh", "c", "d"))]
        nodes.append(w.node("RefuseNegative", ["d"], ["y"], "ai.graphcore"))
        name = self.chain("several.onnx", nodes)
        for pipelined in (False, True):
            popef = self.popef(name, "--custom_library_so_paths", library("trial"), "--compiler_options", "num_ipus=2",
                               "virtual_graph_mode=auto", f"enable_pipelining={pipelined}", "batches_per_step=2")
            self.command = "poprt_exec run"
            for value, node in ((-2.5, "node_a"), (4.0, "node_y")):
                self.npy("in.npy", "f4", [4, 6], [value] * 24)
                self.fails([popef, "--plugins", library("trial"), "--input", "x=in.npy"], "ai.graphcore.RefuseNegative",
                           f"'{node}'", "expected at least 0")
            self.command = "poprt"

    def test_a_kernel_that_writes_too_much_is_found(self):
        self.command = "poprt_exec run"
        self.fails([self.trial("WritesTooMuch"), "--plugins", library("trial"), "--random"], "ai.graphcore.WritesTooMuch",
                   "wrote outside the memory of an output")

    def test_inference_that_throws_names_the_node(self):
        self.fails(["-i", self.trial("InferThrows"), "--custom_library_so_paths", library("trial")], "InferThrows", "'node_y'",
                   "threw an exception: no shape today")

    def test_another_version_of_an_operator_is_refused(self):
        popef = self.popef(self.trial("RefuseNegative"), "--custom_library_so_paths", library("trial"))
        with open(popef, "rb") as file:
            data = file.read()
        # The record ends with the plug-in, its version, the name of the node, and the version of the operator.
        at = data.index(struct.pack("<I", 6) + b"node_y" + struct.pack("<i", 3)) + 10
        self.write("other.popef", data[:at] + struct.pack("<i", 4) + data[at + 4:])
        self.command = "poprt_exec run"
        result = self.run_command("other.popef", "--plugins", library("trial"), "--random")
        self.assertEqual((result.code, result.err.count("\n")), (1, 1), result.err)
        self.assertRegex(result.err, "needs version 4 of operator ai.graphcore.RefuseNegative.* has version 3|damaged|differs|hash|corrupt")

    @needs_onnx
    def test_custom_shape_inference(self):
        """--custom_shape_inference in addition to the library, as in the manual."""
        with mock.patch.dict(os.environ, {"POPRT_PYTHON": PYTHON or sys.executable, "PYTHONPATH": PACKAGES, "PYTHONDONTWRITEBYTECODE": "1"}):
            printed = self.succeeds("--input_model", self.leaky(alpha=0.01), "--custom_library_so_paths", library("leaky_relu"),
                                 "--custom_shape_inference", os.path.join(EXAMPLES, "leaky_relu_shape.py"), "--run", "--export_popef")
        self.assertRegex(printed, r"Bs: 4\nLatency: ")
        x = self.numbers()
        self.near(self.computes("executable.popef", x, plugins=library("leaky_relu")), [v if v >= 0 else 0.01 * v for v in x])


class Patterns(PluginTest):
    """The demonstration of PopRT's manual: ReplaceReluWithNeg, and its three ways to turn patterns on."""

    def setUp(self):
        super().setUp()
        self.chain("relu.onnx", [w.node("Relu", ["x"], ["a"]), w.node("Identity", ["a"], ["y"])])
        self.x = self.numbers()

    def run_pattern(self, *words, name="relu.onnx", libraries=("replace_relu_with_neg",)):
        popef = self.popef(name, "--custom_library_so_paths", *map(library, libraries), *words)
        return self.computes(popef, self.x)

    def test_custom_patterns_turns_one_on(self):
        self.near(self.run_pattern("--compiler_options", "custom_patterns=ReplaceReluWithNeg"), [-v for v in self.x])
        self.near(self.run_pattern("--compiler_options", "custom_patterns=ReplaceReluWithNeg,InPlace:0"), [-v for v in self.x])
        self.near(self.run_pattern("--compiler_options", "custom_patterns=['ReplaceReluWithNeg:True', 'InPlace:0']"), [-v for v in self.x])

    def test_off_by_default_and_by_a_zero(self):
        expected = [max(v, 0) for v in self.x]
        self.near(self.run_pattern(), expected)
        for off in ("0", "False", "no"):
            self.near(self.run_pattern("--compiler_options", f"custom_patterns=ReplaceReluWithNeg:{off}"), expected)
        self.misused(["-i", "relu.onnx", "--custom_library_so_paths", library("replace_relu_with_neg"), "--compiler_options",
                      "custom_patterns=ReplaceReluWithNeg:maybe"], "expected ReplaceReluWithNeg:1 or ReplaceReluWithNeg:0, found")

    def test_on_by_default_and_mandatory(self):
        self.chain("sin.onnx", [w.node("Sin", ["x"], ["a"]), w.node("Cos", ["a"], ["y"])])
        expected = [2 * v + 1 for v in self.x]
        self.near(self.run_pattern(name="sin.onnx", libraries=["trial"]), expected)
        import math
        off = self.run_pattern("--compiler_options", "custom_patterns=ExpandSin:0", name="sin.onnx", libraries=["trial"])
        self.near(off, [math.sin(v) for v in self.x], 1e-5)
        self.misused(["-i", "sin.onnx", "--custom_library_so_paths", library("trial"), "--compiler_options", "custom_patterns=SkipCos:0"],
                     "'SkipCos' is mandatory")

    def test_an_output_keeps_its_name_when_its_node_goes(self):
        self.chain("cos.onnx", [w.node("Cos", ["x"], ["y"])])
        self.near(self.run_pattern(name="cos.onnx", libraries=["trial"]), self.x)

    def test_the_converted_model_does_not_show_it(self):
        ran = self.run_command("-i", "relu.onnx", "--custom_library_so_paths", library("replace_relu_with_neg"), "--compiler_options",
                               "custom_patterns=ReplaceReluWithNeg")
        self.assertEqual((ran.code, ran.err), (0, "poprt: --compiler_options has no effect without --export_popef, because it is for the "
                                                  "executable and not for the converted model\n"))
        with open(self.path("relu.optimized.onnx"), "rb") as file:
            self.assertIn(b"Relu", file.read())

    def test_an_unknown_pattern_is_one_line(self):
        self.fails(["-i", "relu.onnx", "--custom_library_so_paths", library("replace_relu_with_neg"), "--compiler_options",
                    "custom_patterns=ReplaceRelu"], "there is no pattern 'ReplaceRelu'", "ReplaceReluWithNeg")

    def test_patterns_that_go_wrong(self):
        self.chain("tan.onnx", [w.node("Tan", ["x"], ["a"]), w.node("Neg", ["a"], ["y"])])
        for name, why in (("Endless", "still matches"), ("EraseUsed", "'a', a result of Tan node 'node_a', has readers"),
                          ("Throwing", "threw an exception: nothing rhymes with it")):
            result = self.run_command("-i", "tan.onnx", "--custom_library_so_paths", library("trial"), "--compiler_options",
                                      f"custom_patterns={name}", "--export_popef")
            self.assertEqual((result.code, result.err.count("\n")), (1, 1), result.err)
            self.assertIn(f"pattern {name}", result.err)
            self.assertIn(why, result.err)
            self.assertFalse(os.path.exists(self.path("executable.popef")))


class Transforms(PluginTest):
    """The demonstration of PopRT's manual: IrSerialise."""

    def setUp(self):
        super().setUp()
        self.chain("net.onnx", [w.node("Relu", ["x"], ["a"]), w.node("HardSwish", ["a"], ["b"]), w.node("Mul", ["b", "x"], ["y"])])

    def export(self, settings, *names, model_name="net.onnx"):
        return self.succeeds("-i", model_name, "--custom_library_so_paths", *map(library, names or ("ir_serialise",)), "--compiler_options",
                             f"custom_transform_applier_settings={settings}", "--export_popef", "--overwrite")

    def dumped(self, checkpoint):
        with open(self.path(f"ir_{checkpoint}.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_ir_serialise_dumps_the_ir_as_json(self):
        self.export("{'Fwd0': ['IrSerialise']}")
        ir = self.dumped("Fwd0")
        self.assertEqual([n["type"] for n in ir["nodes"]], ["Relu", "HardSwish", "Mul"])
        self.assertEqual(ir["inputs"], [{"name": "x", "dtype": 1, "shape": [4, 6], "constant": False}])
        self.assertEqual([o["name"] for o in ir["outputs"]], ["y"])
        self.assertEqual([i["name"] for i in ir["nodes"][2]["inputs"]], [ir["nodes"][1]["outputs"][0]["name"], "x"])
        self.assertEqual(os.listdir(self.folder).count("ir_Final.json"), 0)

    def test_six_checkpoints(self):
        self.export("{" + ", ".join(f"'{c}': ['IrSerialise']" for c in CHECKPOINTS) + "}")
        types = {c: [f"{n['domain']}.{n['type']}".strip(".") for n in self.dumped(c)["nodes"]] for c in CHECKPOINTS}
        self.assertEqual(types["Fwd0"], types["Bwd0"])
        self.assertEqual(types["Fwd0"], ["Relu", "HardSwish", "Mul"])
        self.assertNotEqual(types["MainLoops"], types["Fwd0"])  # fused
        self.assertTrue(all(t.startswith("poprt.") for t in types["Final"]), types["Final"])

    def test_patterns_run_between_fwd0_and_fwd1(self):
        self.succeeds("-i", "net.onnx", "--custom_library_so_paths", library("ir_serialise"), library("replace_relu_with_neg"),
                      "--compiler_options", "custom_patterns=ReplaceReluWithNeg",
                      "custom_transform_applier_settings={'Fwd0': ['IrSerialise'], 'Fwd1': ['IrSerialise']}", "--export_popef")
        self.assertEqual(self.dumped("Fwd0")["nodes"][0]["type"], "Relu")
        self.assertEqual(self.dumped("Fwd1")["nodes"][0]["type"], "Neg")

    def test_other_spellings(self):
        self.export('{"Prealias": ["IrSerialise"]}')
        self.assertTrue(self.dumped("PreAlias")["nodes"])

    def test_settings_that_are_wrong(self):
        begin = ["-i", "net.onnx", "--custom_library_so_paths", library("ir_serialise"), "--compiler_options"]
        for settings, why in (("{'Fwd2': ['IrSerialise']}", "expected a checkpoint"), ("Fwd0", "expected {'CHECKPOINT'"),
                              ("{'Fwd0': 'IrSerialise'}", "expected {'CHECKPOINT'")):
            self.misused([*begin, f"custom_transform_applier_settings={settings}"], why)
        self.fails([*begin, "custom_transform_applier_settings={'Fwd0': ['IrSerialize']}"], "there is no transform 'IrSerialize'", "IrSerialise")

    def test_a_transform_that_fails(self):
        result = self.run_command("-i", "net.onnx", "--custom_library_so_paths", library("trial"), "--compiler_options",
                                  "custom_transform_applier_settings={'Final': ['Refuse']}", "--export_popef")
        self.assertEqual((result.code, result.err.count("\n")), (1, 1), result.err)
        self.assertRegex(result.err, "transform Refuse at Final: refused at Final with [0-9]+ nodes")
        self.assertFalse(os.path.exists(self.path("executable.popef")))


class Passes(PluginTest):
    def test_listed_and_run_by_name(self):
        given = ["--custom_library_so_paths", library("replace_add_with_sub")]
        lines = self.succeeds("--list_all_passes", *given).splitlines()
        self.assertIn("replace_add_with_sub", [line.split()[0] for line in lines])
        self.assertNotIn("replace_add_with_sub", self.succeeds("--list_all_passes"))
        rows = json.loads(self.succeeds("--list_all_passes", "--json", *given))
        self.assertEqual(rows[-1]["summary"], "puts Sub in the place of Add")
        self.chain("add.onnx", [w.node("Relu", ["x"], ["a"]), w.node("Add", ["a", "x"], ["y"])])
        self.succeeds("-i", "add.onnx", *given, "--passes", "replace_add_with_sub")
        x = self.numbers()
        self.near(self.computes("add.optimized.onnx", x), [max(v, 0) - v for v in x])

    def replaced(self, *arguments, words=()):
        """Runs replace_type on two Adds and a Mul. Returns the types of the nodes and the messages."""
        self.chain("types.onnx", [w.node("Add", ["x", "x"], ["a"]), w.node("Add", ["a", "x"], ["b"]), w.node("Mul", ["b", "x"], ["y"])])
        given = ["--pass_args", *("replace_type." + a for a in arguments)] if arguments else []
        ran = self.run_command("-i", "types.onnx", "--custom_library_so_paths", library("replace_type"), "--passes", "replace_type",
                               *given, *words)
        self.assertEqual(ran.code, 0, ran.err)
        text = self.succeeds("types.optimized.onnx", "--elide", command="poprt_exec opt")
        return re.findall(r"= (\w+)\(", text), ran.err

    def test_parameters_and_their_defaults(self):
        self.assertEqual(self.replaced("to=Sub"), (["Sub", "Sub", "Mul"], ""))
        self.assertEqual(self.replaced("to=Div", "types=Mul, Add", "most=2")[0], ["Div", "Div", "Mul"])
        types, printed = self.replaced("to=Max", "most=1", "verbose=true")
        self.assertEqual(types, ["Max", "Add", "Mul"])
        self.assertIn("1 nodes are Max now", printed)

    def test_parameters_are_listed(self):
        rows = json.loads(self.succeeds("--list_all_passes", "--json", "--custom_library_so_paths", library("replace_type")))
        self.assertEqual([(p["name"], p["kind"], p["default"], p["required"]) for p in rows[-1]["parameters"]],
                         [("types", "names", "Add", False), ("to", "text", None, True), ("most", "integer", "-1", False),
                          ("verbose", "flag", "False", False)])

    def test_parameters_that_are_wrong_are_one_line(self):
        self.chain("add.onnx", [w.node("Add", ["x", "x"], ["y"])])
        words = ["-i", "add.onnx", "--custom_library_so_paths", library("replace_type"), "--passes", "replace_type"]
        self.misused(words, "pass replace_type needs its parameter 'to': what they become")
        for given, why in (("most=few", "parameter most: expected a whole number, found 'few'"), ("verbose=maybe", "expected True or False"),
                           ("types=Add,,Mul", "names of at least one character"), ("by=3", "has no parameter 'by'; its parameters are: types, to, most, verbose")):
            self.misused([*words, "--pass_args", "replace_type.to=Sub", "replace_type." + given], "replace_type", why)

    def test_parameters_in_yaml_files(self):
        """Lists get the kind of the parameter, although the library that declares it is named later in the file."""
        self.chain("relu.onnx", [w.node("Relu", ["x"], ["a"]), w.node("Neg", ["a"], ["y"])])
        self.write("c.yaml", f"""input_model: relu.onnx
passes: [trial_words, replace_type]
pass_args:
  trial_words: {{words: [Relu=first, Neg=second]}}
  replace_type: {{types: [Neg, Abs], to: Exp, verbose: no}}
custom_library_so_paths: [{library("trial")}, {library("replace_type")}]
""".encode())
        self.succeeds("--config_yaml", "c.yaml")
        self.assertRegex(self.succeeds("relu.optimized.onnx", command="poprt_exec opt"), r'(?s)= Relu\(%x\) "my_first".*= Exp\(%a\) "my_second"')

    def test_parameters_that_were_copied_and_user_data(self):
        self.chain("relu.onnx", [w.node("Relu", ["x"], ["y"])])
        given = ["-i", "relu.onnx", "--custom_library_so_paths", library("trial"), "--passes", "trial_words"]
        for more, name in (([], "my_none"), (["--pass_args", "trial_words.words=Relu=one"], "my_one")):
            self.succeeds(*given, *more)
            self.assertIn(f'"{name}"', self.succeeds("relu.optimized.onnx", command="poprt_exec opt"))

    def test_a_parameter_that_was_not_declared(self):
        self.fails(["-i", model("relu"), "--custom_library_so_paths", library("trial"), "--passes", "trial_parameter"],
                   "pass trial_parameter", "get_parameter: 'undeclared' is not a parameter of the pass")

    def test_poprt_exec_opt_runs_it(self):
        self.chain("add.onnx", [w.node("Relu", ["x"], ["a"]), w.node("Add", ["a", "x"], ["y"])])
        text = self.succeeds("add.onnx", "--plugins", library("replace_add_with_sub"), "--passes", "replace_add_with_sub",
                             command="poprt_exec opt")
        self.assertIn("Sub(", text)
        self.assertNotIn("Add(", text)

    def test_a_pass_that_breaks_the_graph(self):
        self.chain("add.onnx", [w.node("Relu", ["x"], ["a"]), w.node("Neg", ["a"], ["y"])])
        self.fails(["-i", "add.onnx", "--custom_library_so_paths", library("trial"), "--passes", "trial_cycle"], "pass trial_cycle")

    def test_a_pass_that_misreads_an_attribute(self):
        self.fails(["-i", self.trial("Attributes"), "--custom_library_so_paths", library("trial"), "--passes", "trial_attributes"],
                   "pass trial_attributes", "attribute 'i' is of another kind")


class Hostile(PluginTest):
    """A file that is no plug-in, or a bad one, gives one clear line."""

    def refused(self, path, *facts):
        self.fails(["-i", model("relu"), "--custom_library_so_paths", path], f"plug-in '{path}'", *facts)

    def test_a_file_that_is_missing(self):
        self.fails(["-i", model("relu"), "--custom_library_so_paths", "./liboperator.so"], "plug-in './liboperator.so': cannot be found")

    def test_a_file_that_is_no_library(self):
        self.write("text.so", b"not a library")
        self.fails(["-i", model("relu"), "--custom_library_so_paths", "text.so"], "plug-in 'text.so': is no shared library")

    def test_a_truncated_library_is_refused(self):
        with open(library("leaky_relu"), "rb") as file:
            data = file.read()
        first, = struct.unpack_from("<Q", data, 32)  # the place of the program headers
        count, = struct.unpack_from("<H", data, 56)
        ends = [o + s for t, o, s in (struct.unpack_from("<I4xQ16xQ", data, first + 56 * i) for i in range(count)) if t == 1]
        for size in (0, 10, 64, 100, 4096, max(ends) // 2, max(ends) - 1):
            self.write("cut.so", data[:size])
            self.fails(["-i", model("relu"), "--custom_library_so_paths", "cut.so"], "plug-in 'cut.so': is ",
                       "truncated shared library" if size >= 64 else "no shared library")
        self.write("empty.so", b"")
        self.fails(["-i", model("relu"), "--custom_library_so_paths", "empty.so"], "is no shared library")
        os.mkdir(self.path("folder.so"))
        self.fails(["-i", model("relu"), "--custom_library_so_paths", "folder.so"], "is no shared library")

    def test_a_library_without_the_entry(self):
        self.refused(library("broken_entry"), "does not export poprt_plugin_entry")

    def test_an_entry_that_gives_nothing(self):
        self.refused(library("broken_null"), "poprt_plugin_entry returned null")

    def test_another_abi_version(self):
        self.refused(library("broken_abi"), "built for version 99 of the plug-in ABI, this poprt has 1")

    def test_an_init_that_throws(self):
        self.refused(library("broken_throws"), "init: threw an exception: the licence has expired")
        self.refused(library("broken_throws_number"), "init: threw an exception that is no std::exception")

    def test_an_init_that_fails(self):
        self.refused(library("broken_fails"), "init: needs 2 accelerators, found 0")
        self.refused(library("broken_code"), "init: returned 7 without a message")

    def test_names_that_are_taken(self):
        self.refused(library("broken_twice"), "operator org.example.Twice is added twice")
        self.fails(["-i", model("relu"), "--custom_library_so_paths", library("leaky_relu"), library("broken_taken")],
                   "operator org.example.LeakyRelu is there already, from plug-in 'leaky_relu'")
        self.refused(library("broken_pass"), "pass 'constant_folding' is one of poprt's own")

    def test_parameters_of_passes(self):
        self.refused(library("broken_default"), "pass 'broken_pass': the default of parameter 'count': expected a whole number, found 'many'")
        self.refused(library("broken_kind"), "parameter 'count' has kind 99", "update it")
        self.refused(library("broken_required"), "parameter 'count' is required, its default '3' would never be used")
        self.refused(library("broken_parameter"), "parameter of pass 'broken_pass' 'two words': expected 1 to 128 letters")
        self.refused(library("broken_two_parameters"), "parameter 'count' is there twice")

    def test_a_domain_that_is_onnx_s(self):
        self.refused(library("broken_domain"), "domain 'ai.onnx' belongs to ONNX or poprt")

    def test_a_struct_of_a_newer_poprt(self):
        self.refused(library("broken_newer"), "a field past byte", "update it")

    def test_loaded_twice_is_loaded_once(self):
        link = self.path("link.so")
        os.symlink(library("leaky_relu"), link)
        self.succeeds("-i", self.leaky(), "--custom_library_so_paths", library("leaky_relu"), library("leaky_relu"), link)

    def test_a_bad_environment_is_one_line(self):
        with mock.patch.dict(os.environ, {"POPRT_PLUGINS": f"{library('leaky_relu')}:nowhere.so"}):
            self.fails(["-i", model("relu")], "POPRT_PLUGINS: plug-in 'nowhere.so': cannot be found")
            self.command = "poprt_exec run"
            self.fails([model("relu"), "--random"], "POPRT_PLUGINS: plug-in 'nowhere.so'")


class Caching(PluginTest):
    def test_a_pattern_is_part_of_the_key(self):
        self.chain("relu.onnx", [w.node("Relu", ["x"], ["y"])])
        x = self.numbers()
        found = []
        for words in ((), ("--custom_library_so_paths", library("replace_relu_with_neg"), "--compiler_options", "enable_engine_caching=1",
                           f"cache_path={self.path('cache')}", "custom_patterns=ReplaceReluWithNeg"),
                      ("--compiler_options", "enable_engine_caching=1", f"cache_path={self.path('cache')}")):
            found.append(self.computes(self.popef("relu.onnx", *words), x))
        self.near(found[1], [-v for v in x])
        self.assertEqual(found[2], found[0])


if __name__ == "__main__":
    unittest.main()
