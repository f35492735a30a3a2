// Trials: nodes on small tensors that determine which types an operator supports, for
// docs/operators.md and for messages. Each is tried with each element type
// (ops/common/op_types.h). An operator states its own trials in its facts if the common ones do
// not suit it:
//
//   .trial = {"T[1,4,4,4]; T[4,4,1,1]"}              inputs
//   .trial = {"T[4,4]", "num_outputs = 2", 2}        attributes, and the number of outputs
//   .trial = {"T[4,4]", "to = 1 | to = 2"}           attributes of several trials
//   .trial = {"T[4,4]; _; s64[2] = [2, 8]"}          an omitted input, and one with values
//
// The syntax is the text form of graphs (ir/text.h). T is the type that is tried, @ an element of
// it. An input without values contains ones (zeros for types narrower than a byte, and false).
#pragma once

#include <cstddef>
#include <string_view>

namespace poprt::ops {

struct Trial {
  std::string_view inputs = {};      // separated by semicolons
  std::string_view attributes = {};  // of one trial, or of several separated by |
  size_t outputs = 1;

  // If false, the common trials are used.
  constexpr bool stated() const { return !inputs.empty() || !attributes.empty(); }
};

}  // namespace poprt::ops
