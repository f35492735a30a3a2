"""poprt: options about shapes and about the passes that rewrite the graph."""

import os
import re
import unittest

import onnx_writer as onnx
from option_support import SHAPE, OptionTest
from support import DIGITS, model

ABOVE_HALF = 1e5  # above the range of fp16


class ShapesBatchOpset(OptionTest):
    def test_input_shape(self):
        self.succeeds("-i", DIGITS, *SHAPE)
        self.assertIn("[2, 1, 8, 8]", self.succeeds("-i", "digits.optimized.onnx", "--show"))
        self.fails(["-i", DIGITS, "--input_shape", "image=2,3,8,8"], "axis 1 is fixed")

    def test_input_shape_of_a_number(self):
        values = [onnx.value("x", onnx.F32, ["n", 3]), onnx.value("s", onnx.F32, []), onnx.value("y", onnx.F32, ["n", 3])]
        self.write("m.onnx", onnx.model([onnx.node("Mul", ["x", "s"], ["y"])], values[:2], values[2:]))
        self.succeeds("-i", "m.onnx", "--input_shape", "x=2,3", "s=[]")
        shown = self.succeeds("-i", "m.optimized.onnx", "--show")
        self.write("c.yaml", b"input_model: m.onnx\ninput_shape: {x: [2, 3], s: []}\n")
        self.succeeds("--config_yaml", "c.yaml")
        self.assertEqual(self.succeeds("-i", "m.optimized.onnx", "--show"), shown)
        self.assertIn("input s: dtype - f32, shape - []\n", shown)
        self.fails(["-i", "m.onnx", "--input_shape", "x=[]", "--output_dir", "out"], "has another rank")

    def test_input_shape_of_an_input_that_the_model_lacks(self):
        printed = self.warned("-i", DIGITS, *SHAPE, "mask=1,2", "--allow_unknown_inputs")
        self.assertIn("the model has no input 'mask'; its inputs are: image", printed)
        self.misused(["-i", DIGITS, "--input_shape", "imag=1,1,8,8"], "the model has no input 'imag', did you mean 'image'?",
                     "--allow_unknown_inputs")

    def test_batch_size_and_batch_axis(self):
        inputs = [onnx.value(n, onnx.F32, ["n", 3]) for n in "ab"]
        self.write("m.onnx", onnx.model([onnx.node("Add", ["a", "b"], ["c"])], inputs, [onnx.value("c", onnx.F32, ["n", 3])]))
        self.succeeds("-i", "m.onnx", "--batch_size", "5", "--batch_axis", "0")
        self.assertEqual(self.succeeds("-i", "m.optimized.onnx", "--show").count("[5, 3]"), 3)
        self.succeeds("-i", "m.onnx", "--batch_size", "7")
        self.assertEqual(self.succeeds("-i", "m.optimized.onnx", "--show").count("[7, 3]"), 3)
        self.misused(["-i", "m.onnx", "--batch_axis", "0"], "--batch_size")

    def test_an_input_that_serves_all_samples(self):
        shapes = [onnx.value("x", onnx.F32, ["N", 4]), onnx.value("pos", onnx.F32, [1, 4])]
        self.write("pos.onnx", onnx.model([onnx.node("Add", ["x", "pos"], ["y"])], shapes, [onnx.value("y", onnx.F32, ["N", 4])]))
        self.fails(["-i", "pos.onnx", "--batch_size", "3"], "input 'pos' is f32[1,4], axis 0 is fixed and cannot become 3; if it serves all "
                   "samples, give --input_shape of the others without --batch_size")
        self.succeeds("-i", "pos.onnx", "--input_shape", "x=3,4")

    def test_the_batch_is_where_its_name_is(self):
        inputs = [onnx.value("x", onnx.F32, ["n", 3]), onnx.value("state", onnx.F32, [2, "n", 3])]
        self.write("m.onnx", onnx.model([onnx.node("Add", ["x", "state"], ["y"])], inputs, [onnx.value("y", onnx.F32, [2, "n", 3])]))
        printed = self.succeeds("-i", "m.onnx", "--batch_size", "5", "--show")
        self.assertEqual((printed.count("[5, 3]"), printed.count("[2, 5, 3]")), (1, 2), printed)
        self.succeeds("-i", "m.onnx", "--batch_size", "5", "--run")

    def test_infer_shape_ahead(self):
        self.succeeds("-i", DIGITS, *SHAPE, "--infer_shape_ahead")
        with_it = self.tree()
        self.succeeds("-i", DIGITS, *SHAPE)
        self.assertEqual(self.tree(), with_it)

    def test_convert_version(self):
        self.succeeds("-i", model("squeeze_opset11"), "--convert_version", "13")
        self.assertIn('opset {"": 13}', self.graph("squeeze_opset11.optimized.onnx"))

    def test_remove_outputs(self):
        self.succeeds("-i", self.two_outputs(), "--remove_outputs", "z", "--export_popef")
        text = self.graph("two.optimized.onnx")
        self.assertEqual(re.findall(r"^  output %(\S+)", text, re.M), ["y"])
        self.assertNotIn("Abs", text)
        self.assertNotIn("Add", text)
        self.assertEqual(self.metadata()["remove_outputs"], "z")
        self.fails(["-i", "two.onnx", "--remove_outputs", "w"], "--remove_outputs", "no output 'w'", "'y', 'z'")
        self.fails(["-i", "two.onnx", "--remove_outputs", "y, z"], "'z' is the only output")

    def test_checkpoints(self):
        self.succeeds("-i", self.two_outputs(), "--checkpoints", "w", "--export_popef")
        self.assertEqual(re.findall(r"^  output %(\S+)", self.graph("two.optimized.onnx"), re.M), ["y", "z", "w"])
        self.npy("x.npy", "f4", [2, 3], [1, 2, 3, -4, 5, 6])
        self.succeeds("executable.popef", "--input", "x=x.npy", "--output", "w=w.npy", command="poprt_exec run")
        self.assertEqual(self.read_npy(self.path("w.npy"))[1], [2, 4, 6, -8, 10, 12])
        self.fails(["-i", "two.onnx", "--checkpoints", "none"], "--checkpoints", "no tensor 'none'")
        self.fails(["-i", "two.onnx", "--checkpoints", "x"], "--checkpoints", "'x' is an input")

    def test_check(self):
        printed = self.succeeds("-i", DIGITS, *SHAPE, "--check", "--precision", "fp16", "--export_popef")
        self.assertIn("check: the outputs differ from those of the original, within the tolerance\n", printed)
        self.succeeds("-i", self.two_outputs(), "--check", "--remove_outputs", "y", "--checkpoints", "w")
        self.succeeds("-i", model("squeeze_opset11"), "--check", "--convert_version", "13")

    def test_check_detects_changed_results(self):
        """The constant is above the range of fp16 and is clipped, which changes what the model computes."""
        nodes = [onnx.node("Add", ["x", "c"], ["y"])]
        values = [onnx.value(n, onnx.F32, [2, 3]) for n in "xy"]
        self.write("clipped.onnx", onnx.model(nodes, values[:1], values[1:], [onnx.floats("c", [1], [ABOVE_HALF])]))
        before = self.tree()
        ran = self.run_command("-i", "clipped.onnx", "--precision", "fp16", "--check", "--output_dir", "new")
        self.assertEqual(ran.code, 1)
        self.assertRegex(ran.err, r"poprt: --check: output 'y' of the converted model differs in 6 of 6 elements")
        self.assertEqual(self.tree(), before)

    def test_check_computes_with_the_numerics_of_the_executable(self):
        """Squares beyond the range of halves: NaN on the chip, and in f32 for the fast emulator."""
        nodes = [onnx.node("Mul", ["x", "c"], ["m"]), onnx.node("Mul", ["m", "m"], ["s"]), onnx.node("Sqrt", ["s"], ["y"])]
        values = [onnx.value(name, onnx.F32, [2, 3]) for name in "xy"]
        self.write("squares.onnx", onnx.model(nodes, values[:1], values[1:], [onnx.floats("c", [1], [1000])]))
        words = ["-i", "squares.onnx", "--precision", "fp16", "--check"]
        self.assertIn("within the tolerance\n", self.succeeds(*words))
        self.fails([*words, "--numerics", "faithful"], "--check: output 'y'", "nan")
        self.succeeds(*words, "--numerics", "faithful", "--enable_avoid_overflow_patterns")
        self.succeeds("-i", DIGITS, *SHAPE, "--precision", "fp16", "--check", "--precision_compare", "--numerics", "faithful")

    def test_check_knows_the_precision_of_a_pass(self):
        for name, tolerance in (("float_to_mixed", "fp16: 2 %"), ("float_to_int8", "int8: 20 %")):
            self.assertIn("tolerance: " + tolerance, self.succeeds("-i", DIGITS, *SHAPE, "--passes", name, "--check"))

    def test_check_of_a_size_that_depends_on_data(self):
        nodes = [onnx.node("Relu", ["x"], ["r"]), onnx.node("NonZero", ["r"], ["at"])]  # half of them are zero
        self.write("m.onnx", onnx.model(nodes, [onnx.value("x", onnx.F32, [8, 9])], [onnx.value("at", onnx.S64, [2, "n"])]))
        for words in ([], ["--precision", "fp16"]):
            self.assertIn("check:", self.succeeds("-i", "m.onnx", "--check", *words))

    def test_a_check_leaves_its_report_alone(self):
        self.succeeds("-i", model("relu"), "--check")
        self.assertEqual(sorted(self.tree()), ["check.json", "relu.optimized.onnx"])


class GraphOptimisation(OptionTest):
    def test_passes_order(self):
        for order in (["eliminate_identity", "sort_graph"], ["sort_graph", "eliminate_identity"]):
            self.assertEqual(self.recorded("--passes", ",".join(order))["passes"], ",".join(order))
        self.fails(["-i", model("relu"), "--passes", "nope"], "'nope'")

    def test_skip_passes(self):
        nodes = [onnx.node("Identity", ["x"], ["i"]), onnx.node("Neg", ["i"], ["y"])]
        values = [onnx.value(n, onnx.F32, [2]) for n in "xy"]
        self.write("m.onnx", onnx.model(nodes, values[:1], values[1:]))
        self.succeeds("-i", "m.onnx")
        self.assertNotIn("Identity", self.graph("m.optimized.onnx"))
        self.succeeds("-i", "m.onnx", "--skip_passes", "eliminate_identity")
        self.assertIn("Identity", self.graph("m.optimized.onnx"))
        for skipped, kind in (("sort_graph", "f16"), ("float_to_half", "f32")):  # a pass that --precision adds
            self.succeeds("-i", "m.onnx", "--skip_passes", skipped, "--precision", "fp16")
            self.assertIn(f"dtype - {kind}", self.succeeds("-i", "m.optimized.onnx", "--show"))

    def test_disable_fast_norm(self):
        self.succeeds("-i", DIGITS, *SHAPE, "--disable_fast_norm")
        self.assertNotIn("FastNorm", self.graph("digits.optimized.onnx"))
        values = [onnx.value(n, onnx.F32, [2, 4]) for n in "xy"]
        scale = onnx.floats("s", [4], [1.0, 2.0, 3.0, 4.0])
        self.write("norm.onnx", onnx.model([onnx.node("LayerNormalization", ["x", "s"], ["y"])], values[:1], values[1:], [scale]))
        words = ["-i", "norm.onnx", "--precision", "fp16"]
        self.succeeds(*words)
        self.assertNotIn("FastNorm", self.graph("norm.optimized.onnx"))
        self.succeeds(*words, "--passes", "replace_groupnorm_with_fast_norm", "--check")
        self.assertIn("ai.graphcore.FastNorm(", self.graph("norm.optimized.onnx"))

    def test_enable_insert_remap_remap_mode(self):
        found = self.recorded("--enable_insert_remap", "--remap_mode", "after_matmul,", "before_add")
        self.assertEqual((found["enable_insert_remap"], found["remap_mode"]), ("1", "after_matmul,before_add"))
        self.assertEqual(self.recorded("--enable_insert_remap", "--remap_mode", "both")["remap_mode"], "both")
        self.misused(["-i", model("relu"), "--enable_insert_remap", "--remap_mode", "around_add"], "--remap_mode", "'around_add'")
        self.assertIn("no effect without `enable_insert_remap`", self.warned("-i", model("relu"), "--remap_mode", "before_add"))

    def test_max_tensor_size(self):
        nodes = [onnx.node("Add", ["c", "c"], ["d"]), onnx.node("Add", ["x", "d"], ["y"])]
        values = [onnx.value(n, onnx.F32, [8]) for n in "xy"]
        self.write("m.onnx", onnx.model(nodes, values[:1], values[1:], [onnx.floats("c", [8], [1.0] * 8)]))
        self.misused(["-i", "m.onnx", "--max_tensor_size", "0"], "--max_tensor_size", "-1 for no limit or at least 1")
        for size, adds in (("31", 2), ("32", 1), ("-1", 1)):
            self.succeeds("-i", "m.onnx", f"--max_tensor_size={size}")
            self.assertEqual(self.graph("m.optimized.onnx").count("Add("), adds)

    def products(self):
        """y = (x a + b) * (x c), 4 columns each; nodes node_p (MatMul), node_q (Add), node_r (MatMul), node_y."""
        nodes = [onnx.node("MatMul", ["x", "a"], ["p"]), onnx.node("Add", ["p", "b"], ["q"]),
                 onnx.node("MatMul", ["x", "c"], ["r"]), onnx.node("Add", ["r", "d"], ["s"]),
                 onnx.node("Mul", ["q", "s"], ["y"])]
        weights = [onnx.floats(n, s, [0.25 * i - k for i in range(int(s[0]) * (s[1] if len(s) > 1 else 1))])
                   for k, (n, s) in enumerate([("a", [3, 4]), ("b", [4]), ("c", [3, 4]), ("d", [4])])]
        values = [onnx.value("x", onnx.F32, [2, 3]), onnx.value("y", onnx.F32, [2, 4])]
        return self.write("products.onnx", onnx.model(nodes, values[:1], values[1:], weights))

    def converts_alike(self, path, *words):
        """Returns the converted model, whose results equal those of the original except for rounding (--check)."""
        printed = self.succeeds("-i", path, "--check", *words)
        self.assertRegex(printed, "check: the outputs (are those of the original|differ .*, within the tolerance)\n")
        return self.graph(os.path.basename(path).replace(".onnx", ".optimized.onnx"))

    def test_merge_matmul(self):
        self.products()
        self.assertEqual(self.converts_alike("products.onnx", "--merge_matmul", "node_p,node_r").count("MatMul("), 1)
        self.fails(["-i", "products.onnx", "--merge_matmul", "node_p,other"], "there is no node 'other'", "'node_r'")
        self.fails(["-i", "products.onnx", "--merge_matmul", "node_p,node_p"], "MatMul node 'node_p' is named twice")

    def test_merge_matmul_add(self):
        self.products()
        made = self.converts_alike("products.onnx", "--merge_matmul_add", "node_p,node_q,node_r,node_s")
        self.assertEqual((made.count("MatMul("), made.count("Add("), made.count("Split(")), (1, 1, 1))
        self.fails(["-i", "products.onnx", "--merge_matmul_add", "node_p,node_q,node_p,node_q"], "node 'node_p' is named twice")

    def test_merge_moe(self):
        self.products()
        made = self.converts_alike("products.onnx", "--merge_moe", "node_p,node_q,node_r,node_s")
        self.assertEqual((made.count("MatMul("), made.count("Add(")), (1, 1))
        self.fails(["-i", "products.onnx", "--merge_moe", "node_p,node_q,node_p,node_q"], "'node_p' is in two of the named branches")

    def test_serialize_matmul(self):
        self.products()
        made = self.converts_alike("products.onnx", "--serialize_matmul", "node_p=2", "node_r=3/reducing_dim/True")
        self.assertEqual(made.count("MatMul("), 5)
        self.fails(["-i", "products.onnx", "--serialize_matmul", "node_p=3"], "the factor 3 does not divide dimension 1")

    def test_serialize_matmul_add(self):
        self.products()
        made = self.converts_alike("products.onnx", "--serialize_matmul_add", "node_p/node_q=4")
        self.assertEqual((made.count("MatMul("), made.count("Add(")), (5, 5))

    def test_enable_erf_gelu(self):
        nodes = [onnx.node("Div", ["x", "root"], ["d"]), onnx.node("Erf", ["d"], ["e"]), onnx.node("Add", ["e", "one"], ["o"]),
                 onnx.node("Mul", ["x", "o"], ["h"]), onnx.node("Mul", ["h", "half"], ["y"])]
        numbers = [onnx.floats(n, [], [v]) for n, v in (("root", 2 ** 0.5), ("one", 1.0), ("half", 0.5))]
        values = [onnx.value(n, onnx.F32, [2, 3]) for n in "xy"]
        self.write("gelu.onnx", onnx.model(nodes, values[:1], values[1:], numbers))
        self.assertIn("ai.graphcore.GeluErf(", self.converts_alike("gelu.onnx", "--enable_erf_gelu"))
        self.assertNotIn("Gelu(", self.converts_alike("gelu.onnx"))

    def test_merge_if_with_same_cond(self):
        f32 = [onnx.value(n, onnx.F32, [2]) for n in "xyzab"]

        def branches(op, other):
            return {k: onnx.graph([onnx.node(o, ["x"], ["a"])], [], [f32[3]])
                    for k, o in (("then_branch", op), ("else_branch", other))}

        nodes = [onnx.node("If", ["c"], ["y"], **branches("Neg", "Exp")), onnx.node("If", ["c"], ["z"], **branches("Abs", "Relu"))]
        self.write("if.onnx", onnx.model(nodes, [onnx.value("c", onnx.BOOL, []), f32[0]], f32[1:3]))
        self.assertEqual(self.converts_alike("if.onnx").count("If("), 2)
        self.assertEqual(self.converts_alike("if.onnx", "--merge_if_with_same_cond").count("If("), 1)

    def test_enable_compress_pattern(self):
        nodes = [onnx.node("Compress", ["x", "m"], ["k"], axis=1), onnx.node("ReduceSum", ["k"], ["y"])]
        values = [onnx.value("x", onnx.F32, [2, 4]), onnx.value("m", onnx.BOOL, [4]), onnx.value("y", onnx.F32, [1, 1])]
        self.write("compress.onnx", onnx.model(nodes, values[:2], values[2:]))
        self.assertIn("MaskCompress(", self.converts_alike("compress.onnx", "--enable_compress_pattern"))

    def test_fold_periodic_initializer(self):
        values = [onnx.value(n, onnx.F32, [64, 16]) for n in "xy"]
        constant = onnx.floats("c", [64, 16], [1.0, 2.0, 3.0, 4.0] * 256)
        self.write("m.onnx", onnx.model([onnx.node("Add", ["x", "c"], ["y"])], values[:1], values[1:], [constant]))
        self.assertIn("Tile(", self.converts_alike("m.onnx", "--fold_periodic_initializer"))
        self.assertLess(os.path.getsize(os.path.join(self.folder, "m.optimized.onnx")), 1000)

    def test_apply_hcsr(self):
        values = [onnx.value(n, onnx.F32, [2, 1]) for n in "abcy"]
        nodes = [onnx.node("Sub", ["a", "b"], ["p"]), onnx.node("Mul", ["p", "c"], ["y"])]
        self.write("m.onnx", onnx.model(nodes, values[:3], values[3:]))
        self.succeeds("-i", "m.onnx", "--export_popef", "--apply_hcsr", "fp32,[2,1],50")
        self.assertIn("input %hcsr_a : f32[3,2,1]", self.graph("m.optimized.onnx"))
        self.succeeds("--popef", "executable.popef", "--runner", "hostConcatRunner", "--iteration", "1",
                      command="poprt_exec poprt_run_popef")
        self.assertIn("Bs: 2\n", self.succeeds("-i", "m.onnx", "--apply_hcsr", "fp32,[2,1],50", "--run"))
        self.fails(["-i", "m.onnx", "--apply_hcsr", "int32,[2,1]"], "the model has no input of type s32[2,1]")
        self.fails(["-i", "m.onnx", "--apply_hcsr", "fp32"], "the shape in brackets is missing")

    def test_pack_args(self):
        model_path = self.sums()
        self.succeeds("-i", model_path, "--export_popef", "--pack_args", "max_valid_num=4", "segment_max_size=8",
                      "enable_double_batch_unpack=false")
        made = self.graph("sums.optimized.onnx")
        self.assertIn("input %unpack_info : s32[4,1]", made)
        self.assertIn("ai.graphcore.Unpack(", made)
        # Only the timeout is given, because the file has the other settings.
        self.succeeds("--popef", "executable.popef", "--runner", "packRunner", "--packTimeout", "500", "--iteration", "5",
                      command="poprt_exec poprt_run_popef")
        self.assertIn("enable_double_batch_unpack=false", self.metadata()["pack_args"])

    def test_pack_args_in_yaml(self):
        self.sums()
        self.write("c.yaml", b"input_model: sums.onnx\npack_args: [max_valid_num=4, segment_max_size=3+5]\n")
        self.succeeds("--config_yaml", "c.yaml")
        self.assertIn("input %unpack_info : s32[4,2]", self.graph("sums.optimized.onnx"))

    def test_pack_args_that_are_wrong(self):
        model_path = self.sums()
        for words, part in ((["max_valid_num=4"], "found no segment_max_size"), (["segment_max_size=8"], "found no max_valid_num"),
                            (["max_valid_num=4", "segment_max_size=8", "length=3"], "there is no key 'length'"),
                            (["max_valid_num=0", "segment_max_size=8"], "found '0'"), (["max_valid_num"], "expected KEY=VAL"),
                            (["max_valid_num=4", "segment_max_size=8+"], "found '8+'"),
                            (["max_valid_num=4", "segment_max_size=8", "max_valid_num=5"], "twice")):
            with self.subTest(words):
                self.misused(["-i", model_path, "--pack_args", *words], "--pack_args", part)
        for words, part in ((["segment_max_size=9"], "rows of 8"), (["segment_max_size=8", "dynamic_groups=[[z]]"], "no input 'z'"),
                            (["segment_max_size=8", "head_pattern=Conv:1"], "no nodes of the model match")):
            with self.subTest(words):
                self.fails(["-i", model_path, "--pack_args", "max_valid_num=4", *words], part)
        self.assertEqual(list(self.tree()), ["sums.onnx"])

    def sums(self):
        """y = x + the sum of x's row."""
        values = [onnx.value(n, onnx.F32, [2, 8]) for n in "xy"]
        nodes = [onnx.node("ReduceSum", ["x", "axes"], ["s"], keepdims=1), onnx.node("Add", ["x", "s"], ["y"])]
        axes = onnx.message(5, onnx.number(1, 1), onnx.number(2, 7), onnx.message(8, b"axes"), onnx.message(9, (1).to_bytes(8, "little")))
        return self.write("sums.onnx", onnx.model(nodes, values[:1], values[1:], [axes]))

    def test_pass_args(self):
        self.products()
        made = self.converts_alike("products.onnx", "--passes", "merge_matmul", "--pass_args",
                                   "merge_matmul.names=node_p,node_r")
        self.assertEqual(made.count("MatMul("), 1)
        self.misused(["-i", "products.onnx", "--passes", "merge_matmul"], "needs its parameter 'names'")
        self.misused(["-i", "products.onnx", "--passes", "merge_matmul", "--pass_args", "merge_matmul.names="], "needs its parameter 'names'")
        self.misused(["-i", "products.onnx", "--pass_args", "merge_matmul"], "expected PASS.PARAMETER=TEXT")
        for twice in (["--passes", "merge_matmul", "--pass_args", "merge_matmul.names=node_p,node_r", "merge_matmul.names=node_r,node_p"],
                      ["--merge_matmul", "node_p,node_r", "--pass_args", "merge_matmul.names=node_p,node_r"]):
            self.misused(["-i", "products.onnx", *twice], "--pass_args: merge_matmul.names is given twice")
        self.fails(["-i", "products.onnx", "--pass_args", "merge_matmul.names=node_p,node_r"],
                   "'merge_matmul.names=node_p,node_r' has no effect", "--passes")
        self.succeeds("-i", "products.onnx", "--check", "--pass_args", "constant_folding.max_tensor_size=64")  # it always runs
        self.misused(["-i", "products.onnx", "--passes", "sort_graph", "--pass_args", "sort_graph.x=1"], "no parameter 'x'")

    def test_serialize_matmul_grammar(self):
        for word, why in (("m", "no name"), ("m=0", "factor"), ("m=x", "factor"), ("m=2/rows", "mode"), ("m=2/none/yes", "KEEP"),
                          ("m=2/none/True/x", "KEEP")):
            self.misused(["-i", model("relu"), "--serialize_matmul", word], "--serialize_matmul", f"'{word}'", why)

    def test_serialize_matmul_add_grammar(self):
        for word in ("m=2", "m/a", "m/a=0", "m/a=2/none"):
            self.misused(["-i", model("relu"), "--serialize_matmul_add", word], "--serialize_matmul_add", f"'{word}'")

    def test_merge_matmul_add_and_moe_take_pairs(self):
        for option in ("--merge_matmul_add", "--merge_moe"):
            self.misused(["-i", model("relu"), option, "a,b,c"], option, "pairs")
        self.misused(["-i", model("relu"), "--merge_matmul", "a,,b"], "--merge_matmul", "empty name")


if __name__ == "__main__":
    unittest.main()
