"""capi/poprt.map exports what the public headers declare. Functions of the C ABI on an object, with arguments of the usual kinds,
are in the table capi/functions.toml. Checks, or with --write generates, the map and the code that follows from the table:
declarations in C, and methods in the raw layer, C++, Java, C#, Go and Python.

Usage: functions.py [--write]

The generated code is between the comments <functions:...> and </functions:...>. A hand-written method (`by`) must exist, too."""

import os
import re
import sys
import tomllib

import symbols
import tree
from function_arguments import Argument, Result
from generated_parts import camel, code, comment, formatted, settle

TABLE = "capi/functions.toml"
JAVA, CSHARP = "bindings/java/src/main/java/org/poprt/", "bindings/csharp/src/"
# For each object: the C argument; the files; SWIG's class and handle; Go's receiver; and the wrapper in which Java and C# call the raw
# layer, if there is one: `value` returns a result, `action` does not, {} is a function of the raw object.
OBJECTS = {
    "executable": {"c": "const poprt_executable* executable", "files": {
        "c": "executable.h", "cpp": "executable.hpp", "swig": "poprt.i", "java": "Executable", "csharp": "Executable", "go": "executable.go",
        "python": "poprt/compiler.py"}, "raw": "RawExecutable", "self": "$self", "go": "e *Executable"},
    "compiler": {"c": "const poprt_compiler* compiler", "files": {
        "c": "compiler.h", "cpp": "compiler.hpp", "swig": "poprt.i", "java": "Compiler", "csharp": "Compiler", "go": "compiler.go",
        "python": "poprt/compiler.py"}, "raw": "RawCompiler", "self": "$self",
        # Their compilers are functions without an object.
        "by_hand": ("cpp", "go", "python"),
        # An action calls listeners, and throws their exceptions.
        "java": {"action": "listening({})"}, "csharp": {"action": "Listening({})"}},
    "runner": {"c": "poprt_runner* runner", "files": {
        "c": "runner.h", "cpp": "runner.hpp", "swig": "poprt.i", "java": "ModelRunner", "csharp": "ModelRunner", "go": "runner.go",
        "python": "poprt/runtime.py"}, "raw": "RawRunner", "self": "$self", "go": "r *Runner"},
    # A call throws the exceptions of handlers.
    "session": {"c": "poprt_session* session", "files": {
        "c": "session.h", "cpp": "session.hpp", "swig": "session.i", "java": "Session", "csharp": "Session", "go": "session.go",
        "python": "model_runtime/session.py"}, "raw": "RawSession", "self": "$self->session", "go": "s *Session",
        "java": {"value": "resultOf({})", "action": "call({})"}, "csharp": {"action": "Call({})"}},
    "estimate": {"c": "const poprt_estimate* estimate", "files": {
        "c": "estimate.h", "cpp": "estimate.hpp", "swig": "poprt.i", "java": "Estimate", "csharp": "Estimate", "go": "estimate.go",
        "python": "poprt/_estimate.py"}, "raw": "RawEstimate", "self": "$self", "go": "e *Estimate"},
    "generator": {"c": "poprt_generator* generator", "files": {
        "c": "generator.h", "cpp": "generator.hpp", "swig": "generator.i", "java": "Generator", "csharp": "Generator", "go": "generator.go",
        "python": "poprt/generator.py"}, "raw": "RawGenerator", "self": "$self", "go": "g *Generator"},
    "sequence": {"c": "poprt_sequence* sequence", "files": {
        "c": "generator.h", "cpp": "generator.hpp", "swig": "generator.i", "java": "Sequence", "csharp": "Generator", "go": "generator.go",
        "python": "poprt/generator.py"}, "raw": "RawSequence", "self": "$self", "go": "s *Sequence",
        # A call may have waited until another thread closed the sequence.
        "csharp": {"value": "Result({})"}},
}
FOLDERS = {"c": "capi/include/poprt/", "cpp": "capi/include/poprt/", "swig": "bindings/swig/", "java": JAVA, "csharp": CSHARP,
           "go": "bindings/go/", "python": "bindings/python/"}


class Function:
    def __init__(self, object_, key, row, enums=None):
        self.object, self.key, self.row, self.place = object_, key, row, OBJECTS[object_]
        self.fails = row.get("fails", False) or row.get("returns") == "text"
        self.c = f"poprt_{object_}_{key}"
        try:
            self.result = Result(row.get("returns"), enums or {})
            self.args = [Argument(given, enums or {}) for given in row.get("args", [])]
        except ValueError as problem:
            raise ValueError(f"{TABLE}: {object_}.{key}: {problem}") from None
        for language in self.place.get("by_hand", ()):
            if self.is_generated(language):
                raise ValueError(f"{TABLE}: {object_}.{key}: {language} needs `by` or `without`, because its {object_} has no handle")
        self.out = row.get("out", "out_text" if row.get("returns") == "text" else "out_value")

    def of(self, language, key):
        return self.row.get(language, {}).get(key)

    def is_generated(self, language):
        """Whether the method is generated there."""
        return not self.of(language, "by") and not self.of(language, "without")

    def name(self, language, default):
        return self.of(language, "name") or default

    def is_property(self):
        """Whether languages with properties have a property for the value."""
        return bool(self.result) and not self.fails and not self.args

    def since(self, language):
        return self.of(language, "since") or self.row["since"]

    def heads(self, language):
        heads = [a.declared(language) for a in self.args]
        if language == "go":  # Go names a type once for several arguments
            kinds = [head.split()[1] for head in heads] + [None]
            heads = [head.split()[0] if kinds[i] == kinds[i + 1] else head for i, head in enumerate(heads)]
        return ", ".join(heads)

    def call(self, language, function, *before, after=()):
        return f"{function}({', '.join([*before, *(a.converted(language) for a in self.args), *after])})"

    def text(self, language):
        return code(self.row["text"], language)

    def errors(self, language):
        """[(code as the language spells it, when it is raised)]"""
        def spelled(key):
            title = camel(key, True)
            return {"java": f"{{@link ErrorCode#{key.upper()}}}", "csharp": title, "go": title, "python": title + "Error"}.get(language, key)
        return [(spelled(key), code(when, language)) for key, when in self.row.get("errors", {}).items()]

    def document(self, language):
        """The sentences, with the errors. Java and C# have tags for errors instead."""
        sentences = [self.text(language)]
        if language == "c" and "c_note" in self.row:
            sentences.append(self.row["c_note"])
        errors = "; ".join(f"{name} ({when})" for name, when in self.errors(language))
        if errors:
            sentences.append(f"{'Throws' if language == 'cpp' else 'Raises' if language == 'python' else 'Errors:'} {errors}.")
        return " ".join(sentences + [f"Since\0{self.since(language)}."])  # on one line


def c_declarations(functions):
    lines = []
    for f in functions:
        lines += comment(f.document("c"), "/* ", " * ", 100, " */")
        out = []
        if f.result and f.fails:
            out = [f"{'poprt_string*' if f.result.kind == 'text' else f.result.type('c')}* {f.out}"]
        kind = "POPRT_MUST_USE poprt_error*" if f.fails else f.result.type("c")
        const = "const " if f.row.get("const") else ""
        lines.append(f"POPRT_API {kind} {f.c}({', '.join([const + f.place['c'], *(a.declared('c') for a in f.args), *out])});")
    return formatted(lines)


def cpp_methods(functions):
    lines = []
    for f in functions:
        lines += comment(f.document("cpp"), "  // ", "  // ", 100)
        const = " const" if f.result or f.row.get("const") or f.place["c"].startswith("const") else ""
        lines.append(f"  {f.result.type('cpp')} {f.name('cpp', camel(f.key))}({f.heads('cpp')}){const} {{")
        if not f.result or not f.fails:
            call = f.call("cpp", f.c, "handle_.get()")
            lines.append(f"return {f.result.converted('cpp', call)};" if f.result else f"detail::check({call});" if f.fails else call + ";")
        else:
            is_text = f.result.kind == "text"
            lines += ["poprt_string* text = nullptr;" if is_text else f"{f.result.type('c')} value = 0;",
                      f"detail::check({f.call('cpp', f.c, 'handle_.get()', after=['&text' if is_text else '&value'])});",
                      "return detail::take(text);" if is_text else f"return {f.result.converted('cpp', 'value')};"]
        lines.append("}")
    return formatted(["struct Class {", *lines, "};"])[1:-1]


def swig_methods(functions):
    lines = []
    for f in functions:
        self = f.place["self"]
        if f.result and f.fails:
            is_text = f.result.kind == "text"
            made = "text" if is_text else "value"
            heads = ", ".join([*(a.declared("swig") for a in f.args), "poprt_result* error"])
            lines += [f"  {f.result.type('swig')} {f.key}({heads}) {{",
                      "    poprt_string* text = nullptr;" if is_text else f"    {f.result.type('c')} value = 0;",
                      f"    *error = {f.call('swig', f.c, self, after=['&' + made])};",
                      f"    return {f.result.converted('swig', made)};", "  }"]
            continue
        call = f.call("swig", f.c, self)
        body = f"return {f.result.converted('swig', call)};" if f.result else f"return {call};" if f.fails else call + ";"
        head = f"  {'poprt_result' if f.fails else f.result.type('swig')} {f.key}({f.heads('swig')}) {{"
        one = f"{head} {body} }}"
        lines += [one] if len(one) <= 120 else [head, "    " + body, "  }"]
    return lines


def java_body(f):
    style = f.place.get("java", {}).get("value" if f.result else "action")
    if style:
        call = f.call("java", f"raw.{f.key}")
        value = f.result.converted("java", call)
        given = f"raw -> {value}" if f.args or value != call else f"{f.place['raw']}::{f.key}"
        return [f"    {'return ' if f.result else ''}{style.format(given)};"]
    call = f.result.converted("java", f.call("java", f"use.raw().{f.key}"))
    return [f"    try (Use<{f.place['raw']}> use = use()) {{", f"      {'return ' if f.result else ''}{call};", "    }"]


def java_methods(functions):
    lines = []
    for f in functions:
        tags = []
        for a in f.args:
            tags += comment(f"@param {a.name('java')} {code(a.row['text'], 'java')}", "   * ", "   *     ", 100)
        if f.result:
            given = code(f.row.get("result", ""), "java")
            default = {"text": "text", "flag": "true or false"}.get(f.result.kind, "a number")
            tags += comment("@return " + (given or default), "   * ", "   *     ", 100)
        for name, when in f.errors("java"):
            tags += comment(f"@throws PoprtException with {name}: {when}", "   * ", "   *     ", 100)
        lines += ["  /**"] + comment(f.text("java"), "   * ", "   * ", 100) + ["   *"] + tags
        head = f"  public {f.result.type('java')} {f.name('java', camel(f.key))}({f.heads('java')}) {{"
        lines += [f"   * @since {f.since('java')}", "   */", head, *java_body(f), "  }", ""]
    return lines[:-1]


def csharp_methods(functions):
    lines = []
    for f in functions:
        document = [f"<summary>{f.text('csharp')} Since {f.since('csharp')}.</summary>"]
        document += [f'<param name="{a.name("csharp")}">{capitalized(code(a.row["text"], "csharp"))}.</param>' for a in f.args]
        document += [f'<exception cref="PoprtException">{name}: {when}.</exception>' for name, when in f.errors("csharp")]
        for text in document:
            lines += comment(text, "        /// ", "        /// ", 120)
        call, style = f.call("csharp", f"raw.{f.key}"), f.place.get("csharp", {}).get("value" if f.result else "action")
        if style:
            call = style.format(f"() => {call}" if f.args else f"raw.{f.key}")
        body = f"{'return ' if f.result else ''}{f.result.converted('csharp', call)};"
        head = f"        public {f.result.type('csharp')} {f.name('csharp', camel(f.key, True))}"
        if f.is_property():
            lines += [head, "        {", f"            get {{ {body} }}", "        }", ""]
        else:
            lines += [f"{head}({f.heads('csharp')})", "        {", f"            {body}", "        }", ""]
    return lines[:-1]


def capitalized(text):
    return text[0].upper() + text[1:]


def go_call(f):
    """Returns (result types, lines of the body)."""
    kind, raw = f.result.type("go"), f"native.{f.place['raw']}"
    function, variable = f.key.capitalize(), f.place["go"].split()[0]
    types = f"({kind}, error)" if f.result and f.fails else kind if f.result else "error"
    if f.object == "session" and f.result and f.result.kind != "text":
        failing = f.call("go", f"raw.{function}", after=["&failure"] if f.fails else [])
        return f"(value {kind}, err error)" if f.fails else f"(value {kind})", [
            f"\t{'err = ' if f.fails else ''}{variable}.call(func(raw {raw}) (failure uintptr) {{",
            f"\t\tvalue = {f.result.converted('go', failing)}", "\t\treturn failure", "\t})", "\treturn value, err" if f.fails else "\treturn value"]
    if f.object == "session" and not f.result and not f.fails:
        return types, [f"\treturn {variable}.call(func(raw {raw}) uintptr {{", f"\t\t{f.call('go', f'raw.{function}')}", "\t\treturn 0", "\t})"]
    helper = "text" if f.result.kind == "text" else "value" if f.result else "call" if f.fails else "callVoid"
    helper = "result" if helper == "value" and f.fails else helper
    given = f"{raw}.{function}"
    if f.args or f.result.enum:
        failure = ["failure"] if f.result and f.fails else []
        heads = ", ".join([f"raw {raw}", *(name + " *uintptr" for name in failure)])
        returned = {"text": " uintptr", "call": " uintptr", "callVoid": ""}.get(helper, " " + (kind or ""))
        inner = f.call("go", f"raw.{function}", after=failure)
        inner = f.result.converted("go", inner) if f.result and f.result.kind != "text" else inner
        given, body = f"func({heads}){returned}", f"{'' if helper == 'callVoid' else 'return '}{inner}"
        fits = len(given) + len(body) <= 92  # gofmt breaks functions that are longer than some 100 characters
        given = f"{given} {{ {body} }}" if fits else f"{given} {{\n\t\t{body}\n\t}}"
    call = f"{variable}.{helper}({given})" if f.object == "session" else f"{helper}Of({variable}.h, {given})"
    return types, f"\treturn {call}".split("\n")


def go_methods(functions):
    lines = [""]
    for f in functions:
        name, text = f.name("go", camel(f.key, True)), f.document("go")
        lines += comment(f"{name} {'is ' if f.result else ''}{text[0].lower()}{text[1:]}", "// ", "// ", 120)
        types, body = go_call(f)
        head = f"func ({f.place['go']}) {name}({f.heads('go')}) {types} {{"
        one = f"{head} {body[0].strip()} }}"
        fits = len(head.removesuffix(" {")) + len(body[0].strip()) <= 100  # gofmt breaks longer functions
        lines += [one, ""] if len(body) == 1 and fits else [head, *body, "}", ""]
    return lines


def python_methods(functions):
    lines = []
    for f in functions:
        name = f.name("python", camel(f.key) if f.object == "session" else f.key)
        if f.object == "session":
            call = f.call("python", "self._call", f"_raw.RawSession.{f.key}")
        elif f.object == "sequence" and f.result and f.fails:
            call = f.call("python", "self._result", f"_raw.RawSequence.{f.key}")
        else:
            call = f.call("python", f"self._open().{f.key}")
        value = f"return {f.result.converted('python', call)}" if f.result else call
        text = comment(f.document("python"), '        """', "        ", 120, '"""')
        lines += ["    @property"] if f.is_property() else []
        heads = ", ".join(["self", *(a.declared("python") for a in f.args)])
        lines += [f"    def {name}({heads}) -> {f.result.type('python')}:", *text]
        # A missing file is a FileNotFoundError, which depends on its name.
        opened = [a for a in f.row.get("args", []) if a["type"] == "path"] if f.row.get("errors", {}).get("not_found") == "the file does not exist" else []
        for a in opened:
            path = f'_path("{a["name"]}", {a["name"]})'
            lines += [f"        {a['name']} = {path}", f"        with _opening({a['name']}):"]
            value = "    " + value.replace(path, a["name"])
        lines += [f"        {value}", ""]
    return lines[:-1]


MAKERS = {"c": c_declarations, "cpp": cpp_methods, "swig": swig_methods, "java": java_methods, "csharp": csharp_methods,
          "go": go_methods, "python": python_methods}
ENDINGS = {"java": ".java", "csharp": ".cs"}


def version_map():
    """The lines of capi/poprt.map."""
    return (["POPRT_1 {", "  global:"] + [f"    {name};" for name in sorted(symbols.declared())] + ["  local:", "    *;", "};"] +
            ["POPRT_PRIVATE {", "  global:"] + [f"    {name};" for name in sorted(symbols.PRIVATE)] + ["};"])


def read():
    """The functions of each object."""
    with open(os.path.join(tree.ROOT, TABLE), "rb") as file:
        table = tomllib.load(file)
    enums = table.pop("enums", {})
    return {object_: [Function(object_, key, row, enums) for key, row in rows.items()] for object_, rows in table.items()}


def absent():
    """Yields (language, function, why) for each function that a language does not offer."""
    for functions in read().values():
        for f in functions:
            for language, name in (("cpp", "C++"), ("java", "Java"), ("csharp", "C#"), ("go", "Go"), ("python", "Python")):
                if f.of(language, "without"):
                    yield name, f.c, f.of(language, "without")


def parts():
    """Yields (file, name of the part or None for the whole file, table, function that generates its lines)."""
    for object_, functions in read().items():
        for language, make in MAKERS.items():
            path = FOLDERS[language] + OBJECTS[object_]["files"][language] + ENDINGS.get(language, "")
            for f in functions:
                by = f.of(language, "by")
                if by and not re.search(rf"(?<![.\w]){by}\(", tree.read(path)):
                    raise ValueError(f"{path}: nothing is called {by}, which offers {f.c}")
            mine = [f for f in functions if f.is_generated(language)]
            if mine:
                yield path, "functions:" + object_, TABLE, lambda make=make, mine=mine: make(mine)
    yield symbols.MAP, None, "what the headers declare", version_map


def check(write):
    found = [settle(path, name, make(), table, "tests/lint/functions.py", write) for path, name, table, make in parts()]
    return [problem for problem in found if problem], len(found)


def main():
    tree.finish(*check("--write" in sys.argv), "generated parts")


if __name__ == "__main__":
    main()
