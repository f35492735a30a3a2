// Every pass on a few graphs, also with each of its parameters at several values: its messages, and
// the lines of the graph's text that it removes and adds, are recorded.
//
//   POPRT_WRITE_RECORDS=1 test_passes --gtest_filter='RecordedPasses.*'   # then read the diff
#include <algorithm>
#include <sstream>

#include "base/log.h"
#include "core/passes/pass_case.h"
#include "support/altered_text.h"
#include "support/recorded_lines.h"

namespace poprt::test {
namespace {

struct RecordedSample {
  const char* name;
  const char* body;
  std::vector<std::string> names;  // of nodes and values, for parameters
};

const std::vector<RecordedSample>& recorded_samples() {
  static const std::vector<RecordedSample> all = {
      {"net",
       R"(input %image : f32[2,3,8,8]
const %k : f32[4,3,3,3] = fill 0.5
const %kb : f32[4] = [0.5, -0.5, 0.25, 0.0]
const %d : f32[10,4] = fill 0.25
const %db : f32[10] = fill 1.0
%c : f32[2,4,8,8] = Conv(%image, %k, %kb) {pads = [1, 1, 1, 1]} "c"
%r : f32[2,4,8,8] = Relu(%c) "r"
%g : f32[2,4,1,1] = GlobalAveragePool(%r) "g"
%f : f32[2,4] = Flatten(%g) "f"
%s : f32[2,10] = Gemm(%f, %d, %db) {transB = 1} "s"
%p : f32[2,10] = Softmax(%s) "p"
output %p)",
       {"c", "s", "f", "c,s", "nobody"}},
      {"attention",
       R"(input %x : f32[2,4,8]
input %mask : f32[2,1,1,4]
const %wq : f32[8,8] = fill 0.5
const %wk : f32[8,8] = fill 0.25
const %wv : f32[8,8] = fill 0.125
const %b : f32[8] = fill 1.0
const %split : s64[4] = [2, 4, 2, 4]
const %joined : s64[3] = [2, 4, 8]
const %scale : f32[] = 2.0
%q0 : f32[2,4,8] = MatMul(%x, %wq) "q"
%q1 : f32[2,4,8] = Add(%q0, %b) "qb"
%k0 : f32[2,4,8] = MatMul(%x, %wk) "k"
%k1 : f32[2,4,8] = Add(%k0, %b) "kb"
%v0 : f32[2,4,8] = MatMul(%x, %wv) "v"
%v1 : f32[2,4,8] = Add(%v0, %b) "vb"
%q2 : f32[2,4,2,4] = Reshape(%q1, %split) "qs"
%k2 : f32[2,4,2,4] = Reshape(%k1, %split) "ks"
%v2 : f32[2,4,2,4] = Reshape(%v1, %split) "vs"
%q3 : f32[2,2,4,4] = Transpose(%q2) {perm = [0, 2, 1, 3]} "qt"
%k3 : f32[2,2,4,4] = Transpose(%k2) {perm = [0, 2, 3, 1]} "kt"
%v3 : f32[2,2,4,4] = Transpose(%v2) {perm = [0, 2, 1, 3]} "vt"
%s0 : f32[2,2,4,4] = MatMul(%q3, %k3) "qk"
%s1 : f32[2,2,4,4] = Div(%s0, %scale) "scaled"
%s2 : f32[2,2,4,4] = Add(%s1, %mask) "masked"
%p : f32[2,2,4,4] = Softmax(%s2) "soft"
%o0 : f32[2,2,4,4] = MatMul(%p, %v3) "pv"
%o1 : f32[2,4,2,4] = Transpose(%o0) {perm = [0, 2, 1, 3]} "ot"
%o2 : f32[2,4,8] = Reshape(%o1, %joined) "os"
output %o2)",
       {"q", "q,k,v", "q,qb,k,kb", "qk", "soft", "nobody"}},
      {"norms",
       R"(input %x : f32[2,6,4]
const %two : f32[] = 2.0
const %eps : f32[] = 0.00001
const %gamma : f32[4] = fill 0.5
const %beta : f32[4] = fill 0.25
const %half : f32[] = 0.5
const %one : f32[] = 1.0
const %root : f32[] = 1.4142135
%m : f32[2,6,1] = ReduceMean(%x) {axes = [2]} "m"
%c : f32[2,6,4] = Sub(%x, %m) "c"
%q : f32[2,6,4] = Pow(%c, %two) "q"
%v : f32[2,6,1] = ReduceMean(%q) {axes = [2]} "v"
%e : f32[2,6,1] = Add(%v, %eps) "e"
%d : f32[2,6,1] = Sqrt(%e) "d"
%n : f32[2,6,4] = Div(%c, %d) "n"
%g : f32[2,6,4] = Mul(%n, %gamma) "g"
%b : f32[2,6,4] = Add(%g, %beta) "b"
%h : f32[2,6,4] = Div(%b, %root) "h"
%r : f32[2,6,4] = Erf(%h) "r"
%a : f32[2,6,4] = Add(%r, %one) "a"
%t : f32[2,6,4] = Mul(%b, %a) "t"
%y : f32[2,6,4] = Mul(%t, %half) "y"
output %y)",
       {"n", "y", "c,q", "nobody"}},
      {"numbers",
       R"(input %tokens : s64[2,3]
input %on : bool[]
const %table : f32[5,4] = fill 0.5
const %zero : s64[] = 0
const %axes : s64[1] = [1]
const %to : s64[2] = [1, 6]
const %begin : s64[1] = [0]
const %end : s64[1] = [2]
%e : f32[2,3,4] = Gather(%table, %tokens) "e"
%big : f64[2,3,4] = Cast(%e) {to = 11} "big"
%small : f32[2,3,4] = Cast(%big) {to = 1} "small"
%sum : f32[2,4] = ReduceSum(%small, %axes) {keepdims = 0} "sum"
%flat : s64[1,6] = Reshape(%tokens, %to) "flat"
%first : s64[1,6] = Slice(%flat, %begin, %end) "first"
%same : bool[1,6] = Equal(%flat, %zero) "same"
%ends : s64[1,6] = CumSum(%flat, %zero) "ends"
%y : f32[2,4] = If(%on) {else_branch = graph "e" { %n : f32[2,4] = Neg(%sum) "inner" output %n }, then_branch = graph "t" { %i : f32[2,4] = Identity(%sum) output %i }} "if"
%z : f32[2,4] = If(%on) {else_branch = graph "e" { %n2 : f32[2,4] = Exp(%sum) output %n2 }, then_branch = graph "t" { %i2 : f32[2,4] = Abs(%sum) output %i2 }} "if2"
output %y
output %z
output %same
output %ends)",
       {"e", "if", "sum,flat", "inner", "nobody"}},
  };
  return all;
}

// Texts in which one number or line is changed, for the facts that passes check before they
// rewrite.
struct Bending {
  const char* name;
  const char* body;
  std::vector<const char*> passes;
  passes::Arguments arguments = {};  // of passes that need some
};

constexpr const char* kTokens =
    R"(input %ids : s64[2,3]
input %mask : s64[2,3]
const %table : f32[4,2] = fill 0.5
const %places : f32[1,3,2] = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
const %axes : s64[1] = [1]
const %far : f32[] = -10000.0
const %zero : f32[] = 0.0
const %axis : s64[] = 1
%e = Gather(%table, %ids)
%x = Add(%e, %places)
%c = Cast(%mask) {to = 9}
%u = Unsqueeze(%c, %axes)
%m = Where(%u, %zero, %far)
%k = Transpose(%x) {perm = [0, 2, 1]}
%s = MatMul(%x, %k)
%t = Add(%s, %m)
%p = Softmax(%t) {axis = 2}
%o = MatMul(%p, %x)
%n = CumSum(%mask, %axis)
output %o
output %n)";

const std::vector<Bending>& bendings() {
  static const std::vector<Bending> all = {
      {"scaled",
       R"(input %x : f32[2,3,4]
const %w : s8[4,2] = [1, -2, 3, 4, -5, 6, 7, -8]
const %wz : s8[] = 0
const %ws : f32[2] = [0.5, 0.25]
const %bias : f32[2] = [1.0, -1.0]
%q, %s, %z = DynamicQuantizeLinear(%x)
%p = MatMulInteger(%q, %w, %z, %wz)
%c = Cast(%p) {to = 1}
%f = Mul(%s, %ws)
%r = Mul(%c, %f)
%y = Add(%r, %bias)
output %y)",
       {"scaled_products"}},
      {"scaled by numbers",
       R"(input %x : u8[3,4]
const %w : u8[4,2] = [1, 2, 3, 4, 5, 6, 7, 8]
const %xz : u8[] = 3
const %wz : u8[1] = [128]
const %s : f32[1] = [0.5]
const %bias : f32[1,2] = [1.0, -1.0]
%p = MatMulInteger(%x, %w, %xz, %wz)
%c = Cast(%p) {to = 1}
%r = Mul(%s, %c)
%y = Add(%bias, %r)
output %y)",
       {"scaled_products"}},
      {"compressed",
       R"(input %x : f32[3,2]
input %on : bool[3]
const %axes : s64[1] = [0]
%c = Compress(%x, %on) {axis = 0}
%y = ReduceSum(%c, %axes) {keepdims = 0}
%z = Neg(%y)
output %z)",
       {"compress_pattern"}},
      {"stacked",
       R"(input %x : f32[2,4,12]
const %five : s64[5] = [2, 4, 3, 2, 2]
const %joined : s64[3] = [2, 4, 4]
const %i0 : s64[] = 0
const %i1 : s64[] = 1
const %i2 : s64[] = 2
const %scale : f32[] = 0.5
%r = Reshape(%x, %five)
%t = Transpose(%r) {perm = [2, 0, 3, 1, 4]}
%q = Gather(%t, %i0) {axis = 0}
%k = Gather(%t, %i1) {axis = 0}
%v = Gather(%t, %i2) {axis = 0}
%kt = Transpose(%k) {perm = [0, 1, 3, 2]}
%s = MatMul(%q, %kt)
%d = Mul(%s, %scale)
%p = Softmax(%d) {axis = 3}
%o = MatMul(%p, %v)
%ot = Transpose(%o) {perm = [0, 2, 1, 3]}
%y = Reshape(%ot, %joined)
output %y)",
       {"attention_pattern", "fused_attention", "pre_scale"}},
      {"masked",
       R"(input %tokens : s64[3,4]
input %s : f32[3,2,4,4]
const %one : f32[] = 1.0
const %far : f32[] = -10000.0
const %axes : s64[2] = [1, 2]
%f = Cast(%tokens) {to = 1}
%u = Unsqueeze(%f, %axes)
%i = Sub(%one, %u)
%m = Mul(%i, %far)
%a = Add(%s, %m)
%y = Softmax(%a) {axis = 3}
output %y)",
       {"replace_where_mask", "insert_attention_mask", "constant_folding"}},
      {"blocked",
       R"(input %x : f32[1,1,2,2,16]
input %r : f32[1,1,2,2,16]
const %w : f32[12,16,1,1] = fill 0.25
const %b : f32[1,1,1,1,16] = fill 0.5
const %one : f32[] = 1.0
%c = poprt.Conv(%x, %w) {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, channels = 16}
%a = Add(%b, %c)
%d = Add(%a, %one)
%s = Add(%d, %r)
%t = Relu(%s)
%y = Add(%t, %r)
output %y)",
       {"conv_epilogue"}},
      {"blocked and activated",
       R"(input %x : f32[1,1,2,2,16]
input %r : f32[1,1,2,2,16]
const %w : f32[16,16,1,1] = fill 0.25
const %old : f32[16] = fill 0.25
const %b : f32[1,1,1,1,16] = fill 0.5
%c = poprt.Conv(%x, %w, %old) {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, channels = 16}
%a = Add(%c, %b)
%t = LeakyRelu(%a) {alpha = 0.25}
%s = Add(%r, %t)
%y = Add(%s, %b)
output %y)",
       {"conv_epilogue"}},
      {"blocked and transposed",
       R"(input %x : f32[1,1,2,2,16]
const %w : f32[16,8,2,2] = fill 0.25
const %b : f32[1,1,1,1,16] = fill 0.5
%c = poprt.ConvTranspose(%x, %w) {kernel_shape = [2, 2], strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1}
%a = Add(%c, %b)
%t = Relu(%a)
%y = Add(%t, %b)
output %y)",
       {"conv_epilogue"}},
      {"normalised",
       R"(input %x : f32[1,1,2,2,16]
const %w : f32[16,16,1,1] = fill 0.25
const %b : f32[1,1,1,1,16] = fill 0.5
const %s : f32[1,1,1,1,16] = fill 2.0
%m = Mul(%s, %x)
%a = Add(%m, %b)
%t = Relu(%a)
%y = poprt.Conv(%t, %w) {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, channels = 16}
output %y)",
       {"conv_prologue"}},
      {"gated",
       R"(input %x : f32[2,1,2,2,16]
input %gate : f32[2,1,1,1,16]
const %w : f32[16,16,1,1] = fill 0.25
%t = Mul(%gate, %x)
%y = poprt.Conv(%t, %w) {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, channels = 16}
output %y)",
       {"conv_prologue"}},
      {"plain",
       R"(input %x : f32[1,3,4,4]
const %w : f32[20,3,3,3] = fill 0.25
const %b : f32[20] = fill 0.5
%c = poprt.Conv(%x, %w, %b) {kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1, channels = 3, activation = "relu"}
%y = poprt.Unblock(%c) {channels = 20}
output %y)",
       {"conv_plain_result"}},
      {"bytes",
       R"(input %x : u8[2,3]
const %s : f32[] = 0.5
const %z : u8[] = 3
const %t : f32[1] = [0.25]
const %w : u8[1] = [7]
%f = DequantizeLinear(%x, %s, %z)
%g = Sigmoid(%f)
%q = QuantizeLinear(%g, %t, %w)
%d = DequantizeLinear(%q, %t, %w)
%m = Mul(%d, %f)
%y = QuantizeLinear(%m, %s, %z)
output %y)",
       {"byte_maps", "elementwise_fusion"}},
      {"the same bytes",
       R"(input %x : u8[2,3]
const %s : f32[] = 0.5
const %z : u8[] = 3
%f = DequantizeLinear(%x, %s, %z)
%q = QuantizeLinear(%f, %s, %z)
%d = DequantizeLinear(%q, %s, %z)
%y = QuantizeLinear(%d, %s, %z)
%t = Transpose(%y)
output %t)",
       {"byte_maps", "qdq_products"}},
      {"residual of bytes",
       R"(input %x : u8[1,4,4,16]
input %r : u8[1,4,4,16]
const %xs : f32[] = 0.5
const %xz : u8[] = 3
const %w : s8[16,16,1,1] = fill 1
const %ws : f32[] = 0.25
const %wz : s8[] = 0
const %ys : f32[] = 2.0
const %yz : u8[] = 7
const %rs : f32[] = 1.5
const %rz : u8[] = 9
const %zs : f32[] = 3.0
const %zz : u8[] = 0
%c = poprt.QLinearConv(%x, %xs, %xz, %w, %ws, %wz, %ys, %yz) {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1}
%d = DequantizeLinear(%c, %ys, %yz)
%e = DequantizeLinear(%r, %rs, %rz)
%a = Add(%e, %d)
%t = Relu(%a)
%y = QuantizeLinear(%t, %zs, %zz)
output %y)",
       {"quantized_residual"}},
      {"three projections",
       R"(input %x : f32[1,2,3]
const %w : f32[3,2] = fill 0.25
const %v : f32[2,3] = fill 0.5
const %b : f32[2] = [1.0, -1.0]
%q = poprt.Linear(%x, %w, %b)
%k = poprt.Linear(%x, %v) {transB = 1}
%o = poprt.Linear(%x, %w) {transB = 0}
%y = poprt.Attention(%q, %k, %o) {heads = 1, head_size = 2, scale = 0.5, q_offset = 0, k_offset = 0, v_offset = 0, causal = 0, mask_value = 0.0}
output %y)",
       {"merge_qkv"}},
      {"heads",
       R"(input %x : f32[1,2,4]
input %m : f32[1,1,1,2]
input %keep : bool[2,2]
const %wq : f32[4,4] = fill 0.5
const %wk : f32[4,4] = fill 0.25
const %wv : f32[4,4] = fill 0.125
const %b : f32[4] = fill 1.0
const %split : s64[4] = [1, 2, 2, 2]
const %joined : s64[3] = [1, 2, 4]
const %scale : f32[] = 2.0
const %never : f32[] = -1e30
%q0 = MatMul(%x, %wq)
%q1 = Add(%b, %q0)
%k0 = MatMul(%x, %wk)
%k1 = Add(%k0, %b)
%v0 = MatMul(%x, %wv)
%v1 = Add(%v0, %b)
%q2 = Reshape(%q1, %split)
%k2 = Reshape(%k1, %split)
%v2 = Reshape(%v1, %split)
%q3 = Transpose(%q2) {perm = [0, 2, 1, 3]}
%k3 = Transpose(%k2) {perm = [0, 2, 3, 1]}
%v3 = Transpose(%v2) {perm = [0, 2, 1, 3]}
%q4 = Div(%q3, %scale)
%s0 = MatMul(%q4, %k3)
%s1 = Mul(%scale, %s0)
%s2 = Where(%keep, %s1, %never)
%s3 = Add(%m, %s2)
%p = Softmax(%s3) {axis = 3}
%o0 = MatMul(%p, %v3)
%o1 = Transpose(%o0) {perm = [0, 2, 1, 3]}
%y = Reshape(%o1, %joined)
output %y)",
       {"attention_pattern", "fused_attention", "pre_scale", "attention_padding"}},
      {"a triangle",
       R"(input %x : f32[1,3,2]
const %split : s64[4] = [1, 3, 1, 2]
const %joined : s64[3] = [1, 3, 2]
const %tri : bool[1,1,3,3] = [false, true, true, false, false, true, false, false, false]
const %far : f32[] = -10000.0
%q2 = Reshape(%x, %split)
%q3 = Transpose(%q2) {perm = [0, 2, 1, 3]}
%k3 = Transpose(%q3) {perm = [0, 1, 3, 2]}
%s0 = MatMul(%q3, %k3)
%s2 = Where(%tri, %far, %s0)
%p = Softmax(%s2)
%o0 = MatMul(%p, %q3)
%o1 = Transpose(%o0) {perm = [0, 2, 1, 3]}
%y = Reshape(%o1, %joined)
output %y)",
       {"attention_pattern"}},
      {"tokens", kTokens, {"insert_attention_mask"}},
      {"packed",
       kTokens,
       {"packed_transformer"},
       {{"max_valid_num", "3"}, {"segment_max_size", "1+2"}}},
  };
  return all;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> heard_of_passes;

// The lines that a call removes and adds.
std::set<std::string> outcome(const RecordedSample& sample, const passes::PassDef& pass,
                              const passes::Arguments& arguments) {
  std::set<std::string> lines;
  const auto graph = parsed(sample.body);
  const std::vector<std::string> before = lines_of(ir::to_text(*graph));
  heard_of_passes.clear();
  set_log_receiver([](int32_t, const char* message) { heard_of_passes.emplace_back(message); });
  try {
    const passes::PassCall calls[] = {{&pass, arguments}};
    passes::PassManagerOptions options;
    options.print = [&](std::string_view text) {
      for (const std::string& line : lines_of(std::string(text))) lines.insert("says " + line);
    };
    const auto reports = passes::run_passes(*graph, calls, options);
    if (reports.at(0).rewrites) lines.insert(fmt::format("{} rewrites", reports[0].rewrites));
    const std::vector<std::string> after = lines_of(ir::to_text(*graph));
    for (const std::string& line : before)
      if (std::ranges::find(after, line) == after.end()) lines.insert("- " + line.substr(0, 60));
    for (const std::string& line : after)
      if (std::ranges::find(before, line) == before.end()) lines.insert("+ " + line.substr(0, 140));
  } catch (const Error& e) {
    lines.insert(fmt::format("{}: {}", error_code_name(e.code()), e.message()));
  }
  set_log_receiver(nullptr);
  for (const std::string& warning : heard_of_passes) lines.insert("warns " + warning);
  return lines;
}

// Values that the parameter may have, and some that it may not.
std::vector<std::string> values_of(const passes::Parameter& parameter,
                                   const RecordedSample& sample) {
  using Kind = passes::ParameterKind;
  if (parameter.kind == Kind::flag) return {"True", "False", "x"};
  if (parameter.kind == Kind::integer) return {"-1", "0", "1", "2", "8", "x"};
  if (parameter.kind == Kind::names) return sample.names;
  std::vector<std::string> values = {"", "x", "8"};
  for (const std::string& node : {sample.names[0], sample.names.back()})
    for (const char* assignment : {"=2", "=F143,1", "=0"}) values.push_back(node + assignment);
  return values;
}

TEST(RecordedPasses, MatchTheRecord) {
  RecordedLines found;
  for (const RecordedSample& sample : recorded_samples())
    for (const passes::PassDef* pass : passes::all_passes()) {
      std::set<std::string>& lines = found[std::string(pass->name)];
      const std::set<std::string> plain = outcome(sample, *pass, {});
      for (const std::string& line : plain) lines.insert(fmt::format("{}: {}", sample.name, line));
      for (const passes::Parameter& parameter : pass->parameters)
        for (const std::string& value : values_of(parameter, sample)) {
          const std::set<std::string> other =
              outcome(sample, *pass, {{std::string(parameter.name), value}});
          if (other == plain) continue;
          for (const std::string& line : other)
            lines.insert(fmt::format("{}: {}='{}': {}", sample.name, parameter.name, value, line));
        }
    }
  expect_digests(found, POPRT_TEST_DATA "/passes_on_graphs.txt",
                 "What passes do to a few graphs: recorded_passes_test.cpp.");
}

// The pass manager verifies a graph, and restores the seats of its nodes, after passes that count a
// rewrite. shape_inference changes types only.
TEST(RecordedPasses, APassWithoutRewritesKeepsTheGraph) {
  size_t checked = 0;
  for (const RecordedSample& sample : recorded_samples())
    for (const passes::PassDef* pass : passes::all_passes()) {
      if (pass->name == "shape_inference") continue;
      const auto graph = parsed(sample.body);
      const std::string before = ir::to_text(*graph);
      const passes::PassCall calls[] = {{pass, {}}};
      passes::PassManagerOptions options;
      options.print = [](std::string_view) {};
      try {
        if (passes::run_passes(*graph, calls, options).at(0).rewrites) continue;
      } catch (const Error&) {
        continue;  // the pass has a required argument, or refuses the graph
      }
      checked++;
      EXPECT_EQ(ir::to_text(*graph), before) << pass->name << " on " << sample.name;
    }
  EXPECT_GT(checked, 100u);
}

// Returns the operators of a changed graph after a pass.
std::string made_of(const Altered& altered, const char* pass, const Bending& b) {
  const passes::PassCall calls[] = {{&passes::pass_of(pass), b.arguments}};
  try {
    const auto graph = altered.graph->clone();
    passes::run_passes(*graph, calls);
    return ops_of(*graph);
  } catch (const Error& e) {
    return e.message();
  }
}

TEST(RecordedPasses, FireWhereTheyDid) {
  RecordedLines found;
  for (const Bending& b : bendings())
    for (const char* name : b.passes) {
      auto texts = altered_texts(b.body);
      texts.emplace_back("as it is", b.body);
      for (const auto& [what, text] : texts) {
        std::string line;
        try {
          const RecordedSample sample{"", text.c_str(), {}};
          for (const std::string& s : outcome(sample, passes::pass_of(name), b.arguments))
            if (!s.starts_with("- ")) line += " | " + s;
        } catch (const Error&) {
          continue;  // the text is no graph
        }
        found[fmt::format("{}: {}", b.name, name)].insert(what + ":" + line);
      }
      for (const Altered& altered : alterations_of(*parsed(b.body)))
        found[fmt::format("{}: {}", b.name, name)].insert(altered.what + ": " +
                                                          made_of(altered, name, b));
    }
  expect_digests(found, POPRT_TEST_DATA "/passes_on_altered_graphs.txt",
                 "Where passes fire: recorded_passes_test.cpp.");
}

}  // namespace
}  // namespace poprt::test
