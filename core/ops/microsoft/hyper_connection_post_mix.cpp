// Inputs: streams [.., C, H], or [.., C H] with num_branches C; block_output [.., H]; post_mix [..,
// C], [.., C, 1], [.., C, H] or [.., C H]; stream_mix? [.., C, C]. Stream k of the output is the
// sum of stream_mix[c, k] * streams[c] (streams[k] without stream_mix), plus post_mix[k] *
// block_output. The computation is in f32.
#include "ops/common/hyper_connection.h"

namespace poprt::ops::microsoft_hyper_connection_post_mix_op {
namespace {

void expand(Expansion& e) {
  const Shape shape = e.shape(0), grouped = grouped_streams(e, shape);
  Shape row = grouped, matrix = grouped;
  row[row.size() - 2] = 1;
  matrix.back() = matrix[matrix.size() - 2];
  e.check(element_count(e.shape(1)) == element_count(row), "block_output must be [.., H]");
  ir::Value* x = e.reshape(e.cast(e.in(0), DType::f32), grouped);
  if (e.has(3)) {
    e.check(e.shape(3) == matrix, "stream_mix must be [.., C, C]");
    x = e.add("MatMul", {e.swap_last_two(e.cast(e.in(3), DType::f32)), x});
  }
  ir::Value* gates = e.cast(grouped_gates(e, e.in(2), grouped), DType::f32);
  ir::Value* block = e.reshape(e.cast(e.in(1), DType::f32), row);
  ir::Value* y = e.add("Add", {x, e.add("Mul", {gates, block})});
  e.out(0, e.reshape(e.cast(y, e.dtype(0)), shape));
}

}  // namespace
}  // namespace poprt::ops::microsoft_hyper_connection_post_mix_op

POPRT_EXPANSION_WITH_FACTS(microsoft_hyper_connection_post_mix_op, "com.microsoft",
                           "HyperConnectionPostMix", expand, .trial = {"T[4,2,4]; T[4,4]; T[4,2]"})
