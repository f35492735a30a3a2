// The shapes at which a model is compiled, if there are several.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/shape.h"

namespace poprt::compiler {

using ShapeSet = std::map<std::string, Shape>;  // by input name

// Returns the given shapes of inputs as sets, smallest first. An input with one shape has it in
// each set. Throws invalid_argument if inputs have different numbers of shapes, if sets are equal,
// and for more than 64 sets.
std::vector<ShapeSet> shape_sets_of(const std::map<std::string, std::vector<Shape>>& given);

// Sorts by number of elements, smallest first. Equal sizes keep their order.
void sort_by_size(std::vector<ShapeSet>& sets);

// Adds shapes between those that differ in one size, until along each size at most the fraction
// `max_padding` (from 0, below 1) is padding. With 0.2, sizes from 81 on use a bucket of 100. Sizes
// that are equal in each of `sets` are one size, also in different inputs. New sizes are multiples
// of 16 if the limit allows it, else of 8, 4, 2 or 1. The result is sorted by size. Throws
// invalid_argument if the shapes of an input have different numbers of dimensions, if no two shapes
// differ in one size only, and if there would be more than 64 shapes.
std::vector<ShapeSet> with_steps(const std::vector<ShapeSet>& sets, double max_padding);

}  // namespace poprt::compiler
