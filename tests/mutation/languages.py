"""How many bugs in the hand-written bindings do their tests notice?

    languages.py --build build/release --scratch ../mutants --seed 1 [--count 22] [--language java ...] [--json FILE]

For each language a seed draws places (language_sites.py). One at a time, a place of a copy of the sources is changed, the language's
compiler builds what depends on it, and the language's tests run, the shortest first, until one fails. What does not compile is
replaced by the next of the draw. Needs a build of the bindings and of their tests, which it does not change."""

import argparse
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
        self.tests = [("nunit", ["nunit-console", "-nologo", "-noshadow", "-xml=" + os.path.join(self.work, "result.xml"), "Scenarios.dll"],
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
    """Programs are compiled from the headers of the copy: the scenarios first, then the tests of the C++ wrapper."""

    def prepare(self):
        with open(os.path.join(self.out, "compile_commands.json"), encoding="utf-8") as file:
            commands = {os.path.relpath(e["file"], ROOT): e["command"] for e in json.load(file)}
        self.programs = {}
        wanted = {"scenarios": ["tests/bindings/cpp/" + n for n in ("contract_test.cpp", "scenario_test.cpp", "scenario_models_test.cpp")]}
        wanted.update({n: [f"tests/capi/{n}_test.cpp"] for n in ("cpp_run", "cpp_popef", "cpp_wrapper", "cpp_export", "cpp_passes",
                                                                     "documented_names")})
        for name, files in wanted.items():
            words = re.findall(r"-D\S+|-std=\S+", commands[files[0]].replace('\\"', '"'))
            self.programs[name] = (files, words)
        self.tests = [(name, [os.path.join(self.work, name)], None, {}) for name in self.programs]
        self.tests.insert(1, self.options(["c++"], OPTIONS_INCLUDE=os.path.join(self.tree, "capi/include")))

    def compiled(self, name):
        files, words = self.programs[name]
        main = [] if name == "scenarios" else ["-lgtest_main"]
        return self.run(["clang++-19", "-O0", "-w", *words, "-I" + os.path.join(self.tree, "capi/include"),
                         *(os.path.join(ROOT, f) for f in files), "-o", os.path.join(self.work, name), f"-L{self.out}/lib", "-lpoprt", "-lgtest",
                         *main, "-pthread"])

    def build(self, site):
        return self.compiled("scenarios").returncode == 0


KINDS = {"python": Python, "java": Java, "csharp": CSharp, "go": Go, "cpp": Cpp}


def tried(language, site, seconds):
    """(how, test) of the first test that fails, or ("survived", "")."""
    for name, command, folder, more in language.ordered(site):
        if isinstance(language, Cpp) and name not in ("scenarios", "options") and language.compiled(name).returncode:
            return "assertion", name + " does not compile"
        made = language.run(command, seconds, folder, **more)
        if made.returncode:
            with open(os.path.join(language.work, "output"), "w", encoding="utf-8") as file:
                file.write(made.stdout)
            return {124: "hang", 137: "hang", 134: "crash", 139: "crash"}.get(made.returncode, "assertion"), name
    return "survived", ""


def measure(name, options):
    """The results of a language."""
    language = KINDS[name](name, options)
    found = sites.find(ROOT, name)
    harmless = sites.Site(found[0].file, 0, "none", 0, 0, "", "without a mutant")
    language.put(harmless)
    if not language.build(harmless) or tried(language, harmless, options.seconds)[0] != "survived":
        raise Broken(f"{name}: the tests fail without a mutant: {open(os.path.join(language.work, 'output'), encoding='utf-8').read()[-3000:]}")
    rows = []
    for site in sites.drawn(random.Random(f"{name} {options.seed}"), found):
        if len(rows) == options.count:
            break
        language.put(site)
        start = time.monotonic()
        if language.build(site):
            how, test = tried(language, site, options.seconds)
            rows.append({"language": name, "file": site.file, "line": site.line, "kind": site.kind, "shown": site.shown, "how": how,
                         "test": test, "seconds": round(time.monotonic() - start, 1)})
            print(f"{name} {len(rows)}: {how} {test} ({rows[-1]['seconds']} s) {os.path.basename(site.file)}:{site.line} [{site.kind}] "
                  f"{site.shown}", flush=True)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--count", type=int, default=22)
    parser.add_argument("--language", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--seconds", type=int, default=80, help="the time limit of a group of tests")
    parser.add_argument("--json", help="the results, of several calls together")
    parser.add_argument("--before", default="", help="words before each command, for example of a queue for a shared machine")
    parser.add_argument("--report", action="store_true", help="only print the results in the file of --json")
    options = parser.parse_args()
    options.build, options.scratch = os.path.abspath(options.build), os.path.abspath(options.scratch)
    rows = json.load(open(options.json, encoding="utf-8")) if options.json and os.path.exists(options.json) else []
    for name in [] if options.report else options.language:
        rows = [r for r in rows if r["language"] != name] + measure(name, options)
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump(rows, file, indent=1)
    report(rows)


if __name__ == "__main__":
    main()
