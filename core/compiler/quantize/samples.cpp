#include "compiler/quantize/samples.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "passes/common/rewrite.h"

namespace poprt::compiler {
namespace {

constexpr const char* kOption = "`data_preprocess`";

Tensor converted(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  return passes::tensor_of(dtype, t.shape(), t.to_doubles());
}

bool is_number(DType dtype) {
  return dtype_bits(dtype) != 0 && dtype != DType::c64 && dtype != DType::c128;
}

// A loss that is NaN or infinite cannot be compared, so formats could not be chosen.
void require_finite(const Tensor& t, const std::string& input) {
  const auto check = [&](const auto& values) {
    for (size_t i = 0; i < values.size(); i++)
      if (!std::isfinite(values[i]))
        fail(ErrorCode::invalid_argument,
             "{}: input '{}': sample {} has the value {} as {}; expected finite numbers", kOption,
             input, t.shape().empty() ? 0 : i / (values.size() / static_cast<size_t>(t.shape()[0])),
             values[i], dtype_name(t.dtype()));
  };
  if (t.dtype() == DType::f32)
    check(t.values<float>());
  else if (is_float(t.dtype()))
    check(t.to_doubles());
}

std::string names_of(const std::map<std::string, Tensor>& data) {
  std::string names;
  for (const auto& [name, tensor] : data) names += (names.empty() ? "'" : ", '") + name + "'";
  return names.empty() ? "nothing" : names;
}

// Whether samples can be split into runs of `shape`.
bool fits(const Shape& given, const Shape& shape) {
  return given == shape ||
         (!shape.empty() && given.size() == shape.size() && given[0] > 0 && shape[0] > 0 &&
          std::equal(given.begin() + 1, given.end(), shape.begin() + 1));
}

std::string expected_shape(const Shape& shape) {
  if (shape.empty() || shape[0] == 0) return shape_string(shape);
  std::string s = "[SAMPLES";
  for (size_t i = 1; i < shape.size(); i++) s += fmt::format(",{}", shape[i]);
  return s + "]";
}

}  // namespace

Samples::Samples(const ir::Graph& graph, const std::map<std::string, Tensor>& data) {
  for (const ir::Value* v : graph.inputs()) {
    if (v->is_constant()) continue;
    const auto found = data.find(v->name());
    if (found == data.end())
      fail(ErrorCode::invalid_argument, "{}: there is no array for input '{}'; the file has {}",
           kOption, v->name(), names_of(data));
    const Tensor& t = found->second;
    if (!is_number(t.dtype()))
      fail(ErrorCode::invalid_argument, "{}: the array of input '{}' is {}, expected {}", kOption,
           v->name(), dtype_name(t.dtype()), dtype_name(v->dtype()));
    if (!fits(t.shape(), v->shape()))
      fail(ErrorCode::invalid_argument, "{}: input '{}' has the shape {}, expected {}", kOption,
           v->name(), shape_string(t.shape()), expected_shape(v->shape()));
    inputs_.push_back({v->name(), converted(t, v->dtype()), v->shape()});
    require_finite(inputs_.back().data, v->name());
    if (!v->shape().empty() && v->shape()[0] > 0)
      runs_ = std::max(runs_, (t.shape()[0] + v->shape()[0] - 1) / v->shape()[0]);
  }
  for (const auto& [name, tensor] : data)
    if (const ir::Value* v = graph.find(name); !v || !graph.is_input(v))
      fail(ErrorCode::invalid_argument, "{}: the model has no input '{}'; inputs are: {}", kOption,
           name, [&] {
             std::string names;
             for (const ir::Value* in : graph.inputs())
               names += (names.empty() ? "'" : ", '") + in->name() + "'";
             return names;
           }());
  for (const Input& in : inputs_)
    if (!in.shape.empty() && in.shape[0] > 0 && in.data.shape()[0] != in.shape[0] &&
        (in.data.shape()[0] + in.shape[0] - 1) / in.shape[0] != runs_)
      fail(ErrorCode::invalid_argument,
           "{}: arrays have different numbers of samples: that of input '{}' has {} rows, others "
           "have rows for {} runs",
           kOption, in.name, in.data.shape()[0], runs_);
}

std::string Samples::name_of_run(int64_t i) const {
  int64_t rows = 1;
  for (const Input& in : inputs_)
    if (!in.shape.empty()) rows = std::max(rows, in.shape[0]);
  return rows == 1 ? fmt::format("{}: sample {}", kOption, i)
                   : fmt::format("{}: samples {} to {}", kOption, i * rows, (i + 1) * rows - 1);
}

std::vector<Tensor> Samples::run(int64_t i) const {
  std::vector<Tensor> out;
  for (const Input& in : inputs_) {
    if (in.data.shape() == in.shape) {
      out.push_back(in.data);
      continue;
    }
    Tensor t = Tensor::zeros(in.data.dtype(), in.shape);
    const int64_t rows = in.shape[0], given = in.data.shape()[0];
    const uint64_t bytes = t.bytes() / static_cast<uint64_t>(rows);
    for (int64_t r = 0; r < rows; r++)
      std::memcpy(static_cast<std::byte*>(t.mutable_data()) + static_cast<uint64_t>(r) * bytes,
                  static_cast<const std::byte*>(in.data.data()) +
                      static_cast<uint64_t>((i * rows + r) % given) * bytes,
                  bytes);
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace poprt::compiler
