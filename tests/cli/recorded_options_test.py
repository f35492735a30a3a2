"""The effects of each option on a small model, recorded in tests/data/cli_options.txt: the output of the command, the converted
graph, the metadata of the executable and its program, each as far as it differs from what the command makes without the
option. An option that is not passed on, or that acts where it must not, changes a line. Help texts are recorded completely.

    POPRT_WRITE_RECORDS=1 POPRT_BIN=build/release/bin python3 tests/cli/recorded_options_test.py   # then read the diff"""

import concurrent.futures
import difflib
import math
import os
import re
import shutil
import unittest
import zipfile

import onnx_writer as onnx
from support import DATA, RecordedTest

REPORT = re.compile(r"  (largest|tolerance|type of|inputs|size of|no elements|numbers of|only signs|outside|the results)")
BASE = {"dense": [], "net": ["--input_shape", "image=2,3,8,8"], "words": ["--input_shape", "tokens=2,4"]}

# Model and words of the command.
ROWS = {
    "precision": [
        ("dense", "--precision fp16"), ("dense", "--precision fp32"), ("dense", "--precision fp8"), ("net", "--precision fp16"),
        ("net", "--precision fp8"), ("net", "--precision fp8_weight"), ("net", "--precision fp8 --fp8_params F152,F143,-2,3"),
        ("net", "--precision fp8 --fp8_skip_op_names node_c"), ("net", "--precision fp8 --fp8_skip_op_names nobody"),
        ("net", "--precision fp16 --fp16_skip_op_types Conv,Softmax"), ("net", "--fp8_params F143,F143,40,0"),
        ("net", "--precision fp16 --enable_avoid_overflow_patterns"), ("net", "--eightbitsio"),
        ("net", "--precision fp16 --eightbitsio"), ("net", "--precision fp8 --num_of_layers_keep_fp16 1"),
        ("net", "--calibration_loss_type mse"), ("net", "--precision fp8 --calibration_with_data"),
        ("net", "--precision fp8 --calibration_with_data --data_preprocess nothing.npz"),
        ("dense", "--precision fp16 --numerics faithful"), ("net", "--numerics fast"), ("words", "--precision fp16"),
    ],
    "shapes": [
        ("net", "--input_shape image=1,3,8,8/4,3,8,8"), ("net", "--input_shape image=2,3,9,8"),
        ("net", "--input_shape image=4,3,8,8 --pad_values image=1"), ("net", "--input_shape image=2,3,8,8/2,3,8,8"),
        ("net", "--input_shape image=1,3,8,8/4,3,8,8 --pad_values image=0.5"),
        ("net", "--input_shape image=1,3,8,8/4,3,8,8 --pad_values image=mask"),
        ("net", "--input_shape image=1,3,8,8/4,3,8,8 --pad_values image=0 image=1"),
        ("net", "--input_shape image=1,3,8,8/4,3,8,8 --pad_values nobody=1"),
        ("net", "--input_shape image=1,3,8,8/4,3,8,8 --numerics faithful"),
        ("net", "--input_shape image=4,3,8,8/1,3,8,8 --num_io_tiles 64 --batches_per_step 4"),
        ("net", "--batch_size 3 --batch_axis 0"), ("net", "--batch_size 3 --batch_axis 4"), ("words", "--batch_size 3 --batch_axis 0"),
        ("words", "--infer_shape_ahead"), ("words", "--input_shape tokens=2,4 other=1"), ("dense", "--input_shape x=2,5"),
        ("dense", "--input_shape x=2"), ("dense", "--input_shape =[]"), ("dense", "--input_shape []"), ("dense", "--input_shape x=[]"),
        ("dense", "--input_shape x=2,4/"), ("dense", "--input_shape x=2,,4"), ("dense", "--input_shape x=-2,4"), ("dense", "--input_shape x"), ("net", "--convert_version 11"), ("net", "--convert_version 20"),
        ("net", "--convert_version 28"), ("net", "--lowest_opset 0"), ("net", "--lowest_opset 15"), ("words", "--lowest_opset 17"),
        ("words", "--convert_version 11"), ("words", "--lowest_opset 0 --skip_passes int64_to_int32"),
    ],
    "outputs and passes": [
        ("two", "--remove_outputs z"), ("two", "--remove_outputs y,z"), ("two", "--remove_outputs nobody"),
        ("two", "--checkpoints w"), ("two", "--checkpoints w,y"), ("two", "--checkpoints x"), ("two", "--checkpoints nobody"),
        ("two", "--remove_outputs z --checkpoints w"), ("two", "--check"), ("two", "--check --data_preprocess two.npz"), ("two", "--check --data_preprocess wrong.npz"),
        ("dense", "--precision_compare"), ("two", "--precision_compare --data_preprocess two.npz"), ("two", "--precision_compare --data_preprocess wrong.npz"),
        ("net", "--precision_compare --data_preprocess net.npz"), ("net", "--precision_compare --data_preprocess wrong.npz"), ("net", "--check"), ("net", "--precision_compare"),
        ("net", "--precision fp16 --check"), ("net", "--precision fp16 --precision_compare"),
        ("net", "--passes eliminate_identity"), ("net", "--passes layer_precision_compare"),
        ("net", "--passes unique_name_for_nodes,nobody"),
        ("net", "--passes eliminate_identity, eliminate_nop_cast"), ("net", "--passes ,"), ("net", "--passes eliminate_identity,"), ("net", "--skip_passes constant_folding"),
        ("net", "--skip_passes unique_name_for_nodes"), ("net", "--skip_passes nobody"),
        ("net", "--passes add_checkpoints --pass_args add_checkpoints.names=c"), ("net", "--pass_args add_checkpoints.names=c"),
        ("net", "--pass_args nobody"), ("net", "--pass_args add_checkpoints.nothing=1"), ("net", "--max_tensor_size 4"),
        ("net", "--max_tensor_size 0"), ("net", "--enable_erf_gelu"), ("dense", "--merge_matmul node_h"),
        ("dense", "--serialize_matmul node_h=2/output_channels/True"), ("dense", "--serialize_matmul node_h=3"),
        ("dense", "--serialize_matmul node_h=0"), ("dense", "--serialize_matmul_add node_h/node_y=2"), ("dense", "--enable_insert_remap"),
        ("dense", "--enable_insert_remap --remap_mode before_add"), ("dense", "--remap_mode before_add"),
        ("dense", "--apply_hcsr f32,[2,4],1"), ("dense", "--apply_hcsr f32,[2,5],1"), ("dense", "--fold_periodic_initializer"),
        ("dense", "--merge_if_with_same_cond --enable_compress_pattern"), ("dense", "--merge_moe node_h,node_y"),
        ("net", "--passes add_checkpoints --pass_args add_checkpoints.names=c add_checkpoints.names=s"),
        ("net", "--passes add_checkpoints --pass_args add_checkpoints.names="), ("net", "--passes add_checkpoints --pass_args .names=c"),
        ("net", "--passes add_checkpoints --pass_args add_checkpoints.=c"), ("net", "--passes add_checkpoints --pass_args add_checkpoints.names=c\\ns"),
        ("dense", "--serialize_matmul node_h=2/output_channels/Maybe"), ("dense", "--serialize_matmul node_h=2/sideways"),
        ("dense", "--serialize_matmul node_h=2/none/True/x"), ("dense", "--serialize_matmul =2"), ("dense", "--serialize_matmul_add node_h=2"),
        ("dense", "--serialize_matmul_add node_h/node_y=2/none"), ("dense", "--merge_moe node_h"), ("dense", "--merge_matmul_add node_h,node_y,node_h"),
        ("dense", "--remap_mode before_ --enable_insert_remap"), ("dense", "--remap_mode after_ --enable_insert_remap"), ("dense", "--remap_mode both --enable_insert_remap"),
        *[("dense", f"--pack_args {words}") for words in ("max_valid_num=0 segment_max_size=2", "max_valid_num=1048576 segment_max_size=1048576",
                                                          "max_valid_num=1048577 segment_max_size=2", "max_valid_num=2 segment_max_size=1048577",
                                                          "max_valid_num=2 segment_max_size=0", "max_valid_num=2 segment_max_size=1+", "max_valid_num=2", "segment_max_size=2",
                                                          "max_valid_num=2 segment_max_size=2 head_pattern=", "max_valid_num=2 max_valid_num=2 segment_max_size=2")],
        ("dense", "--pack_args max_valid_num=2 segment_max_size=2"), ("dense", "--disable_fast_norm"),
        ("dense", "--check --compiler_options serialize_ir=True"), ("dense", "--check --convert_version 13"), ("dense", "--check --batches_per_step 2"),
        ("dense", "--check --passes eliminate_identity --skip_passes constant_folding"), ("dense", "--check --precision fp8 --ipu_version ipu21"),
        ("two", "--check --remove_outputs z"), ("two", "--check --checkpoints w"), ("dense", "--precision_compare --checkpoints h"),
        ("dense", "--precision_compare --max_tensor_size 4"), ("dense", "--precision_compare --compiler_options constant_weights=False"),
    ],
    "compilation": [
        ("dense", "--ipu_version ipu2"), ("dense", "--ipu_version ipu21"), ("dense", "--batches_per_step 3"),
        ("dense", "--num_io_tiles 31"), ("dense", "--num_io_tiles 32"), ("dense", "--num_io_tiles 33"), ("dense", "--num_io_tiles 1470"),
        ("dense", "--num_io_tiles 1472"), ("dense", "--num_io_tiles 32 --batches_per_step 3"),
        ("dense", "--logging_level INFO --num_io_tiles 32 --batches_per_step 2"), ("dense", "--logging_level INFO --num_io_tiles 32 --batches_per_step 3"), ("dense", "--available_memory_proportion 0.25"),
        ("dense", "--optimize_internal_exchange_code"), ("dense", "--popart_options numIOTiles=3 enableOutlining=0"),
        ("dense", "--compiler_options num_ipus=1 partials_type=half"), ("dense", "--compiler_options num_ipus=2"),
        ("net", "--compiler_options num_ipus=2 virtual_graph_mode=auto"),
        ("net", "--compiler_options num_ipus=2 virtual_graph_mode=auto virtual_graph_split_ratios=[0.3] enable_pipelining=True"),
        ("net", "--batches_per_step 2 --compiler_options num_ipus=2 virtual_graph_mode=auto virtual_graph_split_ratios=[0.3] enable_pipelining=1"),
        ("net", "--compiler_options num_ipus=2 virtual_graph_mode=auto virtual_graph_split_ratios=[1]"),
        ("net", "--compiler_options num_ipus=2 virtual_graph_mode=auto virtual_graph_split_ratios=0.5,x"),
        *[("net", f"--compiler_options num_ipus=2 virtual_graph_mode=auto virtual_graph_split_ratios={ratios}")
          for ratios in ("0.3", "[]", "[0.3", "0.3]", "[0]", "[-0.3]", "[0.3,0.6]", "[0.3,]", "[nan]")],
        ("net", "--compiler_options num_ipus=3 virtual_graph_mode=auto virtual_graph_split_ratios=[0.3]"),
        ("net", "--compiler_options num_ipus=2 virtual_graph_mode=manual --sharding_info node_c=0"),
        ("net", "--compiler_options num_ipus=2 virtual_graph_mode=manual enable_pipelining=1 --sharding_info node_c=0 --pipelining_info node_c=0 --batches_per_step 2"),
        ("dense", "--compiler_options constant_weights=False"), ("dense", "--compiler_options constant_weights=True"),
        ("dense", "--compiler_options constant_weights=False --numerics faithful"), ("dense", "--compiler_options serialize_ir=True"),
        ("dense", "--compiler_options serialized_ir_dest=ir.json"),
        ("dense", "--compiler_options serialize_ir=True serialized_ir_dest=ir.json"),
        ("dense", "--compiler_options serialize_ir=True serialized_ir_dest=none/ir.json"),
        ("dense", "--compiler_options enable_model_fusion=True"), ("dense", "--compiler_options nobody=1"),
        ("dense", "--compiler_options partials_type=double"), ("dense", "--compiler_options stream_buffering_depth=0"),
        ("dense", "--compiler_options enable_engine_caching=True cache_path=cache"), ("dense", "--embed_source"),
        ("net", "--winograd off"), ("net", "--winograd exact"), ("net", "--winograd fast"), ("net", "--strict"),
        ("dense", "--custom_library_so_paths nothing.so"), ("dense", "--perf_tuner"),
        ("dense", "--precision fp16 --precision fp32"), ("dense", "--logging_level ERROR --perf_tuner"),
    ],
}


class RecordedOptions(RecordedTest):
    command = "poprt"

    def models(self):
        """Writes four models: a product with a bias, a small convolutional network, a lookup of tokens, and a model with two outputs."""
        f32 = {n: onnx.value(n, onnx.F32, [2, 3]) for n in "xyz"}
        weights = onnx.floats("w", [4, 3], [0.5, -1.25, 2, 0.75, 1.5, -0.5, 3, 0.25, -2, 1, -0.125, 0.625])
        self.write("dense.onnx", onnx.model(
            [onnx.node("MatMul", ["x", "w"], ["h"]), onnx.node("Add", ["h", "b"], ["y"])],
            [onnx.value("x", onnx.F32, [2, 4])], [f32["y"]], [weights, onnx.floats("b", [3], [0.1, -0.2, 0.3])]))
        kernel = [((7 * i) % 11 - 5) / 8 for i in range(108)]
        dense = [((5 * i) % 9 - 4) / 16 for i in range(40)]
        self.write("net.onnx", onnx.model(
            [onnx.node("Conv", ["image", "k", "kb"], ["c"], pads=[1, 1, 1, 1]), onnx.node("Identity", ["c"], ["i"]),
             onnx.node("Relu", ["i"], ["r"]), onnx.node("GlobalAveragePool", ["r"], ["g"]), onnx.node("Flatten", ["g"], ["f"]),
             onnx.node("Add", ["one", "two"], ["three"]), onnx.node("Gemm", ["f", "d", "three"], ["s"]),
             onnx.node("Softmax", ["s"], ["scores"])],
            [onnx.value("image", onnx.F32, ["N", 3, 8, 8])], [onnx.value("scores", onnx.F32, ["N", 10])],
            [onnx.floats("k", [4, 3, 3, 3], kernel), onnx.floats("kb", [4], [0.5, -0.5, 0.25, 0]), onnx.floats("d", [4, 10], dense),
             onnx.floats("one", [10], [1] * 10), onnx.floats("two", [1], [2])], opset=13))
        self.write("words.onnx", onnx.model(
            [onnx.node("Gather", ["t", "tokens"], ["e"]), onnx.node("ReduceMean", ["e"], ["m"], axes=[1], keepdims=0),
             onnx.node("Shape", ["tokens"], ["n"])],
            [onnx.value("tokens", onnx.S64, ["N", "L"])], [onnx.value("m", onnx.F32, ["N", 3]), onnx.value("n", onnx.S64, [2])],
            [onnx.floats("t", [5, 3], [i / 4 for i in range(15)])]))
        for name, shape in (("two.npz", (5, 3)), ("wrong.npz", (2, 4)), ("net.npz", (3, 3, 8, 8))):
            self.npy("x.npy", "f4", shape, [i % 50 / 2 for i in range(math.prod(shape))])
            with zipfile.ZipFile(self.path(name), "w") as file:
                file.write(self.path("x.npy"), "image.npy" if name != "two.npz" else "x.npy")
        self.write("two.onnx", onnx.model(
            [onnx.node("Neg", ["x"], ["y"]), onnx.node("Add", ["x", "x"], ["w"]), onnx.node("Abs", ["w"], ["z"])],
            [f32["x"]], [f32["y"], f32["z"]]))

    def compiled_lines(self, model, words, number):
        """Lines: the output of the command, the graph, the metadata, the program; each with a mark in front."""
        out = self.path(f"out{number}")
        given = [*BASE.get(model, []), *words]
        if "--input_shape" in words or "--batch_size" in words:
            given = words
        ran = self.run_command("-i", self.path(model + ".onnx"), "--output_dir", out, "--export_popef",
                               "--disable_compilation_progress_bar", *given)
        lines = [f"code {ran.code}"] + self.plain(ran.out + ran.err).replace(f"out{number}", "OUT").strip().split("\n")
        lines = [re.sub(r"\d+\.\d+(e-\d+)? (of|dB)|cos.*", "NUMBER", line) for line in lines]
        # Which outputs differ, and by how much, depends on rounding. poprt_precision_compare_test.py tests the reports.
        lines = [re.sub(r"^check: the outputs .*", "check: PASSED", line) for line in lines if not REPORT.match(line)]
        found = sorted(os.listdir(out)) if os.path.isdir(out) else []
        lines.append("files: " + ", ".join(found))
        if "precision_compare.log" in found and model == "dense":  # sums of the other models are rounded differently on other CPUs
            with open(os.path.join(out, "precision_compare.log"), encoding="utf-8") as file:
                lines += ["l " + self.plain(line).replace(f"out{number}", "OUT") for line in file.read().split("\n") if line]
        if model + ".optimized.onnx" in found:
            text = self.run_command(os.path.join(out, model + ".optimized.onnx"), "--elide", command="poprt_exec opt").out
            lines += ["g " + line for line in text.strip().split("\n")]
        if "executable.popef" in found:
            text = self.run_command("-m", os.path.join(out, "executable.popef"), command="popef_dump").out
            lines += ["m " + line for line in text.strip().split("\n") if "source_hash" not in line and "blobs," not in line]
            text = self.run_command(os.path.join(out, "executable.popef"), "--view", "program", "--most", "30",
                                    command="poprt_exec inspect").out
            lines += ["p " + " ".join(line.split()) for line in text.strip().split("\n") if "executable.popef" not in line]
        return lines

    def record(self, part):
        self.models()
        rows = [(model, []) for model in sorted({m for m, _ in ROWS[part]})] + [(m, w.split(" ")) for m, w in ROWS[part]]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            made = list(pool.map(lambda row: self.compiled_lines(row[1][0], row[1][1], row[0]), enumerate(rows)))
        plain = {model: lines for (model, words), lines in zip(rows, made) if not words}
        text = ""
        for (model, words), lines in zip(rows, made):
            text += " ".join([model, *words]) + "\n"
            if words and lines[0] == plain[model][0]:
                lines = [line for line in difflib.unified_diff(plain[model], lines, n=0, lineterm="")
                         if not line.startswith(("@@", "---", "+++"))]
            text += "".join(f"  {line}\n" for line in lines)
        self.expect_recorded(f"cli_options_{part.split(' ')[0]}.txt", "# What options do: recorded_options_test.py.\n" + text)

    def test_models(self):
        """The models of tests/data/cli, converted and compiled without options."""
        names = sorted(n[:-5] for n in os.listdir(DATA) if n.endswith(".onnx"))
        for name in names:
            shutil.copy(os.path.join(DATA, name + ".onnx"), self.path(name + ".onnx"))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            made = list(pool.map(lambda row: self.compiled_lines(row[1], [], row[0]), enumerate(names)))
        self.expect_recorded("cli_options_models.txt", "# What models become: recorded_options_test.py.\n" + "".join(
            name + "\n" + "".join(f"  {line}\n" for line in lines) for name, lines in zip(names, made)))

    def test_precision(self):
        self.record("precision")

    def test_shapes(self):
        self.record("shapes")

    def test_outputs_and_passes(self):
        self.record("outputs and passes")

    def test_compilation(self):
        self.record("compilation")

    def test_help(self):
        commands = re.findall(r"^  (\w+) {2,}", self.succeeds("--help", command="poprt_exec"), re.M)
        self.assertGreater(len(commands), 12)
        commands = ["poprt", "poprt tf2onnx", "popef_dump", "poprt_exec"] + [f"poprt_exec {c}" for c in commands]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            texts = list(pool.map(lambda c: self.succeeds("--help", command=c), commands))
        self.expect_recorded("cli_help.txt", "# Help texts: recorded_options_test.py.\n" +
                             "".join(f"{command}:\n{text}" for command, text in zip(commands, texts)))


if __name__ == "__main__":
    unittest.main()
