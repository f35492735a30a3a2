"""Chooses the sites in the folders of a tree that become mutants, by a seed."""

import json
import multiprocessing
import os
import random
import re
import shlex

import sites

FOLDERS = ["core/base", "core/codecs", "core/compiler", "core/device", "core/generate", "core/ipu", "core/ir", "core/kernels",
           "core/onnx", "core/ops", "core/opsets", "core/passes", "core/plugins", "core/popef", "core/program", "core/runtime",
           "capi", "cli", "inspector/model"]
PER_FILE = 6  # so that a measurement builds few files anew
DEPENDENTS = 8  # a header that more files include than this is left alone, for the same reason
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.M)
WEIGHTS = {"constant": 1, "relational": 1, "condition": 1}  # others have 2, because they are more like typical errors


def folders_below(wanted):
    """The folders that are one of `wanted` or below one: all of `core` for "core"."""
    return [f for f in FOLDERS if any(f == w or f.startswith(w + "/") for w in wanted)]


def quotas(tree, count, seed, folders):
    """Returns the number of mutants of each folder, and five folders that the seed selects: half of the mutants are distributed
    by the square root of the size, the other half to the five folders."""
    size = {f: sum(os.path.getsize(os.path.join(tree, p)) for p in sources(tree, f)) ** 0.5 for f in folders}
    named = random.Random(f"folders {seed}").sample(folders, min(5, len(folders)))
    share = {f: count / 2 * size[f] / sum(size.values()) for f in folders}
    for f in named:
        share[f] += count / 2 / len(named)
    whole = {f: int(share[f]) for f in folders}
    for f in sorted(folders, key=lambda f: whole[f] - share[f])[:count - sum(whole.values())]:
        whole[f] += 1
    return whole, named


def sources(tree, folder):
    """Files of a folder that may be mutated: C++ and its headers, not the C headers of users."""
    found = []
    for root, _, names in os.walk(os.path.join(tree, folder)):
        for name in names:
            path = os.path.relpath(os.path.join(root, name), tree)
            if name.endswith((".cpp", ".h", ".hpp")) and not path.startswith("capi/include/"):
                found.append(path)
    return sorted(found)


def header_users(tree, database):
    """Returns for each header the translation units that include it, also through other headers. Reads #include lines only."""
    roots = ["core", "capi/include", "capi/src", "tests", "."]
    direct = {}

    def includes(path):
        if path not in direct:
            with open(os.path.join(tree, path), "rb") as file:
                names = [m.decode() for m in INCLUDE.findall(file.read())]
            places = [os.path.dirname(path), *roots]
            direct[path] = [p for n in names for p in [next((os.path.normpath(os.path.join(r, n)) for r in places
                            if os.path.isfile(os.path.join(tree, r, n))), None)] if p]
        return direct[path]

    users = {}
    for unit in sorted(database):
        seen, todo = set(), [unit]
        while todo:
            for name in includes(todo.pop()):
                if name not in seen:
                    seen.add(name)
                    todo.append(name)
        for name in seen:
            users.setdefault(name, []).append(unit)
    return users


def compile_database(tree, build):
    """Returns the compiler's arguments of each translation unit by its path, without those of the output."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    database = {}
    for entry in entries:
        path = os.path.relpath(entry["file"], tree)
        if path.startswith("..") or path in database or not os.path.isfile(entry["file"]):
            continue
        words = shlex.split(entry["command"])
        words = words[next(i for i, w in enumerate(words) if "clang" in w or "++" in w) + 1:]
        kept, skip = [], False
        for word in words:
            if skip or word in ("-o", "-MF", "-MT", "-c"):
                skip = not skip and word != "-c"
                continue
            if word not in ("-MD", "-Werror", entry["file"]):
                kept.append(word)
        database[path] = without_precompiled(kept) + ["-Wno-everything"]
    return database


def without_precompiled(words):
    """Returns the arguments without the precompiled header, which is not built yet. The header from which it is made is still
    included."""
    while "-include-pch" in words:
        at = words.index("-include-pch")  # -Xclang -include-pch -Xclang FILE
        words = words[:at - 1] + words[at + 3:]
    return words


def pick(random_, found, wanted):
    """Chooses up to `wanted` sites that do not overlap. The kind of each is chosen first, because most sites are constants."""
    taken = []
    found = list(found)
    while found and len(taken) < wanted:
        kinds = sorted({s.kind for s in found})
        kind = random_.choices(kinds, [WEIGHTS.get(k, 2) for k in kinds])[0]
        site = random_.choice([s for s in found if s.kind == kind])
        found = [s for s in found if not s.overlaps(site)]
        taken.append(site)
    return taken


def choose_in_folder(task):
    """Chooses sites in one folder. `task` contains the arguments, because the pool of processes passes only one."""
    tree, database, users, folder, wanted, seed, others = task
    random_ = random.Random(f"{seed} {folder}")
    files = sources(tree, folder)
    order = sorted(files, key=lambda f: random_.random() ** (1e4 / (1 + os.path.getsize(os.path.join(tree, f)))),
                   reverse=True)
    chosen = []
    for path in order:
        if len(chosen) >= wanted:
            break
        unit = path if path in database else next(iter(users.get(path, [])), None)
        if unit is None or (path not in database and len(users[path]) > DEPENDENTS):
            continue
        full, unit_path, arguments = os.path.join(tree, path), os.path.join(tree, unit), database[unit]
        found, _ = sites.find(full, path, unit_path, arguments)
        found = [s for s in found if not any(s.overlaps(o) for o in others)]
        chosen += pick(random_, found, min(PER_FILE, wanted - len(chosen)))
    return chosen


def choose(tree, build, count, seed, others, jobs=2, below=("core", "capi", "cli", "inspector/model")):
    """Chooses the mutants of a seed in the folders `below`. Returns the sites in the order of the folders, of which none
    overlaps the `others` of the build, and the five folders with half of the sites."""
    folders = folders_below(below)
    database = compile_database(tree, build)
    users = header_users(tree, database)
    quota, named = quotas(tree, count, seed, folders)
    tasks = [(tree, database, users, f, quota[f], seed, others) for f in folders]
    with multiprocessing.Pool(jobs) as pool:
        chosen = pool.map(choose_in_folder, tasks, chunksize=1)
    return [s for part in chosen for s in part], named


def write(tree, numbered):
    """Rewrites the unchanged files of the scratch tree; `numbered` holds (number, site)."""
    header = os.path.join(tree, "tests/mutation/mutant.h")
    by_file = {}
    for number, site in numbered:
        by_file.setdefault(site.file, []).append((number, site))
    for path, numbered in by_file.items():
        full = os.path.join(tree, path)
        with open(full, "rb") as file:
            source = file.read()
        with open(full, "wb") as file:
            file.write(sites.rewrite(source, numbered, header))
