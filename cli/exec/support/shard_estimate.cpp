#include "exec/support/shard_estimate.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace poprt::cli {

ShardEstimate::ShardEstimate(const ir::Graph& graph, const std::vector<SubGraph>& parts,
                             const ipu::Target& target, double available_memory)
    : graph_(graph), parts_(parts) {
  options_.target = target;
  options_.chip.available_memory_proportion = available_memory;
  program_ = compiler::chip_program(graph, options_);
  std::unordered_map<std::string, size_t> parts_by_node;
  const std::vector<ir::Node*> nodes = graph.nodes();
  for (size_t p = 0; p < parts.size(); p++)
    for (const size_t n : parts[p].nodes) parts_by_node[nodes[n]->name] = p;
  // Nodes of a subgraph belong to the part of the node before them.
  size_t now = 0;
  for (const ipu::ChipOp& op : program_.ops) {
    if (const auto at = parts_by_node.find(op.name); at != parts_by_node.end()) now = at->second;
    part_of_op_.push_back(now);
  }
}

void ShardEstimate::set_times(std::vector<SubGraph>& parts) const {
  for (SubGraph& part : parts) part.nanoseconds = 0;
  for (size_t i = 0; i < program_.ops.size(); i++)
    parts[part_of_op_[i]].nanoseconds +=
        1e9 * options_.target.seconds(static_cast<double>(program_.ops[i].cycles()));
}

Candidate ShardEstimate::estimate(const Plan& plan) const {
  ipu::ChipProgram program = program_;
  for (size_t i = 0; i < program.ops.size(); i++)
    program.ops[i].ipu =
        std::ranges::upper_bound(plan, part_of_op_[i]) - plan.begin();  // ends are exclusive
  ipu::ChipOptions chip = options_.chip;
  chip.num_ipus = static_cast<int64_t>(plan.size());
  chip.batches_per_step = chip.num_ipus;
  chip.overlap = true;
  const ipu::Estimate e = ipu::estimate_of(std::move(program), options_.target, chip);
  Candidate c;
  c.plan = plan;
  c.cuts = cuts_of(graph_, parts_, plan);
  c.chip_bytes = static_cast<double>(options_.target.memory());
  for (const ipu::TileMemory& m : e.memory)
    c.bytes.push_back(static_cast<uint64_t>(m.bytes_with_gaps * options_.target.tiles));
  c.latency_ms = 1e3 * e.latency_seconds;
  c.per_second = e.period_seconds > 0 ? 1 / e.period_seconds : 0;
  return c;
}

}  // namespace poprt::cli
