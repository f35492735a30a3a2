"""Checks that the pages for users show real programs, real output and current numbers.

Usage: readme.py [FOLDER_OF_COMMANDS] [--fix]

* A code block after a line that begins with a link to a file in examples/ is the text of that file. If the line ends with
  ", chapter `NAME`", it is the lines between the comment [NAME] and the next such comment.
* The pages of docs/languages have the same chapters in the same order, and each shows a program.
* In a code block, a line `$ COMMAND` is followed by the output of the command. All commands of a page run in one empty
  folder, which contains a link to examples/. Times are not compared. Without FOLDER_OF_COMMANDS, no command runs.
* The numbers of NUMBERS are those that a command or another page contains.

--fix writes programs and output into the pages; numbers are to be changed by hand."""

import ast
import os
import re
import subprocess
import sys
import tempfile
import textwrap

import tree

PROGRAM = re.compile(r"^(\[(examples/[^\]\n]+)\]\([^)\n]+\)[^\n]*\n\n```\w*\n)(.*?)^```$", re.M | re.S)
TRANSCRIPT = re.compile(r"^```\w*\n(\$ .*?)^```$", re.M | re.S)
TIMES = [(re.compile(pattern), mask) for pattern, mask in (
    (r"\b[\d.]+ ?(ns|us|ms|s)\b", r"T \1"), (r"Tput: [\d.]+", "Tput: N"))]
CHAPTER = re.compile(r", chapter `(\w+)`")
MARK = re.compile(r"^ *(?:#|//|/\*) \[(\w+)\](?: \*/)?\n", re.M)
LANGUAGES = ("c", "cpp", "csharp", "go", "java", "python")
CHAPTERS = ["Load", "Run", "Async", "Batch", "Shapes", "State", "Serve", "Errors", "Coming from ONNX Runtime"]
FEWEST_PROGRAMS = 7 + len(LANGUAGES) * (len(CHAPTERS) - 1)
FEWEST_COMMANDS = 7


def pages():
    return [f for f in tree.files() if f == "README.md" or re.fullmatch(r"docs/(languages/)?[\w-]+\.md", f)]


def program(name, head):
    """The text of a file of examples/, or of the chapter that the line before the code block names."""
    text, chapter = tree.read(name), CHAPTER.search(head)
    if not chapter:
        return text
    marks = list(MARK.finditer(text))
    for mark, after in zip(marks, marks[1:]):
        if mark.group(1) == chapter.group(1):
            return textwrap.dedent(text[mark.end():after.start()]).strip("\n") + "\n"
    raise SystemExit(f"{name} has no comment [{chapter.group(1)}] that another one follows")


def check_chapters(problems):
    for language in LANGUAGES:
        page = f"docs/languages/{language}.md"
        parts = re.split(r"^## (.*)\n", tree.read(page), flags=re.M)
        if parts[1::2] != CHAPTERS:
            problems.append(f"{page} has the chapters {', '.join(parts[1::2])}, expected {', '.join(CHAPTERS)}")
        problems += [f"{page}: chapter {title} shows no program" for title, body in zip(parts[1::2], parts[2::2])
                     if title != CHAPTERS[-1] and not any(f"chapter `{title.lower()}`" in m.group(1) for m in PROGRAM.finditer(body))]


def check_programs(page, text, problems):
    """Returns the page with the text of the files, and how many programs it shows."""
    found = list(PROGRAM.finditer(text))
    problems += [f"{page}: the program is not {m.group(2)}; run tests/lint/readme.py --fix"
                 for m in found if m.group(3) != program(m.group(2), m.group(1))]
    return PROGRAM.sub(lambda m: m.group(1) + program(m.group(2), m.group(1)) + "```", text), len(found)


def without_times(text):
    for pattern, mask in TIMES:
        text = pattern.sub(mask, text)
    return text


def environment(commands):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("POPRT_", "POPART_", "POPXL_", "POPEF_"))}
    return {**kept, "PATH": commands + os.pathsep + os.environ.get("PATH", "")}


def run(line, folder, commands):
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment(commands), text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout


def check_commands(page, text, commands, problems):
    """Returns the page with the output of its commands, and how many commands it shows."""
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(tree.ROOT, "examples"), os.path.join(folder, "examples"))

        def rewritten(block):
            nonlocal count
            result = ""
            for part in re.split(r"^(?=\$ )", block.group(1), flags=re.M)[1:]:
                line, expected = part.split("\n", 1)
                count += 1
                printed = run(line[2:], folder, commands)
                same = without_times(printed) == without_times(expected)
                if not same:
                    problems.append(f"{page}: '{line[2:]}' prints\n{printed}run tests/lint/readme.py FOLDER_OF_COMMANDS --fix")
                result += line + "\n" + (expected if same else printed)
            return block.group(0).replace(block.group(1), result)

        return TRANSCRIPT.sub(rewritten, text), count


def options_of_poprt(commands):
    """How many options the page of options attributes to PopRT, counted in the output of the command."""
    printed = run("poprt_exec options --markdown", tree.ROOT, commands)
    part = re.search(r"^## Of PopRT 1\.5[^\n]*\n(.*?)(?=^## |\Z)", printed, re.M | re.S).group(1)
    return len(re.findall(r"^\| `--", part, re.M))


def opsets(commands):
    """The opsets to which a model can be converted, from the error for another one."""
    printed = run("poprt -i examples/digits/digits.onnx --batch_size 1 --convert_version 1", tree.ROOT, commands)
    return "{} to {}".format(*re.search(r"at least (\d+) and at most (\d+)", printed).groups())


def version(commands):
    return re.search(r"PopRT version: ([\d.]+)", run("poprt --version", tree.ROOT, commands)).group(1)


def converter_arguments(_):
    code = ast.parse(tree.read("bindings/python/poprt/converter.py"))
    converter = next(c for c in code.body if isinstance(c, ast.ClassDef) and c.name == "Converter")
    return len(next(f for f in converter.body if isinstance(f, ast.FunctionDef) and f.name == "__init__").args.kwonlyargs)


def claim(name):
    """The least and the greatest number of a row of the table of README's claims in docs/performance.md."""
    page = tree.read("docs/performance.md").split("\n## ")[1]
    values = re.search(rf"^\| {name} \|(.*)\|$", page, re.M).group(1).split("|")
    numbers = [value.strip() for value in values]
    return f"{min(numbers, key=float)} to {max(numbers, key=float)}"


RUN_COMMANDS = (options_of_poprt, opsets, version)  # these need FOLDER_OF_COMMANDS
# Page, a pattern whose group is the number, and the function that computes it.
NUMBERS = [
    ("docs/commands.md", r"all (\d+) options of PopRT", options_of_poprt),
    ("docs/options.md", r"^## Of PopRT 1\.5: (\d+)", options_of_poprt),
    ("docs/opsets.md", r"converted to opsets (\d+ to \d+)", opsets),
    ("docs/CHANGELOG.md", r"any opset from (\d+ to \d+)", opsets),
    ("docs/CHANGELOG.md", r"^## (\d+\.\d+\.\d+)", version),
    ("bindings/go/README.md", r"go get poprt\.example\.org/bindings/go@v([\d.]+)", version),
    ("bindings/python/README.md", r"PopRT's (\d+) arguments", converter_arguments),
    ("README.md", r"first answer \| ([\d.]+ to [\d.]+) times faster", lambda _: claim("process start to first answer")),
    ("README.md", r"latency, batch 1, one thread \| ([\d.]+ to [\d.]+) times faster", lambda _: claim("latency")),
    ("README.md", r"peak memory \| ([\d.]+ to [\d.]+) times", lambda _: claim("peak memory")),
]


def check_numbers(commands, problems):
    for page, pattern, compute in NUMBERS:
        found = re.search(pattern, tree.read(page), re.M)
        if not found:
            problems.append(f"{page}: no number at '{pattern}'")
        elif commands or compute not in RUN_COMMANDS:
            expected = str(compute(commands))
            if found.group(1) != expected:
                problems.append(f"{page}: '{found.group(0)}' has {found.group(1)}, expected {expected}")


def main():
    words = [word for word in sys.argv[1:] if word != "--fix"]
    commands = os.path.abspath(words[0]) if words else None
    problems, programs, lines = [], 0, 0
    for page in pages():
        text = tree.read(page)
        fixed, count = check_programs(page, text, problems)
        programs += count
        if commands:
            fixed, count = check_commands(page, fixed, commands, problems)
            lines += count
        if "--fix" in sys.argv and fixed != text:
            with open(os.path.join(tree.ROOT, page), "w", encoding="utf-8") as file:
                file.write(fixed)
    check_numbers(commands, problems)
    check_chapters(problems)
    if programs < FEWEST_PROGRAMS:
        problems.append(f"pages show {programs} programs, expected at least {FEWEST_PROGRAMS}")
    if commands and lines < FEWEST_COMMANDS:
        problems.append(f"pages show {lines} commands, expected at least {FEWEST_COMMANDS}")
    tree.finish(problems, programs + lines + len(NUMBERS), "programs, commands and numbers")


if __name__ == "__main__":
    main()
