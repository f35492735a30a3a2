"""Every benchmark still compiles. The two commands do not build benchmarks, so only this test notices an outdated one.

Usage: benches.py BUILD_FOLDER (with compile_commands.json)"""

import concurrent.futures
import json
import os
import shlex
import subprocess
import sys

import tree


def syntax_only(entry):
    """The compiler's messages about a source, empty when it accepts it; precompiled headers are left out."""
    words = shlex.split(entry["command"])
    words = words[words.index(next(w for w in words if "clang" in os.path.basename(w) or "g++" in w or "gcc" in w)):]
    kept, skip = [], 0
    for i, word in enumerate(words):
        if skip:
            skip -= 1
        elif word in ("-o", "-MF", "-MT"):
            skip = 1
        elif word == "-Xclang" and words[i + 1] in ("-include-pch", "-include"):
            skip = 3
        elif word != "-c" and word != "-MD":
            kept.append(word)
    result = subprocess.run([*kept, "-fsyntax-only"], cwd=entry["directory"], text=True, capture_output=True, check=False)
    return "" if result.returncode == 0 else f"{entry['file']} does not compile:\n{result.stderr}"


def main():
    with open(os.path.join(sys.argv[1], "compile_commands.json"), encoding="utf-8") as file:
        entries = [e for e in json.load(file) if os.path.relpath(e["file"], tree.ROOT).startswith("tests/bench/")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [p for p in pool.map(syntax_only, entries) if p]
    tree.finish(problems, len(entries), "benchmarks")


if __name__ == "__main__":
    main()
