"""Arguments and results of the functions of capi/functions.toml: how each language spells their types and converts them to and
from the raw layer. For functions.py."""

LANGUAGES = ("c", "cpp", "swig", "java", "csharp", "go", "python")

# Kinds of arguments. An `index` or `size` is a size_t in C. The raw layer has signed integers only, since not every language has
# unsigned ones; a negative number becomes a size that is out of range, which the C function refuses.
ARGUMENTS = {
    "index": {"c": "size_t", "cpp": "size_t", "swig": "int64_t", "java": "int", "csharp": "int", "go": "int", "python": "int"},
    "size": {"c": "size_t", "cpp": "size_t", "swig": "int64_t", "java": "long", "csharp": "long", "go": "int64", "python": "int"},
    "int": {"c": "int32_t", "cpp": "int32_t", "swig": "int32_t", "java": "int", "csharp": "int", "go": "int32", "python": "int"},
    "long": {"c": "int64_t", "cpp": "int64_t", "swig": "int64_t", "java": "long", "csharp": "long", "go": "int64", "python": "int"},
    "number": {"c": "double", "cpp": "double", "swig": "double", "java": "double", "csharp": "double", "go": "float64",
               "python": "float"},
    "flag": {"c": "int32_t", "cpp": "bool", "swig": "bool", "java": "boolean", "csharp": "bool", "go": "bool", "python": "bool"},
    "text": {"c": "const char*", "cpp": "const std::string&", "swig": "const char*", "java": "String", "csharp": "string",
             "go": "string", "python": "str"},
    "path": {"c": "const char*", "cpp": "const std::string&", "swig": "const char*", "java": "Path", "csharp": "string",
             "go": "string", "python": "Union[str, os.PathLike[str]]"},
}
# Kinds of results. A text is owned by the caller in C and is the language's string elsewhere.
RESULTS = {
    "text": {"cpp": "std::string", "swig": "poprt_text", "java": "String", "csharp": "string", "go": "string", "python": "str"},
    "index": {"c": "size_t", "cpp": "size_t", "swig": "int64_t", "java": "int", "csharp": "int", "go": "int", "python": "int"},
    "size": {"c": "size_t", "cpp": "size_t", "swig": "int64_t", "java": "long", "csharp": "long", "go": "int64", "python": "int"},
    "int": {"c": "int32_t", "cpp": "int32_t", "swig": "int32_t", "java": "int", "csharp": "int", "go": "int", "python": "int"},
    "long": {"c": "int64_t", "cpp": "int64_t", "swig": "int64_t", "java": "long", "csharp": "long", "go": "int64", "python": "int"},
    "number": {"c": "double", "cpp": "double", "swig": "double", "java": "double", "csharp": "double", "go": "float64",
               "python": "float"},
    "flag": {"c": "int32_t", "cpp": "bool", "swig": "bool", "java": "boolean", "csharp": "bool", "go": "bool", "python": "bool"},
}
# Expressions that convert a result `{}` of C to the language; a language that is not listed uses the value itself.
FROM_C = {
    "index": {"swig": "static_cast<int64_t>({})", "java": "(int) {}", "csharp": "(int){}", "go": "int({})", "python": "int({})"},
    "size": {"swig": "static_cast<int64_t>({})", "python": "int({})"},
    "int": {"python": "int({})"},
    "long": {"python": "int({})"},
    "number": {"python": "float({})"},
    "flag": {"cpp": "{} != 0", "swig": "{} != 0", "python": "bool({})"},
    "text": {"python": "str({})"},
}
# Expressions that convert an argument `{}` of the language to C (cpp, swig) or to the raw layer (the others).
TO_C = {
    "index": {"swig": "static_cast<size_t>({})", "go": "int64({})"},
    "size": {"swig": "static_cast<size_t>({})"},
    "int": {"go": "int({})"},
    "flag": {"cpp": "{} ? 1 : 0", "swig": "{} ? 1 : 0"},
    "text": {"cpp": 'detail::text({}, "{}")'},
    "path": {"cpp": 'detail::text({}, "{}")', "java": "{}.toString()", "python": '_path("{}", {})'},
}
# The C functions take null for a text that is optional; everywhere else it is the empty string.
OPTIONAL = {"cpp": '{0}.empty() ? nullptr : detail::text({0}, "{0}")', "swig": "poprt_shim::or_null({0})"}
# Conversions of enumerations, whose types are in the table [enums]; a language may override them there.
ENUM_TO_C = {"cpp": "static_cast<{type}>({{}})", "java": "{{}}.ordinal()", "csharp": "(int){{}}", "go": "int({{}})",
             "python": "{{}}.value"}
ENUM_FROM_C = {"cpp": "static_cast<{own}>({{}})", "java": "{own}.values()[{{}}]", "csharp": "({own}){{}}", "go": "{own}({{}})",
               "python": "{own}({{}})"}


class Enum:
    """An entry of [enums]: the type in each language, as text or as {type, to, from}."""

    def __init__(self, row):
        self.row = row

    def type(self, language):
        row = self.row["c"] if language == "swig" else self.row[language]
        return "int32_t" if language == "swig" else row if isinstance(row, str) else row["type"]

    def convert(self, language, value, key, defaults):
        row = self.row.get(language)
        template = row.get(key) if isinstance(row, dict) else None
        if template is None:
            template = defaults.get(language, "{{}}").format(type=self.type("c"), own=self.type(language))
        return template.replace("{}", value)


class Argument:
    """One entry of `args`."""

    def __init__(self, row, enums):
        self.row, self.kind = row, row["type"]
        self.enum = Enum(enums[self.kind]) if self.kind in enums else None
        if not self.enum and self.kind not in ARGUMENTS:
            raise ValueError(f"there is no argument of type {self.kind}")

    def name(self, language):
        given = self.row.get(language) or self.row["name"]
        if language in ("c", "swig", "python") or language in self.row:
            return given
        parts = given.split("_")
        return parts[0] + "".join(p.capitalize() for p in parts[1:])

    def declared(self, language):
        """The declaration of the argument in the head of a function."""
        kind = self.enum.type(language) if self.enum else ARGUMENTS[self.kind][language]
        if language == "go":
            return f"{self.name(language)} {kind}"
        if language == "python":
            return f"{self.name(language)}: {kind}"
        return f"{kind.rstrip()} {self.name(language)}"

    def converted(self, language):
        """The expression that is passed to the next layer."""
        name = self.name(language)
        if self.enum:
            return self.enum.convert(language, name, "to", ENUM_TO_C)
        if self.row.get("optional") and language in OPTIONAL:
            return OPTIONAL[language].format(name)
        return TO_C.get(self.kind, {}).get(language, "{}").replace("{}", name)


class Result:
    """The result of a function. A function without a result has kind None."""

    def __init__(self, kind, enums):
        self.kind = kind
        self.enum = Enum(enums[kind]) if kind in enums else None
        if kind is not None and not self.enum and kind not in RESULTS:
            raise ValueError(f"there is no result of type {kind}")

    def __bool__(self):
        return self.kind is not None

    def type(self, language):
        if self.kind is None:
            return "None" if language == "python" else "void"
        return self.enum.type(language) if self.enum else RESULTS[self.kind][language]

    def converted(self, language, value):
        if self.enum:
            return self.enum.convert(language, value, "from", ENUM_FROM_C)
        return FROM_C.get(self.kind, {}).get(language, "{}").replace("{}", value)
