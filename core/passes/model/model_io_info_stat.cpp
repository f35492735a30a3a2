#include "passes/common/describe.h"

namespace poprt::passes::model_io_info_stat_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  if (context.flag("use_print")) tell(context, io_statistics(graph));
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "model_io_info_stat",
                     .summary = "says how many inputs and outputs there are of each type and shape",
                     .condition = "none",
                     .run = run,
                     .parameters = {{"use_print", ParameterKind::flag, "say it", "True"}},
                     .kind = PassKind::inspect};

}  // namespace poprt::passes::model_io_info_stat_pass
