// Computes a request with a larger batch: rows of the first dimension are padded with zeros.
//
// Example: a model was compiled for x [8, 10] and y [8, 4], and the compiler has proved that no row
// affects another. A request of 3 rows is copied to the first 3 rows of x, and gets the first 3
// rows of y.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/runner/open_sizes.h"
#include "runtime/session/model.h"

namespace poprt::runtime {

// The size that is the number of rows of a compiled shape.
struct PaddableRows {
  size_t size = 0;  // index of the size
  int64_t rows = 0;
};

// Returns the rows of a model that was compiled at `sizes`, if it may compute fewer: the number of
// rows is one of the sizes, it is only in first dimensions, every output has it there, these inputs
// and outputs have elements of whole bytes, and the compiler has recorded that rows do not affect
// each other.
std::optional<PaddableRows> paddable_rows(const OpenSizes& open, const Model& model,
                                          const OpenSizes::Sizes& sizes);

// The copies of one request. Not thread-safe.
class PaddedRows {
 public:
  // Copies the inputs with rows, and keeps pointers to the other inputs and to the outputs, which
  // must be valid until crop(). `wanted` is the number of rows of the request. Throws
  // invalid_argument for wrong sizes and null pointers, and not_found for an unknown name.
  PaddedRows(const OpenSizes& open, const Model& model, const PaddableRows& rows, int64_t wanted,
             std::span<const InputBinding> inputs, std::span<const OutputBinding> outputs);

  std::span<const InputBinding> inputs() const { return inputs_; }
  std::span<const OutputBinding> outputs() const { return outputs_; }
  // Copies the rows of the request to the outputs of the caller.
  void crop() const;

 private:
  struct Result {
    std::byte* to;
    const std::byte* from;
    uint64_t bytes;
  };
  std::vector<TensorMemory> memory_;
  std::vector<InputBinding> inputs_;
  std::vector<OutputBinding> outputs_;
  std::vector<Result> results_;
};

}  // namespace poprt::runtime
