"""Runs the pinned clang-tidy with .clang-tidy over the sources that a build folder compiled.

Takes minutes, so it is no ctest. Usage: tidy.py [BUILD_FOLDER] [PATH_PREFIX ...], by default build/dev core capi cli"""

import concurrent.futures
import json
import os
import subprocess
import sys

import tree

CLANG_TIDY = "clang-tidy-19"


def main():
    build = os.path.join(tree.ROOT, sys.argv[1] if len(sys.argv) > 1 else "build/dev")
    prefixes = tuple(sys.argv[2:] or ["core/", "capi/", "cli/"])
    commands = os.path.join(build, "compile_commands.json")
    if not os.path.exists(commands):
        sys.exit(f"{commands} is missing: configure first (cmake --preset dev)")
    with open(commands, encoding="utf-8") as file:
        compiled = {os.path.relpath(entry["file"], tree.ROOT) for entry in json.load(file)}
    sources = sorted(f for f in compiled & set(tree.code_files()) if f.startswith(prefixes))

    def run(source):
        result = subprocess.run([CLANG_TIDY, "-p", build, "--quiet", source], cwd=tree.ROOT, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        return result.stdout.strip() if result.returncode else ""

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [p for p in pool.map(run, sources) if p]
    tree.finish(problems, len(sources), "files")


if __name__ == "__main__":
    main()
