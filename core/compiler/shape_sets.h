// The shapes that a model is compiled at, when it is compiled at several.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/shape.h"

namespace poprt::compiler {

using ShapeSet = std::map<std::string, Shape>;  // of inputs, by name

// The shapes of inputs as they are given, as sets, smallest first. An input with one shape has it
// in each set. Throws invalid_argument where inputs have different numbers of shapes, for equal
// sets, and above 64 of them.
std::vector<ShapeSet> shape_sets_of(const std::map<std::string, std::vector<Shape>>& given);

// Smallest first, by elements; those of equal size as they come.
void sort_by_size(std::vector<ShapeSet>& sets);

// Adds shapes between those that differ in one size, until a request computes at most
// `max_padding` (from 0, below 1) of padding there: with 0.2, sizes from 81 on go into a bucket of
// 100. Sizes that are the same in each of `sets`, wherever they stand, are one size. New sizes are
// multiples of 16 where the limit leaves one, else of 8, 4, 2 or 1. Sorted by size. Throws
// invalid_argument (no two shapes differ in one size alone; more shapes than make sense).
std::vector<ShapeSet> with_steps(const std::vector<ShapeSet>& sets, double max_padding);

}  // namespace poprt::compiler
