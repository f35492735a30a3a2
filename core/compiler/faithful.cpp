#include "compiler/faithful.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_map>

#include "base/chip_rounding.h"
#include "base/half.h"
#include "base/quarter.h"
#include "ops/common/evaluate.h"
#include "ops/common/expansion.h"
#include "ops/facts.h"
#include "ops/op.h"
#include "passes/common/rewrite.h"
#include "passes/common/weighted_products.h"

namespace poprt::compiler {
namespace {

// Numbers of products that the chip adds to a partial sum before it rounds the sum.
constexpr int64_t kHalfGroup = 16, kQuarterGroup = 32;
constexpr float kBeyondHalf = 1e6f;  // more than any half

bool has_infinity(const std::vector<Tensor>& inputs) {
  for (const Tensor& t : inputs)
    if (t.defined() && t.dtype() == DType::f16)
      for (const f16_t h : t.values<f16_t>())
        if ((h.bits & 0x7fff) == 0x7c00) return true;
  return false;
}

// Converts a tensor of any float type to f32.
Tensor widened(const Tensor& t) {
  if (t.dtype() == DType::f32) return t;
  return Tensor::of<float>(t.shape(), passes::to_floats(t));
}

class Interpreter {
 public:
  explicit Interpreter(const Faithful& options)
      : o_(options), rounding_(options.saturate, options.seed) {}

  std::map<std::string, Tensor> run(const ir::Graph& graph,
                                    const std::map<std::string, Tensor>& feeds);

 private:
  struct Operand {
    Tensor values;  // stored as f32
    bool quarter = false;
  };

  float half(float x) const { return rounding_.half(x); }
  // Returns the half for an overflow with this sign: NaN, or +-65504 if saturating.
  float overflowed(float sign) const { return half(std::copysign(kBeyondHalf, sign)); }
  // Rounds a result in f32 to a half. An infinity is kept if the inputs contain one; otherwise it
  // is an overflow.
  float rounded(float x, bool infinite) const {
    return !std::isinf(x) ? half(x) : infinite ? x : overflowed(x);
  }

  const Tensor& value(const ir::Value* v) const;
  bool is_half(const ir::Value* v) const;
  std::optional<Operand> operand(const ir::Node& n, size_t i, const char* format,
                                 size_t scale) const;
  std::optional<Tensor> product(const ir::Node& n) const;
  Tensor matmul(const ir::Node& n, const Operand& a, const Operand& b) const;
  Tensor convolution(const ir::Node& n, const Operand& x, const Operand& w) const;
  Tensor cast_to_quarter(const ir::Node& n) const;
  std::vector<Tensor> compute_in_f32(const ir::Node& n) const;
  std::vector<Tensor> round_by_chance(const ir::Node& n, const std::vector<Tensor>& inputs) const;
  float sum(int64_t count, int64_t group, const std::function<float(int64_t)>& term) const;
  int scale_of(const ir::Node& n, size_t i) const {
    return n.input(i) ? static_cast<int>(value(n.input(i)).to_int64s()[0]) : 0;
  }

  const Faithful& o_;
  mutable ChipRounding rounding_;  // contains the position in the random sequence
  std::unordered_map<const ir::Value*, Tensor> known_;
};

DType format_of(const ir::Node& n, const char* attribute) {
  return n.string_attr(attribute, "F143") == "F152" ? DType::f8_152 : DType::f8_143;
}

const Tensor& Interpreter::value(const ir::Value* v) const {
  if (v->is_constant()) return v->constant();
  return known_.at(v);
}

// Whether the value is f16, or an f32 that a Cast widened from f16 for an operator that is computed
// in f32 here.
bool Interpreter::is_half(const ir::Value* v) const {
  if (v->dtype() == DType::f16) return true;
  const ir::Node* cast = v->producer();
  return cast && ops::facts_of(*cast).cast == ops::CastForm::to_type &&
         cast->input(0)->dtype() == DType::f16;
}

// Returns an operand of f16 or bytes as f32, or nothing for another one. Bytes are 8-bit floats in
// the format of attribute `format`, multiplied by 2 to the power of input `scale`. The chip scales
// them when it reads them, so partial sums have the magnitude of the result.
std::optional<Interpreter::Operand> Interpreter::operand(const ir::Node& n, size_t i,
                                                         const char* format, size_t scale) const {
  const Tensor& t = value(n.input(i));
  if (t.dtype() != DType::u8) {
    if (!is_half(n.input(i))) return std::nullopt;
    return Operand{widened(t), false};
  }
  Tensor values = Tensor::zeros(DType::f32, t.shape());
  decode_quarters(format_of(n, format), scale_of(n, scale), t.values<uint8_t>(),
                  values.mutable_values<float>());
  return Operand{values, true};
}

float Interpreter::sum(int64_t count, int64_t group,
                       const std::function<float(int64_t)>& term) const {
  float partial = 0;
  for (int64_t at = 0; at < count; at += group) {
    float s = 0;
    for (int64_t k = at; k < std::min(count, at + group); k++) s += term(k);
    partial = o_.float_partials ? partial + s : half(partial + s);
  }
  return partial;
}

Tensor Interpreter::matmul(const ir::Node& n, const Operand& a, const Operand& b) const {
  const bool gemm = ops::facts_of(n).layer == ops::LayerForm::gemm,
             turned = gemm && n.int_attr("transB", 0) != 0;
  const Shape& as = a.values.shape();
  const Shape& bs = b.values.shape();
  const int64_t k = as.back(), columns = bs[bs.size() - (turned ? 2 : 1)];
  const int64_t rows = as[as.size() - 2];
  Shape batch =
      broadcast_shapes(std::span(as).first(as.size() - 2), std::span(bs).first(bs.size() - 2));
  const int64_t batches = element_count(batch);
  Shape shape = batch;
  shape.insert(shape.end(), {rows, columns});
  // Returns the number of the matrix of an operand of shape `s` that batch `i` reads.
  const auto matrix = [&](const Shape& s, int64_t i) {
    int64_t at = 0, step = 1;
    for (size_t d = batch.size(), e = s.size() - 2; d-- > 0;) {
      const int64_t index = i % batch[d];
      i /= batch[d];
      if (e == 0) continue;
      e--;
      if (s[e] != 1) at += index * step;
      step *= s[e];
    }
    return at;
  };
  Tensor y = Tensor::zeros(DType::f32, shape);
  const auto av = a.values.values<float>(), bv = b.values.values<float>();
  const auto yv = y.mutable_values<float>();
  const int64_t group = a.quarter && b.quarter ? kQuarterGroup : kHalfGroup;
  for (int64_t i = 0; i < batches; i++) {
    const int64_t a0 = matrix(as, i) * rows * k, b0 = matrix(bs, i) * k * columns;
    for (int64_t r = 0; r < rows; r++)
      for (int64_t c = 0; c < columns; c++)
        yv[static_cast<size_t>((i * rows + r) * columns + c)] = sum(k, group, [&](int64_t j) {
          const int64_t at = turned ? c * k + j : j * columns + c;
          return av[static_cast<size_t>(a0 + r * k + j)] * bv[static_cast<size_t>(b0 + at)];
        });
  }
  return y;
}

Tensor Interpreter::convolution(const ir::Node& n, const Operand& x, const Operand& w) const {
  const Shape &xs = x.values.shape(), &ws = w.values.shape();
  if (xs.size() != 4 || n.string_attr("auto_pad", "NOTSET") != "NOTSET")
    fail(ErrorCode::unimplemented,
         "{}: faithful convolutions have two dimensions and explicit pads", n.describe());
  const auto strides = n.ints_attr("strides", {1, 1}), dilations = n.ints_attr("dilations", {1, 1});
  const auto pads = n.ints_attr("pads", {0, 0, 0, 0});
  const int64_t groups = n.int_attr("group", 1), channels = ws[1], results = ws[0] / groups;
  const int64_t height =
      (xs[2] + pads[0] + pads[2] - dilations[0] * (ws[2] - 1) - 1) / strides[0] + 1;
  const int64_t width =
      (xs[3] + pads[1] + pads[3] - dilations[1] * (ws[3] - 1) - 1) / strides[1] + 1;
  Tensor y = Tensor::zeros(DType::f32, {xs[0], ws[0], height, width});
  const auto xv = x.values.values<float>(), wv = w.values.values<float>();
  const auto yv = y.mutable_values<float>();
  const int64_t group = x.quarter && w.quarter ? kQuarterGroup : kHalfGroup;
  size_t at = 0;
  for (int64_t image = 0; image < xs[0]; image++)
    for (int64_t m = 0; m < ws[0]; m++)
      for (int64_t h = 0; h < height; h++)
        for (int64_t v = 0; v < width; v++) {
          float partial = 0;
          for (int64_t i = 0; i < ws[2]; i++)
            for (int64_t j = 0; j < ws[3]; j++) {
              const int64_t line = h * strides[0] - pads[0] + i * dilations[0];
              const int64_t column = v * strides[1] - pads[1] + j * dilations[1];
              if (line < 0 || line >= xs[2] || column < 0 || column >= xs[3]) continue;
              for (int64_t first = 0; first < channels; first += group) {
                float s = 0;
                for (int64_t c = first; c < std::min(channels, first + group); c++) {
                  const int64_t channel = m / results * channels + c;
                  s += xv[static_cast<size_t>(((image * xs[1] + channel) * xs[2] + line) * xs[3] +
                                              column)] *
                       wv[static_cast<size_t>(((m * channels + c) * ws[2] + i) * ws[3] + j)];
                }
                partial = o_.float_partials ? partial + s : half(partial + s);
              }
            }
          yv[at++] = partial;
        }
  return y;
}

// Returns the result of a product of f16 or 8-bit floats as f32 with f16 values, or nothing for
// other nodes.
std::optional<Tensor> Interpreter::product(const ir::Node& n) const {
  const ops::Facts& facts = ops::facts_of(n);
  if (facts.layer == ops::LayerForm::none) return std::nullopt;
  const bool conv = facts.layer == ops::LayerForm::conv, gemm = facts.layer == ops::LayerForm::gemm;
  const auto a = operand(n, 0, "fp8FormatLHS", 2);
  auto b = operand(n, 1, "fp8FormatRHS", 3);
  if (!a || !b || a->values.shape().size() < 2 || b->values.shape().size() < 2) return std::nullopt;
  if (gemm && n.int_attr("transA", 0) != 0) return std::nullopt;
  // If the other operand is f16, 8-bit weights are first converted to f16.
  if (b->quarter && !a->quarter)
    for (float& v : b->values.mutable_values<float>()) v = half(v);
  Tensor y = conv ? convolution(n, *a, *b) : matmul(n, *a, *b);
  const size_t bias = facts.byte_weights ? 4 : 2;
  const float alpha = gemm ? n.float_attr("alpha", 1) : 1;
  const float beta = gemm ? n.float_attr("beta", 1) : 1;
  const auto yv = y.mutable_values<float>();
  for (float& v : yv) v = half(half(v) * alpha);
  if (!(conv || gemm) || !n.input(bias) || beta == 0) return y;
  const Tensor addend = widened(value(n.input(bias)));
  const auto bv = addend.values<float>();
  const Shape& s = y.shape();
  const int64_t rows = conv ? s[2] * s[3] : 1;
  for (size_t i = 0; i < yv.size(); i++) {
    // The bias of a convolution has one value per channel. The bias of Gemm broadcasts to the
    // result.
    size_t at = static_cast<size_t>(static_cast<int64_t>(i) / rows % s[1]);
    if (!conv && bv.size() == yv.size()) at = i;
    if (!conv && bv.size() == static_cast<size_t>(s[0]) && addend.shape().size() == 2 &&
        addend.shape()[1] == 1)
      at = i / static_cast<size_t>(s[1]);
    if (bv.size() == 1) at = 0;
    yv[i] = half(yv[i] + half(bv[at] * beta));
  }
  return y;
}

Tensor Interpreter::cast_to_quarter(const ir::Node& n) const {
  const Tensor x = widened(value(n.input(0)));
  const DType dtype = format_of(n, "fp8Format");
  const int scale = scale_of(n, 1);
  Tensor codes = Tensor::zeros(DType::u8, x.shape());
  const auto from = x.values<float>();
  const auto to = codes.mutable_values<uint8_t>();
  for (size_t i = 0; i < from.size(); i++) to[i] = rounding_.quarter(from[i], dtype, scale);
  return codes;
}

// Computes an operator on halves as one on f32 and rounds its results stochastically. Returns
// nothing for an operator without halves, or without a form for f32.
std::vector<Tensor> Interpreter::round_by_chance(const ir::Node& n,
                                                 const std::vector<Tensor>& inputs) const {
  const auto is_f16 = [](const ir::Value* v) { return v && v->dtype() == DType::f16; };
  if (std::ranges::none_of(n.inputs(), is_f16) || std::ranges::none_of(n.outputs(), is_f16) ||
      ops::facts_of(n).cast == ops::CastForm::to_type)
    return {};
  const auto graph = ops::isolate(n);
  const ir::Node& wide = *graph->nodes().front();
  std::vector<Tensor> values;
  for (size_t i = 0; i < inputs.size(); i++) {
    values.push_back(is_f16(n.input(i)) ? widened(inputs[i]) : inputs[i]);
    if (!is_f16(n.input(i))) continue;
    if (wide.input(i)->is_constant())
      wide.input(i)->set_constant(values.back());
    else
      wide.input(i)->type.dtype = DType::f32;
  }
  for (ir::Value* v : wide.outputs()) v->type = {};
  try {
    ops::infer(*graph);
  } catch (const Error&) {
    return {};
  }
  for (size_t i = 0; i < n.outputs().size(); i++)
    if (is_f16(n.output(i)) && wide.output(i)->type.is_static() &&
        wide.output(i)->dtype() != DType::f32)
      return {};
  const bool infinite = has_infinity(inputs);
  std::vector<Tensor> results = ops::evaluate(wide, values, 1, true);
  for (size_t i = 0; i < results.size(); i++) {
    if (!is_f16(n.output(i)) || !results[i].defined()) continue;
    Tensor y = Tensor::zeros(DType::f16, results[i].shape());
    const auto from = results[i].values<float>();
    for (size_t k = 0; k < from.size(); k++)
      y.mutable_values<f16_t>()[k] = to_f16(rounded(from[k], infinite));
    results[i] = std::move(y);
  }
  return results;
}

// Computes all other operators in f32 and rounds f16 results once. An infinity that no input has is
// an overflow.
std::vector<Tensor> Interpreter::compute_in_f32(const ir::Node& n) const {
  std::vector<Tensor> inputs;
  for (const ir::Value* v : n.inputs()) inputs.push_back(v ? value(v) : Tensor());
  if (ops::facts_of(n).cast == ops::CastForm::to_type && inputs[0].dtype() == DType::f32 &&
      n.output()->dtype() == DType::f16) {
    Tensor y = Tensor::zeros(DType::f16, inputs[0].shape());
    const auto from = inputs[0].values<float>();
    const auto to = y.mutable_values<f16_t>();
    for (size_t i = 0; i < from.size(); i++)
      to[i] = to_f16(std::isinf(from[i]) ? from[i] : half(from[i]));
    return {y};
  }
  if (o_.seed)
    if (auto results = round_by_chance(n, inputs); !results.empty()) return results;
  std::vector<Tensor> results = ops::evaluate(n, inputs, 1, true);
  if (has_infinity(inputs)) return results;
  for (Tensor& t : results)
    if (t.defined() && t.dtype() == DType::f16)
      for (f16_t& h : t.mutable_values<f16_t>())
        if ((h.bits & 0x7fff) == 0x7c00) h = to_f16(overflowed(to_float(h)));
  return results;
}

std::map<std::string, Tensor> Interpreter::run(const ir::Graph& graph,
                                               const std::map<std::string, Tensor>& feeds) {
  for (const ir::Value* v : graph.inputs()) {
    if (v->is_constant()) continue;
    const auto found = feeds.find(v->name());
    if (found == feeds.end() || found->second.dtype() != v->dtype() ||
        found->second.shape() != v->shape())
      fail(ErrorCode::invalid_argument, "input '{}' is {}, {}", v->name(), ir::type_string(v->type),
           found == feeds.end() ? "and is not given"
                                : fmt::format("given are {} {}", dtype_name(found->second.dtype()),
                                              shape_string(found->second.shape())));
    known_[v] = found->second;
  }
  for (const ir::Node* n : graph.nodes()) {
    std::vector<Tensor> results;
    if (const auto y = product(*n)) {
      const DType dtype = n->output()->dtype();
      results = {dtype == DType::f32 ? *y : passes::tensor_of(dtype, y->shape(), y->to_doubles())};
    } else if (ops::facts_of(*n).cast == ops::CastForm::to_quarter) {
      results = {cast_to_quarter(*n)};
    } else {
      results = compute_in_f32(*n);
    }
    for (size_t i = 0; i < results.size(); i++) known_[n->output(i)] = std::move(results[i]);
  }
  std::map<std::string, Tensor> outputs;
  for (const ir::Value* v : graph.outputs()) outputs[v->name()] = value(v);
  return outputs;
}

}  // namespace

std::map<std::string, Tensor> run_faithfully(const ir::Graph& graph,
                                             const std::map<std::string, Tensor>& feeds,
                                             const Faithful& options) {
  return Interpreter(options).run(graph, feeds);
}

}  // namespace poprt::compiler
