#include "passes/common/build.h"
#include "passes/common/products.h"

namespace poprt::passes::merge_matmul_add_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  const std::vector<std::string> names = context.names("names");
  if (names.size() % 2 != 0)
    fail(ErrorCode::invalid_argument, "names: expected pairs of MatMul and Add, found {} names",
         names.size());
  std::vector<Projection> named;
  for (size_t i = 0; i < names.size(); i += 2) {
    const Node& product = node_of(graph, names[i], "MatMul");
    Node& add = node_of(graph, names[i + 1], "Add");
    named.push_back(projection_of(add));
    if (named.back().matmul != &product)
      fail(ErrorCode::invalid_argument, "{} is not a constant bias of {} with constant weights",
           add.describe(), product.describe());
  }
  for (const auto& group : grouped_by_input(named))
    if (context.allow()) merge_projections(group);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "merge_matmul_add",
    .summary = "merges products and their biases like merge_matmul",
    .condition =
        "as merge_matmul; each Add adds a constant with one element per column and is the only "
        "reader of its MatMul",
    .numerics = Numerics::rounding,
    .run = run,
    .parameters = {{"names", ParameterKind::names, "MatMul,Add,MatMul,Add ...", "", true}}};

}  // namespace poprt::passes::merge_matmul_add_pass
