// What the run view shows, as tables.
#pragma once

#include <string>
#include <vector>

#include "model/report.h"
#include "model/run.h"

namespace poprt::inspector {

// Inputs and outputs with their statistics, and the largest `top` elements of the first row of each
// output; of rows that are as long as `classes`, if given, with the names and the softmax.
std::vector<Table> run_tables(const RunResult& result, size_t top,
                              const std::vector<std::string>& classes = {});
// One row per output, and the elements that differ most of each that differs.
std::vector<Table> difference_tables(const std::vector<TensorDifference>& differences,
                                     const std::vector<NamedTensor>& outputs, size_t most);
Table bench_table(const BenchSettings& settings, const BenchResult& result);

}  // namespace poprt::inspector
