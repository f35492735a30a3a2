#include "base/shape.h"

#include "base/checked.h"

namespace poprt {

int64_t element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (int64_t d : shape) {
    if (d < 0)
      fail(ErrorCode::out_of_range, "shape {} has an unknown or negative dimension",
           shape_string(shape));
    count = checked_mul(count, d, "shape");
  }
  return count;
}

bool is_static(std::span<const int64_t> shape) {
  for (int64_t d : shape)
    if (d < 0) return false;
  return true;
}

std::string shape_string(std::span<const int64_t> shape) {
  std::string s = "[";
  for (size_t i = 0; i < shape.size(); i++) {
    if (i) s += ',';
    s += shape[i] < 0 ? std::string("?") : std::to_string(shape[i]);
  }
  return s + "]";
}

Shape broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b) {
  const size_t rank = a.size() > b.size() ? a.size() : b.size();
  Shape out(rank);
  for (size_t i = 0; i < rank; i++) {
    const int64_t x = i + a.size() >= rank ? a[i + a.size() - rank] : 1;
    const int64_t y = i + b.size() >= rank ? b[i + b.size() - rank] : 1;
    if (x == y || y == 1) {
      out[i] = x;
    } else if (x == 1) {
      out[i] = y;
    } else if (x < 0) {
      out[i] = y;
    } else if (y < 0) {
      out[i] = x;
    } else {
      fail(ErrorCode::invalid_argument, "shapes {} and {} do not broadcast: {} against {}",
           shape_string(a), shape_string(b), x, y);
    }
  }
  return out;
}

std::vector<int64_t> contiguous_strides(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step = checked_mul(step, shape[i], "shape");
  }
  return strides;
}

int64_t normalize_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    fail(ErrorCode::invalid_argument, "axis {} is outside [{}, {})", axis, -rank, rank);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace poprt
