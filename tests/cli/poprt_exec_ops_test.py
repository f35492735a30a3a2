"""poprt_exec ops, and poprt_exec itself."""

import json
import unittest

from support import CommandTest


class Ops(CommandTest):
    command = "poprt_exec ops"

    def test_one_operator_per_line_sorted(self):
        rows = [line.split() for line in self.succeeds().splitlines()]
        self.assertEqual(rows, sorted(rows, key=lambda r: (r[0] != "ai.onnx", r[0], r[1])))
        self.assertIn("Conv", [r[1] for r in rows if r[0] == "ai.onnx"])
        for row in rows:
            self.assertRegex(row[2], r"^\d+-\d*$")

    # --markdown prints docs/operators.md, which tests/lint/operators.py compares. It does not run here, because each
    # run tries every operator.
    def test_json_lists_the_same_with_types_and_implementation(self):
        table = json.loads(self.succeeds("--json"))
        self.assertEqual([[r["domain"], r["name"], f"{r['since']}-{r['until']}"] for r in table],
                         [line.split() for line in self.succeeds().splitlines()])
        rows = {(r["domain"], r["name"], r["since"]): r for r in table}
        self.assertIn("f32", rows["ai.onnx", "Relu", 1]["types"])
        self.assertEqual(rows["com.microsoft", "FastGelu", 1]["implementation"], "decomposition")
        self.assertEqual(rows["ai.onnx", "MatMul", 1]["implementation"], "fast kernel")

    def test_opsets_describes_conversions(self):
        lines = self.succeeds("--opsets").splitlines()
        self.assertEqual(lines[0], "| operator | opset | from older ones | to older ones |")
        self.assertIn("| Squeeze | 13 | axes become an input | axes become an attribute, constant |", lines)

    def test_wrong_usage(self):
        self.misused(["--json", "--markdown"], "--json", "--markdown")
        self.misused(["--json", "--opsets"], "--json", "--opsets")
        self.misused(["Conv", "--opsets"], "--opsets")
        self.fails(["conw"], "there is no operator 'conw', did you mean Conv?")

    def test_operators_by_name_in_upper_or_lower_case(self):
        rows = [line.split() for line in self.succeeds("conv", "Relu").splitlines()]
        self.assertEqual({row[1] for row in rows}, {"Conv", "Relu"})
        self.assertEqual(rows, [line.split() for line in self.succeeds().splitlines() if line.split()[1] in ("Conv", "Relu")])


class PoprtExecPasses(CommandTest):
    command = "poprt_exec passes"

    def test_a_line_describes_a_pass(self):
        lines = self.succeeds().splitlines()
        self.assertTrue(any(line.split(None, 1) == ["eliminate_identity", "removes Identity nodes"] for line in lines))

    def test_json_contains_stage_and_numerics(self):
        rows = {r["name"]: r for r in json.loads(self.succeeds("--json"))}
        self.assertEqual([line.split()[0] for line in self.succeeds().splitlines()], list(rows))
        self.assertEqual(rows["float_to_half"]["numerics"], "precision")
        self.assertEqual(rows["float_to_half"]["stage"], "on request")
        self.assertEqual(rows["eliminate_identity"]["numerics"], "exact")
        self.assertEqual(rows["eliminate_identity"]["stage"], "convert")
        self.assertEqual(rows["constant_folding"]["stage"], "convert, compile")
        self.assertEqual(rows["blocked_layout"]["stage"], "compile")
        for name, row in rows.items():
            self.assertTrue(row["summary"] and row["condition"], name)

    def test_wrong_usage(self):
        self.misused(["--json", "--markdown"], "--json", "--markdown")


class PoprtExec(CommandTest):
    command = "poprt_exec"

    def test_help_names_every_command(self):
        text = self.succeeds("--help")
        for command in ("run", "bench", "compare", "opt", "ops", "passes", "cache"):
            self.assertIn(f"\n  {command} ", text)
            self.assertIn("--help", self.succeeds(command, "--help"))

    def test_wrong_usage(self):
        self.misused([])
        self.misused(["nope"], "command 'nope'")
        self.misused(["--nope"], "option '--nope'")
        self.misused([""], "expected a command, found none: give one of auto_shard, bench, ")

    def test_errors_name_missing_arguments(self):
        for words, output in ((["run"], "expected MODEL, found none: give poprt_exec run MODEL"),
                            (["run", "m.onnx", "--input"], "--input: expected a value, found the end of the line: give --input TEXT"),
                            (["auto_shard", "-i"], "--input_model: expected a value, found the end of the line: give --input_model TEXT"),
                            (["auto_shard", "-i", "m.onnx"], "expected --num_ipus, found none: give --num_ipus INT"),
                            (["bench", "m.onnx", "--seconds"], "--seconds: expected a number, found the end of the line: give --seconds FLOAT"),
                            (["debug"], "expected a command, found none: give one of compare, modify, extract, print")):
            with self.subTest(words):
                self.refused(words, output)

    def test_errors_name_invalid_values(self):
        for words, output in ((["auto_shard", "-i", "m.onnx", "--num_ipus", "two"], "--num_ipus: expected a whole number, found 'two'"),
                            (["run", "m.onnx", "--json=maybe"], "--json: expected true or false, found 'maybe'"),
                            (["poprt_run_popef", "--popef", "m", "--reportAsJson=a\nb"], "--reportAsJson: expected true or false, found 'a\\x0ab'"),
                            (["auto_shard", "--num_ipus", "2", "--num_ipus", "3"], "--num_ipus: expected one occurrence, found 2"),
                            (["compare", "m.onnx", "--data_set", "none"], "--data_set: expected a folder, found none at 'none'"),
                            (["inspect", "m.onnx", "--second", "none"], "--second: expected a file, found none at 'none'")):
            with self.subTest(words):
                self.refused(words, output)

    def refused(self, words, output):
        ran, command = self.run_command(*words), f"poprt_exec {words[0]}"
        self.assertEqual((ran.code, ran.out, ran.err), (2, "", f"{command}: {output}; see {command} --help\n"))


if __name__ == "__main__":
    unittest.main()
