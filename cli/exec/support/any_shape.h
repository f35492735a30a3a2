// Requests to a model at several shapes. The files of the inputs determine the shape, or
// --input_shape for random inputs.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/abi.h"
#include "exec/support/npy.h"

namespace poprt::cli {

using NamedArrays = std::vector<std::pair<std::string, Array>>;

// Reads the files of --input and --input-pb words. Shapes come from the files, and elements are
// converted to the runner's types like those of fill_inputs(). Throws Failure for a name that the
// runner does not have.
NamedArrays read_arrays(const std::vector<std::string>& words,
                        const std::vector<std::string>& pb_words, const poprt_runner* runner);

// Adds random values of the given shapes to `arrays`. Throws Failure for a name that the runner
// does not have, and for a shape of more than 2^40 elements, and Usage for a name that `arrays`
// contains.
NamedArrays arrays_of_shapes(const std::vector<NamedShape>& shapes, NamedArrays arrays,
                             const poprt_runner* runner);

// One request that can run repeatedly.
class ShapedRequest {
 public:
  // With `random_rest`, inputs that are not in `arrays` get random data of the runner's shape,
  // except those with data in the executable. Without it, the first run reports missing inputs as
  // an error. The runner must outlive this object.
  ShapedRequest(poprt_runner* runner, NamedArrays arrays, bool random_rest);
  void run();
  // Returns the real part of an output. Must be called after a run. Throws Failure for a name that
  // the runner does not have.
  Array output(const std::string& name) const;

 private:
  poprt_runner* runner_;
  NamedArrays arrays_;
  std::vector<poprt_tensor> inputs_, outputs_;
  std::unique_ptr<poprt_outputs, Free<poprt_outputs_free>> memory_;
};

}  // namespace poprt::cli
