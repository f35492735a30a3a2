// Implements poprt_exec run --numerics faithful.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/abi.h"

namespace poprt::cli {

struct FaithfulRun {
  std::string model;
  std::vector<std::string> inputs, inputs_pb, outputs;  // NAME=FILE words
  bool saturate = false;
  std::optional<uint64_t> seed;  // of stochastic rounding
  CompileSettings compile;
};

// Converts an ONNX model, computes it with the rounding of the chip (compiler/faithful.h), and
// writes the requested outputs. Throws Usage and Failure.
int run_faithfully(const FaithfulRun& run);

}  // namespace poprt::cli
