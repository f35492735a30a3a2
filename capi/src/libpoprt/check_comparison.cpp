#include "check_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/dtype.h"

namespace poprt::capi {
namespace {

using Values = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double largest(const Values& values) {
  double most = 0;
  for (const double x : values)
    if (std::isfinite(x)) most = std::max(most, std::fabs(x));
  return most;
}

Shape index_of(size_t place, const Shape& shape) {
  Shape index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    const auto size = static_cast<size_t>(shape[axis]);
    index[axis] = static_cast<int64_t>(place % size);
    place /= size;
  }
  return index;
}

bool same_number(double a, double b) {
  return (a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b));
}

// Returns infinity for different values of which at least one is not finite.
double distance(double was, double is) {
  if (was == is || (std::isnan(was) && std::isnan(is))) return 0;
  return std::isfinite(was) && std::isfinite(is) ? std::fabs(was - is) : kInfinity;
}

// Returns the numbers of both outputs. Different integers beyond 2^53 that convert to the same
// double stay different.
std::pair<Values, Values> numbers_of(const CheckedOutput& original,
                                     const CheckedOutput& converted) {
  Values was = original.values(), is = converted.values();
  const std::vector<int64_t> a = original.integers(), b = converted.integers();
  if (a.size() == b.size())
    for (size_t i = 0; i < a.size(); i++)
      if (a[i] != b[i] && was[i] == is[i])
        is[i] = std::nextafter(was[i], a[i] < b[i] ? kInfinity : -kInfinity);
  return {std::move(was), std::move(is)};
}

// The sign of a NaN is arbitrary.
std::string number_text(double x) { return std::isnan(x) ? "nan" : fmt::format("{:.9g}", x); }

std::string percent(double part) { return fmt::format("{:.4g} %", 100 * part); }

std::string allowed_text(double relative, double of_largest) {
  return fmt::format("{} of the original's value + {} of the output's largest magnitude",
                     percent(relative), percent(of_largest));
}

}  // namespace

std::string Tolerance::text() const {
  return fmt::format(
      "{}: {}; integers: {}", precision, allowed_text(relative, of_largest),
      integer_relative == 0 ? "none" : allowed_text(integer_relative, integer_of_largest));
}

std::string Difference::where() const {
  return fmt::format("at {}: {} in the original, {} in the converted model (inputs: {})",
                     shape_string(index), number_text(original), number_text(converted), inputs);
}

std::string Difference::text() const {
  return fmt::format("{:.6g} in '{}' {}", amount, output, where());
}

nlohmann::ordered_json Difference::json() const {
  return {{"difference", amount}, {"output", output},       {"index", index},
          {"original", original}, {"converted", converted}, {"inputs", inputs}};
}

void SeenSizes::add(const Shape& real, const std::string& inputs) {
  Kind& kind = real == bound_ ? bound_met_ : element_count(real) == 0 ? zero_ : between_;
  if (kind.runs++ == 0) {
    kind.size = real;
    kind.inputs = inputs;
  }
}

std::string SeenSizes::text() const {
  std::string text = fmt::format("at most {}", shape_string(bound_));
  for (const auto& [kind, name] : {std::pair(&zero_, "zero"), std::pair(&between_, "between"),
                                   std::pair(&bound_met_, "the bound")})
    text += kind->runs == 0
                ? fmt::format("; {}: not met", name)
                : fmt::format("; {}: {} with {}", name, shape_string(kind->size), kind->inputs);
  return text;
}

nlohmann::ordered_json SeenSizes::json() const {
  nlohmann::ordered_json json = {{"bound", bound_}};
  for (const auto& [kind, name] : {std::pair(&zero_, "zero"), std::pair(&between_, "between"),
                                   std::pair(&bound_met_, "equal_to_bound")}) {
    json[name] = {{"runs", kind->runs}};
    if (kind->runs == 0) continue;
    json[name]["size"] = kind->size;
    json[name]["inputs"] = kind->inputs;
  }
  return json;
}

void Comparison::differ(Fault fault) {
  if (!fault_ || fault.rank > fault_->rank) fault_ = std::move(fault);
}

void Comparison::add(const std::string& inputs, const CheckedRun& original,
                     const CheckedRun& converted) {
  if (original.failure) return;
  if (converted.failure) {
    equal_ = false;
    differ({kInfinity, fmt::format("the converted model fails with the inputs '{}', with which the "
                                   "original runs: {}",
                                   inputs, converted.failure->message())});
    return;
  }
  for (const auto& [name, output] : original.outputs) {
    const auto found = converted.outputs.find(name);
    if (found != converted.outputs.end()) {
      add_output(inputs, name, output, found->second);
      continue;
    }
    equal_ = false;
    differ({kInfinity, fmt::format("the converted model has no output '{}'", name)});
  }
}

void Comparison::add_size(const std::string& inputs, const std::string& name,
                          const CheckedOutput& output) {
  if (output.sized)
    sizes_.try_emplace(name, SeenSizes(output.whole.shape()))
        .first->second.add(output.real, inputs);
}

void Comparison::add_output(const std::string& inputs, const std::string& name,
                            const CheckedOutput& original, const CheckedOutput& converted) {
  add_size(inputs, name, original);
  Seen& seen = outputs_[name];
  seen.was_type = dtype_name(original.whole.dtype());
  seen.is_type = dtype_name(converted.whole.dtype());
  if (original.real != converted.real) {
    equal_ = false;
    differ({kInfinity,
            fmt::format("output '{}' has the size {} in the original and {} in the converted model "
                        "(inputs: {})",
                        name, shape_string(original.real), shape_string(converted.real), inputs)});
    return;
  }
  compare_values(inputs, name, seen, original, converted);
}

void Comparison::compare_values(const std::string& inputs, const std::string& name, Seen& seen,
                                const CheckedOutput& original, const CheckedOutput& converted) {
  const auto [was, is] = numbers_of(original, converted);
  const double most = largest(was);
  if (std::exchange(seen.first, false)) seen.first_largest = most;
  if (was.empty()) seen.empty_with.push_back(inputs);
  const bool whole = !is_float(original.whole.dtype());
  const double relative = whole ? tolerance_.integer_relative : tolerance_.relative;
  const double always = (whole ? tolerance_.integer_of_largest : tolerance_.of_largest) *
                        std::max(most, seen.first_largest);
  size_t count = 0;
  Fault fault;
  for (size_t i = 0; i < was.size(); i++) {
    if (same_number(was[i], is[i])) continue;
    equal_ = false;
    const double d = distance(was[i], is[i]);
    const double part = d == 0 ? 0 : std::isfinite(d) ? d / std::fabs(was[i]) : kInfinity;
    const double allowed = always + (std::isfinite(was[i]) ? relative * std::fabs(was[i]) : 0);
    const double rank = d / std::max(allowed, std::numeric_limits<double>::min());
    const bool outside = !(d <= allowed);
    count += outside;
    const auto at = [&](double amount) {
      return Difference{amount, name, index_of(i, original.real), was[i], is[i], inputs};
    };
    if (!absolute_ || d > absolute_->amount) absolute_ = at(d);
    const bool is_small = std::fabs(was[i]) <= always;
    if (!is_small && (!relative_ || part > relative_->amount)) relative_ = at(part);
    if (outside && (fault.text.empty() || rank > fault.rank)) fault = {rank, at(d).where()};
  }
  if (count > 0)
    differ({fault.rank, fmt::format("output '{}' of the converted model differs in {} of {} "
                                    "elements, most {}",
                                    name, count, was.size(), fault.text)});
}

std::vector<std::string> Comparison::difference_lines() const {
  std::vector<std::string> lines;
  if (absolute_) lines.push_back("largest absolute difference: " + absolute_->text());
  if (relative_)
    lines.push_back(
        fmt::format("largest relative difference (elements above {} of the largest): {}",
                    percent(tolerance_.of_largest), relative_->text()));
  if (absolute_ && absolute_->amount == 0) lines.emplace_back("only signs of zeros differ");
  lines.push_back("tolerance: " + tolerance_.text());
  return lines;
}

std::vector<std::string> Comparison::lines() const {
  std::vector<std::string> lines = difference_lines();
  for (const auto& [name, seen] : outputs_) {
    if (seen.was_type != seen.is_type)
      lines.push_back(fmt::format("type of '{}': {} in the original, {} in the converted model",
                                  name, seen.was_type, seen.is_type));
    if (!seen.empty_with.empty())
      lines.push_back(
          fmt::format("no elements: '{}' with {}", name, fmt::join(seen.empty_with, ", ")));
  }
  for (const auto& [name, sizes] : sizes_)
    lines.push_back(fmt::format("size of '{}': {}", name, sizes.text()));
  return lines;
}

nlohmann::ordered_json Comparison::json() const {
  nlohmann::ordered_json json;
  json["equal"] = equal_;
  json["within_tolerance"] = !fault_;
  json["tolerance"] = {{"precision", tolerance_.precision},
                       {"relative", tolerance_.relative},
                       {"of_largest", tolerance_.of_largest},
                       {"integer_relative", tolerance_.integer_relative},
                       {"integer_of_largest", tolerance_.integer_of_largest}};
  if (absolute_) json["largest_absolute"] = absolute_->json();
  if (relative_) json["largest_relative"] = relative_->json();
  json["outputs"] = nlohmann::ordered_json::array();
  for (const auto& [name, seen] : outputs_)
    json["outputs"].push_back({{"name", name},
                               {"original_type", seen.was_type},
                               {"converted_type", seen.is_type},
                               {"no_elements_with", seen.empty_with}});
  json["sizes"] = nlohmann::ordered_json::object();
  for (const auto& [name, sizes] : sizes_) json["sizes"][name] = sizes.json();
  return json;
}

}  // namespace poprt::capi
