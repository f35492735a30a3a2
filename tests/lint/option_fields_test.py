"""lint.option_fields reports each kind of error: each generated part edited by hand, and a field that a language lacks."""

import functools
import unittest
from unittest import mock

import option_fields
import tree

REGIONS = option_fields.regions


class OptionFields(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Most tests change a file on which neither regions nor comments depend, so these are computed once."""
        for name, once in (("regions", lambda made=tuple(option_fields.regions()): made),
                           ("comment", functools.cache(option_fields.comment))):
            patch = mock.patch.object(option_fields, name, once)
            patch.start()
            cls.addClassCleanup(patch.stop)

    def check_with(self, path, change):
        """The problems if the file `path` has the text that `change` returns."""
        def read(asked):
            text = real(asked)
            return change(text) if asked == path else text

        real = tree.read
        with mock.patch.object(tree, "read", read):
            return option_fields.check(False)[0]

    def test_generated_parts_are_current(self):
        self.assertEqual(option_fields.check(False)[0], [])

    def test_an_edit_by_hand_is_named_with_its_line(self):
        for path, name, _, _, _ in list(option_fields.regions()):
            with self.subTest(path=path, part=name):
                lines = tree.read(path).split("\n")
                at = next(i for i, line in enumerate(lines) if f"<options:{name}>" in line) + 1
                lines[at] += " "
                problems = self.check_with(path, lambda _, text="\n".join(lines): text)
                self.assertEqual(problems, [f"{path}:{at + 1}: differs from capi/option_fields.toml; run "
                                            "tests/lint/option_fields.py --write"])

    def test_a_part_that_is_gone_is_named(self):
        for path, name, _, _, _ in list(option_fields.regions()):
            problems = self.check_with(path, lambda text, name=name: text.replace(f"</options:{name}>", ""))
            self.assertEqual(problems, [f"{path}: there are no comments <options:{name}> and </options:{name}>"])

    def test_a_field_that_a_language_lacks_is_named(self):
        path = "bindings/java/src/main/java/org/poprt/RuntimeConfig.java"
        problems = self.check_with(path, lambda text: text.replace("frozenInput(", "other("))
        self.assertEqual(problems, [f"{path}: nothing is called frozenInput, which offers runner.frozen_inputs"])

    def test_a_row_that_leaves_out_a_language_is_named(self):
        table = option_fields.read()
        del table["runner"]["device"]["go"]
        with mock.patch.object(option_fields, "read", lambda: table), mock.patch.object(option_fields, "regions", REGIONS):
            self.assertEqual(option_fields.check(False)[0], ["capi/option_fields.toml: runner.device has no type for go"])


if __name__ == "__main__":
    unittest.main()
