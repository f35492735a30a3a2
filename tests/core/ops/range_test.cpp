#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(Range, CountsIn64BitsAsOnnxRuntimeDoes) {
  const auto range = [](Tensor a, Tensor b, Tensor c) {
    return run_node({"Range", 11, {}, {std::move(a), std::move(b), std::move(c)}})[0];
  };
  const auto s64 = [](int64_t v) { return Tensor::scalar(v); };
  constexpr int64_t kOdd = (int64_t{1} << 53) + 1;
  EXPECT_EQ(range(s64(kOdd), s64(kOdd + 1), s64(1)).to_int64s(), std::vector<int64_t>{kOdd});
  EXPECT_EQ(range(s64(INT64_MAX), s64(INT64_MIN), s64(INT64_MIN)).to_int64s(),
            (std::vector<int64_t>{INT64_MAX, -1}));
  EXPECT_EQ(range(s64(3), s64(3), s64(-1)).count(), 0);
  EXPECT_EQ(range(s64(7), s64(0), s64(-3)).to_int64s(), (std::vector<int64_t>{7, 4, 1}));
  EXPECT_EQ(range(Tensor::scalar(0.0f), Tensor::scalar(0.3f), Tensor::scalar(0.1f)).count(), 4);
}

}  // namespace
}  // namespace poprt::test
