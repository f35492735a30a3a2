#include "passes/common/build.h"
#include "passes/common/products.h"

namespace poprt::passes::attention_padding_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Appends zeros to the dimension that a product sums over.
void pad_sum(Node& matmul, int64_t multiple, PassContext& context) {
  Value *a = matmul.input(0), *b = matmul.input(1);
  if (!a->type.is_static() || !b->type.is_static() || a->shape().size() < 2 ||
      b->shape().size() < 2 || !is_plain_float(a->dtype()))
    return;
  const int64_t size = a->shape().back(), wanted = (size + multiple - 1) / multiple * multiple;
  if (wanted == size || !context.allow()) return;
  matmul.set_input(0, padded(matmul, a, static_cast<int64_t>(a->shape().size()) - 1, wanted));
  matmul.set_input(1, padded(matmul, b, static_cast<int64_t>(b->shape().size()) - 2, wanted));
}

void run(Graph& graph, PassContext& context) {
  const int64_t multiple = context.integer("multiple");
  if (multiple < 1)
    fail(ErrorCode::invalid_argument, "multiple: expected at least 1, found {}", multiple);
  for_each_node(graph, [&](Node& n) {
    if (!n.is("MatMul")) return;
    const Node* softmax = sole_producer_of(n.input(0), "Softmax");
    Node* scores = softmax ? find_scores_product(softmax->input(0)) : nullptr;
    if (!scores || scores->input(1)->is_constant()) return;
    pad_sum(*scores, multiple, context);
    pad_sum(n, multiple, context);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "attention_padding",
    .summary = "pads the dimensions that the products of an attention sum over with zeros",
    .condition =
        "softmax(q k^T) v of static shapes, if the head size or the length is not a multiple",
    .numerics = Numerics::exact,
    .run = run,
    .before = {"replace_softmax"},
    .parameters = {
        {"multiple", ParameterKind::integer, "sizes become multiples of this number", "8"}}};

}  // namespace poprt::passes::attention_padding_pass
