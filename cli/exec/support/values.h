// ONNX models that need the value of an input when they are compiled, and outputs of variable size.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "common/abi.h"
#include "exec/support/npy.h"

namespace poprt::cli {

struct PreparedModel {
  Executable executable;            // null when every output is text
  std::vector<std::string> folded;  // inputs whose values are part of the program
  struct Text {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<std::string> values;
  };
  std::vector<Text> texts;  // outputs that were computed when the model was compiled
  // The sequences and optionals of the model, of which the program may have no input.
  std::set<std::string> containers;

  // Whether what is given for input NAME or NAME[i] is no input of the program.
  bool holds(const std::string& name) const;
};

// What the command line says of a model's inputs.
struct GivenValues {
  const std::vector<std::string>&words, &pb_words;  // NAME=FILE as of fill_inputs()
  bool random = false;                              // make up the others
};

// Compiles `path` as load_model does. When the compiler refuses an ONNX model, because shapes or
// control flow depend on inputs or it has sequences or text, tries again with the values of the
// given files: first those that decide shapes, then more (compiler::fold_inputs), down to all.
// NAME[0], NAME[1] ... are the elements of a sequence. With `random`, text that no file gives is
// made up. Throws the compiler's first message when nothing helps.
PreparedModel load_with_values(const std::string& path, CompileSettings& settings,
                               const GivenValues& given);

// The part of output `i` that is real, all of it or what the output "NAME:shape" says, as .npy
// files hold it.
Array cropped(const std::vector<const poprt_anchor*>& anchors,
              const std::vector<AnchorMemory>& memory, size_t i);

}  // namespace poprt::cli
