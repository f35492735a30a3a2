#include "model_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/error.h"
#include "base/json.h"
#include "check_runs.h"

namespace poprt::capi {
namespace {

using Values = std::vector<double>;

// The runs of both models with each set of inputs.
struct Runs {
  std::vector<InputSet> sets;
  std::vector<CheckedRun> original, converted;

  Runs(const CheckedModels& models, const Tolerance& tolerance, const CheckData& data,
       std::string_view option) {
    // The models run one after the other because there may be only one device.
    const std::vector<CheckInput> inputs = CheckedModel(models.original).inputs();
    // Halves cannot represent large integers that become floats.
    sets = input_sets(inputs, data, tolerance.integer_relative == 0);
    original = run_sets(models.original, sets, inputs);
    const auto runs = [](const CheckedRun& run) { return !run.failure; };
    if (std::ranges::none_of(original, runs))
      fail(ErrorCode::failed_precondition,
           "`{}`: the original model fails with all inputs; with '{}': {}", option, sets[0].name,
           original[0].failure->message());
    converted = run_sets(models.converted, sets, inputs);
  }

  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (size_t i = 0; i < sets.size(); i++)
      lines.push_back(fmt::format("inputs '{}': {}{}", sets[i].name, sets[i].how,
                                  original[i].failure ? "; not compared, the original fails: " +
                                                            original[i].failure->message()
                                                      : ""));
    return lines;
  }

  nlohmann::ordered_json json() const {
    auto list = nlohmann::ordered_json::array();
    for (size_t i = 0; i < sets.size(); i++) {
      list.push_back(
          {{"name", sets[i].name}, {"how", sets[i].how}, {"compared", !original[i].failure}});
      if (original[i].failure) list.back()["original_fails"] = original[i].failure->message();
    }
    return list;
  }
};

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

// The distance of `is` from `was`.
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

// Moves the inner results of the original model from the run to the comparison, which only reports
// their sizes.
void take_inner_sizes(Comparison& comparison, const std::string& inputs, CheckedRun& run,
                      const std::vector<std::string>& inner) {
  for (const std::string& name : inner) {
    const auto found = run.outputs.find(name);
    if (found == run.outputs.end()) continue;
    comparison.add_size(inputs, name, found->second);
    run.outputs.erase(found);
  }
}

std::string verdict(const Comparison& comparison) {
  return comparison.equal() ? "the outputs are those of the original"
                            : "the outputs differ from those of the original, within the tolerance";
}

std::string fault_message(const Comparison& comparison, const Tolerance& tolerance) {
  std::string text = "`check`: " + comparison.fault()->text;
  if (const auto& d = comparison.largest_absolute())
    text += "; largest absolute difference: " + d->text();
  if (const auto& d = comparison.largest_relative())
    text += "; largest relative difference: " + d->text();
  return text + "; tolerance: " + tolerance.text() + "; no converted model is written";
}

// Writes the numbers of one layer with the first inputs. Returns the cosine distance, or nothing if
// it is not defined.
std::optional<double> describe_layer(const Layer& layer, const CheckedOutput& original,
                                     const CheckedOutput& converted, std::string& text) {
  if (original.real != converted.real) {
    text += fmt::format("{} {}: the size is {} in the original and {} in the converted model\n",
                        layer.type, layer.name, shape_string(original.real),
                        shape_string(converted.real));
    return std::nullopt;
  }
  if (element_count(original.real) == 0) {
    text += fmt::format("{} {}: the result has no elements, its size is {}\n", layer.type,
                        layer.name, shape_string(original.real));
    return std::nullopt;
  }
  const Values before = original.values(), after = converted.values();
  const Distance d(before, after);
  const Statistics noise(d.noise);
  text += fmt::format(
      "{} {}: MSE {:.6g} MAE {:.6g} SNR {:.6g} cosine distance {:.6g} noise skewness {:.6g} "
      "noise kurtosis {:.6g}\n",
      layer.type, layer.name, d.mse, d.mae, d.snr, d.cosine, noise.skewness, noise.kurtosis);
  text += Statistics(before).text("original") + Statistics(after).text("converted") +
          noise.text("noise");
  return d.cosine;
}

// The part of a log about one set of inputs.
std::string layer_table(const std::vector<Layer>& layers, const CheckedRun& was,
                        const CheckedRun& is) {
  std::string text;
  std::vector<std::pair<double, size_t>> ranks;  // negative distance
  for (size_t i = 0; i < layers.size(); i++) {
    const std::string& name = layers[i].name;
    const auto distance =
        describe_layer(layers[i], was.outputs.at(name), is.outputs.at(name), text);
    if (distance) ranks.emplace_back(std::isnan(*distance) ? -INFINITY : -*distance, i);
  }
  std::ranges::sort(ranks);
  text += "\ncosine distance, the worst first\n";
  for (const auto& [rank, i] : ranks)
    text += fmt::format("{:.6g} {} {}\n", 0 - rank, layers[i].type, layers[i].name);
  return text;
}

}  // namespace

Tolerance tolerance_of(std::string_view precision, const runtime::Model& converted,
                       bool quantizes) {
  if (precision.starts_with("fp8")) return kQuarter;
  if (precision == "int8") return kByte;
  if (precision == "bf16") return quantizes ? kByte : kBfloat;
  if (precision == "fp16" || precision == "f16") return quantizes ? kByte : kHalf;
  for (const auto* anchors : {&converted.inputs(), &converted.outputs()})
    for (const auto& a : *anchors)
      if (a.dtype == DType::f16 || a.dtype == DType::bf16) return kHalf;
  return kExact;
}

std::string check_same_results(const CheckedModels& models, const Tolerance& tolerance,
                               const CheckData& data) {
  Runs runs(models, tolerance, data, "check");
  Comparison comparison(tolerance);
  for (size_t i = 0; i < runs.sets.size(); i++) {
    take_inner_sizes(comparison, runs.sets[i].name, runs.original[i], models.inner);
    comparison.add(runs.sets[i].name, runs.original[i], runs.converted[i]);
  }
  if (comparison.fault()) fail(ErrorCode::data_loss, "{}", fault_message(comparison, tolerance));
  std::vector<std::string> lines = {verdict(comparison)};
  for (const auto& more : {comparison.lines(), runs.lines()})
    lines.insert(lines.end(), more.begin(), more.end());
  nlohmann::ordered_json json = {{"text", lines}};
  json.update(comparison.json());
  json["inputs"] = runs.json();
  return json_text(json, 2) + "\n";
}

std::string compare_layers(const std::vector<Layer>& layers, const CheckedModels& models,
                           const Tolerance& tolerance, const CheckData& data) {
  const Runs runs(models, tolerance, data, "precision_compare");
  Comparison comparison(tolerance);
  size_t first = runs.sets.size();
  for (size_t i = 0; i < runs.sets.size(); i++) {
    const CheckedRun &was = runs.original[i], &is = runs.converted[i];
    if (was.failure) continue;
    if (is.failure) {
      comparison.add(runs.sets[i].name, was, is);
      continue;
    }
    first = std::min(first, i);
    for (const Layer& layer : layers)
      comparison.add_output(runs.sets[i].name, layer.name, was.outputs.at(layer.name),
                            is.outputs.at(layer.name));
  }
  if (first == runs.sets.size())
    fail(ErrorCode::data_loss, "`precision_compare`: {}", comparison.fault()->text);
  std::vector<std::string> lines = {
      comparison.equal()   ? "the results of all layers are those of the original"
      : comparison.fault() ? "outside the tolerance of check: " + comparison.fault()->text
                           : "the results of all layers are within the tolerance of check"};
  for (const auto& more : {comparison.lines(), runs.lines()})
    lines.insert(lines.end(), more.begin(), more.end());
  lines.push_back(fmt::format("numbers of each layer: with inputs '{}'", runs.sets[first].name));
  return fmt::format("{}\n\n{}", fmt::join(lines, "\n"),
                     layer_table(layers, runs.original[first], runs.converted[first]));
}

}  // namespace poprt::capi
