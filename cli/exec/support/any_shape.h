// Requests to a model at several shapes: of the sizes that files have.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/abi.h"
#include "exec/support/npy.h"

namespace poprt::cli {

using NamedArrays = std::vector<std::pair<std::string, Array>>;

// What words of --input and --input-pb say, with the runner's element types and the files' shapes.
// Throws Failure for a name that the runner does not have.
NamedArrays read_arrays(const std::vector<std::string>& words,
                        const std::vector<std::string>& pb_words, const poprt_runner* runner);

// One request, as often as one likes.
class ShapedRequest {
 public:
  // Inputs that `arrays` lack are made up, of the runner's shape, or an error of the first run when
  // `random_rest` is off. The runner lives as long.
  ShapedRequest(poprt_runner* runner, NamedArrays arrays, bool random_rest);
  void run();
  // Throws Failure for a name that the runner does not have.
  Array output(const std::string& name) const;

 private:
  poprt_runner* runner_;
  NamedArrays arrays_;
  std::vector<poprt_tensor> inputs_, outputs_;
  std::unique_ptr<poprt_outputs, Free<poprt_outputs_free>> memory_;
};

}  // namespace poprt::cli
