#include "exec/support/shard_estimate.h"

#include <algorithm>

namespace poprt::cli {

ShardEstimate::ShardEstimate(const ir::Graph& graph, const std::vector<SubGraph>& parts,
                             const ipu::Target& target, double available_memory)
    : graph_(graph), parts_(parts), on_chip_(graph.clone()) {
  compiler::prepare_for_chip(*on_chip_);
  options_.target = target;
  options_.chip.available_memory_proportion = available_memory;
  plans_ = std::make_unique<ipu::PlanCache>(options_.target,
                                            options_.chip.plan_options(options_.target));
  options_.plans = plans_.get();
  const std::vector<ir::Node*> nodes = graph.nodes();
  for (size_t p = 0; p < parts.size(); p++)
    for (const size_t n : parts[p].nodes)
      for (const ir::Value* v : nodes[n]->outputs()) part_of_value_[v->name()] = p;
}

// Values that decompositions and subgraphs make belong to the part of the value before them.
std::function<size_t(const std::string& result)> ShardEstimate::part_of() const {
  return [this, now = size_t{0}](const std::string& result) mutable {
    if (const auto at = part_of_value_.find(result); at != part_of_value_.end()) now = at->second;
    return now;
  };
}

void ShardEstimate::set_times(std::vector<SubGraph>& parts) const {
  for (SubGraph& part : parts) part.nanoseconds = 0;
  compiler::EstimateOptions options = options_;
  options.chip.outline_threshold = -1;  // calls depend on the cuts
  const ipu::ChipProgram program = compiler::chip_program(*on_chip_, options);
  const auto part = part_of();
  for (const ipu::ChipOp& op : program.ops)
    parts[part(op.outputs.empty() ? op.name : program.tensors[op.outputs[0]].name)].nanoseconds +=
        1e9 * options.target.seconds(static_cast<double>(op.cycles()));
}

Candidate ShardEstimate::estimate(const Plan& plan) const {
  compiler::EstimateOptions options = options_;
  options.chip.num_ipus = static_cast<int64_t>(plan.size());
  options.chip.batches_per_step = options.chip.num_ipus;
  options.chip.overlap = true;
  // The ends of a plan are exclusive.
  options.ipu_of = [&plan, part = part_of()](const std::string& result) -> int64_t {
    return std::ranges::upper_bound(plan, part(result)) - plan.begin();
  };
  const ipu::Estimate e =
      ipu::estimate_of(compiler::chip_program(*on_chip_, options), options.target, options.chip);
  Candidate c;
  c.plan = plan;
  c.cuts = cuts_of(graph_, parts_, plan);
  c.chip_bytes = static_cast<double>(options_.target.memory());
  for (const ipu::TileMemory& m : e.memory)
    c.bytes.push_back(static_cast<uint64_t>(
        m.fits()
            ? m.total
            : std::max(m.bytes_with_gaps * options_.target.tiles, options_.target.memory() + 1)));
  c.latency_ms = 1e3 * e.latency_seconds;
  c.per_second = e.period_seconds > 0 ? 1 / e.period_seconds : 0;
  return c;
}

}  // namespace poprt::cli
