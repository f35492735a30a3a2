// What the run view shows, as tables.
#pragma once

#include <vector>

#include "model/report.h"
#include "model/run.h"

namespace poprt::inspector {

// Inputs and outputs with their statistics, and the largest `top` elements of the first row of each
// output.
std::vector<Table> run_tables(const RunResult& result, size_t top);
// One row per output, and the elements that differ most of each that differs.
std::vector<Table> difference_tables(const std::vector<TensorDifference>& differences,
                                     const std::vector<NamedTensor>& outputs, size_t most);
Table bench_table(const BenchSettings& settings, const BenchResult& result);

}  // namespace poprt::inspector
