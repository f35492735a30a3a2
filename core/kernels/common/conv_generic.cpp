#include "kernels/common/conv_generic.h"

#include "base/checked.h"

namespace poprt::kernels {

GenericConv read_generic_conv(std::string_view kernel, const Call& call) {
  const auto v = call.ints;
  expect(call.operands.size() == 4 && v.size() >= 5, kernel, "expected 4 operands, 5 integers");
  const int64_t rank = v[4];
  expect(rank >= 1 && rank <= 3 && v.size() == static_cast<size_t>(5 + 6 * rank), kernel,
         "bad rank");
  constexpr int64_t kLimit = int64_t{1} << 31;
  for (size_t i = 0; i < 4; i++)
    expect(v[i] >= 1 && v[i] < kLimit, kernel, "a size is out of range");
  GenericConv p;
  p.n = v[0];
  p.groups = v[1];
  p.c = v[2];
  p.m = v[3];
  for (int64_t d = 0; d < rank; d++) {
    const auto* a = v.data() + 5 + 6 * d;
    for (int i = 0; i < 6; i++)
      expect((i == 4 ? a[i] > -kLimit : a[i] >= 1) && a[i] < kLimit, kernel,
             "a size is out of range");
    p.axis[static_cast<size_t>(3 - rank + d)] = {a[0], a[1], a[2], a[3], a[4], a[5]};
  }
  for (const ConvAxis& a : p.axis) {
    p.in_plane = checked_mul(p.in_plane, a.in);
    p.out_plane = checked_mul(p.out_plane, a.out);
    p.taps = checked_mul(p.taps, a.kernel);
  }
  const Operand &x = call.operands[0], &w = call.operands[1], &b = call.operands[2],
                &y = call.operands[3];
  p.dtype = y.dtype;
  const auto holds = [&](const Operand& o, int64_t count, int64_t each) {
    return o.present && o.dtype == p.dtype &&
           dtype_bytes(o.dtype, checked_mul(count, each)) <= o.bytes;
  };
  const int64_t ng = checked_mul(p.n, p.groups);
  expect(holds(x, checked_mul(ng, p.c), p.in_plane) &&
             holds(w, checked_mul(checked_mul(p.groups, p.c), p.m), p.taps) &&
             holds(y, checked_mul(ng, p.m), p.out_plane) && (!b.present || holds(b, p.groups, p.m)),
         kernel, "an operand is missing, too small or of another dtype");
  return p;
}

}  // namespace poprt::kernels
