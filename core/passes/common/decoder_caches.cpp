#include "passes/common/decoder_caches.h"

#include <cstdint>

#include "base/shape.h"

namespace poprt::passes {
namespace {

// Where an operator has its caches.
struct CachePlaces {
  size_t first_output, first_input, count;
  bool grows;
};

std::optional<CachePlaces> cache_places(const ir::Node& n) {
  if (n.is("Concat")) return CachePlaces{0, 0, 1, true};
  if (n.is("TensorScatter")) return CachePlaces{0, 0, 1, false};
  if (n.is("Attention")) return CachePlaces{1, 4, 2, true};
  if (n.is("GroupQueryAttention", "com.microsoft")) return CachePlaces{1, 3, 2, false};
  // With past_sequence_length (input 8) it writes into a cache of fixed size.
  if (n.is("MultiHeadAttention", "com.microsoft")) return CachePlaces{1, 6, 2, !n.input(8)};
  return std::nullopt;
}

}  // namespace

std::optional<DecoderCache> cache_of(ir::Value* output) {
  const ir::Node* n = output->producer();
  while (n && n->is("Identity") && n->input(0)) {
    output = n->input(0);
    n = output->producer();
  }
  const auto places = n ? cache_places(*n) : std::nullopt;
  if (!places) return std::nullopt;
  for (size_t i = 0; i < places->count; i++) {
    ir::Value* past = n->input(places->first_input + i);
    if (n->output(places->first_output + i) != output || !past || !past->graph().is_input(past))
      continue;
    const auto rank = static_cast<int64_t>(past->shape().size());
    if (!past->type.has_shape || rank < 2)
      fail(ErrorCode::unimplemented, "the rank of cache '{}' is unknown", past->name());
    DecoderCache cache{past, output, 2, places->grows, nullptr};
    if (n->is("Concat") || n->is("TensorScatter"))
      cache.axis =
          static_cast<size_t>(normalize_axis(n->int_attr("axis", n->is("Concat") ? 1 : -2), rank));
    if (n->is("Concat") && n->inputs().size() == 2) cache.added = n->input(1);
    return cache;
  }
  return std::nullopt;
}

ir::Node* product_before(ir::Value* value) {
  constexpr int kMostSteps = 8;
  for (int steps = 0; value && value->producer() && steps < kMostSteps; steps++) {
    ir::Node* n = value->producer();
    if (n->is("MatMul") || n->is("MatMulNBits", "com.microsoft")) return n;
    const bool unary = n->is("Cast") || n->is("Tanh") || n->is("Identity");
    const bool binary = n->is("Mul") || n->is("Div") || n->is("Add");
    if (!unary && !binary) return nullptr;
    if (unary || (n->input(1) && n->input(1)->is_constant()))
      value = n->input(0);
    else if (n->input(0) && n->input(0)->is_constant())
      value = n->input(1);
    else
      return nullptr;
  }
  return nullptr;
}

}  // namespace poprt::passes
