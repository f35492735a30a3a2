#include <algorithm>

#include "core/ops/run_node.h"
#include "ops/axes.h"

namespace poprt::test {
namespace {

struct PoolCase {
  Shape x;
  std::vector<int64_t> kernel, strides, pads, dilations;
};

// The largest inside the window, by the definition.
std::vector<double> naive_max(const PoolCase& c, const std::vector<double>& x, const Shape& y) {
  const size_t rank = c.kernel.size();
  const double lowest = *std::min_element(x.begin(), x.end());
  std::vector<double> out;
  for (int64_t i = 0; i < element_count(y); i++) {
    const auto at = unravel(i, y);
    double best = lowest;
    for (int64_t t = 0; t < element_count(c.kernel); t++) {
      const auto tap = unravel(t, c.kernel);
      auto from = at;
      bool inside = true;
      for (size_t d = 0; d < rank; d++) {
        from[d + 1] = at[d + 1] * c.strides[d] - c.pads[d] + tap[d] * c.dilations[d];
        inside = inside && from[d + 1] >= 0 && from[d + 1] < c.x[d + 1];
      }
      if (inside) best = std::max(best, x[static_cast<size_t>(ravel(from, c.x))]);
    }
    out.push_back(best);
  }
  return out;
}

TEST(NhwcMaxPool, IsTheLargestOfEachWindow) {
  const PoolCase cases[] = {
      {{2, 9, 11, 64}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
      {{1, 7, 5, 37}, {2, 3}, {1, 2}, {0, 1, 1, 0}, {2, 1}},
      {{3, 20, 5}, {4}, {3}, {2, 1}, {2}},
      {{1, 4, 5, 6, 33}, {2, 3, 2}, {1, 2, 3}, {1, 0, 1, 0, 1, 1}, {1, 1, 1}},
      // More pieces than are joined at a time.
      {{1, 40, 70, 3}, {36, 40}, {2, 7}, {3, 0, 3, 0}, {1, 1}},
  };
  for (const PoolCase& c : cases)
    for (const DType dtype : {DType::u8, DType::s8}) {
      SCOPED_TRACE(shape_string(c.x) + " " + std::string(dtype_name(dtype)));
      const Tensor x = any_bytes(dtype, c.x, 7);
      const Tensor y = run_node({.op = "NhwcMaxPool",
                                 .attributes = {{"kernel_shape", c.kernel},
                                                {"strides", c.strides},
                                                {"pads", c.pads},
                                                {"dilations", c.dilations}},
                                 .inputs = {x},
                                 .runtime = {0},
                                 .domain = "com.microsoft"})[0];
      EXPECT_EQ(y.dtype(), dtype);
      EXPECT_EQ(y.to_doubles(), naive_max(c, x.to_doubles(), y.shape()));
    }
}

TEST(NhwcMaxPool, CarriesTheChannelsOfAnyRank) {
  for (const Shape& x : {Shape{2, 8, 5}, Shape{2, 8, 8, 5}, Shape{2, 4, 4, 4, 5}}) {
    const auto g =
        build_node({.op = "NhwcMaxPool",
                    .attributes = {{"kernel_shape", std::vector<int64_t>(x.size() - 2, 2)}},
                    .inputs = {Tensor::zeros(DType::u8, x)},
                    .runtime = {0},
                    .domain = "com.microsoft"});
    ops::infer(*g->node);
    const size_t last = x.size() - 1;
    EXPECT_EQ(ops::carried(ops::axis_map(*g->node), {0, last}, 0), last) << shape_string(x);
  }
}

}  // namespace
}  // namespace poprt::test
