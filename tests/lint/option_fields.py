"""capi/option_fields.toml is the one list of options of compilers, runners, requests and sessions. Checks, or with --write makes, the
parts made from it: the structs of the C ABI, and fields or setters with their documentation in C++, Java, C#, Go and Python.

The names that messages of the library contain are replaced by those of C++, Java, C# and Go, by tables that are also made from it.

Usage: option_fields.py [--write]

The parts are between two comments, <options:...> and </options:...>. A field that a language has under a name that is
written by hand (`by`) must be there, too."""

import os
import re
import sys
import tomllib

import tree
from generated_parts import camel, code, comment, settle

TABLE = "capi/option_fields.toml"
LANGUAGES = ("cpp", "python", "java", "csharp", "go")
SPELLED = {"cpp": "C++", "python": "Python", "java": "Java", "csharp": "C#", "go": "Go"}
JAVA, CSHARP = "bindings/java/src/main/java/org/poprt/", "bindings/csharp/src/"
# The file of each struct, its name there, and whether the raw layer has its fields as attributes.
PLACES = {
    "runner": {"c": "runner.h", "cpp": "runner.hpp", "python": "poprt/_runner_config.py", "java": "RuntimeConfig", "csharp": "ModelRunner.cs",
               "go": "runner.go", "type": "RunnerOptions", "attributes": True},
    "compile": {"c": "compiler.h", "cpp": "compiler.hpp", "python": "poprt/compiler.py", "java": "CompilerOptions",
                "csharp": "Compiler.cs", "go": "compiler.go", "type": "CompileOptions", "attributes": False},
    "session": {"c": "session.h", "cpp": "session.hpp", "python": "model_runtime/session.py", "java": "SessionOptions",
                "csharp": "SessionOptions.cs", "go": "session.go", "type": "SessionOptions", "attributes": False},
    "request": {"c": "runner.h", "cpp": "runner.hpp", "python": "poprt/_runner_config.py", "java": "RequestOptions",
                "csharp": "RequestOptions.cs", "go": "runner.go", "type": "RequestOptions", "attributes": True},
}
# Fields of C++'s ModelRunnerConfig, in the order of the struct.
MODEL_RUNTIME = ("device_wait_config", "thread_safe", "replication_factor", "timeout", "validate_io_params", "batching_dim",
                 "check_package_hash", "ring_buffer_size_multiplier", "auto_reset", "frozen_inputs", "flush_on_waiting_outputs",
                 "batch_size_timeout", "data_parallel_timeout", "is_batch_size_timeout_enabled",
                 "request_tracepoints_buffer_size", "replica_devices", "flush_by_name")
TYPES = {
    "c": {"flag": "int32_t", "int": "int32_t", "long": "int64_t", "number": "double", "duration": "int64_t", "text": "const char*"},
    "cpp": {"flag": "bool", "int": "int32_t", "long": "int64_t", "number": "double", "duration": "Nanoseconds", "text": "std::string"},
    "python": {"flag": "bool", "int": "int", "long": "int", "number": "float", "duration": "Union[int, datetime.timedelta]", "text": "str"},
    "java": {"flag": "boolean", "int": "int", "long": "long", "number": "double", "duration": "Duration", "text": "String"},
    "csharp": {"flag": "bool", "int": "int", "long": "long", "number": "double", "duration": "TimeSpan", "text": "string"},
    "go": {"flag": "bool", "int": "int", "long": "int64", "number": "float64", "duration": "time.Duration", "text": "string"},
}
# EMPTY: the word for an absent value in each language.
NUMBERS = ("int", "long", "number", "duration")
EMPTY = {"text": {"c": "Null", "csharp": 'Null or ""'},
         "object": {"c": "Null", "cpp": "Null", "python": "None", "java": "Null", "csharp": "Null", "go": "Nil"}}
WORDS = {"io": "IO", "ns": "NS", "ipu": "IPU", "id": "ID"}
# Options of pack runners in messages and C++, and in other languages.
PACK = {"max_valid_num": "max_valid_num", "dynamic_input_name": "dynamic_input", "dynamic_group": "dynamic_group",
        "compile_batch_size": "compile_batch_size"}
OPTIONS_BY_NAME = "capi/src/libpoprt/poprt_options.cpp"


class Field:
    def __init__(self, struct, key, row, names):
        self.struct, self.key, self.row, self.names = struct, key, row, names
        self.kind = row.get("kind", "object")
        self.on = row.get("on", False)

    def of(self, language, key, default=None):
        return self.row.get(language, {}).get(key, default)

    def is_generated(self, language):
        """Whether it is generated there."""
        if self.row.get("only") and language not in self.row["only"]:
            return False
        return not self.of(language, "by") and not self.of(language, "without")

    def c_name(self):
        declared = self.row.get("c")
        return declared.split()[-1] if declared else self.key + ("_ns" if self.kind == "duration" else "")

    def name(self, language):
        given = self.of(language, "name")
        if given:
            return given
        timed = self.key + "_ns" if self.kind == "duration" else self.key
        return {"cpp": camel(timed, words={"ns": "NS"}), "python": timed, "java": camel(self.key),
                "csharp": camel(self.key, True), "go": camel(self.key, True, WORDS)}[language]

    def type(self, language):
        return self.of(language, "type") or TYPES[language][self.kind]

    def default(self, language):
        """The literal that initializes it in C++ and Python; None: the type's own."""
        given = self.of(language, "default")
        if given is not None:
            return given
        value = self.row.get("popart", {}).get("default", 0)
        if value == "never":
            return {"cpp": "kNever", "python": "INT64_MAX"}[language]
        if self.kind == "flag":
            return {"cpp": "true" if self.on else "false", "python": str(self.on)}[language]
        if self.kind in NUMBERS:
            return f"{value:,}".replace(",", {"cpp": "'", "python": "_"}[language]) if value > 9999 else str(value)
        return {"cpp": None, "python": '""'}[language]

    def since(self, language):
        """The version that added the option; a second name of an option may be newer than the option."""
        if language == "c":
            return self.row["since"]
        return self.of(language, "since") or ("1.0" if self.of(language, "also") else self.row["since"])

    def text(self, language):
        text = self.row["negated"] if language in ("c", "go") and "negated" in self.row else self.row["text"]
        return re.sub(r"\{(\w+)\}", lambda m: self.names[m.group(1)][language], code(text, language))

    def meanings(self, language):
        """[(value, its meaning)] of zero, absent and negative values."""
        row = {**self.row, **({"negative": None, **self.row["popart"]} if language in ("cpp", "python") and "popart" in self.row
                              else {})}
        zero, negative = row.get("zero"), row.get("negative")
        if self.kind == "list" and zero == "none":
            return []
        word = "0"
        if self.kind == "duration" and language in ("java", "csharp"):
            word = "Zero"
        elif self.kind not in NUMBERS:
            word = EMPTY.get(self.kind, {}).get(language, {"text": '""', "list": "None given", "enum": "Default"}.get(self.kind))
        return ([(word, zero)] if zero else []) + ([("Negative", negative)] if negative else [])

    def remarks(self, language):
        """The sentences about units, defaults and the language."""
        output = []
        if self.kind == "duration" and language in ("c", "cpp", "python"):
            output.append("Nanoseconds, or a ``timedelta``." if language == "python" else "Nanoseconds.")
        if self.kind == "flag" and language == "c" and "c_note" not in self.row:
            output.append("Non-zero: yes.")
        if self.kind == "flag" and language in ("csharp", "go") and (language == "csharp" or "negated" not in self.row):
            output.append(f"Default: {str(self.on).lower()}.")
        note = self.row.get("c_note") if language == "c" else self.of(language, "note")
        return output + ([note] if note else [])

    def document(self, language):
        pairs = "; ".join(f"{w if i == 0 else w.lower()}: {m}" for i, (w, m) in enumerate(self.meanings(language)))
        return " ".join([self.text(language)] + ([pairs + "."] if pairs else []) + self.remarks(language) +
                        [f"Since {self.since(language)}."])


def c_struct(fields, _):
    lines = []
    for f in fields:
        if "only" in f.row:
            continue
        lines += comment(f.document("c"), "  /* ", "   * ", 100, " */")
        lines.append(f"  {f.row.get('c') or TYPES['c'][f.kind] + ' ' + f.c_name()};")
        lines += [f"  {more};" for more in f.row.get("after", [])]
    return lines


def swig_attributes(fields, _):
    """Members of the struct in the raw layer of all languages, which become attributes."""
    return [f"  {f.row.get('c') or TYPES['c'][f.kind] + ' ' + f.c_name()};" for f in fields
            if f.kind in ("flag", *NUMBERS) and f.row.get("attribute", True) and "only" not in f.row]


def cpp_copies(fields, _):
    """Lines that fill the C struct `o` from the fields."""
    lines = []
    for f in fields:
        value = {"flag": f"{f.name('cpp')} ? {'0 : 1' if f.on else '1 : 0'}", "text": f"{f.name('cpp')}.c_str()"}.get(f.kind, f.name("cpp"))
        if f.is_generated("cpp") and f.kind not in ("object", "list"):
            lines.append("    " + f.of("cpp", "raw", f"o.{f.c_name()} = {{value}};").format(value=value))
    return lines


def python_copies(fields, _):
    """Lines that fill the raw layer's struct `raw` from the fields."""
    lines = []
    for f in fields:
        value = f"self.{f.name('python')}"
        if f.is_generated("python") and f.kind not in ("object", "list"):
            given = {"flag": f"int({'not ' if f.on else ''}{value})", "duration": f"nanoseconds({value})"}.get(f.kind, value)
            call = f"raw.set_{f.key}({{value}})" if f.kind == "text" else f"raw.{f.c_name()} = {{value}}"
            lines.append("        " + f.of("python", "raw", call).format(value=given))
    return lines


def cpp_fields(fields, _, indent="  "):
    lines = []
    for f in fields:
        if not f.is_generated("cpp"):
            continue
        lines += comment(f.document("cpp"), indent + "// ", indent + "// ", 100)
        default = f.default("cpp") if f.kind in TYPES["cpp"] or f.of("cpp", "default") else None
        value = f" = {default}" if default else ""
        lines.append(indent + (f.of("cpp", "code") or f"{f.type('cpp')} {f.name('cpp')}{value};"))
    return lines


def model_runtime_name(f):
    return {"replica_devices": "replica_id_to_device"}.get(f.key, f.key + ("_ns" if f.kind == "duration" else ""))


def model_runtime_fields(fields, place):
    """Fields of C++'s ModelRunnerConfig: the same options with other names, and times as durations."""
    lines = []
    known = {f.key: f for f in fields}
    for key in MODEL_RUNTIME:
        f = known[key]
        line = cpp_fields([f], place)[-1].replace(f.name("cpp"), model_runtime_name(f), 1)
        if f.kind == "duration":
            default = f.default("cpp") if f.default("cpp") == "kNever" else f"std::chrono::nanoseconds({f.default('cpp')})"
            line = f"  std::chrono::nanoseconds {model_runtime_name(f)} = {default};"
        text = f.document("cpp").replace("Nanoseconds. ", "") if f.kind == "duration" else f.document("cpp")
        lines += comment(text, "  // ", "  // ", 100) + [line]
    return lines


def model_runtime_copies(fields, _):
    known = {f.key: f for f in fields}
    return [f"    c.{known[key].name('cpp')} = {model_runtime_name(known[key])}" +
            (".count();" if known[key].kind == "duration" else ";") for key in MODEL_RUNTIME]


def python_fields(fields, _):
    lines = []
    for f in fields:
        if f.is_generated("python"):
            lines += comment(f.document("python"), "    #: ", "    #: ", 120)
            lines.append(f"    {f.name('python')}: {f.type('python')} = {f.default('python')}")
    return lines


def java_setter(f, owner):
    name, kind = f.name("java"), f.type("java")
    given = "on" if f.kind == "flag" else "value"
    pairs = f.meanings("java")
    output = f"default {str(f.on).lower()}" if f.kind == "flag" else "; ".join(
        f"{w.lower()}{', the default' if i == 0 else ''}: {m}" for i, (w, m) in enumerate(pairs))
    if f.kind == "enum":
        output = "default " + "{@link " + f.of("java", "default").replace(".", "#") + "}: " + pairs[0][1]
    lines = ["", "  /**"] + comment(" ".join([f.text("java")] + f.remarks("java")), "   * ", "   * ", 100) + ["   *"]
    lines += comment(f"@param {given} {output or '0, the default'}", "   * ", "   *     ", 100)
    lines += ["   * @return this", f"   * @since {f.since('java')}", "   */", f"  public {owner} {name}({kind} {given}) {{"]
    checked = kind in ("String", "Duration") or f.kind == "enum"
    value = f'Objects.requireNonNull({given}, "{given}")' if checked else given
    return lines + [f"    {name} = {value};", "    return this;", "  }"]


def java_fields(fields, place):
    made = [f for f in fields if f.is_generated("java")]
    lines = []
    for f in made:
        start = {"flag": " = true" if f.on else "", "duration": " = Duration.ZERO", "text": ' = ""'}.get(f.kind, "")
        start = f" = {f.of('java', 'default')}" if f.of("java", "default") else start
        lines.append(f"  {'' if f.kind == 'object' else 'private '}{f.type('java')} {f.name('java')}{start};")
    for f in made:
        lines += java_setter(f, place["java"])
    lines += ["", f"  private void fillFields(Raw{place['type']} raw) {{"]
    for f in made:
        value = {"duration": f"Times.nanos({f.name('java')})", "enum": f"{f.name('java')}.ordinal()"}.get(f.kind, f.name("java"))
        lines += setter_lines(f, "java", place, value, f"{f.name('java')} ? {'0 : 1' if f.on else '1 : 0'}", "    raw.set{}({});")
    return lines + ["  }"]


def setter_lines(f, language, place, value, number, attribute):
    """The line that passes the value to the raw layer, unless it is written by hand: an attribute or a function."""
    raw = f.of(language, "raw")
    if raw is not None:
        return [re.match(r"\s*", attribute).group() + raw.format(value=value)] if raw else []
    if f.kind in ("object", "list"):
        return []
    function = {"java": "    raw.set_{}({});", "csharp": "            raw.set_{}({});", "go": "\traw.Set_{}({})"}[language]
    if not place["attributes"] or f.kind == "text":
        return [function.format(f.key, value)]
    name = f.c_name() if language == "csharp" else f.c_name()[0].upper() + f.c_name()[1:]
    return [attribute.format(name, number if f.kind == "flag" else value)]


def csharp_fields(fields, place):
    made = [f for f in fields if f.is_generated("csharp")]
    lines = []
    for f in made:
        text = "<summary>" + f.document("csharp") + "</summary>"
        lines += comment(text, "        /// ", "        /// ", 120)
        start = {"flag": " = true;" if f.on else "", "text": ' = "";'}.get(f.kind, "")
        if f.of("csharp", "default") is not None:
            start = f.of("csharp", "default")
        make = f.of("csharp", "make")
        body = f"{{ get; }} = {make};" if make else "{ get; set; }" + start
        lines += [f"        public {f.type('csharp')} {f.name('csharp')} {body}", ""]
        for older in f.of("csharp", "also", []):
            name = f.name("csharp")
            lines += [f'        /// <summary><see cref="{name}"/> by its older name. Since {f.row["since"]}.</summary>',
                      f"        public {f.type('csharp')} {older}", "        {", f"            get {{ return {name}; }}",
                      f"            set {{ {name} = value; }}", "        }", ""]
    lines += [f"        private void FillFields(Raw{place['type']} raw)", "        {"]
    for f in made:
        name = f.name("csharp")
        value = {"duration": f"RuntimeConfig.Nanoseconds({name})", "enum": f"(int){name}", "text": f'{name} ?? ""'}.get(f.kind, name)
        lines += setter_lines(f, "csharp", place, value, f"{name} ? {'0 : 1' if f.on else '1 : 0'}", "            raw.{} = {};")
    return lines + ["        }"]


def go_fields(fields, _):
    lines = []
    for f in fields:
        if not f.is_generated("go"):
            continue
        lines += comment(f.document("go"), "\t// ", "\t// ", 120)
        lines.append(f"\t{f.name('go')} {f.type('go')}")
        for older in f.of("go", "also", []):
            lines += [f"\t// {older} is {f.name('go')} by its older name: only one of them may be set. Since {f.row['since']}.",
                      f"\t{older} {f.type('go')}"]
    return lines


def go_functions(fields, place):
    made, owner = [f for f in fields if f.is_generated("go")], place["type"]
    lines = ["", "// settled returns the options, each under its newest name, or an error for a value that is refused.",
             f"func (o {owner}) settled() ({owner}, error) {{", "\tvar err error"]
    for f in made:
        name = f.name("go")
        lines += [f'\to.{name} = oneOf(&err, "{name}", o.{name}, "{older}", o.{older})' for older in f.of("go", "also", [])]
        lines += [f'\tcheck32(&err, "{name}", o.{name})'] if f.kind == "int" else []
    lines += ["\treturn o, err", "}", "", f"func (o {owner}) fill(raw native.Raw{owner}) {{"]
    for f in made:
        name = f"o.{f.name('go')}"
        value = {"duration": f"int64({name})", "enum": f"int({name})"}.get(f.kind, name)
        lines += setter_lines(f, "go", place, value, f"number({name})", "\traw.Set{}({})")
    return lines + ["}", ""]


def spelled_names(fields, language):
    """[(name in messages of the library, name in the language)]. Options that only exist by name keep their name there."""
    names = {key: camel(key if language == "cpp" else name, language in ("csharp", "go")) for key, name in PACK.items()}
    by_name = set(re.findall(r'\{\.name = "(\w+)"', tree.read(OPTIONS_BY_NAME))) - {f.key for f in fields if f.struct == "compile"}
    for f in fields:
        if f.of(language, "by") or f.is_generated(language):
            for name in {f.c_name(), f.c_name() if "c" in f.row else f.key} - by_name:
                names.setdefault(name, f.of(language, "by") or f.name(language))
    names["input_shape"] = names["input_shapes"]
    return sorted(names.items())


def cpp_names(fields, _):
    pairs = [f'    {{"{name}", "{spelled}"}},' for name, spelled in spelled_names(fields, "cpp")]
    return ["inline constexpr OptionName kOptionNames[] = {", *pairs, "};"]


def java_names(fields, _):
    pairs = [f'            Map.entry("{name}", "{spelled}")' for name, spelled in spelled_names(fields, "java")]
    return ["    static final Map<String, String> NAMES =", "        Map.ofEntries("] + ",\n".join(pairs).split("\n") + ["        );"]


def csharp_names(fields, _):
    pairs = [f'            {{ "{name}", "{spelled}" }},' for name, spelled in spelled_names(fields, "csharp")]
    return ["        private static readonly Dictionary<string, string> names = new Dictionary<string, string>", "        {", *pairs, "        };"]


def go_names(fields, _):
    pairs = [f'\t"`{name}`", "{spelled}",' for name, spelled in spelled_names(fields, "go")]
    return ["", "var spelled = strings.NewReplacer(", *pairs, ")", ""]


def read():
    with open(os.path.join(tree.ROOT, TABLE), "rb") as file:
        return tomllib.load(file)


def absent():
    """Yields (struct, language, field, reason) for each field that a language does not have."""
    table = read()
    for struct in PLACES:
        for key, row in table[struct].items():
            for language, name in SPELLED.items():
                if "without" in row.get(language, {}):
                    yield struct, name, Field(struct, key, row, {}).c_name(), row[language]["without"]


def regions():
    """Yields (file, name of the region, fields, place, function that generates the region)."""
    table = read()
    everything = []
    for struct, place in PLACES.items():
        fields = [Field(struct, key, row, table["names"]) for key, row in table[struct].items()]
        everything += fields
        known = {f.key: f for f in fields}
        ordered = [known[key] for key in table["order"][struct]]
        ordered += [f for f in fields if f not in ordered]
        yield f"capi/include/poprt/{place['c']}", struct, fields, place, c_struct
        yield f"capi/include/poprt/{place['cpp']}", struct, ordered, place, cpp_fields
        yield f"bindings/python/{place['python']}", struct, ordered, place, python_fields
        yield f"{JAVA}{place['java']}.java", struct, fields, place, java_fields
        yield CSHARP + place["csharp"], struct, fields, place, csharp_fields
        yield f"bindings/go/{place['go']}", struct, fields, place, go_fields
        yield f"bindings/go/{place['go']}", struct + "_functions", fields, place, go_functions
        if place["attributes"]:
            yield "bindings/swig/poprt.i", struct, fields, place, swig_attributes
        if struct == "request":
            yield f"capi/include/poprt/{place['cpp']}", "request_copies", ordered, place, cpp_copies
            yield f"bindings/python/{place['python']}", "request_copies", ordered, place, python_copies
        if struct == "runner":
            yield f"capi/include/poprt/{place['cpp']}", "model_runner", fields, place, model_runtime_fields
            yield f"capi/include/poprt/{place['cpp']}", "copies", fields, place, model_runtime_copies
    yield "capi/include/poprt/error.hpp", "names", everything, {}, cpp_names
    yield JAVA + "PoprtException.java", "names", everything, {}, java_names
    yield CSHARP + "PoprtException.cs", "names", everything, {}, csharp_names
    yield "bindings/go/errors.go", "names", everything, {}, go_names


def lacking(fields, place):
    """Fields of a struct that a language has neither generated nor by hand."""
    files = {"cpp": "capi/include/poprt/" + place["cpp"], "python": "bindings/python/" + place["python"],
             "java": f"{JAVA}{place['java']}.java", "csharp": CSHARP + place["csharp"], "go": "bindings/go/" + place["go"]}
    for f in fields:
        for language in LANGUAGES:
            by = f.of(language, "by")
            if "only" in f.row or f.of(language, "without"):
                continue
            if by and not re.search(rf"\b{by}\b", tree.read(files[language])):
                yield f"{files[language]}: nothing is called {by}, which offers {f.struct}.{f.key}"
            elif not by and f.kind not in TYPES[language] and not f.of(language, "type") and not f.of(language, "code"):
                yield f"{TABLE}: {f.struct}.{f.key} has no type for {language}"


def check(write):
    """The differences from the table, and the number of checked parts."""
    problems, checked = [], 0
    for _, _, fields, place, make in regions():
        problems += lacking(fields, place) if make is c_struct else []
    if problems:
        return problems, checked
    for path, name, fields, place, make in regions():
        problems.append(settle(path, "options:" + name, make(fields, place), TABLE, "tests/lint/option_fields.py", write))
        checked += 1
    return [p for p in problems if p], checked


def main():
    tree.finish(*check("--write" in sys.argv), "generated parts")


if __name__ == "__main__":
    main()
