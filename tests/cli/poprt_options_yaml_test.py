"""poprt: --config_yaml, a file with the options of a command line."""

import os
import unittest

import onnx_writer as onnx
from option_support import SHAPE, OptionTest, nodes
from support import DIGITS, model


class ConfigYaml(OptionTest):
    def config(self, text):
        self.write("c.yaml", text.encode() if isinstance(text, str) else text)
        return ["--config_yaml", "c.yaml"]

    def test_same_result_as_the_command_line(self):
        self.succeeds("-i", DIGITS, *SHAPE, "--precision", "fp16", "--export_popef", "--num_io_tiles", "32", "--skip_passes",
                      "eliminate_identity,sort_graph", "--compiler_options", "partials_type=float", "enable_outlining=False")
        expected = self.tree()
        for name in expected:
            os.remove(self.path(name))
        self.succeeds(*self.config(f"""# the same
input_model: {DIGITS}
input_shape:
  - image=2,1,8,8
precision: "fp16"
export_popef: True
num_io_tiles: 32
skip_passes: [eliminate_identity, sort_graph]
run: false
compiler_options:
  partials_type: float
  enable_outlining: False
"""))
        os.remove(self.path("c.yaml"))
        self.assertEqual(self.tree(), expected)

    def two_products(self):
        """y = (x @ a) @ b, named node_h and node_y."""
        values = [onnx.value("x", onnx.F32, [2, 4]), onnx.value("y", onnx.F32, [2, 4])]
        nodes = [onnx.node("MatMul", ["x", "a"], ["h"]), onnx.node("MatMul", ["h", "b"], ["y"])]
        weights = [onnx.floats(n, [4, 4], [i / 16 + k for i in range(16)]) for k, n in enumerate("ab")]
        return self.write("products.onnx", onnx.model(nodes, values[:1], values[1:], weights))

    def same(self, words, text):
        """The command line and the file make the same converted model, and record the same."""
        first = ["-i", self.two_products(), "--output_dir", "a", "--export_popef"]
        self.succeeds(*first, *words)
        self.succeeds(*self.config(f"input_model: products.onnx\noutput_dir: b\nexport_popef: yes\n{text}\n"))
        tree = self.tree()
        self.assertEqual(tree["a/products.optimized.onnx"], tree["b/products.optimized.onnx"])
        self.assertEqual(self.metadata("a/executable.popef"), self.metadata("b/executable.popef"))
        return tree["b/products.optimized.onnx"]

    def test_maps_of_parameters_serialize_matmul(self):
        made = self.same(["--serialize_matmul", "node_h=2/reducing_dim/True", "node_y=4"],
                         "serialize_matmul:\n  node_h: {factor: 2, mode: reducing_dim, keep_precision: yes}\n  node_y: 4")
        self.assertEqual(nodes(made, b"MatMul"), 6)
        self.same(["--serialize_matmul", "node_h=2/output_channels/False"], "serialize_matmul: {node_h: {factor: 2, keep_precision: False}}")
        self.same(["--serialize_matmul", "node_h=2/input_channels"], "serialize_matmul: {node_h: [2, input_channels]}")
        self.same(["--serialize_matmul", "node_h=2/input_channels"], "serialize_matmul: [node_h=2/input_channels]")

    def test_maps_of_parameters_pass_args(self):
        words = ["--passes", "serialize_matmul,float_to_half", "--pass_args", "serialize_matmul.matmuls=node_h=2\\nnode_y=4/reducing_dim",
                 "float_to_half.skip_op_types=Sum,Concat", "float_to_half.enable_avoid_overflow_patterns=True"]
        for matmuls in ("[node_h=2, node_y=4/reducing_dim]", "{node_h: 2, node_y: {factor: 4, mode: reducing_dim}}"):
            made = self.same(words, f"passes: [serialize_matmul, float_to_half]\npass_args:\n  serialize_matmul:\n    matmuls: {matmuls}\n"
                             "  float_to_half:\n    skip_op_types: [Sum, Concat]\n    enable_avoid_overflow_patterns: yes")
            self.assertEqual(nodes(made, b"MatMul"), 6)
        self.same(["--passes", "const_batch_size", "--pass_args", "const_batch_size.const_batch_size=3"],
                  "passes: const_batch_size\npass_args: {const_batch_size.const_batch_size: 3}")

    def test_maps_of_other_options(self):
        self.same(["--input_shape", "x=2,4"], "input_shape: {x: [2, 4]}")
        self.same(["--compiler_options", "virtual_graph_mode=off", "custom_patterns=PadConvChannel,InPlace:0",
                   'opaque_blobs={"a":"say \\"so\\""}'],
                  "compiler_options: {virtual_graph_mode: 'off', custom_patterns: [PadConvChannel, 'InPlace:0'], "
                  "opaque_blobs: {a: say \"so\"}}")
        self.same(["--popart_options", "engineOptions.debug.allowOutOfMemory=true", "outlineThreshold=5"],
                  "popart_options: {engineOptions: {debug: {allowOutOfMemory: true}}, outlineThreshold: 5}")
        self.succeeds(*self.config(f"input_model: {DIGITS}\nexport_popef: yes\ninput_shape: {{image: [[1, 1, 8, 8], [4, 1, 8, 8]]}}\n"))
        self.assertIn("image=[4,1,8,8]", self.succeeds("-m", "executable.popef", command="popef_dump"))

    def test_maps_that_are_wrong(self):
        for text, why in (("serialize_matmul: {node_h: {mode: none}}", "node_h: the factor is missing"),
                          ("serialize_matmul: {node_h: {factor: 2, fold: 3}}", "node_h: expected factor, mode or keep_precision, found 'fold'"),
                          ("serialize_matmul: {node_h: {factor: [2]}}", "node_h: factor: expected one value"),
                          ("serialize_matmul: {node_h: 2, node_h: 4}", "node_h is given twice"), ("serialize_matmul: {}", "has no value"),
                          ("serialize_matmul: {[a]: 2}", "expected a name"), ("pass_args: {merge_matmul: a}", "expected a mapping of parameters"),
                          ("pass_args: {merge_matmul: {names: {a: {b: {c: d}}}}}", "nested too deep"),
                          ("pass_args: {merge_matmul: {names: }}", "has no value"),
                          ("\n\n\ncompiler_options: {num_ipus: [1, 2]}", "c.yaml:4: compiler_options: num_ipus: expected one value"),
                          ("input_shape: {x: {a: 1}}", "x: expected one value or a list"), ("pack_args: {max_valid_num: {a: 1}}", "expected one value")):
            with self.subTest(text):
                self.misused(self.config(text), "--config_yaml: c.yaml:", why)
        for text, why in (("serialize_matmul: {node_h: none}", "--config_yaml: c.yaml:2: serialize_matmul: expected"),
                          ("passes: merge_matmul\npass_args: {merge_matmul: {node: a}}", "pass merge_matmul has no parameter 'node'")):
            with self.subTest(text):
                self.misused(self.config(f"input_model: {self.two_products()}\n{text}"), why)
        self.fails(self.config(f"input_model: {self.two_products()}\npass_args: {{nonsense: {{node: a}}}}"), "no pass 'nonsense'")

    def test_errors_of_values_name_the_file_and_the_line(self):
        for text, why in (("\ninput_shape: ids=2,9 mask=2,9", "c.yaml:3: input_shape: expected NAME=d0,d1,..."),
                          ("input_shape: [ids=2,9, 'mask=2,9']", "c.yaml:2: input_shape: expected NAME=d0,d1,..., found '9'; YAML separates the "
                           "items of a list at commas, so give each shape in quotes"),
                          ("\n\ncompiler_options: a", "c.yaml:4: compiler_options: expected KEY=VAL, found 'a'"),
                          ("pad_values: a", "c.yaml:2: pad_values: expected")):
            with self.subTest(text):
                self.misused(self.config(f"input_model: {DIGITS}\n{text}"), "--config_yaml: " + why)
        self.misused([*self.config(f"input_model: {DIGITS}\npad_values: a"), "--pad_values", "b"], "poprt: --pad_values: expected", "'b'")

    def test_hostile_maps(self):
        deep = "serialize_matmul: " + "{a: " * 50000 + "1" + "}" * 50000
        wide = "serialize_matmul: {" + ", ".join(f"n{i}: 2" for i in range(50000)) + "}"
        self.misused(self.config(deep), "nested too deep")
        ran = self.run_command(*self.config(f"input_model: {self.two_products()}\n{wide}"))
        self.assertEqual((ran.code, ran.err.count("\n")), (1, 1), ran.err[:500])

    def test_the_command_line_comes_first(self):
        self.config(f"input_model: {model('relu')}\noutput_model: a.onnx\n")
        self.succeeds("--config_yaml", "c.yaml", "--output_model", "b.onnx")
        self.assertIn("b.onnx", self.tree())
        self.assertNotIn("a.onnx", self.tree())

    def test_words_for_true_and_false_and_blocks_as_python_reads_them(self):
        for word in ("True", "true", "TRUE", "yes", "Yes", "on"):
            self.assertIn("input x", self.succeeds(*self.config(f"input_model: {model('relu')}\nshow: {word}\n")))
        for word in ("False", "no", "NO", "off"):
            self.assertIn("converted", self.succeeds(*self.config(f"input_model: {model('relu')}\nshow: {word}\n")))
        self.succeeds(*self.config(f"input_model: |\n  {model('relu')}\nexport_popef: yes\npasses: >\n  eliminate_identity,\n  sort_graph\n"))
        self.assertEqual(self.metadata()["passes"], "eliminate_identity,sort_graph")

    def test_earlier_names(self):
        self.succeeds(*self.config(f"input_model: {model('relu')}\nexport_popef: true\nbatch_per_step: 4\n"))
        self.assertEqual(self.metadata()["batches_per_step"], "4")

    def test_unknown_key_is_rejected(self):
        self.misused(self.config("input_modle: m.onnx\n"), "c.yaml:1: there is no option 'input_modle', did you mean input_model?")
        self.misused(self.config("input_model: m.onnx\nfrobnicate: 1\n"), "c.yaml:2: there is no option 'frobnicate'")

    def test_wrong_values(self):
        for text, why in (("batch_size: many", "expected a whole number of at least 1, found 'many'"),
                          ("batch_size: 0", "of at least 1, found '0'"), ("export_popef: 7", "expected True or False, found '7'"),
                          ("precision: int3", "expected fp32 or fp16"), ("precision: [fp16]", "expected one value, found a list"),
                          ("precision: {a: b}", "expected one value, found a mapping"), ("precision:", "has no value"),
                          ("passes: []", "has no value"), ("passes: {a: b}", "expected a list, found a mapping"),
                          ("passes: [[a]]", "found a list or a mapping in it"), ("precision: ''", "the value is empty"),
                          ("compiler_options: {a: [b]}", "expected one value"), ("run: True\nrun: True", "run is given twice"),
                          ("config_yaml: c.yaml", "cannot name another"), ("[a, b]", "expected NAME: VALUE"),
                          ("? [a]\n: b", "expected the name of an option"), ("precision: 'a\n\n  b'", "more than one line"),
                          ("", "there are no options"), ("run: True: c", "mapping values are not allowed"),
                          ("--- {run: True}\n--- {run: True}", "more than one document"),
                          ("model_fusion: []", "there are no models in the list")):
            with self.subTest(text):
                self.misused(self.config(text), "--config_yaml: c.yaml:", why)

    def test_hostile_files(self):
        bomb = "a: &a [x,x]\n" + "".join(f"{b}: &{b} [*{a},*{a}]\n" for a, b in zip("abcdefgh", "bcdefghi"))
        for text, why in (("passes: &a [x]\nskip_passes: *a", "aliases are not supported"), (bomb, "there is no option 'a'"),
                          ("passes: " + "[" * 100000, "found a list or a mapping in it"), ("{" * 100000, "expected the name"),
                          ("run: !!python/object:os.system x", "tags are not supported"), (b"run: \xff\xfe", ""),
                          (b"\0\1\2", ""), ("#" * (1 << 21), "more than 1048576 bytes")):
            with self.subTest(text[:20]):
                self.misused(self.config(text), "--config_yaml", why)

    def test_files_that_cannot_be_read(self):
        self.fails(["--config_yaml", "none.yaml"], "'none.yaml'")
        os.mkdir(self.path("folder"))
        self.fails(["--config_yaml", "folder"], "'folder'")


if __name__ == "__main__":
    unittest.main()
