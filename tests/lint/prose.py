"""Counts phrases that make comments, documents and messages hard to read, and compares their rates with limits.

    prose.py                 checks the whole repository
    prose.py core/ops        prints the rates and the worst files of a folder, without checking limits
    prose.py --worst 40      prints more files
    prose.py --hits FILE...  prints each line of these files that has a phrase

A rate is the number of occurrences per 10 000 words. The limit of each phrase is about three times its rate in LLVM.
Text in backticks, quoted examples of code in Markdown, and this file are not counted."""

import collections
import io
import os
import re
import sys
import tokenize

import tree

# Name, expression, and the largest rate.
PHRASES = [
    ("what is", r"\bwhat (?:is|are|has|have|comes?|was|it)\b", 6.0),
    ("stands", r"\b(?:stands?|stood|lies|lie|lay)\b", 2.4),
    ("told", r"\b(?:told|tells?|asked|asks?|says?|said)\b", 1.2),
    ("nobody", r"\b(?:nobody|whoever|somebody|anybody|everybody|no one)\b", 0.3),
    ("behind", r"\bbehind\b", 2.7),
    ("beside", r"\bbesides?\b", 0.3),
]
EXPRESSIONS = [(name, re.compile(expression, re.I)) for name, expression, _ in PHRASES]
LIMITS = {name: limit for name, _, limit in PHRASES}

C_FAMILY = (".h", ".hpp", ".c", ".cpp", ".java", ".go", ".cs", ".i", ".inc", ".capnp")
HASH_FAMILY = (".py", ".cmake", ".toml", ".sh", ".yaml", "CMakeLists.txt")
MARKDOWN = (".md",)
# These are data, or quote the phrases.
SKIPPED = ("tests/data/", "tests/lint/prose")
LEAST_WORDS = 4  # of a string literal that counts as a message

C_TOKEN = re.compile(
    r'R"(?P<tag>[^()\s"]*)\((?:.*?)\)(?P=tag)"'  # raw strings are programs and data
    r'|"(?P<string>(?:[^"\\\n]|\\.)*)"'
    r"|'(?:[^'\\\n]|\\.)+'"
    r"|//(?P<line>[^\n]*)"
    r"|/\*(?P<block>.*?)\*/", re.S)


def is_message(text):
    return len(re.findall(r"[A-Za-z]{2,}", text)) >= LEAST_WORDS


def without_code(string):
    """The string without its replacement fields, which are expressions or empty."""
    return re.sub(r"\{[^{}]*\}", "{}", string)


def c_prose(text):
    """Yields (line number, prose) of comments and of string literals that are messages."""
    for match in C_TOKEN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        comment = match.group("line") if match.group("line") is not None else match.group("block")
        if comment is not None:
            for i, part in enumerate(comment.split("\n")):
                yield line + i, part
        elif match.group("string") is not None and is_message(match.group("string")):
            yield line, without_code(match.group("string"))


def python_prose(text):
    """Comments, docstrings and string literals that are messages. Other strings of several lines are data."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return
    begins = True  # the next token begins a statement, so a string there is a docstring
    for token in tokens:
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#")
        elif token.type == tokenize.STRING and (begins or is_message(token.string) and "\n" not in token.string):
            for i, part in enumerate(without_code(token.string).split("\n")):
                yield token.start[0] + i, part
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def hash_prose(text):
    for number, line in enumerate(text.split("\n"), 1):
        match = re.search(r"(?:^|\s)#(.*)", line)
        if match:
            yield number, match.group(1)


def markdown_prose(text):
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def prose_of(path, text):
    """A list of (line number, prose), without text in backticks."""
    if path.endswith(".py"):
        parts = python_prose(text)
    elif path.endswith(C_FAMILY):
        parts = c_prose(text)
    elif path.endswith(MARKDOWN):
        parts = markdown_prose(text)
    elif path.endswith(HASH_FAMILY):
        parts = hash_prose(text)
    else:
        parts = []
    return [(number, re.sub(r"`[^`]*`", " ", part)) for number, part in parts]


class Count:
    """Words, and occurrences of each phrase."""

    def __init__(self):
        self.words = 0
        self.phrases = collections.Counter()

    def add(self, other):
        self.words += other.words
        self.phrases.update(other.phrases)

    def rate(self, name):
        return self.phrases[name] * 1e4 / max(self.words, 1)

    def excess(self):
        """By how many occurrences the phrases are above their limits."""
        return sum(max(0.0, self.phrases[name] - limit * self.words / 1e4) for name, limit in LIMITS.items())


def count_of(prose):
    # A phrase may continue on the next line.
    text = " ".join(part for _, part in prose)
    count = Count()
    count.words = len(text.split())
    for name, expression in EXPRESSIONS:
        count.phrases[name] = len(expression.findall(re.sub(r"\s+", " ", text)))
    return count


def counts(folders=()):
    """The count of each file below the folders, or of all files."""
    found = {}
    for path in tree.files():
        if path.startswith(SKIPPED) or (folders and not path.startswith(tuple(folders))):
            continue
        prose = prose_of(path, tree.read(path)) if path.endswith(C_FAMILY + HASH_FAMILY + MARKDOWN) else []
        if prose:
            found[path] = count_of(prose)
    return found


def total_of(found):
    total = Count()
    for count in found.values():
        total.add(count)
    return total


def problems_of(found):
    total = total_of(found)
    return [f"'{name}': {total.rate(name):.1f} per 10 000 words, expected at most {limit:g} "
            f"({total.phrases[name]} in {total.words} words); write what the code does, as tests/lint/README.md says"
            for name, limit in LIMITS.items() if total.rate(name) > limit]


def print_rates(found, worst):
    names = list(LIMITS)
    row = "{:<52}{:>8}" + "{:>9}" * len(names)
    print(row.format("per 10 000 words", "words", *names))
    total = total_of(found)
    print(row.format("all", total.words, *(f"{total.rate(n):.1f}" for n in names)))
    print(row.format("limit", "", *(f"{LIMITS[n]:g}" for n in names)))
    folders = collections.defaultdict(Count)
    for path, count in found.items():
        parts = path.split("/")
        folders["/".join(parts[:min(2, len(parts) - 1)]) or "."].add(count)
    for folder, count in sorted(folders.items()):
        print(row.format(folder, count.words, *(f"{count.rate(n):.1f}" for n in names)))
    print(row.format("occurrences in the worst files", "words", *names))
    for path, count in sorted(found.items(), key=lambda f: (-f[1].excess(), f[0]))[:worst]:
        if count.excess() >= 1:
            print(row.format(path, count.words, *(count.phrases[n] for n in names)))


def print_hits(paths):
    for path in paths:
        for number, part in prose_of(path, tree.read(path)):
            named = [name for name, expression in EXPRESSIONS if expression.search(part)]
            if named:
                print(f"{path}:{number}: [{', '.join(named)}] {part.strip()}")


def main(words):
    worst = 20
    if words[:1] == ["--hits"]:
        return print_hits(words[1:])
    if words[:1] == ["--worst"]:
        worst, words = int(words[1]), words[2:]
    found = counts([os.path.normpath(w) for w in words])
    print_rates(found, worst)
    if not words:
        tree.finish(problems_of(found), len(found), "files")
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
