"""Writes the documents that `poprt help TOPIC` prints as a C++ table of texts.

Usage: help_topics.py --docs FOLDER --out FILE.cpp     FOLDER is docs/ of the source tree

A topic is one or more documents, or sections of them. Markdown becomes plain text here: one line for each paragraph or list
item, which the command wraps, and lines that begin with a tab for code, which it does not wrap. A row of a table becomes an item
with the text of its first column, followed by the other columns with their headings."""

import argparse
import os
import re

# Topic -> summary and documents; FILE#HEADING is one section of a document.
TOPICS = {
    "commands": ("The three commands by example", ["commands.md"]),
    "precision": ("fp16, bf16, fp8, int8: storage, arithmetic and calibration", ["precision.md"]),
    "shapes": ("Fixed shapes, several shapes, shapes on demand", ["commands.md#Several models or shapes in one executable",
               "decisions/static-shapes.md", "decisions/shapes-on-demand.md", "decisions/dynamic-batching.md"]),
    "fusion": ("Several models in one executable", ["commands.md#Several models or shapes in one executable"]),
    "generation": ("Language models: generators and their caches", ["generation.md", "decisions/generation.md"]),
    "estimate": ("Cycles and memory of a model on a chip", ["chip.md"]),
    "cache": ("Compiled models that are stored for the next start", ["cache.md"]),
    "options": ("All options and their effects", ["options.md"]),
    "opsets": ("Opsets and 64-bit integers", ["opsets.md"]),
    "operators": ("The supported operators", ["operators.md"]),
    "passes": ("The passes and their parameters", ["passes.md"]),
    "packing": ("Several sequences in one row", ["packing.md"]),
    "plugins": ("Operators, passes and patterns in shared libraries", ["plugins.md"]),
    "sharding": ("Models on several chips", ["decisions/several-ipus.md"]),
    "performance": ("Measured speed, and how it was measured", ["performance.md"]),
    "serving": ("Servers: poprt_serve, Triton, TensorFlow", ["serving.md"]),
    "languages": ("C, C++, Python, Java, C# and Go", ["languages.md"]),
    "inspector": ("The desktop inspector", ["inspector.md"]),
    "design": ("Decisions and their reasons", ["design.md"]),
    "install": ("Packages", ["install.md"]),
}
# Other names of topics, for example those of the documents.
ALIASES = {"chip": "estimate", "batching": "shapes", "input_shape": "shapes", "batch_size": "shapes", "model_fusion": "fusion",
           "fp16": "precision", "fp8": "precision", "int8": "precision", "bf16": "precision", "calibration": "precision", "quantization": "precision",
           "generate": "generation", "opset": "opsets", "serve": "serving", "plugin": "plugins", "bench": "performance"}


def plain(text):
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return text.replace("**", "").replace("\\|", "|")


def cells(line):
    return [plain(c.strip()) for c in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


class Text:
    def __init__(self):
        self.lines, self.open = [], False

    def add(self, line, continues=False):
        if continues and self.open:
            self.lines[-1] += " " + line.strip()
        else:
            self.lines.append(line)
        self.open = True

    def close(self):
        self.open = False


def text_of(markdown):
    """Converts Markdown to plain text, as described at the top of this file."""
    out, code, header = Text(), False, None
    for line in markdown.splitlines():
        if line.startswith("```"):
            code = not code
            out.close()
        elif code:
            out.add("\t" + line)
        elif line.lstrip().startswith("|"):
            out.close()
            row = cells(line)
            if header is None:
                header = row
            elif not all(re.fullmatch(r":?-*:?", c) for c in row):
                rest = "; ".join(f"{h}: {c}" if h else c for h, c in zip(header[1:], row[1:]) if c)
                out.add(f"* {row[0]}: {rest}" if rest else f"* {row[0]}")
            out.close()
        else:
            header = None
            if not line.strip():
                out.close()
                if out.lines and out.lines[-1]:
                    out.add("")
                out.close()
            elif line.startswith("#"):
                out.close()
                out.add(plain(line.lstrip("# ")).upper() if line.startswith("# ") else plain(line.lstrip("# ")))
                out.close()
            elif re.match(r"\s*([*-]|\d+\.) ", line):
                out.close()
                out.add(plain(line))
            else:
                out.add(plain(line), continues=True)
    return "\n".join(out.lines).strip("\n") + "\n"


def source_of(docs, name):
    file, _, heading = name.partition("#")
    with open(os.path.join(docs, file), encoding="utf-8") as stream:
        text = stream.read()
    if not heading:
        return text
    found = re.search(rf"^(#+) {re.escape(heading)}$", text, re.M)
    if not found:
        raise SystemExit(f"help_topics.py: {file} has no section '{heading}'")
    rest = text[found.start():]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest[found.end() - found.start():], re.M)
    return rest[:found.end() - found.start() + end.start()] if end else rest


def literal(text):
    """Returns the text as adjacent raw strings of C++, because compilers limit the length of one string."""
    parts = [text[i:i + 8000] for i in range(0, len(text), 8000)]
    return "\n".join(f'R"~~({part})~~"' for part in parts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--docs", required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    rows = [f'    {{"{name}", "{summary}", {literal(chr(10).join(text_of(source_of(options.docs, s)) for s in sources))}}},'
            for name, (summary, sources) in TOPICS.items()]
    aliases = [f'    {{"{alias}", "{name}"}},' for alias, name in ALIASES.items()]
    text = "\n".join(["// Made by cmake/packages/help_topics.py.", '#include "common/help_topics.h"', "", "namespace poprt::cli {", "",
                      "const HelpTopic kHelpTopics[] = {", *rows, "};",
                      "const std::size_t kHelpTopicCount = sizeof kHelpTopics / sizeof *kHelpTopics;", "",
                      "const HelpAlias kHelpAliases[] = {", *aliases, "};",
                      "const std::size_t kHelpAliasCount = sizeof kHelpAliases / sizeof *kHelpAliases;", "",
                      "}  // namespace poprt::cli", ""])
    with open(options.out, "w", encoding="utf-8") as out:
        out.write(text)


if __name__ == "__main__":
    main()
