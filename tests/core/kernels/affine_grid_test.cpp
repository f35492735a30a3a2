// Compares kernel `affine_grid` with the transform of each point, in double.
#include "kernels/calls/affine_grid.h"

#include "core/kernels/run_call.h"

namespace poprt::kernels {
namespace {

void expect_right(const calls::AffineGrid& c, DType type, std::mt19937& rng) {
  const auto rank = static_cast<int64_t>(c.size.size());
  const int64_t points = element_count(c.size);
  std::vector<Tensor> o = {test::random_numbers(type, {c.n, rank, rank + 1}, rng),
                           Tensor::zeros(type, {c.n, points, rank})};
  test::expect_needs_every_element(c, o);
  test::run_call(c, o);
  const std::vector<double> theta = o[0].to_doubles(), y = o[1].to_doubles();
  for (int64_t i = 0; i < c.n * points; i++) {
    // The coordinates are those of the last dimension first, and 1.
    std::vector<double> at = {1};
    int64_t rest = i % points;
    for (auto d = static_cast<size_t>(rank); d-- > 0; rest /= c.size[d]) {
      const auto k = static_cast<double>(rest % c.size[d]), size = static_cast<double>(c.size[d]);
      const double corners = c.size[d] == 1 ? 0 : 2 * k / (size - 1) - 1;
      at.insert(at.end() - 1, c.align_corners ? corners : (2 * k + 1) / size - 1);
    }
    for (int64_t r = 0; r < rank; r++) {
      double want = 0;
      for (int64_t j = 0; j <= rank; j++)
        want += theta[static_cast<size_t>((i / points * rank + r) * (rank + 1) + j)] *
                at[static_cast<size_t>(j)];
      ASSERT_NEAR(y[static_cast<size_t>(i * rank + r)], want, type == DType::f64 ? 1e-12 : 1e-5)
          << "point " << i << " coordinate " << r;
    }
  }
}

TEST(AffineGrid, IsTheTransformOfEachPoint) {
  std::mt19937 rng(1);
  const std::vector<std::vector<int64_t>> sizes = {{1, 1},    {2, 3},    {5, 1},    {1, 4},
                                                   {3, 2, 4}, {1, 1, 1}, {2, 1, 3}, {1, 5, 2}};
  for (const auto& size : sizes)
    for (const int64_t n : {0, 1, 3})
      for (const bool align : {false, true})
        for (const DType type : {DType::f32, DType::f64})
          expect_right({.n = n, .align_corners = align, .size = size}, type, rng);
}

TEST(AffineGrid, AcceptsZeroPoints) {
  std::mt19937 rng(2);
  for (const std::vector<int64_t>& size :
       {std::vector<int64_t>{0, 3}, {3, 0}, {0, 2, 2}, {2, 0, 2}, {2, 2, 0}})
    for (const int64_t n : {0, 2}) expect_right({.n = n, .size = size}, DType::f32, rng);
}

}  // namespace
}  // namespace poprt::kernels
