#include "passes/common/custom.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::apply_ir_pass_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  std::vector<PassCall> calls;
  for (const std::string& name : context.names("passes")) {
    const PassDef& pass = pass_of(name);
    if (pass.name == "apply_ir_pass")
      fail(ErrorCode::invalid_argument, "apply_ir_pass cannot apply itself");
    calls.push_back({&pass, checked_arguments(pass, {})});
  }
  const Arguments own = context.arguments;
  for (const PassCall& call : calls) {
    context.arguments = call.arguments;
    run_pass(*call.pass, graph, context);
  }
  context.arguments = own;
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "apply_ir_pass",
                     .summary = "runs other passes",
                     .condition = "the passes need no arguments",
                     .run = run,
                     .parameters = {{"passes", ParameterKind::names, "names of passes", "", true}}};

}  // namespace poprt::passes::apply_ir_pass_pass
