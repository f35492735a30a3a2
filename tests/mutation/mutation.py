#!/usr/bin/env python3
"""Measures how many small, plausible bugs the tests notice; README.md in this folder says how to run it.

    mutation.py prepare --scratch DIR --seed 1     a worktree of HEAD with 200 mutants in its files
    mutation.py build --scratch DIR                one build with all of them
    mutation.py refresh --scratch DIR              takes the tests of another revision; then build, measure
    mutation.py measure --scratch DIR              which tests reach which, then which mutants die
    mutation.py report --scratch DIR [--json]      the table, and what survived"""

import argparse
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
TESTS = r"^(base|compiler|device|ir|kernels|onnx|ops|passes|popef|program|runtime|capi|conformance|hostile|cli|" \
        r"inspector)\."
PROGRAMS = re.compile(r"^(test_\w+|capi_\w+_test|capi_data|poprt_tool|popef_dump|poprt_exec|poprt_compiler_plugin|"
                      r"poprt_images_plugin): phony$", re.M)
SKIPPED_PROGRAMS = {"test_inspector_views"}  # what no mutated folder needs
OF_FOLDER = {"capi": "capi", "cli": "cli", "inspector/model": "inspector"}
FIRST_SECONDS, GROWTH = 1.0, 4.0  # tests of a process, by the seconds they took alone


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def save(path, content):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
    os.replace(path + ".new", path)


def say(text):
    print(time.strftime("%H:%M:%S"), text, flush=True)


class Scratch:
    """The tree that is mutated, its build, and the notes of each step beside them."""

    def __init__(self, options):
        self.tree = os.path.abspath(options.scratch)
        self.build = os.path.join(self.tree, "build", options.preset)
        self.notes = os.path.join(self.tree, "build", "mutation")
        self.mutants, self.reached, self.results = (
            os.path.join(self.notes, n) for n in ("mutants.json", "reached.json", "results.json"))
        os.makedirs(self.notes, exist_ok=True)

    def environment(self, **more):
        """Tests write below the notes, whatever a mutant makes of their paths."""
        places = {n: os.path.join(self.notes, n.lower()) for n in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")}
        for place in places.values():
            os.makedirs(place, mode=0o700, exist_ok=True)
        return {**os.environ, **places, **more}


def prepare(options):
    if not os.path.exists(options.scratch):
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--detach", options.scratch, options.revision], check=True)
    scratch = Scratch(options)
    if os.path.samefile(scratch.tree, ROOT):
        sys.exit("mutation.py: --scratch must be another tree than this one: its files are rewritten")
    subprocess.run(["git", "-C", scratch.tree, "checkout", "--quiet", "--detach", options.revision], check=True)
    subprocess.run(["git", "-C", scratch.tree, "checkout", "--quiet", options.revision, "--", "."], check=True)
    subprocess.run(["cmake", "--preset", options.preset], cwd=scratch.tree, check=True, stdout=subprocess.DEVNULL)
    import choose  # needs libclang
    mutants, named = choose.choose(scratch.tree, scratch.build, options.count, options.seed, options.folder_seed,
                                   options.jobs)
    choose.write(scratch.tree, list(enumerate(mutants)))
    save(scratch.mutants, {"seed": options.seed, "folder_seed": options.folder_seed, "folders": named,
                           "mutants": [dataclasses.asdict(m) for m in mutants]})
    say(f"{len(mutants)} mutants; half of them in {', '.join(named)}")


def refresh(options):
    """Other tests for the same mutants."""
    scratch = Scratch(options)
    subprocess.run(["git", "-C", scratch.tree, "checkout", options.revision, "--", "tests"], check=True)


def build(options):
    """One build; what the compiler refuses is dropped, which is said, and built again without."""
    scratch = Scratch(options)
    listed = subprocess.run(["ninja", "-C", scratch.build, "-t", "targets", "all"], check=True, capture_output=True,
                            text=True).stdout
    programs = sorted(set(PROGRAMS.findall(listed)) - SKIPPED_PROGRAMS)
    say(f"building {len(programs)} targets")
    for _ in range(4):
        made = subprocess.run(["ninja", f"-j{options.jobs}", "-k0", "-C", scratch.build, *programs], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if made.returncode == 0:
            return
        if not drop_refused(scratch, made.stdout):
            break
    sys.exit(made.stdout[-8000:])


def drop_refused(scratch, output):
    """Takes mutants on lines with compile errors out of their files; whether there were any."""
    import choose
    import sites
    noted = load(scratch.mutants)
    places = set(re.findall(r"^(?:.*/)?([\w.]+):(\d+):\d+: (?:fatal )?error:", output, re.M))
    refused = [m for m in noted["mutants"] if not m.get("dropped") and
               any(os.path.basename(m["file"]) == name and int(line) in range(m["line"], m["last_line"] + 1)
                   for name, line in places)]
    for mutant in refused:
        mutant["dropped"] = True
        say(f"dropped: {mutant['file']}:{mutant['line']} {mutant['shown']}")
    files = sorted({m["file"] for m in refused})
    if files:
        subprocess.run(["git", "-C", scratch.tree, "checkout", "HEAD", "--", *files], check=True)
        kept = [(n, sites.Site(**{k: m[k] for k in m if k != "dropped"})) for n, m in enumerate(noted["mutants"])
                if m["file"] in files and not m.get("dropped")]
        choose.write(scratch.tree, kept)
        save(scratch.mutants, noted)
    return bool(files)


def record(scratch, tests, jobs):
    """Runs every test alone, without a mutant: its time, whether it passes, and which mutants it comes by."""
    rows = []
    lock = threading.Lock()
    local = threading.local()

    def one(test):
        if not hasattr(local, "marks"):
            local.marks = os.path.join(scratch.notes, f"marks.{threading.get_ident()}")
        with open(local.marks, "wb") as file:
            file.write(bytes(MARKS))
        start = time.monotonic()
        result = suite.run([test], 900, scratch.environment(MUTANT_REACHED=local.marks))
        seconds = time.monotonic() - start
        with open(local.marks, "rb") as file:
            reached = [i for i, mark in enumerate(file.read()) if mark]
        with lock:
            rows.append({"name": test.name, "seconds": round(seconds, 3), "passes": result.how == "passed",
                         "reached": reached})
            if result.how != "passed":
                say(f"{test.name} fails without a mutant ({result.how}); it kills nothing\n{result.output[-800:]}")
            if len(rows) % 250 == 0:
                say(f"{len(rows)} of {len(tests)} tests recorded")

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, tests))
    return rows


def portions(tests):
    """Tests in the order they are tried: portions of one program that grow, the shortest tests first."""
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


def try_mutant(scratch, number, mutant, tests):
    """(how, test) of the first test that fails with the mutant and fails again alone; ("survived", "")."""
    environment = scratch.environment(MUTANT_ACTIVE=str(number))
    part = OF_FOLDER.get(folder(mutant), folder(mutant).split("/")[-1])
    for own in (True, False):
        for portion in portions([t for t in tests if (t.part == part) == own]):
            while portion:
                result = suite.run(portion, 40 + 10 * sum(t.seconds for t in portion), environment)
                if result.how == "passed":
                    break
                culprit = next((t for t in portion if t.filter == result.test), portion[0])
                alone = suite.run([culprit], 40 + 10 * culprit.seconds, environment)
                if alone.how != "passed":
                    return alone.how, culprit.name
                portion = [t for t in portion if t is not culprit]
    return "survived", ""


def folder(mutant):
    parts = mutant["file"].split("/")
    return "/".join(parts[:2]) if parts[0] in ("core", "inspector") else parts[0]


def measure(options):
    scratch = Scratch(options)
    mutants = load(scratch.mutants)["mutants"]
    tests = suite.listed(scratch.build, options.tests)
    rows = {}
    if os.path.exists(scratch.reached) and not options.record:
        rows = {r["name"]: r for r in load(scratch.reached)}
    unknown = [t for t in tests if t.name not in rows]
    if unknown:
        say(f"{len(unknown)} tests, each alone")
        rows.update({r["name"]: r for r in record(scratch, unknown, options.jobs)})
        save(scratch.reached, list(rows.values()))
    reaching = {}
    for test in tests:
        row = rows.get(test.name)
        if row and row["passes"]:
            test.seconds = row["seconds"]
            for number in row["reached"]:
                reaching.setdefault(number, []).append(test)
    results = load(scratch.results) if os.path.exists(scratch.results) and options.resume else {}

    def one(number):
        start = time.monotonic()
        how, test = try_mutant(scratch, number, mutants[number], reaching.get(number, []))
        if not reaching.get(number):
            how = "unreached"
        results[str(number)] = {"how": how, "test": test, "seconds": round(time.monotonic() - start, 1)}
        say(f"{number}: {how} {test} ({len(reaching.get(number, []))} tests, {results[str(number)]['seconds']} s)")
        save(f"{scratch.results}", results) if len(results) % 10 == 0 else None

    todo = [n for n in range(len(mutants)) if not mutants[n].get("dropped") and (not options.only or n in options.only) and
            results.get(str(n), {"how": "survived"})["how"] in ("survived", "unreached")]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, todo))
    save(scratch.results, results)
    report(options)


def report(options):
    scratch = Scratch(options)
    noted, results = load(scratch.mutants), load(scratch.results)
    equivalent = load(os.path.join(HERE, "equivalent.json"))
    table, survivors, poor = {}, [], []
    for number, mutant in enumerate(noted["mutants"]):
        result = results.get(str(number))
        if not result:
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
            poor.append({"number": number, **mutant, **result})
    content = {**{k: noted[k] for k in ("seed", "folder_seed", "folders")}, "table": table, "survivors": survivors,
               "crashes_and_hangs": poor}
    if options.json:
        print(json.dumps(content, indent=1))
        return
    columns = ["mutants", "killed", "assertion", "crash", "hang", "unreached", "survived", "equivalent"]
    total = {c: sum(row[c] for row in table.values()) for c in columns}
    print(f"seed {noted['seed']}; half of the mutants in {', '.join(noted['folders'])}")
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
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder-seed", type=int, help="names the folders that get half of the mutants (--seed)")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tests", default=TESTS, help="a regular expression for the names of tests")
    parser.add_argument("--only", type=int, nargs="*", help="measure: these mutants")
    parser.add_argument("--record", action="store_true", help="measure: run all tests alone again (after new tests)")
    parser.add_argument("--resume", action="store_true", help="measure: only what survived or was not measured yet")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.folder_seed is None:
        options.folder_seed = options.seed
    {"prepare": prepare, "refresh": refresh, "build": build, "measure": measure, "report": report}[options.step](options)


if __name__ == "__main__":
    main()
