"""poprt --input_shape with several shapes: one executable for all of them."""

import os
import re
import unittest

import onnx_writer as onnx
from support import DIGITS, CommandTest

QUIET = "--disable_compilation_progress_bar"


def two_inputs(names=("batch", "length"), other=None):
    """y = a + b, z = a and b side by side, of [batch, length]; c is fixed."""
    shape = list(names)
    inputs = [onnx.value("a", onnx.F32, shape), onnx.value("b", onnx.F32, other or shape), onnx.value("c", onnx.F32, [3])]
    nodes = [onnx.node("Add", ["a", "b"], ["y"]), onnx.node("Concat", ["a", "b"], ["z"], axis=1), onnx.node("Neg", ["c"], ["d"])]
    outputs = [onnx.value("y", onnx.F32, shape), onnx.value("z", onnx.F32, ["batch", "double"]), onnx.value("d", onnx.F32, [3])]
    return onnx.model(nodes, inputs, outputs)


class ShapeBuckets(CommandTest):
    command = "poprt"

    def compiled(self, *words):
        self.write("m.onnx", two_inputs())
        return self.succeeds("-i", "m.onnx", "--export_popef", QUIET, "--pad_values", "a=0", "b=0", *words)

    def anchors(self):
        dump = self.succeeds("executable.popef", command="popef_dump")
        return dict(re.findall(r"^      (\S+) +\S+ +(\[[\d,]*\])", dump, re.M))

    def test_anchors_are_as_large_as_the_largest(self):
        self.compiled("--input_shape", "a=1,4/2,4/2,8")
        self.assertEqual(self.anchors(), {"a": "[2,8]", "b": "[2,8]", "c": "[3]", "poprt.real.length": "[8]", "poprt.bucket": "[1]", "y": "[2,8]",
                                          "z": "[2,16]", "d": "[3]"})

    def test_weights_are_stored_once(self):
        shape = "image={}"
        self.succeeds("-i", DIGITS, "--export_popef", QUIET, "--input_shape", shape.format("8,1,8,8"))
        one = os.path.getsize(self.path("executable.popef"))
        self.succeeds("-i", DIGITS, "--export_popef", QUIET, "--input_shape", shape.format("1,1,8,8/2,1,8,8/4,1,8,8/8,1,8,8"))
        self.assertLess(os.path.getsize(self.path("executable.popef")), one * 1.5)

    def test_the_converted_model_has_the_largest_shape(self):
        self.compiled("--input_shape", "a=2,8/1,4")
        self.assertIn("shape - [2, 8]", self.succeeds("-i", "m.optimized.onnx", "--show"))

    def test_yaml(self):
        self.write("m.onnx", two_inputs())
        self.write("c.yaml", b"input_model: m.onnx\nexport_popef: True\ninput_shape: ['a=1,4/2,8']\npad_values: {a: 0, b: mask}\n")
        self.run_command("--config_yaml", "c.yaml")
        self.assertEqual(self.anchors()["y"], "[2,8]")

    def test_max_padding_adds_shapes_between(self):
        self.compiled("--input_shape", "a=1,8/1,64", "--max_padding", "0.5")
        self.assertEqual(self.anchors()["z"], "[1,128]")
        with open(self.path("executable.popef"), "rb") as file:
            shapes = re.findall(rb'"inputs":{"a":\[1,(\d+)\]', file.read())
        self.assertEqual(shapes, [b"8", b"16", b"32", b"64"])
        for length in (5, 9, 16, 17, 33):
            self.npy("a.npy", "f4", [1, length], range(length))
            self.npy("b.npy", "f4", [1, length], [1] * length)
            self.npy("c.npy", "f4", [3], [1, 2, 3])
            self.succeeds("executable.popef", "--input", "a=a.npy", "b=b.npy", "c=c.npy", "--output", "y=y.npy",
                          command="poprt_exec run")
            self.assertEqual(self.read_npy(self.path("y.npy"))[1], [i + 1 for i in range(length)])

    def test_inputs_that_are_not_given_are_random_and_those_that_are_stay(self):
        self.compiled("--input_shape", "a=1,4/2,8")
        self.npy("a.npy", "f4", [2, 8], range(16))
        self.succeeds("executable.popef", "--input", "a=a.npy", "--random", "--output", "z=z.npy", "d=d.npy",
                      command="poprt_exec run")
        z = self.read_npy(self.path("z.npy"))[1]
        self.assertEqual([z[i] for i in (*range(8), *range(16, 24))], list(range(16)))
        for rest in ([*z[8:16], *z[24:]], self.read_npy(self.path("d.npy"))[1]):
            self.assertGreater(len(set(rest)), 2, rest)

    def test_max_padding_in_yaml_and_compiled_again(self):
        self.write("m.onnx", two_inputs())
        self.write("c.yaml", b"input_model: m.onnx\nexport_popef: True\nembed_source: True\ninput_shape: ['a=1,8/1,64']\n"
                             b"max_padding: 0.5\npad_values: {a: 0, b: 0}\n")
        self.succeeds("--config_yaml", "c.yaml", QUIET)
        self.succeeds("executable.popef", "--force", "-o", "again.popef", command="poprt_exec recompile")
        with open(self.path("executable.popef"), "rb") as one, open(self.path("again.popef"), "rb") as two:
            self.assertEqual(one.read(), two.read())

    def test_max_padding_without_several_shapes_is_a_warning(self):
        self.write("m.onnx", two_inputs())
        ran = self.run_command("-i", "m.onnx", "--export_popef", QUIET, "--input_shape", "a=2,8", "--max_padding", "0.2")
        self.assertEqual((ran.code, ran.err.count("\n")), (0, 1), ran.err)
        self.assertIn("`max_padding` has no effect", ran.err)

    def test_it_runs(self):
        self.assertIn("Latency", self.compiled("--input_shape", "a=1,4/2,8", "--run"))

    def test_poprt_exec_runs_any_size_up_to_the_largest(self):
        self.compiled("--input_shape", "a=1,4/2,8")
        for rows, length in ((1, 1), (1, 4), (2, 3), (2, 8)):
            self.npy("a.npy", "f4", [rows, length], range(rows * length))
            self.npy("b.npy", "f4", [rows, length], [1] * (rows * length))
            self.npy("c.npy", "f4", [3], [1, 2, 3])
            printed = self.succeeds("executable.popef", "--input", "a=a.npy", "b=b.npy", "c=c.npy", "--output", "y=y.npy", "z=z.npy",
                                 command="poprt_exec run")
            self.assertIn("output d: f32[3]", printed)
            header, values = self.read_npy(self.path("y.npy"))
            self.assertIn(f"({rows},{length})", header.replace(" ", ""))
            self.assertEqual(values, [i + 1 for i in range(rows * length)])
            self.assertIn(f"({rows},{2 * length})", self.read_npy(self.path("z.npy"))[0].replace(" ", ""))
        self.npy("none.npy", "f4", [0, 4], [])
        self.npy("a.npy", "f4", [3, 8], range(24))
        for words, why in ((["a=a.npy", "b=b.npy", "c=c.npy"], "'batch' is"), (["a=none.npy", "b=none.npy", "c=c.npy"], "'batch' is 0"), (["a=a.npy", "b=a.npy", "c=c.npy"], "expected 1 to 2"),
                           (["b=b.npy", "c=c.npy"], "input 'a' is missing")):
            ran = self.run_command("executable.popef", "--input", *words, command="poprt_exec run")
            self.assertEqual((ran.code, ran.err.count("\n")), (1, 1), ran.err)
            self.assertIn(why, ran.err)

    def test_poprt_exec_writes_the_real_part_of_an_output(self):
        """The size of the output is not a size of an input, so the program computes it."""
        nodes = [onnx.node("Constant", [], [name], value_ints=[value]) for name, value in (("zero", 0), ("one", 1), ("three", 3))]
        nodes += [onnx.node("Slice", ["x", "zero", "three", "one"], ["p"]), onnx.node("Concat", ["p", "x"], ["o"], axis=1)]
        self.write("m.onnx", onnx.model(nodes, [onnx.value("x", onnx.F32, ["b", "s"])], [onnx.value("o", onnx.F32, ["b", "t"])]))
        for shapes in ("x=1,8/1,12", "x=1,12/1,24"):
            self.succeeds("-i", "m.onnx", "--export_popef", "--overwrite", QUIET, "--input_shape", shapes)
            for length in (5, 9, 12):
                x = list(range(1, length + 1))
                self.npy("x.npy", "f4", [1, length], x)
                printed = self.succeeds("executable.popef", "--input", "x=x.npy", "--output", "o=o.npy", command="poprt_exec run")
                self.assertRegex(printed, rf"output o:.*\[1,{length + 3}\]")
                header, values = self.read_npy(self.path("o.npy"))
                self.assertIn(f"(1,{length + 3})", header.replace(" ", ""))
                self.assertEqual(values, x[:3] + x)
                self.npy("r.npy", "f4", [1, length + 3], x[:3] + x)
                for model in (["executable.popef"], ["m.onnx", "--input_shape", shapes]):
                    compared = self.succeeds(*model, "--input", "x=x.npy", "--reference", "o=r.npy", command="poprt_exec compare")
                    self.assertIn(f"o: 0 of {length + 3} outside", compared)

    def test_a_mean_is_that_of_an_executable_of_one_shape(self):
        """The sum of the real rows is divided by their number: the mean of one row is the row."""
        nodes = [onnx.node("ReduceMean", ["x"], ["o"], axes=[1], keepdims=0)]
        self.write("m.onnx", onnx.model(nodes, [onnx.value("x", onnx.F32, ["b", "s", 2])], [onnx.value("o", onnx.F32, ["b", 2])]))
        self.succeeds("-i", "m.onnx", "--export_popef", QUIET, "--input_shape", "x=1,6,2/1,10,2")
        row = [1.652049, 0.22183649]
        self.npy("x.npy", "f4", [1, 1, 2], row)
        self.succeeds("executable.popef", "--input", "x=x.npy", "--output", "o=o.npy", command="poprt_exec run")
        self.assertEqual(self.read_npy(self.path("o.npy"))[1], self.read_npy(self.path("x.npy"))[1])

    def test_an_output_follows_the_size_that_decides_it(self):
        # The sizes 8 and 16 of the output are also 8 times the batch.
        self.compiled("--input_shape", "a=1,4/2,8")
        blob = self.succeeds("executable.popef", command="popef_dump")
        self.assertIn("poprt.branches", blob)
        row = onnx.model([onnx.node("Reshape", ["a", "all"], ["y"])], [onnx.value("a", onnx.F32, ["n", "t"])],
                         [onnx.value("y", onnx.F32, ["m"])], [onnx.message(5, onnx.number(1, 1), onnx.number(2, onnx.S64),
                                                                            onnx.message(8, "all"), onnx.message(7, b"\xff" * 9 + b"\x01"))])
        self.write("row.onnx", row)
        for shapes in ("1,4/2,8", "1,8/2,4"):
            ran = self.run_command("-i", "row.onnx", "--export_popef", "--overwrite", QUIET, "--pad_values", "a=0", "--input_shape",
                                   "a=" + shapes)
            self.assertEqual((ran.code, ran.err.count("\n")), (1, 1), ran.err)
            self.assertIn("output 'y'", ran.err)
            self.assertIn("follows no size of an input", ran.err)
        self.assertEqual(self.succeeds("executable.popef", command="popef_dump"), blob)

    def test_shapes_of_which_none_is_the_largest(self):
        self.assertIn("Latency", self.compiled("--input_shape", "a=1,8/2,4", "--run"))
        self.assertIn("y", self.succeeds("executable.popef", "--random", command="poprt_exec run"))
        self.succeeds("--popef", "executable.popef", "--iteration", "2", command="poprt_exec poprt_run_popef")

    def test_it_is_compiled_again_as_it_was(self):
        self.compiled("--input_shape", "a=1,4/2,8", "--embed_source")
        self.succeeds("executable.popef", "--force", "-o", "again.popef", command="poprt_exec recompile")
        os.replace(self.path("again.popef"), self.path("executable.popef"))
        self.assertEqual(self.anchors()["y"], "[2,8]")

    def test_sizes_that_cannot_be_padded_are_a_warning_and_exact(self):
        pooled = onnx.model([onnx.node("GlobalAveragePool", ["a"], ["y"])], [onnx.value("a", onnx.F32, [1, 1, 2, "width"])],
                            [onnx.value("y", onnx.F32, [1, 1, 1, 1])])
        self.write("m.onnx", pooled)
        ran = self.run_command("-i", "m.onnx", "--export_popef", QUIET, "--input_shape", "a=1,1,2,4/1,1,2,8")
        self.assertEqual((ran.code, ran.err.count("\n")), (0, 1), ran.err)
        self.assertIn("must have exactly one of the sizes of 'width' (4, 8)", ran.err)
        self.npy("a.npy", "f4", [1, 1, 2, 4], range(8))
        self.succeeds("executable.popef", "--input", "a=a.npy", "--output", "y=y.npy", command="poprt_exec run")
        self.assertEqual(self.read_npy(self.path("y.npy"))[1], [3.5])
        self.npy("a.npy", "f4", [1, 1, 2, 6], range(12))
        ran = self.run_command("executable.popef", "--input", "a=a.npy", command="poprt_exec run")
        self.assertEqual(ran.code, 1)
        self.assertIn("padding would change results along 'width'", ran.err)

    def test_padding_without_several_shapes_is_a_warning(self):
        self.write("m.onnx", two_inputs())
        ran = self.run_command("-i", "m.onnx", "--export_popef", QUIET, "--input_shape", "a=2,8", "--pad_values", "a=0")
        self.assertEqual((ran.code, ran.err.count("\n")), (0, 1), ran.err)
        self.assertIn("`pad_values` has no effect", ran.err)

    def test_refuses_invalid_options_with_one_line(self):
        self.write("m.onnx", two_inputs())
        model = ["-i", "m.onnx", QUIET, "--export_popef"]
        for words, why in ((["--input_shape", "a=1,4/2,8", "b=1,4/2,8/2,9"], "'a' has 2 shapes and 'b' 3"),
                           (["--input_shape", "a=1,4/1,4"], "shapes 1 and 2 are the same"),
                           (["--input_shape", "a=1,4/"], "found 'a=1,4/'"),
                           (["--input_shape", "a=1,4/2,8", "a=3,4"], "'a' is given twice"),
                           (["--input_shape", "a=1,4/2,8", "--pad_values", "a=x"], "NAME=NUMBER or NAME=mask, found 'a=x'"),
                           (["--input_shape", "a=1,4/2,8", "--max_padding", "0.2"], "differ in one size alone"),
                           (["--input_shape", "a=1,4/1,9999", "--max_padding", "0.01"], "makes more than 64 shapes"),
                           (["--input_shape", "a=1,4/1,8", "--max_padding", "1"], "at most 0.9, found '1'"),
                           (["--input_shape", "a=1,4/1,8", "--max_padding", "-0.1"], "at least 0 and at most 0.9, found '-0.1'"),
                           (["--input_shape", "a=1,4/1,8", "--max_padding", "much"], "expected a number"),
                           (["--input_shape", "a=1,4/2,8", "--check"], "--check")):
            with self.subTest(words):
                result = self.run_command(*model, *words)
                self.assertNotEqual(result.code, 0)
                self.assertEqual(result.err.count("\n"), 1, result.err)
                self.assertIn(why, result.err)
        self.assertNotIn("executable.popef", self.tree())

    def test_inputs_that_do_not_go_together(self):
        self.write("m.onnx", two_inputs())
        ran = self.run_command("-i", "m.onnx", "--export_popef", QUIET, "--input_shape", "a=1,4/2,8", "b=1,4/2,9")
        self.assertEqual(ran.code, 1)
        self.assertIn("dimension 'length'", ran.err)

    def test_an_output_that_follows_no_size_of_an_input(self):
        flat = onnx.model([onnx.node("Flatten", ["a"], ["y"], axis=0)], [onnx.value("a", onnx.F32, ["batch", "length"])],
                          [onnx.value("y", onnx.F32, [1, "all"])])
        self.write("flat.onnx", flat)
        ran = self.run_command("-i", "flat.onnx", "--export_popef", QUIET, "--pad_values", "a=0",
                               "--input_shape", "a=1,4/2,4/2,8")
        self.assertEqual(ran.code, 1)
        self.assertIn("output 'y': dimension 1 is 4, 8, 16 at the shapes of the model and follows no size", ran.err)


if __name__ == "__main__":
    unittest.main()
