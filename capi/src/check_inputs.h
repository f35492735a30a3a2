// The inputs that `check` and `precision_compare` give to two models.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace poprt::capi {

// An input that a caller must give. `place` is its place among the inputs of the original model,
// from 1, which chooses its random values.
struct CheckInput {
  std::string name;
  DType dtype;
  Shape shape;
  uint64_t place;
};

// One way to fill every input of a model.
struct InputSet {
  std::string name;  // "zeros"
  std::string how;   // how the values are made, for reports
  // The values of an input. The same place gives the same values in every floating-point type,
  // except for rounding.
  std::function<Tensor(const CheckInput& input)> make;
};

// Arrays by names of inputs, whose first axis counts samples, and the file that they come from.
struct CheckData {
  std::string file;
  std::map<std::string, Tensor> arrays;
};

// The ways to fill these inputs. The first one is a batch of `data`, if there is any, else random
// values. Further ones make sizes that depend on data zero, small and as large as possible: they
// are constant, of one sign, mostly zero, repeated or all different. A set that gives every input
// what an earlier set gives is left out. Throws invalid_argument for data whose shape is not that
// of the input, or that is for no input at all.
std::vector<InputSet> input_sets(const std::vector<CheckInput>& inputs, const CheckData& data);

}  // namespace poprt::capi
