// Constants of the estimator that are not formulas of the chip's library, each with its source.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ipu/target.h"

namespace poprt::ipu {

struct Calibration {
  double sync = 150;               // cycles of a sync with the supervisor's prologue
  double step_overhead = 190;      // cycles of control in each superstep
  double exchange_efficiency = 1;  // fraction of the exchange rate that is reached
  double fragment = 160;           // cycles of each short piece of an exchange after the first one
  double call_overlap_ms = 0.020;  // host time of a call that concurrent calls do not hide
};

// The constants that the estimator uses.
const Calibration& calibration();

struct CalibrationRow {
  std::string_view name, value, unit, source, grade, rows;
};
// The rows that docs/chip.md prints: the source of each constant, and the published rows to which
// it is fitted.
std::span<const CalibrationRow> calibration_rows();

}  // namespace poprt::ipu
