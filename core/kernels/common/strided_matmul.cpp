#include "kernels/common/strided_matmul.h"

#include "base/checked.h"

namespace poprt::kernels {

StridedMatmul read_strided_matmul(std::string_view kernel, const calls::StridedProduct& product,
                                  std::span<const Operand> operands) {
  expect(operands.size() == 4, kernel, "expected 4 operands");
  StridedMatmul p;
  p.m = product.m;
  p.n = product.n;
  p.k = product.k;
  p.a_row = product.a_row;
  p.a_k = product.a_k;
  p.b_k = product.b_k;
  p.b_n = product.b_n;
  p.c_row = product.c_row;
  p.c_n = product.c_n;
  p.y_row = product.y_row ? product.y_row : p.n;
  p.alpha = product.alpha;
  p.beta = product.beta;
  const Operand &a = operands[0], &b = operands[1], &c = operands[2], &out = operands[3];
  expect(a.present && b.present && out.present, kernel, "an operand is missing");
  p.dtype = out.dtype;
  p.has_c = c.present;
  expect(a.dtype == p.dtype && b.dtype == p.dtype && (!c.present || c.dtype == p.dtype), kernel,
         "dtypes differ");
  int64_t products = 1;
  for (const calls::BatchAxis& axis : product.batch) products = checked_mul(products, axis.count);
  const int64_t out_count = checked_mul(products, checked_mul(p.m, p.n));
  expect(dtype_bytes(p.dtype, out_count) <= out.bytes, kernel, "output is too small");
  // Every product writes something unless there is nothing to do, so `products` is bounded by the
  // memory.
  if (out_count == 0) {
    p.m = 0;
    p.a_offset.assign(1, 0);
    p.b_offset.assign(1, 0);
    p.y_offset.assign(1, 0);
    return p;
  }
  p.a_offset.assign(static_cast<size_t>(products), 0);
  p.b_offset.assign(static_cast<size_t>(products), 0);
  p.y_offset.assign(static_cast<size_t>(products), 0);
  int64_t a_last = 0, b_last = 0, y_last = 0, inner = products;
  for (const auto& [count, as, bs, ys] : product.batch) {
    inner /= count;
    const int64_t y_step = product.y_row ? ys : inner * p.m * p.n;
    a_last = checked_add(a_last, checked_mul(count - 1, as));
    b_last = checked_add(b_last, checked_mul(count - 1, bs));
    y_last = checked_add(y_last, checked_mul(count - 1, y_step));
    for (int64_t i = 0; i < products; i++) {
      p.a_offset[static_cast<size_t>(i)] += i / inner % count * as;
      p.b_offset[static_cast<size_t>(i)] += i / inner % count * bs;
      p.y_offset[static_cast<size_t>(i)] += i / inner % count * y_step;
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
  expect(inside(out, y_last, p.m, p.y_row, p.n, 1), kernel, "output is too small");
  expect(!p.has_c || inside(c, 0, p.m, p.c_row, p.n, p.c_n), kernel, "c is too small");
  return p;
}

}  // namespace poprt::kernels
