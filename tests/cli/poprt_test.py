"""poprt: conversion, compilation and trial runs."""

import os
import re
import shutil
import stat
import subprocess
import tempfile
import unittest
import zipfile
from unittest import mock

import onnx_writer as onnx
from support import DIGITS, CommandTest, model

DIGITS_SHAPE = ["--input_shape", "image=2,1,8,8"]


class Poprt(CommandTest):
    command = "poprt"

    def test_help_names_every_option(self):
        text = self.succeeds("--help-all")
        for option in ("--input_model", "--output_model", "--output_dir", "--export_popef", "--run", "--show",
                       "--input_shape", "--batch_size", "--batch_axis", "--precision", "--convert_version",
                       "--winograd", "--passes", "--skip_passes", "--list_all_passes", "--max_tensor_size",
                       "--logging_level", "--strict", "--disable_compilation_progress_bar", "--version"):
            self.assertIn(option, text)
        text = " ".join(text.split())
        self.assertRegex(text, r"--available_memory_proportion.{1,200}\[0\.6\] \(recorded for the model of the chip\)")
        self.assertRegex(text, r"--perf_tuner.{1,100}\(without effect: ")

    def test_version_has_three_lines(self):
        lines = self.succeeds("-v").splitlines()
        self.assertEqual(lines, self.succeeds("--version").splitlines())
        self.assertEqual([re.sub(r"\d+\.\d+\.\d+", "X", line) for line in lines],
                         ["PopRT version: X", "built with emulated IPU: X", "found emulated IPU: X"])

    def test_lists_passes_one_per_line_with_a_summary(self):
        lines = self.succeeds("--list_all_passes").splitlines()
        names = [line.split()[0] for line in lines]
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("constant_folding", names)
        self.assertTrue(all(len(line.split()) > 1 for line in lines))

    def test_show_prints_inputs_and_outputs_and_writes_nothing(self):
        before = self.tree()
        text = self.succeeds("-i", DIGITS, "--show")
        self.assertEqual(text.splitlines(), ["input image: dtype - f32, shape - [N, 1, 8, 8]",
                                             "output scores: dtype - f32, shape - [N, 10]"])
        self.assertEqual(self.tree(), before)

    def test_a_folder_that_the_user_may_not_enter_is_not_used(self):
        def enter_and_lock():
            os.mkdir("locked")
            os.chdir("locked")
            os.chmod(".", 0)
            if os.getuid() == 0:
                os.setuid(65534)

        out = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, out)
        self.addCleanup(os.chmod, os.path.join(self.folder, "locked"), 0o700)
        os.chmod(out, 0o777)
        for arguments in (["-o", out + "/digits.popef"], ["-o", out + "/digits.popef", "--check"], ["--run"]):
            with self.subTest(arguments):
                shutil.rmtree(os.path.join(self.folder, "locked"), ignore_errors=True)
                done = subprocess.run(self.arguments(["-i", DIGITS, *DIGITS_SHAPE, *arguments]), cwd=self.folder, preexec_fn=enter_and_lock,
                                      capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_convert_writes_the_default_name(self):
        text = self.succeeds("-i", DIGITS, *DIGITS_SHAPE)
        self.assertIn("digits.optimized.onnx", text)
        self.assertEqual(list(self.tree()), ["digits.optimized.onnx"])
        shown = self.succeeds("-i", "digits.optimized.onnx", "--show")
        self.assertIn("input image: dtype - f32, shape - [2, 1, 8, 8]", shown)

    def test_negative_dimensions_are_unknown(self):
        shown = self.succeeds("-i", model("negative"), "--show").splitlines()
        self.assertEqual(shown, ["input x: dtype - f32, shape - [?, 3]", "output y: dtype - f32, shape - [?, 3]"])
        self.fails(["-i", model("negative")], "input 'x' is f32[?,3]", "--input_shape x=")
        for fixed in (["--input_shape", "x=4,3"], ["--batch_size", "4", "--batch_axis", "0"]):
            self.succeeds("-i", model("negative"), *fixed, "--run", "--export_popef")
            shown = self.succeeds("-i", "negative.optimized.onnx", "--show")
            self.assertIn("output y: dtype - f32, shape - [4, 3]", shown)

    def test_strict_turns_warnings_into_errors(self):
        ran = self.run_command("-i", model("stray"), "--run")
        self.assertEqual(ran.code, 0, ran.err)
        for fact in ("'the_node'", "no attribute 'of_another_tool'", "'ai.onnx.ml'; 1 is assumed"):
            self.assertIn(fact, ran.err)
        self.assertIn("Tput", ran.out)
        self.fails(["-i", model("stray"), "--strict", "--output_dir", "out"], "'ai.onnx.ml'")
        self.succeeds("-i", model("relu"), "--strict", "--run", "--output_dir", "out")

    def test_output_model_and_output_dir_place_the_files(self):
        self.succeeds("-i", model("relu"), "--output_model", "a.onnx", "--output_dir", "x/y", "--export_popef")
        self.assertEqual(sorted(self.tree()), ["x", "x/y", "x/y/a.onnx", "x/y/executable.popef"])

    def test_an_absolute_output_model_is_written_to_its_path(self):
        os.mkdir(self.path("elsewhere"))
        self.succeeds("-i", model("relu"), "--output_model", self.path("elsewhere/a.onnx"))
        self.assertEqual(sorted(self.tree()), ["elsewhere", "elsewhere/a.onnx"])

    def test_the_executable_may_have_a_name(self):
        self.succeeds("-i", model("relu"), "--popef_name", "relu.popef", "--output_dir", "x")
        self.assertEqual(sorted(self.tree()), ["x", "x/relu.optimized.onnx", "x/relu.popef"])
        self.succeeds("-i", model("relu"), "--output", "y.popef", "--output_dir", "x")
        self.assertIn("y.popef", self.tree())
        for words in (["--output", "a.bin"], ["--popef_name", "a"], ["--popef_name", "a/b.popef"],
                      ["--popef_name", "a.popef", "--output", "b.popef"]):
            ran = self.run_command("-i", model("relu"), *words)
            self.assertEqual(ran.code, 2, ran.err)
            self.assertIn(words[0], ran.err)

    def test_a_second_model_does_not_replace_the_first(self):
        self.succeeds("-i", model("relu"), "--export_popef")
        first = self.tree()["executable.popef"]
        self.fails(["-i", model("nonzero"), "--export_popef"], "'./executable.popef' contains the model 'relu', not 'nonzero'",
                   "--popef_name nonzero.popef", "--overwrite")
        self.assertEqual(self.tree()["executable.popef"], first)
        self.assertNotIn("nonzero.optimized.onnx", self.tree())
        self.succeeds("-i", model("nonzero"), "--export_popef", "--overwrite")
        self.assertNotEqual(self.tree()["executable.popef"], first)

    def test_distinguishes_models_of_one_name(self):
        def put(path, operator, x, y):
            os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
            self.write(path, onnx.model([onnx.node(operator, [x], [y])], [onnx.value(x, onnx.F32, [2])], [onnx.value(y, onnx.F32, [2])]))

        def compiled(*words):
            ran = self.run_command(*words, "--export_popef", "--output_dir", "out")
            return ran.code, ran.err, self.tree()["out/executable.popef"]

        put("a/model.onnx", "Relu", "x", "y")
        put("b/model.onnx", "Relu", "p", "q")
        _, _, first = compiled("-i", "a/model.onnx")
        code, error, left = compiled("-i", "b/model.onnx")
        self.assertEqual((code, left, sorted(os.listdir(self.path("out")))), (1, first, ["executable.popef", "model.optimized.onnx"]))
        self.assertIn("'out/executable.popef' contains another model with the name 'model', whose inputs are x, not p; give --popef_name", error)
        self.assertEqual(compiled("-i", "a/model.onnx"), (0, "", first))
        put("a/model.onnx", "Neg", "x", "y")
        code, error, second = compiled("-i", "a/model.onnx")
        self.assertEqual((code, error), (0, "poprt: 'out/executable.popef' was compiled from another version of 'model' and is replaced\n"))
        self.assertNotEqual(second, first)
        code, error, third = compiled("-i", "b/model.onnx", "--overwrite")
        self.assertEqual((code, error), (0, ""))
        self.assertNotEqual(third, second)

    def test_a_model_comes_from_the_standard_input(self):
        with open(model("relu"), "rb") as file:
            ran = subprocess.run(self.arguments(["-i", "-", "--output", "relu.popef"]), cwd=self.folder, stdin=file,
                                 capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(sorted(self.tree()), ["relu.popef"])
        self.fails(["-i", "-"], "nothing could be read from the standard input")
        with open(__file__, "rb") as file:
            ran = subprocess.run(self.arguments(["-i", "-"]), cwd=self.folder, stdin=file, capture_output=True, text=True, timeout=300,
                                 check=False)
        self.assertEqual(ran.returncode, 1)
        self.assertTrue(ran.stderr.startswith("poprt: the standard input: "), ran.stderr)

    def test_suggests_the_nearest_option(self):
        for words, meant in ((["--ouput_dir", "x", "-i", model("relu")], "there is no option '--ouput_dir', did you mean --output_dir?"),
                             (["--batch_sise=3"], "did you mean --batch_size?"),
                             (["--frobnicate", "x"], "there is no option '--frobnicate'; see")):
            ran = self.run_command(*words)
            self.assertEqual(ran.code, 2)
            self.assertIn(meant, ran.err)

    def test_every_command_has_a_version(self):
        texts = {self.succeeds("--version", command=c) for c in ("poprt", "poprt_exec", "popef_dump")}
        self.assertEqual(len(texts), 1)
        self.assertIn("PopRT version: ", texts.pop())

    def test_the_environment_is_checked_with_one_warning(self):
        popef, digits = self.popef(model("relu")), ["-i", DIGITS, *DIGITS_SHAPE]
        commands = [("poprt", ["-i", model("relu"), "--run"]), ("poprt", [*digits, "-o", "a.popef"]),
                    ("poprt", ["-i", model("relu"), "--show"]), ("poprt_exec run", [popef, "--random"]),
                    ("poprt_exec run", [model("relu"), "--random"]), ("poprt_exec bench", [popef, "--iterations", "1"]),
                    ("poprt_exec opt", [model("relu")]), ("poprt_exec inspect", [popef, "--view", "run"])]
        for name, value, known in (("POPRT_LOG_LEVEL", "loud", "TRACE, DEBUG, INFO, WARNING, ERROR, CRITICAL or OFF"),
                                   ("POPRT_ISA", "neon", "baseline, avx2 or avx512")):
            for command, words in commands:
                with self.subTest(f"{name} {command} {words}"), mock.patch.dict(os.environ, {name: value}):
                    ran = self.run_command(*words, command=command)
                    self.assertEqual(ran.code, 0)
                    self.assertEqual(ran.err.count(f"{name} is '{value}', expected {known}"), 1, ran.err)
                    self.assertEqual(ran.err.count("\n"), 1, ran.err)

    def test_refuses_a_compiled_file(self):
        self.succeeds("-i", model("relu"), "--output", "a.popef")
        self.fails(["-i", "a.popef"], "a PopEF file, not an ONNX model: it is compiled already, give it to a runner")
        ran = self.run_command(model("relu"), command="popef_dump")
        self.assertIn("an ONNX model, not a PopEF file: compile it first", ran.err)

    def test_output_model_is_a_path_in_the_output_folder(self):
        self.fails(["-i", model("relu"), "--output_model", "elsewhere/a.onnx"], "cannot create './elsewhere/a.onnx'")
        self.assertEqual(list(self.tree()), [])
        os.mkdir(self.path("elsewhere"))
        self.succeeds("-i", model("relu"), "--output_model", "elsewhere/a.onnx")
        self.assertEqual(list(self.tree()), ["elsewhere", os.path.join("elsewhere", "a.onnx")])

    def test_a_second_run_replaces_the_files_with_the_same_bytes(self):
        self.succeeds("-i", DIGITS, *DIGITS_SHAPE, "--export_popef")
        first = self.tree()
        self.succeeds("-i", DIGITS, *DIGITS_SHAPE, "--export_popef")
        self.assertEqual(self.tree(), first)

    def test_a_folder_with_one_model_stands_for_it(self):
        os.mkdir(self.path("models"))
        with open(DIGITS, "rb") as file:
            self.write("models/m.onnx", file.read())
        self.assertIn("image", self.succeeds("-i", "models", "--show"))
        self.write("models/second.onnx", b"")
        self.fails(["-i", "models", "--show"], "'models'", "2 .onnx files", "--input_model")

    def test_run_reports_batch_latency_and_throughput(self):
        for more in ([], ["--export_popef"]):
            text = self.succeeds("-i", DIGITS, *DIGITS_SHAPE, "--run", *more)
            batch = re.search(r"^Bs: (\d+)$", text, re.M)
            latency = re.search(r"^Latency: (\d+\.\d{2,4})ms$", text, re.M)
            throughput = re.search(r"^Tput: (\d+)$", text, re.M)
            self.assertEqual(batch[1], "2")
            expected = 2000 / float(latency[1])
            self.assertLess(abs(float(throughput[1]) - expected), 0.1 * expected)

    def test_batch_size_fixes_the_batch(self):
        self.succeeds("-i", DIGITS, "--batch_size", "3", "--batch_axis", "0")
        self.assertIn("[3, 1, 8, 8]", self.succeeds("-i", "digits.optimized.onnx", "--show"))

    def test_precision_changes_the_types(self):
        self.succeeds("-i", DIGITS, *DIGITS_SHAPE, "--precision", "fp16")
        self.assertIn("dtype - f16", self.succeeds("-i", "digits.optimized.onnx", "--show"))
        self.succeeds("-i", DIGITS, *DIGITS_SHAPE, "--precision", "fp32")
        self.assertIn("dtype - f32", self.succeeds("-i", "digits.optimized.onnx", "--show"))

    def test_passes_and_skip_passes_take_lists(self):
        self.succeeds("-i", DIGITS, *DIGITS_SHAPE, "--passes", "eliminate_identity, sort_graph",
                      "--skip_passes", "constant_folding,eliminate_nop_cast")

    def test_convert_version_sets_the_opset(self):
        for target in (13, 17):
            self.succeeds("-i", model("squeeze_opset11"), "--convert_version", target, "--export_popef", "--run")
            text = self.succeeds("squeeze_opset11.optimized.onnx", command="poprt_exec opt")
            self.assertIn(f'opset {{"": {target}}}', text)

    def test_max_tensor_size_is_accepted(self):
        self.succeeds("-i", DIGITS, *DIGITS_SHAPE, "--max_tensor_size", "64")
        self.succeeds("-i", DIGITS, *DIGITS_SHAPE, "--max_tensor_size=-1")
        self.misused(["-i", DIGITS, "--max_tensor_size", "x"], "--max_tensor_size", "'x'")

    def test_winograd_chooses_how_convolutions_are_computed(self):
        for choice in ("off", "exact", "fast"):
            self.succeeds("-i", DIGITS, *DIGITS_SHAPE, "--winograd", choice, "--export_popef", "--run")
        self.misused(["-i", DIGITS, "--winograd", "slow"], "--winograd", "slow")

    def test_logging_level(self):
        for level in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"):
            self.assertEqual(self.run_command("-i", DIGITS, "--show", "--logging_level", level).code, 0)
        self.misused(["-i", DIGITS, "--logging_level", "LOUD"], "--logging_level", "LOUD")


class Progress(CommandTest):
    command = "poprt"

    def test_silent_in_a_pipe(self):
        self.succeeds("-i", DIGITS, *DIGITS_SHAPE, "--export_popef")  # asserts an empty stderr

    def test_visible_on_a_terminal(self):
        code, shown = self.on_terminal("-i", DIGITS, *DIGITS_SHAPE, "--export_popef")
        self.assertEqual(code, 0)
        for title in ("PopRT conversion", "Graph compilation"):
            self.assertRegex(shown, title + r": 100%\|#+\|\r+\n")
            percents = [int(p) for p in re.findall(title + r": +(\d+)%", shown)]
            self.assertEqual(percents, sorted(percents))
            self.assertGreater(len(percents), 2)

    def test_calibration_and_hash_have_parts_of_the_bars(self):
        self.npy("image.npy", "f4", [10, 1, 8, 8], [i % 17 / 16 for i in range(640)])
        with zipfile.ZipFile(self.path("data.npz"), "w") as archive:
            archive.write(self.path("image.npy"), "image.npy")
        code, shown = self.on_terminal("-i", DIGITS, *DIGITS_SHAPE, "--precision", "int8", "--calibration_with_data", "--data_preprocess",
                                       "data.npz", "--export_popef")
        self.assertEqual(code, 0, shown)
        for title, parts in (("PopRT conversion", range(25, 65)), ("Graph compilation", (95,))):
            percents = [int(p) for p in re.findall(title + r": +(\d+)%", shown)]
            self.assertEqual(percents, sorted(percents))
            self.assertTrue(set(parts) & set(percents), percents)

    def test_can_be_disabled(self):
        code, shown = self.on_terminal("-i", DIGITS, *DIGITS_SHAPE, "--export_popef",
                                       "--disable_compilation_progress_bar")
        self.assertEqual(code, 0)
        self.assertNotIn("%", shown)


class WrongUsage(CommandTest):
    command = "poprt"

    def test_no_model(self):
        self.misused([], "--input_model")

    def test_unknown_option_and_stray_word(self):
        self.misused(["--frobnicate"], "--frobnicate")
        self.misused(["-i", DIGITS, "--show=maybe"], "--show: expected true or false, found 'maybe'")
        self.misused(["-i", DIGITS, "stray"], "stray")

    def test_bad_precision(self):
        self.misused(["-i", DIGITS, "--precision", "int3"], "--precision", "int3", "fp16")

    def test_batch_options_belong_together(self):
        self.misused(["-i", DIGITS, "--batch_axis", "0"], "--batch_size", "--batch_axis")

    def test_numbers_out_of_range(self):
        self.misused(["-i", DIGITS, "--batch_size", "0", "--batch_axis", "0"], "--batch_size", "at least 1", "'0'")
        for opset in ("0", "6", "10", "29", "-11", "999", "eleven"):
            self.misused(["-i", DIGITS, "--convert_version", opset], "--convert_version", "at least 11 and at most 28", opset)
        self.misused(["-i", DIGITS, "--lowest_opset", "29"], "--lowest_opset", "at most 28")
        self.misused(["-i", DIGITS, "--lowest_opset", "10"], "--lowest_opset", "0 or an opset from 11")
        self.misused(["-i", DIGITS, "--lowest_opset", "12", "--convert_version", "13"], "exclude each other")

    def test_empty_values(self):
        self.misused(["-i", ""], "--input_model", "empty")
        for option in ("--output_model", "--output_dir", "--input_shape", "--passes", "--skip_passes"):
            self.misused(["-i", DIGITS, option, ""], option, "empty")

    def test_words_that_are_not_offered(self):
        self.misused(["-i", DIGITS, "--precision", "int3"], "--precision", "expected fp32 or fp16", "'int3'")
        self.misused(["-i", DIGITS, "--precision", ""], "--precision", "expected fp32 or fp16", "''")
        self.misused(["-i", DIGITS, "--logging_level", "LOUD"], "--logging_level", "WARNING", "'LOUD'")

    def test_malformed_shapes(self):
        for word in ("image", "image=", "image=1,x,8,8", "image=-1,1,8,8", "image=1,,8,8", "image=1,",
                     "image=99999999999999999999,1,8,8"):
            self.misused(["-i", DIGITS, "--input_shape", word], "--input_shape", word)


class Errors(CommandTest):
    command = "poprt"

    def test_missing_file(self):
        self.fails(["-i", "nope.onnx", "--export_popef"], "'nope.onnx'", "No such file")

    def test_folder_without_model(self):
        os.mkdir(self.path("empty"))
        self.fails(["-i", "empty"], "'empty'", "contains no .onnx file")

    def test_not_onnx(self):
        self.write("text.onnx", b"this is no model, despite its name\n")
        self.fails(["-i", "text.onnx", "--export_popef", "--output_dir", "out"], "text.onnx", "ONNX")
        self.write("zero.onnx", b"")
        self.fails(["-i", "zero.onnx"], "zero.onnx")

    def test_truncated_model(self):
        with open(DIGITS, "rb") as file:
            data = file.read()
        for size in (1, 100, 5000, len(data) - 1):
            self.write("cut.onnx", data[:size])
            self.fails(["-i", "cut.onnx", *DIGITS_SHAPE, "--export_popef", "--output_dir", "out"], "cut.onnx")

    def test_unknown_operator(self):
        self.fails(["-i", model("unknown_op"), "--export_popef", "--output_dir", "out"], "Frobnicate")

    def test_dynamic_model_without_shape(self):
        for more in ([], ["--export_popef"], ["--run"]):
            self.fails(["-i", DIGITS, *more, "--output_dir", "out"], "image", "f32[N,1,8,8]",
                       "--input_shape image=")

    def test_shape_for_an_unknown_input(self):
        ran = self.run_command("-i", DIGITS, "--input_shape", "foo=1,2", "--allow_unknown_inputs")
        self.assertEqual((ran.code, ran.err.count("\n")), (1, 2))
        for fact in (" WARNING [poprt] ", "'foo'", "--input_shape image="):
            self.assertIn(fact, ran.err)

    def test_shape_of_another_rank(self):
        self.fails(["-i", DIGITS, "--input_shape", "image=1,2"], "'image'", "[1,2]", "rank")

    def test_shape_that_changes_a_fixed_dimension(self):
        self.fails(["-i", DIGITS, "--input_shape", "image=1,1,9,8"], "'image'", "axis 2", "9")

    def test_shape_given_twice(self):
        self.misused(["-i", DIGITS, *DIGITS_SHAPE, "image=1,1,8,8"], "'image'", "twice")

    def test_batch_axis_out_of_range(self):
        self.fails(["-i", DIGITS, "--batch_size", "2", "--batch_axis", "4"], "image", "axis 4")

    def test_opset_that_cannot_be_reached(self):
        self.fails(["-i", model("unknown_op"), "--convert_version", "17"], "Frobnicate")
        self.write("bits.onnx", self.bits())
        self.fails(["-i", "bits.onnx", "--convert_version", "11", "--output_dir", "new"],
                   "opset 18 to 11", "BitwiseNot node 'node_y'", "opset 11 has no operator")
        self.assertFalse(os.path.exists(self.path("new")))

    @staticmethod
    def bits():
        """An operator without an equivalent before opset 18."""
        values = [onnx.value(n, onnx.S32, [4]) for n in "xy"]
        return onnx.model([onnx.node("BitwiseNot", ["x"], ["y"])], values[:1], values[1:], opset=18)

    def test_opset_11_unless_an_operator_needs_another(self):
        for given, opset in (([], 11), (["--lowest_opset", "0"], 18), (["--lowest_opset", "15"], 15)):
            self.write("wide.onnx", onnx.model([onnx.node("Relu", ["x"], ["y"])], [onnx.value("x", onnx.F32, [4])],
                                               [onnx.value("y", onnx.F32, [4])], opset=18))
            self.succeeds("-i", "wide.onnx", *given)
            self.assertIn(f'opset {{"": {opset}}}', self.succeeds("wide.optimized.onnx", command="poprt_exec opt"))
        self.write("bits.onnx", self.bits())
        ran = self.run_command("-i", "bits.onnx", "--check")
        self.assertEqual(ran.code, 0, ran.err)
        self.assertEqual(ran.err.count("BitwiseNot node 'node_y'"), 1, ran.err)
        self.assertIn("opset 18, the lowest from 11 on", ran.err)
        self.assertIn('opset {"": 18}', self.succeeds("bits.optimized.onnx", command="poprt_exec opt"))
        self.write("old.onnx", onnx.model([onnx.node("Relu", ["x"], ["y"])], [onnx.value("x", onnx.F32, [4])],
                                          [onnx.value("y", onnx.F32, [4])], opset=6))
        ran = self.run_command("-i", "old.onnx")
        self.assertEqual(ran.code, 0, ran.err)
        self.assertIn("opset 6, its own", ran.err)
        self.fails(["-i", "old.onnx", "--convert_version", "11", "--output_model", "new.onnx"], "opset 6 to 11", "opsets 7 to 28")

    def test_products_beyond_32_bits_are_those_of_64_bits(self):
        """A hash of ids: the product needs more than 32 bits, and the remainder does not."""
        nodes = [onnx.node("Constant", [], [name], value_int=value) for name, value in (("factor", 1000003), ("size", 5000))]
        nodes += [onnx.node("Mul", ["id", "factor"], ["product"]), onnx.node("Mod", ["product", "size"], ["y"])]
        values = {name: onnx.value(name, onnx.S64, [4]) for name in ("id", "product", "y")}
        ids = [1, 77, 123456, 999999]
        self.npy("id.npy", "i4", [4], ids)
        self.npy("y.npy", "i4", [4], [n * 1000003 % 5000 for n in ids])
        self.write("m.onnx", onnx.model(nodes, [values["id"]], [values["y"]]))
        converted = self.run_command("-i", "m.onnx", "-o", "m.popef", "--check")
        self.assertEqual((converted.code, converted.err), (0, ""))
        self.assertIn("inputs 'large integers': 64-bit integers in [0,1048576)", converted.out)
        self.succeeds("m.popef", "--input", "id=id.npy", "--reference", "y=y.npy", command="poprt_exec compare")
        self.write("p.onnx", onnx.model(nodes, [values["id"]], [values["product"], values["y"]]))
        converted = self.run_command("-i", "p.onnx", "-o", "p.popef")
        self.assertRegex(converted.err, r"the numbers of 'product' may need more than 32 bits.*--skip_passes int64_to_int32 keeps all\n$")

    def test_64_bit_integers_become_32_bit(self):
        ids, rows = onnx.value("ids", onnx.S64, [3]), onnx.value("rows", onnx.F32, [3, 2])
        nodes = [onnx.node("Gather", ["table", "ids"], ["rows"]), onnx.node("Add", ["ids", "ids"], ["twice"])]
        self.write("lookup.onnx", onnx.model(nodes, [ids], [rows, onnx.value("twice", onnx.S64, [3])],
                                             [onnx.floats("table", [4, 2], range(8))]))
        self.npy("ids.npy", "i8", [3], [3, 0, 1])
        for given, kind in (([], "s32"), (["--skip_passes", "int64_to_int32"], "s64")):
            self.succeeds("-i", "lookup.onnx", "--export_popef", "--overwrite", *given)
            text = self.succeeds("lookup.optimized.onnx", command="poprt_exec opt")
            self.assertIn(f"input %ids : {kind}[3]", text)
            self.assertIn(f"%twice : {kind}[3]", text)
            self.succeeds("executable.popef", "--input", "ids=ids.npy", "--output", "rows=rows.npy", "--output",
                          "twice=twice.npy", command="poprt_exec run")
            self.assertEqual(self.read_npy(self.path("rows.npy"))[1], [6, 7, 0, 1, 2, 3])
            self.assertEqual(self.read_npy(self.path("twice.npy"))[1], [6, 0, 2])
        self.succeeds("-i", "lookup.onnx", "--export_popef", "--overwrite")
        self.npy("large.npy", "i8", [3], [3, 2**31, 1])
        ran = self.run_command("executable.popef", "--input", "ids=large.npy", command="poprt_exec run")
        self.assertEqual(ran.code, 1)
        self.assertIn("input 'ids' is s32, which cannot represent 2147483648", ran.err)

    def test_unknown_pass(self):
        self.fails(["-i", DIGITS, *DIGITS_SHAPE, "--passes", "nope"], "'nope'", "--list_all_passes")
        self.fails(["-i", DIGITS, *DIGITS_SHAPE, "--skip_passes", "sort_graph,nope"], "'nope'", "--list_all_passes")

    def test_output_dir_is_a_file(self):
        self.write("file", b"")
        self.fails(["-i", DIGITS, *DIGITS_SHAPE, "--output_dir", "file"], "--output_dir", "'file'")
        self.fails(["-i", DIGITS, *DIGITS_SHAPE, "--output_dir", "file/x"], "--output_dir", "'file/x'")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_unwritable_output_dir(self):
        os.mkdir(self.path("locked"))
        os.chmod(self.path("locked"), stat.S_IRUSR | stat.S_IXUSR)
        self.fails(["-i", DIGITS, *DIGITS_SHAPE, "--output_dir", "locked"], "locked", "ermission")

    def test_output_dir_that_cannot_be_made(self):
        self.fails(["-i", DIGITS, *DIGITS_SHAPE, "--output_dir", "/proc/poprt"], "--output_dir", "'/proc/poprt'")

    def test_source_is_never_overwritten(self):
        with open(DIGITS, "rb") as file:
            self.write("m.onnx", file.read())
        self.misused(["-i", "m.onnx", *DIGITS_SHAPE, "--output_model", "m.onnx"], "same file as 'm.onnx'", "--output_model")

    def test_standard_output_that_is_full(self):
        for words in (["--version"], ["--list_all_passes"]):
            with open("/dev/full", "w") as full:
                ran = subprocess.run(self.arguments(words), stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
            self.assertEqual((ran.returncode, ran.stderr.count("\n")), (1, 1), ran.stderr)
            self.assertIn("No space left", ran.stderr)

    def test_help_that_cannot_be_printed(self):
        for command in ("poprt", "poprt_exec", "poprt_exec run", "popef_dump"):
            with open("/dev/full", "w") as full:
                ran = subprocess.run(self.arguments(["--help"], command), stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
            self.assertEqual(ran.stderr, f"{command}: cannot write to the standard output: No space left on device\n")
            self.assertEqual(ran.returncode, 1)

    def test_standard_error_that_is_full_or_closed(self):
        for command in ("poprt -i", "poprt_exec run", "popef_dump"):
            with open("/dev/full", "w") as full:
                self.assertEqual(subprocess.run(self.arguments(["no.onnx"], command), stderr=full, timeout=300).returncode, 1)
            closed = ["sh", "-c", 'exec 2>&-; exec "$@"', "sh", *self.arguments(["no.onnx"], command)]
            self.assertEqual(subprocess.run(closed, timeout=300).returncode, 1, command)

    def test_nothing_is_printed_into_files_of_closed_streams(self):
        words = self.arguments(["-i", DIGITS, *DIGITS_SHAPE, "--output", "whole.popef"])
        self.assertEqual(subprocess.run(words, cwd=self.folder, stdout=subprocess.DEVNULL, timeout=300).returncode, 0)
        closed = ["sh", "-c", 'exec <&- >&- 2>&-; exec "$@"', "sh", *words[:-1], "closed.popef"]
        self.assertEqual(subprocess.run(closed, cwd=self.folder, timeout=300).returncode, 1)
        with open(self.path("whole.popef"), "rb") as whole, open(self.path("closed.popef"), "rb") as made:
            self.assertEqual(made.read(), whole.read())

    def test_model_from_a_pipe(self):
        with open(DIGITS, "rb") as file:
            data = file.read()
        ran = subprocess.run(self.arguments(["-i", "/dev/stdin", *DIGITS_SHAPE, "--output", "digits.popef"]), input=data,
                             cwd=self.folder, capture_output=True, timeout=300)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""))
        self.assertEqual(list(self.tree()), ["digits.popef"])
        self.fails(["-i", "/dev/null"], "nothing could be read from '/dev/null'")

    def test_a_model_without_its_option(self):
        self.fails([DIGITS, *DIGITS_SHAPE], f"expected options, found '{DIGITS}'", f"give --input_model {DIGITS}", code=2)

    def test_reports_a_missing_model_before_an_existing_output(self):
        self.succeeds("-i", DIGITS, *DIGITS_SHAPE, "--output", "digits.popef")
        self.fails(["-i", "no.onnx", "--output", "digits.popef"], "cannot open 'no.onnx'")

    def test_existing_files_stay_when_it_fails(self):
        with open(model("relu"), "rb") as file:
            self.write("unknown_op.optimized.onnx", file.read())
        self.write("executable.popef", b"PopEF old executable")
        self.fails(["-i", model("unknown_op"), "--export_popef"], "Frobnicate")  # fails() compares contents


if __name__ == "__main__":
    unittest.main()
