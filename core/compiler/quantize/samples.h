// Splits calibration data into runs of a model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"

namespace poprt::compiler {

// Arrays by input name with samples along the first axis, for a model whose inputs have its batch
// as first dimension. If the last run lacks samples, the first ones are repeated. An array with
// exactly the rows of one run is used in each run if other arrays have more rows.
class Samples {
 public:
  // Throws invalid_argument, with the name of the input, if it has no array, if an array has no
  // input, for a shape that does not fit, for elements that are not finite real numbers, and if the
  // arrays have different numbers of samples.
  Samples(const ir::Graph& graph, const std::map<std::string, Tensor>& data);
  int64_t runs() const { return runs_; }
  // Runs a RunnableGraph on run `i`. An error, such as an index out of range, names the samples.
  template <class Runnable>
  void run_model(Runnable& model, int64_t i) const {
    try {
      model.run(run(i), model.outputs);
    } catch (Error& e) {
      e.add_context(name_of_run(i));
      throw;
    }
  }
  // Returns the inputs of run `i` in the order and types of the graph.
  std::vector<Tensor> run(int64_t i) const;

 private:
  std::string name_of_run(int64_t i) const;

  struct Input {
    std::string name;
    Tensor data;  // in the input's type
    Shape shape;  // of one run
  };
  std::vector<Input> inputs_;
  int64_t runs_ = 1;
};

}  // namespace poprt::compiler
