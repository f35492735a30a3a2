"""Helpers of the command line tests: run a command in a new folder and check how it fails."""

import os
import pty
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

BIN = os.environ["POPRT_BIN"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.path.join(ROOT, "tests", "data", "cli")
RECORDS = os.path.join(ROOT, "tests", "data")
DIGITS = os.path.join(ROOT, "examples", "digits", "digits.onnx")

STAMP = re.compile(r"\d{4}-\d\d-\d\d [\d:,]+ (\w+ \[poprt\]) \S+\] ")  # the beginning of a line of the log


def model(name):
    return os.path.join(DATA, name + ".onnx")


class Result:
    def __init__(self, process):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr


class CommandTest(unittest.TestCase):
    """`self.folder` is a new empty folder and the working directory of every command."""

    command = ""  # such as "poprt_exec run"

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def arguments(self, words, command=None):
        program, *sub = (command or self.command).split()
        return [os.path.join(BIN, program), *sub, *[str(w) for w in words]]

    def run_command(self, *words, command=None):
        return Result(subprocess.run(self.arguments(words, command), cwd=self.folder, text=True, timeout=300,
                                     stdin=subprocess.DEVNULL, capture_output=True))

    def begun(self, words, folder, environment, command=None, **more):
        """Starts a process that will be interrupted. Its streams are a file of the test: if the process wrongly removes its
        open files, it does not remove /dev/null."""
        with open(self.path("streams"), "w+b") as streams:
            return subprocess.Popen(self.arguments(words, command), cwd=folder, env=environment, stdin=streams, stdout=streams,
                                    stderr=streams, **more)

    def succeeds(self, *words, command=None):
        result = self.run_command(*words, command=command)
        self.assertEqual((result.code, result.err), (0, ""), f"{words}: {result.err}")
        return result.out

    def skip_if_sanitized(self):
        """Skips a test that limits the address space or the data of the command."""
        with open(self.arguments([])[0], "rb") as file:
            code = file.read()
        if b"__asan_init" in code or b"__tsan_init" in code:
            self.skipTest("sanitizers need all of the address space")

    def tree(self):
        """Every file with its content and every folder under self.folder."""
        found = {}
        for folder, folders, files in os.walk(self.folder):
            for name in folders:
                found[os.path.relpath(os.path.join(folder, name), self.folder)] = None
            for name in files:
                with open(os.path.join(folder, name), "rb") as file:
                    found[os.path.relpath(os.path.join(folder, name), self.folder)] = file.read()
        return found

    def fails(self, words, *facts, code=1):
        """One line on stderr that starts with the command and names every fact; nothing on stdout, no file
        made, changed or left over."""
        before = self.tree()
        result = self.run_command(*words)
        self.assertEqual(result.code, code, f"{words}: {result.out}{result.err}")
        self.assertEqual(result.err.count("\n"), 1, f"not one line: {result.err}")
        self.assertTrue(result.err.startswith(self.command + ": "), result.err)
        for fact in facts:
            self.assertIn(fact, result.err)
        self.assertEqual(result.out, "")
        self.assertEqual(self.tree(), before)
        return result.err

    def misused(self, words, *facts):
        """As fails(), for wrong usage: exit code 2 and a pointer to the help."""
        return self.fails(words, *facts, "--help", code=2)

    def on_terminal(self, *words):
        """Runs with a terminal for stdout and stderr: returns the exit code and the whole output."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            arguments = self.arguments(words)
            os.execv(arguments[0], arguments)
        shown = b""
        while True:
            try:
                data = os.read(terminal, 4096)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            shown += data
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()

    def popef(self, onnx, *words):
        """Compiles, and returns the path of the PopEF file."""
        out = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, out)
        self.succeeds("-i", onnx, "--output_dir", out, "--export_popef", *words, command="poprt")
        return os.path.join(out, "executable.popef")

    def npy(self, name, code, shape, values, order="<", fortran=False):
        """Writes a .npy file; `code` is NumPy's, such as "f4"."""
        dims = ", ".join(str(d) for d in shape) + ("," if len(shape) == 1 else "")
        header = f"{{'descr': '{order}{code}', 'fortran_order': {fortran}, 'shape': ({dims}), }}"
        header = header.ljust(-(-(len(header) + 11) // 64) * 64 - 11) + "\n"
        letter = {"f4": "f", "f2": "e", "f8": "d", "i8": "q", "i4": "i", "u2": "H", "i1": "b", "u1": "B", "b1": "B"}[code]
        return self.write(name, b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                          struct.pack(f"{order if order != '|' else '<'}{len(values)}{letter}", *values))

    def tensor_pb(self, name, elem_type, shape, raw):
        """Writes an ONNX TensorProto with raw data; sizes below 128."""
        dims = b"".join(struct.pack("BB", 0x08, d) for d in shape)
        return self.write(name, dims + struct.pack("BB", 0x10, elem_type) + struct.pack("BB", 0x4A, len(raw)) + raw)

    def text_npy(self, name, shape, words):
        """Writes a .npy file of text, with elements of the longest word's length."""
        width = max(map(len, words))
        self.npy(name, "u1", [0], [])
        with open(self.path(name), "rb") as file:
            head = file.read().replace(b"'<u1'", f"'<U{width}'".encode()).replace(b"(0,)", str(tuple(shape)).encode())
        data = b"".join(w.ljust(width, "\0").encode("utf-32-le") for w in words)
        self.write(name, head[:8] + struct.pack("<H", len(head) - 10) + head[10:] + data)

    def read_text_npy(self, name):
        with open(self.path(name), "rb") as file:
            data = file.read()
        length, = struct.unpack("<H", data[8:10])
        width = int(data[10:10 + length].split(b"'<U")[1].split(b"'")[0])
        text = data[10 + length:].decode("utf-32-le")
        return [text[i:i + width].rstrip("\0") for i in range(0, len(text), width)]

    def read_npy(self, path):
        """Header text and values (float32, or integers)."""
        with open(path, "rb") as file:
            data = file.read()
        self.assertEqual(data[:8], b"\x93NUMPY\x01\x00")
        length, = struct.unpack("<H", data[8:10])
        self.assertEqual((10 + length) % 64, 0)
        payload = data[10 + length:]
        header = data[10:10 + length].decode()
        size, code = {"i8": (8, "q"), "i4": (4, "i"), "f2": (2, "e"), "u2": (2, "H"), "i1": (1, "b"), "u1": (1, "B")}.get(header.split("'")[3][1:], (4, "f"))
        return header, list(struct.unpack(f"<{len(payload) // size}{code}", payload))


class RecordedTest(CommandTest):
    """Compares the output of commands with a file of tests/data; with POPRT_WRITE_RECORDS it writes the file: review its diff."""

    maxDiff = None

    def plain(self, text):
        """The text without times and paths of this machine."""
        return STAMP.sub(r"\1 ", text).replace(self.folder, "FOLDER").replace(ROOT, "ROOT")

    def expect_recorded(self, name, text):
        path = os.path.join(RECORDS, name)
        if os.environ.get("POPRT_WRITE_RECORDS"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return
        with open(path, encoding="utf-8") as file:
            self.assertEqual(text.split("\n"), file.read().split("\n"))
