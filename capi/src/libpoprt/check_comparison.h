// Differences between the outputs of a converted model and those of the original, over all runs.
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
// ones, whichever is larger. An element that is NaN or infinite in one model only is never within
// the tolerance.
struct Tolerance {
  std::string_view precision;  // "fp16"
  double relative, of_largest;
  double integer_relative, integer_of_largest;  // for integers and conditions

  std::string text() const;
};

// The tolerances for f32 and wider types, for halves (11 significant bits), for bf16 (8 significant
// bits), for 8-bit floats (3 or 4 significant bits), and for bytes with a calibrated range. Errors
// accumulate in a deep model. Integers are exact unless floats are rounded before they are
// computed.
inline constexpr Tolerance kExact = {"fp32", 1e-3, 1e-4, 0, 0};
inline constexpr Tolerance kHalf = {"fp16", 2e-2, 1e-2, 1e-3, 1e-4};
inline constexpr Tolerance kBfloat = {"bf16", 5e-2, 3e-2, 1e-3, 1e-4};
inline constexpr Tolerance kQuarter = {"fp8", 0.2, 0.2, 1e-3, 1e-4};
inline constexpr Tolerance kByte = {"int8", 0.2, 0.2, 1e-3, 1e-4};

// The place and size of a difference between two outputs.
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

// A difference beyond the tolerance, as the end of a sentence about the output.
struct Fault {
  double rank = 0;  // the fault with the largest rank is reported
  std::string text;
};

// The sizes that an output of run-time size had.
class SeenSizes {
 public:
  explicit SeenSizes(Shape bound) : bound_(std::move(bound)) {}
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

  // Compares one run of both models. The first call must be for the first set of inputs. If the
  // original failed, nothing is compared.
  void add(const std::string& inputs, const CheckedRun& original, const CheckedRun& converted);
  // Compares one output of both.
  void add_output(const std::string& inputs, const std::string& name, const CheckedOutput& original,
                  const CheckedOutput& converted);
  // Records only the size of an output.
  void add_size(const std::string& inputs, const std::string& name, const CheckedOutput& output);

  // Whether all runs gave the same outputs, sizes and numbers. -0 differs from 0, and NaN equals
  // NaN.
  bool equal() const { return equal_; }
  const std::optional<Fault>& fault() const { return fault_; }
  // The largest absolute difference of compared elements. Empty if there is no difference.
  const std::optional<Difference>& largest_absolute() const { return absolute_; }
  // The largest difference relative to the original's value. Elements with a magnitude below the
  // absolute part of the tolerance are excluded because their relative difference is meaningless.
  const std::optional<Difference>& largest_relative() const { return relative_; }

  // The lines of the report about differences, tolerance, types, sizes and outputs without
  // elements.
  std::vector<std::string> lines() const;
  nlohmann::ordered_json json() const;

 private:
  struct Seen {
    std::string was_type, is_type;
    double first_largest = 0;
    bool first = true;
    std::vector<std::string> empty_with;  // sets for which it has no elements
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
  std::map<std::string, SeenSizes> sizes_;
};

}  // namespace poprt::capi
