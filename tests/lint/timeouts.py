"""Every test that CTest knows has its own time limit, so that a test that hangs fails.

    timeouts.py CTEST BUILD_FOLDER"""

import json
import subprocess
import sys

import tree


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    shown = subprocess.run([sys.argv[1], "--show-only=json-v1"], cwd=sys.argv[2], check=True, capture_output=True).stdout
    tests = json.loads(shown)["tests"]
    made = [t for t in tests if not t["name"].endswith("_NOT_BUILT")]  # those are programs that were not built
    problems = [f"{t['name']}: no TIMEOUT" for t in made
                if not any(p["name"] == "TIMEOUT" for p in t.get("properties", []))]
    tree.finish(problems, len(made), "tests")


if __name__ == "__main__":
    main()
