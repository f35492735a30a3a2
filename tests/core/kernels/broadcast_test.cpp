#include "kernels/common/broadcast.h"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"

namespace poprt::kernels {
namespace {

Broadcast broadcast(const Shape& out, const std::vector<Shape>& operands) {
  const std::vector<std::span<const int64_t>> shapes(operands.begin(), operands.end());
  return make_broadcast("k", out, shapes);
}

// Returns the element of an operand of shape `shape` that element `e` of the output reads.
int64_t place(const Shape& out, const Shape& shape, int64_t e) {
  int64_t at = 0, step = 1;
  for (size_t k = 0; k < out.size(); k++) {
    const int64_t index = e % out[out.size() - 1 - k];
    e /= out[out.size() - 1 - k];
    if (k >= shape.size()) continue;
    const int64_t size = shape[shape.size() - 1 - k];
    if (size != 1) at += index * step;
    step *= size;
  }
  return at;
}

void expect_walks(const Shape& out, const std::vector<Shape>& operands, std::mt19937& random) {
  const Broadcast b = broadcast(out, operands);
  const int64_t count = element_count(out);
  ASSERT_EQ(b.count, count);
  ASSERT_EQ(b.strides.size(), operands.size());
  for (size_t i = 0; i < operands.size(); i++) {
    bool linear = true, scalar = true;
    for (int64_t e = 0; e < count; e++) {
      linear &= place(out, operands[i], e) == e;
      scalar &= place(out, operands[i], e) == 0;
    }
    if (count == 0) continue;
    ASSERT_EQ(b.is_linear(i), linear) << shape_string(operands[i]) << " to " << shape_string(out);
    ASSERT_EQ(b.is_scalar(i), scalar) << shape_string(operands[i]) << " to " << shape_string(out);
  }
  // The output is divided into two pieces at every position.
  const int64_t middle = count ? static_cast<int64_t>(random() % static_cast<uint64_t>(count)) : 0;
  int64_t next = 0;
  for (const auto& [begin, end] : {std::pair(int64_t{0}, middle), std::pair(middle, count)})
    for_each_run<3>(
        b, operands.size(), begin, end, [&](const int64_t* offsets, int64_t first, int64_t n) {
          EXPECT_EQ(first, next);
          EXPECT_GT(n, 0);
          next = first + n;
          for (size_t i = 0; i < operands.size(); i++)
            for (int64_t k = 0; k < n; k++)
              EXPECT_EQ(offsets[i] + k * b.strides[i].back(), place(out, operands[i], first + k));
        });
  ASSERT_EQ(next, count);
  next = 0;
  for (const auto& [begin, end] : {std::pair(int64_t{0}, middle), std::pair(middle, count)})
    for_each_rows<3>(b, operands.size(), begin, end,
                     [&](const int64_t* offsets, int64_t first, int64_t rows, int64_t n) {
                       EXPECT_EQ(first, next);
                       EXPECT_TRUE(rows == 1 || (rows > 1 && n == b.dims.back()));
                       EXPECT_GT(n, 0);
                       next = first + rows * n;
                       for (size_t i = 0; i < operands.size(); i++) {
                         const auto& strides = b.strides[i];
                         for (int64_t k = 0; k < rows * n; k++)
                           EXPECT_EQ(offsets[i] + k % n * strides.back() +
                                         (rows > 1 ? k / n * strides[strides.size() - 2] : 0),
                                     place(out, operands[i], first + k));
                       }
                     });
  ASSERT_EQ(next, count);
}

TEST(Broadcast, RunsCoverEveryElementOnceInOrder) {
  std::mt19937 random(3);
  for (int round = 0; round < 400; round++) {
    Shape out(random() % 5);
    for (int64_t& d : out) d = 1 + static_cast<int64_t>(random() % 4);
    std::vector<Shape> operands(1 + random() % 3);
    for (Shape& s : operands) {
      s.assign(out.begin() + static_cast<std::ptrdiff_t>(random() % (out.size() + 1)), out.end());
      for (int64_t& d : s)
        if (random() % 3 == 0) d = 1;
    }
    expect_walks(out, operands, random);
    if (HasFailure()) FAIL() << round << ": " << shape_string(out);
  }
}

TEST(Broadcast, DimensionsThatAllWalkAlikeAreOne) {
  using Dims = std::vector<int64_t>;
  EXPECT_EQ(broadcast({2, 3, 4}, {{2, 3, 4}, {2, 3, 4}}).dims, (Dims{24}));
  EXPECT_EQ(broadcast({2, 3, 4}, {{2, 3, 4}, {4}}).dims, (Dims{6, 4}));
  EXPECT_EQ(broadcast({2, 3, 4}, {{2, 3, 4}, {2, 1, 1}}).dims, (Dims{2, 12}));
  EXPECT_EQ(broadcast({2, 3, 4}, {{2, 3, 4}, {2, 1, 4}}).dims, (Dims{2, 3, 4}));
  EXPECT_EQ(broadcast({2, 1, 4}, {{2, 1, 4}, {4}}).dims, (Dims{2, 4})) << "none is of one";
  EXPECT_EQ(broadcast({1, 1}, {{1}, {}}).dims, (Dims{1})) << "but the only one";
  EXPECT_EQ(broadcast({}, {{}}).dims, (Dims{1}));
  EXPECT_EQ(broadcast({2, 0}, {{2, 0}}).count, 0);
}

TEST(Broadcast, RefusesShapesThatDoNotFit) {
  const auto message_for = [](const Shape& out, const Shape& operand) -> std::string {
    try {
      broadcast(out, {operand});
    } catch (const Error& e) {
      return std::string(error_code_name(e.code())) + ": " + e.message();
    }
    return "";
  };
  EXPECT_EQ(message_for({2, 3}, {3}), "");
  EXPECT_EQ(message_for({2, 3}, {2}),
            "invalid_argument: kernel k: [2] does not broadcast to [2,3]");
  EXPECT_EQ(message_for({2, 3}, {1, 2, 3}),
            "invalid_argument: kernel k: [1,2,3] does not broadcast to [2,3]");
  EXPECT_EQ(message_for({1}, {3}), "invalid_argument: kernel k: [3] does not broadcast to [1]");
  // Dimensions that broadcast alternate with others.
  const auto alternating = [](size_t rank) {
    Shape s(rank, 2);
    for (size_t d = 0; d < rank; d += 2) s[d] = 1;
    return s;
  };
  EXPECT_EQ(message_for(Shape(12, 2), alternating(12)), "");
  EXPECT_EQ(message_for(Shape(13, 2), alternating(13)),
            "unimplemented: kernel k: more than 12 distinct dimensions");
}

}  // namespace
}  // namespace poprt::kernels
