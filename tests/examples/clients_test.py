"""A client of examples/clients has the accuracy of the training with poprt_serve, and reports an error of the server.

    clients_test.py LANGUAGE EXAMPLES BIN TOOL: TOOL is the compiled client in C++, go, java or mcs
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

LANGUAGE, EXAMPLES, BIN, TOOL = sys.argv[1:]
CLIENTS, DIGITS = (os.path.join(EXAMPLES, name) for name in ("clients", "digits"))
DATA = [os.path.join(DIGITS, name) for name in ("heldout-images.idx3-ubyte", "heldout-labels.idx1-ubyte")]


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        subprocess.run([os.path.join(BIN, "poprt"), "-i", os.path.join(DIGITS, "digits.onnx"), "--input_shape", "image=8,1,8,8",
                        "--export_popef", "--output_dir", os.path.join(cls.folder, "models/digits/1")], check=True, capture_output=True)
        cls.server = subprocess.Popen([os.path.join(BIN, "poprt_serve"), os.path.join(cls.folder, "models"), "--http_port", "0",
                                       "--grpc_port", "0", "--threads", "1"], stderr=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.stop)
        line = ""
        while not line.startswith("poprt_serve: http "):
            line = cls.server.stderr.readline()
            assert line, "the server ended"
        http, grpc = re.findall(r":(\d+)", line)
        cls.address = f"127.0.0.1:{grpc if LANGUAGE == 'cpp' else http}"
        cls.command = cls.built()

    @classmethod
    def stop(cls):
        cls.server.send_signal(signal.SIGTERM)
        cls.server.stderr.read()
        assert cls.server.wait(60) == 0
        cls.server.stderr.close()

    @classmethod
    def built(cls):
        program = os.path.join(cls.folder, "client")
        if LANGUAGE == "go":
            environment = dict(os.environ, GOPROXY="off", GOTOOLCHAIN="local", GO111MODULE="off", CGO_ENABLED="0")
            subprocess.run([TOOL, "build", "-o", program, os.path.join(CLIENTS, "client.go")], check=True, env=environment)
            return [program]
        if LANGUAGE == "java":
            return [TOOL, "-XX:TieredStopAtLevel=1", os.path.join(CLIENTS, "Client.java")]
        if LANGUAGE == "csharp":
            subprocess.run([TOOL, "-warnaserror", f"-out:{program}.exe", os.path.join(CLIENTS, "Client.cs")], check=True)
            return ["mono", program + ".exe"]
        return [TOOL]

    def run_client(self, model, files=DATA):
        return subprocess.run([*self.command, self.address, model, *files], capture_output=True, text=True, check=False)

    def test_the_accuracy_is_that_of_the_training(self):
        done = self.run_client("digits")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(DIGITS, "accuracy.json"), encoding="utf-8") as file:
            expected = json.load(file)["fp32"]
        self.assertAlmostEqual(float(re.search("accuracy ([0-9.]+)", done.stdout)[1]), expected, delta=0.001)

    def test_an_error_of_the_server_ends_the_program(self):
        done = self.run_client("absent")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("there is no model 'absent'", done.stderr)

    @unittest.skipUnless(LANGUAGE == "cpp", "the others do not read beyond the end of an array")
    def test_files_without_images_are_refused(self):
        short = os.path.join(self.folder, "short")
        with open(DATA[0], "rb") as file, open(short, "wb") as copy:
            copy.write(file.read(2000))
        for files, fact in (((short, DATA[1]), "different numbers of images"), ((DATA[1], DATA[1]), "is no IDX file of bytes with 3 dimensions"),
                            ((os.path.join(DIGITS, "digits.onnx"), DATA[1]), "digits.onnx is no IDX file"), (("/none", DATA[1]), "/none cannot be opened")):
            done = self.run_client("digits", files)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(fact, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
