"""Places of a C++ file where a small, plausible bug could be, found in clang's syntax tree.

A site consists of the bytes that it replaces and a text with `@` at the place of the mutant's number. The text computes
the same as the original bytes unless that mutant is active. Contexts that the compiler evaluates (constexpr,
static_assert, template arguments, case labels, enumerators) and macros have no sites. Remaining mutants that do not
compile are dropped after the build.

In addition to operators, constants and conditions, there are kinds of typical errors: `lock` (a mutex is not locked), `order` (two
statements change places), `field` (a line has the value of the line before it, as after copying it), `limit` (min, max or clamp
gives its first or second argument: a lifetime that ends too early, an ignored quota), `clear` (memory keeps what an earlier
request wrote), `nan` (NaN or infinity counts as a number) and `swallowed` (an error is not raised)."""

import dataclasses
import os
import re
import sys

try:
    from clang import cindex
except ImportError:  # another Python than Debian's, which has package python3-clang-19
    sys.path.append("/usr/lib/python3/dist-packages")
    from clang import cindex

K = cindex.CursorKind
T = cindex.TypeKind

BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "+"}
COMPOUND = {"+=": "-=", "-=": "+="}
NUMBERS = {T.BOOL, T.CHAR_U, T.UCHAR, T.CHAR16, T.CHAR32, T.USHORT, T.UINT, T.ULONG, T.ULONGLONG, T.CHAR_S, T.SCHAR,
           T.WCHAR, T.SHORT, T.INT, T.LONG, T.LONGLONG, T.FLOAT, T.DOUBLE}
COMPARED = NUMBERS | {T.ENUM, T.POINTER, T.DEPENDENT}
DECLARATIONS = {K.VAR_DECL, K.FUNCTION_DECL, K.CXX_METHOD, K.CONSTRUCTOR, K.FUNCTION_TEMPLATE, K.CONVERSION_FUNCTION,
                K.DESTRUCTOR, K.FIELD_DECL}
EVALUATED = {K.STATIC_ASSERT, K.ENUM_DECL, K.TYPEDEF_DECL, K.TYPE_ALIAS_DECL, K.TEMPLATE_TYPE_PARAMETER,
             K.TEMPLATE_NON_TYPE_PARAMETER, K.ALIGNED_ATTR}
# A change of these calls, or of values assigned to these members, changes only the speed or the text of a message
# (a kernel's plan estimates its work).
HARMLESS = {"reserve", "shrink_to_fit", "__builtin_prefetch", "_mm_prefetch"}
ESTIMATES = ("work",)
SPEAKING = ("fail", "warn", "debug", "trace", "info", "log_")
CLEARS = {"memset", "fill", "fill_n", "clear", "reset", "assign", "bzero", "zero"}
LIMITS = {"min", "max", "clamp", "checked_min", "checked_max"}
NUMBERS_ONLY = {"isnan": "false", "isinf": "false", "isfinite": "true", "is_nan": "false", "is_inf": "false"}
COMMUTATIVE = {"min", "max", "swap", "equal", "gcd", "lcm", "memcmp", "strcmp", "checked_add", "checked_mul", "least",
               "most", "same_size"}


def kind_of(spelled):
    """The kind of the canonical type; None if the Python binding has no name for it, as for _Float16."""
    try:
        return spelled.get_canonical().kind
    except ValueError:
        return None


@dataclasses.dataclass
class Site:
    file: str
    line: int
    last_line: int
    start: int  # bytes
    end: int
    kind: str
    text: str  # with @ for the number
    shown: str  # the change, for people

    def overlaps(self, other):
        return self.file == other.file and self.start < other.end and other.start < self.end


class Finder:
    def __init__(self, unit, path, name, source):
        self.path, self.name, self.source = path, name, source
        self.sites = []
        self.macros = []
        for cursor in unit.cursor.get_children():
            if cursor.kind == K.MACRO_INSTANTIATION and self.here(cursor):
                self.macros.append((cursor.extent.start.offset, cursor.extent.end.offset))
        for cursor in unit.cursor.get_children():
            if not cursor.kind.is_preprocessing() and self.here(cursor):
                self.visit(cursor, None)

    def here(self, cursor):
        file = cursor.extent.start.file
        return file is not None and file.name == self.path

    def text(self, cursor):
        return self.source[cursor.extent.start.offset:cursor.extent.end.offset].decode()

    def between(self, a, b):
        return self.source[a.extent.end.offset:b.extent.start.offset].decode().strip()

    def add(self, cursor, kind, text, shown):
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        if end <= start or any(start < e and s < end for s, e in self.macros):
            return
        shown = " ".join(shown.split())
        self.sites.append(Site(self.name, cursor.extent.start.line, cursor.extent.end.line, start, end, kind, text, shown[:160]))

    def choose(self, cursor, kind, mutant, shown=None):
        original = self.text(cursor)
        self.add(cursor, kind, f"(poprt_mutant(@) ? ({mutant}) : ({original}))", shown or f"{original} -> {mutant}")

    def visit(self, cursor, parent):
        kind = cursor.kind
        if kind in EVALUATED or (kind in DECLARATIONS and self.is_constexpr(cursor)):
            return
        children = list(cursor.get_children())
        if self.estimates(cursor, children):
            return
        handler = HANDLERS.get(kind)
        if handler:
            handler(self, cursor, children, parent)
        if self.harmless(cursor):
            return
        if kind == K.CASE_STMT:
            children = children[1:]
        for i, child in enumerate(children):
            if kind == K.COMPOUND_STMT:
                self.statement(child)
                self.lock(child)
                if i + 1 < len(children):
                    self.neighbours(child, children[i + 1])
            self.visit(child, cursor)

    def lock(self, cursor):
        """const std::lock_guard lock(mutex); becomes a lock that takes the mutex unless the mutant is active."""
        if cursor.kind != K.DECL_STMT:
            return
        found = re.fullmatch(r"(?:const )?std::(?:lock_guard|scoped_lock)(?:<[\w:]+>)? (\w+)[({]([^(){},]+)[)}];?", self.text(cursor).strip())
        if found:
            name, mutex = found.groups()
            self.add(cursor, "lock", f"std::unique_lock<std::decay_t<decltype({mutex})>> {name}({mutex}, std::defer_lock); "
                     f"if (!poprt_mutant(@)) {name}.lock();", f"no lock: {self.text(cursor)}")

    def neighbours(self, first, second):
        """Statements in the wrong order, and a value that was copied with its line."""
        simple = (K.CALL_EXPR, K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR)
        if first.kind not in simple or second.kind not in simple or any(
                self.harmless(c, "throw", "abort") or self.estimates(c, list(c.get_children())) for c in (first, second)):
            return
        a, b = self.text(first), self.text(second)
        start, end = first.extent.start.offset, second.extent.end.offset
        between = self.source[first.extent.end.offset:second.extent.start.offset].strip()
        if a != b and between == b";" and not self.independent(first, second) and not any(start < e and s < end for s, e in self.macros):
            shown = " ".join(f"order: {a}; {b} -> {b}; {a}".split())[:160]
            self.sites.append(Site(self.name, first.extent.start.line, second.extent.end.line, start, end, "order",
                                   f"if (poprt_mutant(@)) {{ {b}; {a}; }} else {{ {a}; {b}; }}", shown))
        values = [list(c.get_children()) for c in (first, second)]
        if any(c.kind != K.BINARY_OPERATOR or len(v) != 2 or self.between(*v) != "=" for c, v in zip((first, second), values)):
            return
        (_, x), (_, y) = values
        if x.type.get_canonical().spelling == y.type.get_canonical().spelling and self.text(x) != self.text(y):
            self.choose(y, "field", self.text(x), f"{b}: {self.text(y)} -> {self.text(x)}")

    def independent(self, first, second):
        """Whether the order of the statements has no effect: each changes one object, which the other does not mention."""
        changed = [self.changed(c) for c in (first, second)]
        if None in changed:
            return False
        members = [re.split(r"\.|->", c) for c in changed]
        if any("->" in c for c in changed) and members[0][-1] == members[1][-1]:
            return False  # both pointers may point to one object
        if all("[" in c for c in changed) and changed[0].split("[")[0] == changed[1].split("[")[0]:
            return False  # both indices may be equal
        mentions = [re.search(rf"(?<![\w.>]){re.escape(c)}(?!\w)", self.text(other)) for c, other in zip(changed, (second, first))]
        prefixes = any(a.startswith((b + ".", b + "->", b + "[")) for a, b in (changed, changed[::-1]))
        return not any(mentions) and not prefixes

    def changed(self, cursor):
        """The only object that a statement changes: of an assignment, or of a call of a member of the standard library. None if
        that is unknown."""
        children = list(cursor.get_children())
        if cursor.kind in (K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR) and len(children) == 2:
            target, values = children[0], children[1:]
        elif cursor.kind == K.CALL_EXPR and cursor.spelling == "operator=" and len(children) == 3:
            target, values = children[0], children[2:]
        elif (cursor.kind == K.CALL_EXPR and cursor.referenced is not None and cursor.referenced.kind == K.CXX_METHOD and
              cursor.referenced.get_usr().startswith("c:@N@std@") and children and children[0].kind == K.MEMBER_REF_EXPR):
            target, values = next(iter(children[0].get_children()), None), children[1:]
        else:
            return None
        if target is None or not re.fullmatch(r"\w+((\.|->)\w+|\[\w+\])*", self.text(target)):
            return None
        return self.text(target) if all(self.pure(c) for v in values for c in v.walk_preorder()) else None

    def pure(self, cursor):
        """Whether an expression, without its parts, changes nothing: calls are of const members, minima, maxima and constructors."""
        if cursor.kind in (K.COMPOUND_ASSIGNMENT_OPERATOR, K.LAMBDA_EXPR) or (
                cursor.kind == K.UNARY_OPERATOR and re.match(r"\+\+|--|.*(\+\+|--)$", self.text(cursor), re.S)):
            return False
        if cursor.kind == K.BINARY_OPERATOR:
            children = list(cursor.get_children())
            return len(children) == 2 and self.between(*children) != "="
        callee = cursor.referenced if cursor.kind == K.CALL_EXPR else None
        return callee is None or callee.kind == K.CONSTRUCTOR or callee.is_const_method() or cursor.spelling in LIMITS

    def is_constexpr(self, cursor):
        head = self.source[cursor.extent.start.offset:cursor.location.offset].split()
        return any(word in head for word in (b"constexpr", b"consteval", b"constinit"))

    def harmless(self, cursor, *words):
        return cursor.kind == K.CALL_EXPR and (cursor.spelling in HARMLESS or cursor.spelling.startswith(SPEAKING + words))

    def estimates(self, cursor, children):
        if cursor.kind not in (K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR) or len(children) != 2:
            return False
        left, right = children
        return (left.kind == K.MEMBER_REF_EXPR and left.spelling in ESTIMATES and
                self.between(left, right) in ("=", "+=", "-=", "*=", "/="))

    def statement(self, cursor):
        if cursor.kind not in (K.CALL_EXPR, K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR, K.UNARY_OPERATOR,
                               K.CXX_DELETE_EXPR) or self.estimates(cursor, list(cursor.get_children())):
            return
        if self.harmless(cursor, "throw", "abort"):
            return
        text = self.text(cursor)
        kind = "clear" if cursor.kind == K.CALL_EXPR and cursor.spelling in CLEARS else "statement"
        self.add(cursor, kind, f"if (!poprt_mutant(@)) {text}", f"without: {text}")

    def binary(self, cursor, children, parent):
        if len(children) != 2:
            return
        left, right = children
        operator = self.between(left, right)
        types = {kind_of(c.type) for c in children}
        a, b = self.text(left), self.text(right)
        if operator in NEGATED and types <= COMPARED:
            if operator in BOUNDARY and not self.chooses(parent, a, b):
                self.choose(cursor, "boundary", f"{a} {BOUNDARY[operator]} {b}")
            self.choose(cursor, "relational", f"{a} {NEGATED[operator]} {b}")
        elif operator in ARITHMETIC and types <= NUMBERS:
            self.choose(cursor, "arithmetic", f"{a} {ARITHMETIC[operator]} {b}")
        elif operator in ("&&", "||"):
            other = "||" if operator == "&&" else "&&"
            self.choose(cursor, "logical", f"({a}) {other} ({b})")

    def chooses(self, parent, a, b):
        """Whether the comparison is the condition of a minimum or maximum such as a < b ? a : b, which needs no boundary."""
        if parent is None or parent.kind != K.CONDITIONAL_OPERATOR:
            return False
        return {self.text(c) for c in list(parent.get_children())[1:]} == {a, b}

    def compound(self, cursor, children, _):
        if len(children) != 2 or kind_of(cursor.type) not in NUMBERS:
            return
        operator = self.between(*children)
        if operator in COMPOUND:
            self.choose(cursor, "arithmetic", f"{self.text(children[0])} {COMPOUND[operator]} {self.text(children[1])}")

    def unary(self, cursor, children, parent):
        if parent is not None and parent.kind == K.CSTYLE_CAST_EXPR and kind_of(parent.type) == T.VOID:
            return  # (void)!f(): the result is unused
        text = self.text(cursor)
        if text.startswith("!") and not text.startswith("!=") and len(children) == 1:  # C++20 writes a != b so
            self.add(cursor, "negated", f"(poprt_mutant(@) != ({text}))", f"{text} -> {text[1:]}")

    def branch(self, cursor, children, _):
        head = self.source[cursor.extent.start.offset:].lstrip()[2:].lstrip()
        if head.startswith((b"constexpr", b"consteval")) or not children or any(
                c.kind in (K.VAR_DECL, K.DECL_STMT) for c in children[:-1] if not c.kind.is_statement()):
            return
        if not children[0].kind.is_expression() or len(children) < 2:
            return
        condition, then = children[0], self.text(children[1])
        shown = f"if ({self.text(condition)}) {then}"
        if len(children) == 2:
            checks = any(word in then for word in ("fail", "throw", "return", "continue", "break"))
            raises = any(word in then for word in ("fail(", "throw "))
            self.add(condition, "swallowed" if raises else "check" if checks else "branch", f"!poprt_mutant(@) && ({self.text(condition)})",
                     f"never: {shown}")
        self.add(condition, "condition", f"poprt_mutant(@) != bool({self.text(condition)})", f"negated: {shown}")

    def conditional(self, cursor, children, _):
        if len(children) == 3:
            text = self.text(children[0])
            self.add(children[0], "condition", f"(poprt_mutant(@) != bool({text}))", f"negated: {self.text(cursor)}")

    def integer(self, cursor, children, parent):
        text = self.text(cursor)
        if not text[:1].isdigit() or parent is None or parent.kind in (K.DECL_REF_EXPR, K.MEMBER_REF_EXPR, K.TYPE_REF):
            return
        if parent.kind in (K.VAR_DECL, K.FIELD_DECL) and kind_of(parent.type) == T.CONSTANTARRAY:
            return
        self.choose(cursor, "constant", f"{text} + 1", f"{self.around(cursor)}: {text} -> {text} + 1")

    def floating(self, cursor, children, parent):
        text = self.text(cursor)
        if text[:1].isdigit() or text[:1] == ".":
            self.choose(cursor, "constant", f"{text} * 2 + 1", f"{self.around(cursor)}: {text} -> {text} * 2 + 1")

    def boolean(self, cursor, children, parent):
        text = self.text(cursor)
        if text in ("true", "false"):
            other = "false" if text == "true" else "true"
            self.choose(cursor, "default", other, f"{self.around(cursor)}: {text} -> {other}")

    def around(self, cursor):
        start = self.source.rfind(b"\n", 0, cursor.extent.start.offset) + 1
        end = self.source.find(b"\n", cursor.extent.end.offset)
        return self.source[start:end].decode().strip()

    def call(self, cursor, children, _):
        callee = cursor.referenced
        if callee is None or callee.kind not in (K.FUNCTION_DECL, K.CXX_METHOD):
            return
        if cursor.spelling in LIMITS | set(NUMBERS_ONLY):
            self.bounded(cursor)
        if cursor.spelling.startswith("operator") or cursor.spelling in COMMUTATIVE | HARMLESS:
            return
        arguments = [a for a in cursor.get_arguments() if a is not None and a.extent.end.offset > a.extent.start.offset]
        text, base = self.text(cursor), cursor.extent.start.offset
        if cursor.spelling.endswith("_attr") and len(arguments) == 2:
            fallback = self.text(arguments[1])
            self.choose(cursor, "attribute", f"decltype({text})({fallback})", f"{text} -> {fallback}")
        for a, b in zip(arguments, arguments[1:]):
            if a.type.get_canonical().spelling != b.type.get_canonical().spelling or "memory_order" in a.type.spelling:
                continue
            x, y = self.text(a), self.text(b)
            places = [o - base for c in (a, b) for o in (c.extent.start.offset, c.extent.end.offset)]
            raw = self.source[base:cursor.extent.end.offset]
            if x == y or x.startswith("{") or sorted(places) != places:
                continue
            swapped = (raw[:places[0]] + y.encode() + raw[places[1]:places[2]] + x.encode() + raw[places[3]:]).decode()
            self.choose(cursor, "arguments", swapped)

    def bounded(self, cursor):
        arguments = [a for a in cursor.get_arguments() if a is not None and a.extent.end.offset > a.extent.start.offset]
        if cursor.spelling in NUMBERS_ONLY and len(arguments) == 1:
            self.choose(cursor, "nan", NUMBERS_ONLY[cursor.spelling])
        elif cursor.spelling in LIMITS and len(arguments) in (2, 3) and not self.text(arguments[0]).startswith("{"):
            for a in arguments[:2] if cursor.spelling != "clamp" else arguments[:1]:
                self.choose(cursor, "limit", f"decltype({self.text(cursor)})({self.text(a)})", f"{self.text(cursor)} -> {self.text(a)}")

    def result(self, cursor, children, _):
        if len(children) == 1 and kind_of(children[0].type) == T.BOOL:
            text = self.text(children[0])
            if text not in ("true", "false"):
                self.add(children[0], "negated", f"(poprt_mutant(@) != ({text}))", f"negated: return {text}")


HANDLERS = {
    K.BINARY_OPERATOR: Finder.binary, K.COMPOUND_ASSIGNMENT_OPERATOR: Finder.compound, K.UNARY_OPERATOR: Finder.unary,
    K.IF_STMT: Finder.branch, K.CONDITIONAL_OPERATOR: Finder.conditional, K.INTEGER_LITERAL: Finder.integer,
    K.FLOATING_LITERAL: Finder.floating, K.CXX_BOOL_LITERAL_EXPR: Finder.boolean, K.CALL_EXPR: Finder.call,
    K.RETURN_STMT: Finder.result,
}


def find(path, name, unit_path, arguments):
    """Returns the sites of the file at `path`, which reports call `name`. `unit_path` is the translation unit to parse: the
    file, or one that includes it if it is a header."""
    with open(path, "rb") as file:
        source = file.read()
    options = cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
    unit = cindex.Index.create().parse(unit_path, args=arguments, options=options)
    return Finder(unit, path, name, source).sites, source


def rewrite(source, numbered, header):
    """The text of a file with all its mutants; `numbered` holds (number, site). A compiler's errors have the lines of the original."""
    for number, site in sorted(numbered, key=lambda pair: -pair[1].start):
        text = site.text.replace("@", str(number))
        if text.count("\n") != site.last_line - site.line:
            text += f"\n#line {site.last_line}\n"
        source = source[:site.start] + text.encode() + source[site.end:]
    head = f'#pragma clang diagnostic ignored "-Weverything"\n#include "{os.path.abspath(header)}"\n#line 1\n'
    return head.encode() + source

