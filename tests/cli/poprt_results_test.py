"""poprt: existing files, folders, and models that are only inspected."""

import json
import os
import re
import shutil
import subprocess
import unittest
from unittest import mock

import onnx_writer as onnx
from support import CommandTest, model


def full_bars(shown):
    """The numbers of complete progress bars of conversions and of compilations."""
    return tuple(len(re.findall(title + r": 100%\|#{40}\|\r*\n", shown))
                 for title in ("PopRT conversion", "Graph compilation"))


def elementwise(names, shapes, operators, outputs):
    """A model whose k-th output is the k-th operator of the k-th input."""
    nodes = [onnx.node(op, [x], [y]) for op, x, y in zip(operators, names, outputs)]
    return onnx.model(nodes, [onnx.value(n, onnx.F32, s) for n, s in zip(names, shapes)],
                      [onnx.value(n, onnx.F32, s) for n, s in zip(outputs, shapes)])


class Results(CommandTest):
    command = "poprt"

    def message_for(self, *words):
        """The output of a successful run."""
        ran = self.run_command(*words)
        self.assertEqual(ran.code, 0, ran.err)
        return ran.err

    def put(self, name, *operators, names="xz", outputs="yw", shapes=((2, 3), (2, 3))):
        count = len(operators)
        return self.write(name, elementwise(names[:count], shapes[:count], operators, outputs[:count]))


class Folders(Results):
    def test_a_folder_that_was_made_goes_when_there_is_nothing_for_it(self):
        for folder in ("new", "new/and/deep", "new/and/deep/"):
            self.fails(["-i", model("unknown_op"), "--output_dir", folder])
        os.mkdir(self.path("old"))
        self.fails(["-i", model("unknown_op"), "--output_dir", "old"])
        self.fails(["-i", model("unknown_op"), "--output_dir", "old/new"])

    def test_keeps_a_requested_folder(self):
        self.succeeds("-i", model("relu"), "--output_dir", "new/deep", "--output_model", self.path("a.onnx"))
        self.assertEqual(sorted(self.tree()), ["a.onnx", "new", "new/deep"])

    def test_errors_name_the_pipe(self):
        ran = subprocess.run(self.arguments(["-i", "/dev/stdin"]), cwd=self.folder, input="no model", text=True,
                             capture_output=True, timeout=300, check=False)
        self.assertEqual(ran.returncode, 1)
        self.assertTrue(ran.stderr.startswith("poprt: '/dev/stdin': "), ran.stderr)
        self.assertNotIn("model.onnx", ran.stderr)


class Executables(Results):
    REPLACED = "poprt: './executable.popef' was compiled from another version of 'm' and is replaced"

    def compiled(self, *words):
        ran = self.run_command("-i", "m.onnx", "--export_popef", *words)
        self.assertEqual([n for n in self.tree() if n.endswith("part")], [])
        return ran.code, ran.err.strip()

    def test_a_file_that_is_no_popef_file_is_only_replaced_on_request(self):
        self.put("m.onnx", "Relu")
        self.write("executable.popef", b"something else")
        self.assertEqual(self.compiled(), (2, "poprt: --popef_name: cannot write './executable.popef': the file exists and is no PopEF "
                                              "file; give another path, or --overwrite; see poprt --help"))
        self.assertEqual(self.tree()["executable.popef"], b"something else")
        self.assertEqual(self.compiled("--overwrite"), (0, ""))
        self.assertIn("INPUT x", self.succeeds("-m", "executable.popef", command="popef_dump"))

    def test_models_of_one_name_are_others_when_no_name_is_left(self):
        self.put("m.onnx", "Relu", "Neg")
        self.assertEqual(self.compiled(), (0, ""))
        self.put("m.onnx", "Relu")  # the model had two inputs and outputs, and now has one of each
        self.assertEqual(self.compiled(), (0, self.REPLACED))
        before = self.tree()["executable.popef"]
        other = "poprt: './executable.popef' contains another model with the name 'm', whose {}; give --popef_name, " \
                "another --output_dir, or --overwrite"
        self.put("m.onnx", "Relu", "Neg", outputs="uv")
        self.assertEqual(self.compiled(), (1, other.format("outputs are y, not u, v")))
        self.put("m.onnx", "Relu", names="q")
        self.assertEqual(self.compiled(), (1, other.format("inputs are x, not q")))
        self.assertEqual(self.tree()["executable.popef"], before)
        advice = "; give another --output, or --overwrite"
        self.assertIn("whose inputs are x, not q" + advice, self.run_command("-i", "m.onnx", "-o", "executable.popef", command="poprt").err)
        shutil.copy(self.path("m.onnx"), self.path("n.onnx"))
        self.assertIn("contains the model 'm', not 'n'" + advice, self.run_command("-i", "n.onnx", "-o", "executable.popef", command="poprt").err)
        self.assertEqual(self.compiled("--overwrite"), (0, ""))

    def test_a_converted_model_replaces_no_other_model(self):
        self.put("m.onnx", "Relu")
        self.put("n.onnx", "Neg", names="q", outputs="u")
        words = ["-i", "m.onnx", "--output_model"]
        self.fails([*words, "n.onnx"], "'./n.onnx' contains another model, whose inputs are q, not x; give another --output_model, or --overwrite")
        self.put("n.onnx", "Neg", outputs="u")
        before = self.tree()["n.onnx"]
        self.fails([*words, "n.onnx", "--export_popef"], "whose outputs are u, not y")
        self.assertEqual(self.tree()["n.onnx"], before)
        self.succeeds(*words, "n.onnx", "--overwrite")
        self.assertNotEqual(self.tree()["n.onnx"], before)
        self.put("m.onnx", "Abs")
        self.succeeds(*words, "n.onnx")
        self.assertIn("Abs", self.succeeds("n.onnx", command="poprt_exec opt"))
        self.put("m.onnx", "Relu", names="q", outputs="u")
        self.succeeds("-i", "m.onnx", "--export_popef", "--keep_converted")  # the name is not given

    def test_a_refused_model_changes_no_file(self):
        """The converted model, its reports and its external data are those of the executable."""
        self.put("m.onnx", "Relu")
        words = ["-i", "m.onnx", "--export_popef", "--output_dir", "out", "--check", "--precision_compare"]
        self.succeeds(*words)
        files = sorted(self.tree())
        self.put("m.onnx", "Relu", outputs="u")
        refused = "contains another model with the name 'm', whose outputs are y, not u"
        self.fails(words, refused)
        self.fails(["-i", "m.onnx", "-o", "out/executable.popef", "--output_dir", "out", "--keep_converted"], refused)
        self.put("m.onnx", "Neg")
        self.assertIn("is replaced", self.run_command(*words).err)
        self.assertEqual(sorted(self.tree()), files)
        os.rename(self.path("out/m.optimized.onnx"), self.path("linked.onnx"))
        os.symlink("../linked.onnx", self.path("out/m.optimized.onnx"))
        self.put("m.onnx", "Abs")
        before = self.tree()["linked.onnx"]
        self.run_command(*words)
        self.assertTrue(os.path.islink(self.path("out/m.optimized.onnx")))
        self.assertNotEqual(self.tree()["linked.onnx"], before)

    def test_a_model_without_inputs_is_identified_by_its_outputs(self):
        for constant, stdout_text in ((1.0, ""), (2.0, self.REPLACED)):
            y = onnx.value("y", onnx.F32, [2])
            c = onnx.floats("c", [2], [constant, 3])
            self.write("m.onnx", onnx.model([onnx.node("Neg", ["c"], ["y"])], [], [y], [c]))
            self.assertEqual(self.compiled(), (0, stdout_text))
        self.put("m.onnx", "Relu")
        self.assertEqual(self.compiled()[0], 0)

    def test_options_of_the_executable_alone_are_warned_of(self):
        words = ["-i", model("relu"), "--num_io_tiles", "32"]
        message = "poprt: --num_io_tiles has no effect without --export_popef, because it is for the executable and not for the " \
               "converted model\n"
        self.assertEqual(self.message_for(*words), message)
        for more in (["--export_popef"], ["--check"], ["--precision_compare"], ["--logging_level", "ERROR"],
                     ["--logging_level", "CRITICAL"], ["--popef_name", "a.popef"], ["--output", "b.popef"]):
            self.assertEqual(self.message_for(*words, *more), "", more)
        self.assertEqual(self.message_for(*words, "--logging_level", "WARNING"), message)

    def test_a_run_reports_the_smallest_batch(self):
        names, outputs = "abcd", "efgh"
        self.write("m.onnx", elementwise(names, ((), (3, 3), (2, 3), (4, 3)), ("Exp", "Relu", "Neg", "Abs"), outputs))
        code, shown = self.on_terminal("-i", "m.onnx", "--run")
        self.assertEqual(code, 0, shown)
        self.assertEqual(full_bars(shown), (0, 1), shown)  # no converted model is written
        self.assertRegex(shown, r"\nBs: 2\r*\n")
        latency = re.search(r"\nLatency: (\d+\.(\d+))ms\r*\n", shown)
        self.assertEqual(len(latency[2]), 4 if float(latency[1]) < 0.1 else 2)

    def test_an_executable_has_its_size(self):
        count = 50000
        x, y = (onnx.value(name, onnx.F32, [count]) for name in "xy")
        c = onnx.floats("c", [count], range(count))
        self.write("m.onnx", onnx.model([onnx.node("Add", ["x", "c"], ["y"])], [x], [y], [c]))
        stdout_text = self.succeeds("-i", "m.onnx", "--export_popef")
        size = os.path.getsize(self.path("executable.popef"))
        self.assertEqual(stdout_text.splitlines()[1], f"executable: ./executable.popef ({size / 1e6:.1f} MB)")
        self.assertIn("(0.2 MB)", stdout_text)


class OnlyLooked(Results):
    def test_warns_of_unused_options(self):
        words = {"--export_popef": [], "--popef_name": ["a.popef"], "--output_dir": ["o"], "--output_model": ["m.onnx"],
                 "--run": [], "--check": [], "--precision_compare": []}
        line = [w for name, values in words.items() for w in (name, *values)]
        for show, more in (("--show", []), ("--show_io_stat", []), ("--show", ["--show_io_stat"])):
            ran = self.run_command("-i", model("relu"), show, *more, *line)
            self.assertEqual((ran.code, self.tree()), (0, {}))
            self.assertEqual(ran.err.splitlines(), [f"poprt: {name} has no effect, because {show} only prints" for name in words])
            self.assertEqual("input x: dtype" in ran.out, show == "--show")
            self.assertEqual("inputs: 1\n" in ran.out, show != "--show" or bool(more))
        self.assertEqual(self.message_for("-i", model("relu"), "--show", "--output", "a.popef"),
                         "poprt: --output has no effect, because --show only prints\n")

    def test_passes_of_scripts_take_the_place_of_others_or_come_last(self):
        long = "a_pass_with_a_name_that_is_longer_than_all_of_the_others"
        mine = [{"name": "constant_folding", "summary": "mine"}, {"name": long, "summary": "does"}]
        self.write("python", b"#!/bin/sh\necho '" + json.dumps({"passes": mine}).encode() + b"' > \"$4\"\n")
        os.chmod(self.path("python"), 0o700)
        own = json.loads(self.succeeds("--list_all_passes", "--json"))
        self.assertEqual(own[0]["name"], "layer_precision_compare")
        self.assertEqual(own[0]["parameters"], [])
        with mock.patch.dict(os.environ, {"POPRT_PYTHON": self.path("python")}):
            words = ["--list_all_passes", "--custom_pass_config", "a.py"]
            rows = json.loads(self.succeeds(*words, "--json"))
            lines = self.succeeds(*words).splitlines()
        expected = [mine[0] if row["name"] == "constant_folding" else row for row in own] + mine[1:]
        self.assertEqual(rows, expected)
        self.assertEqual(lines, [row["name"].ljust(len(long)) + "  " + row["summary"] for row in expected])
        width = max(len(row["name"]) for row in own)
        self.assertEqual(self.succeeds("--list_all_passes").splitlines(),
                         [row["name"].ljust(width) + "  " + row["summary"] for row in own])
        self.fails(["--list_all_passes", "--custom_library_so_paths", "/no/such.so"], "/no/such.so")


class Cut(Results):
    def test_a_file_that_cannot_take_its_place_leaves_nothing(self):
        self.put("m.onnx", "Relu")
        os.mkdir(self.path("cut.onnx"))
        words = ["--only_manual_sharding", "--sharding_info", "node_y=0"]
        self.fails(["-i", "m.onnx", *words, "--output_model", "cut.onnx"], "cannot write './cut.onnx'")
        self.write("empty.onnx", b"")
        self.fails(["-i", "empty.onnx", *words], "cannot read 'empty.onnx'")

    def test_reads_external_data_next_to_the_model(self):
        place = onnx.message(13, onnx.message(1, "location"), onnx.message(2, "c.bin"))
        known = [onnx.number(1, 3), onnx.number(2, onnx.F32), onnx.message(8, "c")]
        external = b"".join([*known, place, onnx.number(14, 1)])
        os.mkdir(self.path("deep"))
        for folder in ("", "deep/"):
            self.write(folder + "c.bin", bytes(12))
            self.write(folder + "m.onnx", onnx.model(
                [onnx.node("Add", ["x", "c"], ["h"]), onnx.node("Neg", ["h"], ["y"])], [onnx.value("x", onnx.F32, [3])],
                [onnx.value("y", onnx.F32, [3])], [onnx.message(5, external)]))
            stdout_text = self.succeeds("-i", folder + "m.onnx", "--only_manual_sharding", "--pipelining_info", "node_h=0",
                                 "--sharding_info", "node_h=0", "--output_dir", folder or ".",
                                 "--output_model", "cut.onnx")
            self.assertEqual(stdout_text, f"sharded model: {folder or './'}cut.onnx\n")
            printed = self.succeeds(folder + "cut.onnx", "--elide", command="poprt_exec opt")
            self.assertIn("__pipeline_stage = 1", printed)


class Fused(Results):
    def config(self, first="", second="", more=""):
        self.put("a.onnx", "Relu")
        self.put("b.onnx", "Neg", "Abs")
        models = f"- {{input_model: a.onnx{first}}}\n- {{input_model: b.onnx{second}}}\n"
        self.write("c.yaml", f"model_fusion:\n{models}{more}".encode())
        return ["--config_yaml", "c.yaml"]

    def test_each_is_shown(self):
        stdout_text = self.succeeds(*self.config(), "--show", "--show_io_stat")
        f32 = "dtype - f32, shape - [2, 3]"
        self.assertEqual(stdout_text, f"graph0: a\ninput x: {f32}\noutput y: {f32}\n"
                               f"inputs: 1\n  1 x {f32}\noutputs: 1\n  1 x {f32}\n"
                               f"graph1: b\ninput x: {f32}\ninput z: {f32}\noutput y: {f32}\noutput w: {f32}\n"
                               f"inputs: 2\n  2 x {f32}\noutputs: 2\n  2 x {f32}\n")
        self.assertNotIn("1 x", self.succeeds("--config_yaml", "c.yaml", "--show"))
        self.assertNotIn("input x", self.succeeds("--config_yaml", "c.yaml", "--show_io_stat"))

    def test_each_runs_without_a_file(self):
        self.config()
        self.write("c.yaml", b"model_fusion:\n- {input_model: a.onnx}\noutput_dir: out\n")
        stdout_text = self.succeeds("--config_yaml", "c.yaml", "--run")
        converted = "converted model: out/model_fusion.optimized.onnx\n"
        self.assertRegex(stdout_text, "^" + converted + r"graph0: a\nBs: 2\nL.*\nT.*\n$")
        self.assertEqual(sorted(self.tree()), ["a.onnx", "b.onnx", "c.yaml", "out", "out/model_fusion.optimized.onnx"])
        stdout_text = self.succeeds(*self.config(more="output_dir: out\n"), "--output", "f.popef")
        size = os.path.getsize(self.path("f.popef"))
        self.assertEqual(stdout_text, f"{converted}executable: f.popef ({size / 1e6:.1f} MB)\n")

    def test_each_has_a_comparison_of_its_own(self):
        converted, *logs = "model_fusion.optimized.onnx", "precision_compare.graph0.log", "precision_compare.graph1.log"
        compare = ", precision_compare: yes"
        self.succeeds(*self.config(", passes: layer_precision_compare", compare, "output_dir: out\n"))
        self.assertEqual(sorted(os.listdir(self.path("out"))), [converted, *logs])
        self.succeeds(*self.config("", compare, "output_dir: two\n"))
        self.assertEqual(sorted(os.listdir(self.path("two"))), [converted, logs[1]])

    def test_each_has_a_bar(self):
        for more, count in (([], 2), (["--disable_compilation_progress_bar"], 0)):
            code, shown = self.on_terminal(*self.config(more="output_dir: out\n"), "--output", "f.popef", *more)
            self.assertEqual((code, *full_bars(shown)), (0, count, count), shown)

    def test_options_of_each_are_checked(self):
        self.misused(self.config(second=", batch_axis: 0"), "--batch_axis needs --batch_size")
        self.misused(self.config(first=", custom_pass_config: a.py"), "custom_pass_config is for all models")
        self.misused(self.config(more="custom_pass_config: a.py\n"), "fused models cannot have passes")
        for script in ("custom_pass_config", "custom_shape_inference"):
            self.misused(self.config(first=f", {script}: a.py"), f"{script} is for all models, and fused models cannot have it")
        for option, why in (("apply_hcsr: ['fp32,[4,3],2']", "--apply_hcsr: the runner of fused models"),
                            ("pack_args: {max_valid_num: 4, segment_max_size: 4}", "--pack_args: the runner of fused models"),
                            ("numerics: faithful", "--numerics faithful: fused models compute fast"),
                            ("input_shape: ['x=1,3/2,3']", "gives several shapes: fused models have one")):
            self.misused(self.config(first=f", {option}", more="output_dir: refused\nexport_popef: yes\n"), why)
            self.assertEqual({n for n in self.tree() if n.startswith("refused")}, set())
        message = "--num_io_tiles has no effect"
        self.assertEqual(self.message_for(*self.config(second=", num_io_tiles: 32")).count(message), 1)
        self.assertEqual(self.message_for(*self.config(more="num_io_tiles: 32\n")).count(message), 2)
        self.assertEqual(self.message_for(*self.config(more="num_io_tiles: 32\nrun: yes\n")), "")
        self.write("cuts.yaml", b"- {node: nowhere, device: 0}")
        cut = self.config(", manual_sharding_config: cuts.yaml", more="output_dir: new/deep\n")
        self.fails(cut, "no node 'nowhere'")


class Exec(CommandTest):
    command = "poprt_exec"

    def test_the_first_word_is_a_command(self):
        for word, kind in (("rnu", "command"), ("--frob", "option"), ("-x", "option"), ("a\nb", "command")):
            ran = self.run_command(word, "--help")
            hint = ", did you mean run?" if word == "rnu" else ""
            message = f"poprt_exec: there is no {kind} '{word}'{hint}; see poprt_exec --help".replace("\n", "\\x0a")
            self.assertEqual((ran.code, ran.out, ran.err), (2, "", message + "\n"))
        self.misused([], "expected a command, found none: give one of ")
        for word in ("-h", "--help", "-v", "--version"):
            self.assertNotEqual(self.succeeds(word), "")
        self.command = "poprt_exec run"
        self.fails(["none.onnx", "--random"], "poprt_exec run: ", "'none.onnx'")


if __name__ == "__main__":
    unittest.main()
