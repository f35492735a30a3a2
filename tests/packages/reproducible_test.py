"""The same source makes the same bytes: jar, nupkg and Go module are made again, elsewhere, and compared.

Environment: POPRT_BUILD (the build folder, with packages/), POPRT_SOURCE, POPRT_JDK, POPRT_MCS"""

import calendar
import filecmp
import glob
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

SOURCE, BUILD = os.environ["POPRT_SOURCE"], os.environ["POPRT_BUILD"]
JDK, MCS = os.environ.get("POPRT_JDK", ""), os.environ.get("POPRT_MCS", "")


def built_packages(pattern):
    """Returns the paths of the build's packages by file name."""
    return {os.path.basename(path): path for path in glob.glob(os.path.join(BUILD, "packages", pattern))}


class Again(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def work(self, language, *names):
        """Creates a build folder with copies of some files of the real one. Returns its path."""
        to = os.path.join(self.folder, "a", "build")
        os.makedirs(to)
        for name in names:
            of = os.path.join(BUILD, "bindings", language, name)
            (shutil.copytree if os.path.isdir(of) else shutil.copy)(of, os.path.join(to, name))
        return to

    def package(self, language, first, *arguments):
        """Creates a package with the date of ``first``, which may be that of an earlier commit."""
        with zipfile.ZipFile(first) as archive:
            date = calendar.timegm(archive.infolist()[0].date_time)
        done = subprocess.run([os.path.join(SOURCE, "bindings", language, "package"), *arguments], capture_output=True, text=True,
                              env={**os.environ, "SOURCE_DATE_EPOCH": str(date)})
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)

    def same(self, first, second):
        self.assertEqual(sorted(first), sorted(second))
        for name, path in first.items():
            self.assertTrue(filecmp.cmp(path, second[name], shallow=False), f"{path} and {second[name]} differ")

    def wrapper(self, name):
        (found,) = glob.glob(os.path.join(BUILD, "lib", name))
        return found

    @unittest.skipUnless(JDK and built_packages("java/*.jar"), "there is no jar")
    def test_jar(self):
        first = built_packages("java/*.jar")
        name = min(first, key=len)[:-len(".jar")]
        out = os.path.join(self.folder, "out")
        self.package("java", first[name + ".jar"], JDK, os.path.join(SOURCE, "bindings/java"), self.work("java", "generated", "manifest"),
                     os.path.join(out, name), f"linux-{platform.machine()}", os.path.join(BUILD, "bundle"), sys.executable,
                     self.wrapper("libpoprt_java.so"))
        self.assertEqual(len(first), 3)
        self.same(first, {os.path.basename(p): p for p in glob.glob(os.path.join(out, "*.jar"))})

    @unittest.skipUnless(MCS and built_packages("csharp/*.nupkg"), "there is no nupkg")
    def test_nupkg(self):
        ((name, first),) = built_packages("csharp/*.nupkg").items()
        out = os.path.join(self.folder, "out")
        os.makedirs(out)
        work = self.work("csharp", "generated", "AssemblyInfo.cs", "Poprt.nuspec", "Poprt.csproj")
        (native,) = os.listdir(os.path.join(BUILD, "packages/csharp/project/runtimes"))
        self.package("csharp", first, MCS, os.path.join(SOURCE, "bindings/csharp"), work, os.path.join(out, "Poprt.dll"),
                     os.path.join(out, name), native, os.path.join(BUILD, "bundle"), sys.executable,
                     self.wrapper("libpoprt_csharp.so"))
        self.same({name: first}, {name: os.path.join(out, name)})

    def test_go_module(self):
        found = []
        for folder in ("first", "second"):
            out = os.path.join(self.folder, folder)
            subprocess.run([sys.executable, os.path.join(SOURCE, "bindings/go/package.py"), "1.0.0", out], check=True)
            found.append({os.path.relpath(p, out): p for p in glob.glob(os.path.join(out, "**"), recursive=True) if os.path.isfile(p)})
        self.assertEqual(len([n for n in found[0] if n.endswith(".zip")]), 1)
        self.same(*found)


if __name__ == "__main__":
    unittest.main()
