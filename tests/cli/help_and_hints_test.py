"""Help that fits the terminal, documents inside the commands, and hints for words that are almost right."""

import os
import re
import signal
import subprocess
import time
import unittest
from unittest import mock

from support import DIGITS, ROOT, CommandTest

SHAPE = ("--input_shape", "image=1,1,8,8")


class Help(CommandTest):
    command = "poprt"

    def helps(self):
        yield "poprt", self.succeeds("--help", command="poprt")
        yield "poprt all", self.succeeds("--help-all", command="poprt")
        yield "popef_dump", self.succeeds("--help", command="popef_dump")
        everything = self.succeeds("--help-all", command="poprt_exec")
        self.assertGreater(everything.count("Usage: poprt_exec "), 14)
        yield "poprt_exec", everything

    def test_no_line_is_wider_than_the_terminal(self):
        for columns in (60, 80, 110):
            with mock.patch.dict(os.environ, {"COLUMNS": str(columns)}):
                for name, text in self.helps():
                    for line in text.splitlines():
                        if " " in line.strip() and not line.startswith("  poprt"):  # one long word or an example cannot be wrapped
                            self.assertLessEqual(len(line), columns, (name, line))

    def test_without_a_terminal_the_width_is_80(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("COLUMNS", None)
            widest = max(len(line) for line in self.succeeds("--help-all").splitlines() if not line.startswith("  poprt "))
        self.assertGreater(widest, 70)
        self.assertLessEqual(widest, 80)

    def test_the_first_options_come_first(self):
        text = self.succeeds("--help")
        heads = re.findall(r"^([A-Z][^\n]*):$", text, re.M)
        self.assertEqual(heads[:2], ["Start here", "Examples"])
        self.assertLess(len(text.splitlines()), 80)
        self.assertNotIn("Fix variable", text[text.index("Other options"):])
        for option in ("--perf_tuner", "--winograd", "--serialize_matmul"):
            self.assertIn(option, text)
        self.assertIn("poprt -i model.onnx", text)
        self.assertIn("Largest", self.succeeds("--help-all"))

    def test_groups(self):
        text = self.succeeds("--help", command="poprt_exec bench")
        self.assertLess(text.index("--seconds"), text.index("Compilation of ONNX models:"))
        self.assertGreater(text.index("--precision"), text.index("Compilation of ONNX models:"))

    def test_topics_with_the_name_of_a_command(self):
        for topic in ("estimate", "cache", "passes", "options"):
            self.assertEqual(self.succeeds("help", topic, command="poprt_exec"), self.succeeds("help", topic, command="poprt"))

    def test_topics(self):
        for command in ("poprt", "poprt_exec"):
            listed = re.findall(r"^  (\w+) ", self.succeeds("help", command=command), re.M)
            for topic in ("precision", "shapes", "fusion", "generation", "estimate", "cache"):
                self.assertIn(topic, listed)
            for topic in listed:
                self.assertGreater(len(self.succeeds("help", topic, command=command)), 300, topic)
        with open(os.path.join(ROOT, "docs", "precision.md"), encoding="utf-8") as file:
            heading = re.search(r"^## (.*)$", file.read(), re.M)[1]
        self.assertIn(heading + "\n", self.succeeds("help", "precision"))
        self.misused(["help", "precison"], "did you mean precision?")
        self.misused(["help", "Percentile"], "there is no topic 'Percentile'; the word is in ")
        self.misused(["help", ""], "there is no topic ''")
        self.misused(["help", "word_in_no_topic"], "there is no topic 'word_in_no_topic'; poprt help lists the topics")
        self.assertEqual(self.succeeds("help", "bench", command="poprt_exec"), self.succeeds("--help", command="poprt_exec bench"))

    def test_a_folder_without_a_model(self):
        os.mkdir(self.path("empty"))
        self.fails(["-i", "empty", "--show"], "the folder 'empty' contains no .onnx file")

    def test_messages_name_no_file_of_the_source_tree(self):
        for _, text in self.helps():
            self.assertNotRegex(text, r"docs/\w+\.md")


class Hints(CommandTest):
    command = "poprt_exec"

    def test_commands(self):
        for word, meant in (("benchmark", "bench"), ("infer", "run"), ("perf", "bench"), ("inspekt", "inspect"),
                           ("info", "inspect"), ("profile", "run --profile")):
            self.misused([word, DIGITS], f"there is no command '{word}', did you mean {meant}?")
        self.misused(["serve", DIGITS], "poprt_serve serves models over HTTP and gRPC")
        for word in ("convert", "compile"):
            self.misused([word, DIGITS], f"there is no command '{word}'", "poprt -i MODEL converts and compiles")
        self.misused(["-x", "run"], "there is no option '-x'")

    def test_a_command_is_needed(self):
        self.misused([], "expected a command, found none: give one of auto_shard, bench, cache,")

    def test_an_option_of_a_command_is_given_after_it(self):
        result = self.run_command("--json", "run", DIGITS)
        self.assertEqual((result.code, result.out), (2, ""))
        self.assertEqual(result.err, "poprt_exec run: '--json' is an option of run: give it after run; see poprt_exec run --help\n")
        result = self.run_command("--jsn", "run", DIGITS)
        self.assertEqual((result.code, result.err), (2, "poprt_exec run: there is no option '--jsn'; see poprt_exec run --help\n"))
        self.misused(["--json"], "there is no option '--json'")

    def test_what_is_missing_is_named_with_the_option_that_gives_it(self):
        self.command = "poprt_exec bench"
        self.misused([DIGITS, "--duration", "1"], "did you mean --seconds?")
        self.command = "poprt_exec run"
        self.misused([DIGITS, "--output", "scores.npy"], "--output: expected NAME=FILE, found 'scores.npy'")
        self.fails([DIGITS, *SHAPE], "give --input image=FILE.npy, or --random for random data")
        self.command = "poprt_exec compare"
        self.misused([DIGITS, *SHAPE], "poprt_exec debug compare compares two models")

    def test_dashes_and_capitals(self):
        self.succeeds("--input-shape", "image=1,1,8,8", "-i", DIGITS, "--precision", "FP16", "-o", "a.popef", command="poprt")
        self.succeeds("--input_shape", "image=1,1,8,8", "-i", DIGITS, "--precision", "fp16", "-o", "b.popef", command="poprt")
        made = self.tree()
        self.assertEqual(made["a.popef"], made["b.popef"])
        for command in ("run", "bench", "compare", "estimate", "flops"):
            output = self.run_command(DIGITS, "--input-shape", "image=1,1,8,8/2,1", command=f"poprt_exec {command}")
            self.assertNotIn("no option", output.err, command)
        self.assertIn("f16[2,10]", self.succeeds(DIGITS, "--batch-size", "2", "--precision", "Fp16", "--random", command="poprt_exec run"))

    def test_unknown_inputs(self):
        for words in (["poprt", "-i", DIGITS, "--run"], ["poprt_exec bench", DIGITS], ["poprt_exec run", DIGITS, "--random"],
                      ["poprt_exec run", DIGITS, "--numerics", "faithful"], ["poprt_exec flops", DIGITS], ["poprt_exec estimate", DIGITS],
                      ["poprt_exec debug compare", "--src_model", DIGITS, "--dst_model", DIGITS]):
            command, *rest = words
            ran = self.run_command(*rest, "--input_shape", "imag=1,1,8,8", command=command)
            self.assertEqual((ran.code, ran.out), (2, ""), ran.err)
            self.assertIn("--input_shape: the model has no input 'imag', did you mean 'image'?", ran.err)
        self.assertEqual(self.tree(), {})
        output = self.run_command(DIGITS, *SHAPE, "mask=1", "--allow_unknown_inputs", "--seconds", "0.01", command="poprt_exec bench")
        self.assertEqual(output.code, 0, output.err)
        self.assertIn("no input 'mask'", output.err)


class Files(CommandTest):
    command = "poprt"

    def test_writes_only_requested_files(self):
        for words, files in ((["-o", "x.popef"], ["x.popef"]), (["--run"], []), (["--run", "-o", "x.popef"], ["x.popef"]),
                             ([], ["digits.optimized.onnx"]), (["--run", "--keep_converted"], ["digits.optimized.onnx"]),
                             (["-o", "x.popef", "--output_model", "c.onnx"], ["c.onnx", "x.popef"]),
                             (["-o", "x.popef", "--check"], ["x.popef"]), (["--run", "--check"], []),
                             (["-o", "x.popef", "--check", "--keep_converted"], ["check.json", "digits.optimized.onnx", "x.popef"]),
                             (["--export_popef"], ["digits.optimized.onnx", "executable.popef"])):
            with self.subTest(words):
                out = self.succeeds("-i", DIGITS, *SHAPE, *words)
                self.assertEqual(sorted(self.tree()), files)
                self.assertEqual("converted model: " in out, any(f.endswith(".onnx") for f in files))
                self.assertEqual("check: " in out, "--check" in words)
                for name in files:
                    os.remove(self.path(name))

    def test_an_executable_is_the_same_without_the_converted_model(self):
        self.succeeds("-i", DIGITS, *SHAPE, "-o", "a.popef")
        self.succeeds("-i", DIGITS, *SHAPE, "-o", "b.popef", "--keep_converted")
        made = self.tree()
        self.assertEqual(made["a.popef"], made["b.popef"])

    def test_an_error_of_the_compilation_leaves_no_file(self):
        self.fails(["-i", DIGITS, *SHAPE, "--export_popef", "--compiler_options", "enable_pipelining=True", "num_ipus=2",
                    "virtual_graph_mode=auto"], "must be a multiple of the 2 stages", "give batches_per_step 2")

    def test_show_applies_the_shapes(self):
        self.assertIn("shape - [N, 1, 8, 8]", self.succeeds("-i", DIGITS, "--show"))
        self.assertEqual(self.succeeds("-i", DIGITS, "--show", "--batch_size", "4").count("shape - [4, "), 2)
        self.assertEqual(self.succeeds("-i", DIGITS, "--show", "--input_shape", "image=3,1,8,8").count("shape - [3, "), 2)


class Bench(CommandTest):
    command = "poprt_exec bench"

    def test_seconds_are_those_of_all_shapes(self):
        begin = time.monotonic()
        out = self.succeeds(DIGITS, "--input_shape", "image=1,1,8,8/2,1,8,8/3,1,8,8/4,1,8,8", "--seconds", "2")
        self.assertEqual(out.count("requests\n"), 4)
        self.assertLess(time.monotonic() - begin, 6)

    def test_an_interrupt_prints_the_measurements(self):
        process = subprocess.Popen(self.arguments([DIGITS, *SHAPE, "--seconds", "600"]), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, err), (130, ""))
        self.assertRegex(out, r"latency ms: min [\d.]+ ")
        self.assertRegex(out, r"throughput: [\d.]+ requests/s")

    def test_long_steps_show_that_they_run(self):
        code, shown = self.on_terminal(DIGITS, *SHAPE, "--seconds", "3.5")
        self.assertEqual(code, 0)
        self.assertRegex(shown, r"\rmeasure: [23] s")
        code, shown = self.on_terminal(DIGITS, *SHAPE, "--seconds", "0.1")
        self.assertNotIn("measure:", shown)


class Others(CommandTest):
    command = "poprt_exec"

    def test_top_reports_that_no_process_publishes(self):
        self.assertIn("no process publishes telemetry; set POPRT_TELEMETRY=1",
                      self.succeeds("--folder", self.folder, command="poprt_exec top"))

    def test_the_cache_shows_names_sizes_and_ages(self):
        with mock.patch.dict(os.environ, {"POPART_CACHE_DIR": self.path("cache")}):
            self.succeeds("-i", DIGITS, *SHAPE, "-o", "x.popef", command="poprt")
            line = self.succeeds("--list", command="poprt_exec cache").splitlines()[0]
        self.assertRegex(line, r"^digits +\d+\.\d [kM]B +\d+ seconds? ago +[0-9a-f]{64}\.popef  ")

    def test_debug_compare_is_in_graph_order_with_relative_errors_first(self):
        out = self.succeeds("compare", "--src_model", DIGITS, "--dst_model", DIGITS, "--batch_size", "2", "--input_data", "image=rand",
                            "--mark_outputs", "all", command="poprt_exec debug")
        names = re.findall(r"^(\S+) - shape", out, re.M)
        numbers = [int(re.match(r"/(\d+)/", name)[1]) for name in names if name.startswith("/")]
        self.assertGreater(len(numbers), 5)
        self.assertEqual(numbers, sorted(numbers))
        self.assertEqual(re.findall(r"^    (\w+) - diff", out, re.M)[:2], ["rel", "mse"])


if __name__ == "__main__":
    unittest.main()
