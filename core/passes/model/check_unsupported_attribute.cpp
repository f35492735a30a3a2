#include "base/log.h"
#include "ir/schemas.h"
#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::check_unsupported_attribute_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext&) {
  for_each_node(graph, [](Node& n) {
    ops::op_of(n);  // throws for an unknown operator, with the known versions
    ir::check_attributes(n, [](const std::string& what) { log().warn("{}", what); });
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "check_unsupported_attribute",
    .summary =
        "reports unsupported operators and attributes that their operator does not have as errors",
    .condition = "none; an attribute that no opset defines is a warning",
    .run = run,
    .kind = PassKind::inspect};

}  // namespace poprt::passes::check_unsupported_attribute_pass
