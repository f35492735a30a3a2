"""poprt_exec options: the table of poprt's options, as text, JSON and Markdown."""

import json
import unittest

from support import CommandTest


class Options(CommandTest):
    command = "poprt_exec options"

    def test_a_line_for_each_states_its_effect(self):
        table = json.loads(self.succeeds("--json"))
        rows = [(o["name"], o["effect"]) for part in ("options", "tf2onnx") for o in table[part]]
        self.assertEqual([tuple(line.split()[:2]) for line in self.succeeds().splitlines()], rows)
        self.assertIn(("num_io_tiles", "acts"), rows)
        self.assertIn(("available_memory_proportion", "recorded"), rows)
        self.assertIn(("pack_args", "acts"), rows)

    def test_markdown_has_every_name(self):
        text = self.succeeds("--markdown")
        table = json.loads(self.succeeds("--json"))
        for option in table["options"] + table["tf2onnx"]:
            self.assertIn(f"| `--{option['name']}`", text)
        for field in table["compiler_options"]:
            self.assertIn(f"| `{field['name']}`", text)

    def test_wrong_usage(self):
        self.misused(["--json", "--markdown"], "--json", "--markdown")
        self.misused(["stray"], "stray")


if __name__ == "__main__":
    unittest.main()
