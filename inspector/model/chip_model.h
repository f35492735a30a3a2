// The displayed form of an estimate of a chip (core/ipu): values of tiles, and phases over time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/chip_remedies.h"
#include "compiler/driver.h"
#include "model/graph_model.h"
#include "model/report.h"
#include "model/task.h"

namespace poprt::inspector {

// The choices of the user.
struct ChipChoice {
  std::string target = "c600";
  std::string precision = "fp16";
  double proportion = 0.6;
  int64_t ipus = 1;
  bool operator==(const ChipChoice&) const = default;
};

// A phase of an operation on the time axis, in cycles.
struct ChipPhase {
  enum Kind : uint8_t { control, exchange, compute } kind = compute;
  size_t op = 0;
  double begin = 0, end = 0;
};

class ChipModel {
 public:
  ChipModel(ChipChoice choice, ipu::Estimate estimate, std::vector<ipu::Remedy> remedies);

  const ChipChoice& choice() const { return choice_; }
  const ipu::Estimate& estimate() const { return estimate_; }
  const std::vector<ipu::Remedy>& remedies() const { return remedies_; }
  const std::vector<ChipPhase>& phases() const { return phases_; }
  const std::vector<ipu::ChipOp>& ops() const { return estimate_.program.ops; }
  // The operation that runs at this cycle.
  size_t op_at(double cycle) const;
  // The cycle at which an operation begins, and the sum of all.
  double begin_of(size_t op) const { return begins_[op]; }
  double all_cycles() const { return begins_.empty() ? 0 : begins_.back(); }
  // Operations, those with the most cycles first.
  std::vector<size_t> by_cycles() const;

  // Bytes of each tile during an operation; op < 0: the most of the whole run.
  std::vector<double> tile_bytes(int64_t ipu, int op) const;
  // Cycles that each tile computes during an operation; op < 0: of all operations.
  std::vector<double> tile_cycles(int64_t ipu, int op) const;
  std::vector<ipu::LargestTensor> tensors(int64_t ipu, int op, int64_t tile) const;
  // Why a program does not fit, and with which options it does; empty if it fits.
  std::vector<std::string> explanation() const;
  // "c600: 1186 cycles, 0.0007907 ms [calibrated, error 10 % (one network)] · 1264756 samples/s ·
  // fits".
  std::string headline() const;

 private:
  int64_t computing_tiles() const;
  size_t op_or_peak(int64_t ipu, int op) const;

  ChipChoice choice_;
  ipu::Estimate estimate_;
  std::vector<ipu::Remedy> remedies_;
  std::vector<ChipPhase> phases_;
  std::vector<double> begins_;  // of each operation, and the end of the last
};

// Converts a copy of the graph and estimates it. Throws the errors of the converter, and
// Error(cancelled).
ChipModel estimate_on_chip(const ir::Graph& graph, const compiler::DriverOptions& options,
                           const ChipChoice& choice, Progress& progress);

// Nanoseconds of each node of a graph by the estimate; 0 if no operation implements it. An If or a
// Loop has the sum of its body.
std::vector<double> chip_times(const GraphModel& graph, const ChipModel& chip);

// A line of a comparison of two estimates.
struct ChipComparison {
  std::string what;
  double a = 0, b = 0;
  bool more_is_better = false;
};
std::vector<ChipComparison> compare_chips(const ChipModel& a, const ChipModel& b);

// The estimate, the memory by category, and the operations; with `other` the comparison, too.
std::vector<Table> chip_tables(const ChipModel& chip, const ChipModel* other);

}  // namespace poprt::inspector
