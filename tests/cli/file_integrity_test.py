"""Commands with PopEF files that are damaged, or that change while they are used."""

import concurrent.futures
import os
import resource
import signal
import struct
import subprocess
import time
import unittest
import zipfile

import popef_dump_test
from support import DIGITS, CommandTest, model

FOREVER = ["--random", "--iterations", "1000000000"]


class FileIntegrity(CommandTest):
    def digits(self):
        return self.popef(DIGITS, "--input_shape", "image=2,1,8,8")

    def flipped(self, popef, offset):
        with open(popef, "r+b") as file:
            file.seek(offset)
            byte, = file.read(1)
            file.seek(offset)
            file.write(bytes([byte ^ 4]))
        return popef

    def weight(self, popef):
        """The position of a weight: the last byte of the executable's payload that is not zero."""
        with open(popef, "rb") as file:
            data = file.read()
        at = 0
        while at < len(data):
            kind, _, size, _, _, payload, stored = struct.unpack_from("<IIQIIQQ", data, at + 16)
            if kind == 1:
                return at + payload + len(data[at + payload:at + payload + stored].rstrip(b"\0")) - 1
            at += size
        return None

    def test_one_flipped_bit_of_a_weight_is_found(self):
        popef = self.digits()
        self.assertIn("all checksums are right\n", self.succeeds("--verify", popef, command="popef_dump"))
        self.succeeds(popef, "--random", "--verify", command="poprt_exec run")
        self.flipped(popef, self.weight(popef))
        facts = ["executable.popef", "blob 'digits'", "is damaged: its payload has checksum 0x"]
        self.command = "popef_dump"
        self.fails(["--verify", popef], *facts)
        self.command = "poprt_exec run"
        for load in ("map", "copy"):
            self.fails([popef, "--random", "--verify", "--load", load], *facts)
        self.succeeds(popef, "--random")  # the same file runs without a check

    def test_a_wrong_checksum_of_metadata_precedes_its_contents(self):
        popef = self.digits()
        with open(popef, "rb") as file:
            data = file.read()
        self.flipped(popef, data.index(b"scores"))
        for command, words in (("popef_dump", ["--verify", popef]), ("poprt_exec run", [popef, "--random", "--verify"])):
            self.command = command
            self.fails(words, "is damaged: its payload has checksum 0x")

    def test_verify_reports_missing_checksums(self):
        text = self.succeeds("--verify", popef_dump_test.RELEASED, command="popef_dump")
        self.assertIn("no blob has a checksum\n", text)

    def test_a_truncated_file_is_refused(self):
        popef = self.digits()
        os.truncate(popef, os.path.getsize(popef) - 64)
        self.command = "popef_dump"
        self.fails(["--verify", popef], "executable.popef", "truncated")

    def running(self, *words):
        process = subprocess.Popen(self.arguments([*words, *FOREVER], "poprt_exec run"), cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        # A process that has used some time of the CPU runs the model.
        used = 0
        while process.poll() is None and used < 30:
            time.sleep(0.05)
            with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            used = int(fields[11]) + int(fields[12])
        return process

    def test_a_mapped_file_that_is_truncated_ends_the_command_with_one_line(self):
        popef = self.digits()
        process = self.running(popef)
        os.truncate(popef, 4096)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (1, ""), err)
        self.assertEqual(err, f"poprt_exec: '{popef}' was truncated while it was used\n")

    def test_a_copy_does_not_depend_on_its_file(self):
        popef = self.digits()
        process = self.running(popef, "--load", "copy")
        os.truncate(popef, 0)
        time.sleep(0.5)
        self.assertIsNone(process.poll())

    def test_the_limit_of_file_sizes_is_an_error(self):
        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)

        for words in (["poprt", "-i", DIGITS, "--input_shape", "image=2,1,8,8", "--export_popef"],
                      ["poprt", "-i", DIGITS, "--input_shape", "image=2,1,8,8", "--output_model", "m.onnx"],
                      ["popef_dump", "--feed", "x", "--executable", "compressed", popef_dump_test.RELEASED],
                      ["poprt_exec", "run", model("relu"), "--random", "--output", "y=y.npy"]):
            with self.subTest(words):
                before = self.tree()
                for named in ({}, {"POPRT_NAMED_TEMPORARIES": "1"}):
                    ran = subprocess.run(self.arguments(words[1:], words[0]), cwd=self.folder, text=True, timeout=300,
                                         capture_output=True, check=False, preexec_fn=limited,
                                         env={**os.environ, **named})
                    if ran.returncode == 0:  # its files are smaller than the limit
                        continue
                    self.assertEqual(ran.returncode, 1, ran.stderr)
                    self.assertIn("File too large", ran.stderr)
                    self.assertEqual(set(self.tree()) - set(before), set())


class Archives(CommandTest):
    command = "poprt_exec run"

    def test_an_npz_is_refused_before_it_is_unpacked(self):
        self.skip_if_sanitized()
        count = 100 << 20
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count},), }}".ljust(117) + "\n"
        with zipfile.ZipFile(self.path("zeros.npz"), "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            with archive.open("arr_0.npy", "w", force_zip64=True) as member:
                member.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
                for _ in range(4 * count >> 20):
                    member.write(bytes(1 << 20))
        self.assertLess(os.path.getsize(self.path("zeros.npz")), 4 << 20)

        def limited():
            resource.setrlimit(resource.RLIMIT_DATA, (300 << 20, 300 << 20))

        ran = subprocess.run(self.arguments([model("relu"), "--input", "x=zeros.npz"]), cwd=self.folder, text=True,
                             capture_output=True, timeout=300, check=False, preexec_fn=limited)
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn("but its arrays have 419430528", ran.stderr)

    def test_one_compressed_array_of_equal_elements_is_read(self):
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".ljust(117) + "\n"
        with zipfile.ZipFile(self.path("x.npz"), "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("arr_0.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(24))
        self.fails([model("relu"), "--input", "x=x.npz"], "'x.npz' is for a sequence, but input 'x' is f32[2,3]")


class PipesAndDevices(CommandTest):
    """They are read once, refused, or bounded in size and time."""

    command = "poprt"

    def refused(self, words, *facts):
        begin = time.monotonic()
        error = self.fails(words, *facts)
        self.assertLess(time.monotonic() - begin, 60)
        return error

    def test_devices_without_end_are_refused(self):
        for device in ("/dev/zero", "/dev/urandom"):
            self.refused(["-i", device], f"'{device}' is a device and has more than 16777216 bytes")
            self.misused(["-i", DIGITS, "--config_yaml", device], f"'{device}' has more than 1048576 bytes")
        self.refused(["-i", "/dev/null"], "nothing could be read from '/dev/null'")

    def pipe(self):
        os.mkfifo(self.path("pipe"))
        self.addCleanup(os.remove, self.path("pipe"))
        return self.path("pipe")

    def tree(self):
        return sorted(os.listdir(self.folder))  # a pipe cannot be read

    def test_a_pipe_without_writer_is_refused(self):
        pipe = self.pipe()
        several = (["-i", pipe], ["-i", DIGITS, "--config_yaml", pipe], ["-i", DIGITS, "--manual_sharding_config", pipe])
        with concurrent.futures.ThreadPoolExecutor() as pool:  # each waits for some seconds
            list(pool.map(lambda words: self.refused(words, f"no process writes to the pipe '{pipe}'"), several))
        for command in ("popef_dump", "poprt_exec run"):
            self.command = command
            self.refused([pipe], "expected a regular file, found a device, pipe or socket")

    def test_a_pipe_is_read_to_its_end(self):
        pipe = self.pipe()
        writer = subprocess.Popen(["sh", "-c", f"cat '{DIGITS}' > '{pipe}'"])
        self.addCleanup(writer.wait)
        self.succeeds("-i", pipe, "--input_shape", "image=2,1,8,8", "--output", "digits.popef")
        with open(self.path("options.yaml"), "w", encoding="utf-8") as file:
            file.write("output: other.popef\n")
        text = subprocess.Popen(["sh", "-c", f"sleep 0.2; cat options.yaml > '{pipe}'"], cwd=self.folder)
        self.addCleanup(text.wait)
        self.succeeds("-i", DIGITS, "--input_shape", "image=2,1,8,8", "--config_yaml", pipe)
        self.assertTrue(os.path.exists(self.path("other.popef")))


if __name__ == "__main__":
    unittest.main()
