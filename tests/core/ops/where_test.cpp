#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(Where, ChoosesBytesInEveryBroadcast) {
  const Shape wide = {3, 130}, row = {130}, column = {3, 1}, one = {};
  for (const Shape& c : {wide, row, column, one})
    for (const Shape& x : {wide, row, column, one})
      for (const Shape& y : {wide, row, column, one}) {
        if (broadcast_shapes(broadcast_shapes(c, x), y) != wide) continue;
        const Tensor flag = random_bytes(DType::boolean, c, 1);
        const Tensor a = any_bytes(DType::u8, x, 2), b = any_bytes(DType::u8, y, 3);
        const auto got =
            run_node({.op = "Where", .inputs = {flag, a, b}, .runtime = {0, 1, 2}})[0].to_doubles();
        const auto at = [&](const Tensor& t, int64_t i) {
          const Shape& s = t.shape();
          const int64_t r = i / 130, k = i % 130;
          const int64_t from = s == wide ? i : s == row ? k : s == column ? r : 0;
          return t.to_doubles()[static_cast<size_t>(from)];
        };
        for (int64_t i = 0; i < 390; i += 7)
          ASSERT_EQ(got[static_cast<size_t>(i)], at(flag, i) != 0 ? at(a, i) : at(b, i))
              << shape_string(c) << shape_string(x) << shape_string(y) << " element " << i;
      }
}

}  // namespace
}  // namespace poprt::test
