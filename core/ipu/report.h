// Reports of an estimate as text, JSON and pictures, from the same numbers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "ipu/estimate.h"

namespace poprt::ipu {

// Options that were tried for a program that does not fit, as the command line takes them, and the
// result.
struct Remedy {
  std::string text;
  int64_t cycles = 0;
  bool fits = true;  // false: the closest of all options, none of which is sufficient
  // Memory that the busiest tile then needs, without and with gaps.
  int64_t bytes = 0, bytes_with_gaps = 0;
  bool borderline = false;
};

struct ReportOptions {
  bool operations = false;  // each operation with its supersteps
  bool plans = false;       // the plan of each product
  std::vector<Remedy> remedies;
};

// The lines that explain why a program does not fit and what helps; none if it fits.
std::vector<std::string> memory_lines(const Estimate& estimate,
                                      const std::vector<Remedy>& remedies);

std::string report_text(const Estimate& estimate, const ReportOptions& options);
nlohmann::ordered_json report_json(const Estimate& estimate, const ReportOptions& options);

// Memory by tile, liveness, the phases of the operations over time, and cycles by operator.
std::string report_svg(const Estimate& estimate);

// The same numbers of two estimates, with ratios.
std::string comparison_text(const Estimate& a, const std::string& name_a, const Estimate& b,
                            const std::string& name_b);

// Sums by operator type, the most expensive first.
struct TypeCost {
  std::string type;
  int64_t cycles = 0, count = 0;
};
std::vector<TypeCost> cycles_by_type(const Estimate& estimate);

}  // namespace poprt::ipu
