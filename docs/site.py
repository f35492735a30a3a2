"""Builds all pages of the repository as a static site with a search, with Debian's mkdocs, and checks every link in it.

Usage: site.py OUT

Pages keep their paths in the repository, so links between them work unchanged. Files that a page links to (sources,
pictures) are copied."""

import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
NAVIGATION = [
    {"poprt": "README.md"}, {"Installing": "docs/install.md"},
    {"Languages": [{"Examples": "docs/languages.md"}, {"C": "docs/languages/c.md"}, {"C++": "docs/languages/cpp.md"},
                   {"Python": "docs/languages/python.md"}, {"Java": "docs/languages/java.md"}, {"C#": "docs/languages/csharp.md"},
                   {"Go": "docs/languages/go.md"}, {"Bindings": "bindings/README.md"}, {"C ABI": "capi/ABI.md"},
                   {"Package for Python": "bindings/python/README.md"}, {"Package for Java": "bindings/java/README.md"},
                   {"Package for C#": "bindings/csharp/README.md"}, {"Module for Go": "bindings/go/README.md"},
                   {"Programs": "examples/README.md"}]},
    {"Using": [{"Commands": "docs/commands.md"}, {"Options": "docs/options.md"}, {"Precisions": "docs/precision.md"},
               {"Generating text": "docs/generation.md"}, {"Serving": "docs/serving.md"}, {"Packing": "docs/packing.md"}, {"Engine cache": "docs/cache.md"},
               {"Plug-ins": "docs/plugins.md"}, {"Inspector": "docs/inspector.md"}, {"Chips": "docs/chip.md"}]},
    {"Reference": [{"Operators": "docs/operators.md"}, {"Opsets": "docs/opsets.md"}, {"Passes": "docs/passes.md"},
                   {"Performance": "docs/performance.md"}, {"PopEF": "core/popef/FORMAT.md"}, {"Security": "SECURITY.md"}]},
    {"Developing": [{"Contributing": "CONTRIBUTING.md"}, {"Additions": "docs/contributing.md"}, {"Inside": "core/README.md"},
                    {"Design": "docs/design.md"}]},
    {"Release notes": "docs/CHANGELOG.md"},
]


def pages():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                            capture_output=True, text=True, check=False).stdout.split()
    if not listed:  # an unpacked archive
        listed = [os.path.relpath(os.path.join(folder, name), ROOT) for folder, folders, names in os.walk(ROOT)
                  for name in names if name.endswith(".md") and "build" not in os.path.relpath(folder, ROOT).split(os.sep)]
    return [p for p in listed if os.path.exists(os.path.join(ROOT, p))]


def gather(folder):
    """Copies the pages and the files that they link to. A link to a folder becomes a link to its page."""
    for page in pages():
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            text = file.read()

        def target(match, page=page):
            link = match.group(1)
            if re.match(r"\w+:", link):
                return match.group(0)
            path = os.path.normpath(os.path.join(os.path.dirname(page), urllib.parse.unquote(link)))
            full = os.path.join(ROOT, path)
            if os.path.isdir(full):
                if not os.path.exists(os.path.join(full, "README.md")):
                    return f"]({os.path.relpath('README.md', os.path.dirname(page) or '.')})"
                return match.group(0).replace(link, link.rstrip("/") + "/README.md")
            if os.path.exists(full) and not path.endswith(".md"):
                copy(path, folder)
            return match.group(0)

        write(os.path.join(folder, page), LINK.sub(target, text))


def copy(path, folder):
    os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
    shutil.copy(os.path.join(ROOT, path), os.path.join(folder, path))


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Page(html.parser.HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def broken_links(site):
    found = {os.path.join(folder, name): None for folder, _, names in os.walk(site) for name in names if name.endswith(".html")}
    parsed = {path: Page(path) for path in found}
    problems = []
    for path, page in parsed.items():
        if os.path.basename(path) == "404.html":  # its links start at the server's root
            continue
        for link in page.links:
            address, anchor = urllib.parse.urldefrag(urllib.parse.unquote(link))
            if re.match(r"\w+:|//", address):
                continue
            full = os.path.normpath(os.path.join(os.path.dirname(path), address)) if address else path
            full = os.path.join(full, "index.html") if os.path.isdir(full) else full
            where = f"{os.path.relpath(path, site)}: {link}"
            if not os.path.exists(full):
                problems.append(f"{where}: there is no such file")
            elif anchor and full in parsed and anchor not in parsed[full].anchors:
                problems.append(f"{where}: the page has no such heading")
    return problems, sum(len(p.links) for p in parsed.values())


def unlisted(navigation):
    """Pages of docs/ that the navigation lacks; decisions are found from the page of the design."""
    listed = set(re.findall(r'"([^"]+\.md)"', json.dumps(navigation)))
    return [f"the navigation lacks {p}" for p in sorted(pages()) if re.fullmatch(r"docs/(languages/)?[\w-]+\.md", p) and p not in listed]


def unsearchable(site):
    """Pages of docs/ that the index of the search lacks."""
    with open(os.path.join(site, "search/search_index.json"), encoding="utf-8") as file:
        found = {entry["location"].split("#")[0] for entry in json.load(file)["docs"]}
    return [f"the search lacks {p}" for p in pages() if p.startswith("docs/") and p[:-len("md")] + "html" not in found]


def main():
    out = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        gather(os.path.join(folder, "pages"))
        config = {"site_name": "poprt", "docs_dir": "pages", "site_dir": out, "theme": {"name": "mkdocs", "highlightjs": False},
                  "nav": NAVIGATION, "use_directory_urls": False, "markdown_extensions": ["tables", "fenced_code"]}
        write(os.path.join(folder, "mkdocs.yml"), json.dumps(config))  # JSON is YAML
        done = subprocess.run(["mkdocs", "build", "--quiet", "--clean", "--config-file", os.path.join(folder, "mkdocs.yml")],
                              capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    problems, links = broken_links(out)
    problems += unlisted(NAVIGATION) + unsearchable(out)
    print("\n".join([*problems, f"{out}: {links} links, {len(problems)} broken"]))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
