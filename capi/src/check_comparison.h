// How far the outputs of a converted model are from those of the original, over all runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check_runs.h"

namespace poprt::capi {

// An element may differ by `relative` of its value in the original, plus `of_largest` of the
// largest magnitude that the output has in the original with the same inputs or with the first
// ones. An element that is NaN or infinite in one model only is always outside.
struct Tolerance {
  std::string_view precision;  // "fp16"
  double relative, of_largest;
  double integer_relative, integer_of_largest;  // of integers and conditions

  std::string text() const;
};

// Of f32 and wider types; of halves, which have 11 bits; of 8-bit floats, which have 3 or 4. A deep
// model adds up what they lose. Integers are exact unless floats are rounded on the way to them.
inline constexpr Tolerance kExact = {"fp32", 1e-3, 1e-4, 0, 0};
inline constexpr Tolerance kHalf = {"fp16", 2e-2, 1e-2, 1e-3, 1e-4};
inline constexpr Tolerance kQuarter = {"fp8", 0.2, 0.2, 1e-3, 1e-4};

// Where two outputs differ, and by how much.
struct Difference {
  double amount = 0;
  std::string output;
  Shape index;
  double original = 0, converted = 0;
  std::string inputs;  // the name of the input set

  std::string where() const;  // index, values and inputs
  std::string text() const;
  nlohmann::ordered_json json() const;
};

// A difference that the tolerance does not allow, as the end of a sentence about the output.
struct Fault {
  double rank = 0;  // the greatest is told
  std::string text;
};

// The sizes that an output of run-time size had.
class MetSizes {
 public:
  explicit MetSizes(Shape bound) : bound_(std::move(bound)) {}
  void add(const Shape& real, const std::string& inputs);
  std::string text() const;
  nlohmann::ordered_json json() const;

 private:
  struct Kind {
    size_t runs = 0;
    Shape size;  // of the first run
    std::string inputs;
  };
  Shape bound_;
  Kind zero_, between_, bound_met_;
};

class Comparison {
 public:
  explicit Comparison(const Tolerance& tolerance) : tolerance_(tolerance) {}

  // Compares one run of both models. The first call is for the first set of inputs. Where the
  // original failed, nothing is compared.
  void add(const std::string& inputs, const CheckedRun& original, const CheckedRun& converted);
  // Compares one output of both.
  void add_output(const std::string& inputs, const std::string& name, const CheckedOutput& original,
                  const CheckedOutput& converted);
  // Only records the size.
  void add_size(const std::string& inputs, const std::string& name, const CheckedOutput& output);

  // Every element of every output is the same number; -0 is another one than 0, NaN equals NaN.
  bool equal() const { return equal_; }
  const std::optional<Fault>& fault() const { return fault_; }
  // Of what is compared: null while nothing differs.
  const std::optional<Difference>& largest_absolute() const { return absolute_; }
  // Relative to the original's value, of elements whose magnitude is above the part of the
  // tolerance that every element has: the relative difference of a smaller one says nothing.
  const std::optional<Difference>& largest_relative() const { return relative_; }

  // What a report says about differences, tolerance, types, sizes and outputs without elements.
  std::vector<std::string> lines() const;
  nlohmann::ordered_json json() const;

 private:
  struct Seen {
    std::string was_type, is_type;
    double first_largest = 0;
    bool first = true;
    std::vector<std::string> empty_with;  // sets with which it has no elements
  };

  void compare_values(const std::string& inputs, const std::string& name, Seen& seen,
                      const CheckedOutput& original, const CheckedOutput& converted);
  void differ(Fault fault);
  std::vector<std::string> difference_lines() const;

  Tolerance tolerance_;
  bool equal_ = true;
  std::optional<Fault> fault_;
  std::optional<Difference> absolute_, relative_;
  std::map<std::string, Seen> outputs_;
  std::map<std::string, MetSizes> sizes_;
};

}  // namespace poprt::capi
