"""Messages of the commands for wrong arguments, recorded in tests/data/cli_refusals.txt: every option without a value and
with an invalid one, values on both sides of every limit, every command without its required arguments. A lost check, or a
check that refuses a valid argument, changes a line. cli_outputs.txt records how the commands show models.

    POPRT_WRITE_RECORDS=1 POPRT_BIN=build/release/bin python3 tests/cli/recorded_test.py   # then read the diff"""

import concurrent.futures
import json
import os
import re
import unittest
from unittest import mock

from support import DATA, DIGITS, RecordedTest, model

MOST = 60  # lines of an output
OPTION = re.compile(r"^  ((?:-\w, ?)?--[\w-]+(?:, ?--?[\w-]+)*)(.*)$", re.M)


def options_in(text):
    """Returns whether each option of a help text takes a value, by its spelling."""
    found = {}
    for names, rest in OPTION.findall(text):
        name = max(re.split(r", ?", names), key=len)
        found[name] = bool(re.match(r" [A-Z\[{<]", rest))
    return found


class Recorded(RecordedTest):
    command = "poprt_exec"

    def answers(self, calls):
        """Returns (heading, recorded line) for each (heading, command, words). Two commands run at a time."""
        def answer(call):
            heading, command, words = call
            result = self.run_command(*words, command=command)
            printed = (result.err or result.out).strip().split("\n")
            line = printed[0] if result.err else f"shows {printed[0]}"
            # The name of the command is in the heading. An error begins with it, and may end with a hint.
            if result.code and not line.startswith("shows "):
                self.assertTrue(line.startswith(f"{command}: ") or " [poprt] " in line, line)
                line = line.removeprefix(f"{command}: ").replace(f"; see {command} --help", " (help)")
            text = self.plain(f"{' '.join(words)}: {result.code} {line}")
            return heading, text.replace("ROOT/tests/data/cli/", "")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return list(pool.map(answer, calls))

    def test_answers_to_wrong_words(self):
        image = model("relu")
        popef = self.popef(image)
        os.rename(popef, self.path("relu.popef"))
        table = json.loads(self.succeeds("--json", command="poprt_exec options"))
        calls = []
        good = []
        for option in table["options"]:
            if not option["command"] or option["kind"] == "flag":
                continue
            name = "--" + option["name"]
            step = 1 if option["kind"] == "integer" else 0.125
            for key, outside in (("least", -step), ("above", 0), ("most", step)):
                if key in option:
                    calls.append(("poprt", "poprt", [name, f"{option[key] + outside:g}"]))
                    inside = option[key] + (step if key == "above" else 0)
                    good += [name, f"{inside:g}"]
            if "choices" in option:
                good += [name, option["choices"][-1]]
            if option["kind"] in ("integer", "number") or "choices" in option:
                calls.append(("poprt", "poprt", [name, "?"]))
            else:
                calls.append(("poprt", "poprt", [name]))
        calls.append(("poprt", "poprt", good))
        commands = re.findall(r"^  (\w+) {2,}", self.succeeds("--help", command="poprt_exec"), re.M)
        self.assertGreater(len(commands), 12)
        for command in [f"poprt_exec {c}" for c in commands] + ["popef_dump"]:
            text = self.succeeds("--help", command=command)
            calls.append((command, command, []))
            calls.append((command, command, ["--no_such"]))
            calls.append((command, command, ["nothing.onnx"]))
            for file in (image, self.path("relu.popef")):
                calls.append((command, command, [file, "stray", "words"]))
            for name, takes in options_in(text).items():
                if name in ("--help", "--version", "--help-all"):
                    continue
                calls.append((command, command, [name] if takes else [name + "=?"]))
                if takes:  # a picture is written to a folder that does not exist, so that no later call finds a file "?"
                    calls.append((command, command, [image, name, "nowhere/?" if name == "--svg" else "?"]))
                if name == "--input_shape":
                    for word in ("x=", "=1", "x=1,", "x=a", "x=-1,2", "x=2,3,4", "x=2,x", "none=1"):
                        calls.append((command, command, [image, name, word]))
        found = {}
        # The default of `poprt_exec cache` is a folder of the user.
        with mock.patch.dict(os.environ, HOME="", XDG_CACHE_HOME="", POPXL_CACHE_DIR="", POPART_CACHE_DIR=""):
            answers = self.answers(calls)
        for heading, line in answers:
            found.setdefault(heading, set()).add(line)
        text = "# Messages of the commands for wrong arguments: recorded_test.py.\n"
        for heading in sorted(found):
            text += heading + "\n" + "".join(f"  {line}\n" for line in sorted(found[heading]))
        self.expect_recorded("cli_refusals.txt", text)

    def test_reports_of_models_match_the_record(self):
        """Every model of tests/data/cli, as each command that only prints models shows it."""
        def shown(call):
            command, words = call
            result = self.run_command(*words, command=command)
            lines = self.plain(result.out + result.err).split("\n")
            heading = " ".join([command, *[os.path.basename(w) for w in words]])
            return f"{heading}: {result.code}\n" + "".join(f"  {line}\n" for line in lines[:MOST] if line)
        calls = []
        for name in sorted(n for n in os.listdir(DATA) if n.endswith(".onnx")):
            path = os.path.join(DATA, name)
            calls.append(("poprt", ["-i", path, "--show"]))
            for command, words in (("flops", [path]), ("opt", [path]), ("inspect", [path, "--view", "graph"]),
                                   ("debug print", ["--src_model", path])):
                calls.append((f"poprt_exec {command}", words))
        for words in (["--filter", "conv"], ["--view", "operators"], ["--view", "weights", "--most", "3"],
                      ["--view", "summary", "--json"], ["--compare", model("relu")]):
            calls.append(("poprt_exec inspect", [DIGITS, *words]))
        for words in (["--per_node"], ["--json"], ["--batch_size", "3", "--batch_axis", "0"]):
            calls.append(("poprt_exec flops", [DIGITS, *words]))
        for words in (["--passes", "eliminate_deadend"], ["--passes", "no_such"]):
            calls.append(("poprt_exec opt", [model("image"), *words]))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            self.expect_recorded("cli_outputs.txt", "# How commands show models: recorded_test.py.\n" +
                                 "".join(pool.map(shown, calls)))


if __name__ == "__main__":
    unittest.main()
