"""The messages of mypy for the package and for right and wrong code that uses it."""

import os
import shutil
import subprocess
import tempfile
import unittest

import poprt

MYPY = shutil.which("mypy")
PACKAGES = os.path.dirname(os.path.dirname(poprt.__file__))
# mypy must report exactly the lines that end with "# error".
USER = '''import numpy as np
from poprt.compiler import Compiler, CompilerOptions, Executable
from poprt.runtime import LightRunnerConfig, Runner, RuntimeConfig
import model_runtime
import popef

config = RuntimeConfig(threads=4, queue_depth=100)
config.timeout_ns = 5
config.thread = 3  # error
config.threads = "x"  # error
options = CompilerOptions(batch_size=8, input_shape={"x": [1, 2]})
options.batch_sizee = 3  # error
model: Executable = Compiler.compile("m.onnx", ["y"], options)
Compiler.compile(3, [])  # error
Compiler.compile(b"", [])
runner = Runner(model, config)
named = runner.run({"x": np.zeros(3)})["y"].shape
listed = runner.run(None, {"x": np.zeros(3)})[0].shape
keywords = runner.run(output_names=["y"], input_feed={"x": np.zeros(3)}, run_options=None)[0].shape
runner.run("x", 3)  # error
runner.nope()  # error
print(runner.statistics()["latency"]["p99_ns"])
print(runner.statistics()["nope"])  # error
Runner("m.onnx", CompilerOptions())  # error
Runner("m.onnx", LightRunnerConfig()).update_weights()
session = model_runtime.Session(model)
session.createQueueManager().inputQueue("x").enqueue(np.zeros(3)).result()
popef.Reader().parseFile("x")
'''


@unittest.skipUnless(MYPY, "there is no mypy")
class Checked(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Both tests share one run, because mypy spends most of its time on NumPy and the standard library. No cache is read."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "user.py"), "w", encoding="utf-8") as file:
                file.write(USER)
            packages = [word for name in ("poprt", "popef", "model_runtime") for word in ("-p", name)]
            environment = {**os.environ, "MYPYPATH": os.pathsep.join([PACKAGES, folder])}
            output = subprocess.run([MYPY, "--strict", "--cache-dir", os.devnull, "--no-error-summary", *packages, "-m", "user"],
                                  capture_output=True, text=True, env=environment, check=False)
        cls.output, lines = output, output.stdout.splitlines()
        cls.of_user = [line for line in lines if os.path.basename(line.split(":")[0]) == "user.py"]
        cls.of_package = [line for line in lines if line not in cls.of_user]

    def test_the_package(self):
        self.assertEqual((self.output.stderr, self.of_package), ("", []))

    def test_code_of_users(self):
        self.assertEqual(self.output.returncode, 1, self.output)
        found = {int(line.split(":")[1]) for line in self.of_user if ": error:" in line}
        expected = {n for n, line in enumerate(USER.splitlines(), 1) if line.endswith("# error")}
        self.assertEqual(found, expected, self.output.stdout)
        self.assertGreaterEqual(len(expected), 8)


if __name__ == "__main__":
    unittest.main()
