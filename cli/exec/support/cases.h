// Lists the cases that an executable can run: one model, each model of a fused executable, or a
// model at each of its shapes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/abi.h"

namespace poprt::cli {

struct Case {
  struct Tensor {
    size_t index;  // among the runner's inputs or outputs
    const poprt_anchor* anchor;
    std::vector<int64_t> shape;  // in this case
    size_t bytes() const;
  };
  std::string name;  // empty if there is only one case
  std::vector<Tensor> inputs, outputs;
  size_t positions = 0;  // number of the runner's inputs
};

struct Cases {
  enum Kind : uint8_t { one, graphs, shapes };
  Kind kind = one;
  std::vector<Case> list;
};

// Returns the cases in the order of the executable, without inputs whose data is in the executable.
Cases cases_of(const poprt_executable* executable, const poprt_runner* runner);

// Returns "graphK/" for an anchor of a fused executable, or for a word that starts with its name;
// else an empty text.
std::string graph_of(const std::string& name);

}  // namespace poprt::cli
