// einsum: operands [inputs..., y] of one type of kernels/common/numbers.h. y is indexed by the
// first `rank` labels and is the sum over the other labels of the product of the inputs. y is
// dense. Integers wrap.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Einsum {
  static constexpr std::string_view kKernel = "einsum";

  static constexpr int64_t kMostInputs = 8, kMostLabels = 32;
  int64_t rank = 0;            // labels of y
  std::vector<int64_t> sizes;  // of each label
  // Each input has one stride for each label; 0 if it does not depend on the label.
  std::vector<std::vector<int64_t>> strides;

  void fields(Fields& f) {
    // An input without labels has no integers, so length() would require too many.
    auto inputs = static_cast<int64_t>(strides.size());
    f.integer("inputs", inputs, 1, kMostInputs);
    strides.resize(static_cast<size_t>(inputs));
    f.integer("rank", rank, 0, kMostLabels);
    f.length("labels", sizes, rank, kMostLabels);
    f.sizes("size", sizes);
    for (auto& list : strides) {
      list.resize(sizes.size());
      f.sizes("stride", list);
    }
  }
};

}  // namespace poprt::kernels::calls
