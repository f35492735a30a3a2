"""The numbers, flags and texts of PopEF metadata are rows of core/popef/metadata.toml, with types from metadata.capnp. Checks, or
with --write makes, the parts made from them in the core, in the C ABI, and in C++, Java, C#, Go and Python.

Usage: popef_fields.py [--write]

The parts are between the comments <popef:...> and </popef:...>. Needs the programs capnp and clang-format-19."""

import os
import sys
import tomllib

import capnp_places
import tree
from generated_parts import camel, comment, formatted, settle

TABLE, SCHEMA = "core/popef/metadata.toml", "core/popef/metadata.capnp"
# Types of the schema and their C++ types in core.
CORE = {"UInt32": "uint32_t", "Int32": "int32_t", "UInt64": "uint64_t", "Bool": "bool", "Text": "std::string"}
TYPES = {
    "number": {"cpp": "int64_t", "python": "int", "java": "long", "csharp": "long", "go": "int64"},
    "flag": {"cpp": "bool", "python": "bool", "java": "boolean", "csharp": "bool", "go": "bool"},
    "text": {"cpp": "std::string", "python": "str", "java": "String", "csharp": "string", "go": "string"},
}


class Field:
    def __init__(self, key, row, core):
        self.key, self.row, self.core = key, row, core
        self.kind = {"bool": "flag", "std::string": "text"}.get(core, "number")
        self.number = row.get("number", 0)
        self.default = row.get("default", {"flag": False, "text": "", "number": 0}[self.kind])

    def name(self, language):
        upper = language in ("csharp", "go")
        return self.row.get(language, {}).get("name") or camel(self.key, upper)

    def title(self, language):
        """The name with a capital in front."""
        return self.name(language)[0].upper() + self.name(language)[1:]

    def type(self, language):
        return TYPES[self.kind][language]

    def constant(self):
        return "POPRT_POPEF_" + self.key.upper()

    def place(self):
        return "places::metadata::k" + camel(self.key, True)

    def argument(self):
        """The name of the argument in the C setter."""
        return self.row.get("argument", "value")

    def text(self, language=None):
        return self.row.get(language, {}).get("negated", self.row["text"])

    def literal(self, language):
        if self.kind == "flag":
            return str(self.default) if language == "python" else str(self.default).lower()
        return '""' if self.kind == "text" else str(self.default)

    def meaning(self):
        """The sentence about the default in comments."""
        return "" if self.kind == "text" else f"Default: {self.literal('c')}."


def read():
    """The fields in the order of the table."""
    with open(os.path.join(tree.ROOT, TABLE), "rb") as file:
        table = tomllib.load(file)
    types = {name: kind for name, kind, _ in capnp_places.structs(SCHEMA)["Metadata"]}
    fields = []
    for key, row in table.items():
        kind = types.get(camel(key))
        if kind not in CORE:
            raise ValueError(f"{TABLE}: {key}: {SCHEMA} should have {camel(key)} as one of {', '.join(CORE)}, found {kind}")
        fields.append(Field(key, row, CORE[kind]))
    forgotten = [name for name, kind in types.items() if kind in CORE and name not in map(camel, table)]
    if forgotten:
        raise ValueError(f"{TABLE} lacks what {SCHEMA} has: {', '.join(forgotten)}")
    numbers = sorted(f.number for f in fields if f.kind != "text")
    if numbers != list(range(1, len(numbers) + 1)):
        raise ValueError(f"{TABLE}: the numbers should be 1 to {len(numbers)}, found {numbers}")
    return fields


def cpp_accessors(f, type_, documented):
    get = f"const {type_}&" if f.kind == "text" else type_
    name, title = f.name("cpp"), f.title("cpp")
    member = (f.key if documented else camel(f.key)) + "_"
    given = f"{member} = std::move(value);" if f.kind == "text" else f"{member} = value;"
    return (comment(f.text(), "  // ", "  // ", 100) if documented else []) + [
        f"  {get} {name}() const {{ return {member}; }}", f"  void set{title}({type_} value) {{ {given} }}"]


def core_accessors(fields):
    return [line for f in fields for line in cpp_accessors(f, f.core, True)]


def core_members(fields):
    return [f"  {f.core} {f.key}_{'' if f.kind == 'text' else ' = ' + f.literal('cpp')};" for f in fields]


def core_table(fields):
    lines = ["inline constexpr std::tuple kMetadataFields{"]
    for f in fields:
        label = f.row.get("label", f.key.replace("_", " "))
        lines.append(f'MetadataField{{"{f.key}", "{label}", {f.number}, {f.place()}, &Metadata::{f.name("cpp")}, '
                     f"&Metadata::set{f.title('cpp')}}},")
    return formatted(lines[:-1] + [lines[-1][:-1] + "};"])


def c_numbers(fields):
    numbered = sorted((f for f in fields if f.number), key=lambda f: f.number)
    lines = []
    for f in numbered:
        lines += comment(f"{f.text()} Since {f.row['since']}.", "  /* ", "   * ", 100, " */")
        lines.append(f"  {f.constant()} = {f.number},")
    return lines


def texts(fields):
    return [f for f in fields if f.kind == "text"]


def c_texts(fields):
    lines = []
    for f in texts(fields):
        lines += comment(f'{f.text()} UTF-8, borrowed until it is set; "" for null. Since {f.row["since"]}.', "/* ", " * ", 100, " */")
        lines.append(f"POPRT_API const char* poprt_popef_metadata_{f.key}(const poprt_popef_metadata* metadata);")
        lines.append(f"/* Sets it; the string is copied. Since {f.row['since']}. */")
        lines.append(f"POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_metadata_set_{f.key}("
                     f"poprt_popef_metadata* metadata, const char* {f.argument()});")
    return formatted(lines)


def c_text_functions(fields):
    lines = []
    for f in texts(fields):
        lines += ["", f"const char* poprt_popef_metadata_{f.key}(const poprt_popef_metadata* metadata) {{",
                  f'return metadata ? metadata->value.{f.name("cpp")}().c_str() : "";', "}", "",
                  f"poprt_error* poprt_popef_metadata_set_{f.key}(poprt_popef_metadata* metadata, const char* {f.argument()}) {{",
                  f'return set_text(metadata, {f.argument()}, "{f.argument()}", &popef::Metadata::set{f.title("cpp")});', "}"]
    return formatted(lines[1:])


def swig_texts(fields):
    function = "poprt_popef_metadata_"
    lines = [f"  const char* {f.key}() {{ return {function}{f.key}($self); }}" for f in texts(fields)]
    return lines + [f"  poprt_result set_{f.key}(const char* {f.argument()}) {{ return {function}set_{f.key}($self, {f.argument()}); }}"
                    for f in texts(fields)]


def cpp_public_accessors(fields):
    return [line for f in fields for line in cpp_accessors(f, f.type("cpp"), False)]


def cpp_members(fields):
    return [f"  {f.type('cpp')} {camel(f.key)}_{'' if f.kind == 'text' else ' = ' + f.literal('cpp')};" for f in fields]


def cpp_reads(fields):
    value = {"text": "poprt_popef_metadata_{0.key}(m)", "flag": "get({1}) != 0", "number": "get({1})"}
    return [f"  result.set{f.title('cpp')}({value[f.kind].format(f, f.constant())});" for f in fields]


def cpp_writes(fields):
    return [f"  check(poprt_popef_metadata_set_{f.key}(made, detail::text(from.{f.name('cpp')}(), \"{f.name('cpp')}\")));" if f.kind == "text" else
            f"  set({f.constant()}, from.{f.name('cpp')}());" for f in fields]


def python_members(fields):
    return [f"        self._{f.name('python')} = {f.literal('python')}" for f in fields]


def python_accessors(fields):
    lines = []
    for f in fields:
        name = f.name("python")
        given = f.argument() if f.kind == "text" else name
        lines += [f"    def {name}(self) -> {f.type('python')}:", f'        """{f.text()}"""', f"        return self._{name}", "",
                  f"    def set{f.title('python')}(self, {given}: {f.type('python')}) -> None:", f"        self._{name} = {given}", ""]
    return lines[:-1]


def python_copies(fields):
    lines = ["def _read_fields(metadata: Metadata, raw: _raw.RawPopefMetadata) -> None:"]
    value = {"text": "raw.{0}()", "flag": "bool(raw.field({1}))", "number": "raw.field({1})"}
    lines += [f"    metadata.set{f.title('python')}({value[f.kind].format(f.key, f.number)})" for f in fields]
    lines += ["", "", "def _write_fields(metadata: Metadata, raw: _raw.RawPopefMetadata) -> None:"]
    call = {"text": "raw.set_{0}(metadata.{2}())"}
    return lines + ["    " + call.get(f.kind, "raw.set_field({1}, int(metadata.{2}()))").format(f.key, f.number, f.name("python"))
                    for f in fields]


def java_members(fields):
    numbered = sorted((f for f in fields if f.number), key=lambda f: f.number)
    lines = [f"  private static final int {f.key.upper()} = {f.number};" for f in numbered]
    lines += ["", "  private final long[] fields = {", "    0,"] + [f"    {int(f.default)}, // {f.key.upper()}" for f in numbered] + ["  };"]
    return lines + [f'  private String {f.name("java")} = "";' for f in texts(fields)]


def java_accessors(fields):
    lines = []
    for f in fields:
        name, kind = f.name("java"), f.type("java")
        setter = camel(f.key.removeprefix("is_"))
        stored = {"text": name, "flag": f"fields[{f.key.upper()}] != 0", "number": f"fields[{f.key.upper()}]"}[f.kind]
        store = {"text": f"{name} = value", "flag": f"fields[{f.key.upper()}] = value ? 1 : 0",
                 "number": f"fields[{f.key.upper()}] = value"}[f.kind]
        lines += ["  /**"] + comment(f.text(), "   * ", "   * ", 100)
        lines += ["   *", f"   * @return its value; default {f.literal('java')}",
                  f"   * @since {f.row['since']}", "   */",
                  f"  public {kind} {name}() {{", f"    return {stored};", "  }", ""]
        lines += ["  /**", f"   * Sets {{@link #{name}()}}.", "   *", f"   * @param value default {f.literal('java')}",
                  "   * @return this", f"   * @since {f.row['since']}", "   */",
                  f"  public PopefMetadata {setter}({kind} value) {{", f"    {store};", "    return this;", "  }", ""]
    for function, line in (("read", "    {1} = raw.{0}();"), ("fill", "    raw.set_{0}({1});")):
        lines += [f"  private void {function}Texts(RawPopefMetadata raw) {{"]
        lines += [line.format(f.key, f.name("java")) for f in texts(fields)] + ["  }", ""]
    return lines[:-1]


def csharp_fields(fields):
    lines = [f"        private const int {f.name('csharp')}Field = {f.number};" for f in fields if f.number] + [""]
    for f in fields:
        lines += comment(f"<summary>{' '.join([f.text(), f.meaning()]).strip()} Since {f.row['since']}.</summary>",
                         "        /// ", "        /// ", 120)
        start = f" = {f.literal('csharp')};" if f.default or f.kind == "text" else ""
        lines += [f"        public {f.type('csharp')} {f.name('csharp')} {{ get; set; }}{start}", ""]
    value = {"text": "raw.{0}()", "flag": "raw.field({1}Field) != 0", "number": "raw.field({1}Field)"}
    lines += ["        private void ReadFields(RawPopefMetadata raw)", "        {"]
    lines += [f"            {f.name('csharp')} = {value[f.kind].format(f.key, f.name('csharp'))};" for f in fields]
    call = {"text": "raw.set_{0}({1})", "flag": "raw.set_field({1}Field, {1} ? 1 : 0)", "number": "raw.set_field({1}Field, {1})"}
    lines += ["        }", "", "        private void FillFields(RawPopefMetadata raw)", "        {"]
    return lines + [f"            {call[f.kind].format(f.key, f.name('csharp'))};" for f in fields] + ["        }"]


def go_members(fields):
    lines = []
    for f in fields:
        meaning = f" 0: {f.default}." if f.kind == "number" and f.default else ""
        lines += comment(f"{f.text('go')}{meaning} Since {f.row['since']}.", "\t// ", "\t// ", 120)
        lines.append(f"\t{f.name('go')} {f.type('go')}")
    return lines


def go_functions(fields):
    lines = ["", "func (m *PopEFMetadata) readFields(raw native.RawPopefMetadata) {"]
    for f in fields:
        test = "==" if "negated" in f.row.get("go", {}) else "!="
        value = {"text": f"raw.{f.key.capitalize()}()", "flag": f"raw.Field({f.number}) {test} 0", "number": f"raw.Field({f.number})"}
        lines.append(f"\tm.{f.name('go')} = {value[f.kind]}")
    lines += ["}", "", "func (m *PopEFMetadata) fillFields(raw native.RawPopefMetadata, set func(uintptr)) {"]
    for f in fields:
        name = "m." + f.name("go")
        if f.kind == "text":
            lines.append(f"\tset(raw.Set_{f.key}({name}))")
        elif f.kind == "flag":
            given = "!" + name if "negated" in f.row.get("go", {}) else name
            lines.append(f"\tset(raw.Set_field({f.number}, flagNumber({given})))")
        else:
            lines += [f"\tif {name} != 0 {{", f"\t\tset(raw.Set_field({f.number}, {name}))", "\t}"]
    return lines + ["}", ""]


TYPES_H, TYPES_HPP = "core/popef/types.h", "capi/include/poprt/popef_types.hpp"
JAVA, GO = "bindings/java/src/main/java/org/poprt/PopefMetadata.java", "bindings/go/popef_metadata.go"
PYTHON = "bindings/python/poprt/_popef/"
PARTS = [
    (TYPES_H, "accessors", core_accessors), (TYPES_H, "members", core_members), ("core/popef/metadata_fields.h", "fields", core_table),
    ("capi/include/poprt/popef_metadata.h", "numbers", c_numbers), ("capi/include/poprt/popef_metadata.h", "texts", c_texts),
    ("capi/src/libpoprt/popef_metadata.cpp", "texts", c_text_functions), ("bindings/swig/popef.i", "texts", swig_texts),
    (TYPES_HPP, "accessors", cpp_public_accessors), (TYPES_HPP, "members", cpp_members), (TYPES_HPP, "reads", cpp_reads),
    (TYPES_HPP, "writes", cpp_writes),
    (PYTHON + "types.py", "members", python_members), (PYTHON + "types.py", "accessors", python_accessors),
    (PYTHON + "metadata.py", "copies", python_copies),
    (JAVA, "members", java_members), (JAVA, "accessors", java_accessors), ("bindings/csharp/src/PopefMetadata.cs", "fields", csharp_fields),
    (GO, "members", go_members), (GO, "functions", go_functions),
]


def check(write):
    fields = read()
    found = [settle(path, "popef:" + name, make(fields), TABLE, "tests/lint/popef_fields.py", write) for path, name, make in PARTS]
    return [problem for problem in found if problem], len(found)


def main():
    tree.finish(*check("--write" in sys.argv), "generated parts")


if __name__ == "__main__":
    main()
