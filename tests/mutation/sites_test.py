"""The mutation driver on a small file: which sites it finds, that a seed chooses the same again, and that each mutant
compiles, is dormant by default, acts when it is named and marks that it was reached.

    sites_test.py CXX_COMPILER"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

import choose
import mutation
import sites
import suite

HERE = os.path.dirname(os.path.abspath(__file__))
# `plan` has no site for an unused value, an estimate or a prefetch, which change only the speed, and none for the boundary of `smaller`.
SMALL = b"""static_assert(1 < 2);
constexpr int kTable[] = {1 + 1, 2};
#define TWICE(x) ((x) + (x))
static int sum(int a, int b, bool both = true) { return both ? a - b : a; }
static bool far(int a, int b) {
  if (a < b) return false;
  return !(a == b) && TWICE(a) > 0;
}
int main() {
  int n = sum(7, 4);
  n += kTable[0];
  return far(n, 5) || n != 5;
}
struct Plan { double work; };
int smaller(int a, int b) { return a < b ? a : b; }
void plan(Plan& p, int n) { (void)!n; p.work = n * 2; p.work /= n; __builtin_prefetch(&p + 1); }
"""
# Kinds of mutants that change the meaning of a statement.
MEANING = b"""#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <stdexcept>
struct State { int a, b; double low; char bytes[4]; };
static std::mutex mutex;
void save(State& s, int x, int y, double v) {
  const std::lock_guard lock(mutex);
  s.a = x;
  s.b = y;
  s.a += s.b;
  memset(s.bytes, 0, sizeof s.bytes);
  if (std::isnan(v)) throw std::runtime_error("v");
  s.low = std::min(s.low, v);
}
int main() { State s{}; save(s, 1, 2, 3); return s.a != 3 || s.b != 2; }
"""
MEANT = {
    (9, "lock", "no lock: const std::lock_guard lock(mutex);"),
    (11, "field", "s.b = y: y -> x"),
    (11, "order", "order: s.b = y; s.a += s.b -> s.a += s.b; s.b = y"),
    (12, "order", "order: s.a += s.b; memset(s.bytes, 0, sizeof s.bytes) -> memset(s.bytes, 0, sizeof s.bytes); s.a += s.b"),
    (13, "clear", "without: memset(s.bytes, 0, sizeof s.bytes)"),
    (14, "nan", "std::isnan(v) -> false"),
    (14, "swallowed", 'never: if (std::isnan(v)) throw std::runtime_error("v")'),
    (15, "limit", "std::min(s.low, v) -> s.low"),
    (15, "limit", "std::min(s.low, v) -> v"),
}
EXPECTED = {
    (4, "default", "static int sum(int a, int b, bool both = true) { return both ? a - b : a; }: true -> false"),
    (4, "condition", "negated: both ? a - b : a"),
    (4, "arithmetic", "a - b -> a + b"),
    (6, "check", "never: if (a < b) return false"),
    (6, "condition", "negated: if (a < b) return false"),
    (6, "boundary", "a < b -> a <= b"),
    (6, "relational", "a < b -> a >= b"),
    (6, "default", "if (a < b) return false;: false -> true"),
    (7, "negated", "!(a == b) -> (a == b)"),
    (7, "relational", "a == b -> a != b"),
    (7, "constant", "return !(a == b) && TWICE(a) > 0;: 0 -> 0 + 1"),
    (10, "arguments", "sum(7, 4) -> sum(4, 7)"),
    (10, "constant", "int n = sum(7, 4);: 7 -> 7 + 1"),
    (10, "constant", "int n = sum(7, 4);: 4 -> 4 + 1"),
    (11, "statement", "without: n += kTable[0]"),
    (11, "arithmetic", "n += kTable[0] -> n -= kTable[0]"),
    (11, "constant", "n += kTable[0];: 0 -> 0 + 1"),
    (12, "logical", "far(n, 5) || n != 5 -> (far(n, 5)) && (n != 5)"),
    (12, "arguments", "far(n, 5) -> far(5, n)"),
    (12, "constant", "return far(n, 5) || n != 5;: 5 -> 5 + 1"),
    (12, "relational", "n != 5 -> n == 5"),
    (15, "relational", "a < b -> a >= b"),
    (15, "condition", "negated: a < b ? a : b"),
}


class Sites(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "small.cpp")
        with open(self.path, "wb") as file:
            file.write(SMALL)
        self.found, self.source = sites.find(self.path, "small.cpp", self.path, ["-std=c++20"])

    def test_finds_all_sites_except_constant_expressions(self):
        self.assertEqual({(s.line, s.kind, s.shown) for s in self.found}, EXPECTED)

    def test_finds_mutants_that_change_the_meaning_and_compile(self):
        path, program = os.path.join(self.folder, "meaning.cpp"), os.path.join(self.folder, "meaning")
        with open(path, "wb") as file:
            file.write(MEANING)
        found, source = sites.find(path, "meaning.cpp", path, ["-std=c++20"])
        kinds = {kind for _, kind, _ in MEANT}
        self.assertEqual({(s.line, s.kind, s.shown) for s in found if s.kind in kinds}, MEANT)
        for seed in range(3):  # sites overlap, so no program has all of them
            taken = choose.pick(random.Random(seed), [s for s in found if s.kind in kinds], len(found))
            with open(path, "wb") as file:
                file.write(sites.rewrite(source, list(enumerate(taken)), os.path.join(HERE, "mutant.h")))
            subprocess.run([sys.argv[1], "-std=c++20", "-Wall", "-Werror", "-o", program, path], check=True)
            self.assertEqual(subprocess.run([program]).returncode, 0)

    def test_statements_change_places_only_if_that_may_have_an_effect(self):
        path = os.path.join(self.folder, "order.cpp")
        statements = {
            "s.a = x; s.b = y;": False,
            "s.list.resize(x); s.b = y;": False,
            "s.list.clear(); s.list.push_back(x);": True,
            "s.b = f.least(x); s.a = std::min(x, y);": False,
            "s.a = x; s.b = s.a;": True,
            "s.a = next(); s.b = next();": True,
            "s.a = x++; s.b = y;": True,
            "p->a = x; q->a = y;": True,
            "p->a = x; q->b = y;": False,
            "a[x] = 1; a[y] = 2;": True,
            "s = *p; s.a = x;": True,
            "*p = s; s.a = x;": True,
        }
        with open(path, "w", encoding="utf-8") as file:
            file.write("#include <algorithm>\n#include <vector>\nstruct State { int a, b; std::vector<int> list; };\n"
                       "struct Reader { int least(int) const; };\nint next();\n"
                       "void all(State& s, State* p, State* q, Reader& f, int* a, int x, int y) {\n" +
                       "".join(f"  {{ {text} }}\n" for text in statements) + "}\n")
        found, _ = sites.find(path, "order.cpp", path, ["-std=c++20"])
        lines = {s.line for s in found if s.kind == "order"}
        for line, (text, expected) in enumerate(statements.items(), 7):
            self.assertEqual(line in lines, expected, text)

    def test_a_precompiled_header_that_is_not_built_yet_is_left_out(self):
        with open(os.path.join(self.folder, "compile_commands.json"), "w", encoding="utf-8") as file:
            json.dump([{"file": self.path, "command": f"clang++ -O2 -Winvalid-pch -Xclang -include-pch -Xclang a.pch "
                                                      f"-Xclang -include -Xclang a.hxx -o a.o -c {self.path}"}], file)
        database = choose.compile_database(self.folder, self.folder)
        self.assertEqual(database["small.cpp"], ["-O2", "-Winvalid-pch", "-Xclang", "-include", "-Xclang", "a.hxx",
                                                 "-Wno-everything"])

    def test_a_seed_chooses_the_same_again_and_no_two_overlap(self):
        def chosen(seed):
            return choose.pick(random.Random(seed), self.found, 8)

        self.assertEqual(chosen(1), chosen(1))
        self.assertNotEqual(chosen(1), chosen(2))
        for a in chosen(1):
            self.assertEqual([b for b in chosen(1) if a.overlaps(b)], [a])

    def test_every_mutant_compiles_acts_alone_and_is_marked(self):
        program, marks = os.path.join(self.folder, "small"), os.path.join(self.folder, "marks")
        taken = choose.pick(random.Random(1), self.found, len(self.found))
        with open(self.path, "wb") as file:
            file.write(sites.rewrite(self.source, list(enumerate(taken)), os.path.join(HERE, "mutant.h")))
        subprocess.run([sys.argv[1], "-std=c++20", "-Wall", "-Werror", "-o", program, self.path], check=True)

        def run(number):
            with open(marks, "wb") as file:
                file.write(bytes(4096))
            code = subprocess.run([program], env={"MUTANT_ACTIVE": str(number), "MUTANT_REACHED": marks}).returncode
            with open(marks, "rb") as file:
                return code, [i for i, mark in enumerate(file.read()) if mark]

        code, reached = run(-1)
        self.assertEqual(code, 0)
        self.assertTrue(reached)
        self.assertLess(max(reached), len(taken))
        noticed = [i for i in range(len(taken)) if run(i)[0] != 0]
        self.assertTrue(noticed)
        self.assertLessEqual(set(noticed), set(reached))

    def test_each_test_of_a_process_has_its_own_marks(self):
        program, marks = os.path.join(self.folder, "tests"), os.path.join(self.folder, "marks")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write('#include <gtest/gtest.h>\n#include "mutant.h"\nconst bool kEarly = poprt_mutant(7);\n'
                       "TEST(A, One) { poprt_mutant(1); }\nTEST(A, Fails) { FAIL(); }\n"
                       'TEST(B, Two) { poprt_mutant(2), poprt_mutant(1); }\n#include "listener.cpp"\n')  # one file: compiled faster
        subprocess.run([sys.argv[1], "-std=c++20", "-w", "-I", HERE, "-o", program, self.path, "-lgtest_main", "-lgtest"],
                       check=True)
        with open(marks, "wb") as file:
            file.write(bytes(4096))
        subprocess.run([program], env={"MUTANT_REACHED": marks}, stdout=subprocess.DEVNULL)
        with open(marks + ".tests", encoding="utf-8") as file:
            notes = [line.split() for line in file]
        self.assertEqual([(n[0], n[2:]) for n in notes], [("*", ["7"]), ("A.One", ["1"]), ("B.Two", ["1", "2"])])

    def test_a_new_choice_removes_earlier_results(self):
        with tempfile.TemporaryDirectory() as folder:
            scratch = mutation.Scratch(argparse.Namespace(scratch=folder, preset="release"))
            for path in (scratch.reached, scratch.results):
                mutation.save(path, [])
            scratch.begin({"samples": [], "mutants": [1]})
            self.assertEqual(os.listdir(scratch.notes), ["mutants.json"])
            self.assertEqual(mutation.load(scratch.mutants)["mutants"], [1])

    def test_files_of_unittest_are_run_method_by_method(self):
        path = os.path.join(self.folder, "x_test.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write("class A(Base):\n    def test_a(self): pass\n    def help(self): pass\nclass B(A):\n    def test_b(self): pass\n")
        test = suite.Test("cli.x", ["python3", "-B", path], "", {})
        self.assertEqual([(m.name, m.command[3:]) for m in suite.methods(test)],
                         [("cli.x.A.test_a", ["A.test_a"]), ("cli.x.B.test_b", ["B.test_b"])])
        self.assertEqual(suite.methods(suite.Test("ops.x", ["test_ops"], "", {})), [])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    unittest.main(argv=sys.argv[:1])
