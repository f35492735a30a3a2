// What the operators take, found by trying: an operator is evaluated on small tensors of zeros and
// ones of each element type, through the same inference, lowering and kernels that models use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace poprt::ops {

enum class Implementation {
  fast,           // every kernel of the f32 trial has a build for each instruction set, or copies
  reference,      // some kernel is plain C++
  decomposition,  // other operators
  view,           // no code: the same bytes under another shape
  compiler,       // no code: resolved when a model is compiled
  control,        // no kernel: begins or ends a region of the instruction list
  unknown,        // no trial fitted, which a test refuses
};
std::string_view implementation_name(Implementation implementation);

struct OpSupport {
  // Those that the operator's definition allows and a trial accepts: of input 0, of the data when
  // input 0 is their index, condition or scale, or of the result when there is no input. Empty for
  // an operator that takes what its subgraphs or containers hold.
  std::vector<DType> types;
  Implementation implementation = Implementation::unknown;
};

// Deterministic; takes milliseconds when an operator is asked about for the first time, and is kept
// for the life of the process. Thread-safe.
const OpSupport& support_of(const OpDef& op);

// The trials of the operator: those that it states, or the common ones from the most to the least
// demanding (ops/trial.h).
std::vector<Trial> trials_of(const OpDef& op);

// "f32 f16 s8"; "inner" for an empty list.
std::string type_list(std::span<const DType> types);

// "opset 13 on" or "opsets 1 to 6".
std::string opset_range(const OpDef& op);

// Throws an error about a node again, with what of its operator is supported and where to ask.
// Errors of another code than unimplemented and invalid_argument stay as they are.
[[noreturn]] void rethrow_explained(const Error& error, const ir::Node& node);

// While one of these lives, rethrow_explained() adds nothing on this thread: for trials, whose
// errors nobody reads, and for nodes that an operator is made of, where the operator is explained.
class NoExplanations {
 public:
  NoExplanations();
  ~NoExplanations();
  NoExplanations(const NoExplanations&) = delete;
  NoExplanations& operator=(const NoExplanations&) = delete;

 private:
  const bool outer_;
};

}  // namespace poprt::ops
