"""Three sets are equal: functions in the public headers, the version map, and symbols that the library exports. The hot
loops of the kernels are in libpoprt.so only; the other files borrow them (core/kernels/common/isa_builds.h). poprt_exec uses the
compiler in libpoprt_compiler.so and contains no copy of it (cmake/link_once.py).

Usage: symbols.py LIBPOPRT_SO NM [BORROWER...] [--shared LIBPOPRT_COMPILER_SO POPRT_EXEC]"""

import os
import re
import subprocess
import sys

import tree

HEADERS = "capi/include/poprt/"
MAP = "capi/poprt.map"
PRIVATE = {"poprt_private_isa_builds"}  # poprt_exec calls it; it is no part of the C ABI
HOT_LOOPS = re.compile(r" [bdr] poprt::kernels::isa::(\w+_(?:baseline|avx2|avx512))$", re.M | re.I)


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def declared():
    """Names of the functions that carry POPRT_API."""
    names = set()
    for path in tree.code_files():
        if not path.startswith(HEADERS) or not path.endswith(".h"):
            continue
        # Preprocessor lines contain the definition of POPRT_API itself.
        text = re.sub(r"^\s*#[^\n]*(?:\\\n[^\n]*)*", "", without_comments(tree.read(path)), flags=re.M)
        for declaration in re.findall(r"\bPOPRT_API\b([^;{]*)", text):
            # The function's name is before the first parenthesis that is no macro's argument list.
            name = re.search(r"\b(poprt_\w+)\s*\(", declaration)
            assert name, f"{path}: POPRT_API without a function: {declaration.strip()}"
            names.add(name.group(1))
    return names


def mapped():
    """Names of the version map; a wildcard but `local: *` would make the check empty, so it is refused."""
    names = set()
    for node in re.findall(r"\{(.*?)\}", without_comments(tree.read(MAP)), re.S):
        for scope, body in re.findall(r"(global|local):(.*?)(?=global:|local:|$)", node, re.S):
            entries = [e.strip() for e in body.split(";") if e.strip()]
            if scope == "local":
                assert entries == ["*"], f"{MAP}: expected local: *, found {entries}"
                continue
            for entry in entries:
                assert re.fullmatch(r"\w+", entry), f"{MAP}: expected a symbol, found {entry}"
                assert entry not in names, f"{MAP}: {entry} occurs twice"
                names.add(entry)
    return names


def exported(library, nm):
    """All symbols that the library defines for others; absolute ones are the names of versions."""
    output = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True,
                            text=True).stdout
    rows = [line.split() for line in output.splitlines()]
    return {row[-1].split("@")[0] for row in rows if len(row) >= 2 and row[-2] != "A"}


def hot_loops(file, nm):
    """The tables of core/kernels/isa that are linked into an unstripped file."""
    return set(HOT_LOOPS.findall(subprocess.run([nm, "-C", file], check=True, capture_output=True, text=True).stdout))


def copies(library, nm, borrowers):
    problems = [] if hot_loops(library, nm) else [f"{library} has no table of core/kernels/isa"]
    for file in borrowers:
        problems += [f"{os.path.basename(file)} contains {name}, which is in libpoprt.so already" for name in sorted(hot_loops(file, nm))]
    return problems


def core_copies(library, program, nm):
    """Checks that the program contains no functions of core except inline ones, and imports all that the library exports for it."""
    problems = []
    names = subprocess.run([nm, "-C", "--defined-only", program], check=True, capture_output=True, text=True).stdout
    for name in re.findall(r"^\S+ T (poprt::(?:base|ir|onnx|ops|opsets|passes|compiler|kernels|program|runtime|device)::.*)$", names, re.M):
        problems.append(f"{os.path.basename(program)} contains {name}, which is in {os.path.basename(library)}")
    wanted = subprocess.run([nm, "-D", "--undefined-only", program], check=True, capture_output=True, text=True).stdout
    shared = {name for name in exported(library, nm) if name.startswith("__wrap_")}
    problems += [f"{name} is exported by {os.path.basename(library)}, but {os.path.basename(program)} does not use it"
                 for name in sorted(shared - set(wanted.split()))]
    others = exported(library, nm) - shared - {"poprt_compiler_library_table"}
    problems += [f"{name} is exported by {os.path.basename(library)}, which has one function for libpoprt.so" for name in sorted(others)]
    return problems if shared else [*problems, f"{os.path.basename(library)} shares no function"]


def main():
    arguments = sys.argv[1:]
    pair = arguments[arguments.index("--shared") + 1:] if "--shared" in arguments else []
    arguments = arguments[:len(arguments) - len(pair) - 1] if pair else arguments
    library, nm = arguments[0], arguments[1] if len(arguments) > 1 else "nm"
    sets = {"declared in " + HEADERS: declared() | PRIVATE, "listed in " + MAP: mapped(),
            "exported by the library": exported(library, nm)}
    everything = set().union(*sets.values())
    problems = [f"{name} is not {place}" for name in sorted(everything)
                for place, names in sets.items() if name not in names]
    if not everything:
        problems.append("there is no symbol at all")
    problems += copies(library, nm, arguments[2:])
    if pair:
        problems += core_copies(*pair, nm)
    tree.finish(problems, len(everything), "symbols")


if __name__ == "__main__":
    main()
