// What there is to run in an executable: all of it, each model of a fused one, or a model at each
// of its shapes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/abi.h"

namespace poprt::cli {

struct Case {
  struct Tensor {
    size_t index;  // of the runner's inputs or outputs
    const poprt_anchor* anchor;
    std::vector<int64_t> shape;  // of this case
    size_t bytes() const;
  };
  std::string name;  // empty: the only one
  std::vector<Tensor> inputs, outputs;
  size_t positions = 0;  // inputs of the runner
};

struct Cases {
  enum Kind : uint8_t { one, graphs, shapes };
  Kind kind = one;
  std::vector<Case> list;
};

// Without inputs that come with the executable. In the order of the executable.
Cases cases_of(const poprt_executable* executable, const poprt_runner* runner);

// "graphK/" of a fused executable's anchor, or of a word that begins with its name; else empty.
std::string graph_of(const std::string& name);

}  // namespace poprt::cli
