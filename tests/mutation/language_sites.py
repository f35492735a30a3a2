"""Places of hand-written bindings (Python, Java, C#, Go, the C++ headers) where a small, plausible bug could be.

Python is read with `ast`, the others with regular expressions, after comments and the contents of strings are blanked. A mutant
that does not compile is dropped when it is measured. Kinds, in addition to those of sites.py: `field` (a line has the value of
the line before it, as after copying it), `lock` (a lock is not taken), `swallowed` (an error is not raised), `limit` (min or max
is left out)."""

import ast
import dataclasses
import os
import re

LANGUAGES = {"python": ("bindings/python", ".py"), "java": ("bindings/java/src", ".java"), "csharp": ("bindings/csharp/src", ".cs"),
             "go": ("bindings/go", ".go"), "cpp": ("capi/include/poprt", ".hpp")}
# Tools that build or install the packages, and files that are generated from the C ABI.
OTHERS = re.compile(r"bindings/python/\w+\.py$|/internal/native/poprt_raw|_test\.go$|bindings/(go|python)/(generate|package)\.py$")
WEIGHTS = {"constant": 1, "relational": 1, "condition": 1, "lock": 1}  # others 2
# Lines that only make a text for people.
SPEAKING = re.compile(r"\b(toString|ToString|String\(\)|__repr__|hashCode|GetHashCode|Sprintf?|Errorf)\b")


@dataclasses.dataclass(frozen=True)
class Site:
    file: str
    line: int
    kind: str
    start: int
    end: int
    text: str
    shown: str


def blanked(text, language):
    """The text with spaces in place of comments and of the contents of strings."""
    strings = r'"(?:\\.|[^"\\\n])*"|' + ("`[^`]*`|" if language == "go" else "") + r"'(?:\\.|[^'\\\n])+'"

    def blank(m):
        s = m.group()
        return re.sub(r"[^\n]", " ", s) if s.startswith(("/", "#")) else s[0] + re.sub(r"[^\n]", "_", s[1:-1]) + s[-1]

    return re.sub(rf"//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*|{strings}", blank, text, flags=re.S | re.M)


def matching(code, at):
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] == "(") - (code[i] == ")")
        if depth == 0:
            return i
    return -1


class Braces:
    """Sites of Java, C#, Go and C++."""

    def __init__(self, name, text, language):
        self.name, self.text, self.language = name, text, language
        self.code = blanked(text, language)
        self.sites = []
        self.operators()
        self.conditions()
        self.lines()
        self.calls()

    def add(self, kind, start, end, text):
        first = self.text.rfind("\n", 0, start) + 1
        last = self.text.find("\n", end)
        whole = self.text[first:last if last >= 0 else len(self.text)]
        if SPEAKING.search(whole) or re.match(r"\s*(import|using|package|#|@|template)\b", whole):
            return
        changed = self.text[first:start] + text + self.text[end:last if last >= 0 else len(self.text)]
        shown = " ".join(whole.split()) + " -> " + " ".join(changed.split())
        self.sites.append(Site(self.name, self.text.count("\n", 0, start) + 1, kind, start, end, text, shown[:220]))

    def operators(self):
        pairs = {" < ": ("boundary", " <= "), " <= ": ("boundary", " < "), " > ": ("boundary", " >= "), " >= ": ("boundary", " > "),
                 " == ": ("relational", " != "), " != ": ("relational", " == "), " && ": ("logical", " || "),
                 " || ": ("logical", " && "), " + ": ("arithmetic", " - "), " - ": ("arithmetic", " + "), " * ": ("arithmetic", " + "),
                 " += ": ("arithmetic", " -= "), "++": ("arithmetic", "--")}
        for m in re.finditer(r" (?:<=?|>=?|==|!=|&&|\|\||\+=?|-|\*) |\+\+", self.code):
            if '"' in self.code[max(0, m.start() - 2):m.end() + 2] or m.group() not in pairs:
                continue  # a concatenation of texts
            self.add(pairs[m.group()][0], m.start(), m.end(), pairs[m.group()][1])
        for m in re.finditer(r"(?<![\w.\"])\d[\d_]*(?![\w.\"])", self.code):
            self.add("constant", m.start(), m.end(), f"({m.group()} + 1)")
        for m in re.finditer(r"\b(true|false)\b", self.code):
            self.add("default", m.start(), m.end(), "false" if m.group() == "true" else "true")
        for m in re.finditer(r"(?<=[(&|=, ])!(?=[\w(])", self.code):
            self.add("negated", m.start(), m.end(), "")

    def conditions(self):
        if self.language == "go":
            for m in re.finditer(r"\bif ((?:[^{;\n]*; )?)([^{;\n]+) \{\n([^\n]*)\n", self.code):
                start, end = m.start(2), m.end(2)
                condition = self.text[start:end]
                if re.fullmatch(r"\s*return .*\berr(or)?\b.*|\s*return (invalid|&Error|ErrClosed).*", m.group(3)):
                    self.add("swallowed", start, end, f"false && ({condition})")
                else:
                    self.add("check", start, end, f"false && ({condition})")
                self.add("condition", start, end, f"!({condition})")
            return
        for m in re.finditer(r"\bif (?:constexpr )?\(", self.code):
            close = matching(self.code, m.end() - 1)
            if close < 0 or "constexpr" in m.group() or ";" in self.code[m.end():close] or " = " in self.code[m.end():close]:
                continue
            condition = self.text[m.end():close]
            after = self.code[close + 1:close + 60]
            self.add("swallowed" if re.match(r"\s*\{?\s*throw\b", after) else "check", m.end(), close, f"({condition}) && Never.Is".replace(
                "Never.Is", {"java": "!Boolean.TRUE", "csharp": "!bool.Parse(bool.TrueString)", "cpp": "false"}[self.language]))
            self.add("condition", m.end(), close, f"!({condition})")

    def lines(self):
        at, before = 0, None
        end = {"go": r"$"}.get(self.language, r";$")
        for line in self.code.splitlines(keepends=True):
            bare = line.strip()
            start = at + len(line) - len(line.lstrip())
            stop = start + len(bare)
            at += len(line)
            now = re.match(r"([\w.>\-\[\]]+)(\(| :?= )([^()]*(?:\([^()]*\))?[^()]*?)(\)?)" + end, bare)
            if now and re.match(r"(return|throw|if|for|while|defer|var|else)\b", bare):
                now = None
            if re.fullmatch(r"[\w.>\-]+\(.*\)" + end, bare) and not re.match(r"(return|throw|super|this|if|for|while|defer|func)\b", bare):
                self.add("statement", start, stop, "")
            elif now and now.group(2) == " = " and self.language != "go":
                self.add("statement", start, stop, ";" if self.language != "java" else "")
            if before and now and before.group(2) == now.group(2) and before.group(3) != now.group(3) and now.group(3):
                self.add("field", start + now.start(3), start + now.end(3), self.original(before_start + before.start(3), before.group(3)))
            before, before_start = now, start
            lock = {"java": r"synchronized (?=\w)|synchronized \(\w+\)(?= \{)", "csharp": r"lock \(\w+\)(?=$|\s)", "go": r"defer [\w.]+\.Unlock\(\)",
                    "cpp": r"const std::lock_guard .*;"}[self.language]
            for m in re.finditer(lock, bare):
                if self.language == "go":
                    take = self.code.rfind(m.group().replace("defer ", "").replace("Unlock", "Lock"), 0, start)
                    if take >= 0 and self.code.count("\n", take, start) == 1:
                        self.add("lock", take, stop, "\n")
                else:
                    self.add("lock", start + m.start(), start + m.end(), "if (true)" if self.language == "csharp" else "")
            if re.match(r"throw\b.*;$", bare) and not re.match(r"throw;", bare) and self.language != "go":
                self.add("swallowed", start, stop, ";" if self.language == "cpp" else "{}")

    def original(self, start, found):
        return self.text[start:start + len(found)]

    def calls(self):
        for m in re.finditer(r"\b(\w+)\(([\w.\[\]]+), ([\w.\[\]]+)(?=[,)])", self.code):
            a, b = self.text[m.start(2):m.end(2)], self.text[m.start(3):m.end(3)]
            if a != b and m.group(1) not in ("min", "max", "Min", "Max", "swap", "is_same_v"):
                self.add("arguments", m.start(2), m.end(3), f"{b}, {a}")
            if m.group(1) in ("min", "max", "Min", "Max"):
                close = matching(self.code, m.end(1))
                head = re.search(r"[\w.:]+$", self.code[:m.end(1)])
                self.add("limit", head.start(), close + 1, a)


class Python(ast.NodeVisitor):
    def __init__(self, name, text, _):
        self.name, self.text = name, text
        self.starts = [0]
        for line in text.encode().split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.bytes = text.encode()
        self.sites, self.parents = [], []
        self.visit(ast.parse(text))

    def at(self, node):
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def source(self, node):
        start, end = self.at(node)
        return self.bytes[start:end].decode()

    def add(self, kind, node, text, other=None):
        start, end = self.at(node)
        if other is not None:
            end = self.at(other)[1]
        first = self.bytes.rfind(b"\n", 0, start) + 1
        last = self.bytes.find(b"\n", end)
        whole = self.bytes[first:last].decode()
        if SPEAKING.search(whole):
            return
        changed = (self.bytes[first:start] + text.encode() + self.bytes[end:last]).decode()
        shown = " ".join(whole.split()) + " -> " + " ".join(changed.split())
        self.sites.append(Site(self.name, node.lineno, kind, len(self.bytes[:start].decode()), len(self.bytes[:end].decode()), text,
                               shown[:220]))

    def visit(self, node):
        name = "on_" + type(node).__name__
        if isinstance(node, ast.FunctionDef) and node.name == "__repr__" or isinstance(node, ast.JoinedStr):
            return
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.visit(node.value)
            return
        if hasattr(self, name):
            getattr(self, name)(node)
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self.visit(child)
        for body in ("body", "orelse", "finalbody"):
            if isinstance(getattr(node, body, None), list):
                self.neighbours(getattr(node, body))

    def neighbours(self, body):
        for a, b in zip(body, body[1:]):
            if isinstance(a, ast.Assign) and isinstance(b, ast.Assign) and self.source(a.value) != self.source(b.value):
                self.add("field", b.value, self.source(a.value))
            if all(isinstance(n, ast.Expr) and isinstance(n.value, ast.Call) and len(n.value.args) == 1 for n in (a, b)):
                self.add("field", b.value.args[0], self.source(a.value.args[0]))

    def on_Dict(self, node):
        for a, b in zip(node.values, node.values[1:]):
            if self.source(a) != self.source(b):
                self.add("field", b, self.source(a))

    def on_Compare(self, node):
        other = {ast.Lt: ("boundary", "<="), ast.LtE: ("boundary", "<"), ast.Gt: ("boundary", ">="), ast.GtE: ("boundary", ">"),
                 ast.Eq: ("relational", "!="), ast.NotEq: ("relational", "=="), ast.Is: ("relational", "is not"),
                 ast.IsNot: ("relational", "is"), ast.In: ("relational", "not in"), ast.NotIn: ("relational", "in")}
        if len(node.ops) == 1:
            kind, text = other[type(node.ops[0])]
            self.add(kind, node, f"{self.source(node.left)} {text} {self.source(node.comparators[0])}")

    def on_BoolOp(self, node):
        word = " or " if isinstance(node.op, ast.And) else " and "
        self.add("logical", node, word.join(f"({self.source(v)})" for v in node.values))

    def on_BinOp(self, node):
        other = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "+"}
        text = self.source(node)
        if type(node.op) in other and '"' not in text and "'" not in text:
            self.add("arithmetic", node, f"({self.source(node.left)}) {other[type(node.op)]} ({self.source(node.right)})")

    def on_If(self, node):
        raises = isinstance(node.body[0], ast.Raise)
        text = self.source(node.test)
        self.add("swallowed" if raises else "check", node.test, f"False and ({text})")
        self.add("condition", node.test, f"not ({text})")

    def on_IfExp(self, node):
        self.add("condition", node.test, f"not ({self.source(node.test)})")

    def on_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            self.add("negated", node, f"bool({self.source(node.operand)})")

    def on_Constant(self, node):
        if node.value is True or node.value is False:
            self.add("default", node, str(not node.value))
        elif isinstance(node.value, (int, float)):
            self.add("constant", node, f"({self.source(node)} + 1)")

    def on_Expr(self, node):
        if isinstance(node.value, ast.Call):
            self.add("statement", node, "pass")

    def on_Call(self, node):
        for a, b in zip(node.args, node.args[1:]):
            x, y = self.source(a), self.source(b)
            if x != y and not isinstance(a, ast.Starred) and not isinstance(b, ast.Starred):
                self.add("arguments", a, f"{y}, {x}", b)
        if isinstance(node.func, ast.Name) and node.func.id in ("min", "max") and len(node.args) == 2:
            self.add("limit", node, self.source(node.args[0]))

    def on_With(self, node):
        if len(node.items) == 1 and "lock" in self.source(node.items[0].context_expr):
            self.add("lock", node.items[0].context_expr, "__import__('contextlib').nullcontext()")


def find(root, language):
    """All sites of a language in a tree."""
    folder, ending = LANGUAGES[language]
    found = []
    for base, _, names in os.walk(os.path.join(root, folder)):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(base, name), root)
            if not name.endswith(ending) or OTHERS.search(path):
                continue
            with open(os.path.join(root, path), encoding="utf-8") as file:
                text = file.read()
            found += (Python if language == "python" else Braces)(path, text, language).sites
    return sorted(found, key=lambda s: (s.file, s.start, s.kind, s.text))


def changed(root, site):
    with open(os.path.join(root, site.file), encoding="utf-8") as file:
        text = file.read()
    return text[:site.start] + site.text + text[site.end:]


def drawn(rng, found, per_file=5):
    """The sites in the order of a draw, at most `per_file` of a file."""
    order = sorted(found, key=lambda s: rng.random() ** (1 / WEIGHTS.get(s.kind, 2)), reverse=True)
    counts = {}
    for site in order:
        counts[site.file] = counts.get(site.file, 0) + 1
        if counts[site.file] <= per_file:
            yield site
