#include "kernels/common/strided_matmul.h"

#include <algorithm>

#include "base/checked.h"

namespace poprt::kernels {

StridedMatmul read_strided_matmul(std::string_view kernel, const Call& call) {
  expect(call.operands.size() == 4 && call.ints.size() >= 10 && call.floats.size() == 2, kernel,
         "expected 4 operands, 10 integers or more, 2 floats");
  StridedMatmul p;
  int64_t* const fields[] = {&p.m, &p.n, &p.k, &p.a_row, &p.a_k, &p.b_k, &p.b_n, &p.c_row, &p.c_n};
  for (size_t i = 0; i < 9; i++) *fields[i] = call.ints[i];
  expect(std::all_of(call.ints.begin(), call.ints.end(), [](int64_t v) { return v >= 0; }), kernel,
         "negative size or stride");
  const int64_t rank = call.ints[9];
  expect(rank <= 64 && call.ints.size() == static_cast<size_t>(10 + 3 * rank), kernel,
         "number of integers does not fit the rank");
  p.alpha = call.floats[0];
  p.beta = call.floats[1];
  const Operand &a = call.operands[0], &b = call.operands[1], &c = call.operands[2],
                &out = call.operands[3];
  expect(a.present && b.present && out.present, kernel, "an operand is missing");
  p.dtype = out.dtype;
  p.has_c = c.present;
  expect(a.dtype == p.dtype && b.dtype == p.dtype && (!c.present || c.dtype == p.dtype), kernel,
         "dtypes differ");
  int64_t products = 1;
  for (int64_t d = 0; d < rank; d++)
    products = checked_mul(products, call.ints[static_cast<size_t>(10 + 3 * d)]);
  const int64_t out_count = checked_mul(products, checked_mul(p.m, p.n));
  expect(dtype_bytes(p.dtype, out_count) <= out.bytes, kernel, "output is too small");
  // Every product writes something or there is nothing to do, so `products` is bounded by memory.
  if (out_count == 0) {
    p.m = 0;
    p.a_offset.assign(1, 0);
    p.b_offset.assign(1, 0);
    return p;
  }
  p.a_offset.assign(static_cast<size_t>(products), 0);
  p.b_offset.assign(static_cast<size_t>(products), 0);
  int64_t a_last = 0, b_last = 0, inner = products;
  for (int64_t d = 0; d < rank; d++) {
    const auto at = static_cast<size_t>(10 + 3 * d);
    const int64_t count = call.ints[at], as = call.ints[at + 1], bs = call.ints[at + 2];
    inner /= count;
    a_last = checked_add(a_last, checked_mul(count - 1, as));
    b_last = checked_add(b_last, checked_mul(count - 1, bs));
    for (int64_t i = 0; i < products; i++) {
      p.a_offset[static_cast<size_t>(i)] += i / inner % count * as;
      p.b_offset[static_cast<size_t>(i)] += i / inner % count * bs;
    }
  }
  const auto inside = [&](const Operand& o, int64_t first, int64_t rows, int64_t row,
                          int64_t columns, int64_t column) {
    if (rows == 0 || columns == 0) return true;
    const int64_t last = checked_add(
        first, checked_add(checked_mul(rows - 1, row), checked_mul(columns - 1, column)));
    return dtype_bytes(o.dtype, checked_add<int64_t>(last, 1)) <= o.bytes;
  };
  expect(inside(a, a_last, p.m, p.a_row, p.k, p.a_k), kernel, "a is too small");
  expect(inside(b, b_last, p.k, p.b_k, p.n, p.b_n), kernel, "b is too small");
  expect(!p.has_c || inside(c, 0, p.m, p.c_row, p.n, p.c_n), kernel, "c is too small");
  return p;
}

}  // namespace poprt::kernels
