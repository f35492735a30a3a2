"""No message names a file that is not installed. Documents are installed (cli/CMakeLists.txt), and commands print them: a string of
the commands names `poprt help TOPIC`; a string of the libraries may name docs/NAME.md if there is a topic NAME."""

import re
import sys

import tree

sys.path.insert(0, f"{tree.ROOT}/cmake/packages")
import help_topics  # noqa: E402

LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
DOCUMENT = re.compile(r"\bdocs/([\w/-]+)\.md\b")
SOURCE = re.compile(r"\b(?:core|capi/src|cli|tests|cmake|bindings|inspector)/[\w/.-]+\.(?:cpp|h|py|md|txt|toml)\b")


def problems_of(path, text):
    """The strings of a C++ file that name files which a package does not contain."""
    topics = set(help_topics.TOPICS) | set(help_topics.ALIASES)
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("//", "#include", "*")):
            continue
        for literal in LITERAL.findall(line):
            for name in DOCUMENT.findall(literal):
                if path.startswith("cli/"):
                    found.append(f"{path}:{number}: name `poprt help {name}` instead of docs/{name}.md")
                elif name not in topics:
                    found.append(f"{path}:{number}: docs/{name}.md is no topic of poprt help")
            if SOURCE.search(literal) and path.startswith(("cli/", "capi/")):
                found.append(f"{path}:{number}: {SOURCE.search(literal)[0]} is not installed")
    return found


def main():
    problems, checked = [], 0
    for path in tree.files():
        if not path.startswith(("cli/", "capi/src/", "core/")) or not path.endswith((".cpp", ".h")):
            continue
        with open(f"{tree.ROOT}/{path}", encoding="utf-8") as file:
            problems += problems_of(path, file.read())
        checked += 1
    tree.finish(problems, checked, "files with messages")


if __name__ == "__main__":
    main()
