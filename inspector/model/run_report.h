// The contents of the run view as tables.
#pragma once

#include <string>
#include <vector>

#include "model/report.h"
#include "model/run.h"

namespace poprt::inspector {

// Inputs and outputs with their statistics, and the `top` largest elements of the first row of each
// output. If a row is as long as `classes`, its elements have class names and softmax values.
std::vector<Table> run_tables(const RunResult& result, size_t top,
                              const std::vector<std::string>& classes = {});
// One row per output, and the elements with the largest differences of each output that differs.
std::vector<Table> difference_tables(const std::vector<TensorDifference>& differences,
                                     const std::vector<NamedTensor>& outputs, size_t most);
Table bench_table(const BenchSettings& settings, const BenchResult& result);

}  // namespace poprt::inspector
