#include "check_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "codecs/sha256.h"

namespace poprt::capi {
namespace {

using Values = std::vector<double>;

template <class T, class Convert>
void copy(Tensor& to, const Values& from, Convert convert) {
  const auto values = to.mutable_values<T>();
  for (size_t i = 0; i < values.size(); i++) values[i] = convert(from[i]);
}

// Rounds towards zero to a whole number of 64 bits. NaN becomes 0, and a number beyond them the
// nearest one.
int64_t whole_of(double x) {
  constexpr double kLimit = 0x1p63;  // the numbers of 64 bits are below it
  if (std::isnan(x)) return 0;
  if (x >= kLimit) return INT64_MAX;
  return x < -kLimit ? INT64_MIN : static_cast<int64_t>(x);
}

// Copies integers, conditions and 8-bit floats: the low bytes of a whole number. Elements of less
// than a byte stay zero.
void copy_bytes(Tensor& to, const Values& from) {
  const auto width = static_cast<size_t>(dtype_bits(to.dtype())) / 8;
  auto* bytes = static_cast<std::byte*>(to.mutable_data());
  for (size_t i = 0; width > 0 && i < from.size(); i++) {
    const bool is_set = to.dtype() == DType::boolean && from[i] != 0;
    const int64_t whole = is_set ? 1 : whole_of(from[i]);
    std::memcpy(bytes + i * width, &whole, width);
  }
}

Tensor tensor_of(const CheckInput& input, const Values& values) {
  Tensor t = Tensor::zeros(input.dtype, input.shape);
  const auto narrow = [](double x) { return static_cast<float>(x); };
  switch (input.dtype) {
    case DType::f16: copy<f16_t>(t, values, [&](double x) { return to_f16(narrow(x)); }); break;
    case DType::bf16: copy<bf16_t>(t, values, [&](double x) { return to_bf16(narrow(x)); }); break;
    case DType::f32: copy<float>(t, values, narrow); break;
    case DType::f64: copy<double>(t, values, [](double x) { return x; }); break;
    default: copy_bytes(t, values);
  }
  return t;
}

bool has_floats(const CheckInput& input) {
  return input.dtype == DType::f16 || input.dtype == DType::bf16 || input.dtype == DType::f32 ||
         input.dtype == DType::f64;
}

size_t count_of(const CheckInput& input) { return static_cast<size_t>(element_count(input.shape)); }

double float_of(uint64_t random) { return static_cast<float>(random >> 40) / (1 << 23) - 1; }

Values random_values(const CheckInput& input, uint64_t seed) {
  std::mt19937_64 rng(seed);
  Values values(count_of(input));
  for (double& x : values) x = has_floats(input) ? float_of(rng()) : static_cast<double>(rng() & 1);
  return values;
}

Values constant_values(const CheckInput& input, double value) {
  return Values(count_of(input), value);
}

// Floats of one sign; integers and conditions are constant.
Values signed_values(const CheckInput& input, uint64_t seed, bool positive) {
  if (!has_floats(input)) return constant_values(input, positive ? 1 : 0);
  Values values = random_values(input, seed);
  for (double& x : values) x = positive ? std::fabs(x) : -std::fabs(x);
  return values;
}

Values sparse_values(const CheckInput& input, uint64_t seed) {
  constexpr uint64_t kOneIn = 8;
  std::mt19937_64 rng(seed);
  Values values(count_of(input));
  for (double& x : values) {
    const bool kept = rng() % kOneIn == 0;
    const double value = has_floats(input) ? float_of(rng()) : 1;
    x = kept ? value : 0;
  }
  return values;
}

// Every vector along the last axis is the same.
Values repeated_values(const CheckInput& input, uint64_t seed) {
  Values values = random_values(input, seed);
  const auto row = static_cast<size_t>(input.shape.empty() ? 1 : input.shape.back());
  for (size_t i = row; i < values.size(); i++) values[i] = values[i - row];
  return values;
}

Values distinct_values(const CheckInput& input, uint64_t seed) {
  if (has_floats(input)) return random_values(input, seed);
  Values values(count_of(input));
  for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<double>(i);
  return values;
}

constexpr uint64_t kLargeInteger = uint64_t{1}
                                   << 20;  // sums of a thousand of them fit into 32 bits

Values large_values(const CheckInput& input, uint64_t seed) {
  std::mt19937_64 rng(seed);
  Values values(count_of(input));
  for (double& x : values) x = static_cast<double>(rng() % kLargeInteger);
  return values;
}

constexpr double kLargeScalar = 100;

bool is_scalar(const CheckInput& input) {
  return input.dtype != DType::boolean && count_of(input) == 1;
}

// Returns as many samples of an array as the input has. Random numbers with seed 1 select the first
// one, for all arrays in the same way.
Values batch_of(const Tensor& data, const CheckInput& input) {
  const Shape& shape = input.shape;
  if (data.shape().size() != shape.size() || data.count() == 0 ||
      (!shape.empty() && !std::equal(shape.begin() + 1, shape.end(), data.shape().begin() + 1)))
    fail(ErrorCode::invalid_argument,
         "`data_preprocess`: input '{}' has the shape {}, the model takes {}", input.name,
         shape_string(data.shape()), shape_string(shape));
  const Values all = data.to_doubles();
  const auto samples = static_cast<uint64_t>(shape.empty() ? 1 : data.shape()[0]);
  const size_t first = std::mt19937_64(1)() % samples * (all.size() / samples);
  Values values(count_of(input));
  for (size_t i = 0; i < values.size(); i++) values[i] = all[(first + i) % all.size()];
  return values;
}

using Fill = std::function<Values(const CheckInput& input)>;

InputSet set_of(std::string name, std::string how, Fill fill) {
  return {std::move(name), std::move(how), [fill = std::move(fill)](const CheckInput& input) {
            return tensor_of(input, fill(input));
          }};
}

// Sets do not share seeds: each set has a thousand, or as many thousands as the inputs need. Those
// of the first set are 1, 2, ...
class Seeds {
 public:
  explicit Seeds(const std::vector<CheckInput>& inputs) {
    for (const CheckInput& input : inputs)
      step_ = std::max(step_, (input.place + 999) / 1000 * 1000);
  }
  uint64_t of(const CheckInput& input, uint64_t set) const { return step_ * set + input.place; }
  std::string text(uint64_t set) const { return fmt::format("seeds from {} on", step_ * set + 1); }

 private:
  uint64_t step_ = 1000;
};

std::vector<InputSet> all_sets(const std::vector<CheckInput>& inputs, bool exact) {
  std::vector<InputSet> sets;
  const Seeds seeds(inputs);
  sets.push_back(set_of("random",
                        "floats in [-1,1), integers and conditions 0 or 1, " + seeds.text(0),
                        [seeds](const auto& in) { return random_values(in, seeds.of(in, 0)); }));
  sets.push_back(
      set_of("zeros", "0 and false", [](const auto& in) { return constant_values(in, 0); }));
  sets.push_back(
      set_of("ones", "1 and true", [](const auto& in) { return constant_values(in, 1); }));
  sets.push_back(
      set_of("negative", "floats in [-1,0], integers 0, conditions false, " + seeds.text(1),
             [seeds](const auto& in) { return signed_values(in, seeds.of(in, 1), false); }));
  sets.push_back(
      set_of("positive", "floats in [0,1], integers 1, conditions true, " + seeds.text(2),
             [seeds](const auto& in) { return signed_values(in, seeds.of(in, 2), true); }));
  sets.push_back(set_of("sparse", "as random, but 7 of 8 elements are 0 or false, " + seeds.text(3),
                        [seeds](const auto& in) { return sparse_values(in, seeds.of(in, 3)); }));
  sets.push_back(set_of(
      "repeated", "as random, but all vectors along the last axis are equal, " + seeds.text(4),
      [seeds](const auto& in) { return repeated_values(in, seeds.of(in, 4)); }));
  const bool counts = std::ranges::any_of(
      inputs, [](const CheckInput& in) { return is_integer(in.dtype) && count_of(in) > 1; });
  if (counts)
    sets.push_back(set_of(
        "distinct", "floats as random, integers and conditions 0, 1, 2 ..., " + seeds.text(5),
        [seeds](const auto& in) { return distinct_values(in, seeds.of(in, 5)); }));
  if (std::ranges::any_of(inputs, is_scalar))
    sets.push_back(set_of("large scalars",
                          "inputs of one element are 100, others as random, " + seeds.text(6),
                          [seeds](const auto& in) {
                            return is_scalar(in) ? constant_values(in, kLargeScalar)
                                                 : random_values(in, seeds.of(in, 6));
                          }));
  std::set<uint64_t> large;  // places; the converted model has other types
  for (const CheckInput& in : inputs)
    if (exact && in.dtype == DType::s64 && count_of(in) > 1) large.insert(in.place);
  if (!large.empty())
    sets.push_back(set_of("large integers",
                          "64-bit integers in [0,1048576), others as random, " + seeds.text(7),
                          [seeds, large](const auto& in) {
                            return large.contains(in.place) ? large_values(in, seeds.of(in, 7))
                                                            : random_values(in, seeds.of(in, 7));
                          }));
  return sets;
}

// Returns equal text for sets that give all inputs the same bytes.
std::string fingerprint(const InputSet& set, const std::vector<CheckInput>& inputs) {
  Sha256 hash;
  for (const CheckInput& input : inputs) {
    const Tensor t = set.make(input);
    hash.add_sized({static_cast<const char*>(t.data()), static_cast<size_t>(t.bytes())});
  }
  return hash.finish();
}

}  // namespace

std::vector<InputSet> input_sets(const std::vector<CheckInput>& inputs, const CheckData& data,
                                 bool exact) {
  std::vector<InputSet> sets;
  const auto has_data = [&](const CheckInput& in) { return data.arrays.contains(in.name); };
  if (!data.arrays.empty() && std::ranges::none_of(inputs, has_data))
    fail(ErrorCode::invalid_argument,
         "`data_preprocess`: '{}' has no array for an input of the model; its first one is '{}'",
         data.file, data.arrays.begin()->first);
  if (!data.arrays.empty())
    sets.push_back(set_of("data",
                          "one batch of '" + data.file +
                              "' from the sample that seed 1 selects; other inputs as random",
                          [data, seeds = Seeds(inputs)](const auto& in) {
                            const auto found = data.arrays.find(in.name);
                            return found == data.arrays.end() ? random_values(in, seeds.of(in, 0))
                                                              : batch_of(found->second, in);
                          }));
  std::set<std::string> known;
  for (const InputSet& set : sets) known.insert(fingerprint(set, inputs));
  for (InputSet& set : all_sets(inputs, exact))
    if (known.insert(fingerprint(set, inputs)).second) sets.push_back(std::move(set));
  return sets;
}

}  // namespace poprt::capi
