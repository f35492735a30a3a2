#include "kernels/common/broadcast.h"

#include "base/error.h"
#include "base/shape.h"

namespace poprt::kernels {

bool Broadcast::is_linear(size_t i) const {
  int64_t step = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] != 1 && strides[i][d] != step) return false;
    step *= dims[d];
  }
  return true;
}

bool Broadcast::is_scalar(size_t i) const {
  for (size_t d = 0; d < dims.size(); d++)
    if (dims[d] != 1 && strides[i][d] != 0) return false;
  return true;
}

Broadcast make_broadcast(std::string_view kernel, std::span<const int64_t> out,
                         std::span<const std::span<const int64_t>> operands) {
  Broadcast b;
  b.count = element_count(out);
  std::vector<std::vector<int64_t>> full;
  for (const auto shape : operands) {
    bool fits = shape.size() <= out.size();
    std::vector<int64_t> strides(out.size(), 0);
    int64_t step = 1;
    for (size_t k = 0; fits && k < shape.size(); k++) {
      const int64_t d = shape[shape.size() - 1 - k], o = out[out.size() - 1 - k];
      fits = d == o || d == 1;
      strides[out.size() - 1 - k] = d == 1 ? 0 : step;
      step *= d;
    }
    if (!fits)
      fail(ErrorCode::invalid_argument, "kernel {}: {} does not broadcast to {}", kernel,
           shape_string(shape), shape_string(out));
    full.push_back(std::move(strides));
  }
  b.strides.resize(operands.size());
  for (size_t d = 0; d < out.size(); d++) {
    if (out[d] == 1) continue;
    bool merge = !b.dims.empty();
    for (size_t i = 0; merge && i < full.size(); i++)
      merge = b.strides[i].back() == full[i][d] * out[d];
    if (merge) {
      b.dims.back() *= out[d];
      for (size_t i = 0; i < full.size(); i++) b.strides[i].back() = full[i][d];
    } else {
      b.dims.push_back(out[d]);
      for (size_t i = 0; i < full.size(); i++) b.strides[i].push_back(full[i][d]);
    }
  }
  if (b.dims.empty()) {
    b.dims.push_back(1);
    for (auto& s : b.strides) s.push_back(0);
  }
  if (b.dims.size() > kMaxBroadcastRank)
    fail(ErrorCode::unimplemented, "kernel {}: more than {} distinct dimensions", kernel,
         kMaxBroadcastRank);
  return b;
}

}  // namespace poprt::kernels
