// What options say about the shapes that a model is compiled at.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/branches.h"
#include "compiler/shape_sets.h"
#include "poprt/compiler.h"

namespace poprt::capi {

// The shapes of `input_shape`, smallest first. An input that is there once has that shape in all.
std::vector<compiler::ShapeSet> given_shapes(const poprt_compile_options& o);
// With those that `max_padding` adds.
std::vector<compiler::ShapeSet> shape_sets(const poprt_compile_options& o);

// By input. Unless there are several shapes it warns that nothing is padded.
std::map<std::string, compiler::Padding> paddings(const poprt_compile_options& o, bool used);

}  // namespace poprt::capi
