"""tests/release on a clone with the packages of this build, the recipes of packaging/, and the bill of materials of each package.

Environment: POPRT_BUILD (the build folder, with packages/), POPRT_SOURCE"""

import ast
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

from root import output, unpack

SOURCE, BUILD = os.environ["POPRT_SOURCE"], os.environ["POPRT_BUILD"]
PACKAGES = os.path.join(BUILD, "packages")
VERSION = re.search(r"project\(poprt VERSION ([0-9.]+)", open(os.path.join(SOURCE, "CMakeLists.txt"), encoding="utf-8").read()).group(1)
COMPLETE = all(os.path.isdir(os.path.join(PACKAGES, part)) for part in ("deb", "python", "java", "csharp"))
SPDX = re.compile(r"[\w.+-]+( WITH [\w.-]+)?")


def commit(clone, message):
    subprocess.run(["git", "-C", clone, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qam", message], check=True)


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def go_module(folder):
    subprocess.run([sys.executable, os.path.join(SOURCE, "bindings/go/package.py"), VERSION, folder], check=True, capture_output=True)


@unittest.skipUnless(shutil.which("git") and os.path.exists(os.path.join(SOURCE, ".git")), "this is no checkout of git")
class Release(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.clone = os.path.join(self.folder, "clone")
        subprocess.run(["git", "clone", "-q", "--shared", "--no-tags", SOURCE, self.clone], check=True)
        shutil.copy(os.path.join(SOURCE, "tests/release"), os.path.join(self.clone, "tests/release"))

    def tag(self, name):
        subprocess.run(["git", "-C", self.clone, "tag", name], check=True)

    def release(self, tag, *options):
        return subprocess.run([os.path.join(self.clone, "tests/release"), tag, os.path.join(self.folder, "out"), *options],
                              capture_output=True, text=True, check=False)

    def refused(self, tag, message):
        done = self.release(tag)
        self.assertEqual(done.returncode, 1)
        self.assertIn(message, done.stderr)
        self.assertEqual([n for n in os.listdir(self.folder) if n.startswith("out")], [])

    def test_tag_must_exist(self):
        self.refused("v" + VERSION, f"there is no tag 'v{VERSION}'")

    def test_tag_must_be_of_a_version(self):
        self.refused("latest", "'latest' is not a tag of a version")

    def test_tag_must_have_the_version_of_the_sources(self):
        self.tag("v99.0.0")
        self.refused("v99.0.0", f"tag 'v99.0.0' has version {VERSION} in CMakeLists.txt")

    def test_release_notes_must_have_the_version(self):
        notes = os.path.join(self.clone, "docs/CHANGELOG.md")
        with open(notes, encoding="utf-8") as file:
            text = file.read()
        with open(notes, "w", encoding="utf-8") as file:
            file.write(text.replace(f"## {VERSION}\n", "## Next\n"))
        commit(self.clone, "notes")
        self.tag("v" + VERSION)
        self.refused("v" + VERSION, f"has no heading '## {VERSION}'")

    def test_packages_must_be_complete(self):
        self.tag("v" + VERSION)
        packages = os.path.join(self.folder, "packages")
        os.makedirs(packages)
        refused = self.release("v" + VERSION, "--packages", packages)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("has no folder 'deb'", refused.stderr)
        date = output(["git", "-C", self.clone, "log", "-1", "--format=%ct"]).strip()
        os.makedirs(packages + "/deb")
        for package_date, message in ((date, f"has no file for 'libpoprt-compiler1_{VERSION}_*.deb', expected one"),
                                      ("1", f"libpoprt1_{VERSION}_amd64.deb is of a commit with date 1, and tag")):
            with open(f"{packages}/deb/libpoprt1_{VERSION}_amd64.deb", "w", encoding="utf-8") as file:  # the start of a package
                file.write(f"!<arch>\n{'debian-binary':<16}{package_date:<12}")
            refused = self.release("v" + VERSION, "--packages", packages)
            self.assertEqual(refused.returncode, 1)
            self.assertIn(message, refused.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "out")))

    @unittest.skipUnless(COMPLETE, "not all packages are built")
    def test_everything_of_one_version(self):
        self.tag("v" + VERSION)
        packages = os.path.join(self.folder, "packages")
        os.makedirs(packages)
        for part in ("deb", "python", "java", "csharp"):
            os.symlink(os.path.join(PACKAGES, part), os.path.join(packages, part))
        go_module(os.path.join(packages, "go"))
        done = self.release("v" + VERSION, "--packages", packages)
        self.assertEqual(done.returncode, 0, done.stderr)
        out = os.path.join(self.folder, "out")
        printed = output(["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=out)
        files = sum(len(names) for _, _, names in os.walk(out)) - 1
        self.assertEqual(printed.count(": OK\n"), files)
        for pattern in (f"poprt-{VERSION}.tar.gz", f"deb/libpoprt1_{VERSION}_*.deb", f"python/poprt-{VERSION}-*.whl",
                        f"java/poprt-{VERSION}.jar", f"csharp/Poprt.{VERSION}.nupkg", f"go/*/*/*/@v/v{VERSION}.zip"):
            self.assertEqual(len(glob.glob(os.path.join(out, pattern))), 1, pattern)
        self.check_source(os.path.join(out, f"poprt-{VERSION}.tar.gz"), os.path.join(out, "packaging"))
        self.check_go(os.path.join(out, "go"))
        again = self.release("v" + VERSION, "--packages", packages)
        self.assertIn("exists; name a new folder", again.stderr)

    def check_source(self, archive, recipes):
        """The source archive has the tree of the tag, and the recipes its digest."""
        with tarfile.open(archive) as tar:
            names = tar.getnames()
        self.assertIn(f"poprt-{VERSION}/CMakeLists.txt", names)
        with open(archive, "rb") as file:
            data = file.read()
        for recipe in glob.glob(os.path.join(recipes, "*/*")):
            with open(recipe, encoding="utf-8") as file:
                text = file.read()
            self.assertIsNone(re.search(r"@[A-Z0-9]+@", text), recipe)
            self.assertIn(VERSION, text)
        for name, kind in (("conan/conanfile.py", "sha256"), ("conda-forge/recipe.yaml", "sha256"), ("homebrew/poprt.rb", "sha256"),
                           ("vcpkg/portfile.cmake", "sha512")):
            if os.path.isdir(recipes):
                with open(os.path.join(recipes, name), encoding="utf-8") as file:
                    self.assertIn(hashlib.new(kind, data).hexdigest(), file.read())

    def check_go(self, proxy):
        """go get of the tagged module path takes the module from the folder."""
        if not shutil.which("go"):
            return
        user = os.path.join(self.folder, "user")
        os.makedirs(user)
        environment = {**os.environ, "GOPROXY": "file://" + proxy, "GONOSUMDB": "poprt.example.org", "GOFLAGS": "-modcacherw",
                       "GOTOOLCHAIN": "local", "GOMODCACHE": os.path.join(self.folder, "cache"), "GO111MODULE": "on"}
        output(["go", "mod", "init", "example.org/user"], cwd=user, env=environment)
        output(["go", "get", f"poprt.example.org/bindings/go@v{VERSION}"], cwd=user, env=environment)
        with open(os.path.join(user, "go.mod"), encoding="utf-8") as file:
            self.assertIn(f"poprt.example.org/bindings/go v{VERSION}", file.read())
        self.assertIn("Runner", output(["go", "doc", "poprt.example.org/bindings/go"], cwd=user, env=environment))


class Recipes(unittest.TestCase):
    """Files of packaging/ that a tool of this machine can read, and their list of parts."""

    def read(self, name):
        with open(os.path.join(SOURCE, "packaging", name), encoding="utf-8") as file:
            return file.read()

    def test_each_recipe_installs_the_components_of_the_build(self):
        for name in ("conan/conanfile.py", "conda-forge/recipe.yaml", "homebrew/poprt.rb"):
            self.assertRegex(self.read(name).replace('"', "").replace(",", ""), r"\blibrary compiler dev tools\b", name)

    def test_conan(self):
        ast.parse(self.read("conan/conanfile.py"))
        if shutil.which("conan"):
            printed = output(["conan", "inspect", os.path.join(SOURCE, "packaging/conan/conanfile.py")])
            self.assertIn("name: poprt", printed)

    def test_vcpkg(self):
        manifest = json.loads(self.read("vcpkg/vcpkg.json"))
        names = [d if isinstance(d, str) else d["name"] for d in manifest["dependencies"]]
        self.assertEqual(names, sorted(names))
        self.assertLessEqual({"onnx", "protobuf", "re2", "utf8proc", "fmt", "spdlog", "zstd"}, set(names))

    def test_conda_forge(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("there is no PyYAML")
        recipe = yaml.safe_load(self.read("conda-forge/recipe.yaml"))
        self.assertEqual(recipe["package"]["name"], "poprt")

    @unittest.skipUnless(shutil.which("ruby"), "there is no ruby")
    def test_homebrew(self):
        self.assertIn("Syntax OK", output(["ruby", "-c", os.path.join(SOURCE, "packaging/homebrew/poprt.rb")]))


class BillOfMaterials(unittest.TestCase):
    """CycloneDX in each package, with the version of everything that is linked in or included."""

    LINKED = {"Zstandard", "fmt", "spdlog", "JSON for Modern C++"}
    # In a stripped file, names of types, functions or files of a part that is linked in, or whose headers are used.
    TYPES = {"fmt": rb"N3fmt", "spdlog": rb"N6spdlog", "JSON for Modern C++": rb"N8nlohmann", "ONNX (headers)": rb"N4onnx",
             "Protocol Buffers (headers)": rb"_ZNK?6google8protobuf", "gRPC (headers)": rb"\0\*?N4grpc", "CLI11": rb"N3CLI",
             "Dear ImGui": rb"imgui\.ini", "Zstandard": rb"ZSTD_"}

    def check(self, text, linked, files=()):
        bill = json.loads(text)
        self.assertEqual((bill["bomFormat"], bill["specVersion"]), ("CycloneDX", "1.5"))
        self.assertRegex(bill["serialNumber"], r"^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        self.assertEqual(bill["metadata"]["component"]["version"], VERSION)
        names = {c["name"]: c for c in bill["components"]}
        self.assertLessEqual(linked | set(files), set(names))
        references = [c["bom-ref"] for c in bill["components"]]
        self.assertEqual(len(references), len(set(references)))
        self.assertEqual(bill["dependencies"][0]["dependsOn"], references)
        for part in bill["components"]:
            package = re.fullmatch(r"pkg:deb/debian/([^@]+)@.*", part["purl"]).group(1)
            installed = output(["dpkg-query", "-W", "-f", "${Version}\n", package]).split()[0]
            self.assertEqual(part["version"], installed, part["name"])
            (licence,) = part["licenses"]
            self.assertRegex(licence["expression"] if "expression" in licence else licence["license"]["id"], SPDX)
        self.validate(text)

    def validate(self, text):
        try:
            from cyclonedx.schema import SchemaVersion
            from cyclonedx.validation.json import JsonStrictValidator
        except ImportError:
            return
        self.assertIsNone(JsonStrictValidator(SchemaVersion.V1_5).validate_str(text))

    @unittest.skipUnless(glob.glob(PACKAGES + "/deb/*.deb"), "there is no deb")
    def test_debian_packages(self):
        for deb in sorted(glob.glob(PACKAGES + "/deb/*.deb")):
            name = os.path.basename(deb).split("_")[0]
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                unpack(deb, folder)
                programs = b"".join(contents(path) for path in glob.glob(f"{folder}/usr/**", recursive=True)
                                    if re.search(r"/bin/|\.so\b|\.a$", path) and os.path.isfile(path))
                used = {part for part, names in self.TYPES.items() if re.search(names, programs)}
                with open(f"{folder}/usr/share/doc/{name}/sbom.cdx.json", encoding="utf-8") as file:
                    text = file.read()
                self.check(text, used)
                bill = json.loads(text)
                self.assertEqual({c["name"] for c in bill["components"]} & set(self.TYPES), used)
                self.assertEqual(bill["metadata"]["component"]["type"], "application" if os.path.isdir(folder + "/usr/bin") else "library")

    def test_archives(self):
        for pattern, entry in (("python/*.whl", r".*\.dist-info/sboms/poprt\.cdx\.json"), ("java/poprt-*[0-9].jar", r"META-INF/sbom/poprt\.cdx\.json"),
                               ("csharp/*.nupkg", r"sbom/poprt\.cdx\.json")):
            for path in glob.glob(os.path.join(PACKAGES, pattern)):
                with self.subTest(pattern), zipfile.ZipFile(path) as archive:
                    (name,) = [n for n in archive.namelist() if re.fullmatch(entry, n)]
                    libraries = {os.path.basename(n) for n in archive.namelist() if ".so" in n and "poprt" not in os.path.basename(n)}
                    self.check(archive.read(name).decode(), self.LINKED, libraries)

    def test_sources(self):
        for path in glob.glob(PACKAGES + "/python/*.tar.gz"):
            with tarfile.open(path) as archive:
                (name,) = [n for n in archive.getnames() if n.endswith("/sbom.cdx.json")]
                self.check(archive.extractfile(name).read().decode(), set())
        with tempfile.TemporaryDirectory() as folder:
            go_module(folder)
            (path,) = glob.glob(folder + "/**/*.zip", recursive=True)
            with zipfile.ZipFile(path) as archive:
                (name,) = [n for n in archive.namelist() if n.endswith("/sbom.cdx.json")]
                self.check(archive.read(name).decode(), set())


if __name__ == "__main__":
    unittest.main()
