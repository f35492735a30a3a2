// A program of the chip for the estimator: operations in order, each with its supersteps, and the
// tensors that they read and write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ipu/lowering.h"

namespace poprt::ipu {

enum class TensorKind : uint8_t { weight, input, output, activation };

struct ChipTensor {
  std::string name;
  TensorKind kind = TensorKind::activation;
  int64_t bytes = 0;
  int64_t share = 0, tiles = 0;  // bytes on each tile that has a part; number of these tiles
  // The first and the last operation during which it exists.
  size_t first = 0, last = 0;
  int64_t alias_of = -1;  // the tensor whose memory it uses: a view
};

struct ChipOp {
  std::string name, type;
  OpCost cost;
  int64_t flops = 0;
  int64_t ipu = 0;
  int64_t repeats = 1;
  size_t same_as = SIZE_MAX;  // an earlier operation with an equal program, which is outlined
  std::vector<size_t> inputs, outputs;  // tensors

  int64_t cycles() const { return repeats * cost.cycles(); }
};

struct ChipProgram {
  std::vector<ChipOp> ops;
  std::vector<ChipTensor> tensors;
  int64_t input_bytes = 0, output_bytes = 0;      // of one batch, as they cross the host link
  int64_t largest_input = 0, largest_output = 0;  // bytes of one stream for one batch
  int64_t streams = 0;                            // inputs and outputs
  int64_t samples = 1;                            // of one batch
  // What the cost depends on and the model does not determine, such as the rounds of a loop.
  std::vector<std::string> assumptions;
};

}  // namespace poprt::ipu
