// Calibration data cut into runs of a model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace poprt::compiler {

// Arrays by input name, with samples along the first axis, for a model whose inputs have as many
// rows as its batch. Where the last run lacks samples the first ones come again. An array that has
// as many rows as one run, where others have more, is used in each.
class Samples {
 public:
  // Throws invalid_argument naming the input for one without array, an array without input, other
  // shapes, and text.
  Samples(const ir::Graph& graph, const std::map<std::string, Tensor>& data);
  int64_t runs() const { return runs_; }
  // The inputs of run `i` in the graph's order, in their types.
  std::vector<Tensor> run(int64_t i) const;

 private:
  struct Input {
    Tensor data;  // in the input's type
    Shape shape;  // of one run
  };
  std::vector<Input> inputs_;
  int64_t runs_ = 1;
};

}  // namespace poprt::compiler
