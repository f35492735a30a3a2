"""How many bugs in the hand-written bindings do their tests notice?

    languages.py --build build/release --scratch ../mutants --seed 1 [--count 22] [--language java ...] [--json FILE]

For each language a seed draws places (language_sites.py). One at a time, a place of a copy of the sources is changed, the language's
compiler builds what depends on it, and the language's tests run, the shortest first, until one fails. What does not compile is
replaced by the next of the draw. A test that exceeds the time limit must be quick without the mutant, or it does not count. Needs
a build of the bindings and of their tests, which it does not change."""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

import language_sites as sites

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../.."))
GCOV = next((p for p in ("llvm-cov-19", "llvm-cov-14", "llvm-cov") if shutil.which(p)), "llvm-cov")
JUNIT = "/usr/share/java/"
JARS = [JUNIT + f"{n}.jar" for n in ("junit-jupiter-api", "junit-jupiter-params", "junit-platform-commons", "opentest4j", "apiguardian-api")]


class Broken(Exception):
    """The tests fail without a mutant."""


class Language:
    """Builds and tests one language in a separate folder. `build` returns whether it compiles; `tests` are
    (name, command, folder, environment)."""

    def __init__(self, name, options):
        self.name, self.work, self.out = name, os.path.join(options.scratch, "languages", name), options.build
        self.before = options.before.split()
        shutil.rmtree(self.work, ignore_errors=True)
        folder = sites.LANGUAGES[name][0].split("/")[:2] if name != "cpp" else ["capi", "include"]
        self.tree = os.path.join(self.work, "tree")
        shutil.copytree(os.path.join(ROOT, *folder), os.path.join(self.tree, *folder))
        self.environment = {**os.environ, "LC_ALL": "C.UTF-8", "LD_LIBRARY_PATH": os.path.join(self.out, "lib"),
                            "POPRT_BIN": os.path.join(self.out, "bin"),
                            "TMPDIR": os.path.join(self.work, "tmp"), "POPRT_TELEMETRY_DIR": os.path.join(self.work, "telemetry"), "PYTHONDONTWRITEBYTECODE": "1"}
        os.makedirs(self.environment["TMPDIR"])
        self.prepare()

    def run(self, command, seconds=600, folder=None, **more):
        """A command that takes longer than `seconds` ends with 124."""
        return subprocess.run([*self.before, "timeout", "-k", "5", str(seconds), *command], cwd=folder or self.work,
                              env={**self.environment, **more}, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, errors="replace")

    def must(self, command, **more):
        made = self.run(command, **more)
        if made.returncode:
            raise Broken(made.stdout[-3000:])

    def options(self, tools, **more):
        return ("options", [sys.executable, os.path.join(ROOT, "tests/bindings/options/options.py"), self.name,
                            os.path.join(self.work, "options"), self.out, *tools], None, more)

    def compiled(self, name):
        """Compiles a test that includes the sources of the language. Returns the errors."""
        return ""

    def ordered(self, site):
        """The tests, those first that are about the file of the site."""
        return self.tests

    def put(self, site):
        with open(os.path.join(self.tree, site.file), "w", encoding="utf-8") as file:
            file.write(sites.changed(ROOT, site))

    def restore(self, site):
        shutil.copy(os.path.join(ROOT, site.file), os.path.join(self.tree, site.file))


class Python(Language):
    FIRST = ["contract", "scenario", "run", "runners", "other_runners", "session", "misuse", "converter", "popef", "log", "documented",
             "elements", "loop", "integers", "python_api", "quantizer", "batches", "recompile", "imports"]
    WITHOUT = ("package", "mypy", "typing")  # they take a minute, and no mutant changes a type

    def prepare(self):
        self.package = os.path.join(self.work, "python")
        shutil.copytree(os.path.join(self.out, "python"), self.package)
        here = os.path.join(ROOT, "tests/bindings/python")
        others = sorted(n[:-8] for n in os.listdir(here) if n.endswith("_test.py") and n[:-8] not in (*self.FIRST, *self.WITHOUT))
        environment = {"PYTHONPATH": self.package, "POPRT_BUILD": self.out, "POPRT_CMAKE": "cmake"}
        self.tests = [(n, [sys.executable, "-W", "error", "-m", "unittest", "-f", n + "_test"], here, environment)
                      for n in self.FIRST + others]
        self.tests.insert(6, self.options([], OPTIONS_PYTHON=self.package))
        os.symlink(os.path.join(self.out, "bin"), os.path.join(self.work, "bin"))  # tests of commands take the package next to it
        self.tests.append(("poprt_scripts", [sys.executable, "-B", os.path.join(ROOT, "tests/cli/poprt_scripts_test.py")], None,
                           {"POPRT_BIN": os.path.join(self.work, "bin"), "POPRT_ONNX_PYTHON": sys.executable}))

    def ordered(self, site):
        stem = os.path.splitext(os.path.basename(site.file))[0].strip("_")
        named = {}
        for name, _, folder, _ in self.tests:
            path = os.path.join(folder or "", name + "_test.py")
            named[name] = os.path.exists(path) and stem in open(path, encoding="utf-8").read()
        return sorted(self.tests, key=lambda test: (stem not in test[0], not named[test[0]]))

    def build(self, site):
        made = os.path.join(self.package, os.path.relpath(site.file, "bindings/python"))
        shutil.copy(os.path.join(self.tree, site.file), made)
        return self.run([sys.executable, "-m", "py_compile", made]).returncode == 0


class Java(Language):
    def prepare(self):
        cache = open(os.path.join(self.out, "CMakeCache.txt"), encoding="utf-8").read()
        self.jdk, self.jar = (re.search(rf"^{n}:\w+=(.*)$", cache, re.M).group(1) for n in ("POPRT_JDK", "POPRT_JAR"))
        self.javac = [self.jdk + "/bin/javac", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-encoding", "UTF-8", "-nowarn"]
        self.java = [self.jdk + "/bin/java", "-XX:TieredStopAtLevel=1", "-Xcheck:jni", "-Xmx512m", "-Djava.io.tmpdir=" + self.work,
                     f"-Dpoprt.library.path={self.out}/lib", f"-Dpoprt.test.models={ROOT}/tests/bindings/data"]
        self.classes, tests = os.path.join(self.work, "classes"), os.path.join(self.work, "tests")
        source = os.path.join(ROOT, "tests/bindings/java")
        self.must([*self.javac, "-cp", ":".join([self.jar, *JARS]), "-d", tests,
                   *(os.path.join(source, n) for n in os.listdir(source) if n.endswith(".java"))])
        path = f"{self.classes}:{self.jar}:{tests}"
        self.tests = [("junit", [*self.java, "-jar", JUNIT + "junit-platform-console-standalone.jar", "-cp", path, "--scan-class-path",
                                 tests, "--details=none", "--disable-banner"], None, {}),
                      self.options([self.jdk, f"{self.classes}:{self.jar}"])]
        self.tests += [(what, [*self.java, "-cp", path, "Lifetime", what, f"{ROOT}/tests/bindings/data"], None,
                        {"POPRT_DEVICES": "256"} if what in ("cycles", "sessions") else {})
                       for what in ("exit", "exit_session")]
        self.home = os.path.join(self.work, "home")  # without libraries that an earlier mutant has unpacked
        self.environment.pop("XDG_CACHE_HOME", None)
        self.tests.append(("jar", [w for w in self.java if "library.path" not in w] + ["-Duser.home=" + self.home, "-cp", path, "Lifetime", "exit",
                                                                                    f"{ROOT}/tests/bindings/data"], None, {}))

    def build(self, site):
        for folder in (self.classes, self.home):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
        return self.run([*self.javac, "-g", "--release", "11", "-cp", self.jar, "-d", self.classes,
                         os.path.join(self.tree, site.file)]).returncode == 0


class CSharp(Language):
    def prepare(self):
        for name in os.listdir(os.path.join(self.out, "lib")):
            if name.startswith("libpoprt"):
                os.symlink(os.path.join(self.out, "lib", name), os.path.join(self.work, name))
        self.dll, source = os.path.join(self.work, "Poprt.dll"), os.path.join(ROOT, "tests/bindings/csharp")
        shutil.copy(os.path.join(self.out, "lib/Poprt.dll"), self.dll)
        os.makedirs(os.path.join(self.work, "files"))
        self.environment.update(MONO_PATH=self.work, POPRT_TEST_MODELS=f"{ROOT}/tests/bindings/data",
                                POPRT_TEST_FOLDER=os.path.join(self.work, "files"))
        nunit = subprocess.run(["pkg-config", "--libs", "nunit"], check=True, capture_output=True, text=True).stdout.split()
        tests = [os.path.join(source, n) for n in os.listdir(source) if n.endswith("Test.cs") or n == "Scenarios.cs"]
        self.must(["mcs", *nunit, "-r:" + self.dll, "-target:library", "-out:" + os.path.join(self.work, "Scenarios.dll"), *tests])
        self.must(["mcs", "-r:" + self.dll, "-out:" + os.path.join(self.work, "Lifetime.exe"), os.path.join(source, "Lifetime.cs")])
        self.tests = [("nunit", ["nunit-console", "-nologo", "-noshadow", "-stoponerror", "-xml=" + os.path.join(self.work, "result.xml"), "Scenarios.dll"],
                       None, {}), self.options(["mcs", self.dll], OPTIONS_MONO=self.work)]
        self.tests += [(what, ["mono", "Lifetime.exe", what, f"{ROOT}/tests/bindings/data"], None, {}) for what in ("exit", "exit_session")]

    def build(self, site):
        folder, made = os.path.join(self.tree, "bindings/csharp"), os.path.join(self.out, "bindings/csharp")
        files = [os.path.join(folder, "src", n) for n in os.listdir(os.path.join(folder, "src"))]
        files += [os.path.join(made, "generated", n) for n in os.listdir(os.path.join(made, "generated"))]
        return self.run(["mcs", "-unsafe", "-target:library", f"-keyfile:{folder}/Poprt.snk", "-out:" + self.dll,
                         os.path.join(made, "AssemblyInfo.cs"), *files]).returncode == 0


class Go(Language):
    def prepare(self):
        for name in ("go", "data"):
            shutil.copytree(os.path.join(ROOT, "tests/bindings", name), os.path.join(self.tree, "tests/bindings", name))
        shutil.copytree(os.path.join(ROOT, "tests/bindings/options"), os.path.join(self.tree, "tests/bindings/options"))
        shutil.copytree(os.path.join(ROOT, "tests/lint"), os.path.join(self.tree, "tests/lint"))
        shutil.copytree(os.path.join(ROOT, "capi"), os.path.join(self.tree, "capi"))
        shutil.copytree(os.path.join(ROOT, "examples"), os.path.join(self.tree, "examples"))
        os.symlink(os.path.join(ROOT, "tests/data"), os.path.join(self.tree, "tests/data"))
        self.go = next(g for g in ("/usr/lib/go-1.19/bin/go", "/usr/bin/go") if os.path.exists(g))
        run = os.path.join(self.tree, "tests/bindings/go/run")
        self.module = os.path.join(self.tree, "bindings/go")
        self.environment.update(PKG_CONFIG_PATH=os.path.join(self.out, "pkgconfig"), GOPROXY="off", GOTOOLCHAIN="local", GOFLAGS="-mod=mod",
                                CGO_CXXFLAGS="-O0 -g0")
        self.tests = [(what, [run, what, self.go, self.out], None, {}) for what in ("scenarios", "examples")]
        options = self.options([self.go])
        options[1][1] = os.path.join(self.tree, "tests/bindings/options/options.py")
        self.tests.insert(1, options)
        self.must([run, "build", self.go, self.out])

    def build(self, site):
        return self.run([self.go, "build", "./..."], folder=self.module).returncode == 0 or self.checked()

    def checked(self):
        return self.run([self.go, "vet", "."], folder=self.module).returncode == 0


class Cpp(Language):
    """Each test file is a program, compiled with the headers of the copy. The programs are compiled once without a mutant, with
    counters of lines (gcov), and a mutant is tried only with the programs that reach its line, the cheapest first. A line
    without code, such as the default of a member, and a line that the compiler may evaluate are tried with all programs. Headers
    that no mutant changes are precompiled."""

    FOLDERS = ("tests/bindings/cpp/", "tests/capi/")
    FILES = ("contract", "scenario", "scenario_models", "generator", "span", "cpp_run", "cpp_popef", "cpp_wrapper", "cpp_export", "cpp_passes",
             "documented_names")

    def prepare(self):
        with open(os.path.join(self.out, "compile_commands.json"), encoding="utf-8") as file:
            commands = {os.path.relpath(e["file"], ROOT): e["command"] for e in json.load(file)}
        self.programs, self.cost, self.lines = {}, {}, {}
        for name in self.FILES:
            path = next(f + name + "_test.cpp" for f in self.FOLDERS if f + name + "_test.cpp" in commands)
            self.programs[name] = (path, re.findall(r"-D\S+|-std=\S+", commands[path].replace('\\"', '"')))
        self.precompile()
        self.environment.update(GTEST_FAIL_FAST="1", GTEST_BRIEF="1")
        self.tests = [(name, [os.path.join(self.work, name)], None, {}) for name in self.programs]
        compiler = os.path.join(self.work, "compiler")
        with open(compiler, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec clang++-19 -w -include-pch {self.work}/others.pch $OPTIONS_FLAGS "$@" -lgtest\n')
        os.chmod(compiler, 0o755)
        self.tests.append(self.options([compiler], OPTIONS_INCLUDE=os.path.join(self.tree, "capi/include")))

    def precompile(self):
        """All headers outside poprt that the headers and the tests include, as C++17."""
        texts = [os.path.join(base, n) for base, _, names in os.walk(os.path.join(self.tree, "capi/include")) for n in names]
        texts += [os.path.join(ROOT, path) for path, _ in self.programs.values()]
        found = {m for t in texts for m in re.findall(r"^#include (<(?!poprt/)[\w./]+>)", open(t, encoding="utf-8").read(), re.M)}
        path = os.path.join(self.work, "others.h")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"#if __has_include({h})\n#include {h}\n#endif\n" for h in sorted(found - {"<span>"}))
        self.words = ["-std=c++17", "-DGTEST_HAS_PTHREAD=1", "-pthread"]
        self.must(["clang++-19", "-O0", "-w", *self.words, "-x", "c++-header", path, "-o", path[:-2] + ".pch"])

    def compiled(self, name, *more):
        """Compiles a test. "options" compiles its own program."""
        if name not in self.programs:
            return ""
        path, words = self.programs[name]
        others = ["-include-pch", os.path.join(self.work, "others.pch")] if "-std=c++17" in words else []
        target = os.path.join(self.work, name)
        made = self.run(["clang++-19", "-O0", "-w", "-pthread", *words, *others, *more, "-I" + os.path.join(self.tree, "capi/include"), "-c",
                         os.path.join(ROOT, path), "-o", target + ".o"])
        if made.returncode == 0:
            made = self.run(["clang++-19", *more, target + ".o", "-o", target, f"-L{self.out}/lib", "-lpoprt", "-lgtest", "-lgtest_main", "-pthread"])
        return made.stdout if made.returncode else ""

    def build(self, site):
        """Whether the headers compile. With site 0 the counters of all programs are taken."""
        path = os.path.join(self.work, "headers.cpp")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#include <poprt/poprt.hpp>\n#include <poprt/logging.hpp>\n")
        if site.line == 0:
            self.count()
        return self.run(["clang++-19", "-fsyntax-only", "-w", *self.words, "-include-pch", os.path.join(self.work, "others.pch"),
                         "-I" + os.path.join(self.tree, "capi/include"), path]).returncode == 0

    def count(self):
        """Runs all tests once, and stores which lines of the headers each reaches and what it costs. A later call with the same
        headers and tests takes the stored numbers."""
        files = [os.path.join(base, n) for top in ("capi/include/poprt", "tests/bindings/cpp", "tests/bindings/options", "tests/capi")
                 for base, _, names in os.walk(os.path.join(ROOT, top)) for n in names if n.endswith((".h", ".hpp", ".cpp", ".in", ".toml"))]
        texts = [open(f, "rb").read() for f in sorted(files)]
        state, path = hashlib.sha256(b"\0".join(texts)).hexdigest(), os.path.join(self.work, "../cpp_lines.json")
        stored = json.load(open(path, encoding="utf-8")) if os.path.exists(path) else {}
        stored = stored if stored.get("state") == state else {"state": state, "tests": {}}
        for name, command, folder, more in self.tests:
            if name not in stored["tests"]:
                start = time.monotonic()
                failed = self.compiled(name, "--coverage")
                made = self.run(command, 600, folder, OPTIONS_FLAGS="--coverage", **more)
                if failed or made.returncode:
                    raise Broken(f"{name}: {failed or made.stdout}"[-3000:])
                stored["tests"][name] = (time.monotonic() - start, [(*key, hit) for key, hit in self.reached(name).items()])
                written(path, stored)
            self.cost[name], lines = stored["tests"][name]
            self.lines[name] = {(header, line): hit for header, line, hit in lines}

    def reached(self, name):
        """{(header, line): whether it was reached} of a program that has just run. `gcov` finds the headers from this folder."""
        counts = {}
        for place in (self.work, os.path.join(self.work, "options")):
            for data in [n for n in (os.listdir(place) if os.path.exists(place) else []) if n.endswith(".gcda")]:
                self.must([GCOV, "gcov", os.path.join(place, data)])
                os.remove(os.path.join(place, data))
        for path in [n for n in os.listdir(self.work) if n.endswith(".gcov")]:
            for line in open(os.path.join(self.work, path), encoding="utf-8") if path.endswith(".hpp.gcov") else []:
                number = re.match(r" *([\d#=-]+)\*?: *(\d+):", line)
                if number and number.group(1) != "-":
                    key = (path[:-5], int(number.group(2)))
                    counts[key] = counts.get(key, False) or number.group(1)[0].isdigit() and number.group(1) != "0"
            os.remove(os.path.join(self.work, path))
        if not counts:
            raise Broken(f"{name} has no counts of lines")
        return counts

    def ordered(self, site):
        if site.line == 0:
            return []  # `count` has run them
        key = (os.path.basename(site.file), site.line)
        with open(os.path.join(ROOT, site.file), encoding="utf-8") as file:
            near = file.read().splitlines()[max(0, site.line - 16):site.line]
        known = any(key in lines for lines in self.lines.values()) and not any("constexpr" in line for line in near)
        tests = [t for t in self.tests if not known or self.lines[t[0]].get(key)]
        return sorted(tests, key=lambda t: self.cost[t[0]])


KINDS = {"python": Python, "java": Java, "csharp": CSharp, "go": Go, "cpp": Cpp}


def hangs(language, site, test, seconds):
    """Whether a test that exceeded the limit does so because of the mutant: without it, it takes less than a third of the limit.
    On a machine that has no time for it, the limit shows nothing, and the other tests decide."""
    name, command, folder, more = test
    language.restore(site)
    language.build(site)
    language.compiled(name)
    start = time.monotonic()
    passed = language.run(command, seconds, folder, **more).returncode == 0
    soon = passed and time.monotonic() - start < seconds / 3
    language.put(site)
    language.build(site)
    language.compiled(name)
    print(f"{language.name}: {name} exceeded the limit; without the mutant it is {'quick' if soon else 'slow, too: not counted'}", flush=True)
    return soon


def tried(language, site, seconds):
    """Returns (how, test) of the first test that fails, ("survived", "") or ("invalid", test) if a test does not compile with it."""
    tests = language.ordered(site)
    for name, command, folder, more in tests:
        refused = language.compiled(name)
        if refused:
            return ("assertion", name + " does not compile") if "static assertion failed" in refused else ("invalid", name)
        made = language.run(command, seconds, folder, **more)
        if made.returncode:
            with open(os.path.join(language.work, "output"), "w", encoding="utf-8") as file:
                file.write(made.stdout)
            if isinstance(language, Cpp) and re.search(r"^\d+ errors? generated\.$", made.stdout, re.M):
                return "invalid", name
            if made.returncode in (124, 137) and not hangs(language, site, (name, command, folder, more), seconds):
                continue
            return {124: "hang", 137: "hang", 134: "crash", 139: "crash"}.get(made.returncode, "assertion"), name
    return "survived", "" if tests else "no test reaches it"


def measure(name, options, known, save):
    """The results of a language. `known` are those of an earlier call that did not end; `save` takes all after each mutant."""
    language = KINDS[name](name, options)
    found = sites.find(ROOT, name)
    harmless = sites.Site(found[0].file, 0, "none", 0, 0, "", "without a mutant")
    language.put(harmless)
    if not language.build(harmless) or tried(language, harmless, options.seconds)[0] != "survived":
        raise Broken(f"{name}: the tests fail without a mutant: {open(os.path.join(language.work, 'output'), encoding='utf-8').read()[-3000:]}")
    print(f"{name}: the tests pass without a mutant", flush=True)
    rows, known = [], {(r["file"], r["line"], r["kind"], r["shown"]): r for r in known}
    for site in sites.drawn(random.Random(f"{name} {options.seed}"), found):
        if len(rows) == options.count:
            break
        earlier = known.get((site.file, site.line, site.kind, site.shown))
        if earlier:
            rows.append(earlier)
            continue
        language.put(site)
        start = time.monotonic()
        how, test = tried(language, site, options.seconds) if language.build(site) else ("invalid", "")
        if how != "invalid":
            rows.append({"language": name, "seed": options.seed, "file": site.file, "line": site.line, "kind": site.kind, "shown": site.shown,
                         "how": how, "test": test, "seconds": round(time.monotonic() - start, 1)})
            print(f"{name} {len(rows)}: {how} {test} ({rows[-1]['seconds']} s) {os.path.basename(site.file)}:{site.line} [{site.kind}] "
                  f"{site.shown}", flush=True)
            save(rows)
        language.restore(site)
        if name == "python":
            language.build(site)
    return rows


def report(rows):
    """Prints the table and the survivors."""
    with open(os.path.join(HERE, "equivalent.json"), encoding="utf-8") as file:
        equivalent = {(e["file"], e["change"]): e["reason"] for e in json.load(file)}
    print(f"{'language':10}{'mutants':>9}{'killed':>8}{'hang':>6}{'%':>5}")
    every = [0, 0]
    for name in KINDS:
        mine = [r for r in rows if r["language"] == name and (r["how"] != "survived" or (r["file"], r["shown"]) not in equivalent)]
        killed = [r for r in mine if r["how"] != "survived"]
        if mine:
            every = [every[0] + len(mine), every[1] + len(killed)]
            hangs = sum(r["how"] == "hang" for r in mine)
            print(f"{name:10}{len(mine):9}{len(killed):8}{hangs:6}{100 * len(killed) / len(mine):5.0f}")
    if every[0]:
        print(f"{'all':10}{every[0]:9}{every[1]:8}{'':6}{100 * every[1] / every[0]:5.0f}\n")
    for r in rows:
        if r["how"] == "survived":
            reason = equivalent.get((r["file"], r["shown"]), "")
            print(f"survived: {r['file']}:{r['line']} [{r['kind']}] {reason}\n    {r['shown']}")


def written(path, rows):
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--count", type=int, default=22)
    parser.add_argument("--language", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--seconds", type=int, default=80, help="the time limit of a group of tests")
    parser.add_argument("--json", help="the results, of several calls together; a call that ended early goes on")
    parser.add_argument("--before", default="", help="words before each command, for example of a queue for a shared machine")
    parser.add_argument("--report", action="store_true", help="only print the results in the file of --json")
    options = parser.parse_args()
    options.build, options.scratch = os.path.abspath(options.build), os.path.abspath(options.scratch)
    rows = json.load(open(options.json, encoding="utf-8")) if options.json and os.path.exists(options.json) else []
    for name in [] if options.report else options.language:
        known = [r for r in rows if r["language"] == name and r.get("seed") == options.seed]
        others = [r for r in rows if r["language"] != name]
        rows = others + measure(name, options, known, lambda mine, others=others: written(options.json, others + mine))
    report(rows)


if __name__ == "__main__":
    main()
