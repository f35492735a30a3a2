"""The results of commands with models, recorded in tests/data/cli_commands_*.txt as in recorded_commands_test.py: files and
folders, fused models, caches, words as people type them, YAML.

    POPRT_WRITE_RECORDS=1 POPRT_BIN=build/release/bin python3 tests/cli/recorded_words_test.py   # then read the diff"""

import unittest

import onnx_writer as onnx
from recorded_calls import CallsTest

FILES = """
poprt -i net.onnx --output_dir out --export_popef
poprt -i net.onnx --output_dir out --export_popef --input_shape x=2,3
poprt -i net.onnx --output_dir out --export_popef --input_shape x=3,3
poprt -i second/net.onnx --output_dir out --export_popef
poprt -i other/net.onnx --output_dir out --export_popef
poprt -i other/net.onnx --output_dir out --export_popef --overwrite
poprt -i two.onnx --output_dir out --export_popef
poprt -i two.onnx --output_dir out --popef_name two.popef
poprt -i two.onnx --output_dir out --popef_name two
poprt -i two.onnx --output_dir out --popef_name a/two.popef
poprt -i two.onnx --output a.popef --popef_name b.popef
poprt -i two.onnx --output net.onnx
poprt -i two.onnx --output none/two.popef
poprt -i two.onnx --output_dir net.onnx
poprt -i two.onnx --output_dir made --remove_outputs nobody
poprt -i two.onnx --output_model two.onnx
poprt -i two.onnx --output_model deep/three.onnx
poprt -i two.onnx --output_model three.onnx --output_dir deep/er
poprt -i two.onnx --show --run --output_dir x
poprt -i two.onnx --show_io_stat --show
poprt -i other
poprt -i empty
poprt -i several
poprt -i two.onnx --embed_source
poprt -i two.onnx --output embedded.popef --embed_source
poprt -i nothing.onnx
poprt -i broken.onnx
poprt -i two.onnx --framework tensorflow
poprt -i two.onnx --only_manual_sharding --manual_sharding_config stages.yaml --output_model staged.onnx
poprt_exec debug print --src_model staged.onnx
poprt -i two.onnx tf2onnx --saved_model
poprt -i two.onnx --only_manual_sharding
poprt -i two.onnx --only_manual_sharding --manual_sharding_config cuts.yaml --output_model cut.onnx
poprt_exec debug print --src_model cut.onnx
popef_dump out/executable.popef
popef_dump --all out/executable.popef
popef_dump --user-anchors out/two.popef
popef_dump --json out/two.popef
popef_dump --tensor x out/two.popef
popef_dump --feed x out/two.popef
popef_dump --tensor x --feed y out/two.popef
popef_dump --tensor x --executable nobody out/two.popef
popef_dump -m embedded.popef
popef_dump broken.onnx
poprt_exec recompile out/two.popef
poprt_exec recompile out/two.popef --source two.onnx
poprt_exec recompile out/two.popef --source two.onnx --force
poprt_exec recompile out/two.popef --source net.onnx --force
poprt_exec recompile embedded.popef --force -o again.popef
poprt_exec recompile embedded.popef --force --json -o again.popef
poprt_exec recompile nothing.popef
poprt_exec cache --path none --list
poprt -i two.onnx --output c.popef --compiler_options enable_engine_caching=True cache_path=cached
poprt -i two.onnx --output c.popef --compiler_options enable_engine_caching=True cache_path=cached
poprt -i net.onnx --output d.popef --overwrite --compiler_options enable_engine_caching=True cache_path=cached
poprt_exec cache --path cached
poprt_exec cache --path cached --list --json
poprt_exec cache --path cached --prune --older_than 1
poprt_exec cache --path cached --prune --max_bytes 100000000 --json
poprt_exec cache --path cached --prune --max_bytes 0
poprt_exec cache --path cached --prune
poprt_exec cache --path cached --list
poprt_exec flops two.onnx
poprt_exec flops net.onnx
poprt_exec flops net.onnx --input_shape x=2,3
poprt_exec flops net.onnx --batch_size 5 --batch_axis 0
poprt_exec opt net.onnx --stage compile --input_shape x=2,3
poprt_exec opt net.onnx --program --input_shape x=2,3
poprt_exec opt net.onnx --dump_each --stage convert --stop_after int64_to_int32
poprt_exec opt net.onnx --rewrite_limit 1 --stage compile
poprt_exec opt net.onnx --stage other
poprt_exec opt net.onnx --passes eliminate_identity --elide
poprt -i net.onnx --output_dir third_out --export_popef --input_shape x=2,3
poprt -i third/net.onnx --output_dir third_out --export_popef
poprt -i third/net.onnx --output_dir third_out --export_popef --overwrite
poprt -i fixed/net.onnx --output_dir third_out --export_popef
poprt -i third/net.onnx --output_dir third_out --export_popef
poprt -i leading.onnx --run --disable_compilation_progress_bar
poprt -i two.onnx --batches_per_step 2 --num_io_tiles 32 --embed_source
poprt -i two.onnx --batches_per_step 2 --num_io_tiles 32 --available_memory_proportion 0.5
poprt -i two.onnx --batches_per_step 2 --logging_level ERROR
poprt -i two.onnx --batches_per_step 2 --logging_level CRITICAL
poprt -i two.onnx --batches_per_step 2 --check
poprt -i two.onnx --show_io_stat --export_popef --output_model x.onnx --check --precision_compare
poprt_exec flops net.onnx --input_shape x=2,3 --verbose
poprt_exec flops net.onnx --input_shape x=2,3 --json
poprt_exec auto_shard -i two.onnx --num_ipus 2 --output_model two.onnx
poprt_exec poprt_run_popef --popef out/two.popef --iteration 2 --numThreads 2
poprt_exec poprt_run_popef --popef out/two.popef --iteration 2 --runner lightRunner
poprt_exec bench out/two.popef --iterations 3
poprt_exec bench out/two.popef --iterations 3 --input x=x.npy --through queues
poprt --config_yaml fused.yaml
poprt_exec bench fused/executable.popef --iterations 2
poprt_exec bench out/two.popef --iterations 3 --clients 2 --async --json
"""

# Fused models in ONNX, compiled as one.
FUSED = """
poprt --config_yaml fused.yaml
poprt -i fused/model_fusion.optimized.onnx --output f.popef
poprt -i fused/model_fusion.optimized.onnx --output f.popef --input_shape graph0/x=2,3
poprt_exec inspect f.popef --view program
popef_dump -m f.popef
poprt -i fused/model_fusion.optimized.onnx --output f.popef --input_shape graph0/x=2,3 graph1/x=2,3 --precision fp16 --compiler_options enable_model_fusion=True
poprt_exec inspect f.popef --view program
poprt -i fused/model_fusion.optimized.onnx --output f.popef --input_shape graph0/x=2,3 graph1/x=3,3
poprt -i fused/model_fusion.optimized.onnx --output f.popef --input_shape graph0/x=2,3 x=2,3
poprt -i fused/model_fusion.optimized.onnx --output f.popef --input_shape graph0/x=2,3 graph1/y=2,3
poprt -i fused/model_fusion.optimized.onnx --output f.popef --input_shape graph0/x=2,3 graph2/x=2,3
poprt -i fused/model_fusion.optimized.onnx --output f.popef --input_shape graph0/x=2,3/2,3
poprt -i fused/model_fusion.optimized.onnx --output f.popef --input_shape graph0/x=1,3/2,3
poprt -i fused/model_fusion.optimized.onnx --output f.popef --input_shape graph0/x=2,3 --numerics faithful
poprt -i fused/model_fusion.optimized.onnx --output f.popef --input_shape graph0/x=2,3 --num_io_tiles 64 --batches_per_step 3
poprt -i fused/model_fusion.optimized.onnx --output f.popef --batch_size 2 --batch_axis 0
poprt -i fused/model_fusion.optimized.onnx --output f.popef --input_shape graph0/x=2,3 --compiler_options constant_weights=False
poprt -i fused/model_fusion.optimized.onnx --output f.popef --input_shape graph0/x=2,3 --compiler_options serialize_ir=True
poprt_exec run f.popef --input graph1/x=x.npy --output graph1/y=g.npy
poprt_exec run f.popef --input graph0/x=x.npy --output graph0/y=g.npy
poprt --config_yaml cut.yaml
poprt -i cut/model_fusion.optimized.onnx --output c.popef
poprt_exec inspect c.popef --view parts
poprt -i cut/model_fusion.optimized.onnx --output c.popef --compiler_options num_ipus=2 virtual_graph_mode=manual
poprt_exec inspect c.popef --view parts
poprt_exec inspect c.popef --view program
poprt -i cut/model_fusion.optimized.onnx --output c.popef --batches_per_step 2 --compiler_options num_ipus=2 virtual_graph_mode=manual enable_pipelining=True
poprt_exec inspect c.popef --view parts
poprt -i cut/model_fusion.optimized.onnx --output c.popef --compiler_options num_ipus=2 virtual_graph_mode=auto
poprt -i cut/model_fusion.optimized.onnx --output c.popef --compiler_options num_ipus=3 virtual_graph_mode=manual
poprt -i net.onnx --output n.popef --compiler_options enable_model_fusion=True
poprt -i net.onnx --output_model n.onnx --compiler_options enable_model_fusion=True
"""

# Each option that changes the executable causes a separate file in the cache.
CACHED = ["", "", "--precision fp32", "--precision fp16", "--precision fp8_weight", "--winograd off", "--winograd fast", "--convert_version 15", "--lowest_opset 15",
          "--passes eliminate_identity", "--passes eliminate_identity,eliminate_nop_cast", "--skip_passes eliminate_identity", "--skip_passes eliminate_nop_cast",
          "--max_tensor_size 64", "--strict", "--allow_symlinks", "--narrow_int64", "--num_io_tiles 64", "--batches_per_step 2", "--available_memory_proportion 0.5",
          "--checkpoints h", "--checkpoints i", "--numerics faithful", "--numerics fast", "--embed_source", "--ipu_version ipu2", "--enable_erf_gelu",
          "--popart_options numIOTiles=3", "--fold_periodic_initializer", "--pass_args eliminate_identity.x=1", "--max_padding 0.5", "--pad_values x=1", ""]
SHAPED = ["--input_shape x=2,3", "--input_shape x=3,3", "--batch_size 2 --batch_axis 0", "--batch_size 3 --batch_axis 0", "--input_shape x=1,3/4,3",
          "--input_shape x=1,3/4,3 --max_padding 0.25", "--input_shape x=1,3/4,3 --pad_values x=0", "--input_shape x=1,3/4,3 --pad_values x=1"]

# Command lines as users type them, with mistakes.
WORDS = """
poprt --input_modl two.onnx --show
poprt --input_mod two.onnx --show
poprt --inptu_model two.onnx --show
poprt --inptu_modle two.onnx --show
poprt --npt_model two.onnx --show
poprt --npt_modl two.onnx --show
poprt --modell two.onnx --show
poprt --input two.onnx --show
poprt --input_m=two.onnx --sho
poprt --sh -i two.onnx
poprt --show_io -i two.onnx
poprt --show=true -i two.onnx
poprt -i two.onnx --show --nothing
poprt -i two.onnx --show -- --nothing
poprt -i two.onnx --show -z
poprt -i two.onnx stray --show
poprt two.onnx
poprt two.onnx net.onnx
poprt two.onnx --show
poprt -- two.onnx
poprt -i ""
poprt -i two.onnx -i net.onnx --show
poprt -i two.onnx -i net.onnx --show --logging_level ERROR
poprt -i two.onnx --output_model a.onnx --output_model b.onnx
poprt -i two.onnx --batch_size 2
poprt -i two.onnx --batch_axis 0
poprt -i two.onnx --batch_size 0 --batch_axis 0
poprt -i two.onnx --batch_size=2 --batch_axis=0 --show
poprt -i two.onnx --batch_size 2.5 --batch_axis 0
poprt -i two.onnx --batch_size 99999999999999999999 --batch_axis 0
poprt -i two.onnx --max_padding 0.9 --show
poprt -i two.onnx --max_padding 0.91 --show
poprt -i two.onnx --max_padding -0 --show
poprt -i two.onnx --max_padding 1e-1 --show
poprt -i two.onnx --max_padding nan --show
poprt -i two.onnx --precision FP16
poprt -i two.onnx --passes eliminate_identity,, --show
poprt -i two.onnx --passes eliminate_identity , eliminate_nop_cast --show
poprt -i two.onnx --input_shape x=2,3 y=1 --show
poprt -i two.onnx --input_shape --show
poprt -i two.onnx --compiler_options a --show
poprt -i two.onnx --compiler_options a= --show
poprt -i two.onnx --compiler_options =a --show
poprt -i two.onnx --compiler_options num_ipus=1 num_ipus=2 --show
poprt -i two.onnx --compiler_options num_ipus=1 num_ipus=1 --show
poprt -i two.onnx --compiler_options num_ipus=0 --show
poprt -i two.onnx --compiler_options batches_per_step=2 --batches_per_step 3 --show
poprt -i two.onnx --compiler_options batches_per_step=2 --batches_per_step 2 --show
poprt -i two.onnx --compiler_options virtual_graph_mode=executionPhases --show
poprt -i two.onnx --compiler_options enable_pipelining=True --show
poprt -i two.onnx --compiler_options enable_pipelining=False --show
poprt -i two.onnx --compiler_options enable_pipelining=maybe --show
poprt -i two.onnx --compiler_options opaque_blobs={} --show
poprt -i two.onnx --compiler_options opaque_blobs=[] --show
poprt -i two.onnx --compiler_options 'opaque_blobs={"a":1}' --show
poprt -i two.onnx --popart_options nobody=1 --show
poprt -i two.onnx --popart_options numIOTiles.a=1 --show
poprt -i two.onnx --popart_options numIOTiles=1 numIOTiles=2 --show
poprt -i two.onnx --pad_values x=1 x=2 --show
poprt -i two.onnx --pad_values x --show
poprt -i two.onnx --eightbitsio --check
poprt -i two.onnx --lowest_opset 10 --show
poprt -i two.onnx --lowest_opset 11 --convert_version 12 --show
poprt -i two.onnx --calibration_loss_type gptq --precision fp8 --show
poprt -i two.onnx --precision fp8 --ipu_version ipu2 --show
poprt -i two.onnx --precision fp8 --ipu_version ipu21 --fp8_params F143,F143,0 --show
poprt -i two.onnx --precision fp16 --input_shape x=2,3/4,3 --check
poprt -i two.onnx --input_shape x=1,3/2,3 y=1/2/3 --show
poprt -i two.onnx --input_shape x=1,3/2,3 y=1 --show
poprt -i two.onnx --input_shape x=1/2 y=1/1 --show
poprt -i two.onnx --input_shape x=1/2/1 y=1/2/1 --show
poprt -i two.onnx --input_shape x=1/2/1 y=1/2/3 --show
poprt -i two.onnx --input_shape x=SIXTY-FOUR --show
poprt -i two.onnx --input_shape x=SIXTY-FOUR/65 --show
poprt -i two.onnx --input_shape x=2,3/4,3 --precision_compare --show
poprt -i two.onnx --input_shape x=2,3 --precision_compare --show
poprt -i two.onnx --input_shape x= --show
poprt -i two.onnx --input_shape =2 --show
poprt -i two.onnx --input_shape x=[] --show
poprt -i two.onnx --input_shape x=[2] --show
poprt -i two.onnx --input_shape 'x= 2, 3 / 4 ,3' --show
poprt -i two.onnx --input_shape x=2,3/ --show
poprt -i two.onnx --input_shape x=/2,3 --show
poprt -i two.onnx --input_shape x=0,3 --show
poprt -i two.onnx --input_shape x=-1,3 --show
poprt tf2onnx
poprt_exec
poprt_exec rnu
poprt_exec run
poprt_exec run two.onnx --randm
poprt_exec run two.onnx --rand
poprt_exec run two.onnx --input x=x.npy --input
poprt_exec run two.onnx --iterations=2 --rando --threads 1
poprt_exec run two.onnx --numerics slow
poprt_exec run two.onnx stray
poprt_exec debug
poprt_exec debug prnt
poprt_exec debug print two.onnx
poprt_exec debug print --src two.onnx --lev graph
popef_dump
popef_dump --al two.onnx
popef_dump --nothing
"""

MODEL = "input_model: net.onnx\n"
YAML = [
    "", "a", "- a", "{}", "a: b", MODEL, MODEL + "show: yes\n", MODEL + "show: True", MODEL + "show: no", MODEL + "show: 1", MODEL + "show: on",
    MODEL + "show: maybe", MODEL + "shwo: True", MODEL + "batch_size: 0", MODEL + "batch_size: [1]", MODEL + "batch_size: {a: 1}",
    MODEL + "batch_size: 2", MODEL + "batch_size: 2\nbatch_axis: 0\nshow: True", MODEL + "batch_size: 2\nbatch_size: 2",
    MODEL + "precision: fp32", MODEL + "precision: fp12", MODEL + "precision: ''", MODEL + "precision: ~", MODEL + "precision: null",
    MODEL + "precision: \"null\"", MODEL + "precision: !!str fp16", MODEL + "precision: &a fp16\nipu_version: *a", MODEL + "precision: |\n  fp16\n",
    MODEL + "precision: |\n  fp16\n  fp32\n", MODEL + "passes: [eliminate_identity]\nshow: True", MODEL + "passes: []",
    MODEL + "passes: [[a]]", MODEL + "passes: {a: b}", MODEL + "input_shape: {x: [2, 3]}\nshow: True", MODEL + "input_shape: {x: [2, q]}",
    MODEL + "input_shape: {x: []}", MODEL + "input_shape: {x: 2}\n", MODEL + "input_shape: {x: [2, 3], x: [2, 3]}", MODEL + "input_shape: {[x]: 2}",
    MODEL + "input_shape: {x: [[[[[1]]]]]}", MODEL + "input_shape: x=2,3\n", MODEL + "input_shape: [x=2,3, y=2]\n",
    MODEL + "compiler_options: {num_ipus: 1, partials_type: half}\nshow: True", MODEL + "compiler_options: {num_ipus: x}",
    MODEL + "compiler_options: [num_ipus=1]\nshow: True", MODEL + "config_yaml: other.yaml", MODEL + "---\nshow: True",
    MODEL + "pass_args: {add_checkpoints: {names: [y]}}\npasses: add_checkpoints", MODEL + "pass_args: {add_checkpoints: {nobody: y}}\n",
    MODEL + "pass_args: {nobody: {names: y}}\n", MODEL + "pass_args: [add_checkpoints.names=y]\npasses: add_checkpoints",
    MODEL + "input_shape: x=2,3\npasses: 'eliminate_identity,  layer_precision_compare , eliminate_nop_cast'\n",
    MODEL + "input_shape: x=2,3\npasses: ' layer_precision_compare'\n",
    MODEL + "show: True\n".ljust((1 << 20) - len(MODEL)), MODEL + "show: True\n".ljust((1 << 20) + 1 - len(MODEL)), MODEL + "\tshow: True", MODEL + "show: [True", "model_fusion: []", "model_fusion: a", "model_fusion: [a]", "model_fusion: [{}]",
    "model_fusion:\n- input_model: net.onnx\n  input_shape: x=2,3\n- input_model: two.onnx\nshow: True\n",
    "model_fusion:\n- input_model: net.onnx\n  show: True\n", "input_model: net.onnx\nmodel_fusion:\n- input_model: two.onnx\n",
    "model_fusion:\n- input_model: net.onnx\n  input_shape: x=2,3\n- input_model: two.onnx\noutput_dir: fused\nexport_popef: True\n",
    "model_fusion:\n- input_model: net.onnx\n- input_model: two.onnx\noutput_dir: fused\n",
    "model_fusion:\n- input_model: two.onnx\n  precision: fp16\n- input_model: two.onnx\n  precision_compare: True\noutput_dir: three\nrun: False\n",
    MODEL + "max_padding: 0.9\nshow: True", MODEL + "max_padding: 0.91\nshow: True", MODEL + "max_padding: nan\nshow: True", MODEL + "max_padding: -0.1\nshow: True",
    MODEL + "max_tensor_size: -1\nshow: True", MODEL + "max_tensor_size: -2\nshow: True", MODEL + "max_tensor_size: 1.5\nshow: True",
    MODEL + "batch_sze: 1", MODEL + "batc_sze: 1", MODEL + "btc_sze: 1", MODEL + "show: 'True'\nrun: 'no'", MODEL + "show: [True]", MODEL + "show: {a: True}",
    MODEL + "export_popef: False\nshow: True", MODEL + "input_shape: {x: [[1, 3], [4, 3]]}\nshow: True", MODEL + "input_shape: {x: [2, [3]]}\nshow: True",
    MODEL + "input_shape: {x: [[]]}\nshow: True", MODEL + "input_shape: {x: {y: 1}}\nshow: True", MODEL + "passes: [a, [b]]", MODEL + "passes: ~", MODEL + "passes:\n",
    MODEL + "checkpoints: [h, i]\nremove_outputs: y\nexport_popef: False", MODEL + "pack_args: {max_valid_num: 2, segment_max_size: [2, 3]}\nshow: True",
    MODEL + "pack_args: {max_valid_num: 2, segment_max_size: [[2], 3]}\nshow: True", MODEL + "serialize_matmul: {a: 2/none}\nshow: True", MODEL + "compiler_options: {a: {b: c}}",
    MODEL + "sharding_info: {node_y: 1}\nshow: True", MODEL + "pad_values: {x: 1}\nshow: True", MODEL + "popart_options: {numIOTiles: 3}\nshow: True",
]
CUTS = ["", "a", "{}", "[]", "[a]", "[{}]", "[{node: y}]", "[{device: 0}]", "[{node: y, device: 0}]", "[{node: y, stage: 0}]",
        "[{node: y, device: 0, stage: 1}, {node: z, device: 1}]", "[{node: y, device: x}]", "[{node: y, device: -1}]", "[{node: '', device: 1}]",
        "[{node: y, device: 1234567890}]", "[{node: y, device: 123456789}]", "[{node: y, node: y}]", "[{node: y, name: z}]", "[{node: [y]}]",
        "[{node: y, device: ~}]", "[{[a]: b}]", "[{node: y, device: 0}]\n---\n[]"]


class RecordedWords(CallsTest):
    made_by = "recorded_words_test.py"

    def test_fused(self):
        self.prepare()
        x, y = onnx.value("x", onnx.F32, [2, 3]), onnx.value("y", onnx.F32, [2, 3])
        self.write("deep.onnx", onnx.model([onnx.node("MatMul", ["x", "w"], ["m"]), onnx.node("Relu", ["m"], ["r"]), onnx.node("MatMul", ["r", "w"], ["y"])],
                                           [x], [y], [onnx.floats("w", [3, 3], [1, 2, 3, -1, 0, 1, 2, -2, 0.5])]))
        self.write("cut.yaml", b"model_fusion:\n- input_model: deep.onnx\n  sharding_info: node_r=0\n  pipelining_info: node_r=0\n"
                   b"- input_model: two.onnx\noutput_dir: cut\n")
        self.record("fused", [(line, line) for line in FUSED.split("\n") if line])

    def test_cache(self):
        self.prepare()
        def call(options, *settings):
            return " ".join(["poprt -i net.onnx --output c.popef --overwrite --logging_level ERROR", *options, "--compiler_options enable_engine_caching=True",
                             "cache_path=cached", *settings])
        words = [call(["--input_shape x=2,3", more]) for more in CACHED] + [call([more]) for more in SHAPED]
        for more in (["constant_weights=False"], ["num_ipus=2", "virtual_graph_mode=auto"], ["num_ipus=2", "virtual_graph_mode=auto", "virtual_graph_split_ratios=[0.5,1]"],
                     ["partials_type=half"], ["serialize_ir=True"], ["opaque_blobs={}"], ["custom_patterns=InPlace"]):
            words.append(call(["--input_shape x=2,3"], *more))
        lines = [" ".join(line.split()) for line in words] + ["poprt_exec cache --path cached --list"]
        self.record("cache", [(line, line) for line in lines])

    def test_words(self):
        self.record_lines("words", WORDS.replace("SIXTY-FOUR", "/".join(map(str, range(1, 65)))))

    def test_files(self):
        self.record_lines("files", FILES)

    def test_yaml(self):
        self.prepare()
        words = "poprt --config_yaml given.yaml"
        self.record("yaml", [*self.yaml_steps_of(YAML, words), *self.yaml_steps_of(YAML[5:20:3], words + " --batch_axis 0 --batch_size 7 --show"),
                             *self.yaml_steps_of(CUTS, "poprt -i two.onnx --manual_sharding_config given.yaml --only_manual_sharding --output_model c.onnx")])

    def yaml_steps_of(self, texts, call):
        steps = []
        for i, text in enumerate(texts):
            name = f"given{i}.{len(call)}.yaml"
            self.write(name, text.encode())
            steps.append((f"{call}: {text[:300]!r}" + f" of {len(text)}" * (len(text) > 300), call.replace("given.yaml", name)))
        return steps


if __name__ == "__main__":
    unittest.main()
