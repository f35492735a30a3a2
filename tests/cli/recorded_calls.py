"""The folder, the masks and the records of recorded_commands_test.py and recorded_words_test.py: the output of a call and the
files that it makes, changes or removes, in tests/data/cli_commands_*.txt."""

import os
import re
import shlex

import onnx_writer as onnx
from support import RecordedTest, model

TIMES = [
    (r"after [\d.]+ ms", "after TIME ms"), (r"fastest [\d.]+ ms", "fastest TIME ms"), (r"Latency: [\d.]+ ?ms", "Latency: TIME"), (r"Throughput: [\d.]+ batches/s", "Throughput: NUMBER"),
    (r"latency ms: .*", "latency ms: TIMES"), (r"total: [\d.]+ ms, throughput: [\d.]+ ", "total: TIME ms, throughput: NUMBER "),
    (r"Tput: \d+", "Tput: NUMBER"), (r"load [\d.]+ ms", "load TIME ms"), (r"throughput: [\d.]+ requests", "throughput: NUMBER requests"),
    (r'("(?:\w+_ms|requests_per_second)": )\d[\d.e+-]*', r"\1TIME"), (r'("(?:load_ms|\w*_ns|last_used)": )\d[\d.e+-]*', r"\1TIME"), (r'("latency_ms": )\[[^]]*\]', r"\1TIMES"),
    (r'((?:(?:load|run|warm_median)_ms|warm_runs)(?:",\s*"value": "?|  +))\d[\d.e+-]*', r"\1TIME"),
    (r"(?m)^( *(?:model|convert|compile) +\S+ +\d+ +)[\d.e-]+", r"\1TIME"), (r"(?m)^ +\d+\.\d\d +\d+\.\d\d  (\w)", r"  TIME \1"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE"), (r"\b\d+ (second|minute|hour|day)s? ago\b", "AGE"), (r"\[\d\d:\d\d:\d\d\.\d+\] ", ""), (r"\b[0-9a-f]{64}\b", "HASH"),
    (r"\b(poprt|Model Runtime) \d+\.\d+\.\d+", r"\1 VERSION")]


def without_idle_passes(lines):
    """Replaces the debug lines of successive passes that rewrite nothing by their number; tests/data/pipelines.txt has the
    order of all passes."""
    kept, idle = [], 0
    for line in [*lines, ""]:
        if re.fullmatch(r"DEBUG \[poprt\] pass \w+: 0 rewrites, (\d+) nodes became \1", line):
            idle += 1
            continue
        if idle:
            kept.append(f"DEBUG [poprt] pass ...: 0 rewrites, {idle} times")
        idle = 0
        kept.append(line)
    return kept[:-1]


class CallsTest(RecordedTest):
    """The file with the tests is `made_by`."""

    command = "poprt"
    made_by = ""

    def prepare(self):
        x = [-1.5, 2, 0.25, 4, -8, 0.5]
        value = onnx.value("x", onnx.F32, ["N", 3]), onnx.value("y", onnx.F32, ["N", 3])
        twice = [onnx.node("Add", ["x", "c"], ["h"]), onnx.node("Identity", ["h"], ["i"]), onnx.node("Relu", ["i"], ["y"])]
        self.write("net.onnx", onnx.model(twice, value[:1], value[1:], [onnx.floats("c", [3], [1, -1, 0.5])]))
        f32 = [onnx.value(n, onnx.F32, [2, 3]) for n in "xyz"]
        self.write("two.onnx", onnx.model([onnx.node("Neg", ["x"], ["y"]), onnx.node("Abs", ["y"], ["z"])], f32[:1], f32[1:]))
        for folder in ("other", "empty", "several", "set/data_0", "strict/data_0", "bad/data_0", "list/data_0"):
            os.makedirs(self.path(folder))
        self.write("other/net.onnx", onnx.model([onnx.node("Abs", ["a"], ["b"])], [onnx.value("a", onnx.F32, [4])], [onnx.value("b", onnx.F32, [4])]))
        os.makedirs(self.path("second"))
        self.write("second/net.onnx", onnx.model([onnx.node("Abs", ["x"], ["y"])], f32[:1], f32[1:2]))
        os.makedirs(self.path("third"))
        os.makedirs(self.path("fixed"))
        self.write("third/net.onnx", onnx.model([onnx.node("Abs", ["x"], ["z"])], f32[:1], f32[2:]))
        self.write("fixed/net.onnx", onnx.model([onnx.node("Abs", ["c"], ["q"])], [], [onnx.value("q", onnx.F32, [3])], [onnx.floats("c", [3], [1, -1, 2])]))
        rows = [onnx.value("a", onnx.F32, [4, 2]), onnx.value("b", onnx.F32, [3, 2]), onnx.value("s", onnx.F32, []), onnx.value("d", onnx.F32, [6, 2])]
        self.write("leading.onnx", onnx.model([onnx.node("Mul", [n, "s"], ["y" + n]) for n in "abd"], rows, [onnx.value("y" + n, onnx.F32, ["n", 2]) for n in "abd"]))
        self.write("stages.yaml", b"[{node: node_y, stage: 0}]")
        for name in ("several/a.onnx", "several/b.onnx", "broken.onnx"):
            self.write(name, b"no model")
        self.write("labels.txt", b"one\ntwo\nthree\nfour\nfive\nsix\n")
        self.write("fused.yaml", b"model_fusion:\n- input_model: net.onnx\n  input_shape: x=2,3\n- input_model: two.onnx\n"
                   b"output_dir: fused\nexport_popef: True\n")
        external = b"".join([onnx.number(1, 3), onnx.number(2, onnx.F32), onnx.message(8, "c"),
                             onnx.message(13, onnx.message(1, "location"), onnx.message(2, "link.bin")), onnx.number(14, 1)])
        self.write("real.bin", bytes(4) + b"\0\0\x80\x3f" + bytes(4))
        os.symlink("real.bin", self.path("link.bin"))
        self.write("linked.onnx", onnx.model([onnx.node("Add", ["x", "c"], ["y"])], f32[:1], f32[1:2], [onnx.message(5, external)]))
        branch = onnx.graph([onnx.node("Neg", ["x"], ["n"])], [], [onnx.value("n", onnx.F32, [2, 3])])
        self.write("kinds.onnx", onnx.model(
            [onnx.node("Strange", ["x", ""], ["k"], "my.domain", i=3, f=0.25, s="text", many=[1, 2, 3], floats=[0.5, -1.5], g=branch),
             onnx.node("If", ["on"], ["y"], then_branch=branch, else_branch=branch)],
            [onnx.value("x", onnx.F32, [2, 3]), onnx.value("on", onnx.BOOL, [])], [onnx.value("y", onnx.F32, [2, 3]), onnx.value("k", onnx.F32, [1])],
            [onnx.floats("many", [1001], [i % 7 / 2 for i in range(1001)])], domains=["my.domain"]))
        self.write("cuts.yaml", b"[{node: node_y, device: 0}]")
        for name in ("sequence", "text", "optional", "nonzero", "reshape_input", "gather", "split", "join", "labels", "bits"):
            with open(model(name), "rb") as file:
                self.write(name + ".onnx", file.read())
        y = [max(0, a + b) for a, b in zip(x, [1, -1, 0.5] * 2)]
        off = [*y[:3], y[3] + 0.5, y[4] + 0.5, y[5]]
        self.npy("x.npy", "f4", [2, 3], x)
        self.npy("y.npy", "f4", [2, 3], y)
        self.npy("off.npy", "f4", [2, 3], off)
        self.npy("c.npy", "f4", [3], [2, 4, 8])
        self.npy("nan.npy", "f4", [2, 3], [float("nan"), *y[1:]])
        self.npy("flat.npy", "f4", [6], y)
        self.npy("column.npy", "f4", [2, 3], x, fortran=True)
        self.npy("wide.npy", "f4", [2, 4], [0] * 8)
        self.npy("doubles.npy", "f8", [2, 3], x)
        self.npy("halves.npy", "f2", [2, 3], x)
        self.npy("at.npy", "i8", [2, 6], [0, 0, 0, 1, 1, 1, 0, 1, 2, 0, 1, 2])
        self.npy("shape.npy", "i8", [2], [3, 2])
        self.npy("far.npy", "i8", [2], [0, 99])
        self.write("absent.none", b"")
        self.npy("ints.npy", "i4", [2, 3], [1] * 6)
        raw = onnx.floats("x", [2, 3], x)
        self.tensor_pb("x.pb", 1, [2, 3], raw[-24:])
        self.tensor_pb("short.pb", 1, [2, 3], raw[-20:])
        reference = onnx.floats("y", [2, 3], off)[-24:]
        for folder in ("set", "strict", "bad", "list"):
            self.tensor_pb(folder + "/data_0/input_0.pb", 1, [2, 3], raw[-24:])
            self.tensor_pb(folder + "/data_0/output_0.pb", 1, [2, 3], reference)
        self.write("set/data.json", b'{"rtol": 0, "atol": 0.5, "norm": 0.25}')
        self.write("strict/data_0/data.json", b'{"rtol": 0, "atol": 0.25}')
        self.write("bad/data.json", b'{"rtol": "x"}')
        self.write("list/data.json", b"[]")

    def masked(self, text):
        text = self.plain(text)
        for pattern, mask in TIMES:
            text = re.sub(pattern, mask, text)
        return [re.sub(r"(?<=\S) {2,}", "  ", line.rstrip()) for line in text.split("\n") if line.strip()]

    def step(self, line, before):
        """The output of a call, its exit code, and the files afterwards."""
        words = shlex.split(line)
        if words[0] == "damage":  # a byte of each file of the folder
            for name in os.listdir(self.path(words[1])):
                with open(os.path.join(self.path(words[1]), name), "r+b") as file:
                    file.seek(-400, os.SEEK_END)
                    file.write(b"x")
            return [], self.tree()
        count = 2 if words[0] == "poprt_exec" else 1
        if words[:2] == ["poprt_exec", "debug"]:
            count = 3
        if words[0] == "poprt" and "tf2onnx" not in words:
            words += ["--disable_compilation_progress_bar"]
        ran = self.run_command(*words[count:], command=" ".join(words[:count]))
        after = self.tree()
        lines = [f"code {ran.code}"] + self.masked(ran.out) + [f"says {s}" for s in without_idle_passes(self.masked(ran.err))]
        for name in sorted({*before, *after}):
            if name not in after or name not in before or before[name] != after[name]:
                how = "gone" if name not in after else "made" if name not in before else "changed"
                lines.append(f"{how}: {self.masked(name)[0]}")
                if name.endswith(".npy") and name in after and len(after[name]) < 400:
                    lines[-1] += f" {after[name][-24:].hex()}"
        return lines, after

    def record(self, name, steps):
        """Each step is a heading and a line."""
        text, files = f"# What commands do: {self.made_by}.\n", self.tree()
        for heading, line in steps:
            lines, files = self.step(line, files)
            text += heading + "\n" + "".join(f"  {s}\n" for s in lines)
        self.expect_recorded(f"cli_commands_{name}.txt", text)

    def record_lines(self, name, lines):
        self.prepare()
        self.record(name, [(line, line) for line in lines.split("\n") if line])
