#include "passes/common/rewrite.h"

namespace poprt::passes::fuse_consecutive_cast_pass {
namespace {

using ir::Graph;
using ir::Node;

struct Number {
  bool real, has_sign;
  int bits;  // of the magnitude of an integer, or of the significand of a float
  int exponent;
};

std::optional<Number> number_form(DType t) {
  switch (t) {
    case DType::f64: return Number{true, true, 53, 11};
    case DType::f32: return Number{true, true, 24, 8};
    case DType::f16: return Number{true, true, 11, 5};
    case DType::bf16: return Number{true, true, 8, 8};
    case DType::boolean: return Number{false, false, 1, 0};
    default: break;
  }
  if (!is_integer(t)) return std::nullopt;
  return Number{false, is_signed(t), dtype_bits(t) - (is_signed(t) ? 1 : 0), 0};
}

// Whether `to` represents every value of `from`.
bool lossless(DType from, DType to) {
  const auto a = number_form(from), b = number_form(to);
  if (!a || !b || to == DType::boolean) return from == to;
  if (a->real) return b->real && b->bits >= a->bits && b->exponent >= a->exponent;
  if (b->real) return a->bits <= b->bits && (b->exponent >= 8 || a->bits <= 11);
  return a->bits <= b->bits && (!a->has_sign || b->has_sign);
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Cast")) return;
    const Node* first = producer_if(n.input(0), "Cast");
    if (!first || !lossless(first->input(0)->dtype(), n.input(0)->dtype()) || !context.allow())
      return;
    Node* before = n.input(0)->producer();
    n.set_input(0, first->input(0));
    erase_if_dead(before);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "fuse_consecutive_cast",
                     .summary = "merges Cast of a Cast",
                     .condition = "the first Cast preserves every value",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::fuse_consecutive_cast_pass
