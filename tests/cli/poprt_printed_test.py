"""Command lines and values as the manual of PopRT 1.5 prints them. What they do is in poprt_options*_test.py and poprt_snippets_test.py;
tests/SNIPPETS.md lists the form of each test."""

import os
import unittest

import onnx_writer as onnx
from support import DIGITS, CommandTest, model


class PrintedTest(CommandTest):
    command = "poprt"

    def sums(self):
        """y = x times the sums of x's rows, where x are rows of a table: one sequence of 8 in each row."""
        axes = onnx.message(5, onnx.number(1, 1), onnx.number(2, onnx.S64), onnx.message(8, b"axes"), onnx.message(9, (1).to_bytes(8, "little")))
        nodes = [onnx.node("Gather", ["table", "input_ids"], ["x"]), onnx.node("ReduceSum", ["x", "axes"], ["s"], keepdims=1),
                 onnx.node("Mul", ["x", "s"], ["y"])]
        values = [onnx.value("input_ids", onnx.S64, [2, 8]), onnx.value("y", onnx.F32, [2, 8])]
        self.write("sums.onnx", onnx.model(nodes, values[:1], values[1:], [onnx.floats("table", [9], [i / 8 for i in range(9)]), axes]))


class CommandLines(PrintedTest):
    def test_options_in_a_file(self):
        """`poprt --config_yaml config.yaml`, and nothing else."""
        self.write("config.yaml", f"input_model: {DIGITS}\ninput_shape: ['image=2,1,8,8']\nexport_popef: True\n".encode())
        self.succeeds("--config_yaml", "config.yaml")
        self.assertIn("executable.popef", self.tree())

    def test_values_of_compiler_options(self):
        self.succeeds("-i", model("relu"), "--export_popef", "--compiler_options", "custom_patterns=PadConvChannel", "batches_per_step=1")
        self.succeeds("-i", model("relu"), "--export_popef", "--overwrite", "--compiler_options", "custom_patterns=PadConvChannel,InPlace:0")

    def test_both_is_an_old_way_to_say_two(self):
        self.write("m.onnx", onnx.model([onnx.node("MatMul", ["x", "w"], ["m"]), onnx.node("Add", ["m", "x"], ["y"])],
                                        [onnx.value("x", onnx.F32, [2, 2])], [onnx.value("y", onnx.F32, [2, 2])],
                                        [onnx.floats("w", [2, 2], [1, 2, 3, 4])]))
        made = set()
        for mode in (["both"], ["after_matmul,before_add"], ["after_matmul, before_add"], ["after_matmul,", "before_add"]):
            self.succeeds("-i", "m.onnx", "--enable_insert_remap", "--remap_mode", *mode)
            made.add(self.tree()["m.optimized.onnx"])
        self.assertEqual(len(made), 1)

    def test_names_of_a_list_may_have_blanks_between(self):
        self.write("m.onnx", onnx.model([onnx.node("MatMul", ["x", "w"], ["m"]), onnx.node("Gelu", ["m"], ["y"])],
                                        [onnx.value("x", onnx.F32, [2, 2])], [onnx.value("y", onnx.F32, [2, 2])],
                                        [onnx.floats("w", [2, 2], [1, 2, 3, 4])], 20))
        made = set()
        for words in (["Gelu,MatMul"], ["Gelu, MatMul"], ["MatMul,Gelu"]):
            self.succeeds("-i", "m.onnx", "--precision", "fp16", "--fp16_skip_op_types", *words)
            made.add(self.tree()["m.optimized.onnx"])
        self.assertEqual(len(made), 1)

    def test_the_subcommand_comes_last(self):
        """`poprt [options] tf2onnx [sub-options]`."""
        ran = self.run_command("tf2onnx", "--saved_model", "-i", "saved")
        self.assertEqual((ran.code, ran.err), (2, "poprt tf2onnx: there is no option '-i'; see poprt tf2onnx --help\n"))
        os.mkdir(self.path("saved"))
        ran = self.run_command("-i", "saved", "--framework", "tensorflow", "tf2onnx", "--saved_model", "--opset", "11")
        self.assertIn("tf2onnx", ran.err if ran.code else ran.out + ran.err)


class Packing(PrintedTest):
    def test_words_of_pack_args(self):
        self.sums()
        for words in (["max_valid_num=4", "segment_max_size=8"], ["max_valid_num=4", "segment_max_size=3+5"],
                      ["max_valid_num=4", "segment_max_size=8", "enable_double_batch_unpack=false"],
                      ["max_valid_num=4", "segment_max_size=8", "efficiency_priority=false"],
                      ["max_valid_num=4", "segment_max_size=8", "dynamic_groups=[[input_ids,]]"],
                      ["max_valid_num=4", "segment_max_size=8", "head_pattern='s:0->Gather:1->Mul:2->e:3'", "dynamic_groups=[[input_ids]]"]):
            with self.subTest(words):
                ran = self.run_command("-i", "sums.onnx", "--pack_args", *words)
                self.assertEqual(ran.code, 0, ran.err)
                shown = self.succeeds("-i", "sums.optimized.onnx", "--show")
                self.assertIn(f"input unpack_info: dtype - s32, shape - [4, {1 + words[1].count('+')}]", shown)


class OtherCommands(PrintedTest):
    def test_popef_dump(self):
        popef = self.popef(DIGITS, "--input_shape", "image=2,1,8,8")
        for words in ([popef], ["-m", popef], ["--all", popef], [popef, "--all"]):
            self.assertIn("image", self.succeeds(*words, command="popef_dump"))

    def test_poprt_run_popef(self):
        popef = self.popef(DIGITS, "--input_shape", "image=2,1,8,8")
        for runner in ("lightRunner", "modelRunner"):
            output = self.succeeds("--popef", popef, "--runner", runner, "--iteration", "3", "--numThreads", "2", command="poprt_exec poprt_run_popef")
            self.assertIn(f"runner: {runner}, threads: 2, iterations: 3", output)

    def test_the_pack_runner_with_a_mask(self):
        """`--maxValidNum N --packTimeout us --dynamicInputName S --maskName S --batchSize N`."""
        values = [onnx.value(n, onnx.F32, [2, 8]) for n in ("tokens", "mask", "y")]
        self.write("m.onnx", onnx.model([onnx.node("Mul", ["tokens", "mask"], ["y"])], values[:2], values[2:]))
        output = self.succeeds("--popef", self.popef(self.path("m.onnx")), "--runner", "packRunner", "--maxValidNum", "4",
                             "--packTimeout", "500", "--dynamicInputName", "tokens", "--maskName", "mask", "--batchSize", "2",
                             "--iteration", "6", "--numThreads", "2", command="poprt_exec poprt_run_popef")
        self.assertIn("runner: packRunner, threads: 2, iterations: 6", output)

    def test_the_debugger(self):
        self.npy("file.npy", "f4", [2, 2], [1, 2, 3, 4])
        self.write("m.onnx", onnx.model([onnx.node("Relu", ["x"], ["y"])], [onnx.value("x", onnx.F32, [2, 2])], [onnx.value("y", onnx.F32, [2, 2])]))
        compare = ["compare", "--src_model", "m.onnx", "--src_backend", "poprt", "--dst_model", "m.onnx", "--dst_backend", "poprt"]
        for data in ("x=zeros", "x=ones", "x=rand", "x=file.npy"):
            self.succeeds(*compare, "--input_data", data, "--mark_outputs", "all", "--mark_io_mapping", "y=y", command="poprt_exec debug")
        self.succeeds(*compare, "--input_data", "x=ones", "--dump_data", "--dump_dir", "compare_output", command="poprt_exec debug")
        self.assertTrue({"compare_output/y_src.npy", "compare_output/y_dst.npy"} <= set(self.tree()))
        for level in ("model", "graph", "node", "tensor"):
            self.succeeds("print", "--src_model", "m.onnx", "--level", level, command="poprt_exec debug")
        self.succeeds("modify", "--src_model", "m.onnx", "--extract", "input_names=x", "output_names=y", "--sort", command="poprt_exec debug")
        self.assertIn("m.onnx.updated.onnx", self.tree())


if __name__ == "__main__":
    unittest.main()
