"""poprt_exec opt: passes on an ONNX model or a text graph."""

import unittest

from support import DIGITS, CommandTest, model

TEXT = b"""graph "g" opset {"": 13} {
  input %x : f32[2,3]
  %a : f32[2,3] = Identity(%x)
  %b : f32[2,3] = Identity(%a)
  %y : f32[2,3] = Relu(%b)
  output %y
}
"""


class Opt(CommandTest):
    command = "poprt_exec opt"

    def setUp(self):
        super().setUp()
        self.write("g.ir", TEXT)

    def test_prints_a_text_graph_as_it_is(self):
        text = self.succeeds("g.ir")
        self.assertEqual(text.count("Identity("), 2)
        self.write("again.ir", text.encode())
        self.assertEqual(self.succeeds("again.ir"), text)

    def test_reads_onnx(self):
        self.assertIn("Relu(%x)", self.succeeds(model("relu")))

    def test_runs_the_passes_named(self):
        self.assertEqual(self.succeeds("g.ir", "--passes", "eliminate_identity").count("Identity("), 0)
        self.succeeds("g.ir", "--passes", "sort_graph,eliminate_deadend")

    def test_stages(self):
        self.assertEqual(self.succeeds("g.ir", "--stage", "none").count("Identity("), 2)
        self.assertEqual(self.succeeds("g.ir", "--stage", "convert").count("Identity("), 0)
        compiled = self.succeeds(DIGITS, "--stage", "compile", "--batch_size", "2", "--batch_axis", "0", "--elide")
        self.assertIn("poprt.Conv", compiled)
        self.assertIn("<elided>", compiled)

    def test_skip_passes(self):
        self.assertEqual(
            self.succeeds("g.ir", "--stage", "convert", "--skip_passes", "eliminate_identity").count("Identity("), 2)

    def test_rewrite_limit_bisects(self):
        counts = [self.succeeds("g.ir", "--passes", "eliminate_identity", "--rewrite_limit", n).count("Identity(")
                  for n in (0, 1, 2)]
        self.assertEqual(counts, [2, 1, 0])

    def test_stop_after(self):
        text = self.succeeds("g.ir", "--stage", "convert", "--stop_after", "shape_inference")
        self.assertEqual(text.count("Identity("), 2)

    def test_dump_each_prints_after_every_pass(self):
        text = self.succeeds("g.ir", "--passes", "eliminate_identity,eliminate_deadend", "--dump_each")
        self.assertIn("# after eliminate_identity", text)
        self.assertIn("# after eliminate_deadend", text)

    def test_timing_goes_to_stderr(self):
        result = self.run_command("g.ir", "--passes", "eliminate_identity", "--timing")
        self.assertEqual(result.code, 0)
        self.assertRegex(result.err, r"^eliminate_identity +2 rewrites +[\d.]+ ms  3 -> 1 nodes\n$")

    def test_input_shape(self):
        text = self.succeeds(model("dynamic"), "--stage", "convert", "--input_shape", "x=4,3")
        self.assertIn("%x : f32[N=4,3]", text)

    def test_pass_args(self):
        text = self.succeeds(model("dynamic"), "--passes", "const_batch_size", "--pass_args", "const_batch_size.const_batch_size=5")
        self.assertIn("[N=5,", text)
        self.misused(["g.ir", "--passes", "sort_graph", "--pass_args", "sort_graph"], "expected PASS.PARAMETER=TEXT")
        size = "const_batch_size.const_batch_size=5"
        self.misused([model("dynamic"), "--passes", "sort_graph", "--pass_args", size], "--passes does not contain const_batch_size")
        self.misused([model("dynamic"), "--passes", "const_batch_size", "--pass_args", size, "--pass_args", size], "is given twice")
        self.fails(["g.ir", "--passes", "merge_matmul"], "needs its parameter 'names'")

    def test_program(self):
        self.assertIn("arena", self.succeeds("g.ir", "--program"))

    def test_wrong_usage(self):
        self.misused([], "MODEL")
        self.misused(["g.ir", "--stage", "half"], "--stage", "half")
        self.misused(["g.ir", "--rewrite_limit", "-1"], "--rewrite_limit", "'-1'")
        self.misused(["g.ir", "--batch_axis", "1"], "--batch_size")
        self.misused(["g.ir", "--input_shape", "x"], "--input_shape", "'x'")

    def test_errors(self):
        self.fails(["nope.ir"], "'nope.ir'", "No such file")
        self.fails([self.folder], self.folder, "directory")
        self.fails(["nope.onnx"], "'nope.onnx'")
        self.write("bad.ir", TEXT.replace(b"Relu(%b)", b"Relu(%c)"))
        self.fails(["bad.ir"], "bad.ir", "line 5", "\"c\"")
        self.write("cut.ir", TEXT[:100])
        self.fails(["cut.ir"], "cut.ir", "line")
        for option in ("--passes", "--skip_passes", "--stop_after"):
            self.fails(["g.ir", "--stage", "convert", option, "nope"], "'nope'", "poprt_exec passes lists them")
        self.fails([model("unknown_op"), "--program"], "Frobnicate")
        self.fails([DIGITS, "--program"], "image", "--input_shape image=")


if __name__ == "__main__":
    unittest.main()
