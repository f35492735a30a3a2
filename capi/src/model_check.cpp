#include "model_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <span>

#include "base/error.h"
#include "base/tensor.h"
#include "runtime/runner/model_runner.h"

namespace poprt::capi {
namespace {

using Values = std::vector<double>;

template <class T, class Convert>
void fill_floats(Tensor& t, uint64_t seed, Convert convert) {
  std::mt19937_64 rng(seed);
  for (T& x : t.mutable_values<T>()) x = convert(static_cast<float>(rng() >> 40) / (1 << 23) - 1);
}

// Floats around 0, and 0 or 1 for what may be an index or a condition: the same for the same input
// of both models, but for rounding.
Tensor random_tensor(DType type, const Shape& shape, uint64_t seed) {
  Tensor t = Tensor::zeros(type, shape);
  switch (type) {
    case DType::f16: fill_floats<f16_t>(t, seed, to_f16); break;
    case DType::bf16: fill_floats<bf16_t>(t, seed, to_bf16); break;
    case DType::f32: fill_floats<float>(t, seed, std::identity()); break;
    case DType::f64: fill_floats<double>(t, seed, std::identity()); break;
    default: {
      std::mt19937_64 rng(seed);
      const auto count = static_cast<size_t>(t.count());
      const size_t width = count == 0 ? 0 : t.bytes() / count;  // 0: parts of bytes
      auto* bytes = static_cast<std::byte*>(t.mutable_data());
      for (size_t i = 0; width > 0 && i < count; i++)
        bytes[i * width] = static_cast<std::byte>(rng() & 1);
    }
  }
  return t;
}

// The part that is real of a result whose size depends on data: NAME:shape says how much, from the
// origin (docs/design.md).
Values cropped(const Values& values, const Shape& shape, const Values& real) {
  Values part;
  for (size_t i = 0; i < values.size(); i++) {
    bool inside = true;
    size_t rest = i;
    for (size_t axis = shape.size(); axis-- > 0;) {
      const auto size = static_cast<size_t>(shape[axis]);
      inside = inside && static_cast<double>(rest % size) < real[axis];
      rest /= size;
    }
    if (inside) part.push_back(values[i]);
  }
  return part;
}

using Data = std::map<std::string, Tensor>;

template <class T, class Convert>
void copy_rows(Tensor& to, const Values& from, size_t first, Convert convert) {
  const auto values = to.mutable_values<T>();
  for (size_t i = 0; i < values.size(); i++) values[i] = convert(from[(first + i) % from.size()]);
}

// One batch of an array, begun at a sample that `seed` decides.
Tensor batch_of(const Tensor& data, const runtime::DataDesc& d, uint64_t seed) {
  const Shape& shape = d.anchor.shape;
  if (data.shape().size() != shape.size() || data.count() == 0 ||
      (!shape.empty() && !std::equal(shape.begin() + 1, shape.end(), data.shape().begin() + 1)))
    fail(ErrorCode::invalid_argument,
         "`data_preprocess`: input '{}' has the shape {}, the model takes {}", d.anchor.name,
         shape_string(data.shape()), shape_string(shape));
  Tensor t = Tensor::zeros(d.anchor.dtype, shape);
  const Values values = data.to_doubles();
  const auto samples = static_cast<uint64_t>(shape.empty() ? 1 : data.shape()[0]);
  const size_t first = std::mt19937_64(seed)() % samples * (values.size() / samples);
  const auto narrow = [](double x) { return static_cast<float>(x); };
  switch (t.dtype()) {
    case DType::f16:
      copy_rows<f16_t>(t, values, first, [&](double x) { return to_f16(narrow(x)); });
      break;
    case DType::bf16:
      copy_rows<bf16_t>(t, values, first, [&](double x) { return to_bf16(narrow(x)); });
      break;
    case DType::f32: copy_rows<float>(t, values, first, narrow); break;
    case DType::f64: copy_rows<double>(t, values, first, std::identity()); break;
    case DType::s32:
      copy_rows<int32_t>(t, values, first, [](double x) { return static_cast<int32_t>(x); });
      break;
    case DType::s64:
      copy_rows<int64_t>(t, values, first, [](double x) { return static_cast<int64_t>(x); });
      break;
    case DType::u8:
      copy_rows<uint8_t>(t, values, first, [](double x) { return static_cast<uint8_t>(x); });
      break;
    case DType::boolean: copy_rows<bool>(t, values, first, [](double x) { return x != 0; }); break;
    default:
      fail(ErrorCode::unimplemented, "`data_preprocess`: input '{}' is {}", d.anchor.name,
           dtype_name(t.dtype()));
  }
  return t;
}

// Outputs by name, of one run.
std::map<std::string, Values> run(const std::shared_ptr<const runtime::Model>& model,
                                  const Data& data = {}) {
  runtime::ModelRunner runner(model);
  std::vector<Tensor> inputs, outputs;
  std::vector<runtime::InputBinding> from;
  std::vector<runtime::OutputBinding> to;
  uint64_t seed = 0;
  for (const runtime::DataDesc& d : runner.execute_inputs()) {
    seed++;
    if (d.popef_contains_tensor_data) continue;
    const auto given = data.find(d.anchor.name);
    const Tensor& t = inputs.emplace_back(
        given == data.end() ? random_tensor(d.anchor.dtype, d.anchor.shape, seed)
                            : batch_of(given->second, d, 1));  // samples belong together
    from.push_back({d.anchor.name, 0, t.data(), d.size_in_bytes});
  }
  for (const runtime::DataDesc& d : runner.execute_outputs()) {
    Tensor& t = outputs.emplace_back(Tensor::zeros(d.anchor.dtype, d.anchor.shape));
    to.push_back({d.anchor.name, 0, t.mutable_data(), d.size_in_bytes});
  }
  runner.execute(from, to);
  std::map<std::string, Values> results;
  for (size_t i = 0; i < outputs.size(); i++)
    results.emplace(runner.execute_outputs()[i].anchor.name, outputs[i].to_doubles());
  for (size_t i = 0; i < outputs.size(); i++) {
    const std::string& name = runner.execute_outputs()[i].anchor.name;
    if (const auto real = results.find(name + ":shape");
        real != results.end() && real->second.size() == outputs[i].shape().size())
      results.at(name) = cropped(results.at(name), outputs[i].shape(), real->second);
  }
  return results;
}

// fp16 has 11 bits, and a deep model adds up what they lose.
struct Tolerance {
  double relative, of_largest;
};
// 8-bit floats have 4 or 3.
constexpr Tolerance kExact = {1e-3, 1e-4}, kHalf = {2e-2, 1e-2}, kQuarter = {0.2, 0.2};

Tolerance tolerance_of(const runtime::Model& model) {
  for (const auto* anchors : {&model.inputs(), &model.outputs()})
    for (const auto& a : *anchors)
      if (a.dtype == DType::f16 || a.dtype == DType::bf16) return kHalf;
  return kExact;
}

double largest(const Values& values) {
  double most = 0;
  for (const double x : values)
    if (std::isfinite(x)) most = std::max(most, std::fabs(x));
  return most;
}

bool differs(double was, double is, const Tolerance& t, double most) {
  if (was == is || (std::isnan(was) && std::isnan(is))) return false;
  return !(std::fabs(was - is) <= t.relative * std::fabs(was) + t.of_largest * most);
}

// Moments and a histogram of a set of numbers.
struct Statistics {
  explicit Statistics(const Values& all) {
    Values values;
    std::ranges::copy_if(all, std::back_inserter(values),
                         [](double x) { return std::isfinite(x); });
    infinite = all.size() - values.size();
    if (values.empty()) return;
    const auto count = static_cast<double>(values.size());
    const auto [low, high] = std::ranges::minmax(values);
    min = low;
    max = high;
    for (const double x : values) mean += x / count;
    double cubes = 0, fourths = 0;
    for (const double x : values) {
      const double d = x - mean;
      variance += d * d / count;
      cubes += d * d * d / count;
      fourths += d * d * d * d / count;
      const double place = max > min ? (x - min) / (max - min) : 0;
      histogram[std::min(static_cast<size_t>(place * kBins), kBins - 1)]++;
    }
    if (variance > 0) {
      skewness = cubes / std::pow(variance, 1.5);
      kurtosis = fourths / (variance * variance) - 3;
    }
  }

  std::string text(std::string_view title) const {
    return fmt::format(
        "  {}: mean {:.6g} std {:.6g} min {:.6g} max {:.6g} skewness {:.6g} kurtosis {:.6g}{}\n"
        "    histogram [{}]\n",
        title, mean, std::sqrt(variance), min, max, skewness, kurtosis,
        infinite ? fmt::format(" not finite {}", infinite) : "", fmt::join(histogram, " "));
  }

  static constexpr size_t kBins = 32;
  double mean = 0, variance = 0, min = 0, max = 0, skewness = 0, kurtosis = 0;
  size_t infinite = 0;
  std::array<size_t, kBins> histogram{};  // of equal parts of [min, max]
};

// How far `is` is from `was`.
struct Distance {
  Distance(const Values& was, const Values& is) {
    double signal = 0, product = 0, other = 0;
    const auto count = static_cast<double>(was.size());
    for (size_t i = 0; i < was.size(); i++) {
      const double d = is[i] - was[i];
      noise.push_back(d);
      mse += d * d / count;
      mae += std::fabs(d) / count;
      signal += was[i] * was[i];
      other += is[i] * is[i];
      product += was[i] * is[i];
    }
    snr = signal > 0 ? mse * count / signal : mse * count;
    cosine = signal > 0 && other > 0 ? 1 - product / std::sqrt(signal * other)
                                     : (signal == other ? 0 : 1);
  }

  double mse = 0, mae = 0, snr = 0, cosine = 0;
  Values noise;
};

}  // namespace

void check_same_results(const std::shared_ptr<const runtime::Model>& original,
                        const std::shared_ptr<const runtime::Model>& converted, bool quarters) {
  const auto was = run(original), is = run(converted);
  const Tolerance tolerance = quarters ? kQuarter : tolerance_of(*converted);
  for (const auto& [name, values] : was) {
    const auto found = is.find(name);
    if (found == is.end() || found->second.size() != values.size())
      fail(ErrorCode::data_loss, "`check`: the converted model has {} output '{}' of {} elements",
           found == is.end() ? "no" : "another size than that of", name, values.size());
    const double most = largest(values);
    size_t bad = 0;
    double worst = 0;
    for (size_t i = 0; i < values.size(); i++) {
      if (!differs(values[i], found->second[i], tolerance, most)) continue;
      bad++;
      worst = std::max(worst, std::fabs(values[i] - found->second[i]));
    }
    if (bad)
      fail(ErrorCode::data_loss,
           "`check`: output '{}' of the converted model differs in {} of {} elements by up to "
           "{:.3g}, the original's largest is {:.3g}",
           name, bad, values.size(), worst, most);
  }
}

std::string compare_layers(const std::vector<Layer>& layers,
                           const std::shared_ptr<const runtime::Model>& original,
                           const std::shared_ptr<const runtime::Model>& converted,
                           const std::map<std::string, Tensor>& data) {
  const auto was = run(original, data), is = run(converted, data);
  std::string text;
  std::vector<std::pair<double, size_t>> ranks;  // by 0 - distance
  for (size_t i = 0; i < layers.size(); i++) {
    const Layer& layer = layers[i];
    const Values &before = was.at(layer.name), &after = is.at(layer.name);
    const Distance d(before, after);
    const Statistics noise(d.noise);
    text += fmt::format(
        "{} {}: MSE {:.6g} MAE {:.6g} SNR {:.6g} cosine distance {:.6g} noise skewness {:.6g} "
        "noise kurtosis {:.6g}\n",
        layer.type, layer.name, d.mse, d.mae, d.snr, d.cosine, noise.skewness, noise.kurtosis);
    text += Statistics(before).text("original") + Statistics(after).text("converted") +
            noise.text("noise");
    ranks.emplace_back(std::isnan(d.cosine) ? -INFINITY : -d.cosine, i);
  }
  std::ranges::sort(ranks);
  text += "\ncosine distance, the worst first\n";
  for (const auto& [rank, i] : ranks)
    text += fmt::format("{:.6g} {} {}\n", 0 - rank, layers[i].type, layers[i].name);
  return text;
}

}  // namespace poprt::capi
