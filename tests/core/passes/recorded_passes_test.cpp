// Every pass on a few graphs, also with each of its parameters at several values, recorded: what
// it says, and the lines of the graph's text that go and come.
//
//   POPRT_WRITE_RECORDS=1 test_passes --gtest_filter='RecordedPasses.*'   # then read the diff
#include <algorithm>
#include <sstream>

#include "base/log.h"
#include "core/passes/pass_case.h"
#include "support/bent_text.h"
#include "support/recorded_lines.h"

namespace poprt::test {
namespace {

struct Sample {
  const char* name;
  const char* body;
  std::vector<std::string> names;  // of nodes and values, for parameters
};

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = {
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

// What passes look at before they fire, for texts of which each number and line is another one.
struct Bending {
  const char* name;
  const char* body;
  std::vector<const char*> passes;
};

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
  };
  return all;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> heard;

// Lines that a call takes away and brings.
std::set<std::string> outcome(const Sample& sample, const passes::PassDef& pass,
                              const passes::Arguments& arguments) {
  std::set<std::string> lines;
  const auto graph = parsed(sample.body);
  const std::vector<std::string> before = lines_of(ir::to_text(*graph));
  heard.clear();
  set_log_receiver([](int32_t, const char* message) { heard.emplace_back(message); });
  try {
    const passes::PassCall calls[] = {{&pass, arguments}};
    passes::PassManagerOptions options;
    options.say = [&](std::string_view text) {
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
  for (const std::string& warning : heard) lines.insert("warns " + warning);
  return lines;
}

// Values that the parameter may have, and some that it may not.
std::vector<std::string> values_of(const passes::Parameter& parameter, const Sample& sample) {
  using Kind = passes::ParameterKind;
  if (parameter.kind == Kind::flag) return {"True", "False", "x"};
  if (parameter.kind == Kind::integer) return {"-1", "0", "1", "2", "8", "x"};
  if (parameter.kind == Kind::names) return sample.names;
  std::vector<std::string> values = {"", "x", "8"};
  for (const std::string& node : {sample.names[0], sample.names.back()})
    for (const char* said : {"=2", "=F143,1", "=0"}) values.push_back(node + said);
  return values;
}

TEST(RecordedPasses, DoWhatTheyDid) {
  RecordedLines found;
  for (const Sample& sample : samples())
    for (const passes::PassDef* pass : passes::all_passes()) {
      const std::string name(pass->name);
      const std::string heading = fmt::format("{}: {}", sample.name, name);
      found[heading] = outcome(sample, *pass, {});
      for (const passes::Parameter& parameter : pass->parameters) {
        for (const std::string& value : values_of(parameter, sample)) {
          const std::set<std::string> lines =
              outcome(sample, *pass, {{std::string(parameter.name), value}});
          if (lines != found[heading])
            found[fmt::format("{} {}='{}'", heading, parameter.name, value)] = lines;
        }
      }
    }
  expect_recorded(found, POPRT_TEST_DATA "/passes_on_graphs.txt",
                  "What passes do to a few graphs: recorded_passes_test.cpp.");
}

TEST(RecordedPasses, FireWhereTheyDid) {
  RecordedLines found;
  for (const Bending& b : bendings())
    for (const char* name : b.passes) {
      auto texts = bent_texts(b.body);
      texts.emplace_back("as it is", b.body);
      for (const auto& [what, text] : texts) {
        std::string line;
        try {
          const Sample sample{"", text.c_str(), {}};
          for (const std::string& s : outcome(sample, passes::pass_of(name), {}))
            if (!s.starts_with("- ")) line += " | " + s;
        } catch (const Error& e) {
          line = " is no graph: " + e.message();
        }
        found[fmt::format("{}: {}", b.name, name)].insert(what + ":" + line);
      }
    }
  expect_recorded(found, POPRT_TEST_DATA "/passes_on_bent_graphs.txt",
                  "Where passes fire: recorded_passes_test.cpp.");
}

}  // namespace
}  // namespace poprt::test
