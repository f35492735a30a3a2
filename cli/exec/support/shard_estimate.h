// Estimates a plan of poprt_exec auto_shard on a chip (compiler/chip_program.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/chip_program.h"
#include "exec/support/shard_search.h"
#include "ir/graph.h"

namespace poprt::cli {

class ShardEstimate {
 public:
  // The graph and its parts must outlive the object. Names of nodes must be unique and types
  // known. The chip computes with fp16, also partial sums.
  ShardEstimate(const ir::Graph& graph, const std::vector<SubGraph>& parts,
                const ipu::Target& target, double available_memory);

  // Sets the estimated time of each part.
  void set_times(std::vector<SubGraph>& parts) const;
  // A candidate with cuts, times, and the bytes of all tiles of each IPU; if an IPU has too little
  // memory, those of its busiest tile with gaps, times the number of tiles, and more than it has.
  Candidate estimate(const Plan& plan) const;

 private:
  // Returns a function that maps the result of an operation to its part. The function has a state:
  // it must be called for the operations in the order of the program.
  std::function<size_t(const std::string& result)> part_of() const;

  const ir::Graph& graph_;
  const std::vector<SubGraph>& parts_;
  std::unique_ptr<ir::Graph> on_chip_;  // with the decompositions and patterns of the chip
  compiler::EstimateOptions options_;
  std::unique_ptr<ipu::PlanCache> plans_;
  std::unordered_map<std::string, size_t> part_of_value_;
};

}  // namespace poprt::cli
