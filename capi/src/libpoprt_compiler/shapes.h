// Options for the shapes at which a model is compiled.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/shape_sets.h"
#include "compiler/variants.h"
#include "poprt/compiler.h"

namespace poprt::capi {

// The shapes of `input_shape` (compiler/shape_sets.h).
std::vector<compiler::ShapeSet> shape_sets(const poprt_compile_options& o);

// Returns the padding of each input.
std::map<std::string, compiler::Padding> paddings(const poprt_compile_options& o);

// Returns the largest sizes of values.
std::map<std::string, int64_t> max_sizes(const poprt_compile_options& o);

}  // namespace poprt::capi
