#include "compiler/quantize/calibrate_bytes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/log.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/range_search.h"
#include "compiler/quantize/samples.h"
#include "passes/common/byte_values.h"
#include "passes/common/byte_weights.h"
#include "passes/common/weighted_products.h"

namespace poprt::compiler {
namespace {

using ir::Value;
using passes::ByteValues;
using passes::PrecisionParameters;
using passes::WeightedProduct;

// The number of samples of the data and of each run. The input with the most runs determines both,
// because the array of an input with fewer runs is repeated.
struct SampleCounts {
  int64_t all = 0, run = 1;
};

SampleCounts counts_of(const ir::Graph& graph, const std::map<std::string, Tensor>& data) {
  SampleCounts counts;
  int64_t most = 0;
  for (const Value* v : graph.inputs()) {
    const auto found = data.find(v->name());
    if (v->is_constant() || found == data.end() || v->shape().empty() || v->shape()[0] == 0)
      continue;
    const int64_t all = found->second.shape()[0], run = v->shape()[0];
    const int64_t runs = (all + run - 1) / run;
    if (runs < most || (runs == most && all < counts.all)) continue;
    most = runs;
    counts = {all, run};
  }
  return counts;
}

// The runs of the data that measure the result and are not used to choose ranges.
struct HeldOut {
  int64_t first = 0, end = 0;
  bool separate() const { return first > 0; }
};

HeldOut held_out(const Samples& samples, const SampleCounts& counts) {
  constexpr int64_t kPart = 5;
  HeldOut held{samples.runs(), samples.runs()};
  do held.first--;
  while (held.first > 1 && kPart * (counts.all - held.first * counts.run) < counts.all);
  return held;
}

class ByteCalibrator {
 public:
  ByteCalibrator(ir::Graph& graph, const Options& options)
      : graph_(graph), options_(options), calibration_(*options.calibration) {}

  PrecisionParameters run();
  std::string log() const;

 private:
  struct Layer {
    WeightedProduct product;
    double data_loss = 0, weight_loss = 0;  // squared error over sum of squares
    bool stays = false;                     // whether the layer stays in f32
    std::string reason = {};
    double loss() const { return data_loss + weight_loss; }
  };

  void find_layers();
  void record(const ByteValues& values);
  void keep_worst();
  bool is_skipped(const WeightedProduct& p);
  std::vector<WeightedProduct> products() const;

  ir::Graph& graph_;
  const Options& options_;
  const Calibration& calibration_;
  std::vector<Layer> layers_;
  std::set<std::string> skipped_;  // names of int8_skip_op_names that are products
  std::unordered_map<const Value*, RangeSearch> searches_;
  std::vector<const Value*> searched_;
};

bool ByteCalibrator::is_skipped(const WeightedProduct& p) {
  bool any = false;
  for (const std::string& name : options_.narrowing.int8_skip_op_names)
    if (p.is_called(name)) {
      skipped_.insert(name);
      any = true;
    }
  return any;
}

void ByteCalibrator::find_layers() {
  passes::for_each_product(graph_, [&](const WeightedProduct& p) {
    if (&p.node->graph() != &graph_) return;
    Layer layer{.product = p};
    if (is_skipped(p))
      layer.reason = "int8_skip_op_names";
    else if (!passes::takes_bytes(p))
      layer.reason = "no kernel for bytes is faster";
    layer.stays = !layer.reason.empty();
    layers_.push_back(layer);
  });
  for (const std::string& name : options_.narrowing.int8_skip_op_names)
    if (!skipped_.contains(name))
      poprt::log().warn(
          "int8_skip_op_names: the model has no Conv, MatMul or Gemm '{}' with constant weights",
          name);
}

std::vector<WeightedProduct> ByteCalibrator::products() const {
  std::vector<WeightedProduct> found;
  for (const Layer& layer : layers_)
    if (!layer.stays) found.push_back(layer.product);
  return found;
}

// Runs the model on the data, except the held-out runs, with the values as outputs.
void ByteCalibrator::record(const ByteValues& values) {
  const Samples samples(graph_, calibration_.data);
  const HeldOut held = held_out(samples, counts_of(graph_, calibration_.data));
  const int64_t runs = held.separate() ? held.first : samples.runs();
  std::vector<const Value*> sources;
  for (const Value* v : values.values())
    if (values.source(v) == v) sources.push_back(v);
  const auto copy = graph_.clone();
  while (!copy->outputs().empty()) copy->remove_output(copy->outputs().size() - 1);
  for (const Value* v : sources) copy->add_output(copy->find(v->name()));
  RunnableGraph model = runnable(*copy, options_);
  std::vector<RecordedValues> recorded(sources.size());
  for (int64_t run = 0; run < runs; run++) {
    samples.run_model(model, run);
    for (size_t i = 0; i < sources.size(); i++)
      recorded[i].add(model.outputs[i].values<float>(), run, runs);
    report_calibration(options_, 0.5 * static_cast<double>(run + 1) / static_cast<double>(runs));
  }
  for (size_t i = 0; i < sources.size(); i++) {
    report_calibration(
        options_, 0.5 + 0.5 * static_cast<double>(i + 1) / static_cast<double>(sources.size()));
    const RangeSearch search =
        search_range(recorded[i], calibration_.loss, calibration_.percentile);
    const std::vector<float> after = rounded(recorded[i].sample, search.chosen().format);
    for (Layer& layer : layers_)
      if (values.source(layer.product.data) == sources[i])
        layer.data_loss = loss_of(Loss::snr, recorded[i].sample, after);
    searches_.emplace(sources[i], search);
    searched_.push_back(sources[i]);
    recorded[i] = {};
  }
}

double weight_loss_of(const WeightedProduct& p) {
  const Tensor& weight = p.weight->constant();
  std::vector<float> scales = passes::byte_scales(weight, p.output_axis);
  for (float& s : scales)
    if (s == 0) s = 1;
  const Tensor bytes = passes::to_bytes(weight, p.output_axis, scales);
  const std::vector<float> was = passes::to_floats(weight);
  std::vector<float> is(was.size());
  const Shape& shape = weight.shape();
  const auto axis = static_cast<size_t>(p.output_axis);
  const auto inner = static_cast<size_t>(element_count(std::span(shape).subspan(axis + 1)));
  for (size_t i = 0; i < is.size(); i++)
    is[i] = static_cast<float>(bytes.values<int8_t>()[i]) * scales[i / inner % scales.size()];
  return loss_of(Loss::snr, was, is);
}

void ByteCalibrator::keep_worst() {
  std::vector<Layer*> order;
  for (Layer& layer : layers_)
    if (!layer.stays) order.push_back(&layer);
  // Equal losses keep the order of the layers, which is that of their addresses.
  std::ranges::sort(order, {}, [](const Layer* l) { return std::pair(-l->loss(), l); });
  const auto count = static_cast<size_t>(calibration_.layers_to_keep);
  if (count > order.size())
    poprt::log().warn("`num_of_layers_keep_fp32` {}: there are {} layers, all of them stay fp32",
                      count, order.size());
  for (size_t i = 0; i < std::min(count, order.size()); i++) {
    order[i]->stays = true;
    order[i]->reason = "num_of_layers_keep_fp32";
  }
}

PrecisionParameters ByteCalibrator::run() {
  PrecisionParameters parameters = options_.narrowing;
  find_layers();
  if (products().empty()) {
    poprt::log().warn("`precision` int8: the model has no Conv, MatMul or Gemm for bytes");
    return parameters;
  }
  const ByteValues all(graph_, products());
  for (Layer& layer : layers_)
    if (!layer.stays) layer.weight_loss = weight_loss_of(layer.product);
  record(all);
  keep_worst();
  const ByteValues left(graph_, products());
  for (const Value* v : left.values())
    parameters.byte_values[v->name()] = searches_.at(all.source(v)).chosen().format;
  for (const WeightedProduct& p : products())
    parameters.byte_products.insert(p.node->output()->name());
  return parameters;
}

std::string ByteCalibrator::log() const {
  std::string text = fmt::format("precision int8, loss {}, {} layers\n",
                                 loss_name(calibration_.loss), layers_.size());
  for (const Layer& layer : layers_) {
    text += fmt::format("{} {}", layer.product.node->op_type, layer.product.name());
    if (layer.stays) text += fmt::format(": stays fp32 ({})", layer.reason);
    text += fmt::format("\n  squared error: input {:.6g} weight {:.6g}\n", layer.data_loss,
                        layer.weight_loss);
  }
  for (const Value* v : searched_) {
    const RangeSearch& search = searches_.at(v);
    const RangeTrial& best = search.chosen();
    text += fmt::format(
        "value {}: chosen [{:.6g}, {:.6g}] scale {:.6g} zero point {} loss {:.6g}\n", v->name(),
        best.least, best.most, best.format.scale, best.format.zero, best.loss);
    for (const RangeTrial& t : search.trials)
      text += fmt::format("    [{:.6g}, {:.6g}] loss {:.6g}\n", t.least, t.most, t.loss);
  }
  return text;
}

// Differences of one output over all runs.
class OutputDifference {
 public:
  // Both tensors have the size of one run, with `rows` samples that count.
  void add(const Tensor& was, const Tensor& is, int64_t rows) {
    const std::vector<double> a = was.to_doubles(), b = is.to_doubles();
    const int64_t all = was.shape().empty() ? 1 : was.shape()[0];
    const size_t row = all > 0 ? a.size() / static_cast<size_t>(all) : 0;
    const size_t count = was.shape().empty() ? a.size() : row * static_cast<size_t>(rows);
    for (size_t i = 0; i < count; i++) {
      squares_ += a[i] * a[i];
      errors_ += (b[i] - a[i]) * (b[i] - a[i]);
      largest_ = std::max(largest_, std::fabs(b[i] - a[i]));
      magnitude_ = std::max(magnitude_, std::fabs(a[i]));
    }
    if (was.shape().size() != 2 || row < 2) return;
    for (size_t r = 0; r < count; r += row) {
      rows_++;
      same_ += place(a, r, row) == place(b, r, row) ? 1 : 0;
    }
  }

  std::string text(const std::string& name) const {
    const double relative = squares_ > 0 ? std::sqrt(errors_ / squares_) : std::sqrt(errors_);
    std::string line = fmt::format(
        "output {}: relative error {:.4g}, largest difference {:.4g} of values up to {:.4g}", name,
        relative, largest_, magnitude_);
    if (rows_ > 0)
      line += fmt::format(", the largest element is the same in {:.2f} % of rows",
                          100.0 * static_cast<double>(same_) / static_cast<double>(rows_));
    return line;
  }

  // The place of the largest element of a row.
  static size_t place(std::span<const double> values, size_t begin, size_t count) {
    const auto row = values.subspan(begin, count);
    return static_cast<size_t>(std::ranges::max_element(row) - row.begin());
  }

 private:
  double squares_ = 0, errors_ = 0, largest_ = 0, magnitude_ = 0;
  int64_t rows_ = 0, same_ = 0;
};

// Correct answers of both models.
class Labels {
 public:
  Labels(const std::vector<int64_t>& labels, int64_t samples) : labels_(labels) {
    if (!labels.empty() && static_cast<int64_t>(labels.size()) != samples)
      fail(ErrorCode::invalid_argument,
           "`calibration_labels` has {} labels for the {} samples of `data_preprocess`",
           labels.size(), samples);
  }

  // Adds the outputs of the `rows` samples from `first` on. The class of a sample is the place of
  // the largest element in its row, or the only element of the row.
  void add(const Tensor& was, const Tensor& is, int64_t first, int64_t rows) {
    const std::vector<double> a = was.to_doubles(), b = is.to_doubles();
    const size_t row = a.size() / static_cast<size_t>(was.shape()[0]);
    const auto answer = [&](std::span<const double> values, size_t r) {
      if (row == 1) return static_cast<int64_t>(values[r]);
      return static_cast<int64_t>(OutputDifference::place(values, r * row, row));
    };
    for (size_t r = 0; r < static_cast<size_t>(rows); r++) {
      const int64_t label = labels_[static_cast<size_t>(first) + r];
      count_++;
      was_ += answer(a, r) == label ? 1 : 0;
      is_ += answer(b, r) == label ? 1 : 0;
    }
  }

  // The output with a class for each sample. Throws invalid_argument if there is none, or if a
  // label is none of its classes.
  std::optional<size_t> output_of(const ir::Graph& graph, int64_t run) const {
    if (labels_.empty()) return std::nullopt;
    for (size_t i = 0; i < graph.outputs().size(); i++) {
      if (!graph.outputs()[i]->type.is_static()) continue;
      const Shape& shape = graph.outputs()[i]->shape();
      const bool is_row = shape.size() == 2 && shape[1] > 1;
      const bool is_class = shape.size() == 1 && !is_float(graph.outputs()[i]->dtype());
      if (!shape.empty() && shape[0] == run && (is_row || is_class)) {
        if (is_row) require_classes(shape[1]);
        return i;
      }
    }
    fail(ErrorCode::invalid_argument,
         "`calibration_labels`: the model has no output [{},CLASSES] of numbers and none [{}] of "
         "integers",
         run, run);
  }

  std::string text() const {
    const auto percent = [&](int64_t n) {
      return 100.0 * static_cast<double>(n) / static_cast<double>(count_);
    };
    return fmt::format("labels: fp32 {:.2f} %, int8 {:.2f} % of {} samples", percent(was_),
                       percent(is_), count_);
  }

 private:
  void require_classes(int64_t classes) const {
    for (size_t i = 0; i < labels_.size(); i++)
      if (labels_[i] < 0 || labels_[i] >= classes)
        fail(ErrorCode::invalid_argument,
             "`calibration_labels`: the label of sample {} is {}, expected a class from 0 to {}", i,
             labels_[i], classes - 1);
  }

  const std::vector<int64_t>& labels_;
  int64_t count_ = 0, was_ = 0, is_ = 0;
};

}  // namespace

passes::PrecisionParameters calibrate_bytes(ir::Graph& graph, const Options& options,
                                            std::string& log) {
  ByteCalibrator calibrator(graph, options);
  const PrecisionParameters parameters = calibrator.run();
  log += calibrator.log();
  return parameters;
}

std::string measure_accuracy(const ir::Graph& original, const ir::Graph& converted,
                             const Options& options) {
  for (size_t i = 0; i < original.inputs().size(); i++) {
    const Value* v = original.inputs()[i];
    const Value* w = i < converted.inputs().size() ? converted.inputs()[i] : nullptr;
    if (!w || w->dtype() != v->dtype() || w->shape() != v->shape())
      return fmt::format("accuracy not measured: input {} is {}, and {} after the conversion\n",
                         v->name(), ir::type_string(v->type),
                         w ? ir::type_string(w->type) : "absent");
  }
  const Calibration& calibration = *options.calibration;
  const Samples samples(original, calibration.data);
  const SampleCounts counts = counts_of(original, calibration.data);
  const HeldOut held = held_out(samples, counts);
  Labels labels(calibration.labels, counts.all);
  const std::optional<size_t> classes = labels.output_of(original, counts.run);
  RunnableGraph before = runnable(original, options), after = runnable(converted, options);
  const std::vector<Tensor>&was = before.outputs, &is = after.outputs;
  const auto is_measured = [&](size_t i) { return original.outputs()[i]->type.is_static(); };
  std::vector<OutputDifference> differences(original.outputs().size());
  int64_t measured = 0;
  for (int64_t run = held.first; run < held.end; run++) {
    samples.run_model(before, run);
    samples.run_model(after, run);
    const int64_t first = run * counts.run, rows = std::min(counts.run, counts.all - first);
    for (size_t i = 0; i < differences.size(); i++) {
      if (!is_measured(i)) continue;
      const bool by_sample = !was[i].shape().empty() && was[i].shape()[0] == counts.run;
      differences[i].add(was[i], is[i],
                         by_sample || was[i].shape().empty() ? rows : was[i].shape()[0]);
    }
    if (classes) labels.add(was[*classes], is[*classes], first, rows);
    measured += rows;
    report_calibration(options, static_cast<double>(run + 1 - held.first) /
                                    static_cast<double>(held.end - held.first));
  }
  std::string text = fmt::format(
      "accuracy on {} of {} samples, {}\n", measured, counts.all,
      held.separate() ? "which the calibration did not use" : "which the calibration also used");
  for (size_t i = 0; i < differences.size(); i++) {
    const std::string& name = original.outputs()[i]->name();
    text +=
        is_measured(i)
            ? "  " + differences[i].text(name) + "\n"
            : fmt::format("  output {}: not measured, because its size depends on data\n", name);
  }
  if (classes) text += "  " + labels.text() + "\n";
  return text;
}

}  // namespace poprt::compiler
