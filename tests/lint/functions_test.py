"""lint.functions notices what it is there for: each generated part edited by hand, a function that is not exported, a method by
hand that is not there, and a function of no shape that it knows. What no function of the table has yet is made as well."""

import unittest
from unittest import mock

import functions
import symbols
import tree


def reading(path, change):
    """A tree whose file `path` reads otherwise."""
    real = tree.read
    return mock.patch.object(tree, "read", lambda asked: change(real(asked)) if asked == path else real(asked))


class Functions(unittest.TestCase):
    def test_what_is_there_is_right(self):
        self.assertEqual(functions.check(False)[0], [])

    def test_an_edit_by_hand_is_named_with_its_line(self):
        for path, name, table, make in list(functions.parts()):
            if name is None:
                continue
            with self.subTest(path=path, part=name):
                lines = tree.read(path).split("\n")
                at = next(i for i, line in enumerate(lines) if f"<{name}>" in line) + 1
                lines[at] += " "
                made = make()
                with reading(path, lambda _, text="\n".join(lines): text):
                    self.assertEqual(functions.settle(path, name, made, table, "tests/lint/functions.py", False),
                                     f"{path}:{at + 1}: not what capi/functions.toml says; run tests/lint/functions.py --write")

    def test_a_function_that_is_not_exported_is_named(self):
        with reading(symbols.MAP, lambda text: text.replace("    poprt_runner_stop;\n", "")):
            problems = functions.check(False)[0]
        self.assertEqual(len(problems), 1)
        self.assertIn("capi/poprt.map", problems[0])

    def test_a_method_by_hand_has_to_be_there(self):
        with reading("bindings/python/poprt/runtime.py", lambda text: text.replace("def tracepoints(", "def points(")):
            with self.assertRaisesRegex(ValueError, "nothing is called tracepoints, which offers poprt_runner_tracepoints"):
                list(functions.parts())

    def test_a_number_that_may_fail_is_refused(self):
        with self.assertRaisesRegex(ValueError, "runner.age: there is no function that returns size and fails"):
            functions.Function("runner", "age", {"returns": "size", "fails": True, "text": "An age.", "since": "1.0"})

    def test_flags_are_made_in_every_language(self):
        made = functions.Function("runner", "is_idle", {"returns": "flag", "text": "Whether no request is in flight.", "since": "1.1"})
        lines = {language: "\n".join(make([made])) for language, make in functions.MAKERS.items()}
        self.assertIn("POPRT_API int32_t poprt_runner_is_idle(poprt_runner* runner);", lines["c"])
        self.assertIn("bool isIdle() const { return poprt_runner_is_idle(handle_.get()) != 0; }", lines["cpp"])
        self.assertIn("bool is_idle() { return poprt_runner_is_idle($self) != 0; }", lines["swig"])
        self.assertIn("return use.raw().is_idle();", lines["java"])
        self.assertIn("get { return raw.is_idle(); }", lines["csharp"])
        self.assertIn("bool { return valueOf(r.h, native.RawRunner.Is_idle) }", lines["go"])
        self.assertIn("@property\n    def is_idle(self) -> bool:", lines["python"])


if __name__ == "__main__":
    unittest.main()
