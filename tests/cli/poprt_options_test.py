"""poprt: every documented option, by the rows of PopRT's feature list. What docs/options.md says of it, it does."""

import json
import os
import pickle
import re
import stat
import subprocess
import unittest
import zipfile
from unittest import mock

import onnx_writer as onnx
from support import DIGITS, ROOT, CommandTest, model

SHAPE = ["--input_shape", "image=2,1,8,8"]
ABOVE_HALF = 1e5  # more than fp16 holds


def nodes(model_bytes, op_type):
    """How many nodes of that type a serialised model has: field 4 of NodeProto."""
    return model_bytes.count(bytes([0x22, len(op_type)]) + op_type)


class OptionTest(CommandTest):
    command = "poprt"

    def table(self):
        return json.loads(self.succeeds("--json", command="poprt_exec options"))

    def graph(self, path):
        """Text of a converted model."""
        return self.succeeds(path, "--elide", command="poprt_exec opt")

    def metadata(self, path="executable.popef"):
        """The recorded options."""
        text = self.succeeds("-m", path, command="popef_dump")
        return dict(re.findall(r"^    (\S+) = (.*)$", text.split("engine_options:")[1].split("device_options")[0], re.M))

    def recorded(self, *words):
        self.succeeds("-i", model("relu"), "--export_popef", *words)
        return self.metadata()

    def warned(self, *words):
        """Runs well, with one warning."""
        ran = self.run_command(*words)
        self.assertEqual((ran.code, ran.err.count("\n")), (0, 1), ran.err)
        return ran.err

    def two_outputs(self):
        """y = -x, z = |w|, w = x + x."""
        f32 = [onnx.value(n, onnx.F32, [2, 3]) for n in "xyz"]
        nodes = [onnx.node("Neg", ["x"], ["y"]), onnx.node("Add", ["x", "x"], ["w"]), onnx.node("Abs", ["w"], ["z"])]
        return self.write("two.onnx", onnx.model(nodes, f32[:1], f32[1:]))



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

    def test_every_option_has_an_effect_and_says_why_it_is_none(self):
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
                said = self.fails(["-i", DIGITS, *SHAPE, *words], "--")
                self.assertIn(option["note"], said)

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
        self.fails(["-i", "models"], "0 .onnx files")
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

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_output_dir_without_access(self):
        os.mkdir(self.path("locked"))
        os.chmod(self.path("locked"), stat.S_IRUSR | stat.S_IXUSR)
        self.fails(["-i", model("relu"), "--output_dir", "locked"], "locked")

    def test_links_stay_links(self):
        """What they name is replaced, or made: the converted model, the executable, and what takes the place of one of the same model."""
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
                         ["input image: dtype - f32, shape - [0, 1, 8, 8]", "output scores: dtype - f32, shape - [0, 10]"])
        self.assertEqual(self.tree(), {})

    def test_show_says_what_it_does_not_use(self):
        shown = self.run_command("-i", DIGITS, "--show", "--export_popef", "--output_dir", "out", "--run")
        self.assertEqual((shown.code, self.tree()), (0, {}))
        self.assertEqual(shown.err.splitlines(), [f"poprt: {option} is not used: --show only prints"
                                                  for option in ("--export_popef", "--output_dir", "--run")])

    def test_show_io_stat(self):
        inputs = [onnx.value("a", onnx.F32, [2, 3]), onnx.value("b", onnx.S64, ["n"]), onnx.value("c", onnx.F32, [2, 3])]
        nodes = [onnx.node("Add", ["a", "c"], ["d"]), onnx.node("Neg", ["b"], ["e"])]
        self.write("m.onnx", onnx.model(nodes, inputs, [onnx.value("d", onnx.F32, [2, 3]), onnx.value("e", onnx.S64, ["n"])]))
        before = self.tree()
        self.assertEqual(self.succeeds("-i", "m.onnx", "--show_io_stat").splitlines(),
                         ["inputs: 3", "  2 x dtype - f32, shape - [2, 3]", "  1 x dtype - s64, shape - [0]",
                          "outputs: 2", "  1 x dtype - f32, shape - [2, 3]", "  1 x dtype - s64, shape - [0]"])
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
        """What bash offers for the last word."""
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
        self.assertIn("--perf_tuner does nothing", self.warned("-i", model("relu"), "--perf_tuner"))


class AsArgparse(OptionTest):
    """What PopRT's command, which used Python's argparse, let users type."""

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
        self.misused(["-i", model("relu"), "--xxxxxxx"], "there is no option")

    def test_an_alias_and_its_option_are_one(self):
        said = self.misused(["-i", DIGITS, "--quantize_l", "gptq"], "gptq goes with")
        self.assertNotIn("ambiguous", said)
        self.misused(["-i", DIGITS, "--quantiz"], "--quantize, --quantize_loss_type")

    def test_beginnings_behind_the_sub_command_are_its_own(self):
        self.misused(["-i", "m", "--framework", "tensorflow", "tf2onnx", "--inp", "a:0"], "could be --inputs, --inputs_as_nchw")
        self.fails(["-i", "nothing", "--framew", "tensorflow", "tf2onnx", "--saved"], "'nothing' is no folder")

    def test_what_is_wrong_with_a_line_is_said_of_its_own_command(self):
        for words, why in ((["--saved_modle"], "there is no option '--saved_modle', did you mean --saved_model?"),
                           (["--precision", "fp16"], "there is no option '--precision'"),
                           (["--saved_model", "folder"], "expected options, found 'folder'")):
            said = self.run_command("-i", "saved", "--framework", "tensorflow", "tf2onnx", *words)
            self.assertEqual((said.code, said.err), (2, f"poprt tf2onnx: {why}; see poprt tf2onnx --help\n"))
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
        self.assertIn("--precision is given several times, the last one counts: fp16", self.warned(*words))
        self.assertIn("dtype - f16", self.succeeds("-i", "digits.optimized.onnx", "--show"))
        self.succeeds(*words, "--logging_level", "ERROR")
        self.succeeds("-i", model("relu"), "--output_dir", "x", "--output_dir", "x")  # nothing is lost
        self.warned("-i", "none.onnx", "-i", model("relu"), "--output_model", "z.onnx")
        self.assertIn("z.onnx", self.tree())
        self.misused(["-i", model("relu"), "--precision", "fp16", "--precision", "int3"], "'int3'")

    def test_lists_given_twice_are_one_list(self):
        self.succeeds("-i", model("relu"), "--export_popef", "--passes", "eliminate_identity", "--passes", "sort_graph")
        self.assertEqual(self.metadata()["passes"], "eliminate_identity,sort_graph")

    def test_log_lines_look_as_those_of_poprt(self):
        said = self.warned("-i", DIGITS, *SHAPE, "mask=1,2")
        self.assertRegex(said, r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} WARNING \[poprt\] \w+\.cpp:\d+\] .*'mask'")


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
        for text, why in (("serialize_matmul: {node_h: {mode: none}}", "node_h: there is no factor"),
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
        for text, why in (("serialize_matmul: {node_h: none}", "--serialize_matmul: expected"),
                          ("passes: merge_matmul\npass_args: {merge_matmul: {node: a}}", "pass merge_matmul has no parameter 'node'")):
            with self.subTest(text):
                self.misused(self.config(f"input_model: {self.two_products()}\n{text}"), why)
        self.fails(self.config(f"input_model: {self.two_products()}\npass_args: {{nonsense: {{node: a}}}}"), "no pass 'nonsense'")

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
        for text, why in (("passes: &a [x]\nskip_passes: *a", "aliases are not taken"), (bomb, "there is no option 'a'"),
                          ("passes: " + "[" * 100000, "found a list or a mapping in it"), ("{" * 100000, "expected the name"),
                          ("run: !!python/object:os.system x", "tags are not taken"), (b"run: \xff\xfe", ""),
                          (b"\0\1\2", ""), ("#" * (1 << 21), "more than 1048576 bytes")):
            with self.subTest(text[:20]):
                self.misused(self.config(text), "--config_yaml", why)

    def test_files_that_cannot_be_read(self):
        self.fails(["--config_yaml", "none.yaml"], "'none.yaml'")
        os.mkdir(self.path("folder"))
        self.fails(["--config_yaml", "folder"], "'folder'")


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
        said = self.warned("-i", DIGITS, *SHAPE, "mask=1,2")
        self.assertIn("the model has no input 'mask'; its inputs are: image", said)

    def test_batch_size_and_batch_axis(self):
        inputs = [onnx.value(n, onnx.F32, ["n", 3]) for n in "ab"]
        self.write("m.onnx", onnx.model([onnx.node("Add", ["a", "b"], ["c"])], inputs, [onnx.value("c", onnx.F32, ["n", 3])]))
        self.succeeds("-i", "m.onnx", "--batch_size", "5", "--batch_axis", "0")
        self.assertEqual(self.succeeds("-i", "m.optimized.onnx", "--show").count("[5, 3]"), 3)
        self.misused(["-i", "m.onnx", "--batch_size", "5"], "--batch_axis")
        self.misused(["-i", "m.onnx", "--batch_axis", "0"], "--batch_size")

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
        said = self.succeeds("-i", DIGITS, *SHAPE, "--check", "--precision", "fp16", "--export_popef")
        self.assertIn("check: the outputs are those of the original", said)
        self.succeeds("-i", self.two_outputs(), "--check", "--remove_outputs", "y", "--checkpoints", "w")
        self.succeeds("-i", model("squeeze_opset11"), "--check", "--convert_version", "13")

    def test_check_detects_what_a_conversion_breaks(self):
        """The constant is beyond fp16 and is clipped, which changes what the model computes."""
        nodes = [onnx.node("Add", ["x", "c"], ["y"])]
        values = [onnx.value(n, onnx.F32, [2, 3]) for n in "xy"]
        self.write("clipped.onnx", onnx.model(nodes, values[:1], values[1:], [onnx.floats("c", [1], [ABOVE_HALF])]))
        before = self.tree()
        ran = self.run_command("-i", "clipped.onnx", "--precision", "fp16", "--check", "--output_dir", "new")
        self.assertEqual(ran.code, 1)
        self.assertRegex(ran.err, r"poprt: --check: output 'y' of the converted model differs in 6 of 6 elements")
        self.assertEqual(self.tree(), before)

    def test_check_of_a_size_that_depends_on_data(self):
        nodes = [onnx.node("Relu", ["x"], ["r"]), onnx.node("NonZero", ["r"], ["at"])]  # half of them are zero
        self.write("m.onnx", onnx.model(nodes, [onnx.value("x", onnx.F32, [8, 9])], [onnx.value("at", onnx.S64, [2, "n"])]))
        for words in ([], ["--precision", "fp16"]):
            self.assertIn("check:", self.succeeds("-i", "m.onnx", "--check", *words))

    def test_folders_of_a_check_go(self):
        self.succeeds("-i", model("relu"), "--check")
        self.assertEqual(list(self.tree()), ["relu.optimized.onnx"])


class Precision(OptionTest):
    def test_precision(self):
        self.succeeds("-i", DIGITS, *SHAPE, "--precision", "fp16")
        self.assertIn("dtype - f16", self.succeeds("-i", "digits.optimized.onnx", "--show"))
        self.misused(["-i", DIGITS, *SHAPE, "--precision", "fp8"], "--ipu_version ipu21")
        self.misused(["-i", DIGITS, "--precision", "int3"], "fp8_weight", "'int3'")

    def test_fp16_skip_op_types(self):
        """The operands of what is skipped are fp32: casts stand around it, and its constants are not narrowed."""
        values = [onnx.value(n, onnx.F32, [2, 3]) for n in "xy"]
        nodes = [onnx.node("Add", ["x", "c"], ["a"]), onnx.node("Mul", ["a", "c"], ["y"])]
        self.write("m.onnx", onnx.model(nodes, values[:1], values[1:], [onnx.floats("c", [1], [2.5])]))
        self.succeeds("-i", "m.onnx", "--precision", "fp16")
        self.assertNotIn("Cast", self.graph("m.optimized.onnx"))
        self.succeeds("-i", "m.onnx", "--precision", "fp16", "--fp16_skip_op_types", "Mul, Add", "--check")
        text = self.graph("m.optimized.onnx")
        for op in ("Add", "Mul"):
            first, second = re.search(rf"= {op}\(%(\S+), %(\S+)\)", text).groups()
            for operand in (first, second):
                self.assertRegex(text, rf'%"?{re.escape(operand)}"? : f32\[')
        self.assertEqual(text.count("Cast("), 2 if "Cast(%a" not in text else 4)

    def test_fp16_skip_op_types_that_mean_nothing(self):
        self.assertIn("no operator LRN", self.warned("-i", model("relu"), "--precision", "fp16", "--fp16_skip_op_types", "LRN"))
        self.assertIn("without `precision`", self.warned("-i", model("relu"), "--fp16_skip_op_types", "Relu"))

    def test_enable_avoid_overflow_patterns(self):
        """Half is a storage type: what overflows fp16 between operators does not, with the option and without."""
        nodes = [onnx.node("Mul", ["x", "x"], ["square"]), onnx.node("ReduceSum", ["square"], ["sum"], keepdims=1),
                 onnx.node("Sqrt", ["sum"], ["y"])]
        values = [onnx.value("x", onnx.F32, [2, 3]), onnx.value("y", onnx.F32, [1, 1])]
        self.write("norm.onnx", onnx.model(nodes, values[:1], values[1:]))
        self.npy("x.npy", "f2", [2, 3], [512.0] * 6)  # whose squares fp16 does not hold
        for more in ([], ["--enable_avoid_overflow_patterns"]):
            self.succeeds("-i", "norm.onnx", "--precision", "fp16", "--export_popef", *more)
            self.succeeds("executable.popef", "--input", "x=x.npy", "--output", "y=y.npy", command="poprt_exec run")
            norm, = self.read_npy(self.path("y.npy"))[1]
            self.assertLess(abs(norm - 512 * 6 ** 0.5), 1)

    def test_fp8_options_go_together(self):
        self.misused(["-i", DIGITS, "--calibration_with_data"], "--data_preprocess")
        self.misused(["-i", DIGITS, "--calibration_with_data", "--data_preprocess", "d"], "fp8 or fp8_weight")
        for precision in (["--precision", "fp8", "--ipu_version", "ipu21"], ["--precision", "fp16"], []):
            self.misused(["-i", DIGITS, *precision, "--calibration_loss_type", "gptq"], "gptq goes with", "fp8_weight")
        self.misused(["-i", DIGITS, "--calibration_loss_type", "cos"], "mse or mae", "'cos'")

    def test_calibration_has_its_earlier_names(self):
        self.misused(["-i", DIGITS, "--quantize"], "--calibration_with_data needs --data_preprocess")
        self.misused(["-i", DIGITS, "--quantize_loss_type", "gptq"], "--calibration_loss_type gptq")

    def test_precision_compare(self):
        self.succeeds("-i", DIGITS, *SHAPE, "--precision", "fp16", "--precision_compare", "--output_dir", "out")
        log = self.tree()["out/precision_compare.log"].decode()
        layers = re.findall(r"^(Conv|Gemm) (\S+): MSE (\S+) MAE (\S+) SNR (\S+) cosine distance (\S+) noise skewness (\S+) "
                            r"noise kurtosis (\S+)$", log, re.M)
        self.assertEqual([layer[0] for layer in layers], ["Conv", "Conv", "Conv", "Gemm", "Gemm"])
        for _, name, mse, mae, snr, cosine, *_ in layers:
            self.assertTrue(0 < float(mse) < float(mae) ** 2 * 10 < 1, name)
            self.assertTrue(0 < float(snr) < 1e-3 and 0 <= float(cosine) < 1e-3, name)
        self.assertEqual(len(re.findall(r"^  (?:original|converted|noise): mean \S+ std \S+ min \S+ max \S+ skewness \S+ kurtosis",
                                        log, re.M)), 3 * len(layers))
        for histogram in re.findall(r"histogram \[(.*)\]", log):
            self.assertEqual(len(histogram.split()), 32)
        worst = [float(d) for d in re.findall(r"^(\S+) (?:Conv|Gemm) \S+$", log.split("worst first")[1], re.M)]
        self.assertEqual(worst, sorted(worst, reverse=True))

    def test_fp8_weights_make_a_smaller_file(self):
        sizes = {}
        for precision in ("fp32", "fp16", "fp8_weight"):
            self.succeeds("-i", DIGITS, *SHAPE, "--precision", precision, "--popef_name", precision + ".popef")
            sizes[precision] = os.path.getsize(self.path(precision + ".popef"))
        self.assertLess(sizes["fp16"], 0.62 * sizes["fp32"])
        self.assertLess(sizes["fp8_weight"], 0.4 * sizes["fp32"])

    def test_fp16_weights_are_plain_where_winograd_transforms_them(self):
        """3x3 weights of 36 floats each are 9 halves in the file, and the results those of a model that was never in one."""
        values = [onnx.value("x", onnx.F32, [1, 32, 16, 16]), onnx.value("y", onnx.F32, [1, 48, 16, 16])]
        weights = [onnx.floats("w", [48, 32, 3, 3], [((i * 37) % 101 - 50) / 500 for i in range(48 * 32 * 9)])]
        self.write("conv.onnx", onnx.model([onnx.node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])], values[:1], values[1:], weights))
        self.npy("x.npy", "f2", [1, 32, 16, 16], [((i * 29) % 83 - 41) / 40 for i in range(32 * 256)])
        for tile in ("exact", "fast", "off"):
            given = ["--winograd", tile, "--precision", "fp16"]
            self.succeeds("-i", "conv.onnx", *given, "--output", f"{tile}.popef")
            self.succeeds("conv.onnx", *given, "--input", "x=x.npy", "--output", "y=memory.npy", command="poprt_exec run")
            self.succeeds(f"{tile}.popef", "--input", "x=x.npy", "--output", f"y={tile}.npy", command="poprt_exec run")
            self.assertEqual(self.tree()[f"{tile}.npy"], self.tree()["memory.npy"], tile)
        sizes = [os.path.getsize(self.path(f"{tile}.popef")) for tile in ("off", "exact", "fast")]
        self.assertLess(max(sizes) - min(sizes), 2048)  # 27 KB each
        off, fast = (self.read_npy(self.path(name))[1] for name in ("off.npy", "fast.npy"))
        self.assertNotEqual(off, fast)  # another algorithm, in another file of the same size
        self.assertLess(max(abs(a - b) for a, b in zip(off, fast)), 2e-3 * max(map(abs, off)))

    def test_fp8_params_and_nodes_that_stay(self):
        fp8 = ["-i", DIGITS, *SHAPE, "--precision", "fp8", "--ipu_version", "ipu21"]
        for wrong in ("F143", "F143,F143,0,40", "F144,F143,0,0"):
            self.misused([*fp8, "--fp8_params", wrong], "--fp8_params: expected", wrong)
        self.succeeds(*fp8)
        every = self.tree()["digits.optimized.onnx"]
        self.assertEqual((nodes(every, b"FP8Conv"), nodes(every, b"FP8MatMul")), (3, 2))
        self.succeeds(*fp8, "--fp8_skip_op_names", "/0/Conv,/15/Gemm")
        some = self.tree()["digits.optimized.onnx"]
        self.assertEqual((nodes(some, b"FP8Conv"), nodes(some, b"FP8MatMul")), (2, 1))
        said = self.run_command(*fp8, "--fp8_skip_op_names", "no_such_node").err
        self.assertIn("'no_such_node'", said)
        self.succeeds(*fp8, "--num_of_layers_keep_fp16", "4")
        kept = self.tree()["digits.optimized.onnx"]
        self.assertEqual(nodes(kept, b"FP8Conv") + nodes(kept, b"FP8MatMul"), 1)
        self.assertEqual(self.tree()["quantize.log"].count(b": stays fp16\n"), 4)

    def test_data_that_is_none(self):
        class Hostile:
            def __reduce__(self):
                return os.system, ("touch " + marker,)

        marker = self.path("ran")
        fp8 = ["-i", DIGITS, *SHAPE, "--precision", "fp8_weight", "--calibration_with_data", "--data_preprocess"]
        self.fails([*fp8, "nowhere"], "'nowhere'")
        for data, fact in ((b"text", "is no pickle of arrays"), (b"", "it is empty"), (pickle.dumps([1]), "expected a dict"),
                           (pickle.dumps({"image": Hostile()}), ".system'"), (pickle.dumps({"image": 1}), "'image' is no NumPy array"),
                           (pickle.dumps({}), "'data' has no arrays")):
            self.write("data", data)
            self.fails([*fp8, "data"], fact)
        self.assertFalse(os.path.exists(marker))

    def test_data_that_is_no_number(self):
        """An archive as numpy.savez writes it."""
        for code, value, why in (("f4", float("nan"), "input 'image': sample 1 has the value nan as f32; expected finite numbers"),
                                 ("f4", float("inf"), "sample 1 has the value inf"), ("f8", 1e300, "sample 1 has the value inf as f32")):
            self.npy("image.npy", code, [2, 1, 8, 8], [0.5] * 64 + [value] * 64)
            with zipfile.ZipFile(self.path("data.npz"), "w") as archive:
                archive.write(self.path("image.npy"), "image.npy")
            for precision in ("fp8", "fp8_weight"):
                self.fails(["-i", DIGITS, *SHAPE, "--precision", precision, "--ipu_version", "ipu21", "--calibration_with_data",
                            "--data_preprocess", "data.npz", "--output_dir", "out"], "--data_preprocess: ", why)

    def test_eightbitsio_needs_images(self):
        self.fails(["-i", DIGITS, *SHAPE, "--eightbitsio"], "--eightbitsio: expected an input of images")
        self.misused(["-i", DIGITS, *SHAPE, "--eightbitsio", "--check"], "--check", "--eightbitsio")

    def test_precision_compare_and_check_of_fp8(self):
        self.succeeds("-i", DIGITS, *SHAPE, "--precision", "fp8", "--ipu_version", "ipu21", "--precision_compare", "--check")
        log = self.tree()["precision_compare.log"].decode()
        found = re.findall(r"^(?:FP8Conv|FP8MatMul) \S+: MSE (\S+) MAE \S+ SNR (\S+)", log, re.M)
        self.assertEqual(len(found), 5, log[:200])
        for mse, snr in found:
            self.assertTrue(0 < float(mse) and 1e-5 < float(snr) < 0.1, log[:500])

    def test_the_pass_of_that_name_is_the_option(self):
        for words in (["--passes", "eliminate_identity, layer_precision_compare"], ["--passes", "layer_precision_compare"]):
            self.succeeds("-i", DIGITS, *SHAPE, *words, "--output_dir", "out")
            self.assertIn(b"cosine distance", self.tree()["out/precision_compare.log"])
            os.remove(self.path("out/precision_compare.log"))

    def test_precision_compare_of_a_model_without_layers(self):
        self.succeeds("-i", model("relu"), "--precision_compare")
        self.assertIn(b"no Conv, MatMul or Gemm", self.tree()["precision_compare.log"])


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
        for skipped, kind in (("sort_graph", "f16"), ("float_to_half", "f32")):  # that --precision brings
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
        """The converted model, which gives the same results (--check)."""
        said = self.succeeds("-i", path, "--check", *words)
        self.assertIn("check: the outputs are those of the original", said)
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
        self.assertIn("Gelu(", self.converts_alike("gelu.onnx", "--enable_erf_gelu"))
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
        self.fails(["-i", "m.onnx", "--apply_hcsr", "int32,[2,1]"], "no input is s32[2,1]")
        self.fails(["-i", "m.onnx", "--apply_hcsr", "fp32"], "there is no shape in brackets")

    def test_pack_args(self):
        model_path = self.sums()
        self.succeeds("-i", model_path, "--export_popef", "--pack_args", "max_valid_num=4", "segment_max_size=8",
                      "enable_double_batch_unpack=false")
        made = self.graph("sums.optimized.onnx")
        self.assertIn("input %unpack_info : s32[4,1]", made)
        self.assertIn("ai.graphcore.Unpack(", made)
        # A timeout is enough: the file says the rest.
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
                            (["segment_max_size=8", "head_pattern=Conv:1"], "no nodes as in")):
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
                   "'merge_matmul.names=node_p,node_r' would do nothing", "--passes")
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


class Compile(OptionTest):
    def test_ipu_version(self):
        self.assertEqual(self.recorded("--ipu_version", "ipu21")["ipu_version"], "ipu21")
        self.misused(["-i", DIGITS, "--precision", "fp8", "--ipu_version", "ipu2"], "fp8 needs --ipu_version ipu21")
        self.misused(["-i", DIGITS, "--ipu_version", "ipu3"], "ipu2 or ipu21", "'ipu3'")

    def test_batches_per_step(self):
        self.assertEqual(self.recorded("--batches_per_step", "16")["batches_per_step"], "16")
        self.assertEqual(self.recorded("--batch_per_step", "8")["batches_per_step"], "8")
        self.misused(["-i", DIGITS, "--batches_per_step", "0"], "--batches_per_step", "at least 1")

    def test_options_of_the_executable_say_so_where_there_is_none(self):
        options = {"max_padding": "0.2", "pad_values": "x=0", "batches_per_step": "2", "num_io_tiles": "32",
                   "available_memory_proportion": "0.3", "compiler_options": "num_ipus=1", "popart_options": "enableOutlining=1",
                   "optimize_internal_exchange_code": None, "winograd": "off", "numerics": "faithful"}
        told = "{0} has no effect without --export_popef: it is of the executable, not of the converted model"
        table = json.loads(self.succeeds("--json", command="poprt_exec options"))["options"]
        self.assertEqual({o["name"] for o in table if o.get("executable")}, set(options))
        for name, value in options.items():
            words = ["-i", model("relu"), "--" + name, *([value] if value else [])]
            with self.subTest(name):
                ran = self.run_command(*words)
                self.assertEqual((ran.code, ran.err.count(told.format("--" + name))), (0, 1), ran.err)
                for also in ("--export_popef", "--run", "--check"):
                    ran = self.run_command(*words, also)
                    self.assertEqual(ran.code, 0, ran.err)
                    self.assertNotIn("without --export_popef", ran.err)

    def test_available_memory_proportion_range(self):
        self.assertEqual(self.recorded("--available_memory_proportion", "0.1")["available_memory_proportion"], "0.1")
        self.recorded("--available_memory_proportion", "1")
        for value in ("0", "1.5", "-1", "nan", "half"):
            self.misused(["-i", DIGITS, f"--available_memory_proportion={value}"], "--available_memory_proportion",
                         "above 0 and at most 1", f"'{value}'")

    def test_compiler_options_key_val(self):
        fields = {f["name"]: f for f in json.loads(self.succeeds("--json", command="poprt_exec options"))["compiler_options"]}
        self.assertEqual(len(fields), 39)  # of 40; compilation_progress_logger is a function
        for name, field in fields.items():
            value = {"opaque_blobs": "{}", "virtual_graph_split_ratios": "[0.5]", "custom_patterns": "InPlace:0",
                     "custom_transform_applier_settings": "{}"}.get(name) or {
                         "flag": "False", "integer": "1", "number": "0.5"}.get(field["kind"], field.get("choices", ["word"])[0])
            words = ["-i", model("relu"), "--export_popef", "--compiler_options", f"{name}={value}"]
            with self.subTest(name):
                if field["effect"] == "fails":
                    self.fails(words, "--compiler_options", name, field["note"])
                    continue
                ran = self.run_command(*words)
                self.assertEqual(ran.code, 0, ran.err)
                if field["effect"] != "acts":
                    self.assertEqual(self.metadata()[name], value)

    def test_compiler_options_that_are_wrong(self):
        for word, why in (("nonsense=1", "no field 'nonsense'"), ("num_io_tiles=x", "whole number"), ("num_io_tiles", "KEY=VAL"),
                          ("enable_outlining=maybe", "True or False"), ("partials_type=double", "half or float"),
                          ("available_memory_proportion=2", "at most 1"), ("opaque_blobs=x", "JSON object of texts"),
                          ('opaque_blobs={"a": 1}', "JSON object of texts"), ("opaque_blobs=" + "[" * 100000, "JSON object")):
            self.misused(["-i", model("relu"), "--compiler_options", word], "--compiler_options", why)
        self.fails(["-i", model("relu"), "--compiler_options", "virtual_graph_mode=executionPhases"], "is for training")
        for word, why in (("num_ipus=2", "needs virtual_graph_mode"), ("enable_pipelining=True", "needs several IPUs"),
                          ("num_ipus=0", "at least 1"), ("num_ipus=1025", "at most 1024")):
            self.misused(["-i", model("relu"), "--compiler_options", word], "--compiler_options", why)
        for word, why in (("virtual_graph_mode=manual", "no node has __ipu_number"),
                          ("virtual_graph_split_ratios=1.5", "between 0 and 1, found '1.5'")):
            ran = self.run_command("-i", model("relu"), "--export_popef", "--compiler_options", word)
            self.assertEqual((ran.code, why in ran.err), (1, True), ran.err)

    def test_one_value_by_two_ways(self):
        self.recorded("--num_io_tiles", "32", "--compiler_options", "num_io_tiles=32")
        self.misused(["-i", model("relu"), "--num_io_tiles", "32", "--compiler_options", "num_io_tiles=64"], "num_io_tiles", "32",
                     "64")

    def test_compiler_options_that_act(self):
        with mock.patch.dict(os.environ, {"POPART_CACHE_DIR": "", "POPXL_CACHE_DIR": ""}):
            self.succeeds("-i", model("relu"), "--export_popef", "--compiler_options", "enable_engine_caching=True",
                          "cache_path=cached")
        self.assertEqual(len(os.listdir(self.path("cached"))), 1)
        self.succeeds("-i", model("relu"), "--output", "r.popef", "--compiler_options", 'opaque_blobs={"a": "1", "b": "two"}')
        blobs = json.loads(self.succeeds("--json", "r.popef", command="popef_dump"))["opaque_blobs"]
        self.assertEqual([b["name"] for b in blobs if b["name"] in "ab"], ["a", "b"])
        self.succeeds("-i", DIGITS, *SHAPE, "--output", "d.popef", "--compiler_options", "constant_weights=False")
        self.assertIn("weight_d2h_", self.succeeds("-m", "d.popef", command="popef_dump"))

    def test_serialize_ir(self):
        """The graph as it is lowered, which is not the converted one: weights are packed there."""
        self.succeeds("-i", DIGITS, *SHAPE, "--export_popef", "--compiler_options", "serialize_ir=True")
        with open(self.path("executable.ir.json"), encoding="utf-8") as file:
            text = file.read()
        ir = json.loads(text)
        graph, = ir["graphs"]
        items = sum(len(graph[part]) for part in ("inputs", "constants", "nodes"))
        self.assertEqual(sum(line.startswith('  {"name":') for line in text.splitlines()), items)  # people read it by lines
        self.assertEqual((ir["format"], [(v["name"], v["dtype"], v["shape"]) for v in graph["inputs"]], graph["outputs"]),
                         ("poprt ir 1", [("image", "f32", [2, 1, 8, 8])], ["scores"]))
        self.assertIn(("Conv", "poprt"), [(n["op_type"], n["domain"]) for n in graph["nodes"]])
        known = {v["name"] for v in graph["inputs"] + graph["constants"]}
        for node in graph["nodes"]:  # it is a graph: everything that is read was made before
            self.assertLessEqual({name for name in node["inputs"] if name}, known)
            known |= {v["name"] for v in node["outputs"]}
        self.assertLessEqual(set(graph["outputs"]), known)
        weights = [c for c in graph["constants"] if "values" not in c]
        self.assertTrue(weights and all(c["dtype"] and len(c["shape"]) for c in weights))

    def test_serialized_ir_dest(self):
        words = ["-i", model("relu"), "--export_popef", "--compiler_options", "serialize_ir=True"]
        os.mkdir(self.path("folder"))
        self.succeeds(*words, "serialized_ir_dest=folder")
        self.assertIn("folder/serialized_ir.json", self.tree())
        self.succeeds(*words, "serialized_ir_dest=relu.txt", "enable_engine_caching=True", "cache_path=cached")
        self.assertIn("input %x : f32", self.tree()["relu.txt"].decode())
        self.assertNotIn("cached", self.tree())
        before = self.tree()
        ran = self.run_command(*words, "serialized_ir_dest=nowhere/ir.json", "--output_dir", "new")
        self.assertEqual((ran.code, ran.err.count("\n")), (1, 1), ran.err)
        self.assertIn("serialized_ir_dest", ran.err)
        self.assertNotIn("new/executable.popef", self.tree())
        self.assertNotIn("ir.json", " ".join(set(self.tree()) - set(before)))
        self.assertIn("without serialize_ir=True", self.warned(*words[:-1], "serialized_ir_dest=x.json"))
        self.assertNotIn("x.json", self.tree())

    def test_serialize_ir_of_several_shapes_and_none_by_a_check(self):
        for words, rows in ((["image=1,1,8,8/2,1,8,8"], [1, 2]), (["image=3,1,8,8", "--check"], [3])):
            self.succeeds("-i", DIGITS, "--input_shape", *words, "--export_popef", "--compiler_options", "serialize_ir=True",
                          "serialized_ir_dest=ir.json")
            graphs = json.loads(self.tree()["ir.json"])["graphs"]
            self.assertEqual([g["inputs"][0]["shape"][0] for g in graphs], rows)

    def test_popart_options(self):
        found = self.recorded("--popart_options", "outlineThreshold=5", "engineOptions.debug.allowOutOfMemory=true")
        self.assertEqual((found["popart.outlineThreshold"], found["popart.engineOptions.debug.allowOutOfMemory"]), ("5", "true"))
        self.misused(["-i", model("relu"), "--popart_options", "outline=5"], "--popart_options", "'outline'")

    def test_results_do_not_depend_on_recorded_options(self):
        self.succeeds("-i", DIGITS, *SHAPE, "--output", "a.popef")
        self.succeeds("-i", DIGITS, *SHAPE, "--output", "b.popef", "--num_io_tiles", "64", "--batches_per_step", "8",
                      "--compiler_options", "partials_type=float", "outline_threshold=1e-7")
        self.npy("x.npy", "f4", [2, 1, 8, 8], [i / 128 for i in range(128)])
        for name in "ab":
            self.succeeds(f"{name}.popef", "--input", "image=x.npy", "--output", f"scores={name}.npy", command="poprt_exec run")
        self.assertEqual(self.tree()["a.npy"], self.tree()["b.npy"])


if __name__ == "__main__":
    unittest.main()
