"""poprt: every documented option, by the rows of PopRT's feature list. Each does what docs/options.md documents. This file has those about files
and output; poprt_options_*_test.py have the others."""

import json
import os
import re
import stat
import subprocess
import unittest

import onnx_writer as onnx
from option_support import SHAPE, OptionTest
from support import DIGITS, ROOT, model


class Table(OptionTest):
    def test_71_of_71_options(self):
        table = self.table()
        documented = [o for part in ("options", "tf2onnx") for o in table[part] if "since" in o]
        self.assertEqual((len(documented), len({o["name"] for o in documented})), (71, 71))
        shown = self.succeeds("--help") + self.succeeds("tf2onnx", "--help")
        for option in documented:
            self.assertRegex(shown, rf"--{option['name']}\b")
            for alias in option.get("aliases", []):
                self.assertRegex(shown, rf"{alias}\b")
        with open(os.path.join(ROOT, "docs", "options.md"), encoding="utf-8") as file:
            self.assertIn("## Of PopRT 1.5: 71", file.read())

    def test_every_option_has_an_effect_or_a_note(self):
        for part in ("options", "tf2onnx", "compiler_options"):
            for option in self.table()[part]:
                self.assertIn(option["effect"], ("acts", "recorded", "warns", "fails"))
                if option["effect"] in ("warns", "fails"):
                    self.assertTrue(option["note"], option["name"])

    def test_options_that_fail_fail_with_one_line(self):
        values = {}
        failing = [o for o in self.table()["options"] if o["effect"] == "fails"]
        for option in failing:
            with self.subTest(option["name"]):
                words = ["--" + option["name"]]
                if option["kind"] != "flag":
                    words.append(values.get(option["name"], "word"))
                printed = self.fails(["-i", DIGITS, *SHAPE, *words], "--")
                self.assertIn(option["note"], printed)

    def test_recorded_options_are_in_the_metadata(self):
        samples = {"text": "word", "integer": "3", "number": "0.5", "names": "before_add,after_matmul",
                   "words": "/block.0/MatMul=2"}
        own = {"ipu_version": "ipu21", "popart_options": "numIOTiles=3"}
        for option in self.table()["options"]:
            if option["effect"] != "recorded":
                continue
            with self.subTest(option["name"]):
                name = option["name"]
                value = own.get(name, samples.get(option["kind"], "1"))
                found = self.recorded("--" + name, *([] if option["kind"] == "flag" else [value]))
                if name == "popart_options":
                    self.assertEqual(found["popart.numIOTiles"], "3")
                else:
                    self.assertEqual(found[name], value)

    def test_an_option_that_is_not_given_is_not_recorded(self):
        self.assertEqual(set(self.recorded()), {"narrow_int64", "source", "source_hash"})


class InputOutputInformation(OptionTest):
    def test_h_usage(self):
        self.assertEqual(self.succeeds("-h"), self.succeeds("--help"))
        self.assertIn("Usage: poprt", self.succeeds("-h"))

    def test_v_three_line_version(self):
        self.assertEqual(len(self.succeeds("-v").splitlines()), 3)

    def test_i_input_model(self):
        self.assertIn("relu.optimized.onnx", self.succeeds("-i", model("relu")))
        self.fails(["--input_model", "none.onnx"], "'none.onnx'")

    def test_directory_with_one_onnx_file(self):
        os.mkdir(self.path("models"))
        self.fails(["-i", "models"], "contains no .onnx file")
        for name in ("a", "b"):
            with open(model("relu"), "rb") as file:
                self.write(f"models/{name}.onnx", file.read())
            if name == "a":
                self.succeeds("-i", "models")
        self.fails(["-i", "models"], "2 .onnx files")

    def test_output_model_output_dir_default_name(self):
        self.succeeds("-i", model("relu"))
        self.succeeds("-i", model("relu"), "--output_dir", "x", "--output_model", "b.onnx")
        self.assertEqual(sorted(self.tree()), ["relu.optimized.onnx", "x", "x/b.onnx"])

    def test_output_model_keeps_its_folder(self):
        self.write("b.onnx", b"unrelated")
        self.fails(["-i", model("relu"), "--output_model", "none/b.onnx"], "'./none/b.onnx'", "No such file or directory")
        os.makedirs(self.path("out/deep"))
        self.succeeds("-i", model("relu"), "--output_dir", "out", "--output_model", "deep/b.onnx")
        self.assertEqual(sorted(self.tree()), ["b.onnx", "out", "out/deep", "out/deep/b.onnx"])
        self.assertEqual(self.tree()["b.onnx"], b"unrelated")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_output_dir_without_access(self):
        os.mkdir(self.path("locked"))
        os.chmod(self.path("locked"), stat.S_IRUSR | stat.S_IXUSR)
        self.fails(["-i", model("relu"), "--output_dir", "locked"], "locked")

    def test_links_stay_links(self):
        """Links are not replaced by files: the file that a link names is created or replaced."""
        for folder in ("far", "out"):
            os.mkdir(self.path(folder))
        os.symlink("../far/model.onnx", self.path("out/relu.optimized.onnx"))
        os.symlink(self.path("far/made.popef"), self.path("out/executable.popef"))
        for _ in range(2):
            self.succeeds("-i", model("relu"), "--export_popef", "--output_dir", "out")
            self.assertTrue(all(os.path.islink(self.path("out/" + n)) for n in ("relu.optimized.onnx", "executable.popef")))
            self.assertEqual(sorted(os.listdir(self.path("far"))), ["made.popef", "model.onnx"])
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["executable.popef", "relu.optimized.onnx"])
        self.assertIn("x", self.succeeds("far/made.popef", command="popef_dump"))

    def test_export_popef_overwrite(self):
        self.succeeds("-i", model("relu"), "--export_popef")
        first = self.tree()["executable.popef"]
        self.succeeds("-i", model("relu"), "--export_popef", "--num_io_tiles", "32")
        self.assertNotEqual(self.tree()["executable.popef"], first)
        self.succeeds("executable.popef", "--random", command="poprt_exec run")

    def test_run_report(self):
        text = self.succeeds("-i", DIGITS, *SHAPE, "--run")
        batch, latency, rate = (float(re.search(p, text, re.M)[1]) for p in (r"^Bs: (\d+)$", r"^Latency: ([\d.]+)ms$", r"^Tput: (\d+)$"))
        self.assertLess(abs(rate - batch * 1000 / latency), 0.1 * rate)

    def test_show(self):
        self.assertEqual(self.succeeds("-i", DIGITS, "--show").splitlines(),
                         ["input image: dtype - f32, shape - [N, 1, 8, 8]", "output scores: dtype - f32, shape - [N, 10]"])
        self.assertEqual(self.tree(), {})

    def test_show_warns_of_unused_options(self):
        shown = self.run_command("-i", DIGITS, "--show", "--export_popef", "--output_dir", "out", "--run")
        self.assertEqual((shown.code, self.tree()), (0, {}))
        self.assertEqual(shown.err.splitlines(), [f"poprt: {option} has no effect, because --show only prints"
                                                  for option in ("--export_popef", "--output_dir", "--run")])

    def test_show_io_stat(self):
        inputs = [onnx.value("a", onnx.F32, [2, 3]), onnx.value("b", onnx.S64, ["n"]), onnx.value("c", onnx.F32, [2, 3])]
        nodes = [onnx.node("Add", ["a", "c"], ["d"]), onnx.node("Neg", ["b"], ["e"])]
        self.write("m.onnx", onnx.model(nodes, inputs, [onnx.value("d", onnx.F32, [2, 3]), onnx.value("e", onnx.S64, ["n"])]))
        before = self.tree()
        self.assertEqual(self.succeeds("-i", "m.onnx", "--show_io_stat").splitlines(),
                         ["inputs: 3", "  2 x dtype - f32, shape - [2, 3]", "  1 x dtype - s64, shape - [n]",
                          "outputs: 2", "  1 x dtype - f32, shape - [2, 3]", "  1 x dtype - s64, shape - [n]"])
        self.assertIn("  1 x dtype - s64, shape - [7]", self.succeeds("-i", "m.onnx", "--show_io_stat", "--input_shape", "b=7").splitlines())
        self.assertIn("  1 x dtype - f32, shape - [5, 1, 8, 8]",
                      self.succeeds("-i", DIGITS, "--show_io_stat", "--batch_size", "5").splitlines())
        self.assertEqual(self.tree(), before)

    def test_logging_level(self):
        loud, quiet = (self.run_command("-i", model("stray"), "--logging_level", level) for level in ("DEBUG", "ERROR"))
        self.assertEqual((loud.code, quiet.code, quiet.err), (0, 0, ""))
        self.assertGreater(len(loud.err), 0)

    def test_print_completion(self):
        for shell in ("bash", "zsh"):
            self.write(shell, self.succeeds("--print_completion", shell).encode())
            ran = subprocess.run([shell, "-c", f". ./{shell}"], cwd=self.folder, capture_output=True, text=True, check=False) \
                if shell == "bash" or os.path.exists("/usr/bin/zsh") else None
            if ran:
                self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.misused(["--print_completion", "fish"], "bash or zsh", "'fish'")

    def complete(self, *words):
        """Returns the completions of the last word in bash."""
        line = "COMP_WORDS=(" + " ".join(f"'{w}'" for w in words) + f"); COMP_CWORD={len(words) - 1}"
        script = f". ./bash; compopt() {{ :; }}; {line}; _poprt; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        self.write("bash", self.succeeds("--print_completion", "bash").encode())
        return subprocess.run(["bash", "-c", script], cwd=self.folder, capture_output=True, text=True, check=True).stdout.split()

    def test_completion_of_words_and_values(self):
        self.assertEqual(self.complete("poprt", "--export_"), ["--export_popef"])
        self.assertEqual(self.complete("poprt", "--ipu_version", "ipu2"), ["ipu2", "ipu21"])
        self.assertEqual(self.complete("poprt", "tf2onnx", "--inputs"), ["--inputs", "--inputs_as_nchw"])

    def test_list_all_passes(self):
        lines = self.succeeds("--list_all_passes").splitlines()
        listed = json.loads(self.succeeds("--list_all_passes", "--json"))
        self.assertEqual([p["name"] for p in listed], [line.split()[0] for line in lines])
        self.assertTrue(all(p["summary"] for p in listed))
        with open(os.path.join(ROOT, "tests", "data", "poprt_passes.txt"), encoding="utf-8") as file:
            documented = file.read().split()
        self.assertEqual((len(documented), set(documented) - {p["name"] for p in listed}), (105, set()))
        merge = next(p for p in listed if p["name"] == "merge_matmul")
        self.assertEqual([(q["name"], q["kind"], q["default"], q["required"]) for q in merge["parameters"]],
                         [("names", "names", None, True)])
        self.misused(["--json"], "--json", "--list_all_passes")

    def test_disable_compilation_progress_bar(self):
        code, shown = self.on_terminal("-i", model("relu"), "--export_popef", "--disable_compilation_progress_bar")
        self.assertEqual((code, shown.count("%")), (0, 0))
        code, shown = self.on_terminal("-i", model("relu"), "--export_popef", "--compiler_options",
                                       "show_compilation_progress_bar=False")
        self.assertEqual(code, 0)

    def test_perf_tuner_accepted_unimplemented(self):
        self.assertIn("--perf_tuner has no effect", self.warned("-i", model("relu"), "--perf_tuner"))


class AsArgparse(OptionTest):
    """The abbreviations and forms that PopRT's command accepted, because it used Python's argparse."""

    def test_beginnings_of_options(self):
        self.succeeds("--input_mod", model("relu"), "--output_d=x", "--export_p")
        self.assertEqual(sorted(self.tree()), ["x", "x/executable.popef", "x/relu.optimized.onnx"])
        self.succeeds("--input_m=" + DIGITS, "--input_s", "image=2,1,8,8", "--precision", "fp16")
        self.assertIn("dtype - f16", self.succeeds("-i", "digits.optimized.onnx", "--show"))
        self.assertIn("--show_io_stat", self.succeeds("--hel"))

    def test_a_whole_name_is_no_beginning_of_another(self):
        self.assertIn("input x", self.succeeds("-i", model("relu"), "--show"))
        self.misused(["-i", model("relu"), "--serialize_matmu", "x=2"], "--serialize_matmul, --serialize_matmul_add")
        self.misused(["-i", model("relu"), "--serialize_matmul", "x=0"], "--serialize_matmul: expected")

    def test_a_beginning_of_two_options_is_neither(self):
        self.misused(["-i", model("relu"), "--prec", "fp16"], "--precision, --precision_compare")

    def test_ambiguous_beginnings_are_one_line_with_the_candidates(self):
        self.misused(["--input", model("relu")], "'--input' is ambiguous, it could be --input_model, --input_shape")
        self.misused(["-i", model("relu"), "--batch=3"], "--batch_size, --batch_axis, --batches_per_step")
        self.misused(["-i", model("relu"), "--batch_size", "9" * 20], "expected a whole number of at least 1 and at most 9223372036854775807, found")
        self.misused(["-i", model("relu"), "--xxxxxxx"], "there is no option")

    def test_an_alias_and_its_option_are_one(self):
        printed = self.misused(["-i", DIGITS, "--quantize_l", "gptq"], "gptq goes with")
        self.assertNotIn("ambiguous", printed)
        self.misused(["-i", DIGITS, "--quantiz"], "--quantize, --quantize_loss_type")

    def test_abbreviations_after_a_sub_command_are_of_it(self):
        self.misused(["-i", "m", "--framework", "tensorflow", "tf2onnx", "--inp", "a:0"], "could be --inputs, --inputs_as_nchw")
        self.fails(["-i", "nothing", "--framew", "tensorflow", "tf2onnx", "--saved"], "'nothing' is not the folder")

    def test_errors_name_the_sub_command(self):
        for words, why in ((["--saved_modle"], "there is no option '--saved_modle', did you mean --saved_model?"),
                           (["--precision", "fp16"], "there is no option '--precision'"),
                           (["--saved_model", "folder"], "expected options, found 'folder'")):
            printed = self.run_command("-i", "saved", "--framework", "tensorflow", "tf2onnx", *words)
            self.assertEqual((printed.code, printed.err), (2, f"poprt tf2onnx: {why}; see poprt tf2onnx --help\n"))
        self.misused(["-i", "m.onnx", "a", "b"], "expected options, found 'a' and 'b'; see poprt --help")

    def test_values_are_no_options(self):
        with open(model("relu"), "rb") as file:
            self.write("tf2onnx", file.read())
        self.succeeds("-i", "tf2onnx", "--output_mod", "y.onnx")
        self.assertIn("y.onnx", self.tree())

    def test_beginnings_in_the_other_commands(self):
        self.succeeds("-i", model("relu"), "--export_popef")
        self.succeeds("executable.popef", "--rand", command="poprt_exec run")
        ran = self.run_command("executable.popef", "--in", command="poprt_exec poprt_run_popef")
        self.assertEqual((ran.code, ran.err.count("\n")), (2, 1), ran.err)

    def test_the_last_of_several_values_counts(self):
        words = ["-i", DIGITS, *SHAPE, "--precision", "fp32", "--precision", "fp16"]
        self.assertIn("--precision is given several times; the last value is used: fp16", self.warned(*words))
        self.assertIn("dtype - f16", self.succeeds("-i", "digits.optimized.onnx", "--show"))
        self.succeeds(*words, "--logging_level", "ERROR")
        self.succeeds("-i", model("relu"), "--output_dir", "x", "--output_dir", "x")  # equal values of a repeated option cause no warning
        self.warned("-i", "none.onnx", "-i", model("relu"), "--output_model", "z.onnx")
        self.assertIn("z.onnx", self.tree())
        self.misused(["-i", model("relu"), "--precision", "fp16", "--precision", "int3"], "'int3'")

    def test_lists_given_twice_are_one_list(self):
        self.succeeds("-i", model("relu"), "--export_popef", "--passes", "eliminate_identity", "--passes", "sort_graph")
        self.assertEqual(self.metadata()["passes"], "eliminate_identity,sort_graph")

    def test_log_lines_look_as_those_of_poprt(self):
        printed = self.warned("-i", DIGITS, *SHAPE, "mask=1,2", "--allow_unknown_inputs")
        self.assertRegex(printed, r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} WARNING \[poprt\] \w+\.cpp:\d+\] .*'mask'")


if __name__ == "__main__":
    unittest.main()
