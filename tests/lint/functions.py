"""capi/poprt.map exports what the public headers declare; functions of the C ABI without further arguments are said once, in
capi/functions.toml. Checks, or with --write makes, the map and what comes from the table: declarations in C, and methods in
the raw layer, C++, Java, C#, Go and Python.

Usage: functions.py [--write]

What is made is between the comments <functions:...> and </functions:...>. A method by hand (`by`) has to be there, too."""

import os
import re
import sys
import tomllib

import symbols
import tree
from generated_parts import camel, code, comment, formatted, settle

TABLE = "capi/functions.toml"
JAVA, CSHARP = "bindings/java/src/main/java/org/poprt/", "bindings/csharp/src/"
# For each object: the C argument; the files; how C++ has the handle and checks errors; SWIG's class and handle; how the methods
# of Java, C#, Go and Python call the raw layer, if not by the object that is named `raw`.
OBJECTS = {
    "executable": {"c": "const poprt_executable* executable", "files": {
        "c": "executable.h", "cpp": "executable.hpp", "swig": "poprt.i", "java": "Executable", "csharp": "Executable", "go": "executable.go",
        "python": "poprt/compiler.py"}, "raw": "RawExecutable", "self": "$self", "go": "e *Executable"},
    "runner": {"c": "poprt_runner* runner", "files": {
        "c": "runner.h", "cpp": "runner.hpp", "swig": "poprt.i", "java": "ModelRunner", "csharp": "ModelRunner", "go": "runner.go",
        "python": "poprt/runtime.py"}, "raw": "RawRunner", "self": "$self", "go": "r *Runner"},
    # Its calls come back with what handlers have thrown.
    "session": {"c": "poprt_session* session", "files": {
        "c": "session.h", "cpp": "session.hpp", "swig": "session.i", "java": "Session", "csharp": "Session", "go": "session.go",
        "python": "model_runtime/session.py"}, "raw": "RawSession", "self": "$self->session", "go": "s *Session"},
}
FOLDERS = {"c": "capi/include/poprt/", "cpp": "capi/include/poprt/", "swig": "bindings/swig/", "java": JAVA, "csharp": CSHARP,
           "go": "bindings/go/", "python": "bindings/python/"}
TYPES = {"text": {"cpp": "std::string", "swig": "poprt_text", "java": "String", "csharp": "string", "python": "str"},
         "size": {"cpp": "size_t", "swig": "int64_t", "java": "long", "csharp": "long", "go": "int64", "python": "int"},
         "flag": {"cpp": "bool", "swig": "bool", "java": "boolean", "csharp": "bool", "go": "bool", "python": "bool"}}


class Function:
    def __init__(self, object_, key, row):
        self.object, self.key, self.row, self.place = object_, key, row, OBJECTS[object_]
        self.returns = row.get("returns")
        self.fails = row.get("fails", False) or self.returns == "text"
        if self.returns not in (None, *TYPES) or self.returns in ("size", "flag") and self.fails:
            raise ValueError(f"{TABLE}: {object_}.{key}: there is no function that returns {self.returns} and "
                             f"{'fails' if self.fails else 'does not fail'}")
        self.c = f"poprt_{object_}_{key}"

    def by(self, language):
        return self.row.get(language, {}).get("by")

    def type(self, language):
        return TYPES[self.returns][language] if self.returns else "void"

    def text(self, language):
        return code(self.row["text"], language)

    def errors(self, language):
        """[(code as the language has it, when)]"""
        def spelled(key):
            title = camel(key, True)
            return {"java": f"{{@link ErrorCode#{key.upper()}}}", "csharp": title, "go": title, "python": title + "Error"}.get(language, key)
        return [(spelled(key), code(when, language)) for key, when in self.row.get("errors", {}).items()]

    def document(self, language):
        """The sentences, with the errors, but for Java and C#, which have tags for them."""
        said = [self.text(language)]
        if language == "c" and "c_note" in self.row:
            said.append(self.row["c_note"])
        told = "; ".join(f"{name} ({when})" for name, when in self.errors(language))
        if told:
            said.append(f"{'Throws' if language == 'cpp' else 'Raises' if language == 'python' else 'Errors:'} {told}.")
        return " ".join(said + [f"Since\0{self.row['since']}."])  # on one line


def c_declarations(functions):
    lines = []
    for f in functions:
        lines += comment(f.document("c"), "/* ", " * ", 100, " */")
        out = f", poprt_string** {f.row.get('out', 'out_text')}" if f.returns == "text" else ""
        kind = "POPRT_MUST_USE poprt_error*" if f.fails else {"size": "size_t", "flag": "int32_t", None: "void"}[f.returns]
        const = "const " if f.row.get("const") else ""
        lines.append(f"POPRT_API {kind} {f.c}({const}{f.place['c']}{out});")
    return formatted(lines)


def cpp_methods(functions):
    lines = []
    for f in functions:
        lines += comment(f.document("cpp"), "  // ", "  // ", 100)
        call, checked = f"{f.c}(handle_.get())", f"detail::check({f.c}(handle_.get()))"
        head = f"  {f.type('cpp')} {camel(f.key)}(){' const' if f.returns or f.row.get('const') else ''}"
        if f.returns == "text":
            lines += [head + " {", "    poprt_string* text = nullptr;", f"    detail::check({f.c}(handle_.get(), &text));",
                      "    return detail::take(text);", "  }"]
            continue
        body = {"size": f"return {call};", "flag": f"return {call} != 0;", None: (checked if f.fails else call) + ";"}[f.returns]
        one = f"{head} {{ {body} }}"
        lines += [one] if len(one) <= 100 else [head + " {", "    " + body, "  }"]
    return lines


def swig_methods(functions):
    lines = []
    for f in functions:
        call = f"{f.c}({f.place['self']})"
        if f.returns == "text":
            lines += [f"  poprt_text {f.key}(poprt_result* error) {{", "    poprt_string* text = nullptr;",
                      f"    *error = {f.c}({f.place['self']}, &text);", "    return text;", "  }"]
        else:
            body = {"size": f"return static_cast<int64_t>({call});", "flag": f"return {call} != 0;",
                    None: f"return {call};" if f.fails else call + ";"}[f.returns]
            kind = "poprt_result" if f.fails else f.type("swig") if f.returns else "void"
            lines.append(f"  {kind} {f.key}() {{ {body} }}")
    return lines


def java_methods(functions):
    lines = []
    for f in functions:
        value = "" if f.returns is None else "return "
        if f.object == "session":
            body = [f"    {'return ask' if f.returns else 'call'}(RawSession::{f.key});"]
        else:
            body = [f"    try (Use<{f.place['raw']}> use = use()) {{", f"      {value}use.raw().{f.key}();", "    }"]
        tags = comment("@return " + {"text": "text", "size": "a number", "flag": "true or false"}[f.returns],
                       "   * ", "   *     ", 100) if f.returns else []
        for name, when in f.errors("java"):
            tags += comment(f"@throws PoprtException with {name}: {when}", "   * ", "   *     ", 100)
        lines += ["  /**"] + comment(f.text("java"), "   * ", "   * ", 100) + ["   *"] + tags
        lines += [f"   * @since {f.row['since']}", "   */", f"  public {f.type('java')} {camel(f.key)}() {{", *body, "  }", ""]
    return lines[:-1]


def csharp_methods(functions):
    lines = []
    for f in functions:
        lines += comment(f"<summary>{f.text('csharp')} Since {f.row['since']}.</summary>", "        /// ", "        /// ", 120)
        for name, when in f.errors("csharp"):
            lines += comment(f'<exception cref="PoprtException">{name}: {when}.</exception>', "        /// ", "        /// ", 120)
        call = f"Call(raw.{f.key});" if f.object == "session" and not f.returns else f"raw.{f.key}();"
        head = f"        public {f.type('csharp')} {camel(f.key, True)}"
        if f.returns in ("size", "flag"):
            lines += [head, "        {", f"            get {{ return {call} }}", "        }", ""]
        else:
            lines += [head + "()", "        {", f"            {'return ' if f.returns else ''}{call}", "        }", ""]
    return lines[:-1]


def go_methods(functions):
    lines = [""]
    for f in functions:
        name, said = camel(f.key, True), f.document("go")
        lines += comment(f"{name} {'is ' if f.returns else ''}{said[0].lower()}{said[1:]}", "// ", "// ", 120)
        receiver, raw = f.place["go"], f"native.{f.place['raw']}.{f.key.capitalize()}"
        variable = receiver.split()[0]
        helper = {"text": "text", "size": "value", "flag": "value", None: "ask" if f.fails else "tell"}[f.returns]
        call = f"{variable}.{helper}({raw})" if f.object == "session" else f"{helper}Of({variable}.h, {raw})"
        kind = {"text": "(string, error)", None: "error"}.get(f.returns) or f.type("go")
        lines += [f"func ({receiver}) {name}() {kind} {{ return {call} }}", ""]
    return lines


def python_methods(functions):
    lines = []
    for f in functions:
        name = camel(f.key) if f.object == "session" else f.key
        call = f"self._call(_raw.RawSession.{f.key})" if f.object == "session" else f"self._open().{f.key}()"
        value = {"text": f"return str({call})", "size": f"return int({call})", "flag": f"return bool({call})", None: call}[f.returns]
        said = comment(f.document("python"), '        """', "        ", 120, '"""')
        lines += ["    @property"] if f.returns in ("size", "flag") else []
        lines += [f"    def {name}(self) -> {f.type('python') if f.returns else 'None'}:", *said, f"        {value}", ""]
    return lines[:-1]


MAKERS = {"c": c_declarations, "cpp": cpp_methods, "swig": swig_methods, "java": java_methods, "csharp": csharp_methods,
          "go": go_methods, "python": python_methods}
ENDINGS = {"java": ".java", "csharp": ".cs"}


def version_map():
    """The lines of capi/poprt.map."""
    return ["POPRT_1 {", "  global:"] + [f"    {name};" for name in sorted(symbols.declared())] + ["  local:", "    *;", "};"]


def parts():
    """(file, name of the part or None for the whole, table, what makes its lines)"""
    with open(os.path.join(tree.ROOT, TABLE), "rb") as file:
        table = tomllib.load(file)
    for object_, rows in table.items():
        functions = [Function(object_, key, row) for key, row in rows.items()]
        for language, make in MAKERS.items():
            path = FOLDERS[language] + OBJECTS[object_]["files"][language] + ENDINGS.get(language, "")
            for f in functions:
                if f.by(language) and not re.search(rf"(?<![.\w]){f.by(language)}\(", tree.read(path)):
                    raise ValueError(f"{path}: nothing is called {f.by(language)}, which offers {f.c}")
            mine = [f for f in functions if not f.by(language)]
            yield path, "functions:" + object_, TABLE, lambda make=make, mine=mine: make(mine)
    yield symbols.MAP, None, "what the headers declare", version_map


def check(write):
    found = [settle(path, name, make(), table, "tests/lint/functions.py", write) for path, name, table, make in parts()]
    return [problem for problem in found if problem], len(found)


def main():
    tree.finish(*check("--write" in sys.argv), "generated parts")


if __name__ == "__main__":
    main()
