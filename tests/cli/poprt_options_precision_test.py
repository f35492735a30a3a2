"""poprt: options about element types, calibration and comparisons."""

import os
import pickle
import re
import struct
import unittest
import unittest.mock
import zipfile

import onnx_writer as onnx
from option_support import SHAPE, OptionTest, nodes
from support import DIGITS, model


WITHOUT_BF16 = "this CPU has no products of bf16 (AVX512-BF16): they are computed in f32"


def has_bf16():
    """Whether poprt computes products of bf16 here, by the CPU and POPRT_ISA."""
    with open("/proc/cpuinfo", encoding="ascii") as cpu:
        return "avx512_bf16" in cpu.read() and os.environ.get("POPRT_ISA", "avx512") == "avx512"


class Precision(OptionTest):
    def succeeds(self, *words, command=None):
        """As the base, but on a CPU without products of bf16, its warning is no error."""
        result = self.run_command(*words, command=command)
        lines = result.err.splitlines(True)
        err = "".join(line for line in lines if has_bf16() or WITHOUT_BF16 not in line)
        self.assertEqual((result.code, err), (0, ""), f"{words}: {result.err}")
        return result.out

    def test_warns_that_a_cpu_without_bf16_computes_in_f32(self):
        self.succeeds("-i", DIGITS, "--input_shape", "image=8,1,8,8", "--precision", "bf16", "--export_popef", "-o", "b.popef")
        with unittest.mock.patch.dict(os.environ, POPRT_ISA="avx2"):
            ran = self.run_command("b.popef", "--random", command="poprt_exec run")
        self.assertEqual((ran.code, ran.err.count(WITHOUT_BF16)), (0, 1), ran.err)

    def test_two_precisions_of_products_exclude_each_other(self):
        words = ["-i", DIGITS, "--input_shape", "image=8,1,8,8", "--precision", "bf16", "-o", "b.popef", "--execution_precision"]
        for precision in ("f32", "f16"):
            self.misused([*words, precision], "--precision bf16 computes products in bf16", f"--execution_precision is {precision}")
        self.succeeds(*words, "bf16")

    def test_check_runs_the_executable_in_bf16(self):
        """The converted model stays f32, so a check of the model alone would not see the rounding."""
        for words in (["--precision", "bf16"], ["--execution_precision", "bf16"]):
            with self.subTest(words):
                ran = self.run_command("-i", DIGITS, "--input_shape", "image=8,1,8,8", "--check", "--export_popef", *words)
                self.assertEqual(ran.code, 0, ran.err)
                printed = ran.out  # on a CPU without bf16, ran.err has a warning
                self.assertIn("the outputs differ from those of the original, within the tolerance", printed)
                self.assertIn("tolerance: bf16: 5 %", printed)

    def test_precision(self):
        self.succeeds("-i", DIGITS, *SHAPE, "--precision", "fp16")
        self.assertIn("dtype - f16", self.succeeds("-i", "digits.optimized.onnx", "--show"))
        self.misused(["-i", DIGITS, *SHAPE, "--precision", "fp8"], "--ipu_version ipu21")
        self.misused(["-i", DIGITS, "--precision", "int3"], "fp8_weight", "'int3'")

    def test_fp16_skip_op_types(self):
        """The operands of a skipped node are fp32: it is between casts, and its constants are not narrowed."""
        values = [onnx.value(n, onnx.F32, [2, 3]) for n in "xy"]
        nodes = [onnx.node("Add", ["x", "c"], ["a"]), onnx.node("Mul", ["a", "c"], ["y"])]
        self.write("m.onnx", onnx.model(nodes, values[:1], values[1:], [onnx.floats("c", [1], [2.5])]))
        self.succeeds("-i", "m.onnx", "--precision", "fp16")
        self.assertNotIn("Cast", self.graph("m.optimized.onnx"))
        self.succeeds("-i", "m.onnx", "--precision", "fp16", "--fp16_skip_op_types", "Mul, Add", "--check")
        text = self.graph("m.optimized.onnx")
        for op in ("Add", "Mul"):
            first, second = re.search(rf"= {op}\(%(\S+), %(\S+)\)", text).groups()
            for operand in (first, second):
                self.assertRegex(text, rf'%"?{re.escape(operand)}"? : f32\[')
        self.assertEqual(text.count("Cast("), 2 if "Cast(%a" not in text else 4)

    def test_fp16_skip_op_types_that_mean_nothing(self):
        self.assertIn("no operator LRN", self.warned("-i", model("relu"), "--precision", "fp16", "--fp16_skip_op_types", "LRN"))
        self.assertIn("without `precision`", self.warned("-i", model("relu"), "--fp16_skip_op_types", "Relu"))

    def test_enable_avoid_overflow_patterns(self):
        """Half is only a storage type: values inside of the norm that exceed fp16 do not overflow, with the option and without."""
        nodes = [onnx.node("Mul", ["x", "x"], ["square"]), onnx.node("ReduceSum", ["square"], ["sum"], keepdims=1),
                 onnx.node("Sqrt", ["sum"], ["y"])]
        values = [onnx.value("x", onnx.F32, [2, 3]), onnx.value("y", onnx.F32, [1, 1])]
        self.write("norm.onnx", onnx.model(nodes, values[:1], values[1:]))
        self.npy("x.npy", "f2", [2, 3], [512.0] * 6)  # squares of these are above the range of fp16
        for more in ([], ["--enable_avoid_overflow_patterns"]):
            self.succeeds("-i", "norm.onnx", "--precision", "fp16", "--export_popef", *more)
            self.succeeds("executable.popef", "--input", "x=x.npy", "--output", "y=y.npy", command="poprt_exec run")
            norm, = self.read_npy(self.path("y.npy"))[1]
            self.assertLess(abs(norm - 512 * 6 ** 0.5), 1)

    def test_fp8_options_go_together(self):
        self.misused(["-i", DIGITS, "--calibration_with_data"], "--data_preprocess")
        self.misused(["-i", DIGITS, "--calibration_with_data", "--data_preprocess", "d"], "fp8, fp8_weight or int8")
        for precision in (["--precision", "fp8", "--ipu_version", "ipu21"], ["--precision", "fp16"], []):
            self.misused(["-i", DIGITS, *precision, "--calibration_loss_type", "gptq"], "gptq goes with", "fp8_weight")
        self.misused(["-i", DIGITS, "--calibration_loss_type", "cos"], "mse or mae", "'cos'")

    def test_calibration_has_its_earlier_names(self):
        """An error has the name of the command line, and names everything that quantisation needs."""
        need = "needs --precision fp8, fp8_weight or int8, and --data_preprocess FILE with samples of the inputs"
        self.misused(["-i", DIGITS, "--quantize"], f"--quantize {need}")
        self.misused(["-i", DIGITS, "--calibration-with-data"], f"--calibration_with_data {need}")
        self.misused(["-i", DIGITS, "--quantize", "--precision", "int8"], "--quantize needs --data_preprocess")
        self.misused(["-i", DIGITS, "--precision", "int8"], "--precision int8 needs --calibration_with_data and --data_preprocess")
        self.misused(["-i", DIGITS, "--quantize_loss_type", "gptq"], "--quantize_loss_type gptq")

    def test_precision_compare(self):
        self.succeeds("-i", DIGITS, *SHAPE, "--precision", "fp16", "--precision_compare", "--output_dir", "out")
        log = self.tree()["out/precision_compare.log"].decode()
        layers = re.findall(r"^(Conv|Gemm) (\S+): MSE (\S+) MAE (\S+) SNR (\S+) cosine distance (\S+) noise skewness (\S+) "
                            r"noise kurtosis (\S+)$", log, re.M)
        self.assertEqual([layer[0] for layer in layers], ["Conv", "Conv", "Conv", "Gemm", "Gemm"])
        for _, name, mse, mae, snr, cosine, *_ in layers:
            self.assertTrue(0 < float(mse) < float(mae) ** 2 * 10 < 1, name)
            self.assertTrue(0 < float(snr) < 1e-3 and 0 <= float(cosine) < 1e-3, name)
        self.assertEqual(len(re.findall(r"^  (?:original|converted|noise): mean \S+ std \S+ min \S+ max \S+ skewness \S+ kurtosis",
                                        log, re.M)), 3 * len(layers))
        for histogram in re.findall(r"histogram \[(.*)\]", log):
            self.assertEqual(len(histogram.split()), 32)
        worst = [float(d) for d in re.findall(r"^(\S+) (?:Conv|Gemm) \S+$", log.split("worst first")[1], re.M)]
        self.assertEqual(worst, sorted(worst, reverse=True))

    def test_fp8_weights_make_a_smaller_file(self):
        sizes = {}
        for precision in ("fp32", "fp16", "fp8_weight"):
            self.succeeds("-i", DIGITS, *SHAPE, "--precision", precision, "--popef_name", precision + ".popef")
            sizes[precision] = os.path.getsize(self.path(precision + ".popef"))
        self.assertLess(sizes["fp16"], 0.62 * sizes["fp32"])
        self.assertLess(sizes["fp8_weight"], 0.4 * sizes["fp32"])

    def test_products_of_bf16(self):
        """Weights of a product take half of the file, and results differ by the rounding of its operands."""
        values = [onnx.value("x", onnx.F32, [3, 96]), onnx.value("y", onnx.F32, [3, 160])]
        weights = [onnx.floats("w", [96, 160], [((i * 37) % 1013 - 506) / 5003 for i in range(96 * 160)])]
        self.write("m.onnx", onnx.model([onnx.node("MatMul", ["x", "w"], ["y"])], values[:1], values[1:], weights))
        self.npy("x.npy", "f4", [3, 96], [((i * 29) % 83 - 41) / 41 for i in range(3 * 96)])
        results, sizes = {}, {}
        for name, given in {"none": [], "f32": ["--execution_precision", "f32"], "auto": ["--execution_precision", "auto"],
                            "bf16": ["--execution_precision", "bf16"], "precision": ["--precision", "bf16"],
                            "f16": ["--execution_precision", "f16"]}.items():
            self.succeeds("-i", "m.onnx", *given, "--output", name + ".popef")
            self.succeeds(name + ".popef", "--input", "x=x.npy", "--output", f"y={name}.npy", command="poprt_exec run")
            results[name] = [v for (v,) in struct.iter_unpack("<f", self.tree()[name + ".npy"][-4 * 3 * 160:])]
            sizes[name] = os.path.getsize(self.path(name + ".popef"))
        for same in ("f32", "auto"):
            self.assertEqual(results[same], results["none"], same)
        self.assertEqual(results["precision"], results["bf16"])
        self.assertLess(sizes["bf16"], 0.6 * sizes["f32"])
        worst = max(abs(a - b) for a, b in zip(results["bf16"], results["f32"]))
        self.assertGreater(worst, 0)
        self.assertLess(worst, 96 * 0.11 * 2**-7)
        self.assertLess(sizes["f16"], 0.6 * sizes["f32"])
        worst = max(abs(a - b) for a, b in zip(results["f16"], results["f32"]))
        self.assertGreater(worst, 0)
        self.assertLess(worst, 96 * 0.11 * 2**-11)
        # A runner rounds the weights of the f32 executable in the same way, and keeps them in the cache folder.
        with unittest.mock.patch.dict(os.environ, POPXL_CACHE_DIR=self.path("cache")):
            for name in ("bf16", "f16", "auto", "bf16"):
                self.succeeds("f32.popef", "--input", "x=x.npy", "--output", "y=r.npy", "--execution_precision", name,
                              command="poprt_exec run")
                found = [v for (v,) in struct.iter_unpack("<f", self.tree()["r.npy"][-4 * 3 * 160:])]
                self.assertEqual(found, results[name], name)
            self.assertEqual(len(os.listdir(self.path("cache"))), 2)
            for words, code, message in ((["bf16.popef", "--execution_precision", "f32"], 1, "compiled for products of bf16"),
                                         (["f32.popef", "--execution_precision", "f64"], 2, "'f64'"),
                                         (["f32.popef", "--execution_precision", "bf16", "--numerics", "faithful"], 2,
                                          "exclude each other")):
                ran = self.run_command(*words, "--random", command="poprt_exec run")
                self.assertEqual(ran.code, code, ran.err)
                self.assertIn(message, ran.err)
            self.succeeds("f32.popef", "--execution_precision", "bf16", "--iterations", "1", command="poprt_exec bench")
            for words, code, message in ((["bf16.popef", "--execution_precision", "f32"], 1, "compiled for products of bf16"),
                                         (["f32.popef", "--execution_precision", "f64"], 2, "'f64'"),
                                         (["f32.popef", "--execution_precision", "bf16", "--through", "queues"], 2,
                                          "needs --through runner"),
                                         (["gpt2", "--generate", "--execution_precision", "bf16"], 2,
                                          "has no effect with --generate")):
                ran = self.run_command(*words, command="poprt_exec bench")
                self.assertEqual(ran.code, code, ran.err)
                self.assertIn(message, ran.err)
        self.misused(["-i", "m.onnx", "--execution_precision", "int4"], "execution_precision", "int4")

    def test_execution_precision_of_convolutions(self):
        """Two 1x1 convolutions: weights and the value between them are bf16, inputs and outputs f32."""
        shapes = {"w": [96, 32, 1, 1], "v": [64, 96, 1, 1]}
        values = [onnx.value("x", onnx.F32, [1, 32, 12, 12]), onnx.value("y", onnx.F32, [1, 64, 12, 12])]
        weights = [onnx.floats(name, shape, [((i * 37) % 101 - 50) / 503 for i in range(shape[0] * shape[1])])
                   for name, shape in shapes.items()]
        nodes = [onnx.node("Conv", ["x", "w"], ["t"]), onnx.node("Relu", ["t"], ["u"]), onnx.node("Conv", ["u", "v"], ["y"])]
        self.write("m.onnx", onnx.model(nodes, values[:1], values[1:], weights))
        self.npy("x.npy", "f4", [1, 32, 12, 12], [((i * 29) % 83 - 41) / 41 for i in range(32 * 144)])
        results, sizes = {}, {}
        for name in ("f32", "bf16", "auto"):
            self.succeeds("-i", "m.onnx", "--execution_precision", name, "--output", name + ".popef")
            self.succeeds(name + ".popef", "--input", "x=x.npy", "--output", f"y={name}.npy", command="poprt_exec run")
            results[name] = [v for (v,) in struct.iter_unpack("<f", self.tree()[name + ".npy"][-4 * 64 * 144:])]
            sizes[name] = os.path.getsize(self.path(name + ".popef"))
        self.assertEqual(results["auto"], results["f32"])
        self.assertLess(sizes["bf16"], 0.8 * sizes["f32"])
        worst = max(abs(a - b) for a, b in zip(results["bf16"], results["f32"]))
        largest = max(abs(a) for a in results["f32"])
        self.assertGreater(worst, 0)
        self.assertLess(worst, 0.02 * largest)

    def test_fp16_weights_are_plain_where_winograd_transforms_them(self):
        """3x3 weights of 36 floats each are 9 halves in the file, and the results are those of a model that was not stored as PopEF."""
        values = [onnx.value("x", onnx.F32, [1, 32, 16, 16]), onnx.value("y", onnx.F32, [1, 48, 16, 16])]
        weights = [onnx.floats("w", [48, 32, 3, 3], [((i * 37) % 101 - 50) / 500 for i in range(48 * 32 * 9)])]
        self.write("conv.onnx", onnx.model([onnx.node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])], values[:1], values[1:], weights))
        self.npy("x.npy", "f2", [1, 32, 16, 16], [((i * 29) % 83 - 41) / 40 for i in range(32 * 256)])
        for tile in ("exact", "fast", "off"):
            given = ["--winograd", tile, "--precision", "fp16"]
            self.succeeds("-i", "conv.onnx", *given, "--output", f"{tile}.popef")
            self.succeeds("conv.onnx", *given, "--input", "x=x.npy", "--output", "y=memory.npy", command="poprt_exec run")
            self.succeeds(f"{tile}.popef", "--input", "x=x.npy", "--output", f"y={tile}.npy", command="poprt_exec run")
            self.assertEqual(self.tree()[f"{tile}.npy"], self.tree()["memory.npy"], tile)
        sizes = [os.path.getsize(self.path(f"{tile}.popef")) for tile in ("off", "exact", "fast")]
        self.assertLess(max(sizes) - min(sizes), 2048)  # 27 KB each
        off, fast = (self.read_npy(self.path(name))[1] for name in ("off.npy", "fast.npy"))
        self.assertNotEqual(off, fast)  # another algorithm computes them, and the file has the same size
        self.assertLess(max(abs(a - b) for a, b in zip(off, fast)), 2e-3 * max(map(abs, off)))

    def test_fp8_params_and_nodes_that_stay(self):
        fp8 = ["-i", DIGITS, *SHAPE, "--precision", "fp8", "--ipu_version", "ipu21"]
        for wrong in ("F143", "F143,F143,0,40", "F144,F143,0,0"):
            self.misused([*fp8, "--fp8_params", wrong], "--fp8_params: expected", wrong)
        self.succeeds(*fp8)
        every = self.tree()["digits.optimized.onnx"]
        self.assertEqual((nodes(every, b"FP8Conv"), nodes(every, b"FP8MatMul")), (3, 2))
        self.succeeds(*fp8, "--fp8_skip_op_names", "/0/Conv,/15/Gemm")
        some = self.tree()["digits.optimized.onnx"]
        self.assertEqual((nodes(some, b"FP8Conv"), nodes(some, b"FP8MatMul")), (2, 1))
        printed = self.run_command(*fp8, "--fp8_skip_op_names", "no_such_node").err
        self.assertIn("'no_such_node'", printed)
        self.succeeds(*fp8, "--num_of_layers_keep_fp16", "4")
        kept = self.tree()["digits.optimized.onnx"]
        self.assertEqual(nodes(kept, b"FP8Conv") + nodes(kept, b"FP8MatMul"), 1)
        self.assertEqual(self.tree()["quantize.log"].count(b": stays fp16\n"), 4)

    def test_data_that_is_none(self):
        class Hostile:
            def __reduce__(self):
                return os.system, ("touch " + marker,)

        marker = self.path("ran")
        fp8 = ["-i", DIGITS, *SHAPE, "--precision", "fp8_weight", "--calibration_with_data", "--data_preprocess"]
        self.fails([*fp8, "nowhere"], "'nowhere'")
        for data, fact in ((b"text", "is no pickle of arrays"), (b"", "it is empty"), (pickle.dumps([1]), "expected a dict"),
                           (pickle.dumps({"image": Hostile()}), ".system'"), (pickle.dumps({"image": 1}), "'image' is no NumPy array"),
                           (pickle.dumps({}), "'data' has no arrays")):
            self.write("data", data)
            self.fails([*fp8, "data"], fact)
        self.assertFalse(os.path.exists(marker))

    def test_data_that_is_no_number(self):
        """The data is an archive as numpy.savez writes it."""
        for code, value, why in (("f4", float("nan"), "input 'image': sample 1 has the value nan as f32; expected finite numbers"),
                                 ("f4", float("inf"), "sample 1 has the value inf"), ("f8", 1e300, "sample 1 has the value inf as f32")):
            self.npy("image.npy", code, [2, 1, 8, 8], [0.5] * 64 + [value] * 64)
            with zipfile.ZipFile(self.path("data.npz"), "w") as archive:
                archive.write(self.path("image.npy"), "image.npy")
            for precision in ("fp8", "fp8_weight"):
                self.fails(["-i", DIGITS, *SHAPE, "--precision", precision, "--ipu_version", "ipu21", "--calibration_with_data",
                            "--data_preprocess", "data.npz", "--output_dir", "out"], "--data_preprocess: ", why)

    def digits(self, count=360):
        """Writes images.npz and labels.npz of the held-out digits."""
        folder = os.path.dirname(DIGITS)
        with open(os.path.join(folder, "heldout-images.idx3-ubyte"), "rb") as file:
            pixels = file.read()[16:][:64 * count]
        with open(os.path.join(folder, "heldout-labels.idx1-ubyte"), "rb") as file:
            labels = file.read()[8:][:count]
        self.archive("images.npz", "image", "f4", [count, 1, 8, 8], [p / 16 for p in pixels])
        self.archive("labels.npz", "label", "i8", [count], list(labels))

    def archive(self, name, array, code, shape, values):
        """Writes an archive as numpy.savez does."""
        self.npy("array.npy", code, shape, values)
        with zipfile.ZipFile(self.path(name), "w") as archive:
            archive.write(self.path("array.npy"), array + ".npy")
        os.remove(self.path("array.npy"))

    INT8 = ["-i", DIGITS, "--precision", "int8", "--calibration_with_data", "--data_preprocess", "images.npz"]

    def test_int8_is_as_accurate_as_fp32(self):
        """One command makes the model; its accuracy on handwritten digits is within half a percent, on all samples and on held-out ones."""
        self.digits()
        for batch, samples, used in ((360, 360, "also used"), (8, 72, "did not use")):
            for loss in ([], ["minmax"], ["percentile"], ["entropy"], ["mse"], ["mae"], ["snr"], ["kld"], ["cos_dist"]):
                words = ["--calibration_loss_type", *loss] if loss else []
                ran = self.run_command(*self.INT8, "--input_shape", f"image={batch},1,8,8", "--calibration_labels", "labels.npz", *words)
                self.assertEqual(ran.code, 0, ran.err)
                self.assertIn(f"accuracy on {samples} of 360 samples, which the calibration {used}\n", ran.out)
                error, = re.findall(r"output scores: relative error (\S+), largest difference", ran.out)
                self.assertTrue(1e-4 < float(error) < (0.15 if loss in (["entropy"], ["kld"]) else 0.05), (loss, error))
                was, is_ = re.findall(r"labels: fp32 (\S+) %, int8 (\S+) % of", ran.out)[0]
                self.assertGreater(float(was), 95)
                self.assertLessEqual(abs(float(was) - float(is_)), 0.5, loss)
                self.assertIn(f"precision int8, loss {(loss or ['mse'])[0]}, 5 layers\n", self.tree()["quantize.log"].decode())

    def test_an_int8_model_is_a_qdq_model(self):
        """The converted model needs no data again, computes on bytes, and is smaller."""
        self.digits(80)
        shape = ["--input_shape", "image=8,1,8,8"]
        ran = self.run_command(*self.INT8, *shape, "--popef_name", "int8.popef", "--lowest_opset", "0", "--check")
        self.assertEqual(ran.code, 0, ran.err)
        self.assertIn("tolerance: int8: 20 %", ran.out)
        self.succeeds("-i", DIGITS, *shape, "--popef_name", "fp32.popef", "--output_model", "fp32.onnx", "--lowest_opset", "0")
        self.assertLess(os.path.getsize(self.path("int8.popef")), 0.4 * os.path.getsize(self.path("fp32.popef")))
        text = self.graph("digits.optimized.onnx")
        self.assertEqual(len(re.findall(r"_int8\"? : s8\[", text)), 4)
        for layer in ("/3/Conv", "/7/Conv", "/13/Gemm", "/15/Gemm"):
            self.assertRegex(text, rf'\(%\S+_dequantized"?, %\S+_DequantizeLinear\S*, %\S+\) \{{.*\}} "{layer}"\n')
        self.succeeds("-i", "digits.optimized.onnx", "--popef_name", "again.popef", "--output_model", "again.onnx", "--lowest_opset", "0")
        results = []
        for popef in ("int8.popef", "again.popef"):
            self.succeeds(popef, "--random", "--output", "scores=scores.npy", command="poprt_exec run")
            results.append(self.tree()["scores.npy"])
        self.assertEqual(results[0], results[1])
        kernels = self.succeeds("int8.popef", "--random", "--profile", command="poprt_exec run")
        self.assertIn("conv_bytes", kernels)
        self.assertIn("matmul_integer_packed", kernels)

    def test_int8_layers_that_stay(self):
        self.digits(80)
        words = [*self.INT8, "--input_shape", "image=8,1,8,8", "--lowest_opset", "0"]
        counts = {}
        for name, more in {"all": [], "skipped": ["--int8_skip_op_names", "/3/Conv,/15/Gemm"],
                           "worst": ["--num_of_layers_keep_fp32", "3"]}.items():
            self.succeeds(*words, *more)
            counts[name] = nodes(self.tree()["digits.optimized.onnx"], b"DequantizeLinear")
            log = self.tree()["quantize.log"].decode()
            self.assertEqual(log.count("stays fp32 (int8_skip_op_names)"), 2 if name == "skipped" else 0)
            self.assertEqual(log.count("stays fp32 (num_of_layers_keep_fp32)"), 3 if name == "worst" else 0)
        self.assertLess(counts["skipped"], counts["all"])
        self.assertLess(counts["worst"], counts["skipped"])
        self.assertIn("'nobody'", self.warned(*words, "--int8_skip_op_names", "nobody"))

    def test_int8_options_go_together(self):
        self.digits(16)
        words = [*self.INT8, "--input_shape", "image=8,1,8,8"]
        self.misused(["-i", DIGITS, "--precision", "int8"], "--precision int8 needs --calibration_with_data")
        self.misused([*words, "--calibration_loss_type", "gptq"], "gptq goes with", "fp8_weight", "int8")
        fp8 = ["-i", DIGITS, *SHAPE, "--precision", "fp8_weight", "--calibration_with_data", "--data_preprocess", "images.npz"]
        for loss in ("minmax", "percentile", "entropy"):
            self.misused([*fp8, "--calibration_loss_type", loss], f"{loss} goes with --precision int8")
        for option in (["--int8_skip_op_names", "a"], ["--num_of_layers_keep_fp32", "1"], ["--calibration_labels", "labels.npz"]):
            self.assertIn("has no effect without `precision int8`", self.warned("-i", DIGITS, *SHAPE, *option))
        self.assertIn("no effect without `calibration_loss_type` percentile",
                      self.run_command(*words, "--calibration_percentile", "99").err)
        self.misused([*words, "--calibration_percentile", "20"], "--calibration_percentile", "'20'")
        for code, shape, values, why in (("i8", [15], [1] * 15, "has 15 labels for the 16 samples"),
                                         ("f4", [16], [1.0] * 16, "expected one array of integers [SAMPLES]"),
                                         ("i8", [4, 4], [1] * 16, "expected one array of integers [SAMPLES]")):
            self.archive("labels.npz", "label", code, shape, values)
            self.fails([*words, "--calibration_labels", "labels.npz", "--output_dir", "out"], "--calibration_labels", why)
        self.fails([*words, "--calibration_labels", "nowhere"], "--calibration_labels", "'nowhere'")

    def test_eightbitsio_needs_images(self):
        self.fails(["-i", DIGITS, *SHAPE, "--eightbitsio"], "--eightbitsio: expected an input of images")
        self.misused(["-i", DIGITS, *SHAPE, "--eightbitsio", "--check"], "--check", "--eightbitsio")

    def test_values_of_f64_are_a_warning(self):
        y = onnx.node("MatMul", ["x", "w"], ["y"])
        w = onnx.message(5, onnx.number(1, 2), onnx.number(1, 2), onnx.number(2, 11), onnx.message(8, "w"), onnx.message(9, bytes(32)))
        self.write("d.onnx", onnx.model([y], [onnx.value("x", 11, [2, 2])], [onnx.value("y", 11, [2, 2])], [w]))
        for words, stays in ((["--precision", "fp16"], "inputs and products of f64 stay f64"),
                             (["--precision", "bf16", "--export_popef"], "1 product of f64 stays f64")):
            ran = self.run_command("-i", "d.onnx", *words)
            self.assertEqual(ran.code, 0, ran.err)
            self.assertIn(stays + "; pass double_to_float makes them f32 before", ran.err)
            self.succeeds("-i", "d.onnx", *words, "--passes", "double_to_float")

    def test_operators_on_bytes_stay_bytes_with_fp16(self):
        scale, zero = onnx.floats("s", [], [0.1]), onnx.message(5, onnx.number(2, 2), onnx.message(8, "z"), onnx.message(9, bytes(1)))
        nodes = [onnx.node("QuantizeLinear", ["x", "s", "z"], ["xq"]), onnx.node("DequantizeLinear", ["xq", "s", "z"], ["xd"]),
                 onnx.node("Relu", ["xd"], ["r"]), onnx.node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2]),
                 onnx.node("QuantizeLinear", ["p", "s", "z"], ["pq"]), onnx.node("DequantizeLinear", ["pq", "s", "z"], ["pd"]),
                 onnx.node("Neg", ["pd"], ["y"])]
        self.write("q.onnx", onnx.model(nodes, [onnx.value("x", onnx.F32, [1, 1, 4, 4])], [onnx.value("y", onnx.F32, [1, 1, 3, 3])],
                                        [scale, zero]))
        self.succeeds("-i", "q.onnx", "--precision", "fp16", "--output_dir", "out")
        text = self.succeeds("out/q.optimized.onnx", "--passes", "eliminate_deadend", command="poprt_exec opt")
        self.assertRegex(text, r"%p : f32\[")
        self.assertRegex(text, r"= Neg\(.*")
        self.assertRegex(text, r"%y : f16\[")

    def test_precision_compare_and_check_of_fp8(self):
        self.succeeds("-i", DIGITS, *SHAPE, "--precision", "fp8", "--ipu_version", "ipu21", "--precision_compare", "--check")
        log = self.tree()["precision_compare.log"].decode()
        found = re.findall(r"^(?:FP8Conv|FP8MatMul) \S+: MSE (\S+) MAE \S+ SNR (\S+)", log, re.M)
        self.assertEqual(len(found), 5, log[:200])
        for mse, snr in found:
            self.assertTrue(0 < float(mse) and 1e-5 < float(snr) < 0.1, log[:500])

    def test_the_pass_of_that_name_is_the_option(self):
        for words in (["--passes", "eliminate_identity, layer_precision_compare"], ["--passes", "layer_precision_compare"]):
            self.succeeds("-i", DIGITS, *SHAPE, *words, "--output_dir", "out")
            self.assertIn(b"cosine distance", self.tree()["out/precision_compare.log"])
            os.remove(self.path("out/precision_compare.log"))

    def test_precision_compare_of_a_model_without_layers(self):
        self.succeeds("-i", model("relu"), "--precision_compare")
        self.assertIn(b"no Conv, MatMul or Gemm", self.tree()["precision_compare.log"])


if __name__ == "__main__":
    unittest.main()
