"""Digits from each language, in roots that hold its run time and our package and nothing else.

Environment: POPRT_BUILD (the build folder, with packages/), POPRT_SOURCE"""

import filecmp
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

from root import Root, output

SOURCE, BUILD = os.environ["POPRT_SOURCE"], os.environ["POPRT_BUILD"]
DIGITS = os.path.join(SOURCE, "examples/digits")
BASE = ["dash", "coreutils", "libc-bin"]
JVM = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]  # quick for a run of seconds
FILES = ["digits.onnx", "heldout-images.idx3-ubyte", "heldout-labels.idx1-ubyte"]


def package(pattern):
    found = glob.glob(os.path.join(BUILD, "packages", pattern))
    return found[0] if len(found) == 1 else None


def there(*packages):
    return all(subprocess.run(["dpkg", "-s", p], capture_output=True, check=False).returncode == 0 for p in packages)


class Languages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def root(self, packages, debs=()):
        root = Root(os.path.join(self.folder, "root"), debs, [*BASE, *packages])
        self.assertEqual([p for p in root.packages if re.match("lib(onnx|protobuf|lept)", p)], [])
        root.bring(*(os.path.join(DIGITS, f) for f in FILES))
        return root

    def check(self, printed):
        with open(os.path.join(DIGITS, "accuracy.json"), encoding="utf-8") as file:
            expected = json.load(file)["fp32"]
        reached = re.search(r"360 held-out images, accuracy ([0-9.]+)", printed)
        self.assertTrue(reached, printed)
        self.assertAlmostEqual(float(reached.group(1)), expected, delta=0.001)

    def check_with_libraries(self, program):
        """In a root that has the Debian packages of libraries and their dependencies."""
        debs = [package(f"deb/{name}_*.deb") for name in ("libpoprt1", "libpoprt-compiler1")]
        root = Root(os.path.join(self.folder, "root"), debs, BASE)
        root.bring(program, *(os.path.join(DIGITS, f) for f in FILES))
        self.check(root.run(["./digits", *FILES]))

    @unittest.skipUnless(package("python/*.whl") and there("python3-numpy"), "there is no wheel")
    def test_python(self):
        root = self.root(["python3-minimal", "python3-numpy", "libpython3-stdlib", "libstdc++6"])
        with zipfile.ZipFile(package("python/*.whl")) as wheel:  # as pip unpacks it
            wheel.extractall(root.path())
        root.bring(os.path.join(SOURCE, "examples/python/digits.py"))
        self.check(root.run(["python3", "-W", "error", "digits.py", *FILES]))
        for command in ("poprt", "poprt_exec", "popef_dump"):
            os.chmod(root.path("poprt/bin", command), 0o755)
            said = root.run(["python3", "-c", f"from poprt._commands import {command}; {command}()", "--help"])
            self.assertIn("Usage: " + command, said)

    @unittest.skipUnless(package("python/*.whl") and there("python3-numpy", "python3-venv"), "there is no wheel or no venv")
    def test_printed_lines_install_the_wheel(self):
        """The lines of README.md and docs/install.md as printed, without network, after the line that builds the wheel."""
        for page in ("README.md", "docs/install.md"):
            with self.subTest(page), open(os.path.join(SOURCE, page), encoding="utf-8") as file:
                block = re.search(r"```\ncmake --build build/release --target package_python\n(.*?)```", file.read(), re.S).group(1)
                work = os.path.join(self.folder, os.path.basename(page))
                os.makedirs(os.path.join(work, "build"))
                os.symlink(BUILD, os.path.join(work, "build/release"))
                output(["bash", "-e", "-c", block], cwd=work, env={**os.environ, "PIP_NO_INDEX": "1", "PATH": "/usr/bin:/bin"})
                said = output([work + "/venv/bin/python", "-c", "import poprt.runtime; print(poprt.runtime.__file__)"], cwd=work)
                self.assertTrue(said.startswith(work + "/venv/lib/"), said)

    def test_free_threaded_builds_get_a_clear_error(self):
        """The build of the sdist refuses them before it looks for tools."""
        backend = os.path.join(SOURCE, "bindings/python/build_backend.py")
        code = ("import sys, sysconfig; sys.path[:0] = sys.argv[1:]; real = sysconfig.get_config_var; "
                "sysconfig.get_config_var = lambda name: 1 if name == 'Py_GIL_DISABLED' else real(name); "
                "import build_backend; build_backend.check_tools()")
        done = subprocess.run([sys.executable, "-c", code, os.path.dirname(backend), os.path.join(SOURCE, "cmake/packages")],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^poprt: free-threaded builds of CPython are not supported \(found 3\.\d+t\)")

    @unittest.skipUnless(package("java/poprt-*[0-9].jar") and there("openjdk-17-jre-headless"), "there is no jar")
    def test_java(self):
        jar = package("java/poprt-*[0-9].jar")
        root = self.root(["openjdk-17-jre-headless", "libstdc++6"])
        root.bring(jar)
        output(["javac", *("-J" + option for option in JVM), "-cp", jar, "-d", root.path(),
                os.path.join(SOURCE, "examples/java/Digits.java")])
        (java,) = glob.glob(root.folder + "/usr/lib/jvm/java-17-*/bin/java")
        self.check(root.run([java.removeprefix(root.folder), "-cp", f"{os.path.basename(jar)}:.", "Digits", *FILES]))

    @unittest.skipUnless(package("csharp/*.nupkg") and there("mono-runtime"), "there is no nupkg")
    def test_csharp(self):
        root = self.root(["mono-runtime", "libmono-system-core4.0-cil", "libmono-system4.0-cil", "libstdc++6"])
        with zipfile.ZipFile(package("csharp/*.nupkg")) as nupkg:
            nupkg.extractall(self.folder + "/nupkg")
        for pattern in ("lib/net472/*", "runtimes/*/native/*"):  # the documented step
            root.bring(*glob.glob(f"{self.folder}/nupkg/{pattern}"))
        output(["mcs", "-r:" + root.path("Poprt.dll"), "-out:" + root.path("Digits.exe"),
                os.path.join(SOURCE, "examples/csharp/Digits.cs")])
        self.check(root.run(["mono", "Digits.exe", *FILES]))
        said = output(["monodis", "--assembly", f"{self.folder}/nupkg/lib/net472/Poprt.dll"]) if shutil.which("monodis") else ""
        self.assertNotIn("Version:       0.0.0.0", said)

    @unittest.skipUnless(package("deb/libpoprt1_*.deb") and shutil.which("go"), "there is no deb or no Go")
    def test_go_linked_statically_but_for_libpoprt(self):
        program = os.path.join(self.folder, "digits")
        output(["go", "build", "-ldflags", '-extldflags "-static-libstdc++ -static-libgcc"', "-o", program,
                "./digits"], cwd=os.path.join(SOURCE, "examples/go"),
               env={**os.environ, "PKG_CONFIG_PATH": BUILD + "/pkgconfig", "GOPROXY": "off", "CGO_CXXFLAGS": "-O0 -g0"})
        self.assertNotIn("libstdc++", output(["readelf", "-d", program]))
        self.check_with_libraries(program)

    @unittest.skipUnless(package("deb/libpoprt1_*.deb"), "there is no deb")
    def test_cpp(self):
        program, source = os.path.join(self.folder, "digits"), os.path.join(SOURCE, "examples/cpp/digits.cpp")
        compiled = os.path.join(BUILD, "examples/CMakeFiles/example_cpp_digits.dir/cpp/digits.cpp.o")  # by the build
        output([os.environ["POPRT_CXX"], "-std=c++17", "-I" + os.path.join(SOURCE, "capi/include"),
                compiled if os.path.exists(compiled) else source, "-L" + BUILD + "/lib", "-lpoprt", "-static-libstdc++",
                "-static-libgcc", "-pthread", "-o", program])
        self.check_with_libraries(program)


class Facts(unittest.TestCase):
    """Licence and metadata, the same in each."""

    def setUp(self):
        with open(os.path.join(SOURCE, "cmake/packages/metadata.json"), encoding="utf-8") as file:
            self.facts = json.load(file)

    def test_each_archive_has_licence_and_notices(self):
        for pattern in ("python/*.whl", "java/poprt-*[0-9].jar", "csharp/*.nupkg"):
            if not package(pattern):
                continue
            with self.subTest(pattern), zipfile.ZipFile(package(pattern)) as archive:
                names = {os.path.basename(n): n for n in archive.namelist()}
                self.assertIn("Apache License", archive.read(names["LICENSE"]).decode())
                notices = archive.read(names["THIRD_PARTY_NOTICES"]).decode()
                for part in ("Zstandard", "libstdc++", "spdlog", "libonnx_proto.so.1", "libprotobuf.so.32"):
                    self.assertIn(part, notices)

    def test_no_folder_of_the_build_is_in_what_is_shipped(self):
        for pattern in ("python/*.whl", "java/poprt-*[0-9].jar", "csharp/*.nupkg"):
            if not package(pattern):
                continue
            with zipfile.ZipFile(package(pattern)) as archive:
                for name in archive.namelist():
                    self.assertNotIn(SOURCE.encode(), archive.read(name), f"{pattern}: {name}")

    @unittest.skipUnless(package("python/*.whl"), "there is no wheel")
    def test_wheel(self):
        self.assertRegex(package("python/*.whl"), r"-cp39-abi3-manylinux_2_(\d|[12]\d|3[0-5])_\w+\.whl$")
        if shutil.which("twine"):
            said = output(["twine", "--no-color", "check", "--strict", *glob.glob(os.path.join(BUILD, "packages/python/poprt-*"))])
            self.assertEqual(said.count("PASSED"), 2, said)

    @unittest.skipUnless(package("python/*.whl"), "there is no wheel")
    def test_wheel_and_sdist_made_again_have_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as again:
            output([sys.executable, os.path.join(SOURCE, "bindings/python/package.py"), "--build", BUILD, "--out", again,
                    "--cmake", os.environ["POPRT_CMAKE"]])
            names = sorted(os.listdir(again))
            self.assertEqual(filecmp.cmpfiles(os.path.join(BUILD, "packages/python"), again, names, shallow=False), (names, [], []))
            self.assertEqual(len(names), 2)

    @unittest.skipUnless(package("java/*.pom"), "there is no POM")
    def test_pom_has_what_maven_central_asks_for(self):
        with open(package("java/*.pom"), encoding="utf-8") as file:
            text = file.read()
        import xml.etree.ElementTree as xml
        root, space = xml.fromstring(text), "{http://maven.apache.org/POM/4.0.0}"
        for path in ("modelVersion", "groupId", "artifactId", "version", "name", "description", "url", "licenses/license/name",
                     "licenses/license/url", "developers/developer/name", "scm/connection", "scm/url"):
            found = root.find("/".join(space + p for p in path.split("/")))
            self.assertTrue(found is not None and found.text and "@" not in found.text, path)
        self.assertEqual(root.find(f"{space}licenses/{space}license/{space}name").text, self.facts["licence"])

    @unittest.skipUnless(shutil.which("mvn") and package("java/*.pom"), "there is no mvn or no POM")
    def test_maven_takes_the_pom(self):
        def validate(pom):
            with tempfile.TemporaryDirectory() as repository:
                return subprocess.run(["mvn", "-o", "-q", "-B", f"-Dmaven.repo.local={repository}", "validate", "-f", pom],
                                      env={**os.environ, "MAVEN_OPTS": " ".join(JVM)}, capture_output=True, text=True, check=False)

        said = validate(package("java/*.pom"))
        self.assertEqual((said.returncode, said.stdout.replace("\x1b[0m", "").strip()), (0, ""), said.stdout)
        with open(package("java/*.pom"), encoding="utf-8") as file:
            text = file.read()
        with tempfile.TemporaryDirectory() as folder:
            wrong = os.path.join(folder, "pom.xml")
            with open(wrong, "w", encoding="utf-8") as file:
                file.write(re.sub("<version>.*?</version>", "", text, count=1))
            said = validate(wrong)
            self.assertNotEqual(said.returncode, 0)
            self.assertIn("'version' is missing", said.stdout)

    @unittest.skipUnless(package("csharp/*.nupkg"), "there is no nupkg")
    def test_nuspec_has_what_the_schema_asks_for(self):
        import xml.etree.ElementTree as xml
        with zipfile.ZipFile(package("csharp/*.nupkg")) as archive:
            names = archive.namelist()
            root = xml.fromstring(archive.read("Poprt.nuspec"))
        space = "{http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd}"
        fields = [child.tag.removeprefix(space) for child in root.find(space + "metadata")]
        known = {"id", "version", "title", "authors", "requireLicenseAcceptance", "license", "licenseUrl", "projectUrl", "readme",
                 "description", "summary", "copyright", "tags", "repository", "dependencies"}
        self.assertEqual(set(fields), known)
        self.assertEqual(len(fields), len(known))
        self.assertEqual(names[0], "[Content_Types].xml")
        for name in ("build/net472/Poprt.targets", "lib/net472/Poprt.dll", "README.md"):
            self.assertIn(name, names)


if __name__ == "__main__":
    unittest.main()
