#include "ops/common/conv.h"

#include <algorithm>

namespace poprt::ops {
namespace {

bool static_f32(const ir::Value* v, size_t rank) {
  return v && v->dtype() == DType::f32 && v->type.is_static() && v->shape().size() == rank &&
         std::all_of(v->shape().begin(), v->shape().end(), [](int64_t d) { return d > 0; });
}

}  // namespace

bool has_static_f32_types(const ir::Node& conv) {
  const ir::Value* x = conv.input(0);
  if (!x || !x->type.is_static()) return false;
  const size_t rank = x->shape().size();
  return rank >= 3 && rank <= 5 && static_f32(x, rank) && static_f32(conv.input(1), rank) &&
         static_f32(conv.output(0), rank) && (!conv.input(2) || static_f32(conv.input(2), 1));
}

bool has_constant_weights(const ir::Node& conv) {
  return conv.input(1)->is_constant() && (!conv.input(2) || conv.input(2)->is_constant());
}

std::vector<int64_t> spatial_of(const ir::Value& v) {
  return {v.shape().begin() + 2, v.shape().end()};
}

}  // namespace poprt::ops
