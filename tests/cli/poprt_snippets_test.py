"""poprt as the manual of PopRT 1.5 and published programs call it: whole command lines, feature by feature, and
malicious input. Each option by itself is in poprt_options*_test.py."""

import json
import os
import re
import unittest
import zipfile

import onnx_writer as onnx
from support import DIGITS, ROOT, CommandTest, model

TRANSFORMER = os.path.join(ROOT, "tests", "data", "precision", "transformer.onnx")
SHAPE = ["--input_shape", "image=2,1,8,8"]
FP8 = ["-i", DIGITS, *SHAPE, "--ipu_version", "ipu21"]


class SnippetTest(CommandTest):
    command = "poprt"

    def graph(self, path):
        return self.succeeds(path, "--elide", command="poprt_exec opt")

    def metadata(self, path="executable.popef"):
        text = self.succeeds("-m", path, command="popef_dump")
        return dict(re.findall(r"^    (\S+) = (.*)$", text.split("engine_options:")[1].split("device_options")[0], re.M))

    def ops(self, path):
        return [n["op_type"] for n in json.loads(self.succeeds(path, "--json", command="poprt_exec flops"))["nodes"]]


class QuickStart(SnippetTest):
    def bert_like(self):
        """Writes a model with names of tensors as those of TensorFlow."""
        values = [onnx.value(n, onnx.F32, ["unk__1", 4]) for n in ("input_ids:0", "segment_ids:0", "unstack:0")]
        self.write("bert.onnx", onnx.model([onnx.node("Add", ["input_ids:0", "segment_ids:0"], ["unstack:0"])], values[:2], values[2:]))

    def test_convert_run_and_export_in_one_call(self):
        self.bert_like()
        text = self.succeeds("--input_model", "bert.onnx", "--input_shape", "input_ids:0=2,4", "segment_ids:0=2,4", "--precision", "fp16",
                             "--output_model", "bert_fp16.onnx", "--export_popef", "--run", "--output_dir", "./out/")
        for line in (r"^Bs: 2$", r"^Latency: \d+\.\d{2,4}ms$", r"^Tput: \d+$"):
            self.assertRegex(text, re.compile(line, re.M))
        self.assertEqual(sorted(self.tree()), ["bert.onnx", "out", "out/bert_fp16.onnx", "out/executable.popef"])
        self.assertEqual(self.succeeds("-i", "out/bert_fp16.onnx", "--show").count("dtype - f16, shape - [2, 4]"), 3)
        self.assertIn("batch size: 2", self.succeeds("--popef", "out/executable.popef", "--iteration", "3",
                                                     command="poprt_exec poprt_run_popef"))

    def test_options_in_any_order_and_spelling(self):
        self.bert_like()
        shapes = ["--input_shape", "input_ids:0=2,4", "segment_ids:0=2,4"]
        made = set()
        for words in (["-i", "bert.onnx", *shapes, "--precision", "fp16"], [*shapes, "--precision", "fp16", "-i", "bert.onnx"],
                      ["--precision=fp16", "--input_model=bert.onnx", "--input_shape", "input_ids:0= 2, 4", "segment_ids:0=2,4"],
                      ["-i", "bert.onnx", "--input_shape=input_ids:0=2,4", "--input_shape=segment_ids:0=2,4", "--precision", "fp16"],
                      ["-i", "bert.onnx", "--batch_size", "2", "--batch_axis", "0", "--precision", "fp16"]):
            self.succeeds(*words, "--output_model", "m.onnx")
            made.add(self.tree()["m.onnx"])
        self.assertEqual(len(made), 1)

    def test_a_model_that_is_dynamic_needs_its_shape(self):
        self.bert_like()
        self.fails(["-i", "bert.onnx", "--output_dir", "out"], "'input_ids:0' is f32[unk__1,4]", "--input_shape input_ids:0=")
        self.assertEqual(self.succeeds("-i", "bert.onnx", "--show").splitlines()[0], "input input_ids:0: dtype - f32, shape - [unk__1, 4]")


    def test_dimensions_that_paddle_and_others_leave_open(self):
        """Such dimensions are negative numbers or placeholder names; two equal ones are not the same size."""
        for dims in ([2**64 - 1, 3, 2**64 - 1, 2**64 - 1], ["?", 3, "?", "?"], ["None", 3, "None", "None"], ["p2o.DynamicDimension.0", 3, "?", "p2o.DynamicDimension.1"]):
            with self.subTest(dims):
                self.write("m.onnx", onnx.model([onnx.node("GlobalAveragePool", ["x"], ["y"])], [onnx.value("x", onnx.F32, dims)],
                                                [onnx.value("y", onnx.F32, [dims[0], 3, 1, 1])], opset=11))
                shown = ", ".join(str(d) if d in (3, "p2o.DynamicDimension.0", "p2o.DynamicDimension.1") else "?" for d in dims)
                self.assertEqual(self.succeeds("-i", "m.onnx", "--show").splitlines()[0], f"input x: dtype - f32, shape - [{shown}]")
                self.succeeds("-i", "m.onnx", "--input_shape", "x=1,3,48,192", "--check", "--run", "--keep_converted")
                self.assertIn("shape - [1, 3, 48, 192]", self.succeeds("-i", "m.optimized.onnx", "--show"))


class Half(SnippetTest):
    def test_warns_of_constants_outside_the_range_of_fp16(self):
        """Constants above 65500 become 65500, a tiny epsilon becomes 1e-7."""
        nodes = [onnx.node("Add", ["x", "eps"], ["a"]), onnx.node("Mul", ["a", "big"], ["y"])]
        values = [onnx.value(n, onnx.F32, [3]) for n in "xy"]
        self.write("m.onnx", onnx.model(nodes, values[:1], values[1:], [onnx.floats("eps", [1], [1e-12]), onnx.floats("big", [3], [1e6, -1e6, 2.0])]))
        ran = self.run_command("-i", "m.onnx", "--precision", "fp16")
        self.assertEqual((ran.code, ran.err.count("\n")), (0, 2), ran.err)
        self.assertRegex(ran.err, r" WARNING \[poprt\] .*2 elements of 1 constant were beyond the range of f16 and became \+-65500: "
                                  r"'big' contains 1e\+06\n")
        self.assertRegex(ran.err, r" WARNING \[poprt\] .*1 element of 1 constant was too small for f16 and became \+-1e-07: "
                                  r"'eps' contains 1e-12\n")
        text = self.succeeds("m.optimized.onnx", command="poprt_exec opt")
        self.assertRegex(text, r"%eps : f16\[1\] = \[1\.19\d*e-07\]")  # the f16 next to 1e-7
        self.assertRegex(text, r"%big : f16\[3\] = \[65504\.0, -65504\.0, 2\.0\]")  # the f16 next to 65500
        # The compiler and a check convert the model again, but warnings are printed once.
        for more in (["--export_popef"], ["--export_popef", "--run"], ["--run"], ["--check", "--export_popef"]):
            again = self.run_command("-i", "m.onnx", "--precision", "fp16", "--overwrite", *more)
            self.assertEqual(again.err.count(" WARNING "), 2, (more, again.err))
        quiet = self.run_command("-i", "m.onnx", "--precision", "fp16", "--logging_level", "ERROR")
        self.assertEqual((quiet.code, quiet.err), (0, ""))

    def test_names_a_few_constants_outside_the_range_of_fp16(self):
        nodes = [onnx.node("Add", ["x", f"c{i}"], [f"y{i}"]) for i in range(4)]
        constants = [onnx.floats(f"c{i}", [2], [-7e4 - i, 8e4]) for i in range(4)]
        self.write("m.onnx", onnx.model(nodes, [onnx.value("x", onnx.F32, [2])], [onnx.value(f"y{i}", onnx.F32, [2]) for i in range(4)], constants))
        ran = self.run_command("-i", "m.onnx", "--precision", "fp16")
        self.assertIn("8 elements of 4 constants were beyond the range of f16 and became +-65500: 'c0' contains 80000, 'c1' contains 80000, "
                      "'c2' contains 80000, ...\n", ran.err)


class Float8(SnippetTest):
    def data(self):
        self.npy("image.npy", "f4", [20, 1, 8, 8], [((7 * i) % 17) / 16 for i in range(20 * 64)])
        with zipfile.ZipFile(self.path("data.npz"), "w") as archive:
            archive.write(self.path("image.npy"), "image.npy")

    def test_formats_for_images(self):
        """The formats are those for ResNet50: scales are -3, and the first Conv and the last Gemm stay fp16."""
        self.succeeds(*FP8, "--precision", "fp8", "--fp8_params", "F143,F143,-3,-3", "--fp8_skip_op_names", "/0/Conv, /15/Gemm", "--run",
                      "--keep_converted")
        found = self.ops("digits.optimized.onnx")
        self.assertEqual((found.count("FP8Conv"), found.count("FP8MatMul")), (2, 1))
        text = self.graph("digits.optimized.onnx")
        self.assertIn('fp8FormatLHS = "F143"', text)
        self.assertIn("s32[] = -3", text)

    def test_calibration_by_its_names_and_by_its_earlier_ones(self):
        self.data()
        made = []
        for names in (["--calibration_with_data", "--calibration_loss_type"], ["--quantize", "--quantize_loss_type"]):
            self.succeeds(*FP8, "--precision", "fp8", names[0], names[1], "snr", "--data_preprocess", "data.npz",
                          "--num_of_layers_keep_fp16", "1", "--precision_compare", "--output_dir", "out")
            tree = self.tree()
            made.append([tree["out/" + n] for n in ("digits.optimized.onnx", "quantize.log", "precision_compare.log")])
        self.assertEqual(made[0], made[1])
        log = made[0][1].decode()
        self.assertTrue(log.startswith("precision fp8, loss snr, 5 layers\n"), log[:60])
        self.assertEqual((log.count(": stays fp16\n"), log.count("weight: chosen F1")), (1, 5))

    def test_weights_by_gptq(self):
        self.data()
        self.succeeds("-i", DIGITS, *SHAPE, "--precision", "fp8_weight", "--calibration_with_data", "--calibration_loss_type", "gptq",
                      "--data_preprocess", "data.npz", "--export_popef", "--ipu_version", "ipu21")
        self.assertIn(b"loss gptq", self.tree()["quantize.log"])
        self.misused(["-i", DIGITS, *SHAPE, "--precision", "fp8", "--ipu_version", "ipu21", "--calibration_with_data",
                      "--calibration_loss_type", "gptq", "--data_preprocess", "data.npz"], "gptq", "fp8_weight")


class Performance(SnippetTest):
    """The options of benchmarks; --check compares the result with the original model."""

    def converts(self, *words, source=TRANSFORMER):
        output = self.succeeds("-i", source, *words, "--check", "--output_model", "m.onnx")
        self.assertRegex(output, "check: the outputs (are those of the original|differ .*, within the tolerance)\n")
        return self.ops("m.onnx")

    def shape(self):
        name = self.succeeds("-i", TRANSFORMER, "--show").split()[1].rstrip(":")
        dims = re.search(r"shape - \[(.*)\]", self.succeeds("-i", TRANSFORMER, "--show"))[1].split(", ")
        return ["--input_shape", f"{name}=" + ",".join(d if d.isdigit() else "2" for d in dims)]

    def test_passes_that_benchmarks_name(self):
        remap = ["--enable_insert_remap", "--remap_mode"]
        for name, words in (
                ("ViT", ["--passes", "pre_scale,fused_attention,attention_padding", "--enable_erf_gelu", *remap, "after_matmul", "--disable_fast_norm"]),
                ("Swin", ["--passes", "attention_padding, merge_multi_slice", "--enable_erf_gelu", *remap, "after_matmul,before_add"]),
                ("RoformerV2", ["--passes", "pre_scale,matmul_rotary_embedding"]),
                ("BERT", ["--passes", "pre_scale,fused_attention,erf_gelu_pattern"]),
                ("DeBERTa", [*remap, "after_matmul,before_add", "--max_tensor_size", "6291456", "--disable_fast_norm"]),
                ("Roformer", ["--passes", "pre_scale,remove_input_cast,matmul_rotary_embedding,fused_attention,replace_groupnorm_with_fast_norm",
                              "--disable_fast_norm"]),
                ("CLIP", ["--infer_shape_ahead", "--enable_insert_remap"]),
                ("skipped", ["--skip_passes", "layer_norm_pattern"])):
            with self.subTest(name):
                found = self.converts(*self.shape(), *words)
                self.assertEqual("Remap" in found, "--enable_insert_remap" in words)

    def test_where_remaps_go(self):
        nodes = [onnx.node("MatMul", ["x", "w"], ["m"]), onnx.node("Softmax", ["m"], ["s"], axis=1), onnx.node("Concat", ["s", "m"], ["c"], axis=1),
                 onnx.node("Split", ["c"], ["p", "q"], axis=1), onnx.node("Add", ["p", "q"], ["y"])]
        values = [onnx.value(n, onnx.F32, [4, 4]) for n in "xy"]
        self.write("m0.onnx", onnx.model(nodes, values[:1], values[1:], [onnx.floats("w", [4, 4], [i / 8 for i in range(16)])], opset=11))
        for modes, around in ((["after_matmul"], ["MatMul"]), (["before_softmax"], ["Softmax"]), (["after_concat"], ["Concat"]),
                              (["after_matmul,before_add"], ["MatMul", "Add"]), (["after_matmul,", "before_add"], ["MatMul", "Add"]),
                              (["both"], ["MatMul", "Add"])):
            with self.subTest(modes):
                found = self.converts("--enable_insert_remap", "--remap_mode", *modes, source="m0.onnx")
                for op in around:
                    at = found.index(op)
                    self.assertIn("Remap", found[max(at - 2, 0):at + 2], found)
        self.assertEqual(self.converts("--enable_insert_remap", source="m0.onnx").count("Remap"), 1)  # after_matmul by default

    def test_products_in_pieces(self):
        """Names may contain slashes, because the factor, the mode and the precision follow the =."""
        weights = [onnx.floats("w", [4, 8], [i / 16 for i in range(32)])]
        values = [onnx.value("x", onnx.F32, [6, 4]), onnx.value("/enc/y", onnx.F32, [6, 8])]
        self.write("m0.onnx", onnx.model([onnx.node("MatMul", ["x", "w"], ["/enc/y"])], values[:1], values[1:], weights))
        for word, pieces in (("node_/enc/y=4", 4), ("node_/enc/y=3/input_channels", 3), ("node_/enc/y=2/output_channels/False", 2),
                             ("node_/enc/y=4/reducing_dim/True", 4)):
            with self.subTest(word):
                self.assertEqual(self.converts("--serialize_matmul", word, source="m0.onnx").count("MatMul"), pieces)

    def test_inputs_of_two_kinds_are_joined(self):
        kinds = {**{n: [512, 1] for n in "abc"}, **{n: [512, 5] for n in "de"}}
        nodes = [onnx.node("Sum", ["a", "b", "c"], ["s"]), onnx.node("Mul", ["d", "e"], ["t"]), onnx.node("Add", ["s", "t"], ["y"])]
        self.write("m.onnx", onnx.model(nodes, [onnx.value(n, onnx.F32, s) for n, s in kinds.items()], [onnx.value("y", onnx.F32, [512, 5])]))
        self.succeeds("-i", "m.onnx", "--apply_hcsr", "fp32,[512,1],50", "fp32,[512,5]", "--export_popef")
        shown = self.succeeds("-i", "m.optimized.onnx", "--show")
        self.assertEqual(re.findall(r"^input .*shape - (.*)$", shown, re.M), ["[3, 512, 1]", "[2, 512, 5]"])
        self.assertIn("runner: hostConcatRunner", self.succeeds("--popef", "executable.popef", "--runner", "hostConcatRunner", "--iteration", "2",
                                                                command="poprt_exec poprt_run_popef"))

    def test_settings_for_throughput_are_recorded(self):
        self.succeeds("-i", model("relu"), "--export_popef", "--batches_per_step", "1000", "--num_io_tiles", "192", "--ipu_version", "ipu21",
                      "--available_memory_proportion", "0.1", "--compiler_options", "group_host_sync=True", "stream_buffering_depth=2",
                      "enable_prefetch_datastreams=True", "rearrange_anchors_on_host=False", "partials_type=float", "time_limit_scheduler=0",
                      "swap_limit_scheduler=0", "custom_patterns=PadConvChannel,InPlace:0", "--popart_options", "outlineThreshold=1e-7",
                      "--optimize_internal_exchange_code")
        wanted = {"batches_per_step": "1000", "num_io_tiles": "192", "ipu_version": "ipu21", "available_memory_proportion": "0.1",
                  "group_host_sync": "True", "stream_buffering_depth": "2", "rearrange_anchors_on_host": "False", "partials_type": "float",
                  "time_limit_scheduler": "0", "swap_limit_scheduler": "0", "popart.outlineThreshold": "1e-7",
                  "custom_patterns": "PadConvChannel,InPlace:0"}
        found = self.metadata()
        self.assertEqual({name: found.get(name) for name in wanted}, wanted)


class ConfigFiles(SnippetTest):
    def config(self, text):
        self.write("c.yaml", text.encode() if isinstance(text, str) else text)
        return ["--config_yaml", "c.yaml"]

    def test_ways_of_writing_the_same(self):
        made = set()
        for text in (f"input_model: {DIGITS}\ninput_shape: [\"image=2,1,8,8\"]\nprecision: fp16\nexport_popef: True\n",
                     f"# comment\n---\nexport_popef: true  # one more\ninput_shape:\n- 'image=2,1,8,8'\nprecision: \"fp16\"\ninput_model: {DIGITS}\n...\n",
                     f"{{input_model: {DIGITS}, input_shape: 'image=2,1,8,8', precision: fp16, export_popef: TRUE}}",
                     f"input_model:\t{DIGITS}\r\ninput_shape:\r\n  - image=2, 1, 8, 8\r\nprecision: fp16\r\nexport_popef: True\r\n",
                     f"\ufeffbatch_size: 2\nbatch_axis: 0\ninput_model: {DIGITS}\nprecision: fp16\nexport_popef: True",
                     f"%YAML 1.1\n---\ninput_model: {DIGITS}\ninput_shape: image=2,1,8,8\nprecision: fp16\nexport_popef: True\nrun: False\n"):
            with self.subTest(text=text[:40]):
                self.succeeds(*self.config(text), "--overwrite")
                made.add(self.tree()["digits.optimized.onnx"])
        self.assertEqual(len(made), 1)
        # Elements of a flow list end at commas, as in Python's packages for YAML.
        self.misused(self.config(f"input_model: {DIGITS}\ninput_shape: [image=2,1,8,8]\n"), "--config_yaml: c.yaml:2: input_shape: expected NAME=d0", "found '1'")

    def test_depth_aliases_size_and_binary_input(self):
        bomb = "a: &a [x,x,x]\n" + "".join(f"{y}: &{y} [{','.join(['*' + x] * 9)}]\n" for x, y in zip("abcdefgh", "bcdefghi"))
        for text, why in ((bomb, "there is no option 'a'"), (bomb.replace("a: &a", "passes: &a", 1), "there is no option 'b'"),
                          ("passes: &a [*a]\n", "aliases are not supported"), ("<<: {precision: fp16}\n", "there is no option '<<'"),
                          ("passes: " + "[" * 10000 + "]" * 10000, "found a list or a mapping in it"),
                          ("compiler_options: " + "{a: " * 10000 + "1" + "}" * 10000, "nested too deep"),
                          ("model_fusion: " + "[" * 10000 + "]" * 10000, "expected a mapping of options"),
                          ("".join(" " * i + "a:\n" for i in range(1000)), "there is no option 'a'"),
                          ("passes:\n " + "- " * 100000 + "a\n", "found a list or a mapping in it"),
                          ("".join(f"k{i}: 1\n" for i in range(50000)), "there is no option 'k0'"), ("a" * 1000000 + ": 1\n", "expected NAME: VALUE"),
                          ("compiler_options:\n\tnum_io_tiles: 1\n", "cannot start any token"), (bytes(range(256)), "control characters"),
                          ("input_model: mm\0.onnx\n", "control characters"), ("input_model: !!str m.onnx\n", "tags are not supported"),
                          ("compiler_options: {num_io_tiles: 1, num_io_tiles: 2}\ninput_model: m.onnx\n", "num_io_tiles is given twice"),
                          ("batch_per_step: 1\nbatches_per_step: 2\n", "batches_per_step is given twice"),
                          ("--input_model: m.onnx\n", "did you mean input_model?"), ("num_io_tiles: 0x10\n", "expected a whole number"),
                          ("batch_size: 2.0\nbatch_axis: 0\n", "expected a whole number"), ("max_tensor_size: 1e3\n", "expected a whole number"),
                          ("input_model: ~\n", "has no value"), ("show: [True]\n", "expected one value, found a list"),
                          ("model_fusion: {input_model: m.onnx}\n", "expected a list of models"),
                          ("export_popef: True\nmodel_fusion: [{model_fusion: []}]\n", "there is no option 'model_fusion'"),
                          ("export_popef: True\nmodel_fusion: [{precision: fp16}]\n", "a model has no input_model")):
            with self.subTest(text[:30]):
                self.misused(self.config(text), "--config_yaml: c.yaml" if "num_io_tiles is given" not in why else "", why)

    def test_files_that_are_none(self):
        with open(self.path("large.yaml"), "wb") as file:
            file.truncate(100 << 20)
        os.symlink("/dev/zero", self.path("zero.yaml"))
        os.symlink("loop.yaml", self.path("loop.yaml"))
        for name in ("large.yaml", "zero.yaml"):
            ran = self.run_command("--config_yaml", name)
            self.assertEqual((ran.code, ran.err), (2, f"poprt: --config_yaml: '{name}' has more than 1048576 bytes; see poprt --help\n"))
        ran = self.run_command("--config_yaml", "loop.yaml")
        self.assertEqual((ran.code, ran.err), (1, "poprt: --config_yaml: cannot open 'loop.yaml': Too many levels of "
                                                 "symbolic links\n"))


class WrongShapes(SnippetTest):
    def test_shapes_that_are_none(self):
        for word in ("x=2,4,", "x=2x4", "x=[2,4]", "=2,4", "x==2,4", "x=2,4=", "x=２,4", "x=+2,4", "x=0x2,4", "x=2.0,4", "x=1e1,4", "x=-2,4",
                     "x=N,4", "x:2,4", "x=2,4//3,4", "x=2,4;y=3,4", "x=99999999999999999999,4"):
            with self.subTest(word):
                self.misused(["-i", DIGITS, "--input_shape", word], "--input_shape: expected NAME=d0,d1,...", f"'{word}'")

    def test_shapes_that_do_not_fit(self):
        for word, why in (("image=2,1,8,9", "axis 3 is fixed and cannot become 9"), ("image=2,1,8", "has another rank"),
                          ("image=2,1,8,8,1", "has another rank"), ("image=9223372036854775807,1,8,8", "overflows")):
            self.fails(["-i", DIGITS, "--input_shape", word, "--output_dir", "out"], why)
        self.misused(["-i", DIGITS, *SHAPE, "--input_shape", "image=2,1,8,8"], "'image' is given twice")
        self.fails(["-i", DIGITS, *SHAPE, "--batch_size", "3", "--batch_axis", "0", "--output_dir", "out"],
                   "axis 0 is fixed and cannot become 3, because input_shape is [")

    def test_a_model_that_is_too_large_to_run(self):
        self.fails(["-i", DIGITS, "--input_shape", "image=100000000000,1,8,8", "--run", "--output_dir", "out"], "needs more than", "bytes")


if __name__ == "__main__":
    unittest.main()
