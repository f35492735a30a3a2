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

    # What --markdown prints is docs/operators.md (tests/lint/operators.py), so it does not run here: each run tries
    # every operator.
    def test_json_lists_the_same_and_says_types_and_implementation(self):
        table = json.loads(self.succeeds("--json"))
        self.assertEqual([[r["domain"], r["name"], f"{r['since']}-{r['until']}"] for r in table],
                         [line.split() for line in self.succeeds().splitlines()])
        rows = {(r["domain"], r["name"], r["since"]): r for r in table}
        self.assertIn("f32", rows["ai.onnx", "Relu", 1]["types"])
        self.assertEqual(rows["com.microsoft", "FastGelu", 1]["implementation"], "decomposition")
        self.assertEqual(rows["ai.onnx", "MatMul", 1]["implementation"], "fast kernel")

    def test_what_conversions_between_opsets_do(self):
        lines = self.succeeds("--opsets").splitlines()
        self.assertEqual(lines[0], "| operator | opset | from older ones | to older ones |")
        self.assertIn("| Squeeze | 13 | axes become an input | axes become an attribute, constant |", lines)

    def test_wrong_usage(self):
        self.misused(["--json", "--markdown"], "--json", "--markdown")
        self.misused(["--json", "--opsets"], "--json", "--opsets")
        self.misused(["stray"], "stray")


class PoprtExecPasses(CommandTest):
    command = "poprt_exec passes"

    def test_a_line_says_what_a_pass_does(self):
        lines = self.succeeds().splitlines()
        self.assertTrue(any(line.split(None, 1) == ["eliminate_identity", "removes Identity nodes"] for line in lines))

    def test_json_says_where_it_applies_and_what_it_may_change(self):
        rows = {r["name"]: r for r in json.loads(self.succeeds("--json"))}
        self.assertEqual([line.split()[0] for line in self.succeeds().splitlines()], list(rows))
        self.assertEqual(rows["float_to_half"]["numerics"], "precision")
        self.assertEqual(rows["float_to_half"]["stage"], "when asked for")
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
        self.misused([""], "required")


if __name__ == "__main__":
    unittest.main()
