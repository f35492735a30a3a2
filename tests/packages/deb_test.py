"""The Debian packages: lintian, their content, and the digits example in roots that have them and their dependencies.

Environment: POPRT_BUILD (the build folder, with packages/deb), POPRT_SOURCE, POPRT_CC"""

import filecmp
import glob
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

from root import Root, archived, listed, output, unpack

SOURCE = os.environ["POPRT_SOURCE"]
DEBS = os.path.join(os.environ["POPRT_BUILD"], "packages/deb")
DIGITS = os.path.join(SOURCE, "examples/digits")
BASE = ["dash", "coreutils", "libc-bin"]  # a shell, env and ldconfig


def deb(name):
    found = glob.glob(os.path.join(DEBS, name + "_*.deb"))
    assert len(found) == 1, f"expected one {name}, found {found}"
    return found[0]


def field(name, which):
    return output(["dpkg-deb", "-f", deb(name), which]).strip()


class Content(unittest.TestCase):
    @unittest.skipUnless(shutil.which("lintian"), "there is no lintian")
    def test_lintian_has_nothing_to_say(self):
        debs = sorted(glob.glob(os.path.join(DEBS, "*.deb")))
        # Lintian's check of spelling in programs takes a third of the time and reports only information.
        stdout_text = subprocess.run(["lintian", "--allow-root", "--tag-display-limit", "0", "--fail-on", "error,warning",
                               "--dont-check-part", "binaries/spelling", *debs], capture_output=True, text=True, check=False)
        self.assertEqual([l for l in stdout_text.stdout.splitlines() if l[:2] in ("E:", "W:")], [])
        self.assertEqual(stdout_text.returncode, 0, stdout_text.stderr)

    def test_made_again_they_have_the_same_bytes(self):
        """Only two packages, of which one is large, are compressed again; of the others, the content is compared."""
        stored = ["libpoprt-compiler1", "poprt-tools", "poprt-triton", "poprt-tensorflow", "poprt-serve",
                  "poprt-inspector", "libpoprt-tokenizer1"]
        with tempfile.TemporaryDirectory() as again:
            output([sys.executable, os.path.join(SOURCE, "cmake/packages/deb.py"), "--build", os.environ["POPRT_BUILD"],
                    "--out", again, "--cmake", os.environ["POPRT_CMAKE"], "--stored", *stored])
            names = sorted(n for n in os.listdir(DEBS) if n.endswith(".deb"))
            self.assertEqual(sorted(n for n in os.listdir(again) if n.endswith(".deb")), names)
            compressed = [n for n in names if n.split("_")[0] not in stored]
            self.assertEqual(filecmp.cmpfiles(DEBS, again, compressed, shallow=False), (compressed, [], []))
            self.assertEqual(len(compressed), 2)
            for name in sorted(set(names) - set(compressed)):
                for which in ("--ctrl-tarfile", "--fsys-tarfile"):
                    first, second = (archived(os.path.join(f, name), which) for f in (DEBS, again))
                    self.assertTrue(first == second, f"{which} of {name} differs")

    def test_all_files_have_the_date_of_the_source(self):
        for path in glob.glob(os.path.join(DEBS, "*.deb")):
            for which in ("--ctrl-tarfile", "--fsys-tarfile"):
                with tarfile.open(fileobj=io.BytesIO(archived(path, which))) as files:
                    self.assertEqual(len({file.mtime for file in files}), 1, f"{path} {which}")

    def test_runtime_needs_the_c_library_alone(self):
        self.assertRegex(field("libpoprt1", "Depends"), r"^libc6 \(>= [0-9.]+\)$")
        self.assertNotIn("libpoprt_compiler", listed(deb("libpoprt1")))

    def test_printed_commands_name_packages_and_only_the_inspector_brings_mesa(self):
        with open(os.path.join(SOURCE, "docs/install.md"), encoding="utf-8") as file:
            commands = re.findall(r"\| `apt install ([^`]+)` \|", file.read())
        self.assertEqual(len(commands), 6)
        for command in commands:
            names = [re.fullmatch(r"\./([\w-]+)_\*\.deb", word).group(1) for word in command.split()]
            if "poprt-serve" in names and not glob.glob(os.path.join(DEBS, "poprt-serve_*")):
                continue
            if "poprt-inspector" in names:
                continue
            for name in names:
                depends = field(name, "Depends") + "," + field(name, "Recommends")
                self.assertNotRegex(depends, r"libgl|mesa|glfw|poprt-inspector", name)
                for own in re.findall(r"\b(libpoprt[\w-]*|poprt-[\w-]+) \(", field(name, "Depends")):
                    self.assertIn(own, names, command)

    @unittest.skipUnless(glob.glob(os.path.join(DEBS, "poprt-inspector_*")), "the inspector is not built")
    def test_inspector_only_suggests_a_dialog(self):
        """zenity brings WebKitGTK, ImageMagick and hundreds of other packages."""
        self.assertEqual(field("poprt-inspector", "Recommends"), "libgl1-mesa-dri, fonts-dejavu-core")
        self.assertEqual(field("poprt-inspector", "Suggests"), "zenity | kdialog")

    def test_compiler_depends_on_the_onnx_libraries(self):
        depends = field("libpoprt-compiler1", "Depends")
        for package in ("libpoprt1 (= ", "libonnx1", "libprotobuf32"):
            self.assertIn(package, depends)
        self.assertNotIn("liblept5", depends)

    def test_libraries_are_in_the_folder_of_the_architecture(self):
        folder = "/usr/lib/" + output(["dpkg-architecture", "-qDEB_HOST_MULTIARCH"]).strip()
        for name in ("libpoprt1", "libpoprt-compiler1"):
            self.assertEqual({os.path.dirname(p) for p in re.findall(r"\.(/\S+\.so\S*)", listed(deb(name)))}, {folder})
            self.assertEqual(field(name, "Multi-Arch"), "same")

    def test_each_has_licence_notices_and_changes(self):
        for name, notices in (("libpoprt1", True), ("libpoprt-compiler1", True), ("libpoprt-dev", True), ("poprt-tools", True),
                              ("poprt-triton", True), ("poprt-tensorflow", True)):
            paths = listed(deb(name))
            for file in ("copyright", "changelog.gz", *["THIRD_PARTY_NOTICES.gz"] * notices):
                self.assertIn(f"./usr/share/doc/{name}/{file}\n", paths)
        with tempfile.TemporaryDirectory() as folder:
            unpack(deb("libpoprt1"), folder)
            text = output(["zcat", folder + "/usr/share/doc/libpoprt1/THIRD_PARTY_NOTICES.gz"])
        for part in ("Zstandard", "libstdc++", "fmt", "spdlog", "GCC RUNTIME LIBRARY EXCEPTION"):
            self.assertIn(part, text)

    def test_tensorflow_loads_the_operator_from_a_private_folder(self):
        self.assertRegex(listed(deb("poprt-tensorflow")), r"/poprt/libtensorflow_poprt\.so\n")
        self.assertIn("libpoprt1 (= ", field("poprt-tensorflow", "Depends"))
        self.assertNotIn("libpoprt-compiler1", field("poprt-tensorflow", "Depends"))

    def test_triton_finds_the_backend_by_its_name(self):
        self.assertRegex(listed(deb("poprt-triton")), r"/tritonserver/backends/poprt/libtriton_poprt\.so\n")
        self.assertIn("libpoprt1 (= ", field("poprt-triton", "Depends"))
        self.assertNotIn("libpoprt-compiler1", field("poprt-triton", "Depends"))

    @unittest.skipUnless(glob.glob(os.path.join(DEBS, "poprt-serve_*")), "poprt_serve is not built")
    def test_server_has_a_unit_and_a_page(self):
        paths = listed(deb("poprt-serve"))
        for path in ("usr/bin/poprt_serve", "usr/lib/systemd/system/poprt-serve.service", "usr/share/man/man1/poprt_serve.1.gz"):
            self.assertIn(f"./{path}\n", paths)
        self.assertIn("./var/lib/poprt/models\n", paths)
        self.assertIn("libmicrohttpd12", field("poprt-serve", "Depends"))
        self.assertNotIn("libonnx1", field("poprt-serve", "Depends"))

    @unittest.skipUnless(glob.glob(os.path.join(DEBS, "poprt-serve_*")), "poprt_serve is not built")
    def test_server_is_restarted_by_an_upgrade_and_stopped_by_a_removal(self):
        """The maintainer scripts run in a root whose commands of systemd write their arguments."""
        with tempfile.TemporaryDirectory() as folder:
            root = Root(os.path.join(folder, "root"), packages=BASE)
            subprocess.run(["dpkg-deb", "--control", deb("poprt-serve"), root.path("control")], check=True)
            for name in ("deb-systemd-helper", "deb-systemd-invoke", "systemctl"):
                with open(f"{root.folder}/usr/bin/{name}", "w", encoding="utf-8") as file:
                    file.write(f'#!/bin/sh\necho "{name} $*" >>calls\n')
                os.chmod(file.name, 0o755)
            for path in ("run/systemd/system", "var/cache/private/poprt", "var/lib/poprt/models"):
                os.makedirs(os.path.join(root.folder, path))

            def calls(script, *arguments):
                open(root.path("calls"), "w", encoding="utf-8").close()
                self.assertEqual(root.run([f"control/{script}", *arguments]), "")
                with open(root.path("calls"), encoding="utf-8") as file:
                    return re.findall(r"^\S+ (?:--\S+ )*(\S+)", file.read(), re.M)

            kept = ["debian-installed", "unmask", "was-enabled", "enable", "update-state", "daemon-reload"]
            self.assertEqual(calls("postinst", "configure", ""), kept)  # a first installation starts nothing
            self.assertEqual(calls("postinst", "configure", "0.9"), kept + ["try-restart"])
            self.assertEqual(calls("prerm", "upgrade", "9.9"), [])
            self.assertEqual(calls("prerm", "remove"), ["stop"])
            self.assertEqual(calls("postrm", "remove"), ["daemon-reload"])
            self.assertTrue(os.path.exists(root.folder + "/var/cache/private/poprt"))
            self.assertEqual(calls("postrm", "purge"), ["purge", "unmask"])
            self.assertFalse(os.path.exists(root.folder + "/var/cache/private/poprt"))
            self.assertTrue(os.path.exists(root.folder + "/var/lib/poprt/models"))

    @unittest.skipUnless(glob.glob(os.path.join(DEBS, "libpoprt-tokenizer1_*")), "it is built without sentencepiece")
    def test_tokenizer_is_recommended_and_brings_sentencepiece(self):
        self.assertIn("libsentencepiece0", field("libpoprt-tokenizer1", "Depends"))
        for name in ("poprt-tools", "poprt-serve"):
            if glob.glob(os.path.join(DEBS, name + "_*")):
                self.assertIn("libpoprt-tokenizer1 (= ", field(name, "Recommends"))
                self.assertNotIn("sentencepiece", field(name, "Depends"))

    def test_commands_have_pages_and_completions(self):
        with tempfile.TemporaryDirectory() as folder:
            unpack(deb("poprt-tools"), folder)
            for name in ("poprt", "poprt_exec", "popef_dump"):
                page = output(["zcat", f"{folder}/usr/share/man/man1/{name}.1.gz"])
                self.assertIn("\\-\\-help", page)
                self.assertIn(f"#compdef {name}\n", output(["cat", f"{folder}/usr/share/zsh/vendor-completions/_{name}"]))
            completions = f"{folder}/usr/share/bash-completion/completions"

            def completed(program, *words):
                script = (f"source {completions}/{program}; COMP_WORDS=({program} {' '.join(words)}); "
                          f"COMP_CWORD={len(words)}; _{program} 2>/dev/null; echo ${{COMPREPLY[*]}}")
                return output(["bash", "-c", script]).split()

            self.assertEqual(completed("poprt", "--precision", "''"), ["fp32", "fp16", "bf16", "fp8", "fp8_weight", "int8"])
            self.assertEqual(completed("poprt_exec", "com"), ["compare"])
            self.assertEqual(completed("poprt_exec", "run", "--prof"), ["--profile"])
            self.assertEqual(completed("popef_dump", "--user"), ["--user-anchors"])

    def test_installed_documents_link_only_to_installed_files(self):
        with tempfile.TemporaryDirectory() as folder:
            unpack(deb("poprt-tools"), folder)
            root = folder + "/usr/share/doc/poprt"
            pages = glob.glob(root + "/**/*.md", recursive=True)
            self.assertGreater(len(pages), 50)
            for page in pages:
                with open(page, encoding="utf-8") as file:
                    text = re.sub(r"^```.*?^```", "", file.read(), flags=re.M | re.S)
                for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", text):
                    if not re.match(r"[a-z]+:", target):
                        self.assertTrue(os.path.exists(os.path.join(os.path.dirname(page), target)), f"{page}: {target}")
            for path in ("bindings/go/README.md", "capi/ABI.md", "core/popef/FORMAT.md", "cli/serve/inference.proto", "docs/inspector/graph.png",
                         "tests/data/generation/genai/genai_config.json", "examples/clients/client.cpp", "examples/plugins/CMakeLists.txt"):
                self.assertTrue(os.path.exists(os.path.join(root, path)), path)
            for path in ("examples/CMakeLists.txt", "examples/quickstart"):  # need the source tree
                self.assertFalse(os.path.exists(os.path.join(root, path)), path)


class EmptyRoots(unittest.TestCase):
    """The commands in one root compile the model that a C program in another root runs."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.tools = Root(os.path.join(cls.folder, "tools"), [deb("poprt-tools"), deb("libpoprt-compiler1"), deb("libpoprt1")], BASE)
        cls.tools.bring(os.path.join(DIGITS, "digits.onnx"))
        cls.runtime = Root(os.path.join(cls.folder, "runtime"), [deb("libpoprt1")], BASE)

    def program(self, source):
        """Builds a program with the development package, outside of the root. Returns its path."""
        prefix = os.path.join(self.folder, "dev")
        if not os.path.exists(prefix):
            for name in ("libpoprt-dev", "libpoprt1"):
                unpack(deb(name), prefix)
        (pc,) = glob.glob(prefix + "/usr/lib/*/pkgconfig")
        flags = output(["pkg-config", "--cflags", "--libs", "poprt"], env=dict(os.environ, PKG_CONFIG_LIBDIR=pc)).split()
        built = os.path.join(self.folder, "digits")
        output([os.environ["POPRT_CC"], "-std=c11", os.path.join(SOURCE, source), "-o", built, *flags])
        return built

    def test_digits(self):
        self.assertEqual(self.tools.run(["poprt", "-v"]).count("\n"), 3)
        self.assertIn("executable:", self.tools.run(["poprt", "-i", "digits.onnx", "--input_shape", "image=8,1,8,8",
                                                     "--output_dir", "/work", "--export_popef"]))
        self.assertIn("image", self.tools.run(["popef_dump", "-m", "executable.popef"]))
        self.assertIn("ready after", self.tools.run(["poprt_exec", "run", "executable.popef", "--random"]))
        self.runtime.bring(self.program("examples/c/digits.c"), os.path.join(self.tools.folder, "work/executable.popef"),
                           *(os.path.join(DIGITS, f"heldout-{n}-ubyte") for n in ("images.idx3", "labels.idx1")))
        printed = self.runtime.run(["./digits", "executable.popef", "heldout-images.idx3-ubyte", "heldout-labels.idx1-ubyte"])
        with open(os.path.join(DIGITS, "accuracy.json"), encoding="utf-8") as file:
            expected = json.load(file)["fp32"]
        self.assertAlmostEqual(float(re.search(r"accuracy ([0-9.]+)", printed).group(1)), expected, delta=0.001)

    def test_runtime_alone_needs_no_onnx_or_protobuf(self):
        self.assertEqual([p for p in self.runtime.packages if "onnx" in p or "protobuf" in p or "stdc++" in p], [])


if __name__ == "__main__":
    unittest.main()
