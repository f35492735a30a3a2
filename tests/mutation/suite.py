"""Lists the tests of a build with CTest, and runs one or several of them in one process. Each method of a file of unittest is
a separate test."""

import ast
import dataclasses
import json
import os
import re
import resource
import signal
import subprocess

FAILED = re.compile(r"^\[  FAILED  \] ([^\s,(]+)", re.M)
STARTED = re.compile(r"^\[ RUN      \] (\S+)", re.M)
SHOWN = 40_000  # characters of a test's output that are kept


@dataclasses.dataclass
class Test:
    name: str
    command: list
    folder: str
    environment: dict
    filter: str = ""  # the name in GoogleTest; empty for other tests
    seconds: float = 0.0
    passes: bool = True
    reached: set = dataclasses.field(default_factory=set)  # mutants

    @property
    def part(self):
        return self.name.split(".")[0]


@dataclasses.dataclass
class Result:
    how: str  # "passed", "assertion", "crash" or "hang"
    test: str = ""  # the name in GoogleTest of the test that failed
    output: str = ""


def listed(build, wanted):
    """Returns the tests whose names match, without those of programs that were not built."""
    shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, check=True, capture_output=True).stdout
    tests = []
    for entry in json.loads(shown)["tests"]:
        command = entry.get("command", [])
        if not command or not re.search(wanted, entry["name"]) or not os.path.isfile(command[0]):
            continue
        properties = {p["name"]: p["value"] for p in entry.get("properties", [])}
        environment = dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", []))
        test = Test(entry["name"], command, properties.get("WORKING_DIRECTORY", build), environment)
        if len(command) == 2 and command[1].startswith("--gtest_filter="):  # tests/support/discover_tests.cmake
            test.filter = command[1].removeprefix("--gtest_filter=")
            test.command = command[:1]
        tests += cases(test) or methods(test) or [test]
    return tests


def cases(test):
    """Splits a test of CTest with parameters or types into one test for each of them."""
    if "*" not in test.filter:
        return []
    shown = subprocess.run([*test.command, "--gtest_list_tests", "--gtest_filter=" + test.filter], cwd=test.folder, check=True,
                           capture_output=True, text=True).stdout
    prefix, suite, found = test.name[:test.name.index(test.filter.split("/*")[0].split(".")[0])], "", []
    for line in shown.splitlines():
        if line.startswith("  "):
            found.append(suite + line.split()[0])
        elif line.split(" ")[0].endswith("."):
            suite = line.split(" ")[0]
    return [dataclasses.replace(test, name=prefix + case, filter=case) for case in found]


def methods(test):
    """Splits a file of unittest into one test for each method, because a method takes less time and reaches fewer mutants."""
    path = test.command[-1]
    if not path.endswith("_test.py"):
        return []
    with open(path, encoding="utf-8") as file:
        classes = [c for c in ast.parse(file.read()).body if isinstance(c, ast.ClassDef)]
    return [dataclasses.replace(test, name=f"{test.name}.{c.name}.{f.name}", command=[*test.command, f"{c.name}.{f.name}"])
            for c in classes for f in c.body if isinstance(f, ast.FunctionDef) and f.name.startswith("test_")]


def limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 30, 16 << 30))  # some tests write sparse files of 6 GB; a test with 1 TiB fails and is not used
    resource.setrlimit(resource.RLIMIT_AS, (10 << 30, 10 << 30))


def run(tests, seconds, environment):
    """Runs tests of one program in one process, which ends at the first failure; or one test of another kind."""
    first = tests[0]
    command = list(first.command)
    if first.filter:
        command += ["--gtest_filter=" + ":".join(t.filter for t in tests), "--gtest_fail_fast", "--gtest_brief=0",
                    "--gtest_color=no", "--gtest_also_run_disabled_tests"]
    process = subprocess.Popen(command, cwd=first.folder, env={**environment, **first.environment}, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               errors="replace", process_group=0, preexec_fn=limits)
    try:
        output, _ = process.communicate(timeout=seconds)
        how = "passed" if process.returncode == 0 else "crash" if process.returncode < 0 else "assertion"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        how = "hang"
    if how == "passed":
        return Result(how)
    started, failed = STARTED.findall(output), FAILED.findall(output)
    if how == "assertion" and first.filter and not failed:
        how = "crash"  # it exited and reported no failed test
    name = failed[0] if how == "assertion" and failed else started[-1] if started else first.filter
    return Result(how, name, output[-SHOWN:])
