#!/usr/bin/env python3
"""Measures how many small, plausible bugs the tests notice; README.md in this folder describes the commands.

    mutation.py prepare --scratch DIR --seed 1     a worktree of HEAD with 200 mutants in its files
    mutation.py build --scratch DIR                one build with all of them
    mutation.py refresh --scratch DIR              takes the tests of another revision; then build, measure
    mutation.py measure --scratch DIR              which tests reach which, then which mutants die
    mutation.py report --scratch DIR [--json]      the table and the survivors"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import re
import subprocess
import sys
import threading
import time

import suite

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MARKS = 4096  # kMutantLimit of mutant.h
TESTS = r"^(base|codecs|compiler|device|generate|ipu|ir|kernels|onnx|ops|opsets|passes|plugins|popef|program|runtime|" \
        r"capi|conformance|hostile|cli|inspector|lint\.(operators|opsets|passes|options))\b"
PROGRAMS = re.compile(r"^(test_\w+|capi_\w+_test|capi_data|poprt_tool|popef_dump|poprt_exec|poprt_serve|poprt_compiler_library|"
                      r"poprt_images_library): phony$", re.M)
SKIPPED_PROGRAMS = {"test_inspector_views"}  # no mutated folder needs it
OF_FOLDER = {"capi": "capi", "cli": "cli", "inspector/model": "inspector"}
CORPORA = re.compile(r"[Rr]ecorded|Refusals")  # tests that compare many results
FIRST_SECONDS, GROWTH = 1.0, 4.0  # time without a mutant of the tests in the first process, and factor for each later process
LEAST_LIMIT = 20  # seconds that every process may take


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def save(path, content):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
    os.replace(path + ".new", path)


def print_with_time(text):
    print(time.strftime("%H:%M:%S"), text, flush=True)


class Scratch:
    """The mutated tree, its build, and the notes of each step."""

    def __init__(self, options):
        self.tree = os.path.abspath(options.scratch)
        self.preset = options.preset
        self.build = os.path.join(self.tree, "build", options.preset)
        self.notes = os.path.join(self.tree, "build", "mutation")
        self.mutants, self.reached, self.results = (
            os.path.join(self.notes, n) for n in ("mutants.json", "reached.json", "results.json"))
        os.makedirs(self.notes, exist_ok=True)

    def configure(self):
        self._cmake(self.build)

    def sources(self):
        """Configures a build folder without unity builds and returns it. Mutants are chosen with its compile commands."""
        folder = os.path.join(self.notes, "sources")
        self._cmake(folder, "-DPOPRT_UNITY=OFF")
        return folder

    def _cmake(self, folder, *more):
        subprocess.run(["cmake", "--preset", self.preset, "-B", folder, *more], cwd=self.tree, check=True,
                       stdout=subprocess.DEVNULL)

    def begin(self, chosen):
        """Notes the chosen mutants. Removes the results of earlier mutants, which had the same numbers."""
        for path in (self.reached, self.results):
            if os.path.exists(path):
                os.remove(path)
        save(self.mutants, chosen)

    def environment(self, **more):
        """Returns an environment in which the usual folders for files are below the notes."""
        places = {n: os.path.join(self.notes, n.lower()) for n in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")}
        for place in places.values():
            os.makedirs(place, mode=0o700, exist_ok=True)
        return {**os.environ, **places, **more}


def listen(tree):
    """Adds listener.cpp, which records the mutants that each test reaches, to the test programs of the scratch tree."""
    with open(os.path.join(tree, "tests/CMakeLists.txt"), "a", encoding="utf-8") as file:
        file.write("\ninclude(mutation/listener.cmake)\n")


def prepare(options):
    if not os.path.exists(options.scratch):
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--detach", options.scratch, options.revision], check=True)
    scratch = Scratch(options)
    if os.path.samefile(scratch.tree, ROOT):
        sys.exit("mutation.py: --scratch must be another tree than this one: its files are rewritten")
    subprocess.run(["git", "-C", scratch.tree, "checkout", "--quiet", "--detach", options.revision], check=True)
    subprocess.run(["git", "-C", scratch.tree, "checkout", "--quiet", options.revision, "--", "."], check=True)
    sources = scratch.sources()
    import choose  # needs libclang
    mutants, samples = [], []
    for seed in options.seed:
        chosen, named = choose.choose(scratch.tree, sources, options.count, seed, mutants, options.jobs,
                                      options.folders)
        samples.append({"seed": seed, "folders": named, "first": len(mutants), "count": len(chosen)})
        mutants += chosen
        print_with_time(f"seed {seed}: {len(chosen)} mutants; half of them in {', '.join(named)}")
    if len(mutants) > MARKS:
        sys.exit(f"mutation.py: {len(mutants)} mutants are more than a build may have, {MARKS}: take fewer seeds")
    choose.write(scratch.tree, list(enumerate(mutants)))
    listen(scratch.tree)
    scratch.begin({"samples": samples, "mutants": [dataclasses.asdict(m) for m in mutants]})


def sample_of(noted, options):
    """The mutants of the seed that is measured or reported."""
    found = next((s for s in noted["samples"] if s["seed"] == options.seed[0]), None)
    if found is None or len(options.seed) > 1:
        sys.exit(f"mutation.py: name one seed of {[s['seed'] for s in noted['samples']]}, not {options.seed}")
    return found, range(found["first"], found["first"] + found["count"])


def refresh(options):
    """Replaces the tests of the scratch tree by those of another revision. The mutants remain."""
    scratch = Scratch(options)
    subprocess.run(["git", "-C", scratch.tree, "checkout", options.revision, "--", "tests"], check=True)
    listen(scratch.tree)


def build(options):
    """Builds all mutants. Reports and removes mutants that do not compile, and builds again."""
    scratch = Scratch(options)
    scratch.configure()
    listed = subprocess.run(["ninja", "-C", scratch.build, "-t", "targets", "all"], check=True, capture_output=True,
                            text=True).stdout
    programs = sorted(p for p in set(PROGRAMS.findall(listed)) - SKIPPED_PROGRAMS if re.search(options.programs, p))
    print_with_time(f"building {len(programs)} targets")
    for _ in range(4):
        made = subprocess.run(["ninja", f"-j{options.jobs}", "-k0", "-C", scratch.build, *programs], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if made.returncode == 0:
            return
        if not drop_refused(scratch, made.stdout):
            break
    sys.exit(made.stdout[-8000:])


def drop_refused(scratch, output):
    """Removes mutants on lines with compile errors from their files. Returns whether there were any."""
    # A note names the place if a mutant makes a constant expression of another line invalid.
    for kind in ("(?:fatal )?error", "note"):
        if drop_named(scratch, output, set(re.findall(rf"^(?:.*/)?([\w.]+):(\d+):\d+: {kind}:", output, re.M))):
            return True
    return False


def drop_named(scratch, output, places):
    """Removes the mutants on lines of `places`, which are (name of a file, line). Returns whether there were any."""
    import choose
    import sites
    noted = load(scratch.mutants)
    # The text of several lines is in the file twice, which moves later lines. The quoted line has the number of the mutant.
    quoted = {int(n) for shown in re.findall(r" error: .*\n(.*)", output) for n in re.findall(r"poprt_mutant\((\d+)\)", shown)}
    refused = [m for n, m in enumerate(noted["mutants"]) if not m.get("dropped") and
               (n in quoted or
                any(os.path.basename(m["file"]) == name and int(line) in range(m["line"], m["last_line"] + 1)
                    for name, line in places))]
    for mutant in refused:
        mutant["dropped"] = True
        print_with_time(f"dropped: {mutant['file']}:{mutant['line']} {mutant['shown']}")
    files = sorted({m["file"] for m in refused})
    if files:
        subprocess.run(["git", "-C", scratch.tree, "checkout", "HEAD", "--", *files], check=True)
        kept = [(n, sites.Site(**{k: m[k] for k in m if k != "dropped"})) for n, m in enumerate(noted["mutants"])
                if m["file"] in files and not m.get("dropped")]
        choose.write(scratch.tree, kept)
        save(scratch.mutants, noted)
    return bool(files)


def batches(tests, most):
    """Groups up to `most` consecutive tests of one GoogleTest program. Every other test is a group."""
    groups = []
    for test in tests:
        last = groups[-1] if groups else []
        if last and test.filter and last[0].command == test.command and len(last) < most:
            last.append(test)
        else:
            groups.append([test])
    return groups


def record(scratch, tests, jobs, together):
    """Runs the tests without a mutant, up to `together` tests of a program in one process. Records their times, whether
    they pass, and the mutants that they reach. A mutant that a process reaches only once may be in code that runs once,
    in whichever test is first, so it is recorded as "perhaps" for all tests of the process."""
    rows = []
    lock = threading.Lock()
    local = threading.local()

    def noted(group, result, seconds):
        """Returns (milliseconds, sites) by the name of the test, from the listener's notes or the marks of the process."""
        if not group[0].filter:
            with open(local.marks, "rb") as file:
                return {"": (1000 * seconds, {i for i, mark in enumerate(file.read()) if mark})}
        with open(local.marks + ".tests", encoding="utf-8") as file:
            words = [line.split() for line in file]
        return {w[0]: (int(w[1]), set(map(int, w[2:]))) for w in words}

    def one(group):
        if not hasattr(local, "marks"):
            local.marks = os.path.join(scratch.notes, f"marks.{threading.get_ident()}")
        with open(local.marks, "wb") as file:
            file.write(bytes(MARKS))
        start = time.monotonic()
        result = suite.run(group, 1800, scratch.environment(MUTANT_REACHED=local.marks))
        found = noted(group, result, time.monotonic() - start)
        always = found.pop("*", (0, set()))[1]
        if result.how != "passed" and len(group) > 1:
            for test in group:
                one([test])
            return
        times = collections.Counter(site for _, reached in found.values() for site in reached)
        perhaps = sorted(always | {site for site, count in times.items() if count == 1 and len(group) > 1})
        with lock:
            before = len(rows)
            for test in group:
                milliseconds, reached = found.get(test.filter, (0, set()))
                rows.append({"name": test.name, "seconds": milliseconds / 1000, "passes": result.how == "passed",
                             "reached": sorted(reached), "perhaps": perhaps})
            if result.how != "passed":
                print_with_time(f"{group[0].name} fails without a mutant ({result.how}); it kills nothing\n{result.output[-800:]}")
            if before // 250 != len(rows) // 250:
                print_with_time(f"{len(rows)} of {len(tests)} tests recorded")

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, batches(tests, together)))
    return rows


def portions(tests):
    """Yields lists of tests in the order in which they run. Each list is of one program and runs in one process. Programs and
    tests that take less time are first, and the lists of a program become longer."""
    programs = {}
    for test in tests:
        programs.setdefault((tuple(test.command), test.name if not test.filter else ""), []).append(test)
    for group in sorted(programs.values(), key=lambda g: sum(t.seconds for t in g)):
        group.sort(key=lambda t: t.seconds)
        portion, seconds, limit = [], 0.0, FIRST_SECONDS
        for test in group:
            if portion and (seconds + test.seconds > limit or len(portion) == 400):
                yield portion
                portion, seconds, limit = [], 0.0, limit * GROWTH
            portion.append(test)
            seconds += test.seconds
        yield portion


def try_mutant(scratch, number, mutant, tests, most):
    """Returns (how, test, tests that ran) of the first test that fails with the mutant and fails again when it runs alone,
    or ("survived", "", ...) if no test fails. Tests run until they have taken `most` seconds (measured without a mutant).
    Corpora of the mutant's folder run first. Its other tests get half of the time, corpora of other folders a quarter,
    and all other tests the rest. Tests that reach the mutant only perhaps are last."""
    environment = scratch.environment(MUTANT_ACTIVE=str(number))
    part = OF_FOLDER.get(folder(mutant), folder(mutant).split("/")[-1])
    met, seconds = [], 0.0

    def place(test):
        if number not in test.reached:
            return 4
        return 2 * (test.part != part) + (not CORPORA.search(test.name))

    for which, limit in enumerate((most / 2, most / 2, most * 3 / 4, most, most)):
        for portion in portions([t for t in tests if place(t) == which]):
            takes = sum(t.seconds for t in portion)
            if met and seconds + takes > limit:
                continue
            met += portion
            seconds += takes
            while portion:
                result = suite.run(portion, LEAST_LIMIT + 10 * sum(t.seconds for t in portion), environment)
                if result.how == "passed":
                    break
                culprit = next((t for t in portion if t.filter == result.test), portion[0])
                alone = suite.run([culprit], LEAST_LIMIT + 10 * culprit.seconds, environment)
                if alone.how != "passed":
                    return alone.how, culprit.name, met
                portion = [t for t in portion if t is not culprit]
    return "survived", "", met


def folder(mutant):
    parts = mutant["file"].split("/")
    return "/".join(parts[:2]) if parts[0] in ("core", "inspector") else parts[0]


def measure(options):
    scratch = Scratch(options)
    noted = load(scratch.mutants)
    mutants = noted["mutants"]
    _, numbers = sample_of(noted, options)
    tests = suite.listed(scratch.build, options.tests)
    rows = {}
    if os.path.exists(scratch.reached) and not options.record:
        rows = {r["name"]: r for r in load(scratch.reached)}
    unknown = [t for t in tests if t.name not in rows]
    if unknown:
        print_with_time(f"{len(unknown)} tests without a mutant")
        rows.update({r["name"]: r for r in record(scratch, unknown, options.jobs, options.together)})
        save(scratch.reached, list(rows.values()))
    order = {name: i for i, name in enumerate(rows)}
    reaching = {}
    for test in tests:
        row = rows.get(test.name)
        if row and row["passes"]:
            test.seconds, test.reached = row["seconds"], set(row["reached"])
            for number in test.reached.union(row["perhaps"]):
                reaching.setdefault(number, []).append(test)
    results = load(scratch.results) if os.path.exists(scratch.results) else {}
    if not options.resume:
        results = {n: r for n, r in results.items() if int(n) not in numbers}

    def one(number):
        start = time.monotonic()
        reached = reaching.get(number, [])
        tried = set(results.get(str(number), {}).get("tried", []))
        tests = [t for t in reached if order[t.name] not in tried and t.seconds <= options.longest]
        how, test, met = try_mutant(scratch, number, mutants[number], tests, options.most)
        if not reached:
            how = "unreached"
        seconds = round(time.monotonic() - start, 1)
        results[str(number)] = {"how": how, "test": test, "seconds": seconds,
                                "tried": sorted(tried | {order[t.name] for t in met})}
        print_with_time(f"{number}: {how} {test} ({len(met)} of {len(reached)} tests, {seconds} s)")

    todo = [n for n in numbers if not mutants[n].get("dropped") and (not options.only or n in options.only) and
            results.get(str(n), {"how": "survived"})["how"] in ("survived", "unreached")]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done, _ in enumerate(pool.map(one, todo)):
            if done % 10 == 0:
                save(scratch.results, dict(results))
    save(scratch.results, results)
    report(options)


def report(options):
    scratch = Scratch(options)
    noted, results = load(scratch.mutants), load(scratch.results)
    equivalent = load(os.path.join(HERE, "equivalent.json"))
    sample, numbers = sample_of(noted, options)
    table, survivors, poor = {}, [], []
    for number in numbers:
        mutant = noted["mutants"][number]
        result = results.get(str(number))
        if not result or mutant.get("dropped"):
            continue
        row = table.setdefault(folder(mutant), {"mutants": 0, "killed": 0, "assertion": 0, "crash": 0, "hang": 0,
                                                "unreached": 0, "survived": 0, "equivalent": 0})
        how = result["how"]
        reason = next((e["reason"] for e in equivalent
                       if e["file"] == mutant["file"] and e["change"] == mutant["shown"]), "")
        if reason and how in ("survived", "unreached"):
            row["equivalent"] += 1
            survivors.append({"number": number, **mutant, "how": "equivalent", "reason": reason})
            continue
        row["mutants"] += 1
        row[how] += 1
        row["killed"] += how in ("assertion", "crash", "hang")
        if how in ("survived", "unreached"):
            survivors.append({"number": number, **mutant, "how": how})
        elif how != "assertion":
            poor.append({"number": number, **mutant, **{k: result[k] for k in ("how", "test", "seconds")}})
    content = {"seed": sample["seed"], "folders": sample["folders"], "table": table, "survivors": survivors,
               "crashes_and_hangs": poor}
    if options.json:
        print(json.dumps(content, indent=1))
        return
    columns = ["mutants", "killed", "assertion", "crash", "hang", "unreached", "survived", "equivalent"]
    total = {c: sum(row[c] for row in table.values()) for c in columns}
    print(f"seed {sample['seed']}; half of the mutants in {', '.join(sample['folders'])}")
    print(f"{'folder':16}" + "".join(f"{c:>11}" for c in columns) + f"{'killed %':>10}")
    for name, row in [*sorted(table.items()), ("all", total)]:
        share = 100 * row["killed"] / row["mutants"] if row["mutants"] else 100
        print(f"{name:16}" + "".join(f"{row[c]:11}" for c in columns) + f"{share:10.0f}")
    for title, rows in (("survivors", survivors), ("killed by a crash or a hang", poor)):
        print(f"\n{title}:")
        for m in rows:
            print(f"{m['number']:4} {m['file']}:{m['line']} [{m['kind']}] {m['how']} {m.get('test', '')}"
                  f" {m.get('reason', '')}\n       {m['shown']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["prepare", "refresh", "build", "measure", "report"])
    parser.add_argument("--scratch", required=True, help="a tree that is made or reused, and rewritten")
    parser.add_argument("--preset", default="release")
    parser.add_argument("--revision", default="HEAD", help="what prepare and refresh check out")
    parser.add_argument("--seed", type=int, nargs="+", default=[1],
                        help="prepare: one or several samples in one build; measure, report: one of them")
    parser.add_argument("--count", type=int, default=200, help="mutants of a seed")
    parser.add_argument("--folders", nargs="+", default=["core", "capi", "cli", "inspector/model"],
                        help="prepare: where the mutants are; half of them are in five of these folders, which the seed names")
    parser.add_argument("--programs", default="", help="build: only the programs whose names match this regular expression")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tests", default=TESTS, help="a regular expression for the names of tests")
    parser.add_argument("--only", type=int, nargs="*", help="measure: these mutants")
    parser.add_argument("--record", action="store_true", help="measure: run all tests alone again (after new tests)")
    parser.add_argument("--resume", action="store_true",
                        help="measure: only what survived or was not measured yet, with tests it did not meet yet")
    parser.add_argument("--longest", type=float, default=1e9,
                        help="measure: leave out tests that take more seconds; --resume without it tries them too")
    parser.add_argument("--most", type=float, default=1e9,
                        help="measure: a mutant meets tests until they took so many seconds; --resume goes on")
    parser.add_argument("--together", type=int, default=200, help="measure: record so many tests of a program at once")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    {"prepare": prepare, "refresh": refresh, "build": build, "measure": measure, "report": report}[options.step](options)


if __name__ == "__main__":
    main()
