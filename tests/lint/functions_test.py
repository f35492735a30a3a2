"""lint.functions reports each kind of error: each generated part edited by hand, a function that is not exported, a method by
hand that is missing, and a function of an unknown shape. Forms that no function of the table has yet are generated, too."""

import unittest
from unittest import mock

import functions
import symbols
import tree


def reading(path, change):
    """Patches the tree so that the file `path` has the text that `change` returns."""
    real = tree.read
    return mock.patch.object(tree, "read", lambda asked: change(real(asked)) if asked == path else real(asked))


class Functions(unittest.TestCase):
    def test_generated_parts_are_current(self):
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
                                     f"{path}:{at + 1}: differs from capi/functions.toml; run tests/lint/functions.py --write")

    def test_a_function_that_is_not_exported_is_named(self):
        with reading(symbols.MAP, lambda text: text.replace("    poprt_runner_stop;\n", "")):
            problems = functions.check(False)[0]
        self.assertEqual(len(problems), 1)
        self.assertIn("capi/poprt.map", problems[0])

    def test_a_method_by_hand_has_to_be_there(self):
        with reading("bindings/python/poprt/runtime.py", lambda text: text.replace("def tracepoints(", "def points(")):
            with self.assertRaisesRegex(ValueError, "nothing is called tracepoints, which offers poprt_runner_tracepoints"):
                list(functions.parts())

    def test_types_that_the_table_does_not_have_are_named(self):
        row = {"text": "An age.", "since": "1.0"}
        with self.assertRaisesRegex(ValueError, "runner.age: there is no result of type years"):
            functions.Function("runner", "age", {**row, "returns": "years"})
        with self.assertRaisesRegex(ValueError, "runner.age: there is no argument of type planet"):
            functions.Function("runner", "age", {**row, "args": [{"name": "on", "type": "planet", "text": "where"}]})

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

    def generated(self, object_, key, enums=None, **row):
        function = functions.Function(object_, key, {"text": "The text.", "since": "1.1", **row}, enums)
        return {language: "\n".join(make([function])) for language, make in functions.MAKERS.items()}

    def test_arguments_of_all_kinds_are_handed_on(self):
        kinds = ("index", "size", "int", "long", "number", "flag", "text", "path")
        lines = self.generated("executable", "note", args=[{"name": "an_" + k, "type": k, "text": "a value"} for k in kinds])
        self.assertIn("poprt_executable_note(const poprt_executable* executable, size_t an_index, size_t an_size, int32_t an_int, "
                      "int64_t an_long, double an_number, int32_t an_flag, const char* an_text, const char* an_path);",
                      " ".join(lines["c"].split()))
        self.assertIn("void note(size_t anIndex, size_t anSize, int32_t anInt, int64_t anLong, double anNumber, bool anFlag, "
                      "const std::string& anText, const std::string& anPath) const { poprt_executable_note(handle_.get(), anIndex, "
                      "anSize, anInt, anLong, anNumber, anFlag ? 1 : 0, detail::text(anText, \"anText\"), detail::text(anPath, \"anPath\")); }",
                      " ".join(lines["cpp"].split()))
        self.assertIn("poprt_executable_note($self, static_cast<size_t>(an_index), static_cast<size_t>(an_size), an_int, an_long, "
                      "an_number, an_flag ? 1 : 0, an_text, an_path);", lines["swig"])
        self.assertIn("use.raw().note(anIndex, anSize, anInt, anLong, anNumber, anFlag, anText, anPath.toString());", lines["java"])
        self.assertIn("@param anPath a value", lines["java"])
        self.assertIn("public void Note(int anIndex, long anSize, int anInt, long anLong, double anNumber, bool anFlag, string anText, "
                      "string anPath)", lines["csharp"])
        self.assertIn('<param name="anPath">A value.</param>', lines["csharp"])
        self.assertIn("Note(anIndex int, anSize int64, anInt int32, anLong int64, anNumber float64, anFlag bool, anText, anPath string) "
                      "error {", lines["go"])
        self.assertIn("raw.Note(int64(anIndex), anSize, int(anInt), anLong, anNumber, anFlag, anText, anPath)", lines["go"])
        self.assertIn('self._open().note(an_index, an_size, an_int, an_long, an_number, an_flag, an_text, _path("an_path", an_path))',
                      lines["python"])

    def test_a_function_that_gofmt_would_break_has_lines(self):
        lines = self.generated("executable", "batching_refusal", returns="text", args=[{"name": "dimension", "type": "index", "text": "one"}])
        self.assertIn("failure *uintptr) uintptr {\n\t\treturn raw.Batching_refusal(int64(dimension), failure)\n\t})", lines["go"])

    def test_an_empty_text_that_is_optional_is_null(self):
        lines = self.generated("executable", "note", fails=True, args=[
            {"name": "folder", "type": "text", "optional": True, "text": "a folder"}])
        self.assertIn("poprt_executable_note(handle_.get(), folder.empty() ? nullptr : detail::text(folder, \"folder\"))", " ".join(lines["cpp"].split()))
        self.assertIn("poprt_executable_note($self, poprt_shim::or_null(folder))", lines["swig"])

    def test_a_result_that_may_fail_is_an_out_parameter(self):
        lines = self.generated("runner", "input_index", returns="size", fails=True, out="out_index",
                               args=[{"name": "name", "type": "text", "go": "input", "text": "a name"}])
        self.assertIn("POPRT_MUST_USE poprt_error* poprt_runner_input_index(poprt_runner* runner, const char* name, "
                      "size_t* out_index);", " ".join(lines["c"].split()))
        self.assertIn("size_t value = 0; detail::check(poprt_runner_input_index(handle_.get(), detail::text(name, \"name\"), &value)); return value;",
                      " ".join(lines["cpp"].split()))
        self.assertIn("int64_t input_index(const char* name, poprt_result* error) {", lines["swig"])
        self.assertIn("public long InputIndex(string name)", lines["csharp"])
        self.assertIn("InputIndex(input string) (int64, error)", lines["go"])
        self.assertIn("resultOf(r.h, func(raw native.RawRunner, failure *uintptr) int64 { return raw.Input_index(input, failure) })",
                      lines["go"])
        self.assertIn("def input_index(self, name: str) -> int:", lines["python"])
        lines = self.generated("session", "step", returns="long", fails=True, args=[{"name": "name", "type": "text", "text": "a name"}])
        self.assertIn("return resultOf(raw -> raw.step(name));", lines["java"])
        self.assertIn("value = raw.Step(name, &failure)", lines["go"])
        self.assertIn("raw.Rest()\n\t\treturn 0", self.generated("session", "rest")["go"])
        lines["java"] = self.generated("session", "position", returns="index", fails=True)["java"]
        self.assertIn("return resultOf(raw -> (int) raw.position());", lines["java"])
        self.assertIn("return int(self._call(_raw.RawSession.step, name))", lines["python"])

    def test_enumerations_are_converted(self):
        enums = {"kind": {"c": "poprt_kind", "cpp": "Kind", "java": {"type": "Kind", "to": "{}.number()", "from": "Kind.of({})"},
                          "csharp": "Kind", "go": "Kind", "python": "Kind"}}
        lines = self.generated("runner", "opposite", enums, returns="kind", args=[{"name": "kind", "type": "kind", "text": "a kind"}])
        self.assertIn("POPRT_API poprt_kind poprt_runner_opposite(poprt_runner* runner, poprt_kind kind);", lines["c"])
        self.assertIn("static_cast<Kind>(poprt_runner_opposite(handle_.get(), static_cast<poprt_kind>(kind)))",
                      " ".join(lines["cpp"].split()))
        self.assertIn("int32_t opposite(int32_t kind) { return poprt_runner_opposite($self, kind); }", lines["swig"])
        self.assertIn("return Kind.of(use.raw().opposite(kind.number()));", lines["java"])
        self.assertIn("return (Kind)raw.opposite((int)kind);", lines["csharp"])
        self.assertIn("return Kind(raw.Opposite(int(kind)))", lines["go"])
        self.assertIn("return Kind(self._open().opposite(kind.value))", lines["python"])

    def test_actions_of_a_compiler_call_its_listeners(self):
        row = {"text": "Warms up.", "since": "1.1", "fails": True, "args": [{"name": "path", "type": "path", "text": "a model"}]}
        with self.assertRaisesRegex(ValueError, "compiler.warm: cpp needs `by` or `without`, because its compiler has no handle"):
            functions.Function("compiler", "warm", row)
        by = {"by": "warm"}
        made = functions.Function("compiler", "warm", {**row, "cpp": by, "go": by, "python": by})
        self.assertIn("listening(raw -> raw.warm(path.toString()));", "\n".join(functions.java_methods([made])))
        self.assertIn("Listening(() => raw.warm(path));", "\n".join(functions.csharp_methods([made])))


if __name__ == "__main__":
    unittest.main()
