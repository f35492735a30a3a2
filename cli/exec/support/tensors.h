// Named tensors from the command line, checked against anchors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/abi.h"
#include "exec/support/npy.h"

namespace poprt::cli {

// Reads a .pb file (ONNX TensorProto) or, with any other name, a .npy file.
Array read_tensor(const std::string& path);

// What a word of --input or --input-pb gives.
struct GivenInput {
  std::string name;  // as the word has it
  std::string path;
  bool sequence = false;  // of a .npz archive: its members are NAME[0], NAME[1] ...
  std::vector<Array>
      arrays;  // one, or any number of a sequence; none of a .none file (an optional)
  std::string array_name(size_t i) const;
};
GivenInput read_given(const std::string& word, const std::string& option);

// Fills the memory of each input from NAME=FILE words (.npy, .npz for the elements of a sequence,
// .none for an optional that is absent, or .pb through --input-pb). Inputs that are not given are
// an error unless `random_rest`. Errors name the input, what it needs and what was found. Words for
// what the program has no input for, as `not_needed` says, are read past.
void fill_inputs(const std::vector<const poprt_anchor*>& anchors, std::vector<AnchorMemory>& memory,
                 const std::vector<std::string>& words, const std::vector<std::string>& pb_words,
                 bool random_rest,
                 const std::function<bool(const std::string&)>& not_needed = nullptr);

// Inputs of 32-bit and 64-bit integers take either, and those of f16 wider floats, when the values
// fit: converted models have the former, the programs that made the data the latter.
void fit_numbers(Array& a, const std::string& name, poprt_dtype dtype);

// The anchor of that name; throws Failure listing the names there are.
size_t find_anchor(const std::vector<const poprt_anchor*>& anchors, const std::string& name,
                   const char* kind);

// Any numeric anchor memory as doubles.
std::vector<double> as_doubles(poprt_dtype dtype, const std::vector<int64_t>& shape,
                               const void* data, size_t bytes);

std::vector<int64_t> shape_of(const poprt_anchor* anchor);

}  // namespace poprt::cli
