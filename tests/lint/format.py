"""All C and C++ sources are formatted by the pinned clang-format. Usage: format.py CLANG_FORMAT [--fix]"""

import subprocess
import sys

import tree


def main():
    clang_format = sys.argv[1] if len(sys.argv) > 1 else "clang-format-19"
    mode = ["-i"] if "--fix" in sys.argv else ["--dry-run", "--Werror"]
    sources = tree.code_files()
    problems = []
    try:
        result = subprocess.run([clang_format, *mode, *sources], cwd=tree.ROOT, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        bad = sorted({line.split(":")[0] for line in result.stdout.splitlines() if "error:" in line})
        problems = [f"{f}: not formatted; run tests/lint/format.py {clang_format} --fix" for f in bad]
        if result.returncode and not problems:
            problems = [result.stdout]
    except OSError as error:
        problems = [f"cannot run {clang_format}: {error}; install the package clang-format-19"]
    tree.finish(problems, len(sources), "files")


if __name__ == "__main__":
    main()
