"""The wheel and the sdist, used in clean folders. Needs POPRT_BUILD and POPRT_CMAKE in the environment."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BUILD = os.environ["POPRT_BUILD"]


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def clean_environment(**more):
    """The environment without the package and the libraries of the build tree."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    return {**kept, **more}


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        # Test packages.make_wheel has made these.
        (cls.wheel,) = glob.glob(os.path.join(BUILD, "packages/python/*.whl"))
        (cls.sdist,) = glob.glob(os.path.join(BUILD, "packages/python/*.tar.gz"))

    def use(self, package_folder):
        """Runs the program of the README with the package in this folder only."""
        with tempfile.TemporaryDirectory() as work:
            for name in ("examples/python/readme.py", "examples/digits/digits.onnx"):
                shutil.copy(os.path.join(ROOT, name), work)
            printed = run(sys.executable, "readme.py", cwd=work, env=clean_environment(PYTHONPATH=package_folder))
            self.assertRegex(printed, r"scores.*\[8, 10\]")
            where = run(sys.executable, "-c", "import poprt, popef, model_runtime; print(poprt.__file__)", cwd=work,
                        env=clean_environment(PYTHONPATH=package_folder))
            self.assertTrue(where.startswith(package_folder), where)

    def test_wheel_needs_no_compiler(self):
        target = os.path.join(self.folder, "wheel")
        run(sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", target,
            self.wheel, env=clean_environment(PATH="/usr/bin:/bin", CC="false", CXX="false"))
        self.use(target)
        names = zipfile.ZipFile(self.wheel).namelist()
        for name in ("poprt/_poprt_raw.abi3.so", "poprt/libpoprt.so.1", "poprt/libpoprt_compiler.so.1", "poprt/py.typed",
                     "poprt/poprt_raw.pyi", "poprt/errors.pyi", "popef/py.typed", "poprt/_popef/reader.py", "poprt/_popef/writer.py",
                     "poprt/_popef/model.py", "poprt/_popef/types.py"):
            self.assertIn(name, names)
        for command in ("poprt", "poprt_exec", "popef_dump"):
            output = run(os.path.join(target, "bin", command), "--help", env=clean_environment(PYTHONPATH=target))
            self.assertIn("Usage: " + command, output)

    def test_sdist_builds_against_an_installed_library(self):
        prefix, target = os.path.join(self.folder, "prefix"), os.path.join(self.folder, "built")
        for component in ("library", "compiler", "dev"):
            run(os.environ["POPRT_CMAKE"], "--install", BUILD, "--prefix", prefix, "--component", component)
        (pkgconfig,) = glob.glob(os.path.join(prefix, "lib/**/pkgconfig"), recursive=True)
        mark = os.path.join(self.folder, "mark.h")
        with open(mark, "w", encoding="utf-8") as file:
            file.write('__attribute__((used)) static const char mark[] = "the flags arrived";\n')
        run(sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", target,
            self.sdist, env=clean_environment(PKG_CONFIG_PATH=pkgconfig, CXXFLAGS=f"-O0 -include {mark}"))
        (extension,) = glob.glob(os.path.join(target, "poprt", "_poprt_raw*.so"))
        with open(extension, "rb") as file:
            self.assertIn(b"the flags arrived", file.read())
        self.use(target)


if __name__ == "__main__":
    unittest.main()
