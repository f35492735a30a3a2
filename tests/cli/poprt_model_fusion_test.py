"""poprt --config_yaml with model_fusion: several models in one executable."""

import json
import os
import re
import unittest

import onnx_writer as onnx
from support import DIGITS, CommandTest, model

# PopRT's manual shows these two and this file.
CONFIG = """output_dir: './'
export_popef: True
ipu_version: ipu21
model_fusion:
  - input_model: 'model0.onnx'
    input_shape: ['X=1,2', 'Y=1,2']
    precision: 'fp32'
  - input_model: 'model1.onnx'
    input_shape: ['X=1,1']
    precision: 'fp16'
"""


def integers(name, values):
    """A one-dimensional initialiser of s64."""
    return onnx.message(5, onnx.number(1, len(values)), onnx.number(2, onnx.S64), onnx.message(8, name),
                        onnx.message(7, b"".join(onnx.varint(v) for v in values)))


def add_reshape():
    f32 = [onnx.value(n, onnx.F32, ["n", 2]) for n in ("X", "Y")]
    nodes = [onnx.node("Add", ["X", "Y"], ["sum"]), onnx.node("Reshape", ["sum", "shape"], ["Z"])]
    return onnx.model(nodes, f32, [onnx.value("Z", onnx.F32, [2])], [integers("shape", [2])])


def concat(opset=17):
    return onnx.model([onnx.node("Concat", ["X", "constant"], ["Y"], axis=1)], [onnx.value("X", onnx.F32, ["n", 1])],
                      [onnx.value("Y", onnx.F32, ["n", 3])], [onnx.floats("constant", [1, 2], [1.5, 2.0])], opset)


class ModelFusion(CommandTest):
    command = "poprt"

    def config(self, text=CONFIG):
        self.write("config.yaml", text.encode())
        return ["--config_yaml", "config.yaml"]

    def documented(self):
        self.write("model0.onnx", add_reshape())
        self.write("model1.onnx", concat())

    def test_other_models_do_not_replace_the_executable(self):
        self.documented()
        self.succeeds(*self.config())
        self.write("model2.onnx", onnx.model([onnx.node("Neg", ["p"], ["q"])], [onnx.value("p", onnx.F32, [2])],
                                             [onnx.value("q", onnx.F32, [2])]))
        other = "export_popef: True\nmodel_fusion:\n  - input_model: model2.onnx\n"
        refused = "executable.popef' contains another model with the name 'model_fusion', whose inputs are graph0/X, graph0/Y"
        for more in ("", "check: True\n", "output: executable.popef\n", "output_model: other.onnx\n"):
            self.fails(self.config(more + other), refused, "not graph0/p", "--overwrite")
        self.succeeds(*self.config(CONFIG))
        self.succeeds(*self.config("overwrite: True\n" + other))
        self.assertIn("graph0/p", self.succeeds("executable.popef", command="popef_dump"))

    def test_the_documented_example(self):
        self.documented()
        printed = self.succeeds(*self.config())
        self.assertIn("executable: ", printed)
        self.assertEqual({n for n in self.tree() if not n.startswith("model") or "." not in n},
                         {"config.yaml", "executable.popef"})
        dump = self.succeeds("executable.popef", command="popef_dump")
        for name, shape in (("graph0/X", "[1,2]"), ("graph0/Y", "[1,2]"), ("graph1/X", "[1,1]"), ("index", "[1]"),
                            ("graph0/Z", "[2]"), ("graph1/Y", "[1,3]")):
            self.assertIn(name, dump)
            self.assertIn(shape.replace(",", ", "), dump.replace(",", ", ").replace(",  ", ", "))
        self.assertIn("poprt.branches", dump)
        recorded = self.succeeds("-m", "executable.popef", command="popef_dump")
        self.assertRegex(recorded, r"graph1/precision = fp16")
        self.assertRegex(recorded, r"graph0/ipu_version = ipu21")

    def test_the_converted_model_is_both_and_compiles_to_the_same(self):
        self.documented()
        self.succeeds(*self.config())
        shown = self.succeeds("-i", "model_fusion.optimized.onnx", "--show")
        for name in ("graph0/X", "graph0/Y", "graph1/X", "index", "graph0/Z", "graph1/Y"):
            self.assertIn(name, shown)
        self.succeeds("-i", "model_fusion.optimized.onnx", "--output", "again.popef", "--output_model", "again.onnx")
        listing = re.compile(r"^  (\S+)", re.M)
        first, again = (listing.findall(self.succeeds(f, command="popef_dump")) for f in ("executable.popef", "again.popef"))
        self.assertEqual([n for n in first if n.startswith("graph")], [n for n in again if n.startswith("graph")])

    def test_both_run(self):
        self.documented()
        printed = self.succeeds(*self.config(CONFIG + "run: True\n"))
        self.assertRegex(printed, r"graph0: model0\nBs: 1\nLatency: .*\nTput: .*\nEstimate for a chip .*\n(?:  .*\n)+graph1: model1\nBs: 1\n")

    def test_poprt_exec_runs_the_one_whose_inputs_are_given(self):
        self.documented()
        self.succeeds(*self.config())
        self.npy("x.npy", "f2", [1, 1], [0])
        self.npy("ones.npy", "f4", [1, 2], [1, 1])
        self.npy("twos.npy", "f4", [1, 2], [2, 2])
        run = "poprt_exec run"
        self.succeeds("executable.popef", "--input", "graph1/X=x.npy", "--output", "graph1/Y=y.npy", command=run)
        self.assertEqual(self.read_npy(self.path("y.npy"))[1], [0, 1.5, 2])
        printed = self.succeeds("executable.popef", "--input", "graph0/X=ones.npy", "graph0/Y=twos.npy", "--output",
                             "graph0/Z=z.npy", command=run)
        self.assertNotIn("graph1", printed)
        self.assertEqual(self.read_npy(self.path("z.npy"))[1], [3, 3])
        for words, why in ((["--random"], "several models; give the inputs of one"), (["--input", "graph0/X=ones.npy"], "graph0/Y")):
            result = self.run_command("executable.popef", *words, command=run)
            self.assertEqual((result.code, result.err.count("\n")), (1, 1), result.err)
            self.assertIn(why, result.err)
        result = self.run_command("--popef", "executable.popef", "--index", "1", command="poprt_exec poprt_run_popef")
        self.assertEqual(result.code, 0, result.err)

    def test_it_cannot_be_compiled_again_by_itself(self):
        self.documented()
        self.succeeds(*self.config())
        result = self.run_command("executable.popef", "--force", command="poprt_exec recompile")
        self.assertEqual((result.code, result.err.count("\n")), (1, 1), result.err)
        self.assertIn("several models; compile them again and fuse them", result.err)

    def test_options_outside_are_for_all_models_and_a_models_own_come_first(self):
        self.documented()
        self.succeeds(*self.config("export_popef: True\nprecision: fp16\nmodel_fusion:\n"
                                   "  - {input_model: model0.onnx, input_shape: [X=1,2, Y=1,2]}\n".replace("X=1,2, Y=1,2", "'X=1,2', 'Y=1,2'")
                                   + "  - {input_model: model1.onnx, input_shape: ['X=1,1'], precision: fp32}\n"))
        recorded = self.succeeds("-m", "executable.popef", command="popef_dump")
        self.assertRegex(recorded, r"graph0/precision = fp16")
        self.assertRegex(recorded, r"graph1/precision = fp32")

    def test_each_model_is_checked(self):
        self.documented()
        printed = self.succeeds(*self.config(CONFIG + "check: True\n"))
        self.assertIn("graph0: check: the outputs are those of the original\n  ", printed)
        self.assertIn("graph1: check: the outputs differ from those of the original, within the tolerance\n  ", printed)
        reports = [json.loads(self.tree()[f"check.graph{i}.json"]) for i in range(2)]
        self.assertEqual([report["tolerance"]["precision"] for report in reports], ["fp32", "fp16"])

    def test_the_same_model_twice_is_stored_once(self):
        one = f"{{input_model: {DIGITS}, input_shape: ['image=8,1,8,8']}}"
        self.succeeds(*self.config(f"export_popef: True\nmodel_fusion: [{one}]\n"))
        once = os.path.getsize(self.path("executable.popef"))
        self.succeeds(*self.config(f"export_popef: True\nmodel_fusion: [{one}, {one}, {one}]\n"))
        self.assertLess(os.path.getsize(self.path("executable.popef")), once * 1.5)

    def test_halves_that_winograd_transforms_stay_halves(self):
        values = [onnx.value("x", onnx.F32, [1, 32, 16, 16]), onnx.value("y", onnx.F32, [1, 48, 16, 16])]
        weights = [onnx.floats("w", [48, 32, 3, 3], [((i * 37) % 101 - 50) / 500 for i in range(48 * 32 * 9)])]
        self.write("conv.onnx", onnx.model([onnx.node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])], values[:1], values[1:], weights))
        self.write("model1.onnx", concat())
        self.npy("x.npy", "f2", [1, 32, 16, 16], [((i * 29) % 83 - 41) / 40 for i in range(32 * 256)])
        for form in ("exact", "fast", "off"):
            given = ["--winograd", form, "--precision", "fp16"]
            self.succeeds("-i", "conv.onnx", *given, "-o", "alone.popef", "--overwrite")
            self.succeeds("alone.popef", "--input", "x=x.npy", "--output", "y=alone.npy", command="poprt_exec run")
            self.succeeds(*self.config(f"export_popef: True\noverwrite: True\nwinograd: {form}\nprecision: fp16\nmodel_fusion:\n"
                                       "  - {input_model: model1.onnx, input_shape: ['X=1,1']}\n  - {input_model: conv.onnx}\n"))
            self.succeeds("executable.popef", "--input", "graph1/x=x.npy", "--output", "graph1/y=fused.npy", command="poprt_exec run")
            self.assertEqual(self.tree()["fused.npy"], self.tree()["alone.npy"], form)
            # The fused executable has the same 27 KB of weights, and one more program.
            self.assertLess(os.path.getsize(self.path("executable.popef")), os.path.getsize(self.path("alone.popef")) + 8192, form)

    def test_models_of_several_opsets(self):
        self.write("model0.onnx", add_reshape())
        self.write("model1.onnx", concat(opset=12))
        self.succeeds(*self.config())

    def test_refuses_invalid_configurations_with_one_line(self):
        self.documented()
        for text, why in (("model_fusion: []", "no models in the list"), ("model_fusion: a", "expected a list of models"),
                          ("model_fusion: [a]", "expected a mapping"), ("model_fusion: [{precision: fp16}]", "has no input_model"),
                          ("model_fusion: [{input_model: a.onnx, run: True}]", "run is for all models"),
                          ("input_model: a.onnx\nmodel_fusion: [{input_model: b.onnx}]", "the models are given in the list model_fusion"),
                          ("model_fusion: [{input_model: a.onnx, precison: fp16}]", "did you mean precision?"),
                          ("model_fusion: [{input_model: a.onnx}]\nmodel_fusion: [{input_model: a.onnx}]", "given twice")):
            with self.subTest(text):
                self.fails(self.config(text), "--config_yaml: config.yaml:", why, code=2)
        self.fails(self.config("export_popef: True\nmodel_fusion: [{input_model: model0.onnx}]"), "input 'X'")
        self.fails(self.config("export_popef: True\nmodel_fusion: [{input_model: none.onnx}]"), "none.onnx")

    def test_errors_of_a_model_name_it(self):
        self.documented()
        first = "model_fusion:\n  - {input_model: model0.onnx, input_shape: ['X=1,2', 'Y=1,2']}\n  - {input_model: model1.onnx"
        shape = "input_shape: ['X=1,1']"
        self.write("cut.txt", b"- a\n")
        for head, more, code in (("export_popef: True\n", "", 1), ("", ", input_shape: ['X=1']", 1),
                                 ("", ", batch_size: 2", 1), ("", ", input_shape: ['X=1,1,1']", 1),
                                 ("", f", {shape}, passes: none", 1), ("", f", {shape}, custom_library_so_paths: none.so", 1),
                                 ("", f", {shape}, compiler_options: none=1", 2),
                                 ("", f", {shape}, manual_sharding_config: cut.txt", 2)):
            with self.subTest(more=more):
                self.fails(self.config(f"{head}{first}{more}}}\n"), "poprt: graph1 (model1.onnx): ", code=code)
        shown = self.run_command(*self.config(f"show: True\n{first}, input_shape: ['X=1,1,1']}}\n"))
        self.assertEqual((shown.code, shown.err.partition(" input")[0]), (1, "poprt: graph1 (model1.onnx):"))
        self.fails(self.config("model_fusion: [{input_model: none.onnx}]"), "poprt: graph0 (none.onnx): cannot open 'none.onnx'")

    def test_a_model_that_is_not_fused(self):
        self.fails(["-i", model("relu"), "--export_popef", "--compiler_options", "enable_model_fusion=True",
                    "--disable_compilation_progress_bar"], "enable_model_fusion: the model is not a fused one")


if __name__ == "__main__":
    unittest.main()
