// Inputs: Sequence s32 [words, characters] (0 after the last character), W [filters, 1, window,
// size], B [filters], C [count, size]. Convolves the embedded characters of each word, applies Tanh
// and returns the maximum over the windows [words, filters]. A word that begins with 0 becomes 0.
#include "ops/common/expansion.h"
#include "ops/common/value_range.h"

namespace poprt::ops::microsoft_word_conv_embedding_op {
namespace {

constexpr double kLess = -2;  // less than every result of Tanh

void expand(Expansion& e) {
  const Shape ids = e.shape(0), w = e.shape(1), table = e.shape(3);
  e.check(ids.size() == 2 && w.size() == 4 && w[1] == 1 && table.size() == 2 && w[3] == table[1] &&
              e.shape(2) == Shape{w[0]},
          "W must be [filters, 1, window, size], B [filters] and C [count, size]");
  const auto expect = [&](const char* key, int64_t size) {
    const int64_t v = e.node.int_attr(key, -1);
    if (v != -1 && v != size) e.fail_input("{} is {}, expected {}", key, v, size);
  };
  expect("embedding_size", w[0]);
  expect("conv_window_size", w[2]);
  expect("char_embedding_size", w[3]);
  const int64_t words = ids[0], window = w[2], windows = ids[1] - window + 1;
  e.check(window > 0 && windows > 0, "the window is longer than a word");
  check_places(e.node, 0, table[0], "character");
  ir::Value* x = e.add("Gather", {e.in(3), e.in(0)});  // [words, characters, size]
  ir::Value* sum = nullptr;
  for (int64_t j = 0; j < window; j++) {
    ir::Value* weights = e.reshape(e.slice(e.in(1), 2, j, j + 1), {w[0], w[3]});
    ir::Value* part = e.add("MatMul", {e.slice(x, 1, j, j + windows), e.swap_last_two(weights)});
    sum = sum ? e.add("Add", {sum, part}) : part;
  }
  ir::Value* y = e.add("Tanh", {e.add("Add", {sum, e.in(2)})});
  ir::Value* real = e.cast(e.add("Greater", {e.in(0), e.number(e.dtype(0), 0)}), DType::s32);
  ir::Value* length = e.newest("ReduceSum", {real, e.ints({1})}, {{"keepdims", int64_t{1}}});
  // The number of windows of a word; at least one.
  ir::Value* count =
      e.add("Max", {e.plus(length, static_cast<double>(1 - window)), e.number(DType::s32, 1)});
  ir::Value* place = e.reshape(e.cast(e.iota(windows), DType::s32), {1, windows});
  ir::Value* counts = e.reshape(e.add("Less", {place, count}), {words, windows, 1});
  y = e.add("Where", {counts, y, e.number(e.dtype(1), kLess)});
  y = e.newest("ReduceMax", {y, e.ints({1})}, {{"keepdims", int64_t{0}}});
  ir::Value* present = e.cast(e.slice(real, 1, 0, 1), DType::boolean);
  e.out(0, e.add("Where", {present, y, e.number(e.dtype(1), 0)}));
}

}  // namespace
}  // namespace poprt::ops::microsoft_word_conv_embedding_op

POPRT_EXPANSION_WITH_FACTS(microsoft_word_conv_embedding_op, "com.microsoft", "WordConvEmbedding",
                           expand, .trial = {"T[2,4]; f32[4,1,2,4]; f32[4]; f32[4,4]"})
