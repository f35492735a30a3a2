"""poprt --precision_compare and --check: every number of the log, and the limits of the check, against numbers that Python computes."""

import itertools
import json
import math
import random
import re
import struct
import unittest
import zipfile

import onnx_writer as onnx
from support import CommandTest

F64, BF16, U8, S8, U16, S16 = 11, 16, 2, 3, 4, 5
NUMBER = r"(-?(?:[\d.e+-]+|nan|inf))"
FIELDS = ["mean", "std", "min", "max", "skewness", "kurtosis"]
DISTANCES = ["MSE", "MAE", "SNR", "cosine distance", "noise skewness", "noise kurtosis"]


def mt19937_64(seed):
    """The numbers of std::mt19937_64, as the standard defines it."""
    state = [seed]
    for i in range(1, 312):
        state.append((6364136223846793005 * (state[-1] ^ (state[-1] >> 62)) + i) % 2**64)
    for i in itertools.count():
        at = i % 312
        x = (state[at] & 0xffffffff80000000) | (state[(at + 1) % 312] & 0x7fffffff)
        x = state[at] = state[(at + 156) % 312] ^ (x >> 1) ^ (0xb5026f5aa96619e9 if x & 1 else 0)
        x ^= (x >> 29) & 0x5555555555555555
        x ^= (x << 17) & 0x71d67fffeda60000
        x ^= (x << 37) & 0xfff7eee000000000
        yield x ^ (x >> 43)


def rounded(values, letter):
    """The values rounded to float16 (e) or float32 (f)."""
    return list(struct.unpack(f"<{len(values)}{letter}", struct.pack(f"<{len(values)}{letter}", *values)))


def random_floats(count, seed):
    return [(x >> 40) / 2**23 - 1 for x in itertools.islice(mt19937_64(seed), count)]


def random_bits(count, seed):
    return [x & 1 for x in itertools.islice(mt19937_64(seed), count)]


def product(x, w, columns):
    rows = len(w) // columns
    return [math.fsum(x[i + k] * w[k * columns + j] for k in range(rows))
            for i in range(0, len(x), rows) for j in range(columns)]


def statistics(values):
    n, mean = len(values), math.fsum(values) / len(values)
    moment = [math.fsum((v - mean) ** p for v in values) / n for p in range(5)]
    low, high = min(values), max(values)
    histogram = [0] * 32
    for v in values:
        histogram[min(31, math.floor((v - low) / (high - low) * 32)) if high > low else 0] += 1
    flat = moment[2] == 0
    return dict(zip(FIELDS, [mean, math.sqrt(moment[2]), low, high, 0 if flat else moment[3] / moment[2] ** 1.5,
                             0 if flat else moment[4] / moment[2] ** 2 - 3])), histogram


def distances(was, now):
    noise = [b - a for a, b in zip(was, now)]
    signal, other = math.fsum(a * a for a in was), math.fsum(b * b for b in now)
    squares = math.fsum(d * d for d in noise)
    cosine = 1 - math.fsum(a * b for a, b in zip(was, now)) / math.sqrt(signal * other) if signal and other else float(signal != other)
    s = statistics(noise)[0]
    return dict(zip(DISTANCES, [squares / len(was), math.fsum(map(abs, noise)) / len(was), squares / (signal or 1), cosine,
                                s["skewness"], s["kurtosis"]])), noise


class CheckTest(CommandTest):
    command = "poprt"

    def archive(self, **arrays):
        """data.npz of (NumPy's code, shape, values)."""
        with zipfile.ZipFile(self.path("data.npz"), "w") as file:
            for name, (code, shape, values) in arrays.items():
                file.write(self.npy("array.npy", code, shape, values), name + ".npy")
        return ["--data_preprocess", "data.npz"]

    def log(self, *words):
        self.succeeds("-i", "m.onnx", "--precision_compare", "--disable_compilation_progress_bar", "--output_dir", "out", *words)
        with open(self.path("out/precision_compare.log"), encoding="utf-8") as file:
            return file.read()


class PrecisionCompare(CheckTest):
    # Multiples of 2^-14, which float32 represents exactly and float16 does not.
    W = [(i * 7919 % 16001 - 8000) / 2**14 for i in range(4 * 8)]

    def model(self, *inputs, columns=8):
        """Each input is cast to floats and multiplied by weights: a layer for each."""
        nodes, outputs = [], []
        for name, dtype, shape in inputs:
            nodes += [onnx.node("Cast", [name], [name + "f"], to=onnx.F32), onnx.node("MatMul", [name + "f", "w"], [name + "y"])]
            outputs.append(onnx.value(name + "y", onnx.F32, [*shape[:-1], columns]))
        self.write("m.onnx", onnx.model(nodes, [onnx.value(*i) for i in inputs], outputs,
                                        [onnx.floats("w", [len(self.W) // columns, columns], self.W)]))

    def layers(self, log):
        """Returns (distances, {title: (statistics, histogram)}) of each layer by its name, and the list at the end."""
        found, (text, ranks) = {}, log.split("\ncosine distance, the worst first\n")
        for block in re.split(r"^(?=\w+ \w+: MSE)", text, flags=re.M)[1:]:
            lines = block.split("\n")
            head = re.fullmatch(r"(\w+) (\w+): " + " ".join(f"{d} {NUMBER}" for d in DISTANCES), lines[0])
            sets = {}
            for title, bars in zip(lines[1:7:2], lines[2:7:2]):
                m = re.fullmatch(r"  (\w+): " + " ".join(f"{f} {NUMBER}" for f in FIELDS) + r"(?: not finite (\d+))?", title)
                sets[m[1]] = dict(zip(FIELDS, map(float, m.groups()[1:7])), infinite=int(m[8] or 0)), \
                    list(map(int, re.fullmatch(r"    histogram \[([\d ]*)\]", bars)[1].split()))
            self.assertEqual(list(sets), ["original", "converted", "noise"])
            self.assertEqual(head[1], "MatMul")
            found[head[2]] = dict(zip(DISTANCES, map(float, head.groups()[2:]))), sets
        return found, [line.split(" ") for line in ranks.splitlines()]

    def expect_near(self, found, expected, tolerance, what):
        for key, value in expected.items():
            least = 1 if "skewness" in key or "kurtosis" in key else 1e-6  # these are small sums of large addends
            self.assertAlmostEqual(found[key], value, delta=tolerance * (abs(value) + least), msg=f"{what}: {key}")

    def expect_layer(self, found, x, halves=True):
        """Compares the log with the product of x and the weights in float32 and in float16; with `halves` off, x stays float32."""
        was = product(x, self.W, 8)
        now = rounded(product(rounded(x, "e") if halves else x, rounded(self.W, "e"), 8), "e")
        expected, noise = distances(was, now)
        distance, sets = found
        self.expect_near(distance, expected, 2e-3, "distance")
        for title, values in (("original", was), ("converted", now), ("noise", noise)):
            numbers, histogram = statistics(values)
            self.expect_near(sets[title][0], numbers, 2e-3, title)
            self.assertEqual(len(sets[title][1]), 32)
            self.assertEqual(sum(sets[title][1]), len(values))
            # A value at a border may fall to either side of it.
            self.assertLessEqual(sum(abs(a - b) for a, b in zip(sets[title][1], histogram)), 2, title)

    def test_random_inputs_are_those_of_the_generator(self):
        """Inputs have every type; the seed of an input is its position, counted from 1."""
        types = [("a", onnx.F32), ("b", onnx.S64), ("c", onnx.F16), ("d", onnx.S32), ("e", F64), ("f", onnx.BOOL), ("g", U8), ("h", S8),
                 ("i", U16), ("j", S16)]
        self.model(*[(name, dtype, [3, 4]) for name, dtype in types])
        found, _ = self.layers(self.log("--precision", "fp16", "--logging_level", "ERROR"))  # values of f64 are a warning
        self.assertEqual(list(found), [name + "y" for name, _ in types])
        for seed, (name, dtype) in enumerate(types, 1):
            with self.subTest(dtype=dtype):
                x = random_floats(12, seed) if dtype in (onnx.F32, onnx.F16, F64) else random_bits(12, seed)
                self.expect_layer(found[name + "y"], rounded(x, "e") if dtype == onnx.F16 else x, dtype != F64)

    def test_bfloat16_inputs(self):
        self.model(("x", BF16, [3, 4]))
        found, _ = self.layers(self.log("--precision", "fp16", "--convert_version", "17"))
        x = [struct.unpack("<f", struct.pack("<I", (bits + 0x7fff + (bits >> 16 & 1)) >> 16 << 16))[0]
             for bits in struct.unpack("<12I", struct.pack("<12f", *random_floats(12, 1)))]
        self.expect_layer(found["xy"], x)

    def test_a_batch_of_data_begins_at_a_random_sample(self):
        """It is the same sample for all inputs; after the last sample the first one follows."""
        generator = random.Random(5)
        codes = [("a", onnx.F32, "f4"), ("b", onnx.S64, "i8"), ("c", onnx.F16, "f4"), ("d", onnx.S32, "i4"), ("e", onnx.BOOL, "f4"),
                 ("f", U8, "u1"), ("g", F64, "f8")]
        self.model(*[(name, dtype, [3, 4]) for name, dtype, _ in codes])
        samples = 5
        data = {name: [generator.choice([0, 0.5, 2]) if dtype == onnx.BOOL else
                       generator.randrange(-50, 50) / 8 if code[0] == "f" else generator.randrange(0, 9) for _ in range(samples * 4)]
                for name, dtype, code in codes}
        words = self.archive(**{name: (code, [samples, 4], data[name]) for name, _, code in codes})
        found, _ = self.layers(self.log("--precision", "fp16", "--logging_level", "ERROR", *words))  # values of f64 are a warning
        first = next(mt19937_64(1)) % samples
        for name, dtype, _ in codes:
            with self.subTest(dtype=dtype):
                x = [data[name][(4 * first + i) % (4 * samples)] for i in range(12)]
                self.expect_layer(found[name + "y"], [float(v != 0) for v in x] if dtype == onnx.BOOL else x)

    def test_data_that_does_not_fit(self):
        words = ["-i", "m.onnx", "--precision_compare", "--data_preprocess", "data.npz", "--disable_compilation_progress_bar"]
        self.model(("x", onnx.F32, [3, 4]))
        for shape in ([3, 5], [3], [0, 4], [3, 4, 1]):
            self.archive(x=("f4", shape, [0.0] * math.prod(shape)))
            printed = f"--data_preprocess: input 'x' has the shape [{','.join(map(str, shape))}], the model takes [3,4]"
            self.fails(words, printed)

    def test_data_of_bytes(self):
        self.model(("x", S8, [3, 4]))
        found, _ = self.layers(self.log("--precision", "fp16", *self.archive(x=("i1", [3, 4], [-3, 0, 7] * 4))))
        first = next(mt19937_64(1)) % 3
        x = [float(v) for v in [-3, 0, 7] * 4]
        self.expect_layer(found["xy"], x[4 * first:] + x[:4 * first])

    def test_the_worst_layer_is_first(self):
        """A layer whose numbers are not finite in float16 is before all others."""
        self.W = [w / 16 for w in self.W]
        names = "abcd"
        self.model(*[(name, onnx.F32, [3, 4]) for name in names])
        generator = random.Random(7)
        scale = {"a": 1, "b": 1, "c": 65504, "d": 2.0 ** -20}
        data = {name: [scale[name] * generator.choice([1, 0.75, 0.5]) for _ in range(12)] for name in names}
        words = self.archive(**{name: ("f4", [3, 4], data[name]) for name in names})
        found, ranks = self.layers(self.log("--precision", "fp16", *words))
        order = [name for _, _, name in ranks]
        self.assertEqual({(kind, name) for _, kind, name in ranks}, {("MatMul", name + "y") for name in names})
        shown = [float(number) for number, _, _ in ranks]
        self.assertEqual(shown, sorted(shown, reverse=True))
        for number, _, name in ranks:
            self.assertAlmostEqual(float(number), found[name][0]["cosine distance"], delta=1e-6 * abs(float(number)))
        self.assertEqual(order[0], "dy")  # whose values keep the fewest bits in float16

    def test_layers_without_numbers(self):
        """For zeros, noise and distance are 0, and all values are in the first bar of the histogram."""
        self.model(("x", onnx.F32, [3, 4]))
        found, ranks = self.layers(self.log("--precision", "fp16", *self.archive(x=("f4", [3, 4], [0.0] * 12))))
        distance, sets = found["xy"]
        self.assertEqual(list(distance.values()), [0] * 6)
        self.assertEqual(ranks, [["0", "MatMul", "xy"]])
        for title in sets:
            self.assertEqual(list(sets[title][0].values()), [0] * 7)
            self.assertEqual(sets[title][1], [24] + [0] * 31)

    def test_layers_of_which_nothing_is_finite(self):
        """A set without finite numbers has no moments, and the distance is that of disjoint distributions."""
        self.model(("x", onnx.F32, [3, 4]))
        found, ranks = self.layers(self.log("--precision", "fp16", *self.archive(x=("f4", [3, 4], [math.inf] * 12))))
        for title, (numbers, histogram) in found["xy"][1].items():
            with self.subTest(title=title):
                self.assertEqual(numbers, dict.fromkeys(FIELDS, 0) | {"infinite": 24})
                self.assertEqual(histogram, [0] * 32)
        self.assertEqual(ranks, [["1", "MatMul", "xy"]])

    def test_numbers_that_are_not_finite_are_counted(self):
        """They are left out of the moments of a set, and such a layer is the worst."""
        self.model(("a", onnx.F32, [3, 4]), ("b", onnx.F32, [3, 4]))
        x = [0.5, 1, -1, 2] * 3
        words = self.archive(a=("f4", [3, 4], x), b=("f4", [3, 4], [math.inf, 0, 0, 0, *x[4:]]))
        found, ranks = self.layers(self.log("--precision", "fp16", *words))
        sets = found["by"][1]
        self.assertEqual([sets[title][0]["infinite"] for title in sets], [8, 8, 8])
        self.assertEqual([sum(sets[title][1]) for title in sets], [16, 16, 16])
        self.expect_near(sets["original"][0], statistics(product(x[4:], self.W, 8))[0], 2e-3, "original")
        self.assertEqual(ranks[0], ["inf", "MatMul", "by"])
        self.assertEqual(found["ay"][1]["original"][0]["infinite"], 0)


class Check(CheckTest):
    """A difference above the sum of a fraction of the value and a fraction of the largest value is refused.
    The input is 0, 0, 0, 0, 0, 1."""

    def write_model(self, nodes, weights, of=onnx.S32, to=onnx.F32):
        self.assertEqual(random_bits(6, 1), [0, 0, 0, 0, 0, 1])
        self.write("m.onnx", onnx.model([onnx.node("Cast", ["x"], ["v"], to=onnx.F32), *nodes], [onnx.value("x", of, [6, 1])],
                                        [onnx.value("y", to, [6, 1])],
                                        [onnx.floats(name, shape, values) for name, (shape, values) in weights.items()]))

    def chain(self, levels, to):
        """Writes a model of 1000 (1 + 2^-11)^levels, in which each factor is 1 in float16."""
        nodes, at = [], "v"
        for i in range(levels):
            nodes += [onnx.node("MatMul", [at, "w"], [f"p{i}"]), onnx.node("Relu", [f"p{i}"], [f"r{i}"])]
            at = f"r{i}"
        self.write_model([*nodes, onnx.node("MatMul", [at, "t"], ["e"]), onnx.node("Cast", ["e"], ["y"], to=to)],
                         {"w": ([1, 1], [1 + 2.0 ** -11]), "t": ([1, 1], [1000.0])}, to=to)

    def check(self, *words):
        return self.succeeds("-i", "m.onnx", "--check", "--disable_compilation_progress_bar", *words)

    def refused(self, *words):
        """Returns the one line of a check that fails and writes nothing."""
        before = self.tree()
        ran = self.run_command("-i", "m.onnx", "--check", "--disable_compilation_progress_bar", "--output_dir", "new",
                               "--logging_level", "ERROR", *words)
        self.assertEqual((ran.code, ran.out, ran.err.count("\n"), self.tree()), (1, "", 1, before), ran.err)
        self.assertTrue(ran.err.endswith("; no converted model is written\n"), ran.err)
        return ran.err

    def expect_equal(self, *words):
        printed = self.check(*words)
        self.assertIn("check: the outputs are those of the original\n", printed)
        self.assertNotIn("largest", printed.replace("largest magnitude", ""))
        return printed

    def expect_within(self, *words):
        """Returns the lines of the largest absolute and the largest relative difference."""
        printed = self.check(*words)
        self.assertIn("check: the outputs differ from those of the original, within the tolerance\n", printed)
        return [re.search(rf"^  largest {kind} difference.*", printed, re.M)[0] for kind in ("absolute", "relative")]

    def expect_differs(self, why, *words):
        self.assertRegex(self.refused(*words), r"poprt: --check: output 'y' of the converted model differs in \d of 6 elements, most at " + why)

    def test_whole_numbers_may_differ_by_a_thousandth(self):
        """The model computes in float16, and its input and output are whole numbers. 5000 (1 + 2^-11)^5 is 5012."""
        self.chain(2, onnx.S32)
        absolute, _ = self.expect_within("--precision", "fp16")
        self.assertIn(": 4 in 'y' at [5,0]: 5004 in the original, 5000 in the converted model (inputs: distinct)", absolute)
        self.chain(5, onnx.S32)
        self.expect_differs(re.escape("[5,0]: 5012 in the original, 5000 in the converted model (inputs: distinct)"), "--precision", "fp16")
        self.chain(5, onnx.F32)
        self.expect_within("--precision", "fp16")

    def test_halves_may_differ_by_three_hundredths_of_the_largest(self):
        """2049 is 2048 in float16."""
        for other, fails in ((2015, False), (2016, True)):
            self.write_model([onnx.node("MatMul", ["v", "w"], ["p"]), onnx.node("MatMul", ["v", "t"], ["q"]), onnx.node("Sub", ["p", "q"], ["y"])],
                             {"w": ([1, 1], [2049.0]), "t": ([1, 1], [other])})
            if fails:
                self.assertIn("tolerance: fp16: 2 % of the original's value + 1 % of the output's largest magnitude", self.refused("--precision", "fp16"))
            else:
                absolute, relative = self.expect_within("--precision", "fp16")
                self.assertIn(": 5 in 'y' at [5,0]: 170 in the original, 165 in the converted model (inputs: distinct)", absolute)
                self.assertIn("(elements above 1 % of the largest): 0.0294118 in 'y' at [5,0]: 34 in the original, 33 in the", relative)
            self.expect_equal()

    def test_nan_in_both_models_is_equal(self):
        self.write_model([onnx.node("Div", ["v", "v"], ["y"])], {})
        self.expect_equal()
        self.assertIn("type of 'y': f32 in the original, f16 in the converted model\n", self.expect_equal("--precision", "fp16"))

    def test_nan_in_one_model_differs(self):
        """One model computes infinity times 0; in the other, constants of float16 stay finite."""
        self.write_model([onnx.node("MatMul", ["v", "w"], ["p"]), onnx.node("MatMul", ["p", "w"], ["q"]), onnx.node("MatMul", ["q", "z"], ["y"])],
                         {"w": ([1, 1], [1e30]), "z": ([1, 1], [0])})
        self.expect_equal()
        printed = self.refused("--precision", "fp16")
        self.assertIn("at [5,0]: nan in the original, 0 in the converted model (inputs: random)", printed)
        self.assertIn("largest absolute difference: inf in 'y'", printed)

    def test_quarters_may_differ_by_a_fifth(self):
        """It is reported. The greatest number of format F143 is 240."""
        fp8 = ["--precision", "fp8", "--ipu_version", "ipu21", "--fp8_params", "F143,F143,0,0"]
        for weight in (1.0625, 300.0):
            self.write_model([onnx.node("MatMul", ["v", "w"], ["y"])], {"w": ([1, 1], [weight])})
            self.expect_within(*fp8)
        self.assertIn("  tolerance: fp8: 20 % of the original's value + 20 % of the output's largest magnitude; integers: 0.1 %", self.check(*fp8))
        self.write_model([onnx.node("MatMul", ["v", "w"], ["y"])], {"w": ([1, 1], [600.0])})
        self.expect_differs(r"\[5,0\]: \d+ in the original", *fp8)

    def test_halves_may_change_quantised_values_by_a_step(self):
        """A half of the scale rounds another way, so that an element differs by a step of 1, which is 5 % of the value."""
        nodes = [onnx.node("QuantizeLinear", ["v", "w"], ["q"]), onnx.node("DequantizeLinear", ["q", "w"], ["d"]),
                 onnx.node("MatMul", ["d", "d"], ["y"])]
        values = [onnx.value(n, onnx.F32, [4, 4]) for n in "vy"]
        self.write("m.onnx", onnx.model(nodes, values[:1], values[1:], [onnx.floats("w", [], [0.0999])], opset=13))
        self.assertIn("  tolerance: int8: 20 % of the original's value", self.check("--precision", "fp16"))
        self.assertIn("  tolerance: fp32: 0.1 %", self.check())

    def test_the_report_is_a_file_too(self):
        self.write_model([onnx.node("MatMul", ["v", "w"], ["y"])], {"w": ([1, 1], [2049.0])})
        printed = self.check("--precision", "fp16")
        report = json.loads(self.tree()["check.json"])
        self.assertEqual(printed.split("check: ")[1], "\n  ".join(report["text"]) + "\n")
        self.assertEqual((report["equal"], report["within_tolerance"]), (False, True))
        self.assertEqual(report["tolerance"], {"precision": "fp16", "relative": 0.02, "of_largest": 0.01, "integer_relative": 0.001,
                                               "integer_of_largest": 0.0001})
        largest = {"difference": 5, "output": "y", "index": [5, 0], "original": 10245, "converted": 10240, "inputs": "distinct"}
        self.assertEqual(report["largest_absolute"], largest)
        self.assertEqual([row["name"] for row in report["inputs"]], ["random", "zeros", "ones", "sparse", "distinct"])
        self.assertTrue(all(row["compared"] for row in report["inputs"]))

    def test_data_is_checked_first(self):
        self.write_model([onnx.node("Relu", ["v"], ["y"])], {})
        printed = self.check(*self.archive(x=("i4", [6, 1], [9, 8, 7, 6, 5, 4])))
        self.assertRegex(printed, r"tolerance.*\n  inputs 'data': one batch of 'data.npz' from the sample that seed 1 selects.*\n  inputs 'random'")

    def test_sizes_that_depend_on_data_are_met_at_both_ends(self):
        """The model has such sizes in outputs, and inside, where a Shape reads them."""
        self.write("m.onnx", onnx.model(
            [onnx.node("NonZero", ["x"], ["n"]), onnx.node("Shape", ["n"], ["y"]), onnx.node("NonZero", ["c"], ["z"])],
            [onnx.value("x", onnx.F32, [3, 4]), onnx.value("c", onnx.BOOL, [5])],
            [onnx.value("y", onnx.S64, [2]), onnx.value("z", onnx.S64, [1, "Z"])]))
        printed = self.expect_equal()
        self.assertRegex(printed, r"\n  size of 'n': at most \[2,12\]; zero: \[2,0\] with zeros; between: \[2,\d+\] with sparse; the bound: \[2,12\] with random\n")
        self.assertRegex(printed, r"\n  size of 'z': at most \[1,5\]; zero: \[1,0\] with zeros; between: \[1,\d\] with random; the bound: \[1,5\] with ones\n")
        self.assertRegex(printed, r"\n  no elements: 'z' with zeros, ")

    def test_only_the_part_of_an_output_that_is_real_is_compared(self):
        """The output has the positions of the ones of the input; the memory after them is in no number of the report."""
        self.write("m.onnx", onnx.model(
            [onnx.node("Cast", ["x"], ["b"], to=onnx.BOOL), onnx.node("NonZero", ["b"], ["n"]), onnx.node("Cast", ["n"], ["f"], to=onnx.F32),
             onnx.node("MatMul", ["w", "f"], ["y"])],
            [onnx.value("x", onnx.S32, [3, 8])], [onnx.value("y", onnx.F32, [3, "N"])], [onnx.floats("w", [3, 2], [1, 0, 0, 1, 1, 1])]))
        self.assertIn("size of 'y': at most [3,24]; zero: [3,0] with zeros; between:", self.expect_equal())
        bits = random_bits(24, 1)
        places = [(i // 8, i % 8) for i, bit in enumerate(bits) if bit]
        expected = [p[0] for p in places] + [p[1] for p in places] + [sum(p) for p in places]
        log = self.log()
        mean, histogram = re.search(r"original: mean (\S+) .*\n    histogram \[([\d ]+)\]", log).groups()
        self.assertAlmostEqual(float(mean), math.fsum(expected) / len(expected), 4)
        self.assertEqual(sum(map(int, histogram.split())), len(expected))

    def test_an_output_that_only_has_the_name_of_a_size_is_none(self):
        """An output named as the size of another one, but without a number for each dimension, does not crop that one."""
        self.write("m.onnx", onnx.model(
            [onnx.node("MatMul", ["x", "w"], ["y"]), onnx.node("ReduceSum", ["y"], ["y:shape"], keepdims=0)], [onnx.value("x", onnx.F32, [6, 2])],
            [onnx.value("y", onnx.F32, [6, 1]), onnx.value("y:shape", onnx.F32, [])], [onnx.floats("w", [2, 1], [1, 2])]))
        self.expect_equal()
        histogram = re.search(r"histogram \[([\d ]+)\]", self.log())[1]
        self.assertEqual(sum(map(int, histogram.split())), 6)


if __name__ == "__main__":
    unittest.main()
