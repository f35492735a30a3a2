#include "passes/common/describe.h"

namespace poprt::passes::model_io_info_stat_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  if (context.flag("use_print")) print_text(context, io_statistics(graph));
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "model_io_info_stat",
                     .summary = "prints the number of inputs and outputs of each type and shape",
                     .condition = "none",
                     .run = run,
                     .parameters = {{"use_print", ParameterKind::flag, "print the result", "True"}},
                     .kind = PassKind::inspect};

}  // namespace poprt::passes::model_io_info_stat_pass
