"""lint.prose counts comments, documents and messages of each language, and nothing else."""

import unittest
from unittest import mock

import prose
import tree


def phrases(path, text):
    count = prose.count_of(prose.prose_of(path, text))
    return {name: n for name, n in count.phrases.items() if n}


class Prose(unittest.TestCase):
    def test_each_phrase_is_found(self):
        for name, text in [("what is", "what is read"), ("what is", "what has none"), ("stands", "it lies in memory"),
                           ("told", "the kernel is told"), ("nobody", "nobody reads it"), ("behind", "behind the end"),
                           ("beside", "besides its operands")]:
            self.assertEqual(phrases("a.md", text), {name: 1}, text)

    def test_plain_sentences_have_none(self):
        self.assertEqual(phrases("a.md", "The value is stored after the header, and no caller reads it."), {})

    def test_a_phrase_may_be_broken_over_two_lines(self):
        self.assertEqual(phrases("a.cpp", "// It returns what\n// is stored.\n"), {"what is": 1})

    def test_comments_of_each_language_count(self):
        self.assertEqual(phrases("a.cpp", "int a;  // behind\n/* beside\n   nobody */"),
                         {"behind": 1, "beside": 1, "nobody": 1})
        self.assertEqual(phrases("a.py", '"""Nobody."""\nx = 1  # behind\n'), {"nobody": 1, "behind": 1})
        self.assertEqual(phrases("CMakeLists.txt", "set(a behind)  # beside\n"), {"beside": 1})

    def test_names_of_code_do_not_count(self):
        self.assertEqual(phrases("a.cpp", "int behind = told(stands);\nauto s = \"behind\";\n"), {})
        self.assertEqual(phrases("a.py", "behind = told(stands)\n"), {})

    def test_messages_count_and_raw_strings_do_not(self):
        self.assertEqual(phrases("a.cpp", 'fail("the size stands behind the header");'), {"stands": 1, "behind": 1})
        self.assertEqual(phrases("a.cpp", 'auto g = R"(the size stands behind the header)";'), {})
        self.assertEqual(phrases("a.cpp", 'auto url = "http://a"; // beside'), {"beside": 1})

    def test_strings_of_several_lines_are_docstrings_or_data(self):
        self.assertEqual(phrases("a.py", 'def f():\n    """Nobody\n    calls it."""\n    x = """behind\nbeside it all"""\n'),
                         {"nobody": 1})

    def test_replacement_fields_do_not_count(self):
        self.assertEqual(phrases("a.py", 'f"the value of it is {told or said} here"\n'), {})

    def test_text_in_backticks_and_fences_does_not_count(self):
        self.assertEqual(phrases("a.md", "Do not write `behind`.\n```\nbehind\n```\n"), {})

    def test_a_rate_above_its_limit_is_a_problem_that_names_the_phrase(self):
        with mock.patch.object(tree, "files", lambda: ["a.md", "tests/data/b.md", "c.onnx"]), \
                mock.patch.object(tree, "read", lambda path: "word " * 999 + "behind"):
            found = prose.counts()
            self.assertEqual(list(found), ["a.md"])
            problems = prose.problems_of(found)
        self.assertEqual(len(problems), 1)
        self.assertIn("'behind': 10.0 per 10 000 words, expected at most 2.7", problems[0])

    def test_a_rate_at_its_limit_is_none(self):
        with mock.patch.object(tree, "files", lambda: ["a.md"]), \
                mock.patch.object(tree, "read", lambda path: "word " * 9998 + "behind behind"):
            self.assertEqual(prose.problems_of(prose.counts()), [])

    def test_the_worst_file_is_first(self):
        few, many = prose.Count(), prose.Count()
        few.words = many.words = 100
        few.phrases["behind"], many.phrases["behind"] = 1, 3
        self.assertLess(few.excess(), many.excess())


if __name__ == "__main__":
    unittest.main()
