"""Tests the handlers that catch_all.py finds in small files."""

import unittest

import catch_all

RETHROWS = "void f() {\n  try {\n    g();\n  } catch (...) {\n    undo();\n    throw;\n  }\n}\n"
SWALLOWS = RETHROWS.replace("    throw;\n", "")
DESTRUCTOR = SWALLOWS.replace("void f()", "Writer::~Writer()").replace("  try", "  if (failed()) {\n    return;\n  }\n  try")


class CatchAll(unittest.TestCase):
    def problems(self, text, *borders):
        return catch_all.problems_of("core/base/f.cpp", text, [(border, "a reason") for border in borders])

    def test_a_handler_that_is_not_listed_is_a_problem(self):
        self.assertIn("core/base/f.cpp:4: catch (...)", self.problems(RETHROWS)[0])

    def test_a_listed_handler_is_allowed(self):
        for border in ("thread", "callback"):
            self.assertEqual(self.problems(SWALLOWS, border), [])

    def test_a_clean_up_throws_again_or_is_in_a_destructor(self):
        self.assertEqual(self.problems(RETHROWS, "clean-up"), [])
        self.assertEqual(self.problems(DESTRUCTOR, "clean-up"), [])
        self.assertIn("throws the exception again", self.problems(SWALLOWS, "clean-up")[0])

    def test_only_three_borders_exist(self):
        self.assertIn("'habit' is no border", self.problems(RETHROWS, "habit")[0])

    def test_a_list_that_is_too_long_is_a_problem(self):
        self.assertIn("lists 2 handlers, the file has 1", self.problems(RETHROWS, "thread", "thread")[0])

    def test_comments_do_not_count(self):
        self.assertEqual(self.problems("// catch (...) { }\n"), [])


if __name__ == "__main__":
    unittest.main()
