#include "passes/common/build.h"
#include "passes/common/products.h"

namespace poprt::passes::merge_matmul_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  std::vector<Projection> named;
  for (const std::string& name : context.names("names")) {
    Node& n = node_of(graph, name, "MatMul");
    named.push_back(projection_of(n));
    if (!named.back().matmul)
      fail(ErrorCode::invalid_argument, "{}: its weights are not a constant matrix", n.describe());
  }
  for (const auto& group : grouped_by_input(named))
    if (context.allow()) merge_projections(group);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "merge_matmul",
    .summary = "merges MatMuls of one input into one product with concatenated weights and a Split",
    .condition =
        "the named MatMuls have constant matrices as weights; those that read the same value are "
        "merged",
    .numerics = Numerics::rounding,
    .run = run,
    .before = {"serialize_matmul"},
    .parameters = {{"names", ParameterKind::names, "names of MatMul nodes", "", true}}};

}  // namespace poprt::passes::merge_matmul_pass
