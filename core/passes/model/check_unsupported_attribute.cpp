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
    ops::op_of(n);  // says what is there for an operator that is not
    ir::check_attributes(n, [](const std::string& what) { log().warn("{}", what); });
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "check_unsupported_attribute",
    .summary =
        "refuses operators that are not supported and attributes that their operator does not "
        "have, by name",
    .condition = "none; an attribute that means nothing in any opset is a warning",
    .run = run,
    .kind = PassKind::inspect};

}  // namespace poprt::passes::check_unsupported_attribute_pass
