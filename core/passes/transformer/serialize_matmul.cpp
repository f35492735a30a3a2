#include "passes/common/build.h"
#include "passes/common/serialized_product.h"

namespace poprt::passes::serialize_matmul_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for (const std::string& word : context.words("matmuls")) {
    const size_t at = word.rfind('=');  // names may contain '='
    if (at == std::string::npos || at == 0)
      fail(ErrorCode::invalid_argument, "expected OP=FACTOR[/MODE[/KEEP]], found '{}'", word);
    const Serialize how = parse_serialize(std::string_view(word).substr(at + 1), word);
    Node& n = node_of(graph, word.substr(0, at), "MatMul");
    if (context.allow()) serialize_product(n, n, nullptr, how);
  }
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "serialize_matmul",
    .summary =
        "computes products in parts, one after the other: rows of the first operand, columns of "
        "the second, or parts of the shared dimension, which are added",
    .condition = "the factor divides that dimension; KEEP adds parts of f16 in f32",
    .numerics = Numerics::rounding,
    .run = run,
    .before = {"auto_insert_remap"},
    .parameters = {{"matmuls", ParameterKind::words,
                    "OP=FACTOR[/MODE[/KEEP]], one per line; MODE is input_channels, "
                    "output_channels (the default), reducing_dim or none",
                    "", true}}};

}  // namespace poprt::passes::serialize_matmul_pass
