"""tests/support/steps.py: counts, progress, failures with their output, skipped tests with reasons."""

import os
import subprocess
import sys
import tempfile
import unittest

import tree

sys.path.insert(0, f"{tree.ROOT}/tests/support")
import steps  # noqa: E402

LINES = """Test project /b
      Start  1: a.one
1/4 Test  #1: a.one ............................   Passed    0.01 sec
      Start  2: a.two
2/4 Test  #2: a.two ............................***Failed    0.50 sec
expected 3, found 4

      Start  3: b.three
3/4 Test  #3: b.three ..........................***Skipped   0.10 sec
      Start  4: b.four
4/4 Test  #4: b.four ...........................***Timeout  10.00 sec

75% tests passed, 2 tests failed out of 4
Errors while running CTest
"""
LOG = """1/4 Testing: a.one
Output: fine
3/4 Testing: b.three
3/4 Test: b.three
Command: "x" "--skip"
x_test.cpp:5: Skipped
this CPU has no fp16 arithmetic
"""


class Steps(unittest.TestCase):
    def test_results_are_counted_and_failures_shown(self):
        shown = []
        step = steps.Step(shown.append)
        for line in LINES.splitlines():
            step.take(line)
        self.assertEqual((step.passed, step.failed, step.skipped), (1, ["a.two", "b.four"], ["b.three"]))
        self.assertIn("expected 3, found 4", shown)
        self.assertNotIn("      Start  3: b.three", shown)
        self.assertFalse([line for line in shown if "a.one" in line])
        self.assertEqual(step.summary[-2:], ["75% tests passed, 2 tests failed out of 4", "Errors while running CTest"])
        self.assertEqual(step.counts(), "1 passed, 2 failed, 1 skipped, ")

    def test_reasons_from_the_junit_file_of_ctest(self):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write('<testsuite><testcase name="a.one"><skipped/><system-out>SKIPPED: no wheel &amp; no net</system-out></testcase>'
                       '<testcase name="a.two"><system-out>fine</system-out></testcase></testsuite>')
            file.flush()
            self.assertEqual(steps.reasons(steps.outputs(file.name)), {"a.one": "SKIPPED: no wheel & no net"})
        self.assertEqual(steps.outputs("/no/such/file.xml"), "")

    def test_reasons_of_skipped_tests(self):
        self.assertEqual(steps.reasons(LOG), {"b.three": "this CPU has no fp16 arithmetic"})

    def ran(self, *command):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "x.log")
            ran = subprocess.run([sys.executable, f"{tree.ROOT}/tests/support/steps.py", "build", log, *command], text=True,
                                 capture_output=True, check=False)
            with open(log, encoding="utf-8") as file:
                return ran, file.read()

    def test_a_step_is_a_few_lines(self):
        code = "for i in range(1, 201): print(f'[{i}/200] Building x{i}')"
        ran, log = self.ran(sys.executable, "-c", code)
        self.assertEqual((ran.returncode, log.count("\n")), (0, 200))
        lines = ran.stdout.splitlines()
        self.assertLess(len(lines), 15)
        self.assertEqual(lines[0], "== build")
        self.assertRegex(lines[-1], r"^== build: done in \d+ s; whole output: ")

    def test_a_failed_step_shows_the_end_of_its_output_and_its_code(self):
        ran, _ = self.ran(sys.executable, "-c", "print('x.cpp:3: error: no'); raise SystemExit(7)")
        self.assertEqual(ran.returncode, 7)
        self.assertIn("x.cpp:3: error: no", ran.stdout)
        self.assertIn("== build: failed with code 7", ran.stdout)


class Usage(unittest.TestCase):
    def test_words_that_are_no_argument_print_the_usage(self):
        for script, line in (("tests/run_all", "Installs what is missing, builds, and runs every test."),
                             ("tests/support/arm64_root", "usage: arm64_root FOLDER"), ("tests/run_long", "usage: tests/run_long NAME")):
            done = subprocess.run([f"{tree.ROOT}/{script}", "--help"], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertTrue(done.stderr.startswith(line), done.stderr)


class InstallPackages(unittest.TestCase):
    """tests/support/install_packages with a dpkg that has no package and an apt-get that prints its status."""

    def run_with(self, apt):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("dpkg-query", "exit 1"), ("apt-get", f'[ "$1" = update ] || {{ {apt}; }}'), ("sudo", 'exec "$@"')):
                with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\n{text}\n")
                os.chmod(file.name, 0o755)
            return subprocess.run([f"{tree.ROOT}/tests/support/install_packages"], capture_output=True, text=True, check=False,
                                  env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})

    def test_progress_is_printed(self):
        done = self.run_with("for i in 1.5 9.9 12 57.3; do echo dlstatus:1:$i:text; echo other; done; echo pmstatus:a:100.0:text")
        self.assertEqual(done.stderr.splitlines()[1:], ["downloaded 0 %", "downloaded 10 %", "downloaded 50 %", "installed 100 %"])
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_failures_have_the_exit_code_of_apt(self):
        self.assertEqual(self.run_with("echo E: broken >&2; exit 100").returncode, 100)


if __name__ == "__main__":
    unittest.main()
