"""All mutants of some source files against one test program: which does it not notice?

    one_file.py --build build/release --program test_opsets core/opsets/attention.cpp ... [--lines 20-40] [--filter 'Convert*']

In contrast to mutation.py, it needs no other tree. A mutated file is compiled with the files of its unity build, whose calls
might be inlined otherwise, and linked in front of the libraries of the program, in whose archives its functions are a second
time. Sites that overlap are compiled one after the other. Each mutant then meets all tests of the program (or those of
`--filter`), until one fails. Not for headers."""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

import choose
import sites

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
HEADER = os.path.join(HERE, "mutant.h")


def arguments_of(build, path):
    """The compiler's arguments of a source file, and the file of a unity build that includes it, or None."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    full = os.path.join(ROOT, path)
    for entry in entries:
        unity = entry["file"] if entry["file"] != full else None
        if unity:
            if "/Unity/" not in unity:
                continue
            with open(entry["file"], encoding="utf-8") as file:
                if f'"{full}"' not in file.read():
                    continue
        words, kept, skip = shlex.split(entry["command"]), [], False
        for word in words[next(i for i, w in enumerate(words) if "++" in w) + 1:]:
            if skip or word in ("-o", "-MF", "-MT", "-c"):
                skip = not skip and word != "-c"
            elif word not in ("-MD", "-Werror", entry["file"]):
                kept.append(word)
        return choose.without_precompiled(kept) + ["-Wno-everything"], unity
    sys.exit(f"one_file.py: {path} has no command in {build}/compile_commands.json")


def groups(found):
    """Lists of (number, site) that do not overlap."""
    made = []
    for number, site in enumerate(found):
        group = next((g for g in made if not any(site.overlaps(o) for _, o in g)), None)
        if group is None:
            made.append(group := [])
        group.append((number, site))
    return made


def mutant_at(text, line, column):
    """The number of the mutant at a place of a mutated file, whose lines are not those of the original: the last one before it
    in its line, else the next one in its line, else the last one in the lines before."""
    lines = text.partition(b"#line 1\n")[2].splitlines()
    before, after = lines[line - 1][:column], lines[line - 1][column:]
    for part, index in ((before, -1), (after, 0), (b"\n".join(lines[:line - 1]), -1)):
        if numbers := re.findall(rb"poprt_mutant\((\d+)\)", part):
            return int(numbers[index])
    return None


def compiled(work, source, group, arguments, unity, before):
    """Compiles the file with the mutants of a group. Returns those that compile."""
    path, made, whole = (os.path.join(work, name) for name in ("mutated.cpp", "mutated.o", "unity.cpp"))
    if unity:
        original = os.path.join(ROOT, group[0][1].file)
        arguments = [*arguments, "-iquote", os.path.dirname(original)]
        with open(unity, encoding="utf-8") as file, open(whole, "w", encoding="utf-8") as copy:
            copy.write(file.read().replace(f'"{original}"', f'"{path}"'))
    for _ in range(20):
        text = sites.rewrite(source, group, HEADER)
        with open(path, "wb") as file:
            file.write(text)
        run = subprocess.run([*before, "clang++-19", *arguments, "-O0", "-c", whole if unity else path, "-o", made], text=True,
                             capture_output=True, check=False)
        if run.returncode == 0:
            return group
        bad = {mutant_at(text, int(line), int(column))
               for line, column in re.findall(rf"^{re.escape(path)}:(\d+):(\d+): error", run.stderr, re.M)}
        left = [(n, s) for n, s in group if n not in bad]
        if len(left) == len(group):
            sys.exit(f"one_file.py: the file does not compile:\n{run.stderr[-2000:]}")
        group = left
    return []


def linked(work, options):
    """Links the test program with the mutated object in front of its libraries."""
    command = subprocess.run(["ninja", "-C", options.build, "-t", "commands", options.program], check=True, text=True,
                             capture_output=True).stdout.splitlines()[-1]
    command = command.removeprefix(": && ").split(" && ")[0]
    words = shlex.split(command)
    words[words.index("-o") + 1] = os.path.join(work, "program")
    words[1:1] = [os.path.join(work, "mutated.o"), "-Wl,--allow-multiple-definition"]
    subprocess.run([*options.before.split(), *words], cwd=options.build, check=True)


def survives(work, options, number, seconds):
    command = [os.path.join(work, "program"), "--gtest_brief=1", "--gtest_fail_fast", "--gtest_filter=" + options.filter]
    run = subprocess.run([*options.before.split(), "timeout", "-k", "2", str(seconds), *command], check=False, cwd=work, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         env={**os.environ, "MUTANT_ACTIVE": str(number), "TMPDIR": work, "POPRT_LOG_LEVEL": "off"})
    return run.returncode == 0


def measure(path, options, work):
    arguments, unity = arguments_of(options.build, path)
    found, source = sites.find(os.path.join(ROOT, path), path, os.path.join(ROOT, path), arguments)
    if options.lines:
        first, last = (int(n) for n in options.lines.split("-"))
        found = [s for s in found if first <= s.line <= last]
    with open(os.path.join(HERE, "equivalent.json"), encoding="utf-8") as file:
        equivalent = {(e["file"], e["change"]) for e in json.load(file)}
    alive, count = [], 0
    for group in groups(found):
        group = compiled(work, source, group, arguments, unity, options.before.split())
        if not group:
            continue
        linked(work, options)
        if not survives(work, options, -1, 600):
            sys.exit("one_file.py: a test fails without a mutant")
        for number, site in group:
            if survives(work, options, number, options.seconds):
                if (path, site.shown) in equivalent:
                    continue
                alive.append(site)
            count += 1
    for s in sorted(alive, key=lambda s: s.start):
        print(f"survived: {path}:{s.line} [{s.kind}] {s.shown}")
    print(f"{path}: {count - len(alive)} of {count}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--program", required=True)
    parser.add_argument("--filter", default="*", help="of GoogleTest")
    parser.add_argument("--lines", help="FIRST-LAST: only the sites of these lines")
    parser.add_argument("--seconds", type=int, default=30, help="the time limit of a mutant")
    parser.add_argument("--before", default="", help="words before each command, for example of a queue for a shared machine")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    with tempfile.TemporaryDirectory() as work:
        for path in options.files:
            measure(os.path.relpath(path, ROOT) if os.path.isabs(path) else path, options, work)


if __name__ == "__main__":
    main()
