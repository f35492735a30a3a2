"""Sets each option of a language in a separate case, and compares the fields that reach the C ABI.

Usage: options.py LANGUAGE WORK BUILD [TOOL...]   (TOOL: javac and jar of the bindings, mcs, go, c++)

The cases come from capi/option_fields.toml (each name of each option of a language, including older names) and from cases.toml,
which contains the values of options that are not simple, the options of structs that option_fields.toml does not describe, and
the differences between languages. They are put into program.LANGUAGE.in, and the program runs with record.cpp in
LD_PRELOAD. A case passes if exactly the expected fields of the C structs differ from the defaults. No call may leak
objects. A field of a C struct that no case changes is a failure, and so is an option without a case. tests/mutation runs
this test with the bindings of a copy: OPTIONS_PYTHON, OPTIONS_MONO (folders) and OPTIONS_INCLUDE (C++)."""

import glob
import os
import re
import subprocess
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../../.."))
sys.path.insert(0, os.path.join(ROOT, "tests/lint"))
import counter_fields  # noqa: E402
import option_fields  # noqa: E402
from generated_parts import camel  # noqa: E402

# The structs of the C ABI. "compile" is the name of poprt_compile_options in records and cases.
STRUCTS = {"runner": "poprt_runner_options", "request": "poprt_request_options", "compile": "poprt_compile_options",
           "session": "poprt_session_options", "open": "poprt_open_options", "manager": "poprt_device_manager_options",
           "acquire": "poprt_device_request", "pack": "poprt_pack_runner_options", "queue": "poprt_queue_options",
           "apply": "poprt_apply_options", "generator": "poprt_generator_options"}
# Fields that are not compared: sizes, and pointers that only the library follows.
IGNORED = re.compile(r"(size_t (struct_size|\w+_count)|int32_t reserved\w*|void\* \w+|.* runner)")
DAY = 86_400_002_001_000  # 1 day, 2 ms and 1 us: a unit that is lost changes the number
TEXT = "gr\u00f6\u00dfe \U0001f680"
VALUES = {
    "python": {"int": "3", "long": "5_000_000_000", "number": "0.25", "duration": f"{DAY}", "text": f'"{TEXT}"'},
    "java": {"int": "3", "long": "5_000_000_000L", "number": "0.25", "duration": "Duration.ofDays(1).plusNanos(2_001_000)",
             "text": f'"{TEXT}"'},
    "csharp": {"int": "3", "long": "5000000000", "number": "0.25",
               "duration": "TimeSpan.FromDays(1) + TimeSpan.FromTicks(20010)", "text": f'"{TEXT}"'},
    "go": {"int": "3", "long": "5_000_000_000", "number": "0.25", "duration": "24*time.Hour + 2001*time.Microsecond",
           "text": f'"{TEXT}"'},
    "cpp": {"int": "3", "long": "5'000'000'000", "number": "0.25", "duration": f"{DAY}", "text": f'"{TEXT}"'},
}
EXPECTED = {"int": "3", "long": "5000000000", "number": "0.250000", "duration": str(DAY), "text": f'"{TEXT}"', "flag": "1"}
SET = {"python": "o.{} = {}", "java": "o.{}({})", "csharp": "o.{} = {};", "go": "o.{} = {}", "cpp": "o.{} = {};"}
CASE = {
    "python": "@case('{struct}', '{name}')\ndef _(o):\n    {code}\n",
    "java": '    {struct}("{name}", o -> {{ {code}; }});',
    "csharp": '        {Struct}("{name}", o => {{ {code} }});',
    "go": '\t{struct}Case("{name}", func(o *poprt.{type}) {{ {code} }})',
    "cpp": '  {struct}("{name}", [&](auto& o) {{ {code} }});',
}
GO_TYPES = {"runner": "RunnerOptions", "request": "RequestOptions", "compile": "CompileOptions", "session": "SessionOptions",
            "open": "OpenOptions", "manager": "DeviceManagerOptions", "acquire": "DeviceRequest", "pack": "PackOptions",
            "queue": "QueueOptions", "apply": "PassOptions", "generator": "GeneratorOptions"}
WITHOUT = {"python": ("apply",)}  # Python's PassManager applies passes one by one


class Case:
    """`expected` contains the fields that change. It is {} if the language refuses the option with a message that contains
    `error`."""

    def __init__(self, struct, name, code, expected, error="", maker=""):
        self.struct, self.name, self.code, self.expected, self.error = struct, name, code, expected, error
        self.maker = maker or struct


def structs(language):
    return [s for s in STRUCTS if s not in WITHOUT.get(language, ())]


def fields_of(struct):
    """Returns [(declaration, name)] of the fields of a C struct."""
    for path in sorted(glob.glob(os.path.join(ROOT, "capi/include/poprt/*.h"))):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        body = re.search(rf"struct {STRUCTS[struct]} \{{(.*?)\n\}}", text, re.S)
        if body:
            return [(d.strip(), d.split()[-1]) for d in body.group(1).split(";") if d.strip()]
    raise SystemExit(f"there is no {STRUCTS[struct]}")


def fields_header():
    """Returns the text of fields.h, which record.cpp includes."""
    lines = []
    for struct in STRUCTS:
        lines.append(f"void show(Record& r, const {STRUCTS[struct]}& o) {{")
        fields = fields_of(struct)
        for i, (declared, name) in enumerate(fields):
            if name == "runner":
                lines.append("  if (o.runner) show(r, *o.runner);")
            elif i + 1 < len(fields) and re.fullmatch(r"size_t \w+_count", fields[i + 1][0]):
                lines.append(f'  r.list("{struct}.{name}", o.{name}, o.{fields[i + 1][1]});')
            elif not IGNORED.fullmatch(declared):
                lines.append(f'  r.put("{struct}.{name}", o.{name});')
        lines += ["}", ""]
    return "\n".join(lines)


def counters():
    """Returns [(counter, its value in the test)]. Times consist of days and of less than a millisecond."""
    known = counter_fields.read()
    return [(c, i * 86_400_000_002_100 if c.kind == "time" else i) for i, c in enumerate(known, 1)]


def fill_function():
    """Returns the text of the function of record.cpp that sets the counters."""
    lines = ["void fill(poprt_runner_counters& c) {"]
    for c, value in counters():
        if c.by_hand:
            lines.append(f"  for (size_t i = 0; i < sizeof c.{c.key} / 8; i++) c.{c.key}[i] = i + 100;")
        else:
            lines.append(f"  c.{c.c_name} = {value};")
    return "\n".join([*lines, "}", ""])


READ = {"java": ("{}()", "{}().toNanos()", 'Arrays.toString(c.{}()).replaceAll("[^0-9,]", "")', 'write("counters.{}\t" + {});'),
        "csharp": ("{}", "{}.Ticks * 100", 'string.Join(",", c.{})', 'Write("counters.{}\t" + {});'),
        "go": ("{}", "{}.Nanoseconds()", 'strings.Trim(strings.ReplaceAll(fmt.Sprint(c.{}), " ", ","), "[]")',
               'write(fmt.Sprint("counters.{}\t", {}))')}


def counter_lines(language):
    """Returns the statements that print all counters of `c`. They are empty for Python, which returns JSON, and for C++,
    which uses the C struct."""
    lines = []
    for c, _ in counters() if language in READ else []:
        name = camel(c.key, language != "java")
        count, time, buckets, line = READ[language]
        value = buckets.format(name) if c.by_hand else "c." + (time if c.kind == "time" else count).format(name)
        lines.append("    " + line.format(c.key, value))
    return "\n".join(lines)


def wrong_counters(found):
    for c, value in counters():
        wanted = ",".join(str(i + 100) for i in range(40)) if c.by_hand else str(value)
        if found.get(f"counters.{c.key}") != wanted:
            yield f"counter {c.key}: expected {wanted}, found {found.get('counters.' + c.key)}"


def observed_fields(struct):
    return [f"{struct}.{name}" for declared, name in fields_of(struct) if not IGNORED.fullmatch(declared)]


def derived_cases(field, language):
    """Returns the statements that follow from the kind of an option, and the fields that they change."""
    kind, name = field.kind, field.name(language)
    if kind == "flag":
        value = "true" if language == "go" and "negated" in field.row or not field.on else "false"
        values = [value.capitalize() if language == "python" else value]
    elif kind in EXPECTED:
        values = [VALUES[language][kind]]
        if kind == "duration" and language == "python":
            values.append("datetime.timedelta(days=1, microseconds=2001)")
        if kind == "duration" and language == "cpp" and "chrono" in field.type(language):
            values = [f"{field.type(language)}({DAY})"]
    else:
        return [], {}
    names = [name, *field.of(language, "also", [])]
    codes = [SET[language].format(n, v) for n in names for v in values]
    return codes, {f"{field.struct}.{field.c_name()}": EXPECTED[kind]}


def model_runner_cases(field, codes, expected):
    """Yields the cases of C++'s ModelRunnerConfig, which has other names and durations."""
    name = option_fields.model_runtime_name(field)
    for i, code in enumerate(codes):
        code = re.sub(rf"\bo\.{field.name('cpp')}\b", f"o.{name}", code)
        if field.kind == "duration":
            code = f"o.{name} = std::chrono::nanoseconds({DAY});"
        yield Case(field.struct, f"model_runner.{field.key}" + (f".{i + 1}" if i else ""), code, expected, maker="modelRunner")


def parse_fields(lines):
    return dict(line.split("=", 1) for line in lines)


def cases_of(language):
    """Returns all cases of a language, the tables, and the problems of the tables."""
    table, rows = option_fields.read(), tomllib.load(open(os.path.join(HERE, "cases.toml"), "rb"))
    cases, problems = [], []
    for struct in structs(language):
        known = {key: option_fields.Field(struct, key, row, table["names"]) for key, row in table.get(struct, {}).items()}
        for key in [*known, *(k for k in rows.get(struct, {}) if k not in known)]:
            row, field = rows.get(struct, {}).get(key, {}), known.get(key)
            codes, expected = derived_cases(field, language) if field and field.is_generated(language) else ([], {})
            if language in row:
                codes = row[language] if isinstance(row[language], list) else [row[language]]
            expected = parse_fields(row.get("expect_" + language, row.get("expect", []))) or expected
            error = row.get("fails_" + language, "")
            if not codes and field and field.is_generated(language) and language not in row.get("without", {}):
                problems.append(f"cases.toml: {struct}.{key} has no case for {language}")
            for i, code in enumerate(codes):
                cases.append(Case(struct, f"{struct}.{key}" + (f".{i + 1}" if i else ""), code, {} if error else expected, error))
            if language == "cpp" and struct == "runner" and key in option_fields.MODEL_RUNTIME:
                cases += model_runner_cases(field, codes, expected)
    return cases, rows, problems


def program_text(language, cases):
    with open(os.path.join(HERE, f"program.{language}.in"), encoding="utf-8") as file:
        template = file.read()
    lines = []
    nothing = {"python": "pass"}.get(language, "")
    for case in [Case(s, f"{s}.default", nothing, {}) for s in structs(language)] + cases + [
            Case(s, f"{s}.leak", nothing, {}) for s in structs(language)]:
        lines.append(CASE[language].format(struct=case.maker, Struct=case.struct.capitalize(), name=case.name, code=case.code,
                                           type=GO_TYPES[case.struct]))
    return template.replace("@CASES@", "\n".join(lines)).replace("@COUNTERS@", counter_lines(language))


def read_record(path):
    """Reads the record of a program: {case: (fields, errors)}, and {case: numbers of living objects}."""
    found, alive, now, case = {}, {}, None, ""
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            key, _, value = line.partition("\t")
            if key == "case":
                now, case = found.setdefault(value, ({}, [])), value
            elif key == "error":
                now[1].append(value)
            elif key == "alive":
                alive.setdefault(case, []).append(int(value))
            elif now is not None:
                now[0][key] = value
    return found, alive


def leaks(language, alive):
    """Yields a message for each struct whose calls leak objects. The default of each struct is used 200 times at the end. If
    a call leaks an object, the number of objects grows by 100 in the last 100 calls."""
    for struct in structs(language):
        numbers = alive.get(f"{struct}.leak", [])
        if struct == "queue" and language in ("java", "csharp", "go"):
            continue  # queue managers have no method that closes them: the garbage collector frees them
        if len(numbers) < 200:
            yield f"{struct}.leak: only {len(numbers)} calls"
        elif numbers[-1] - numbers[-100] > 50:
            yield f"{struct}.leak: {numbers[-1] - numbers[-100]} more objects after 100 calls"


def compare(language, cases, rows, found):
    """Returns the differences from the expectations."""
    problems, changed = [], set()
    for case in cases:
        fields, errors = found.get(case.name, ({}, ["the program does not have it"]))
        default = found[f"{case.struct}.default"][0]
        different = {k: fields.get(k, "nothing") for k in sorted({*fields, *default}) if fields.get(k) != default.get(k)}
        if case.error:
            if not any(case.error in e for e in errors):
                problems.append(f"{case.name}: expected an error with '{case.error}', found {errors}")
        elif different != case.expected:
            problems.append(f"{case.name}: {case.code}\n  expected {case.expected}\n  found    {different} {' '.join(errors)}")
        else:
            changed |= set(different)
    for struct in structs(language):
        defaults = {k: v for k, v in found[f"{struct}.default"][0].items() if k.startswith(struct + ".")}
        wanted = {**rows["defaults"]["all"], **rows["defaults"].get(language, {})}
        for name, value in defaults.items():
            zero = value in ("0", "null", "", "0.000000") if name not in wanted else value == wanted[name]
            if not zero:
                problems.append(f"{name}: the default is {value}, expected {wanted.get(name, 'zero')}")
        for name in observed_fields(struct):
            row = rows.get(struct, {}).get(name.split(".")[1], {})
            absent = any(s == struct and option_fields.SPELLED[language] == spelled and name.endswith("." + field)
                         for s, spelled, field, _ in option_fields.absent())
            if name not in changed and not absent and language not in row.get("without", {}):
                problems.append(f"{name}: no case of {language} changes it")
    return problems


def build(language, work, out, tools):
    """Compiles the program in the folder `work`. Returns the command that runs it."""
    libraries = os.path.join(out, "lib")
    if language == "python":
        return [sys.executable, "-W", "error", os.path.join(work, "options_program.py")]
    if language == "java":
        subprocess.run([tools[0] + "/bin/javac", "-J-XX:TieredStopAtLevel=1", "-encoding", "UTF-8", "-cp", tools[1], "-d", work,
                        os.path.join(work, "OptionsProgram.java")], check=True)
        return [tools[0] + "/bin/java", "-XX:TieredStopAtLevel=1", f"-Dpoprt.library.path={libraries}", "-cp",
                f"{tools[1]}:{work}", "OptionsProgram"]
    if language == "csharp":
        subprocess.run([tools[0], "-r:" + tools[1], "-out:" + os.path.join(work, "OptionsProgram.exe"),
                        os.path.join(work, "OptionsProgram.cs")], check=True)
        return ["mono", os.path.join(work, "OptionsProgram.exe")]
    if language == "go":
        with open(os.path.join(work, "go.mod"), "w", encoding="utf-8") as file:
            file.write("module poprt.example.org/options\n\ngo 1.19\n\nrequire poprt.example.org/bindings/go v1.0.0\n\n"
                       f"replace poprt.example.org/bindings/go => {ROOT}/bindings/go\n")
        subprocess.run([os.path.join(HERE, "../go/run"), "program", tools[0], out, work], check=True)
        return [os.path.join(work, "program")]
    subprocess.run([tools[0], "-std=c++17", "-O0", "-I" + os.environ.get("OPTIONS_INCLUDE", os.path.join(ROOT, "capi/include")),
                    os.path.join(work, "options_program.cpp"), "-o", os.path.join(work, "program"), "-L" + libraries, "-lpoprt",
                    "-pthread"], check=True)
    return [os.path.join(work, "program")]


NAMES = {"python": "options_program.py", "java": "OptionsProgram.java", "csharp": "OptionsProgram.cs", "go": "main.go",
         "cpp": "options_program.cpp"}


def main():
    language, work, out, *tools = sys.argv[1:]
    work, out = os.path.abspath(work), os.path.abspath(out)
    tools = [os.path.abspath(t) if os.path.exists(t) else t for t in tools]
    os.makedirs(work, exist_ok=True)
    cases, rows, problems = cases_of(language)
    for name, content in (("fields.h", fields_header() + fill_function()), (NAMES[language], program_text(language, cases))):
        with open(os.path.join(work, name), "w", encoding="utf-8") as file:
            file.write(content)
    spy = os.path.join(work, "librecord.so")
    subprocess.run(["c++", "-std=c++17", "-O0", "-shared", "-fPIC", "-I" + os.path.join(ROOT, "capi/include"),
                    f'-DFIELDS="{work}/fields.h"',
                    os.path.join(HERE, "record.cpp"), "-o", spy, "-ldl"], check=True)
    command = build(language, work, out, tools)
    record = os.path.join(work, "record")
    if os.path.exists(record):
        os.remove(record)
    libraries = os.path.join(out, "lib")
    environment = {**os.environ, "LD_PRELOAD": spy, "OPTIONS_RECORD": record, "LD_LIBRARY_PATH": libraries,
                   "MONO_PATH": os.environ.get("OPTIONS_MONO", libraries),
                   "PYTHONPATH": os.environ.get("OPTIONS_PYTHON", os.path.join(out, "python")),
                   "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8",
                   "POPRT_DEVICES": "16", "OPTIONS_MODELS": os.path.join(HERE, "../data"),
                   "POPRT_TELEMETRY_DIR": os.path.join(work, "telemetry")}
    subprocess.run(command, cwd=work, env=environment, check=True, timeout=240)
    found, alive = read_record(record)
    problems += leaks(language, alive)
    problems += compare(language, cases, rows, found)
    problems += wrong_counters(found["counters"][0]) if language in READ else []
    for problem in problems:
        print(problem)
    print(f"{language}: {len(cases)} cases, {len(problems)} problems")
    sys.exit(1 if problems or not cases else 0)


if __name__ == "__main__":
    main()
