// Converts mappings of a YAML file to the words of a command-line option.
//
//   serialize_matmul: {fc1: 4, fc2: {factor: 2, mode: reducing_dim, keep_precision: yes}}
//                                                    -> fc1=4  fc2=2/reducing_dim/True
//   pass_args: {merge_matmul: {names: [q, k]}}       -> merge_matmul.names=q,k
//   input_shape: {image: [1, 3, 224, 224]}           -> image=1,3,224,224
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "common/option_table.h"

namespace poprt::cli::yaml {

struct Value {
  enum class Kind : unsigned char { scalar, list, map };
  size_t line = 0;
  Kind kind = Kind::scalar;
  std::string text = {};               // for a scalar
  std::vector<std::string> keys = {};  // for a map, one per item
  std::vector<Value> items = {};
};

// Thrown if a key does not accept a value.
struct Unfit : std::runtime_error {
  Unfit(size_t at, const std::string& why) : std::runtime_error(why), line(at) {}
  size_t line;
};

// Whether the words of the option start with a name.
bool takes_mapping(const OptionInfo& option);

// Throws Unfit.
std::vector<std::string> words_of(const OptionInfo& option, const Value& map);

// Returns "True" or "False" for the words that YAML 1.1 defines for them (such as yes and off), and
// an empty text for other words.
std::string yaml_bool(const std::string& word);

}  // namespace poprt::cli::yaml
