// Every element looked up among keys; what is not there becomes a default. Keys and values are
// keys_KIND / values_KIND lists or, from opset 4, tensors.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "ops/op.h"

namespace poprt::ops {
namespace {

struct Table {
  Tensor keys, values, fallback;  // fallback has one element
};

std::optional<Tensor> list_attr(const ir::Node& node, const std::string& stem) {
  if (const ir::Attribute* a = node.find_attr(stem + "_tensor"))
    if (const auto* t = std::get_if<Tensor>(a)) return *t;
  if (node.find_attr(stem + "_int64s")) {
    const auto v = node.ints_attr(stem + "_int64s");
    return Tensor::of<int64_t>({static_cast<int64_t>(v.size())}, std::span<const int64_t>(v));
  }
  if (node.find_attr(stem + "_floats")) {
    const auto v = node.floats_attr(stem + "_floats");
    return Tensor::of<float>({static_cast<int64_t>(v.size())}, std::span<const float>(v));
  }
  if (node.find_attr(stem + "_strings") || node.find_attr("classes_strings"))
    fail(ErrorCode::unimplemented,
         "{}: {} are strings, which the device does not have; numbers are supported",
         node.describe(), stem);
  return std::nullopt;
}

Table table_of(const ir::Node& node) {
  Table t;
  const auto keys = list_attr(node, "keys"), values = list_attr(node, "values");
  if (!keys || !values || keys->count() != values->count() || keys->count() == 0)
    fail(ErrorCode::invalid_argument, "{}: keys and values must be lists of equal length",
         node.describe());
  t.keys = *keys;
  t.values = *values;
  if (t.keys.dtype() == DType::string || t.values.dtype() == DType::string)
    fail(ErrorCode::unimplemented,
         "{}: keys or values are strings, which the device does not have; numbers are supported",
         node.describe());
  if (const ir::Attribute* a = node.find_attr("default_tensor")) {
    const auto* d = std::get_if<Tensor>(a);
    if (!d || d->count() != 1 || d->dtype() != t.values.dtype())
      fail(ErrorCode::invalid_argument, "{}: default_tensor must be one {}", node.describe(),
           dtype_name(t.values.dtype()));
    t.fallback = *d;
  } else if (t.values.dtype() == DType::s64) {
    t.fallback = Tensor::scalar<int64_t>(node.int_attr("default_int64", -1));
  } else if (t.values.dtype() == DType::f32) {
    t.fallback = Tensor::scalar<float>(node.float_attr("default_float", -0.0f));
  } else {
    t.fallback = Tensor::zeros(t.values.dtype(), {1});
  }
  return t;
}

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  const Table t = table_of(ctx.node);
  if (x.dtype != DType::undefined && x.dtype != t.keys.dtype())
    ctx.fail_input("X is {}, keys are {}", dtype_name(x.dtype), dtype_name(t.keys.dtype()));
  ctx.out(0, ir::ValueType{t.values.dtype(), x.has_shape, x.shape, x.symbols});
}

void lower(LowerContext& ctx) {
  const Table t = table_of(ctx.node);
  const int64_t n = t.keys.count();
  const auto size = static_cast<size_t>(dtype_bits(t.values.dtype()) / 8);
  if (dtype_bits(t.values.dtype()) < 8)
    ctx.fail_unsupported("values of {}", dtype_name(t.values.dtype()));
  // In order of the keys, first of equal ones first; NaN is last.
  std::vector<size_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), size_t{0});
  Tensor keys, values = Tensor::zeros(t.values.dtype(), {n + 1});
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
    case DType::f32: sort(float{}); break;
    case DType::f64: sort(double{}); break;
    default: ctx.fail_unsupported("keys of {}", dtype_name(t.keys.dtype()));
  }
  auto* to = static_cast<std::byte*>(values.mutable_data());
  const auto* from = static_cast<const std::byte*>(t.values.data());
  for (size_t i = 0; i < order.size(); i++)
    std::memcpy(to + i * size, from + order[i] * size, size);
  std::memcpy(to + order.size() * size, t.fallback.data(), size);
  ctx.emit("label_map", {ctx.in(0), ctx.pack(keys), ctx.pack(values), ctx.out(0)},
           {element_count(ctx.in_shape(0)), n, static_cast<int64_t>(size)});
}

}  // namespace

extern const OpDef ml_label_encoder_op;
const OpDef ml_label_encoder_op = {
    .name = "LabelEncoder", .domain = "ai.onnx.ml", .infer = infer, .lower = lower};

}  // namespace poprt::ops
