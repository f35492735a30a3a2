// Records the nodes that move to another layout, for texts in which one number or line is changed.
// A pass must check these facts before it moves a node.
//
//   POPRT_WRITE_RECORDS=1 test_passes --gtest_filter='RecordedLayouts.*'   # then read the diff
#include "core/passes/pass_case.h"
#include "support/altered_text.h"
#include "support/recorded_lines.h"

namespace poprt::test {
namespace {

struct Sample {
  const char *name, *body, *pass;
};

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = {
      {"blocks",
       R"(input %x : f32[1,3,6,6]
input %z : f32[1,16,1,1]
const %w : f32[16,3,3,3] = fill 0.125
const %v : f32[16,16,1,1] = fill 0.25
const %b : f32[16] = fill 0.5
const %low : f32[] = 0.0
const %k : f32[1,16,1,1] = fill 0.75
const %half : f32[1] = [0.5]
const %scales : f32[4] = [1.0, 1.0, 2.0, 2.0]
%c = Conv(%x, %w, %b) {pads = [1, 1, 1, 1], strides = [1, 1]}
%r = Clip(%c, %low)
%p = MaxPool(%r) {kernel_shape = [2, 2], strides = [2, 2], dilations = [1, 1]}
%d = Conv(%p, %v) {group = 1, auto_pad = "SAME_UPPER"}
%a = Add(%d, %p)
%m = Mul(%k, %a)
%n = Sub(%half, %m)
%s = Mul(%n, %z)
%j = Concat(%s, %p) {axis = 1}
%q = AveragePool(%j) {kernel_shape = [2, 2], ceil_mode = 1, count_include_pad = 1}
%u = Resize(%j, _, %scales) {mode = "nearest"}
%g = GlobalAveragePool(%q)
output %g
output %u
output %r)",
       "blocked_layout"},
      {"blocks of rows and slices",
       R"(input %x : f32[2,16,9]
input %y : f32[1,2,3,4,5]
const %w : f32[16,16,3] = fill 0.125
const %v : f32[16,2,1,2,3] = fill 0.25
const %t : f32[16,16,2,2,2] = fill 0.5
const %k : f32[16,1] = fill 0.75
%c = Conv(%x, %w) {pads = [1, 1], strides = [2], dilations = [1]}
%m = Add(%c, %k)
%p = MaxPool(%m) {kernel_shape = [2]}
%d = Conv(%y, %v) {pads = [0, 1, 0, 0, 0, 1], strides = [1, 1, 1]}
%e = Conv(%d, %t) {group = 1}
%r = Relu(%e)
%q = AveragePool(%r) {kernel_shape = [1, 2, 1]}
%o = Concat(%r, %e) {axis = -4}
output %p
output %q
output %o)",
       "blocked_layout"},
      {"blocks of sizes",
       R"(input %x : f32[1,16,3,4]
const %w : f32[16,16,1,1] = fill 0.125
const %t : f32[16,16,2,2] = fill 0.25
const %sizes : s64[4] = [1, 16, 6, 4]
const %slope : f32[16,1,1] = fill 0.5
%c = Conv(%x, %w)
%r = Resize(%c, _, _, %sizes) {mode = "linear", coordinate_transformation_mode = "asymmetric"}
%p, %i = MaxPool(%r) {kernel_shape = [2, 2]}
%d = ConvTranspose(%p, %t) {strides = [2, 2]}
%e = LeakyRelu(%d) {alpha = 0.5}
%f = PRelu(%e, %slope)
output %e
output %f)",
       "blocked_layout"},
      {"bytes",
       R"(input %x : u8[1,4,5,5]
const %xs : f32[] = 0.5
const %xz : u8[] = 3
const %w : s8[4,4,1,1] = fill 2
const %ws : f32[] = 0.25
const %wz : s8[] = 0
const %k : f32[1,8,1,1] = fill 0.75
const %l : f32[8,1,1] = fill 0.5
const %half : f32[1,1] = [0.5]
%c = QLinearConv(%x, %xs, %xz, %w, %ws, %wz, %xs, %xz) {pads = [0, 0, 1, 1]}
%p = MaxPool(%c) {kernel_shape = [3, 3], pads = [0, 1, 1, 1]}
%d = QLinearConv(%p, %xs, %xz, %w, %ws, %wz, %xs, %xz) {group = 1}
%j = Concat(%d, %p) {axis = 1}
%e = DequantizeLinear(%j, %xs, %xz)
%m = Mul(%e, %k)
%n = Add(%l, %m)
%h = Mul(%n, %half)
%q = QuantizeLinear(%h, %xs, %xz)
%f = DequantizeLinear(%q, %xs, %xz)
%g = GlobalAveragePool(%f)
output %g
output %q)",
       "channels_last"},
  };
  return all;
}

TEST(RecordedLayouts, TakeTheNodesThatTheyTook) {
  RecordedLines found;
  for (const Sample& sample : samples()) {
    std::string as_it_is;
    auto texts = altered_texts(sample.body);
    texts.emplace(texts.begin(), "as it is", sample.body);
    for (const auto& [what, text] : texts) {
      std::string left;
      try {
        const auto graph = parsed(text);
        run(*graph, {sample.pass});
        left = ops_of(*graph);
      } catch (const Error&) {
        continue;  // the changed text is no valid graph
      }
      if (as_it_is.empty()) as_it_is = left;
      if (what == "as it is" || left != as_it_is)
        found[sample.name].insert(what + ": " + left);
      else
        found[sample.name].insert(what);
    }
  }
  expect_recorded(found, POPRT_TEST_DATA "/passes_on_layouts.txt",
                  "Which nodes layouts take with them: layout_test.cpp.");
}

}  // namespace
}  // namespace poprt::test
