// The inputs of both models in `check` and `precision_compare`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace poprt::capi {

// An input of a request. `place` is its position among the inputs of the original model, from 1. It
// selects its random values.
struct CheckInput {
  std::string name;
  DType dtype;
  Shape shape;
  uint64_t place;
};

// A method to fill every input of a model.
struct InputSet {
  std::string name;  // "zeros"
  std::string how;   // description of the values, for reports
  // Returns the values of an input. The same place has the same values in every floating-point
  // type, except for rounding.
  std::function<Tensor(const CheckInput& input)> make;
};

// Arrays by names of inputs, with samples along the first axis, and their file.
struct CheckData {
  std::string file;
  std::map<std::string, Tensor> arrays;
};

// Returns the sets for these inputs. The first one is a batch of `data`, if there is any, else
// random values. Further sets make sizes that depend on data zero, small and as large as possible:
// they are constant, of one sign, mostly zero, repeated or all different, or give the value 100 to
// inputs of one element. If conversions are `exact`, one set has large integers of 64 bits, whose
// products need more than 32 bits; the original fails with it if they are indices. A set that gives
// every input the values of an earlier set is omitted. Throws invalid_argument for data with
// another shape than the input, and for data without an array for any of the inputs.
std::vector<InputSet> input_sets(const std::vector<CheckInput>& inputs, const CheckData& data,
                                 bool exact = true);

}  // namespace poprt::capi
