// Programs of one model at several shapes that use the weights of the first one.
//
// Example: a MatMul with weights W at batch 1 and later at batch 8. The first program contains W in
// packed form. Both programs make W in the same form (program/weight_form.h), so that the second
// one does not contain it:
//
//   first    matmul (input'x', weights+0, output'y')
//   second   matmul (input'x', input'poprt.shared'+0, output'y')
//
// The input poprt.shared has the size of the first program's weights, and its value is these
// weights. Nothing is packed a second time, and no packed bytes are compared: forms are equal if
// their source tensors are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "program/builder.h"
#include "program/program.h"
#include "program/weight_form.h"

namespace poprt::program {

// The name of the input that share_weights() adds. No input of a model whose shapes are compiled
// on demand may have this name.
inline constexpr std::string_view kSharedWeights = "poprt.shared";

// The places of weight forms in a program's weights.
class WeightTable {
 public:
  // Replaces the contents by the records of a program. Records without a form are left out.
  void assign(const Program& program, std::span<const Weight> weights);
  bool empty() const { return bytes_ == 0; }
  uint64_t bytes() const { return bytes_; }
  std::optional<uint64_t> find(const WeightForm& form, uint64_t bytes) const;

 private:
  struct Place {
    WeightForm form;
    uint64_t offset, bytes;
  };
  std::unordered_multimap<uint64_t, Place> places_;  // by fingerprint
  uint64_t bytes_ = 0;
};

// Moves the buffers of weights that `table` contains to the input kSharedWeights, which is appended
// to the inputs, and removes their records. The other records and buffers of weights move together.
// If the program has no weight in the table, only the order of `weights` changes: it is sorted by
// offset. Nothing changes if the program is divided over several IPUs, because each IPU has its
// part of the weights.
void share_weights(Program& program, std::vector<Weight>& weights, const WeightTable& table);

}  // namespace poprt::program
