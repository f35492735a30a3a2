// Nodes on small tensors by which docs/operators.md and messages say what an operator takes: they
// are tried with each element type (ops/common/op_support.h). An operator states in its facts what
// the common trials there do not fit:
//   .trial = {"T[1,4,4,4]; T[4,4,1,1]"}                          inputs
//   .trial = {"T[4,4]", "num_outputs = 2", 2}                    attributes, and how many outputs
//   .trial = {"T[4,4]", "to = 1 | to = 2"}                       attributes of several trials
//   .trial = {"T[4,4]; _; s64[2] = [2, 8]"}                      an input left out, and one of
//   values
// written as the text form of graphs (ir/text.h). T is the type on trial, @ an element of it; an
// input without values holds ones (zeros where a type is narrower than a byte, and false).
#pragma once

#include <cstddef>
#include <string_view>

namespace poprt::ops {

struct Trial {
  std::string_view inputs = {};      // with semicolons between them
  std::string_view attributes = {};  // of one trial, or of several with | between them
  size_t outputs = 1;

  // False: the common ones do.
  constexpr bool stated() const { return !inputs.empty() || !attributes.empty(); }
};

}  // namespace poprt::ops
