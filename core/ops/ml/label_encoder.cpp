// Looks up every element in a list of keys; an element that is not in the list becomes a default
// value. Keys and values are lists keys_KIND / values_KIND or, from opset 4 on, tensors.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/calls/label_map.h"
#include "kernels/calls/label_table.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/common/label_table.h"
#include "ops/op.h"

namespace poprt::ops::ml_label_encoder_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  const LabelTable t = label_table(ctx.node);
  if (x.dtype != DType::undefined && x.dtype != t.keys.dtype())
    ctx.fail_input("X is {}, keys are {}", dtype_name(x.dtype), dtype_name(t.keys.dtype()));
  ctx.out(0, ir::ValueType{t.values.dtype(), x.has_shape, x.shape, x.symbols});
}

void lower(LowerContext& ctx) {
  const LabelTable t = label_table(ctx.node);
  if (t.keys.dtype() == DType::string || t.values.dtype() == DType::string)
    ctx.fail_unsupported("the device has no strings: its input must be constant");
  const int64_t given = t.keys.count();
  const auto size = static_cast<size_t>(dtype_bits(t.values.dtype()) / 8);
  if (dtype_bits(t.values.dtype()) < 8)
    ctx.fail_unsupported("values of {}", dtype_name(t.values.dtype()));
  // Sorts by key. Equal keys keep their order, and NaN is last.
  std::vector<size_t> order(static_cast<size_t>(given));
  std::iota(order.begin(), order.end(), size_t{0});
  // Before opset 4, NaN is not equal to any key.
  const std::vector<double> as_real = t.keys.to_doubles();
  if (ctx.opset() < 4) std::erase_if(order, [&](size_t i) { return std::isnan(as_real[i]); });
  const auto n = static_cast<int64_t>(order.size());
  Tensor keys, values;
  values = Tensor::zeros(t.values.dtype(), {n + 1});
  const auto sort = [&]<class T>(T) {
    const auto k = t.keys.values<T>();
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      if (std::isnan(static_cast<double>(k[a])) || std::isnan(static_cast<double>(k[b])))
        return !std::isnan(static_cast<double>(k[a])) && std::isnan(static_cast<double>(k[b]));
      return k[a] < k[b] || (k[a] == k[b] && a < b);
    });
    keys = Tensor::zeros(t.keys.dtype(), {n});
    for (size_t i = 0; i < order.size(); i++) keys.mutable_values<T>()[i] = k[order[i]];
  };
  switch (t.keys.dtype()) {
    case DType::s64: sort(int64_t{}); break;
    case DType::s32: sort(int32_t{}); break;
    case DType::s16: sort(int16_t{}); break;
    case DType::f32: sort(float{}); break;
    case DType::f64: sort(double{}); break;
    default: ctx.fail_unsupported("keys of {}", dtype_name(t.keys.dtype()));
  }
  const int64_t count = element_count(ctx.in_shape(0)), bytes = static_cast<int64_t>(size);
  if (is_integer(keys.dtype()) && n > 0) {
    // If the integers are close together, they index a table directly.
    const std::vector<int64_t> k = keys.to_int64s();
    const uint64_t span = static_cast<uint64_t>(k.back()) - static_cast<uint64_t>(k.front());
    if (span < static_cast<uint64_t>(n) * 4 + 4096) {
      const auto entries = static_cast<size_t>(span) + 1;
      Tensor table = Tensor::zeros(t.values.dtype(), {static_cast<int64_t>(entries) + 1});
      auto* place = static_cast<std::byte*>(table.mutable_data());
      for (size_t i = 0; i <= entries; i++) std::memcpy(place + i * size, t.fallback.data(), size);
      // The loop runs backwards, so that the first of equal keys is kept.
      for (size_t i = k.size(); i-- > 0;)
        std::memcpy(place + static_cast<size_t>(k[i] - k.front()) * size,
                    static_cast<const std::byte*>(t.values.data()) + order[i] * size, size);
      return ctx.emit(calls::LabelTable{.count = count,
                                        .entries = static_cast<int64_t>(entries),
                                        .size = bytes,
                                        .first = k.front()},
                      {ctx.in(0), ctx.pack(table), ctx.out(0)});
    }
  }
  auto* to = static_cast<std::byte*>(values.mutable_data());
  const auto* from = static_cast<const std::byte*>(t.values.data());
  for (size_t i = 0; i < order.size(); i++)
    std::memcpy(to + i * size, from + order[i] * size, size);
  std::memcpy(to + order.size() * size, t.fallback.data(), size);
  ctx.emit(calls::LabelMap{.count = count, .keys = n, .size = bytes},
           {ctx.in(0), ctx.pack(keys), ctx.pack(values), ctx.out(0)});
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "LabelEncoder",
    .domain = "ai.onnx.ml",
    .infer = infer,
    .lower = lower,
    .axes = axes::elementwise_first,
    .cost = cost::label_encoder,
    .facts = {.text_form = TextForm::translates,
              .text_inputs = 0b1,
              .trial = {"T[4,4]", "keys_tensor = T[1] fill @, values_tensor = T[1] fill @"}}};

}  // namespace poprt::ops::ml_label_encoder_op
