#include "compiler/quantize/calibrate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/log.h"
#include "base/quarter.h"
#include "compiler/quantize/calibrate_bytes.h"
#include "compiler/quantize/format_search.h"
#include "compiler/quantize/gptq.h"
#include "compiler/quantize/samples.h"
#include "ops/facts.h"
#include "passes/common/weighted_products.h"

namespace poprt::compiler {
namespace {

using passes::PrecisionParameters;
using passes::QuarterFormat;
using passes::WeightedProduct;

// At least this many values per tensor are recorded over all runs if there are more, and fewer than
// twice as many. More values do not change the choice.
constexpr int64_t kLeastValues = int64_t{1} << 18;
// About the number of rows of a product's inputs that GPTQ correlates, over all runs, if there are
// more.
constexpr int64_t kMostRows = 4096;

// The input values of a product over all runs.
struct Recorded {
  const ir::Value* value;
  std::vector<float> values;
};

struct Layer {
  WeightedProduct product;
  size_t data = 0;                    // index in Calibrator::recorded_
  std::optional<FormatSearch> input;  // not set without data
  FormatSearch weight;
  std::optional<GptqResult> gptq;
  double loss = 0;
};

class Calibrator {
 public:
  Calibrator(ir::Graph& graph, const Options& options)
      : graph_(graph),
        options_(options),
        calibration_(*options.calibration),
        weights_only_(options.narrowing.fp8_weights_only),
        parameters_(options.narrowing) {}

  PrecisionParameters run();
  std::string log() const;

 private:
  void find_layers();
  void record();
  void add_values(Recorded& to, const Tensor& data, int64_t run, int64_t runs);
  void add_rows(const Tensor& data, size_t recorded, int64_t runs);
  void search(Layer& layer);
  void adjust(Layer& layer, size_t index);
  void keep_worst();
  std::string log_of(const Layer& layer) const;

  Loss searched() const { return calibration_.loss == Loss::gptq ? Loss::mse : calibration_.loss; }
  bool records() const {
    return !calibration_.data.empty() && (!weights_only_ || calibration_.loss == Loss::gptq);
  }

  ir::Graph& graph_;
  const Options& options_;
  const Calibration& calibration_;
  const bool weights_only_;
  PrecisionParameters parameters_;
  std::vector<Layer> layers_;
  std::vector<Recorded> recorded_;
  std::vector<std::optional<Gram>> grams_;  // by layer; MatMuls of one tensor share one
  std::vector<size_t> gram_of_;
  std::vector<const Layer*> kept_;
};

// Finds the layers outside of branches and loops. Layers inside use the formats of float_to_fp8.
void Calibrator::find_layers() {
  std::unordered_map<const ir::Value*, size_t> places;
  passes::for_each_product(graph_, [&](WeightedProduct& p) {
    if (&p.node->graph() != &graph_ || !p.data->type.is_static()) return;
    for (const std::string& name : parameters_.fp8_skip_op_names)
      if (parameters_.fp8_skip_op && p.is_called(name)) return;
    const auto [place, added] = places.emplace(p.data, recorded_.size());
    if (added) recorded_.push_back({p.data, {}});
    layers_.push_back({p, place->second, std::nullopt, {}, std::nullopt, 0});
  });
}

void Calibrator::add_values(Recorded& to, const Tensor& data, int64_t run, int64_t runs) {
  const std::vector<float> all = passes::to_floats(data);
  const auto count = static_cast<int64_t>(all.size());
  const int64_t step = std::max<int64_t>(1, count * runs / kLeastValues);
  for (int64_t i = run % step; i < count; i += step)
    if (const float v = all[static_cast<size_t>(i)]; std::isfinite(v)) to.values.push_back(v);
  // The largest value determines the range that the format must represent.
  const auto most = std::ranges::max_element(
      all, {}, [](float v) { return std::isfinite(v) ? std::fabs(v) : 0.0f; });
  if (step > 1 && most != all.end() && std::isfinite(*most)) to.values.push_back(*most);
}

// Removes the rows with infinities or NaN, which would be in all sums.
void keep_finite_rows(std::vector<float>& rows, size_t size) {
  auto end = rows.begin();
  for (auto row = rows.begin(); row != rows.end(); row += static_cast<ptrdiff_t>(size)) {
    const auto next = row + static_cast<ptrdiff_t>(size);
    if (std::all_of(row, next, [](float v) { return std::isfinite(v); }))
      end = end == row ? next : std::copy(row, next, end);
  }
  rows.erase(end, rows.end());
}

void Calibrator::add_rows(const Tensor& data, size_t recorded, int64_t runs) {
  for (size_t i = 0; i < layers_.size(); i++) {
    if (layers_[i].data != recorded || gram_of_[i] != i) continue;
    const int64_t most = std::max<int64_t>(1, kMostRows / runs);
    std::vector<float> rows = rows_of(*layers_[i].product.node, data, most);
    if (rows.empty()) continue;
    const Shape& w = layers_[i].product.weight->shape();
    const int64_t size = element_count(w) / w[static_cast<size_t>(layers_[i].product.output_axis)];
    keep_finite_rows(rows, static_cast<size_t>(size));
    if (rows.empty()) continue;
    if (!grams_[i]) grams_[i].emplace(size);
    grams_[i]->add(rows);
  }
}

// Runs the model on all data with the inputs of its products as outputs.
void Calibrator::record() {
  const Samples samples(graph_, calibration_.data);
  if (!records() || layers_.empty()) return;
  gram_of_.resize(layers_.size());
  grams_.resize(layers_.size());
  const auto is_conv = [&](size_t i) {
    return ops::facts_of(*layers_[i].product.node).layer == ops::LayerForm::conv;
  };
  for (size_t i = 0; i < layers_.size(); i++) {
    gram_of_[i] = i;  // MatMuls of one tensor read the same rows
    for (size_t j = 0; j < i && !is_conv(i); j++)
      if (layers_[j].data == layers_[i].data && !is_conv(j)) {
        gram_of_[i] = gram_of_[j];
        break;
      }
  }
  const auto copy = graph_.clone();
  while (!copy->outputs().empty()) copy->remove_output(copy->outputs().size() - 1);
  for (const Recorded& r : recorded_) copy->add_output(copy->find(r.value->name()));
  RunnableGraph model = runnable(*copy, options_);
  for (int64_t run = 0; run < samples.runs(); run++) {
    samples.run_model(model, run);
    for (size_t i = 0; i < recorded_.size(); i++) {
      if (!weights_only_) add_values(recorded_[i], model.outputs[i], run, samples.runs());
      if (calibration_.loss == Loss::gptq) add_rows(model.outputs[i], i, samples.runs());
    }
    report_calibration(options_,
                       0.5 * static_cast<double>(run + 1) / static_cast<double>(samples.runs()));
  }
}

void Calibrator::search(Layer& layer) {
  const std::vector<float> weight =
      finite_values(passes::to_floats(layer.product.weight->constant()));
  const std::vector<float>& data = recorded_[layer.data].values;
  if (calibration_.data.empty()) {
    const QuarterFormat& format = parameters_.fp8.weight;
    layer.weight.trials = {{format, loss_of(searched(), weight, rounded(weight, format))}};
  } else {
    layer.weight = search_format(weight, searched());
    if (!weights_only_) layer.input = search_format(data, searched());
  }
  layer.loss = layer.weight.chosen().loss + (layer.input ? layer.input->chosen().loss : 0);
}

// Reorders weights to the order of the rows that they multiply, and codes back to the original
// order.
template <class T>
std::vector<T> by_result(const WeightedProduct& p, std::span<const T> values, bool back) {
  std::vector<T> out(values.begin(), values.end());
  if (p.output_axis == 0) return out;
  const Shape& w = p.weight->shape();
  const auto rows = static_cast<size_t>(back ? w[1] : w[0]);
  const auto columns = static_cast<size_t>(back ? w[0] : w[1]);
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < columns; c++) out[c * rows + r] = values[r * columns + c];
  return out;
}

void Calibrator::adjust(Layer& layer, size_t index) {
  if (grams_.empty() || !grams_[gram_of_[index]]) return;
  const Tensor& tensor = layer.product.weight->constant();
  const std::vector<float> values = passes::to_floats(tensor);
  const std::vector<float> weights = by_result<float>(layer.product, values, false);
  layer.gptq = gptq(*grams_[gram_of_[index]], weights, layer.weight.chosen().format);
  layer.loss = layer.gptq->after;
  const std::vector<uint8_t> codes = by_result<uint8_t>(layer.product, layer.gptq->codes, true);
  parameters_.fp8_codes[layer.product.node->output()->name()] =
      Tensor::of<uint8_t>(tensor.shape(), codes);
}

void Calibrator::keep_worst() {
  std::vector<size_t> order(layers_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Equal losses keep the order of the layers.
  std::ranges::sort(order, {}, [&](size_t i) { return std::pair(-layers_[i].loss, i); });
  const auto count = static_cast<size_t>(calibration_.layers_to_keep);
  if (count > order.size())
    poprt::log().warn("`num_of_layers_keep_fp16` {}: there are {} layers, all of them stay fp16",
                      count, order.size());
  order.resize(std::min(count, order.size()));
  for (const size_t i : order) {
    kept_.push_back(&layers_[i]);
    parameters_.fp8_skip_op_names.push_back(layers_[i].product.node->output()->name());
  }
  if (!order.empty()) parameters_.fp8_skip_op = true;
}

PrecisionParameters Calibrator::run() {
  find_layers();
  if (!calibration_.data.empty()) record();
  for (size_t i = 0; i < layers_.size(); i++) {
    search(layers_[i]);
    if (calibration_.loss == Loss::gptq) adjust(layers_[i], i);
    report_calibration(
        options_, 0.5 + 0.5 * static_cast<double>(i + 1) / static_cast<double>(layers_.size()));
  }
  keep_worst();
  for (const Layer& layer : layers_) {
    const std::string& name = layer.product.node->output()->name();
    if (std::ranges::count(kept_, &layer)) {
      parameters_.fp8_codes.erase(name);
      continue;
    }
    parameters_.fp8_weight_dict[name] = layer.weight.chosen().format;
    if (layer.input) parameters_.fp8_input_dict[name] = layer.input->chosen().format;
  }
  return parameters_;
}

std::string format_text(const QuarterFormat& f) {
  return fmt::format("{},{}", passes::quarter_name(f.dtype), f.scale);
}

std::string search_text(std::string_view title, const FormatSearch& search) {
  std::string text = fmt::format("  {}: chosen {} loss {:.6g}\n", title,
                                 format_text(search.chosen().format), search.chosen().loss);
  for (const FormatTrial& t : search.trials)
    text += fmt::format("    {} loss {:.6g}\n", format_text(t.format), t.loss);
  return text;
}

std::string moments_text(std::string_view title, std::span<const float> values) {
  const Moments m = moments_of(values);
  return fmt::format("    {}: mean {:.6g} variance {:.6g} skewness {:.6g} kurtosis {:.6g}\n", title,
                     m.mean, m.variance, m.skewness, m.kurtosis);
}

std::string statistics_text(std::span<const float> was, const QuarterFormat& format) {
  const std::vector<float> is = rounded(was, format);
  std::vector<float> noise(was.size());
  for (size_t i = 0; i < noise.size(); i++) noise[i] = is[i] - was[i];
  return moments_text("before", was) + moments_text("after", is) + moments_text("noise", noise);
}

std::string Calibrator::log_of(const Layer& layer) const {
  const WeightedProduct& p = layer.product;
  std::string text = fmt::format("{} {}{}\n", p.node->op_type, p.name(),
                                 std::ranges::count(kept_, &layer) ? ": stays fp16" : "");
  if (calibration_.loss == Loss::gptq) {
    text += fmt::format("  weight: chosen {}\n", format_text(layer.weight.chosen().format));
    if (layer.gptq)
      text += fmt::format("  weight loss: before {:.6g} after {:.6g}\n", layer.gptq->before,
                          layer.gptq->after);
    else
      text += "  weight loss: not adjusted, rounded to nearest\n";
    return text;
  }
  const bool statistics = calibration_.loss != Loss::kld;
  text += search_text("weight", layer.weight);
  if (statistics)
    text += statistics_text(passes::to_floats(p.weight->constant()), layer.weight.chosen().format);
  if (!layer.input) return text;
  text += search_text("input", *layer.input);
  if (statistics)
    text += statistics_text(recorded_[layer.data].values, layer.input->chosen().format);
  return text;
}

std::string Calibrator::log() const {
  std::string text =
      fmt::format("precision {}, loss {}, {} layers\n", weights_only_ ? "fp8_weight" : "fp8",
                  loss_name(calibration_.loss), layers_.size());
  for (const Layer& layer : layers_) text += log_of(layer);
  return text;
}

}  // namespace

std::vector<float> rows_of(const ir::Node& node, const Tensor& data, int64_t most) {
  const std::vector<float> x = passes::to_floats(data);
  const Shape& shape = data.shape();
  const Shape& weight = node.input(1)->shape();
  std::vector<float> rows;
  if (ops::facts_of(node).layer != ops::LayerForm::conv) {
    if (weight.size() != 2 || x.empty()) return {};
    const int64_t size = shape.back(), count = static_cast<int64_t>(x.size()) / size;
    const int64_t step = std::max<int64_t>(1, count / most);
    for (int64_t r = 0; r < count; r += step)
      rows.insert(rows.end(), x.begin() + r * size, x.begin() + (r + 1) * size);
    return rows;
  }
  if (weight.size() != 4 || node.int_attr("group", 1) != 1 ||
      node.string_attr("auto_pad", "NOTSET") != "NOTSET")
    return {};
  const auto strides = node.ints_attr("strides", {1, 1});
  const auto dilations = node.ints_attr("dilations", {1, 1});
  const auto pads = node.ints_attr("pads", {0, 0, 0, 0});
  const Shape& result = node.output()->shape();
  if (result.size() != 4) return {};
  const int64_t places = result[0] * result[2] * result[3];
  const int64_t step = std::max<int64_t>(1, places / most);
  for (int64_t place = 0; place < places; place += step) {
    const int64_t column = place % result[3], line = place / result[3] % result[2];
    const int64_t image = place / (result[2] * result[3]);
    for (int64_t c = 0; c < weight[1]; c++)
      for (int64_t i = 0; i < weight[2]; i++)
        for (int64_t j = 0; j < weight[3]; j++) {
          const int64_t h = line * strides[0] - pads[0] + i * dilations[0];
          const int64_t w = column * strides[1] - pads[1] + j * dilations[1];
          const bool inside = h >= 0 && h < shape[2] && w >= 0 && w < shape[3];
          rows.push_back(
              inside
                  ? x[static_cast<size_t>(((image * shape[1] + c) * shape[2] + h) * shape[3] + w)]
                  : 0);
        }
  }
  return rows;
}

void report_calibration(const Options& options, double done) {
  if (options.progress) options.progress(done, "calibration");
}

PrecisionParameters calibrate(ir::Graph& graph, const Options& options) {
  const Calibration& calibration = *options.calibration;
  const auto result =
      calibration.result ? calibration.result : std::make_shared<CalibrationResult>();
  const std::lock_guard lock(result->mutex);
  if (!result->parameters) {
    if (options.precision == Precision::int8) {
      result->parameters = calibrate_bytes(graph, options, result->log);
    } else {
      Calibrator calibrator(graph, options);
      result->parameters = calibrator.run();
      result->log = calibrator.log();
    }
  }
  if (calibration.log) calibration.log(result->log);
  return *result->parameters;
}

RunnableGraph runnable(const ir::Graph& graph, const Options& options) {
  auto copy = graph.clone();
  const auto is_static = [](const ir::Value* v) { return v->type.is_static(); };
  if (!std::ranges::all_of(copy->values(), is_static)) {
    Options plain;
    plain.plain = true;
    for (const auto& [name, most] : options.max_size)
      if (copy->find(name)) plain.max_size[name] = most;
    const WarningFilter quiet([](const std::string&) { return false; });
    convert(*copy, plain);
  }
  RunnableGraph made;
  for (const ir::Value* v : copy->outputs())
    made.outputs.push_back(Tensor::zeros(v->dtype(), v->shape()));
  made.run = options.calibration->load(compile(*copy, {}));
  return made;
}

void compare_calibrated(const ir::Graph& original, const ir::Graph& converted,
                        const Options& options) {
  const Calibration& calibration = *options.calibration;
  const auto result = calibration.result;
  std::unique_lock<std::mutex> lock;
  if (result) lock = std::unique_lock(result->mutex);
  std::string log = result ? result->log : std::string();
  if (!result || !result->compared) {
    log += measure_accuracy(original, converted, options);
    if (result) {
      result->log = log;
      result->compared = true;
    }
  }
  if (calibration.log) calibration.log(log);
}

}  // namespace poprt::compiler
