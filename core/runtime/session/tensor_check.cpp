#include "runtime/session/tensor_check.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/shape.h"

namespace poprt::runtime {
namespace {

// Whether `found` is a whole number of batches. For example, [2, 8, 10] and [16, 10] are two
// batches of [8, 10], with the same bytes.
bool whole_batches(std::span<const int64_t> batch, std::span<const int64_t> found) {
  if (found.size() == batch.size() + 1)
    return found[0] > 0 && std::ranges::equal(found.subspan(1), batch);
  if (found.size() != batch.size() || batch.empty()) return found.empty() && batch.empty();
  if (!std::ranges::equal(found.subspan(1), batch.subspan(1))) return false;
  return batch[0] == 0 ? found[0] == 0 : found[0] > 0 && found[0] % batch[0] == 0;
}

bool fits(std::span<const int64_t> expected, const RequestRows& rows,
          std::span<const int64_t> found) {
  switch (rows.kind) {
    case RequestRows::any: return true;
    case RequestRows::batches: return whole_batches(expected, found);
    case RequestRows::along: break;
  }
  if (found.size() != expected.size()) return false;
  for (size_t i = 0; i < found.size(); i++)
    if (i == rows.dim ? found[i] < 1 : found[i] != expected[i]) return false;
  return true;
}

// The remedy for another number of rows than the compiled one.
std::string rows_hint(std::span<const int64_t> expected, const RequestRows& rows,
                      const TensorType& found, DType dtype) {
  if (rows.kind != RequestRows::batches || found.dtype != dtype || expected.empty() ||
      found.shape.size() != expected.size() ||
      !std::ranges::equal(found.shape.subspan(1), expected.subspan(1)))
    return {};
  return fmt::format(
      "; given {} rows, compiled for {}: {}if the model has variable dimensions, use `shapes` "
      "on_demand with it or with a PopEF file that contains it (`embed_source`), or compile it at "
      "several shapes (`input_shape`)",
      found.shape[0], expected[0], rows.may_batch ? "give the runner `batching_dim` 0; or " : "");
}

}  // namespace

void check_tensor(const program::Anchor& expected, const RequestRows& rows, const TensorType& found,
                  std::string_view direction) {
  const auto shape =
      std::span(expected.shape).subspan(expected.shape.size() > rows.left_out ? rows.left_out : 0);
  if (found.dtype == expected.dtype && fits(shape, rows, found.shape)) return;
  fail(ErrorCode::invalid_argument, "{} '{}': expected {}{}{}, given {}{}{}", direction,
       expected.name, dtype_name(expected.dtype), shape_string(Shape(shape.begin(), shape.end())),
       rows.kind == RequestRows::along ? fmt::format(" (any number along dimension {})", rows.dim)
                                       : "",
       dtype_name(found.dtype), shape_string(Shape(found.shape.begin(), found.shape.end())),
       rows_hint(shape, rows, found, expected.dtype));
}

void crop(std::byte* data, DType dtype, std::span<const int64_t> shape,
          std::span<const int64_t> real) {
  // Moves whole rows of the last dimension that differs; the following dimensions move along.
  size_t last = shape.size();
  while (last > 0 && shape[last - 1] == real[last - 1]) last--;
  if (last == 0 || std::ranges::find(real, 0) != real.end()) return;
  uint64_t unit = dtype_bytes(dtype, 1);
  for (size_t i = last; i < shape.size(); i++) unit *= static_cast<uint64_t>(shape[i]);
  const uint64_t from_row = unit * static_cast<uint64_t>(shape[last - 1]);
  const uint64_t to_row = unit * static_cast<uint64_t>(real[last - 1]);
  std::vector<int64_t> at(last - 1, 0);
  std::byte* to = data;
  for (;;) {
    uint64_t row = 0;
    for (size_t i = 0; i + 1 < last; i++)
      row = row * static_cast<uint64_t>(shape[i]) + static_cast<uint64_t>(at[i]);
    std::memmove(to, data + row * from_row, to_row);
    to += to_row;
    size_t i = last - 1;
    while (i > 0 && ++at[i - 1] == real[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

}  // namespace poprt::runtime
