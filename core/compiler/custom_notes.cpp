#include "compiler/custom_notes.h"

#include <nlohmann/json.hpp>
#include <set>

#include "kernels/common/custom.h"

namespace poprt::compiler {

void note_plugins(Executable& executable) {
  using Json = nlohmann::ordered_json;
  const program::Program& program = executable.program;
  Json operators = Json::array();
  std::set<std::pair<std::string, std::string>> plugins;
  for (const program::Instruction& instruction : program.main) {
    if (program.kernels[instruction.kernel] != kernels::calls::Custom::kKernel) continue;
    std::vector<kernels::Operand> operands;
    for (const uint32_t id : instruction.operands) {
      kernels::Operand& operand = operands.emplace_back();
      if (id == program::kNoBuffer) continue;
      const program::Buffer& buffer = program.buffers[id];
      operand = {true, buffer.dtype, buffer.shape, buffer.bytes};
    }
    const kernels::Call call{operands, instruction.ints, instruction.floats, 1};
    const plugins::Record record = kernels::custom_record(call);
    const poprt_op_cost cost = kernels::custom_cost(call);
    plugins.emplace(record.plugin, record.plugin_version);
    operators.push_back({{"domain", record.domain},
                         {"name", record.name},
                         {"version", record.version},
                         {"plugin", record.plugin},
                         {"node", record.node},
                         {"cycles", cost.cycles},
                         {"flops", cost.flops},
                         {"tile_bytes", cost.tile_bytes}});
  }
  if (operators.empty()) return;
  Json note = {{"plugins", Json::array()}, {"operators", operators}};
  for (const auto& [name, version] : plugins)
    note["plugins"].push_back({{"name", name}, {"version", version}});
  executable.notes[kPluginsNote] = note.dump();
}

}  // namespace poprt::compiler
