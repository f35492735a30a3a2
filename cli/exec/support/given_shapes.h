// Takes the sizes of variable dimensions from the files that the command line gives for inputs.
#pragma once

#include <string>
#include <vector>

#include "common/abi.h"
#include "ir/graph.h"

namespace poprt::cli {

// Throws Failure if one of the words NAME=FILE is for an input that the model does not have. A
// sequence NAME also has the inputs NAME[0], NAME[1] ...
void check_given_names(const ir::Graph& model, const std::vector<std::string>& words);

// Adds the shapes of the files to settings.input_shape, for those inputs that have variable
// dimensions and are neither in it nor have a batch size. Files of sequences (.npz) and of absent
// optionals (.none) have no shape. Throws Failure if a file cannot be read or has another shape
// than the input.
void shapes_from_files(const ir::Graph& model, const std::vector<std::string>& words,
                       CompileSettings& settings);

}  // namespace poprt::cli
