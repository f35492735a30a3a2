"""The results of commands that run, compare, show and check models and data, recorded in tests/data/cli_commands_*.txt:
sequences of calls in one folder, the output of each and the files that it makes, changes or removes. Times are masked, data is
exact in every instruction set.

    POPRT_WRITE_RECORDS=1 POPRT_BIN=build/release/bin python3 tests/cli/recorded_commands_test.py   # then read the diff"""

import os
import struct
import unittest
import zipfile
from unittest import mock

from recorded_calls import CallsTest

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

# Headers of .npy files: valid ones for x, and invalid ones.
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

# Commands with the log messages of the library.
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


class RecordedCommands(CallsTest):
    made_by = "recorded_commands_test.py"

    def test_run(self):
        self.record_lines("run", RUN)

    def test_archives_have_no_time(self):
        """The same arrays give the same bytes."""
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


if __name__ == "__main__":
    unittest.main()
