"""What commands do with files, recorded in tests/data/cli_commands_*.txt: sequences of calls in one folder, what each says
and which files it makes, changes or takes away. Times are masked, data is exact in every instruction set.

    POPRT_WRITE_RECORDS=1 POPRT_BIN=build/release/bin python3 tests/cli/recorded_commands_test.py   # then read the diff"""

import os
import re
import shlex
import struct
import unittest
import zipfile
from unittest import mock

import onnx_writer as onnx
from support import RecordedTest, model

TIMES = [
    (r"after [\d.]+ ms", "after TIME ms"), (r"fastest [\d.]+ ms", "fastest TIME ms"), (r"Latency: [\d.]+ms", "Latency: TIME"),
    (r"latency ms: .*", "latency ms: TIMES"), (r"total: [\d.]+ ms, throughput: [\d.]+ ", "total: TIME ms, throughput: NUMBER "),
    (r"Tput: \d+", "Tput: NUMBER"), (r"load [\d.]+ ms", "load TIME ms"), (r"throughput: [\d.]+ requests", "throughput: NUMBER requests"),
    (r'("(?:\w+_ms|requests_per_second)": )\d[\d.e+-]*', r"\1TIME"), (r'("(?:load_ms|\w*_ns|last_used)": )\d[\d.e+-]*', r"\1TIME"), (r'("latency_ms": )\[[^]]*\]', r"\1TIMES"),
    (r'((?:load|run)_ms(?:",\s*"value": "?|  +))\d[\d.e+-]*', r"\1TIME"),
    (r"(?m)^( *(?:model|convert|compile) +\S+ +\d+ +)[\d.e-]+", r"\1TIME"), (r"(?m)^ +\d+\.\d\d +\d+\.\d\d  (\w)", r"  TIME \1"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE"), (r"\[\d\d:\d\d:\d\d\.\d+\] ", ""), (r"\b[0-9a-f]{64}\b", "HASH"),
    (r"\b(poprt|Model Runtime) \d+\.\d+\.\d+", r"\1 VERSION")]

RUN = """
poprt_exec run net.onnx --input x=x.npy --output y=y.npy
poprt_exec run net.onnx --input x=x.npy --output y=y.npy --iterations 3 --threads 1
poprt_exec run net.onnx --input x=x.npy --json
poprt_exec run net.onnx --input x=x.npy --profile
poprt_exec run net.onnx --random
poprt_exec run net.onnx --random --input x=x.npy
poprt_exec run net.onnx
poprt_exec run net.onnx --input x=wide.npy
poprt_exec run net.onnx --input x=doubles.npy
poprt_exec run net.onnx --input x=halves.npy
poprt_exec run net.onnx --input x=ints.npy
poprt_exec run net.onnx --input x=column.npy
poprt_exec run net.onnx --input x=nothing.npy
poprt_exec run net.onnx --input x=net.onnx
poprt_exec run net.onnx --input x=x.npy x=x.npy
poprt_exec run net.onnx --input x=x.npy --input-pb x=x.pb
poprt_exec run net.onnx --input-pb x=x.pb --output y=y2.npy
poprt_exec run net.onnx --input-pb x=short.pb
poprt_exec run net.onnx --input z=x.npy
poprt_exec run net.onnx --input y=x.npy
poprt_exec run net.onnx --input x=
poprt_exec run net.onnx --input =x.npy
poprt_exec run net.onnx --input x=x.npy --output z=z.npy
poprt_exec run net.onnx --input x=x.npy --output y=none/y.npy
poprt_exec run net.onnx --input x=x.npy --output y=y.txt
poprt_exec run net.onnx --input x=x.npy --output y=y.npz
poprt_exec run net.onnx --input x=x.npy --output y=a.npy y=b.npy
poprt_exec run net.onnx --input x=x.npy --input_shape x=2,3
poprt_exec run net.onnx --input x=x.npy --input_shape x=3,3
poprt_exec run net.onnx --input x=x.npy --precision fp16 --output y=h.npy
poprt_exec run net.onnx --input x=x.npy --precision fp8
poprt_exec run net.onnx --input x=x.npy --winograd none
poprt_exec run net.onnx --input x=x.npy --batch_size 2 --batch_axis 0
poprt_exec run net.onnx --input x=x.npy --iterations 0
poprt_exec run net.onnx --input x=x.npy --threads 1025
poprt_exec run net.onnx --input x=x.npy --numerics faithful --output y=f.npy
poprt_exec run net.onnx --input x=x.npy --numerics faithful --json
poprt_exec run net.onnx --input x=x.npy --numerics faithful --iterations 2
poprt_exec run net.onnx --input x=x.npy --overflow saturate
poprt -i net.onnx --output net.popef --input_shape x=2,3
poprt_exec run net.popef --input x=x.npy --output y=p.npy
poprt_exec run net.popef --input x=x.npy --precision fp16
poprt_exec run net.popef --input x=x.npy --input_shape x=2,3
poprt_exec run net.popef --input x=x.npy --numerics faithful
poprt -i net.onnx --output sizes.popef --input_shape x=1,3/4,3
poprt_exec run sizes.popef --input x=x.npy --output y=s.npy
poprt_exec run sizes.popef --random
poprt_exec run sizes.popef --input x=column.npy
poprt_exec run sequence.onnx --random
poprt_exec run text.onnx --json
poprt_exec run text.onnx --random
poprt_exec run optional.onnx --random
poprt_exec run nothing.onnx
poprt --config_yaml fused.yaml
poprt_exec run fused/executable.popef --input graph1/x=x.npy --output graph1/y=g.npy
poprt_exec run fused/executable.popef --input-pb graph0/x=x.pb --json
poprt_exec run fused/executable.popef --input graph0/x=x.npy graph1/x=wide.npy
poprt_exec run fused/executable.popef
poprt_exec run fused/executable.popef --random
poprt_exec run fused/executable.popef --random --input x=x.npy
poprt_exec run fused/executable.popef --random --input graph7/x=x.npy
poprt_exec run fused/executable.popef --input graph1/x=x.npy --output graph0/y=g.npy
poprt_exec run nonzero.onnx --input x=x.npy --output at=at.npy
poprt_exec run nonzero.onnx --input x=nan.npy --json
poprt_exec run reshape_input.onnx --input x=x.npy
poprt_exec run reshape_input.onnx --random
poprt_exec run reshape_input.onnx --input x=x.npy shape=shape.npy --output y=reshaped.npy
poprt_exec run reshape_input.onnx --input x=x.npy shape=x.npy
poprt_exec run reshape_input.onnx --input x=x.npy shape=nothing.npy
poprt_exec run reshape_input.onnx --input x=wide.npy shape=shape.npy
poprt_exec run reshape_input.onnx --input z=x.npy shape=shape.npy
poprt_exec run reshape_input.onnx --random --input shape=shape.npy --json
poprt_exec run gather.onnx --random --input ids=far.npy
poprt_exec run sequence.onnx --input s[0]=x.npy s[1]=y.npy --output y=q.npy
poprt_exec run sequence.onnx --input s[0]=x.npy s[2]=y.npy
poprt_exec run sequence.onnx --input s=x.npy
poprt_exec run split.onnx --input x=x.npy --output s=s.npz
poprt_exec run split.onnx --input x=x.npy --output s=s.npy
poprt_exec run split.onnx --input x=x.npy --output s[1]=s1.npy
poprt_exec run split.onnx --input x=x.npy --output s[2]=s2.npy
poprt_exec run optional.onnx --input o=x.npy --output y=there.npy
poprt_exec run optional.onnx --input o=absent.none
poprt_exec run join.onnx --random --output t=t.npy
poprt_exec run join.onnx --random --json
poprt_exec run labels.onnx --random
poprt_exec run bits.onnx --random --json
"""

COMPARE = """
poprt_exec compare net.onnx --input x=x.npy
poprt_exec compare net.onnx --input x=x.npy --reference y=y.npy
poprt_exec compare net.onnx --input x=x.npy --reference y=off.npy --rtol 0 --atol 0.5
poprt_exec compare net.onnx --input x=x.npy --reference y=off.npy --rtol 0 --atol 0.4375
poprt_exec compare net.onnx --input x=x.npy --reference y=off.npy --rtol 0.125 --atol 0
poprt_exec compare net.onnx --input x=x.npy --reference y=off.npy --rtol 0.0625 --atol 0
poprt_exec compare net.onnx --input x=x.npy --reference y=off.npy --rtol 0 --atol 0 --norm 0.125
poprt_exec compare net.onnx --input x=x.npy --reference y=off.npy --rtol 0 --atol 0 --norm 0.0625
poprt_exec compare net.onnx --input x=x.npy --reference y=off.npy --rtol 0 --atol 0 --bad_frac 0.25
poprt_exec compare net.onnx --input x=x.npy --reference y=off.npy --rtol 0 --atol 0 --bad_frac 0.5
poprt_exec compare net.onnx --input x=x.npy --reference y=off.npy --rtol 0 --atol 0 --json
poprt_exec compare net.onnx --input x=x.npy --reference y=off.npy y=y.npy --json --norm 0.5 --bad_frac 1
poprt_exec compare net.onnx --input x=x.npy --reference y=nan.npy
poprt_exec compare net.onnx --input x=x.npy --reference y=flat.npy
poprt_exec compare net.onnx --input x=x.npy --reference y=x.pb
poprt_exec compare net.onnx --input x=x.npy --reference z=y.npy
poprt_exec compare net.onnx --input x=x.npy --reference y=nothing.npy
poprt_exec compare net.onnx --input x=x.npy --reference y
poprt_exec compare net.onnx --reference y=y.npy
poprt_exec compare net.onnx --input-pb x=x.pb --reference y=y.npy --rtol -1
poprt_exec compare net.onnx --data_set set/data_0
poprt_exec compare net.onnx --data_set set/data_0 --atol 0
poprt_exec compare net.onnx --data_set set/data_0 --json
poprt_exec compare net.onnx --data_set strict/data_0
poprt_exec compare net.onnx --data_set bad/data_0
poprt_exec compare net.onnx --data_set list/data_0
poprt_exec compare net.onnx --data_set nothing
poprt -i net.onnx --output sizes.popef --input_shape x=1,3/4,3
poprt_exec compare sizes.popef --input x=x.npy --reference y=y.npy
poprt_exec compare sizes.popef --input x=x.npy --reference y=off.npy --json
poprt_exec compare sizes.popef --input x=x.npy --reference z=off.npy
poprt --config_yaml fused.yaml
poprt_exec compare fused/executable.popef --input graph0/x=x.npy --reference graph0/y=y.npy
poprt_exec compare fused/executable.popef --input graph0/x=x.npy graph1/x=x.npy --reference graph0/y=y.npy graph1/y=off.npy --json
poprt_exec compare fused/executable.popef --input graph0/x=x.npy --reference graph1/y=y.npy
poprt_exec compare fused/executable.popef --input graph0/x=x.npy --reference graph0/z=y.npy
poprt_exec compare fused/executable.popef --input graph2/x=x.npy --reference graph0/y=y.npy
poprt_exec compare nonzero.onnx --input x=x.npy --reference at=x.npy
poprt_exec compare nonzero.onnx --input x=x.npy --reference at=at.npy
poprt_exec compare net.onnx --input x=x.npy --reference y=y.npy --input_shape x=3,3
poprt_exec compare net.onnx --input x=x.npy --reference y=y.npy --batch_size 2 --batch_axis 0
poprt_exec compare net.onnx --input x=x.npy --reference y=y.npy --batch_size 3 --batch_axis 0
"""

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
poprt_exec cache
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

INSPECT = """
poprt -i two.onnx --output_dir out --export_popef
poprt -i net.onnx --output_dir out --popef_name net.popef --input_shape x=2,3
poprt -i net.onnx --output_dir out --popef_name half.popef --input_shape x=2,3 --precision fp16
poprt -i net.onnx --output_dir out --popef_name sizes.popef --input_shape x=1,3/4,3
poprt -i net.onnx --output_dir out --popef_name cut.popef --input_shape x=2,3 --sharding_info node_h=0 --compiler_options num_ipus=2 virtual_graph_mode=manual
poprt -i two.onnx --output_dir out --popef_name embedded.popef --embed_source --numerics faithful
poprt --config_yaml fused.yaml
poprt_exec inspect out/executable.popef --view all
poprt_exec inspect net.onnx --view all
poprt_exec inspect net.onnx --view weights
poprt_exec inspect out/executable.popef --view passes
poprt_exec inspect net.onnx --view passes --step 3
poprt_exec inspect net.onnx --node node_y
poprt_exec inspect net.onnx --node nobody
poprt_exec inspect net.onnx --input_shape x=2,3 --view run --input x=x.npy --reference y=y.npy --top 2
poprt_exec inspect net.onnx --input_shape x=2,3 --view run --input x=x.npy --reference y=off.npy --rtol 0 --atol 0 --output y=seen.npy
poprt_exec inspect net.onnx --input_shape x=2,3 --view run --input x=x.npy --second two.onnx
poprt_exec inspect net.onnx --compare two.onnx
poprt_exec inspect out/executable.popef --compare out/executable.popef
poprt_exec inspect broken.onnx

poprt_exec inspect out/net.popef --view all
poprt_exec inspect out/net.popef --compare out/half.popef
poprt_exec inspect out/half.popef --view program
poprt_exec inspect out/half.popef --view memory --json
poprt_exec inspect out/sizes.popef --view parts
poprt_exec inspect out/sizes.popef --view program
poprt_exec inspect out/sizes.popef --view memory
poprt_exec inspect out/sizes.popef --view run --input x=x.npy --branch 1
poprt_exec inspect out/sizes.popef --view run --input x=zeros --branch 0
poprt_exec inspect out/sizes.popef --view run --input x=zeros --branch 2
poprt_exec inspect out/sizes.popef --compare out/net.popef
poprt_exec inspect out/cut.popef --view parts
poprt_exec inspect out/cut.popef --view program
poprt_exec inspect out/cut.popef --view memory
poprt_exec inspect out/cut.popef --compare out/net.popef --json
poprt_exec inspect out/embedded.popef
poprt_exec inspect out/embedded.popef --view opaque
poprt_exec inspect out/embedded.popef --view blobs
poprt_exec inspect fused/executable.popef --view all
poprt_exec inspect fused/executable.popef --view run --branch 1 --input graph1/x=x.npy
poprt_exec inspect fused/model_fusion.optimized.onnx --view all
poprt_exec inspect two.onnx --svg
poprt_exec inspect two.onnx --view graph --filter op:Neg
poprt_exec inspect two.onnx --view graph --filter shape:2x3
poprt_exec inspect two.onnx --view graph --filter nobody:2
poprt_exec inspect two.onnx --view operators --most 1
poprt_exec inspect two.onnx --view passes --node node_y
poprt_exec inspect two.onnx --view passes --step 0
poprt_exec inspect two.onnx --view passes --step 999
poprt_exec inspect two.onnx --view nobody
poprt_exec inspect two.onnx --view run --input x=zeros --labels labels.txt --top 3
poprt_exec inspect two.onnx --view run --input x=x.npy --top 0
poprt_exec inspect two.onnx --view run --input x=x.npy --output y=seen.npy z=seen2.npy --json
poprt_exec inspect two.onnx --view run --input x=wide.npy
poprt_exec inspect two.onnx --view run --input x=halves.npy
poprt_exec inspect two.onnx --view run --input x=x.pb --second other/net.onnx
poprt_exec inspect two.onnx --view run --input nobody=zeros
poprt_exec inspect two.onnx --view run --input x=photo.ppm
poprt_exec inspect two.onnx --view run --input x=x.npy --reference z=flat.npy
poprt_exec inspect two.onnx --view run --input x=x.npy --reference nobody=y.npy
poprt_exec inspect two.onnx --input x=x.npy
poprt_exec inspect --view queues --folder empty --seconds 0.1
poprt_exec inspect --view queues --folder nothing --seconds 0.1
poprt_exec inspect
poprt_exec inspect text.onnx --view all
poprt_exec inspect sequence.onnx --view graph
poprt_exec inspect optional.onnx --view graph
"""

DEBUG = """
poprt_exec debug print --src_model net.onnx
poprt_exec debug print --src_model net.onnx --level graph
poprt_exec debug print --src_model net.onnx --level node
poprt_exec debug print --src_model net.onnx --level tensor
poprt_exec debug print --src_model net.onnx --level other
poprt_exec debug print --src_model net.onnx --name node_h
poprt_exec debug print --src_model net.onnx --name c
poprt_exec debug print --src_model net.onnx --name nobody
poprt_exec debug print --src_model net.onnx --name [
poprt_exec debug modify --src_model net.onnx --update c=zeros --output_model zeros.onnx
poprt_exec debug print --src_model zeros.onnx --name c
poprt_exec debug modify --src_model net.onnx --update c=ones
poprt_exec debug modify --src_model net.onnx --update c=c.npy --output_model read.onnx
poprt_exec debug print --src_model read.onnx --name c
poprt_exec debug modify --src_model net.onnx --update c=x.npy
poprt_exec debug modify --src_model net.onnx --update x=x.npy --output_model constant.onnx
poprt_exec opt constant.onnx
poprt_exec debug modify --src_model net.onnx --update x=ones
poprt_exec debug modify --src_model net.onnx --update h=ones
poprt_exec debug modify --src_model net.onnx --update nobody=ones
poprt_exec debug modify --src_model net.onnx --update c
poprt_exec debug modify --src_model net.onnx --extract input_names=h output_names=i --output_model part.onnx
poprt_exec opt part.onnx
poprt_exec debug modify --src_model net.onnx --sort --output_model sorted.onnx
poprt_exec debug modify --src_model net.onnx
poprt_exec debug extract --src_model net.onnx --input_names x --output_names h --output_model front.onnx
poprt_exec opt front.onnx
poprt_exec debug extract --src_model net.onnx --output_names nobody
poprt_exec debug extract --src_model net.onnx --input_names i --output_names h
poprt_exec debug extract --src_model net.onnx --output_names h,i --output_model both.onnx
poprt_exec opt both.onnx
poprt_exec debug compare --src_model two.onnx --dst_model two.onnx --src_backend poprt --input_data x=x.npy
poprt_exec debug compare --src_model two.onnx --dst_model two.onnx --src_backend poprt --input_data x=x.npy --json --compare_method mse,rmse,mae,mape,r2
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data x=x.npy --input_shape x=2,3 --compare_method mae
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data x=x.npy --input_shape x=2,3 --mark_outputs all --dump_data
poprt_exec debug compare --src_model net.onnx --dst_model two.onnx --src_backend poprt --input_data x=ones --input_shape x=2,3 --mark_outputs y
poprt_exec debug compare --src_model net.onnx --dst_model two.onnx --src_backend poprt --input_data x=ones --input_shape x=2,3 --mark_outputs nobody
poprt_exec debug compare --src_model net.onnx --dst_model two.onnx --src_backend poprt --input_data x=ones --input_shape x=2,3 --mark_io_mapping y=z
poprt_exec debug compare --src_model net.onnx --dst_model two.onnx --src_backend poprt --input_shape x=2,3
poprt_exec debug compare --src_model net.onnx --dst_model two.onnx --src_backend other
poprt_exec debug compare --src_model net.onnx --dst_model two.onnx --src_backend poprt --compare_method other --input_data x=ones
poprt_exec auto_shard -i net.onnx --num_ipus 1
poprt_exec auto_shard -i net.onnx --num_ipus 2
poprt_exec auto_shard -i net.onnx --num_ipus 2 --memory_proportion 0
poprt -i two.onnx --output two.popef
poprt_exec poprt_run_popef --popef two.popef --runner other
poprt_exec poprt_run_popef --popef two.popef --runner packRunner
poprt_exec poprt_run_popef --popef two.popef --runner hostConcatRunner
poprt_exec poprt_run_popef --popef two.popef --index 1 --iteration 1
poprt_exec poprt_run_popef --popef two.popef --iteration 0
poprt_exec poprt_run_popef --popef nothing.popef
poprt_exec bench two.popef --seconds 0
poprt_exec bench nothing.popef
poprt_exec top --folder nothing
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data x=x.npy --input_shape x=2,3 --mark_outputs 'h, i'
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data x=x.npy --input_shape x=2,3 --mark_outputs h,nobody
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data x=x.npy --input_shape x=2,3 --mark_outputs all --json
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data x=x.npy --input_shape x=2,3 --mark_io_mapping x=x y=y h=i
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data x=x.npy --input_shape x=2,3 --mark_io_mapping x=x
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data x=x.npy --input_shape x=2,3 --mark_io_mapping y=nobody
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data x=x.npy --input_shape x=2,3 --mark_io_mapping nobody=y
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data x=x.npy --input_shape x=2,3 --mark_io_mapping x=y
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data x=x.npy --input_shape x=2,3 --mark_io_mapping y
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data y=ones --input_shape x=2,3
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data x=c.npy --input_shape x=2,3
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data x=flat.npy --input_shape x=2,3
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data x=doubles.npy --batch_size 2 --batch_axis 0
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data x=ones --batch_size 2 --batch_axis 1
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data x=ones
poprt_exec debug compare --src_model net.onnx --dst_model read.onnx --src_backend poprt --input_data x=ones --input_shape x=2,3 --compare_method mse,,mae
poprt_exec debug compare --src_model net.onnx --dst_model net.onnx --src_backend poprt --input_data x=ones --input_shape x=2,3 --compare_method mse,rmse,mae,mape,r2
poprt_exec debug compare --src_model net.onnx --dst_model net.onnx --src_backend poprt --input_data x=zeros --input_shape x=2,3 --dump_data --dump_dir dumped
poprt_exec debug compare --src_model net.onnx --dst_model other/net.onnx --src_backend poprt --input_data x=zeros --input_shape x=2,3
poprt_exec debug compare --src_model net.onnx --dst_model other/net.onnx --src_backend poprt --input_data x=zeros --input_shape x=2,3 --mark_outputs all
poprt_exec debug compare --src_model net.onnx --dst_model other/net.onnx --src_backend poprt --input_data x=zeros --input_shape x=2,3 --mark_io_mapping y=b
poprt_exec debug compare --src_model net.onnx --dst_model other/net.onnx --src_backend poprt --input_data x=zeros --input_shape x=2,3 --mark_io_mapping x=a y=b
poprt_exec debug modify --src_model net.onnx --update c=rand --output_model rand.onnx
poprt_exec debug print --src_model rand.onnx --name c
poprt_exec debug modify --src_model net.onnx --update c=flat.npy
poprt_exec debug modify --src_model net.onnx --update x=rand
poprt_exec debug modify --src_model two.onnx --update x=flat.npy --output_model flat.onnx
poprt_exec debug print --src_model flat.onnx --name x
poprt_exec debug modify --src_model net.onnx --update c=zeros c=ones --output_model twice.onnx
poprt_exec debug print --src_model twice.onnx --name ^c$
poprt_exec debug modify --src_model net.onnx --extract output_names=h --output_model h.onnx
poprt_exec debug print --src_model h.onnx --level node
poprt_exec debug modify --src_model net.onnx --extract input_names=x
poprt_exec debug modify --src_model net.onnx --extract output_names=h more=1
poprt_exec debug modify --src_model net.onnx --extract output_names=
poprt_exec debug modify --src_model net.onnx --extract input_names=i output_names=i
poprt_exec debug modify --src_model net.onnx --update c=zeros --extract output_names=i --sort --output_model all.onnx
poprt_exec debug print --src_model all.onnx --level tensor
poprt_exec debug print --src_model all.onnx --name c
poprt_exec debug modify --src_model net.onnx --sort --output_model net.onnx
poprt_exec debug extract --src_model net.onnx --input_names h,x --output_names y
poprt_exec debug extract --src_model net.onnx --input_names h --output_names y,i --output_model tail.onnx
poprt_exec debug print --src_model tail.onnx --level tensor
poprt_exec debug extract --src_model net.onnx --input_names c --output_names y --output_model open.onnx
poprt_exec debug print --src_model open.onnx
poprt_exec debug print --src_model kinds.onnx --level tensor
poprt_exec debug print --src_model kinds.onnx --level node
poprt_exec debug print --src_model kinds.onnx --name many
poprt_exec debug print --src_model kinds.onnx --name k
poprt_exec debug print --src_model kinds.onnx
poprt_exec debug print --src_model text.onnx --level tensor
poprt_exec debug print --src_model text.onnx --name .
"""

# Heads of .npy files that hold x or nothing that is one.
HEADS = ["{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
         "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}", "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }",
         "{'descr': '=f4', 'fortran_order': False, 'shape': (2, 3), }", "{'descr': '|f4', 'fortran_order': False, 'shape': (2, 3), }",
         "{'descr': 'f4', 'fortran_order': False, 'shape': (2, 3), }", "{'descr': '<f5', 'fortran_order': False, 'shape': (2, 3), }",
         "{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }", "{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }",
         "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", "{'descr': '<f4', 'fortran_order': True, 'shape': (6,), }",
         "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3), }", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }",
         "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3), }",
         "{'descr': '<f4', 'fortran_order': False, 'shape': 6, }", "{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
         "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }", "{'descr': '<f4', 'shape': (2, 3), }",
         "{'fortran_order': False, 'shape': (2, 3), }", "{'descr': '<f4', 'fortran_order': False}", "{", "", "{}", "[]",
         "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}", "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}"]

# With all that the library logs.
LOG = """
poprt -i two.onnx --output c.popef --logging_level DEBUG --compiler_options enable_engine_caching=True cache_path=cached
poprt -i two.onnx --output c.popef --logging_level DEBUG --compiler_options enable_engine_caching=True cache_path=cached
damage cached
poprt -i two.onnx --output c.popef --logging_level INFO --compiler_options enable_engine_caching=True cache_path=cached
poprt_exec run c.popef --input x=x.npy
popef_dump c.popef
poprt_exec run net.onnx --input x=x.npy
poprt_exec run c.popef --input x=x.npy --iterations 3 --profile
poprt_exec inspect c.popef
poprt -i linked.onnx --output l.popef
poprt -i linked.onnx --output l.popef --allow_symlinks
poprt -i linked.onnx --output l.popef --allow_symlinks --embed_source
poprt_exec opt linked.onnx
poprt_exec run linked.onnx --input x=x.npy
poprt_exec run linked.onnx --input x=x.npy --allow_symlinks --output y=linked.npy
poprt_exec recompile l.popef --force
poprt_exec recompile l.popef --force --allow_symlinks
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

# What makes another executable in a cache is there a file of its own.
CACHED = ["", "", "--precision fp32", "--precision fp16", "--precision fp8_weight", "--winograd off", "--winograd fast", "--convert_version 15", "--lowest_opset 15",
          "--passes eliminate_identity", "--passes eliminate_identity,eliminate_nop_cast", "--skip_passes eliminate_identity", "--skip_passes eliminate_nop_cast",
          "--max_tensor_size 64", "--strict", "--allow_symlinks", "--narrow_int64", "--num_io_tiles 64", "--batches_per_step 2", "--available_memory_proportion 0.5",
          "--checkpoints h", "--checkpoints i", "--numerics faithful", "--numerics fast", "--embed_source", "--ipu_version ipu2", "--enable_erf_gelu",
          "--popart_options numIOTiles=3", "--fold_periodic_initializer", "--pass_args eliminate_identity.x=1", "--max_padding 0.5", "--pad_values x=1", ""]
SHAPED = ["--input_shape x=2,3", "--input_shape x=3,3", "--batch_size 2 --batch_axis 0", "--batch_size 3 --batch_axis 0", "--input_shape x=1,3/4,3",
          "--input_shape x=1,3/4,3 --max_padding 0.25", "--input_shape x=1,3/4,3 --pad_values x=0", "--input_shape x=1,3/4,3 --pad_values x=1"]

# As people type them.
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


class RecordedCommands(RecordedTest):
    command = "poprt"

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
        """What a call says and does, and the files afterwards."""
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
        lines = [f"code {ran.code}"] + self.masked(ran.out) + [f"says {s}" for s in self.masked(ran.err)]
        for name in sorted({*before, *after}):
            if name not in after or name not in before or before[name] != after[name]:
                how = "gone" if name not in after else "made" if name not in before else "changed"
                lines.append(f"{how}: {self.masked(name)[0]}")
                if name.endswith(".npy") and name in after and len(after[name]) < 400:
                    lines[-1] += f" {after[name][-24:].hex()}"
        return lines, after

    def record(self, name, steps):
        """Each step is a heading and a line."""
        text, files = "# What commands do: recorded_commands_test.py.\n", self.tree()
        for heading, line in steps:
            lines, files = self.step(line, files)
            text += heading + "\n" + "".join(f"  {s}\n" for s in lines)
        self.expect_recorded(f"cli_commands_{name}.txt", text)

    def record_lines(self, name, lines):
        self.prepare()
        self.record(name, [(line, line) for line in lines.split("\n") if line])

    def test_run(self):
        self.record_lines("run", RUN)

    def test_archives_have_no_time(self):
        """The same arrays are the same bytes."""
        self.prepare()
        for _ in range(2):
            self.succeeds("net.onnx", "--input", "x=x.npy", "--output", "y=y.npz", command="poprt_exec run")
            with zipfile.ZipFile(self.path("y.npz")) as file:
                self.assertEqual([(i.filename, i.date_time, i.compress_type) for i in file.infolist()],
                                 [("000000.npy", (1980, 1, 1, 0, 0, 0), 0)])

    def test_compare(self):
        self.record_lines("compare", COMPARE)

    def test_log(self):
        with mock.patch.dict(os.environ, POPRT_LOG_LEVEL="TRACE", POPEF_LOG_LEVEL="TRACE"):
            self.record_lines("log", LOG)

    def test_debug(self):
        self.record_lines("debug", DEBUG)

    def test_heads_of_arrays(self):
        self.prepare()
        steps = []
        for i, head in enumerate(HEADS):
            for version, length, cut in ((1, len(head) + 1, 0), (2, len(head) + 1, 0), (3, len(head) + 1, 0), (1, len(head) + 1, 1), (1, len(head) + 40, 0)):
                if i and (version != 1 or cut or length > len(head) + 1):
                    continue
                name = f"head{i}.{version}.{cut}.{length}.npy"
                size = struct.pack("<H" if version == 1 else "<I", length)
                data = struct.pack("<6f", -1.5, 2, 0.25, 4, -8, 0.5)
                self.write(name, b"\x93NUMPY" + bytes([version, 0]) + size + head.encode() + b"\n" + data[:24 - cut])
                steps.append((f"{head} of version {version}, {length - len(head)} behind, {cut} cut",
                              f"poprt_exec run net.onnx --input x={name} --input_shape x=2,3 --output y=y.npy"))
        self.record("heads", steps)

    def test_inspect(self):
        self.record_lines("inspect", INSPECT)

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
