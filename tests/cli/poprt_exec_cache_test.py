"""poprt_exec cache, and the engine caching that fills it."""

import glob
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

from support import DIGITS, CommandTest, model


class Cache(CommandTest):
    command = "poprt_exec cache"

    def setUp(self):
        super().setUp()
        self.cache = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.cache)
        os.environ["POPART_CACHE_DIR"] = self.cache
        self.addCleanup(os.environ.pop, "POPART_CACHE_DIR")

    def test_the_folder_may_come_from_the_environment(self):
        with mock.patch.dict(os.environ, {"POPART_CACHE_DIR": self.path("some")}):
            self.assertEqual(json.loads(self.succeeds("--json")), {"files": [], "bytes": 0})
        with mock.patch.dict(os.environ):
            os.environ.pop("POPART_CACHE_DIR", None)
            os.environ.pop("POPXL_CACHE_DIR", None)
            os.environ.pop("XDG_CACHE_HOME", None)
            os.environ.pop("HOME", None)
            self.misused(["--json"], "or set POPXL_CACHE_DIR or POPART_CACHE_DIR")

    def test_the_default_folder_is_that_of_runners(self):
        """The weights that `run` packs without a chosen folder are listed and pruned without one."""
        self.succeeds("-i", DIGITS, "--input_shape", "image=1,1,8,8", "-o", self.path("digits.popef"), command="poprt")
        for variables in ({"XDG_CACHE_HOME": self.path("xdg"), "HOME": self.path("other")}, {"HOME": self.path("home")}):
            with self.subTest(variables), mock.patch.dict(os.environ, variables):
                for name in {"POPART_CACHE_DIR", "POPXL_CACHE_DIR", "XDG_CACHE_HOME"} - set(variables):
                    os.environ.pop(name, None)
                for command in ("run", "bench"):
                    self.succeeds(self.path("digits.popef"), "--execution_precision", "f16", "--iterations", "1",
                                  *["--random"][:command == "run"], command="poprt_exec " + command)
                (entry,) = json.loads(self.succeeds("--json"))["files"]
                self.assertIn("execution_precision f16 of a runner", entry["description"])
                self.assertFalse(entry["damaged"])
                self.assertIn("removed 1 file,", self.succeeds("--prune"))
                self.assertEqual(json.loads(self.succeeds("--json"))["files"], [])

    def test_names_the_cache_of_the_working_folder(self):
        """enable_engine_caching without cache_path and without a folder of the environment uses session_cache."""
        with mock.patch.dict(os.environ):
            for name in ("POPXL_CACHE_DIR", "POPART_CACHE_DIR"):
                os.environ.pop(name, None)
            self.succeeds("-i", model("relu"), "-o", "r.popef", "--compiler_options", "enable_engine_caching=True", command="poprt")
            for words in (["--path", "other"], ["--path", "other", "--prune"]):
                self.assertTrue(self.succeeds(*words).endswith(
                    " 0 bytes\nthe working folder has another cache with 1 file: --path session_cache\n"))
            for path in ("session_cache", "./session_cache/"):
                self.assertRegex(self.succeeds("--path", path), r"\n1 file, \d+ bytes\n$")

    def files(self):
        return sorted(glob.glob(os.path.join(self.cache, "*.popef")))

    def compile(self, onnx, *words):
        """Bytes of the PopEF file, and the messages on stderr."""
        out = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, out)
        result = self.run_command("-i", onnx, "--output_dir", out, "--export_popef", *words, command="poprt")
        self.assertEqual(result.code, 0, result.err)
        with open(os.path.join(out, "executable.popef"), "rb") as file:
            return file.read(), result.err

    def test_json_lists_and_prunes(self):
        self.compile(model("relu"))
        output = json.loads(self.succeeds("--path", self.cache, "--json"))
        (entry,) = output["files"]
        self.assertEqual(entry["file"], os.path.basename(self.files()[0]))
        self.assertEqual(entry["bytes"], os.path.getsize(self.files()[0]))
        self.assertEqual((entry["damaged"], output["bytes"]), (False, entry["bytes"]))
        output = json.loads(self.succeeds("--path", self.cache, "--prune", "--json"))
        self.assertEqual(output, {"removed_files": 1, "removed_bytes": entry["bytes"]})

    def test_second_compilation_uses_the_file_and_gives_the_same_bytes(self):
        words = ("--input_shape", "image=2,1,8,8")
        first, _ = self.compile(DIGITS, *words)
        kept, = self.files()
        written = os.stat(kept).st_ino
        again, output = self.compile(DIGITS, *words)
        self.assertEqual((again, output, os.stat(kept).st_ino), (first, "", written))
        del os.environ["POPART_CACHE_DIR"]
        uncached, _ = self.compile(DIGITS, *words)
        os.environ["POPART_CACHE_DIR"] = self.cache
        self.assertEqual(uncached, first)

    def test_other_options_or_models_are_other_files(self):
        self.compile(DIGITS, "--input_shape", "image=2,1,8,8")
        self.compile(DIGITS, "--input_shape", "image=1,1,8,8")
        self.compile(DIGITS, "--input_shape", "image=1,1,8,8", "--precision", "fp16")
        self.compile(model("relu"))
        self.assertEqual(len(self.files()), 4)

    def test_false_hits_and_damage_compile_again_with_a_warning(self):
        good, _ = self.compile(model("relu"))
        kept, = self.files()
        with open(kept, "rb") as file:
            data = file.read()
        self.compile(DIGITS, "--input_shape", "image=1,1,8,8")
        other, = set(self.files()) - {kept}
        with open(other, "rb") as file:
            false_hit = file.read()
        for bad, fact in ((false_hit, "made from something else"), (data[:len(data) // 2], "cannot be used"),
                          (b"rubbish", "cannot be used")):
            os.unlink(kept)
            with open(kept, "wb") as file:
                file.write(bad)
            again, output = self.compile(model("relu"))
            self.assertEqual(again, good)
            self.assertIn(fact, output)
            with open(kept, "rb") as file:
                self.assertEqual(file.read(), data)

    def test_list_and_prune(self):
        self.assertEqual(self.succeeds("--path", "none", "--list"), "0 files, 0 bytes\n")
        self.compile(model("relu"))
        self.compile(DIGITS, "--input_shape", "image=1,1,8,8")
        lines = self.succeeds("--path", self.cache, "--list").splitlines()
        self.assertEqual(len(lines), 3)
        self.assertIn("image=[1,1,8,8]", lines[1].replace(", 1", ",1").replace(", 8", ",8"))
        self.assertTrue(lines[2].startswith("2 files, "))
        size = os.path.getsize(self.files()[0])
        os.utime(self.files()[0], (1, 1))
        self.assertEqual(self.succeeds("--path", self.cache, "--prune", "--older_than", "1"),
                         f"removed 1 file, {size} bytes\n")
        self.assertEqual(self.succeeds("--path", self.cache, "--prune", "--max_bytes", "1000000000"),
                         "removed 0 files, 0 bytes\n")
        self.succeeds("--path", self.cache, "--prune")
        self.assertEqual(self.files(), [])

    def test_files_that_cannot_be_removed_are_an_error(self):
        self.compile(model("relu"))
        self.compile(DIGITS, "--input_shape", "image=1,1,8,8")
        os.chmod(self.cache, 0o555)
        self.addCleanup(os.chmod, self.cache, 0o700)
        for words, out in ((), "removed 0 files, 0 bytes\n"), (["--json"], None):
            pruned = subprocess.run(self.arguments(["--path", self.cache, "--prune", *words]), text=True, capture_output=True, check=False,
                                    user=65534 if os.getuid() == 0 else None)
            self.assertEqual(pruned.returncode, 1, pruned.stderr)
            self.assertIn(f"poprt_exec cache: cannot remove 2 files, for example '{self.cache}/", pruned.stderr)
            self.assertTrue(pruned.stderr.endswith(".popef': Permission denied\n"), pruned.stderr)
            if out is None:
                self.assertEqual(json.loads(pruned.stdout), {"removed_files": 0, "removed_bytes": 0})
            else:
                self.assertEqual(pruned.stdout, out)
        self.assertEqual(len(self.files()), 2)

    def test_wrong_usage(self):
        self.misused(["--path", "x", "--max_bytes", "1"], "--prune")
        self.misused(["--path", "x", "--prune", "--max_bytes", "many"], "many")
        self.misused(["--path", "x", "--prune", "--max_bytes", "-1"], "--max_bytes", "at least 0")
        self.misused(["--path", "x", "--prune", "--list"], "--list")


if __name__ == "__main__":
    unittest.main()
