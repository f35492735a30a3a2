#include "ops/common/label_table.h"

#include <optional>
#include <unordered_map>

namespace poprt::ops {
namespace {

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
  if (const ir::Attribute* a = node.find_attr(stem + "_strings"))
    if (const auto* v = std::get_if<std::vector<std::string>>(a))
      return Tensor::strings({static_cast<int64_t>(v->size())}, *v);
  return std::nullopt;
}

}  // namespace

LabelTable label_table(const ir::Node& node) {
  LabelTable t;
  auto keys = list_attr(node, "keys"), values = list_attr(node, "values");
  const ir::Attribute* classes = node.find_attr("classes_strings");
  if (const auto* names = classes ? std::get_if<std::vector<std::string>>(classes) : nullptr) {
    // Opset 1 has a list of names, whose values are their places.
    keys = Tensor::strings({static_cast<int64_t>(names->size())}, *names);
    values = Tensor::zeros(DType::s64, keys->shape());
    int64_t place = 0;
    for (int64_t& v : values->mutable_values<int64_t>()) v = place++;
  }
  if (!keys || !values || keys->count() != values->count() || keys->count() == 0)
    fail(ErrorCode::invalid_argument, "{}: keys and values must be lists of equal length",
         node.describe());
  t.keys = *keys;
  t.values = *values;
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
  } else if (t.values.dtype() == DType::string) {
    t.fallback = Tensor::strings({}, {node.string_attr("default_string", "_Unused")});
  } else {
    t.fallback = Tensor::zeros(t.values.dtype(), {1});
  }
  return t;
}

Tensor encode_strings(const ir::Node& node, const Tensor& x) {
  const LabelTable t = label_table(node);
  if (x.dtype() != DType::string || t.keys.dtype() != DType::string)
    fail(ErrorCode::invalid_argument, "{}: X is {}, keys are {}", node.describe(),
         dtype_name(x.dtype()), dtype_name(t.keys.dtype()));
  std::unordered_map<std::string, size_t> place;
  for (size_t i = 0; i < t.keys.string_values().size(); i++)
    place.emplace(t.keys.string_values()[i], i);
  std::vector<std::string> text;
  Tensor out;
  const bool to_text = t.values.dtype() == DType::string;
  if (!to_text) out = Tensor::zeros(t.values.dtype(), x.shape());
  const auto size = static_cast<size_t>(dtype_bits(t.values.dtype()) / 8);
  if (!to_text && size == 0)
    fail(ErrorCode::unimplemented, "{}: values of {}", node.describe(),
         dtype_name(t.values.dtype()));
  size_t at = 0;
  for (const std::string& word : x.string_values()) {
    const auto it = place.find(word);
    if (to_text) {
      text.push_back(it == place.end() ? t.fallback.string_values()[0]
                                       : t.values.string_values()[it->second]);
      continue;
    }
    const void* from = it == place.end()
                           ? t.fallback.data()
                           : static_cast<const std::byte*>(t.values.data()) + it->second * size;
    std::memcpy(static_cast<std::byte*>(out.mutable_data()) + size * at++, from, size);
  }
  return to_text ? Tensor::strings(x.shape(), std::move(text)) : out;
}

}  // namespace poprt::ops
