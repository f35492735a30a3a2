// Determines the types that operators support by trying: an operator is evaluated on small tensors
// of zeros and ones of each element type, with the same inference, lowering and kernels that models
// use. docs/operators.md lists them. Whether a model may contain an operator is decided by op_of()
// (ops/common/op.cpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace poprt::ops {

enum class Implementation {
  fast,           // the kernels of the first accepted trial are built for each ISA, or copy
  reference,      // some kernel is plain C++
  decomposition,  // other operators
  view,           // no code: the same bytes with another shape
  compiler,       // no code: resolved at compile time
  control,        // no kernel: begins or ends a region of the instruction list
  unknown,        // no trial succeeded, which a test refuses
};
std::string_view implementation_name(Implementation implementation);

struct OpSupport {
  // The types that the operator's definition allows and a trial accepts: of input 0, of the data if
  // input 0 is their index, condition or scale, or of the result if there is no input. Empty for an
  // operator that supports the types of its subgraphs or containers.
  std::vector<DType> types;
  Implementation implementation = Implementation::unknown;
};

// Deterministic and thread-safe. The first call for an operator takes milliseconds; the result is
// kept for the life of the process.
const OpSupport& support_of(const OpDef& op);

// The trials of the operator in the order in which they are tried: those that it states, or the
// common ones (ops/trial.h).
std::vector<Trial> trials_of(const OpDef& op);

// "f32 f16 s8"; "inner" for an empty list.
std::string type_list(std::span<const DType> types);

// "opset 13 on" or "opsets 1 to 6".
std::string opset_range(const OpDef& op);

// Rethrows an error about a node, with the supported opsets and types of its operator and the
// advice to open an issue. Only errors with the codes unimplemented and invalid_argument are
// changed.
[[noreturn]] void rethrow_explained(const Error& error, const ir::Node& node);

// During its lifetime, rethrow_explained() adds nothing on this thread. It is used for trials,
// whose errors are discarded, and for the nodes of an expansion, where the expanded operator is
// explained.
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
