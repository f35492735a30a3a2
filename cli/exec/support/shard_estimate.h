// Estimates a plan of poprt_exec auto_shard on a chip (compiler/chip_program.h).
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/chip_program.h"
#include "exec/support/shard_search.h"
#include "ir/graph.h"

namespace poprt::cli {

class ShardEstimate {
 public:
  // The graph and its parts must outlive the object. Names of nodes must be unique and types
  // known. Products have halves.
  ShardEstimate(const ir::Graph& graph, const std::vector<SubGraph>& parts,
                const ipu::Target& target, double available_memory);

  // Sets the estimated time of each part.
  void set_times(std::vector<SubGraph>& parts) const;
  // A candidate with cuts, times, and bytes: those of the busiest tile of each IPU, times the
  // number of tiles.
  Candidate estimate(const Plan& plan) const;

 private:
  const ir::Graph& graph_;
  const std::vector<SubGraph>& parts_;
  compiler::EstimateOptions options_;
  ipu::ChipProgram program_;
  std::vector<size_t> part_of_op_;
};

}  // namespace poprt::cli
