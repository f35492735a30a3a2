"""Runs one step of tests/run_all or examples/quickstart. Prints one line when it begins, its progress, and a line with counts and time at the end. The whole
output is in a file.

Usage: steps.py NAME LOG COMMAND...

Failures of tests are printed with their output when they occur, skipped tests with their reasons at the end, and CTest's summary
unchanged as the last lines. If the command fails otherwise, the end of its output is printed. The exit code is that of the command."""

import re
import subprocess
import sys
import time
import xml.etree.ElementTree

PROGRESS = re.compile(r"^\s*\[?(\d+)/(\d+)[\] ]")
RESULT = re.compile(r"^\s*\d+/\d+ Test\s+#\d+: (\S+) [. ]*(\*\*\*\S.*?|Passed)\s+[\d.]+ sec")
NEXT = re.compile(r"^\s*(Start\s+\d+:|\d+/\d+ Test\s+#)")
SUMMARY = re.compile(r"^\d+% tests passed")
SKIPPED = re.compile(r"\bskip", re.I)
TAIL = 60  # lines of a failed step


def reasons(log):
    """Returns the reason of each skipped test, from the output of each test after a line "N/N Testing: NAME"."""
    found = {}
    for part in re.split(r"^\d+/\d+ Testing: ", log, flags=re.M)[1:]:
        name, _, rest = part.partition("\n")
        lines = [line.strip() for line in rest.splitlines()]
        for at, line in enumerate(lines):
            if SKIPPED.search(line) and not line.startswith(("Command:", "\"", "[  SKIPPED", "Test Pass", "Test Fail")):
                after = lines[at + 1] if line.endswith(": Skipped") and at + 1 < len(lines) else line
                found[name.strip()] = after[:160]
                break
    return found


def outputs(path):
    """The outputs of tests in the file of `ctest --output-junit`. Tests that call CTest overwrite LastTest.log."""
    try:
        cases = xml.etree.ElementTree.parse(path).iter("testcase")
    except (OSError, xml.etree.ElementTree.ParseError):
        return ""
    return "".join(f"1/1 Testing: {case.get('name')}\n{case.findtext('system-out', '')}\n" for case in cases)


class Step:
    """Collects the results of tests and the summary from the lines of one command, and shows the progress."""

    def __init__(self, show, terminal=False):
        self.show, self.terminal = show, terminal
        self.passed, self.failed, self.skipped = 0, [], []
        self.percent, self.through, self.summary = -1, False, []

    def take(self, line):
        if self.summary or SUMMARY.match(line):
            self.summary.append(line)
            return
        if NEXT.match(line):
            self.through = False
        result = RESULT.match(line)
        if result:
            name, outcome = result.groups()
            if outcome == "Passed":
                self.passed += 1
            elif "Skipped" in outcome or "Disabled" in outcome:
                self.skipped.append(name)
            else:
                self.failed.append(name)
                self.through = True
        if self.through:
            self.show(line)
            return
        progress = PROGRESS.match(line)
        if progress:
            self.progressed(100 * int(progress[1]) // max(int(progress[2]), 1))

    def progressed(self, percent):
        step = 1 if self.terminal else 10
        if percent // step > self.percent // step:
            self.percent = percent
            print(f"\r   {percent:3d}%" if self.terminal else f"   {percent}%", end="" if self.terminal else "\n", flush=True)

    def counts(self):
        if not (self.passed or self.failed or self.skipped):
            return ""
        return f"{self.passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped, "


def main(name, path, command):
    print(f"== {name}", flush=True)
    begin = time.monotonic()
    tail = []
    step = Step(lambda line: print(line, flush=True), sys.stdout.isatty())
    with open(path, "w", encoding="utf-8", errors="replace") as log:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as process:
            for line in process.stdout:
                log.write(line)
                line = line.rstrip("\n")
                tail = [*tail[-TAIL:], line]
                step.take(line)
    if step.terminal:
        print("\r", end="")
    if process.returncode and not step.failed:
        print("\n".join(tail))
    return step, process.returncode, time.monotonic() - begin


def report_skipped(step, log):
    why = reasons(log)
    groups = {}
    for test in step.skipped:
        groups.setdefault(why.get(test, "no reason printed"), []).append(test)
    for reason, tests in sorted(groups.items()):
        print(f"   skipped: {', '.join(tests[:4])}{f' and {len(tests) - 4} more' if len(tests) > 4 else ''}: {reason}")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    done, code, seconds = main(sys.argv[1], sys.argv[2], sys.argv[3:])
    if done.skipped:
        report_skipped(done, outputs(sys.argv[2].rsplit(".", 1)[0] + ".xml"))
    print(f"== {sys.argv[1]}: {done.counts()}{'failed with code ' + str(code) if code else 'done'} in {seconds:.0f} s; "
          f"whole output: {sys.argv[2]}", flush=True)
    print("".join(line + "\n" for line in done.summary), end="", flush=True)
    sys.exit(code if code >= 0 else 128 - code)
