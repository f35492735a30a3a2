// ONNX models that require values of inputs at compile time, and outputs of variable size.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/abi.h"
#include "exec/support/npy.h"

namespace poprt::cli {

struct PreparedModel {
  Executable executable;            // null if every output is text
  std::vector<std::string> folded;  // inputs whose values are compiled into the program
  struct Text {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<std::string> values;
  };
  std::vector<Text> texts;  // outputs that were computed at compile time
  // The sequences and optionals of the model. The program may not have them as inputs.
  std::set<std::string> containers;

  // Whether NAME or NAME[i] is part of the program and not one of its inputs.
  bool has_folded_input(const std::string& name) const;
};

// The values that the command line gives for a model's inputs.
struct GivenValues {
  const std::vector<std::string>&words, &pb_words;  // NAME=FILE as for fill_inputs()
  bool random = false;                              // generate the other inputs
};

// Compiles `path` like load_model. If the compiler rejects an ONNX model because shapes or control
// flow depend on inputs, or because it has sequences or text, it tries again with the values of the
// given files: first those that determine shapes, then more (compiler::fold_inputs), and finally
// all. NAME[0], NAME[1] ... are the elements of a sequence. With `random`, text inputs without a
// file get artificial words. If all attempts fail, throws the compiler's first message; if a value
// is invalid, throws its message at once.
PreparedModel load_with_values(const std::string& path, CompileSettings& settings,
                               const GivenValues& given);

// Whether a tensor is the output NAME:shape of output `of`, which specifies the size of its real
// part.
bool is_real_size(std::string_view name, poprt_dtype dtype, size_t bytes, std::string_view of,
                  size_t rank);
// Returns the part of `whole` that starts at its origin and has these sizes, an int64 for each
// dimension.
Array cropped(Array whole, const void* sizes);
// Returns the real part of output `i`, as .npy files store it: all of it, or the part that the
// output "NAME:shape" specifies.
Array cropped(const std::vector<const poprt_anchor*>& anchors,
              const std::vector<AnchorMemory>& memory, size_t i);

}  // namespace poprt::cli
