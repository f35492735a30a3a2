#include "passes/common/build.h"
#include "passes/common/products.h"
#include "passes/common/serialized_product.h"

namespace poprt::passes::serialize_matmul_add_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Names may contain a slash, so the first slash that separates a product and its bias is used.
Projection named_pair(Graph& graph, std::string_view names) {
  for (size_t at = names.find('/'); at != std::string_view::npos; at = names.find('/', at + 1)) {
    Node *product = nullptr, *add = nullptr;
    for_each_node(graph, [&](Node& n) {
      if (n.is("MatMul") && n.name == names.substr(0, at)) product = &n;
      if (n.is("Add") && n.name == names.substr(at + 1)) add = &n;
    });
    if (!product || !add) continue;
    const Projection p = projection_of(*add);
    if (p.matmul == product) return p;
    fail(ErrorCode::invalid_argument, "{} is not a constant bias of {} with constant weights",
         add->describe(), product->describe());
  }
  fail(ErrorCode::not_found, "there are no nodes MatMul and Add with the names '{}'", names);
}

void run(Graph& graph, PassContext& context) {
  for (const std::string& word : context.words("matmul_adds")) {
    const size_t at = word.rfind('=');
    if (at == std::string::npos || at == 0)
      fail(ErrorCode::invalid_argument, "expected MATMUL/ADD=FACTOR, found '{}'", word);
    const std::string factor = word.substr(at + 1);
    if (factor.find('/') != std::string::npos)
      fail(ErrorCode::invalid_argument, "expected MATMUL/ADD=FACTOR, found '{}'", word);
    const Serialize how = parse_serialize(factor, word);
    const Projection p = named_pair(graph, std::string_view(word).substr(0, at));
    if (context.allow()) serialize_product(*p.matmul, *p.add, p.bias, how);
  }
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "serialize_matmul_add",
    .summary = "computes a product and its bias in parts of the columns, one after the other",
    .condition = "constant weights and bias; the factor divides the columns",
    .numerics = Numerics::rounding,
    .run = run,
    .parameters = {
        {"matmul_adds", ParameterKind::words, "MATMUL/ADD=FACTOR, one per line", "", true}}};

}  // namespace poprt::passes::serialize_matmul_add_pass
