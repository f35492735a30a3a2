#include "passes/common/decoder_caches.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/shape.h"
#include "ir/match.h"
#include "ir/newest.h"
#include "ops/facts.h"

namespace poprt::passes {
namespace {

// The positions of the caches among the inputs and outputs of an operator. `grows`: the output has
// more tokens than the input.
struct CachePlaces {
  size_t first_output, first_input, count;
  bool grows;
};

std::optional<CachePlaces> cache_places(const ir::Node& n) {
  if (n.is("Concat")) return CachePlaces{0, 0, 1, true};
  if (n.is("TensorScatter")) return CachePlaces{0, 0, 1, false};
  if (n.is("Attention")) return CachePlaces{1, 4, 2, true};
  if (n.is("GroupQueryAttention", "com.microsoft")) return CachePlaces{1, 3, 2, false};
  // With past_sequence_length (input 8), MultiHeadAttention writes into a cache of fixed size.
  if (n.is("MultiHeadAttention", "com.microsoft")) return CachePlaces{1, 6, 2, !n.input(8)};
  return std::nullopt;
}

template <class Value>
Value* before_identity(Value* value) {
  while (value->producer() && value->producer()->is("Identity") && value->producer()->input(0))
    value = value->producer()->input(0);
  return value;
}

// Returns the input of the graph that `value` is, or from which nodes that keep the order of the
// elements compute it. Returns null if there is none.
const ir::Value* graph_input_before(const ir::Value* value) {
  while (value && value->producer()) {
    const ir::Node* n = value->producer();
    if (!n->is("Identity") && !n->is("Cast") && !n->is("Reshape") && !n->is("Squeeze") &&
        !n->is("Unsqueeze"))
      return nullptr;
    value = n->input(0);
  }
  return value && value->graph().is_input(value) ? value : nullptr;
}

}  // namespace

ir::Value* operator_state_of(const ir::Value* output) {
  output = before_identity(output);
  const ir::Node* n = output->producer();
  if (!n) return nullptr;
  for (const ops::StateForm& state : ops::facts_of(*n).states)
    if (n->output(state.output) == output) {
      ir::Value* past = n->input(state.input);
      return past && past->graph().is_input(past) ? past : nullptr;
    }
  return nullptr;
}

StaticCacheInputs static_cache_inputs(const ir::Graph& graph) {
  StaticCacheInputs found;
  const auto take = [](const ir::Value*& place, const ir::Value* operand, const ir::Node& n) {
    const ir::Value* input = graph_input_before(operand);
    if (!input) return;
    if (place && place != input)
      fail(ErrorCode::unimplemented,
           "{} reads '{}', and another node reads '{}' for the same purpose", n.describe(),
           input->name(), place->name());
    place = input;
  };
  for (const ir::Node* n : graph.nodes()) {
    if (n->is("TensorScatter")) take(found.write_indices, n->input(2), *n);
    if (n->is("Attention")) take(found.valid_places, n->input(6), *n);
  }
  return found;
}

std::optional<DecoderCache> cache_of(ir::Value* output) {
  output = before_identity(output);
  const ir::Node* n = output->producer();
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
    if (n->is("TensorScatter") && n->string_attr("mode", "linear") == "circular")
      cache.ring = std::max<int64_t>(0, past->shape()[cache.axis]);
    return cache;
  }
  return std::nullopt;
}

void keep_whole_caches(ir::Graph& graph) {
  for (ir::Node* n : graph.nodes())
    if (n->is("GroupQueryAttention", "com.microsoft")) n->attributes.erase("sliding_window_cache");
}

ir::Node* product_of_logits(ir::Value* value) {
  constexpr int kMostNodes = 7;  // after the product
  for (int nodes = 0; value && value->producer() && nodes <= kMostNodes; nodes++) {
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

void keep_all_tokens(ir::Value* logits) {
  constexpr int kMostSteps = 24;
  std::vector<ir::Value*> passed;
  ir::Value* v = logits;
  for (int step = 0; step < kMostSteps && v && v->producer(); step++) {
    const ir::Node* n = v->producer();
    const auto is = [&](size_t input, int64_t wanted) {
      const auto ints = ir::const_ints(n->input(input));
      return ints && ints->size() == 1 && (*ints)[0] == wanted;
    };
    const auto ends = n->is("Slice") ? ir::const_ints(n->input(2)) : std::nullopt;
    if ((ends && ends->size() == 1 && (*ends)[0] >= INT32_MAX && is(1, -1) &&
         (is(3, 1) || is(3, -2)) && (!n->input(4) || is(4, 1))) ||
        (n->is("Gather") && n->int_attr("axis", 0) == 1 && is(1, -1) &&
         n->input(1)->type.has_shape && n->input(1)->shape().size() == 1)) {
      // The declared types have one token.
      for (ir::Value* one : passed) one->type = {one->dtype(), false, {}, {}};
      v->graph().replace_all_uses(v, n->input(0));
      return;
    }
    passed.push_back(v);
    v = n->input(0) && !n->input(0)->is_constant() ? n->input(0)
        : n->inputs().size() > 1                   ? n->input(1)
                                                   : nullptr;
  }
}

void mask_keys(ir::Graph& graph, ir::Value* mask, std::span<const ir::Value* const> pasts) {
  enum : size_t {
    kKeyMask = 3,
    kPastOfAttention = 4,
    kPadding = 4,
    kAddedMask = 5,
    kPastOfHeads = 6
  };
  constexpr int64_t kBool = 9, kInt32 = 6;
  ir::Value *visible = nullptr, *padding = nullptr;
  const auto nodes = graph.nodes();
  const auto before = [&](const char* type, std::vector<ir::Value*> inputs) {
    return graph.add_node(type, std::string(ir::kNewestDomain), inputs, 1, nodes.front());
  };
  const auto cast = [&](int64_t type) {
    ir::Node* n = before("Cast", {mask});
    n->attributes["to"] = type;
    return n->output();
  };
  for (ir::Node* n : nodes) {
    const auto reads_cache = [&](size_t input) {
      return n->input(input) && std::ranges::count(pasts, n->input(input)) > 0;
    };
    if (n->is("Attention") && reads_cache(kPastOfAttention) && !n->input(kKeyMask)) {
      if (!visible) {
        ir::Value* axes = graph.add_constant("", Tensor::of<int64_t>({2}, {1, 2}));
        visible = before("Unsqueeze", {cast(kBool), axes})->output();
      }
      n->set_input(kKeyMask, visible);
    }
    if (n->is("MultiHeadAttention", "com.microsoft") && reads_cache(kPastOfHeads) &&
        !n->input(kPadding) && !n->input(kAddedMask)) {
      if (!padding) padding = cast(kInt32);
      n->set_input(kPadding, padding);
    }
  }
}

}  // namespace poprt::passes
