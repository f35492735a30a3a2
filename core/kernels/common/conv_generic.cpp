#include "kernels/common/conv_generic.h"

#include <algorithm>

#include "base/checked.h"

namespace poprt::kernels {

GenericConv read_generic_conv(std::string_view kernel, const calls::PlainConv& conv,
                              std::span<const Operand> operands) {
  expect(operands.size() == 4, kernel, "expected 4 operands");
  GenericConv p;
  p.n = conv.n;
  p.groups = conv.groups;
  p.c = conv.c;
  p.m = conv.m;
  std::copy_backward(conv.axes.begin(), conv.axes.end(), p.axis.end());
  for (const ConvAxis& a : p.axis) {
    p.in_plane = checked_mul(p.in_plane, a.in);
    p.out_plane = checked_mul(p.out_plane, a.out);
    p.taps = checked_mul(p.taps, a.kernel);
  }
  const Operand &x = operands[0], &w = operands[1], &b = operands[2], &y = operands[3];
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
