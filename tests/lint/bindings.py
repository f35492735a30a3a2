"""Every function of the C ABI, and every field of its options, has a public counterpart in C++, Java, C#, Go and Python.

Usage: bindings.py [--list]   (prints the methods of the raw layer that reach each of them)

The raw layer (bindings/swig, and each language's poprt_lang.i) reaches a function when the body of a method names it, or
names a helper that does. The public layer offers it when a file that names the method's class calls the method."""

import re
import sys

import functions
import option_fields
import symbols
import tree

# Functions that the layers call by themselves.
INTERNAL = {
    "poprt_error_get_code": "errors are exceptions", "poprt_error_message": "errors are exceptions",
    "poprt_error_free": "errors are exceptions", "poprt_popef_error_get_class": "exceptions have it",
    "poprt_string_data": "texts are strings", "poprt_string_size": "texts are strings",
    "poprt_string_free": "texts are strings", "poprt_session_free": "raw_session is freed",
    "poprt_runner_execute_async": "submit does the same, with options",
    "poprt_runner_execute_indexed": "sizes are not checked: only C and C++ may",
}
# (language, function or struct.field) -> the reason why the language lacks it.
EXEMPT = {}
for _struct, _language, _field, _why in option_fields.absent():
    EXEMPT[_language, f"poprt_{_struct}_options.{_field}"] = _why
for _language, _function, _why in functions.absent():
    EXEMPT[_language, _function] = _why
for _function in ("poprt_error_code_name", "poprt_popef_export_tensor", "poprt_popef_export_feed"):
    EXEMPT["C++", _function] = "the C function does as well"
for _language in ("Java", "C#", "Go", "Python"):
    EXEMPT[_language, "poprt_log_write"] = "the language has loggers"
    for _function in ("channel_create", "channel_free", "begin", "end"):
        EXEMPT[_language, "poprt_trace_" + _function] = "PVTI is an interface for C++"
for _language in ("Java", "C#", "Python"):
    EXEMPT[_language, "poprt_request_done"] = "futures and tasks know"
    EXEMPT[_language, "poprt_sequence_set_callback"] = "a sequence has a thread that waits"
EXEMPT["Java", "poprt_dtype_name"] = EXEMPT["Java", "poprt_error_code_name"] = "enumerations have names"
EXEMPT["C#", "poprt_error_code_name"] = "enumerations have names"
for _what in ("executable", "session_user"):
    for _function in ("input", "output", "input_count", "output_count"):
        EXEMPT["Python", f"poprt_{_what}_{_function}"] = "describe_all() puts the names together"
for _language in ("Java", "C#", "Go", "Python"):
    EXEMPT[_language, "poprt_executable_popef_metadata"] = "the executable's PopEF model has it"
    EXEMPT[_language, "poprt_popef_reader_copy"] = "readers are objects there, not values"
for _language in ("C++", "Java", "C#"):
    for _function in ("poprt_outputs_create", "poprt_outputs_crop", "poprt_runner_execute_tensors",
                      "poprt_runner_submit_tensors"):
        if (_language, _function) == ("C++", "poprt_outputs_create"):
            continue  # C++ runners call it to allocate outputs
        EXEMPT[_language, _function] = "a part of poprt_runner_run; asynchronous runs have bindings of their own"
for _function in ("poprt_runner_run", "poprt_outputs_crop"):
    EXEMPT["Python", _function] = "run() makes NumPy's arrays, and crops them"
for _language in ("C++", "Java", "C#", "Python"):
    EXEMPT[_language, "poprt_session_run_main_programs"] = "poprt_session_run_main_programs_unless_stopped does the same"
EXEMPT["Python", "poprt_executable_open"] = "poprt_executable_open_files does the same"
EXEMPT["Python", "poprt_runner_get_counters"] = "statistics() has types"
for _field in ("use_replica", "replica"):
    EXEMPT["Go", "poprt_request_options." + _field] = "Binding.Replica gives it with the memory"
EXEMPT["Go", "poprt_popef_reader_parse_bytes"] = "OpenPopEFAt reads from a bytes.Reader"

SOURCES = {"C++": ("capi/include/", (".hpp",)), "Java": ("bindings/java/src/", (".java",)),
           "C#": ("bindings/csharp/src/", (".cs",)), "Go": ("bindings/go/", (".go",)),
           "Python": ("bindings/python/", (".py",))}
OWN = {"Java": "bindings/java/", "C#": "bindings/csharp/", "Go": "bindings/go/", "Python": "bindings/python/"}
# Structs of options, and the class of the raw layer that has their fields.
OPTIONS = {"poprt_compile_options": "raw_compile_options", "poprt_open_options": "raw_open_options",
           "poprt_device_manager_options": "raw_device_manager", "poprt_device_request": "raw_device_request", "poprt_runner_options": "raw_runner_options",
           "poprt_pack_runner_options": "raw_pack_options", "poprt_session_options": "raw_session_options",
           "poprt_queue_options": "raw_queue_options", "poprt_request_options": "raw_request_options"}
NO_FIELD = re.compile(r"struct_size|reserved\w*|callback|when_full|\w+_data|user_data|\w+_count|timeout|runner")
FILES = tree.files()
KEYWORDS = {"if", "for", "while", "switch", "catch", "return", "sizeof"}


def closing(text, at, opening="{", end="}"):
    """The position after the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == opening) - (text[i] == end)
        if depth == 0:
            return i + 1
    return len(text)


class Function:
    """A function with a body. `owner` is the class that %extend adds it to, `file` its position."""

    def __init__(self, name, owner, file, arguments, body):
        self.name, self.owner, self.file, self.arguments, self.body = name, owner, file, arguments, body


def functions_of(file):
    text = symbols.without_comments(tree.read(file))
    extended = [(m.start(), closing(text, m.end() - 1), m.group(1)) for m in re.finditer(r"%extend (\w+) \{", text)]
    for m in re.finditer(r"(~?\b\w+)\(", text):
        end = closing(text, m.end() - 1, "(", ")")
        begin = re.match(r"(?: const| noexcept)*(?: : [^;{}]*)? ?\{", text[end:])
        if begin is None or m.group(1) in KEYWORDS:
            continue
        brace = end + begin.end() - 1
        owner = next((name for first, last, name in extended if first < m.start() < last), "")
        yield Function(m.group(1), owner, file, text[m.end():end], text[brace:closing(text, brace)])


def struct_fields(name, files):
    """Names of the fields of a C struct, functions that it points to included."""
    for file in files:
        body = re.search(rf"struct {name} \{{(.*?)\n\}}", symbols.without_comments(tree.read(file)), re.S)
        if body:
            fields = re.findall(r"\(\*(\w+)\)|(\w+);", re.sub(r"\([^*)][^)]*\)", "", body.group(1)))
            return [a or b for a, b in fields]
    return []


class RawLayer:
    def __init__(self, language):
        shared = [f for f in FILES if f.startswith("bindings/swig/")]
        own = [f for f in FILES if f.startswith(OWN[language]) and f.endswith((".i", ".h")) and "/internal/" not in f]
        self.functions = [f for path in shared + own for f in functions_of(path)]
        self.words = {}  # word -> the functions whose bodies have it
        for function in self.functions:
            for word in set(re.findall(r"\w+", function.body)):
                self.words.setdefault(word, []).append(function)
        interfaces = [f for f in shared + own if f.endswith(".i")]
        text = "".join(tree.read(f) for f in interfaces)
        self.classes = dict(re.findall(r"POPRT_HANDLE\((\w+), (\w+)\)", text))
        self.classes.update((c, name) for name, c in re.findall(r"%rename\((\w+)\) (\w+);", text))
        self.attributes = {c: struct_fields(c, interfaces) for c in OPTIONS.values()}

    def naming(self, what):
        """Functions of the raw layer whose bodies name `what`, directly or through helpers."""
        found, names = [], {what: rf"\b{what}\b"}
        while names:
            wanted = re.compile("|".join(names.values()))
            likely = {f for name in names for f in self.words.get(name, ())}
            more = [f for f in self.functions if f in likely and f not in found and wanted.search(f.body)]
            found += more
            names = {f.name: rf"\b{f.name}\(" for f in more if f.file.endswith(".h") and f.name != "add"}  # many classes have an `add`
        return [f for f in found if f.file.endswith(".i")]

    def of_field(self, struct, field):
        owner = OPTIONS[struct]
        return [f for f in self.functions if f.file.endswith(".i") and field in f.body and
                re.search(rf"(->|\.){field}\b", f.body) and (f.owner == owner or not f.owner and owner in f.arguments)]


class Public:
    def __init__(self, language):
        folder, endings = SOURCES[language]
        self.language = language
        self.texts = [tree.read(f) for f in FILES if f.startswith(folder) and f.endswith(endings)
                      and not f.endswith(("_test.go", "/poprt_raw.go"))]

    def has(self, pattern, *words):
        """Whether a file that contains these words matches the pattern."""
        return any(all(w in t for w in words) and re.search(pattern, t) for t in self.texts)

    def calls(self, function, classes):
        """Whether it calls that function of the raw layer, as the language spells it."""
        name, go = function.name, self.language == "Go"
        owner = classes.get(function.owner, "")
        if name.startswith("~"):
            return True
        if name == function.owner:
            return self.has(rf"\b(New)?{owner}\b", owner)
        spelled = name[0].upper() + name[1:] if go else name
        if not owner:
            return self.has(rf"\b{spelled}\b", spelled)
        return self.has(rf"[.:]{spelled}\b|\b{owner}{spelled}\b", owner, spelled)

    def sets(self, owner, field):
        """Whether it sets an attribute of a class of the raw layer, or (Python) an entry of the dict in its place."""
        setter = {"Java": rf"\.set{field[0].upper()}{field[1:]}\b", "C#": rf"\.{field} =",
                  "Go": rf"\.Set{field[0].upper()}{field[1:]}\b", "Python": rf"\.{field}\b|\"{field}\""}[self.language]
        rest = field[1:]
        return self.has(setter, rest, owner) or self.language == "Python" and self.has(setter, rest, "raw_make_runner")


def ways(language, what):
    """Whether the public layer offers a function or struct.field, and the functions of the raw layer that do."""
    public = Public.all[language]
    struct, _, field = what.rpartition(".")
    if language == "C++":
        return public.has(rf"\b{field}\b", field), []
    raw = RawLayer.all[language]
    found = raw.of_field(struct, field) if struct else raw.naming(what)
    called = [f for f in found if public.calls(f, raw.classes)]
    attribute = bool(struct) and (field in raw.attributes[OPTIONS[struct]] or language == "Python")
    return bool(called) or attribute and public.sets(raw.classes[OPTIONS[struct]], field), called


def main():
    headers = [f for f in tree.code_files() if f.startswith(symbols.HEADERS) and f.endswith(".h")]
    wanted = sorted(symbols.declared() - set(INTERNAL))
    for struct in OPTIONS:
        fields = [f for f in struct_fields(struct, headers) if not NO_FIELD.fullmatch(f)]
        assert fields, f"{struct} has no fields"
        wanted += [f"{struct}.{f}" for f in fields]
    RawLayer.all = {language: RawLayer(language) for language in OWN}
    Public.all = {language: Public(language) for language in SOURCES}
    problems = []
    for what in wanted:
        for language in SOURCES:
            offered, called = ways(language, what)
            if "--list" in sys.argv:
                print(what, language, " ".join(f"{f.owner}.{f.name}" for f in called) or ("yes" if offered else "-"))
            if not offered and (language, what) not in EXEMPT:
                problems.append(f"{what}: nothing public in {language} reaches it")
            if offered and (language, what) in EXEMPT:
                problems.append(f"{what}: {language} has it, but bindings.py lists it as missing")
    # No exception of the code around the C ABI may enter a frame of another language.
    for file in sorted(f for f in tree.files() if re.fullmatch(r"bindings/\w+/poprt_lang\.i", f)):
        if not re.search(r"^%exception \{\n  try \{\n    \$action\n  \} catch \(const std::bad_alloc&\)", tree.read(file), re.M):
            problems.append(f"{file}: %exception does not catch std::bad_alloc")
    tree.finish(problems, len(wanted), "functions and fields")


if __name__ == "__main__":
    main()
