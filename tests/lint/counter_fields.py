"""capi/counters.toml is the one list of a runner's counters. Checks, or with --write makes, the parts made from it: the fields of
poprt_runner_counters and the code that fills them, the attributes of the raw layer, and RunnerCounters of Java, C# and Go.

Usage: counter_fields.py [--write]

The parts are between the comments <counters:...> and </counters:...>."""

import os
import re
import sys
import tomllib

import tree
from generated_parts import camel, comment, settle

TABLE = "capi/counters.toml"
TYPES = {"count": {"java": "long", "csharp": "long", "go": "int64"}, "number": {"java": "int", "csharp": "int", "go": "int"},
         "time": {"java": "Duration", "csharp": "TimeSpan", "go": "time.Duration"}}


class Counter:
    def __init__(self, key, row, names):
        self.key, self.row, self.names = key, row, names
        self.kind = row.get("kind", "count")
        self.by_hand = "c" in row  # the raw layer's attribute, the code that reads it, and the field in Java, C# and Go are written by hand
        self.c_name = key + ("_ns" if self.kind == "time" else "")

    def text(self, language):
        return re.sub(r"\{(\w+)\}", lambda m: self.names[m.group(1)][language], self.row["text"])

    def type(self, language):
        return TYPES[self.kind][language]


def c_fields(counters):
    lines = []
    for c in counters:
        lines += comment(c.text("c"), "  /* ", "   * ", 100, " */") + [f"  {c.row.get('c') or 'uint64_t ' + c.c_name};"]
    return lines


def c_copies(counters):
    return [f"  c.{c.c_name} = {c.row.get('from', 's.' + c.key)};" for c in counters if not c.by_hand]


def swig_attributes(counters):
    return [f"  int64_t {c.c_name};" for c in counters if not c.by_hand]


def java_members(counters):
    made = [c for c in counters if not c.by_hand]
    lines = [f"  private final {c.type('java')} {camel(c.key)};" for c in made]
    lines += ["", "  RunnerCounters(RawCounters raw) {"]
    read = {"count": "{}", "number": "(int) {}", "time": "Duration.ofNanos({})"}
    lines += [f"    {camel(c.key)} = {read[c.kind].format(f'raw.get{c.c_name[0].upper()}{c.c_name[1:]}()')};" for c in made]
    lines += ["    latencyBuckets = buckets(raw);", "  }"]
    for c in made:
        lines += ["", "  /**"] + comment(c.text("java"), "   * ", "   * ", 100)
        lines += ["   *", f"   * @return {'a time' if c.kind == 'time' else 'a count'}", "   */",
                  f"  public {c.type('java')} {camel(c.key)}() {{", f"    return {camel(c.key)};", "  }"]
    return lines


def csharp_members(counters):
    made = [c for c in counters if not c.by_hand]
    read = {"count": "{}", "number": "(int){}", "time": "Time({})"}
    lines = ["        internal RunnerCounters(RawCounters raw)", "        {"]
    lines += [f"            {camel(c.key, True)} = {read[c.kind].format('raw.' + c.c_name)};" for c in made]
    lines += ["            LatencyBuckets = Buckets(raw);", "        }"]
    for c in made:
        lines += [""] + comment(f"<summary>{c.text('csharp')}</summary>", "        /// ", "        /// ", 120)
        lines.append(f"        public {c.type('csharp')} {camel(c.key, True)} {{ get; }}")
    return lines


def go_members(counters):
    lines = []
    for c in counters:
        if not c.by_hand:
            lines += comment(c.text("go"), "\t// ", "\t// ", 120) + [f"\t{camel(c.key, True)} {c.type('go')}"]
    return lines


def go_reads(counters):
    lines = ["", "func (c *RunnerCounters) read(n native.RawCounters) {"]
    read = {"count": "{}", "number": "int({})", "time": "time.Duration({})"}
    lines += [f"\tc.{camel(c.key, True)} = {read[c.kind].format(f'n.Get{c.c_name[0].upper()}{c.c_name[1:]}()')}"
              for c in counters if not c.by_hand]
    return lines + ["}", ""]


PARTS = [
    ("capi/include/poprt/runner.h", "fields", c_fields), ("capi/src/libpoprt/runner.cpp", "copies", c_copies),
    ("bindings/swig/poprt.i", "attributes", swig_attributes),
    ("bindings/java/src/main/java/org/poprt/RunnerCounters.java", "members", java_members),
    ("bindings/csharp/src/RunnerCounters.cs", "members", csharp_members),
    ("bindings/go/counters.go", "members", go_members), ("bindings/go/counters.go", "reads", go_reads),
]


def read():
    with open(os.path.join(tree.ROOT, TABLE), "rb") as file:
        table = tomllib.load(file)
    return [Counter(key, row, table["names"]) for key, row in table["counters"].items()]


def check(write):
    counters = read()
    found = [settle(path, "counters:" + name, make(counters), TABLE, "tests/lint/counter_fields.py", write)
             for path, name, make in PARTS]
    return [problem for problem in found if problem], len(found)


def main():
    tree.finish(*check("--write" in sys.argv), "generated parts")


if __name__ == "__main__":
    main()
