#include "kernels/common/describe_call.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <kernel_calls.h>  // generated: AllCalls, a CallList of all structs of calls/
#include "base/error.h"
#include "base/first_use.h"
#include "kernels/kernel.h"

namespace poprt::kernels {
namespace {

using calls::Fields;

// Collects the name and the value of each field of a decoded call.
class Describer final : public Fields {
 public:
  using Fields::has_optional;
  void require(bool, std::string_view) override {}
  bool has_optional(bool wanted, size_t) override { return wanted; }

  std::string text() const {
    std::string s;
    for (const auto& [name, values] : named_)
      s += values.size() == 1 ? fmt::format(" {}={}", name, values[0])
                              : fmt::format(" {}=[{}]", name, fmt::join(values, ","));
    return s;
  }

 private:
  void visit(std::string_view name, int64_t& value, int64_t, int64_t) override {
    add(name, fmt::to_string(value));
  }
  void visit(std::string_view name, float& value) override { add(name, fmt::to_string(value)); }
  size_t items(std::string_view, size_t count) override { return count; }
  size_t rest_items(std::string_view, size_t have, size_t, size_t) override { return have; }
  size_t rest_floats(std::string_view, size_t have, size_t) override { return have; }

  void add(std::string_view field, std::string value) {
    std::string name(field);
    std::ranges::replace(name, ' ', '_');
    if (named_.empty() || named_.back().first != name)
      named_.emplace_back(name, std::vector<std::string>());
    named_.back().second.push_back(std::move(value));
  }

  std::vector<std::pair<std::string, std::vector<std::string>>> named_;
};

using DescribeFn = std::string (*)(std::span<const int64_t>, std::span<const float>);

template <calls::NamedCall C>
std::string describe_as(std::span<const int64_t> ints, std::span<const float> floats) {
  C call = calls::decode<C>(ints, floats);
  Describer describer;
  call.fields(describer);
  return describer.text();
}

template <class... C>
std::map<std::string_view, DescribeFn> describers_of(calls::CallList<C...>) {
  return {{C::kKernel, describe_as<C>}...};
}

template <class T>
std::string number_list(std::string_view what, std::span<const T> numbers) {
  return numbers.empty() ? "" : fmt::format(" {} [{}]", what, fmt::join(numbers, ","));
}

}  // namespace

std::string describe_call(std::string_view kernel, std::span<const int64_t> ints,
                          std::span<const float> floats) {
  static constinit FirstUse<const std::map<std::string_view, DescribeFn>> made;
  const auto& describers = made.get([] { return describers_of(calls::AllCalls{}); });
  // A file may use an earlier name of a kernel.
  const Kernel* known = find_kernel(kernel);
  const auto found = describers.find(known ? known->name : kernel);
  if (found != describers.end()) try {
      return found->second(ints, floats);
    } catch (const Error&) {  // another version of the library writes other fields
    }
  return number_list("ints", ints) + number_list("floats", floats);
}

}  // namespace poprt::kernels
