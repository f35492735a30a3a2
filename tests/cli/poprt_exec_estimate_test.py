"""Options and errors of `poprt_exec estimate`."""

import json
import os
import unittest

import onnx_writer as onnx
from poprt_exec_recompile_test import added_to_external
from support import CommandTest


class Estimate(CommandTest):
    command = "poprt_exec estimate"

    def compiled(self, operator):
        self.write("m.onnx", onnx.model([onnx.node(operator, ["x"], ["y"])], [onnx.value("x", onnx.F32, [4])],
                                        [onnx.value("y", onnx.F32, [4])]))
        self.succeeds("-i", "m.onnx", "-o", f"{operator}.popef", command="poprt")

    def test_the_model_next_to_a_popef_is_its_source(self):
        self.compiled("Tanh")
        self.compiled("Relu")
        self.succeeds("Relu.popef")
        self.fails(["Tanh.popef"], "'m.onnx' is not the source of 'Tanh.popef'", "recorded hash")

    def test_targets_have_names_in_upper_and_lower_case(self):
        self.compiled("Tanh")
        self.assertEqual(self.succeeds("m.onnx", "--target", "GC200"), self.succeeds("m.onnx", "--target", "mk2"))
        for option in ("--target", "--compare"):
            self.misused(["m.onnx", option, "ipu3"], f"poprt_exec estimate: {option}: there is no target 'ipu3'; targets are mk1, mk2, bow, c600")
        self.fails(["m.onnx", "--target", "none.json"], "none.json")

    def test_a_sweep_of_another_option(self):
        self.compiled("Tanh")
        self.misused(["m.onnx", "--sweep", "tiles=1"], "--sweep: expected batch_size=N,N,...", ", found 'tiles=1'")

    def test_the_weights_of_the_source_may_be_missing(self):
        self.write("w.bin", bytes(12))
        self.write("e.onnx", added_to_external("w.bin"))
        self.succeeds("-i", "e.onnx", "-o", "e.popef", command="poprt")
        os.unlink(self.path("w.bin"))
        ran = self.run_command("e.popef")
        self.assertEqual(ran.code, 0, ran.err)
        self.assertIn("cannot be compared with the source of 'e.popef'", ran.err)

    def write_loop(self):
        body = onnx.graph([onnx.node("Relu", ["a"], ["b"]), onnx.node("Identity", ["c"], ["k"])],
                          [onnx.value("i", onnx.S64, []), onnx.value("c", onnx.BOOL, []), onnx.value("a", onnx.F32, [64, 256])],
                          [onnx.value("k", onnx.BOOL, []), onnx.value("b", onnx.F32, [64, 256])])
        self.write("loop.onnx", onnx.model([onnx.node("Loop", ["m", "", "x"], ["y"], body=body)],
                                           [onnx.value("m", onnx.S64, []), onnx.value("x", onnx.F32, [64, 256])],
                                           [onnx.value("y", onnx.F32, [64, 256])]))

    def test_rounds_of_a_loop_are_assumed_or_given(self):
        self.write_loop()
        line = "Loop 'node_y' counts as 1 round, because the number of rounds is known at run time only; --max_size y=N counts N rounds"
        text = self.succeeds("loop.onnx")
        self.assertIn(f"  assumed: {line}\n", text)
        self.assertIn("cycles [unchecked", self.succeeds("loop.onnx", "--sweep", "available_memory_proportion=0.2"))
        for words in (["--sweep", "available_memory_proportion=0.2,0.6"], ["--compare", "mk2"]):
            self.assertTrue(self.succeeds("loop.onnx", *words).endswith(f"\nassumed: {line}\n"))
            made = json.loads(self.succeeds("loop.onnx", *words, "--json"))
            self.assertEqual(made.get("a", made)["assumptions"], [line])
        one = json.loads(self.succeeds("loop.onnx", "--json"))["phases"]["compute"]
        for name in "ym":
            ten = json.loads(self.succeeds("loop.onnx", "--json", "--max_size", f"{name}=10"))
            self.assertEqual((ten["phases"]["compute"], ten["assumptions"]), (10 * one, []))
        self.fails(["loop.onnx", "--max_size", "x=10"], "'x' is no result and no trip count of a loop")
        self.fails(["loop.onnx", "--max_size", "y"], "--max_size: expected NAME=N, found 'y'")
        self.fails(["loop.onnx", "--max_size", "y=1", "y=2"], "--max_size: 'y' is given twice")
        self.assertIn("is counted for one round", self.run_command("loop.onnx", command="poprt_exec flops").err)

    def test_rounds_of_a_loop_with_scan_outputs_are_given(self):
        """The number of rounds is the length of a scan output, by any name of the loop."""
        body = onnx.graph([onnx.node("Relu", ["a"], ["b"]), onnx.node("Identity", ["c"], ["k"]), onnx.node("ReduceMean", ["b"], ["s"], keepdims=0)],
                          [onnx.value("i", onnx.S64, []), onnx.value("c", onnx.BOOL, []), onnx.value("a", onnx.F32, [64, 256])],
                          [onnx.value("k", onnx.BOOL, []), onnx.value("b", onnx.F32, [64, 256]), onnx.value("s", onnx.F32, [])])
        self.write("scan.onnx", onnx.model([onnx.node("Loop", ["m", "", "x"], ["y", "means"], body=body)],
                                           [onnx.value("m", onnx.S64, []), onnx.value("x", onnx.F32, [64, 256])],
                                           [onnx.value("y", onnx.F32, [64, 256]), onnx.value("means", onnx.F32, ["n"])]))
        three, nine = ([json.loads(self.succeeds("scan.onnx", "--json", "--max_size", f"{name}={n}"))["phases"]["compute"] for name in ("y", "means", "m")]
                       for n in (3, 9))
        self.assertEqual((len(set(three)), len(set(nine))), (1, 1))
        self.assertGreater(nine[0], 2 * three[0])
        self.fails(["scan.onnx"], "give a bound of the rounds with option max_size: means=N", code=1)


if __name__ == "__main__":
    unittest.main()
