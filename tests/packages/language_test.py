"""Runs the digits example of each language in a root that contains only its run time and our package.

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


def interpreters():
    """CPython 3.9 and newer of this machine: in PATH, and those of pyenv; other builds and broken links are left out."""
    named = [sys.executable, *filter(None, (shutil.which(f"python3.{minor}") for minor in range(9, 20))),
             *glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3"))]
    code = "import platform, sys; print(platform.python_implementation(), sys.version_info >= (3, 9), 't' in sys.abiflags)"
    fits = []
    for path in sorted({os.path.realpath(p) if "shims" not in p else p for p in named}):
        done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
        if done.stdout.split() == ["CPython", "True", "False"]:
            fits.append(path)
    return fits


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
        """Runs a program in a root that has the Debian packages of the libraries and their dependencies."""
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
            stdout_text = root.run(["python3", "-c", f"from poprt._commands import {command}; {command}()", "--help"])
            self.assertIn("Usage: " + command, stdout_text)
        self.assertIn("Usage: poprt", root.run(["python3", "-m", "poprt", "--help"]))

    @unittest.skipUnless(package("python/*.whl") and there("python3-numpy", "python3-venv"), "there is no wheel or no venv")
    def test_printed_lines_install_the_wheel(self):
        """Runs the lines of README.md and docs/install.md after the line that builds the wheel, unchanged and without network."""
        blocks = {}
        for page in ("README.md", "docs/install.md"):
            with open(os.path.join(SOURCE, page), encoding="utf-8") as file:
                blocks[page] = re.search(r"```\ncmake --build build/release --target package_python\n(.*?)```", file.read(), re.S).group(1)
        for page, block in blocks.items():
            if any(longer != block and longer.startswith(block) for longer in blocks.values()):
                continue  # the other page has the same lines and more
            with self.subTest(page):
                work = os.path.join(self.folder, os.path.basename(page))
                os.makedirs(os.path.join(work, "build"))
                os.symlink(BUILD, os.path.join(work, "build/release"))
                output(["bash", "-e", "-c", block], cwd=work, env={**os.environ, "PIP_NO_INDEX": "1", "PATH": "/usr/bin:/bin"})
                stdout_text = output([work + "/venv/bin/python", "-c", "import poprt.runtime; print(poprt.runtime.__file__)"], cwd=work)
                self.assertTrue(stdout_text.startswith(work + "/venv/lib/"), stdout_text)

    @unittest.skipUnless(package("python/*.whl"), "there is no wheel")
    def test_every_interpreter_of_this_machine_loads_the_extension(self):
        """One extension for CPython 3.9 and newer: its calls into the interpreter are in the stable ABI."""
        with zipfile.ZipFile(package("python/*.whl")) as wheel:
            wheel.extractall(self.folder)
            version = re.search(r"poprt-([\d.]+)\.dist-info", " ".join(wheel.namelist())).group(1)
        loaded = set()
        for interpreter in interpreters():
            with self.subTest(interpreter):
                stdout_text = output([interpreter, "-I", "-W", "error", "-c", "import sys; sys.path.insert(0, sys.argv[1]); import _poprt_raw; "
                               "print(*sys.version_info[:2], _poprt_raw.raw_version_string())", self.folder + "/poprt"])
                self.assertEqual(stdout_text.split()[2], version)
                loaded.add(tuple(map(int, stdout_text.split()[:2])))
        self.assertIn(sys.version_info[:2], loaded)
        print("the extension loads in CPython " + ", ".join(f"{major}.{minor}" for major, minor in sorted(loaded)))

    def test_descriptions_have_no_links_to_files_of_the_sources(self):
        for pattern, entry in (("python/*.whl", r".*\.dist-info/METADATA"), ("csharp/*.nupkg", "README.md")):
            if not package(pattern):
                continue
            with self.subTest(pattern), zipfile.ZipFile(package(pattern)) as archive:
                (name,) = [n for n in archive.namelist() if re.fullmatch(entry, n)]
                self.assertEqual(re.findall(r"\]\((?![a-z]+:|#)[^)]*\)", archive.read(name).decode()), [])

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
        stdout_text = output(["monodis", "--assembly", f"{self.folder}/nupkg/lib/net472/Poprt.dll"]) if shutil.which("monodis") else ""
        self.assertNotIn("Version:       0.0.0.0", stdout_text)

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
    """Licence and metadata are the same in each package."""

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

    def test_packages_contain_no_folder_of_the_build(self):
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
            stdout_text = output(["twine", "--no-color", "check", "--strict", *glob.glob(os.path.join(BUILD, "packages/python/poprt-*"))])
            self.assertEqual(stdout_text.count("PASSED"), 2, stdout_text)

    @unittest.skipUnless(package("python/*.whl"), "there is no wheel")
    def test_wheel_and_sdist_made_again_have_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as again:
            output([sys.executable, os.path.join(SOURCE, "bindings/python/package.py"), "--build", BUILD, "--out", again,
                    "--cmake", os.environ["POPRT_CMAKE"]])
            names = sorted(os.listdir(again))
            self.assertEqual(filecmp.cmpfiles(os.path.join(BUILD, "packages/python"), again, names, shallow=False), (names, [], []))
            self.assertEqual(len(names), 2)

    @unittest.skipUnless(package("java/*.pom"), "there is no POM")
    def test_pom_has_the_fields_required_by_maven_central(self):
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

        stdout_text = validate(package("java/*.pom"))
        self.assertEqual((stdout_text.returncode, stdout_text.stdout.replace("\x1b[0m", "").strip()), (0, ""), stdout_text.stdout)
        with open(package("java/*.pom"), encoding="utf-8") as file:
            text = file.read()
        with tempfile.TemporaryDirectory() as folder:
            wrong = os.path.join(folder, "pom.xml")
            with open(wrong, "w", encoding="utf-8") as file:
                file.write(re.sub("<version>.*?</version>", "", text, count=1))
            stdout_text = validate(wrong)
            self.assertNotEqual(stdout_text.returncode, 0)
            self.assertIn("'version' is missing", stdout_text.stdout)

    @unittest.skipUnless(package("csharp/*.nupkg"), "there is no nupkg")
    def test_nuspec_matches_its_schema(self):
        """Uses xmllint (libxml2-utils) with nuspec.xsd, and checks that it refuses changed documents."""
        with zipfile.ZipFile(package("csharp/*.nupkg")) as archive:
            names, text = archive.namelist(), archive.read("Poprt.nuspec").decode()
        self.assertEqual(names[0], "[Content_Types].xml")
        for framework in re.findall(r'targetFramework="([^"]+)"', text):
            folder = {".NETFramework4.7.2": "net472", ".NETStandard2.0": "netstandard2.0"}[framework]
            self.assertLessEqual({f"lib/{folder}/Poprt.dll", f"lib/{folder}/Poprt.xml"}, set(names))
        self.assertLessEqual({"build/net472/Poprt.targets", "README.md"}, set(names))
        if not shutil.which("xmllint"):
            self.skipTest("there is no xmllint (libxml2-utils)")

        def valid(document):
            return subprocess.run(["xmllint", "--noout", "--nonet", "--schema", os.path.join(SOURCE, "tests/packages/nuspec.xsd"), "-"],
                                  input=document, capture_output=True, text=True, check=False)

        self.assertEqual(valid(text).returncode, 0, valid(text).stderr)
        for old, new in (("<id>Poprt</id>", ""), ("<id>Poprt</id>", "<id>Po prt</id>"), ('version="4.5.5"', 'version="new"'),
                         ("<authors>", "<owners>x</owners><authors>"), ('targetFramework=".NETStandard2.0"', 'targetFramework="netcore"'),
                         ("<tags>", "<tags>@NAME@ ")):
            self.assertIn(old, text)
            self.assertNotEqual(valid(text.replace(old, new, 1)).returncode, 0, new)


@unittest.skipUnless(package("csharp/*.nupkg"), "there is no nupkg")
class NetStandard(unittest.TestCase):
    """The assembly that bindings/csharp/netstandard.py makes."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        with zipfile.ZipFile(package("csharp/*.nupkg")) as archive:
            archive.extractall(self.folder)
        sys.path.insert(0, os.path.join(SOURCE, "bindings/csharp"))
        self.addCleanup(sys.path.pop, 0)

    def scopes(self, framework):
        """The assembly that each type comes from, and the versions of the assemblies."""
        import netstandard
        with open(f"{self.folder}/lib/{framework}/Poprt.dll", "rb") as file:
            image = file.read()
        root = image[image.index(b"BSJB"):] if framework == "net472" else image[image.rindex(b"BSJB"):]
        _, streams = netstandard.read_streams(root)
        tables, strings = netstandard.Tables(streams[b"#~"]), streams[b"#Strings"]
        refs = tables.rows[netstandard.ASSEMBLY_REF]
        names = [netstandard.text_at(strings, row[6]) for row in refs]
        types = {netstandard.text_at(strings, row[1]): names[(row[0] >> 2) - 1] for row in tables.rows[netstandard.TYPE_REF] if row[0] & 3 == 2}
        return types, {name: tuple(row[:4]) for name, row in zip(names, refs)}

    def test_types_are_where_net_standard_has_them(self):
        before, framework = self.scopes("net472")
        self.assertIn("mscorlib", framework)
        types, assemblies = self.scopes("netstandard2.0")
        self.assertEqual(assemblies, {"netstandard": (2, 0, 0, 0), "System.Memory": (4, 0, 1, 0)})
        self.assertEqual(set(types), set(before))
        for name in ("Span`1", "ReadOnlySpan`1", "MemoryMarshal"):
            self.assertEqual(types[name], "System.Memory")
        self.assertEqual({types[name] for name in ("Object", "Task", "CancellationToken", "IEnumerable`1")}, {"netstandard"})

    @unittest.skipUnless(shutil.which("dotnet") and shutil.which("mcs"), "there is no .NET")
    def test_net_runs_the_chapters_of_the_language(self):
        work = os.path.join(self.folder, "work")
        os.makedirs(work)
        native = glob.glob(f"{self.folder}/runtimes/*/native/*")
        for path in (f"{self.folder}/lib/netstandard2.0/Poprt.dll", *native, os.path.join(DIGITS, "digits.onnx")):
            shutil.copy(path, work)
        os.symlink(os.path.join(SOURCE, "tests/data/generation/genai"), work + "/language_model")
        output(["mcs", f"-r:{self.folder}/lib/net472/Poprt.dll", f"-out:{work}/guide.exe", os.path.join(SOURCE, "examples/csharp/Guide.cs")])
        output([sys.executable, os.path.join(SOURCE, "bindings/csharp/netstandard.py"), work + "/guide.exe", work + "/guide.dll"])
        version = re.search(r"Microsoft\.NETCore\.App ([\d.]+)", output(["dotnet", "--list-runtimes"])).group(1)
        with open(work + "/guide.runtimeconfig.json", "w", encoding="utf-8") as file:
            json.dump({"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": version}}}, file)
        stdout_text = output(["dotnet", "guide.dll"], cwd=work, env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1",
                                                               "POPART_CACHE_DIR": work + "/cache"})
        self.assertIn("state: 33 33 24 21 43 37 34 43\nserve: 40\n", stdout_text)


if __name__ == "__main__":
    unittest.main()
