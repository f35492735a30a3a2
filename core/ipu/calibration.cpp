#include "ipu/calibration.h"

#include <array>

namespace poprt::ipu {

const Calibration& calibration() {
  static const Calibration constants;
  return constants;
}

// Grades: D document, S source, M measured, C computed from the others.
std::span<const CalibrationRow> calibration_rows() {
  static constexpr std::array<CalibrationRow, 11> kRows = {{
      {"sync", "150", "cycles", "126 of the target query, and a prologue of the supervisor", "S",
       ""},
      {"step_overhead", "190", "cycles per superstep", "fitted", "C", "ResNet-50 fp16, batch 4"},
      {"call_overlap_ms", "0.020", "ms per host call", "fitted", "C", "ResNet-50 fp16, batch 1"},
      {"exchange_efficiency", "1", "", "rate of the data sheet", "D", ""},
      {"fragment", "160", "cycles per short piece of an exchange that no plan places",
       "measured for one kernel", "M", ""},
      {"exchange_bytes", "4", "bytes per cycle and tile", "target query", "S", ""},
      {"host_gbytes", "8", "GB/s", "lower bound from Wide&Deep", "C", "Wide&Deep, batch 51200"},
      {"call_milliseconds", "0.13", "ms of a call that runs alone", "ResNet-50, batch 1", "C", ""},
      {"link_gbytes", "32", "GB/s per link, 0.85 of it reached", "old models of the library", "S",
       ""},
      {"global_sync", "600", "cycles", "target query", "S", ""},
      {"code sizes", "core/ipu/memory.cpp", "bytes", "no public data", "none", ""},
  }};
  return kRows;
}

}  // namespace poprt::ipu
