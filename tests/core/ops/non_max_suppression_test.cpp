// Compares NonMaxSuppression with a plain loop: random boxes, ties, boxes that touch, are empty or
// have their corners in another order.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "base/error.h"
#include "core/ops/run_node.h"

namespace poprt::ops {
namespace {

struct Limits {
  int64_t most = 100;
  double iou = 0.5, score = -1e30;
  bool center = false;
};

using Rows = std::vector<std::array<int64_t, 3>>;

Rows rows_of(const Tensor& t) {
  Rows rows;
  const auto v = t.to_int64s();
  for (size_t i = 0; i + 2 < v.size(); i += 3) rows.push_back({v[i], v[i + 1], v[i + 2]});
  return rows;
}

// Rows for every box of every class: those past the last one are -1.
Rows found(const Tensor& boxes, const Tensor& scores, const Limits& l) {
  return rows_of(test::run_node({.op = "NonMaxSuppression",
                                 .attributes = {{"center_point_box", int64_t{l.center}}},
                                 .inputs = {boxes, scores, test::ints({l.most}),
                                            Tensor::of<float>({1}, {static_cast<float>(l.iou)}),
                                            Tensor::of<float>({1}, {static_cast<float>(l.score)})},
                                 .runtime = {0, 1},
                                 .domain = "poprt"})[0]);
}

double intersection_over_union(const float* a, const float* b, bool center) {
  const auto edges = [&](const float* box) {
    std::array<double, 4> e{box[0], box[1], box[2], box[3]};
    if (center)
      return std::array<double, 4>{e[0] - e[2] / 2, e[1] - e[3] / 2, e[0] + e[2] / 2,
                                   e[1] + e[3] / 2};
    return std::array<double, 4>{std::min(e[0], e[2]), std::min(e[1], e[3]), std::max(e[0], e[2]),
                                 std::max(e[1], e[3])};
  };
  const auto p = edges(a), q = edges(b);
  const double h = std::min(p[2], q[2]) - std::max(p[0], q[0]),
               w = std::min(p[3], q[3]) - std::max(p[1], q[1]);
  if (h <= 0 || w <= 0) return 0;
  const auto area = [](const auto& e) { return (e[2] - e[0]) * (e[3] - e[1]); };
  return h * w / (area(p) + area(q) - h * w);
}

Rows expected(const Tensor& boxes, const Tensor& scores, const Limits& l) {
  const int64_t n = scores.shape()[0], c = scores.shape()[1], b = scores.shape()[2];
  Rows rows;
  for (int64_t plane = 0; plane < n * c; plane++) {
    const float* s = scores.values<float>().data() + plane * b;
    const float* image = boxes.values<float>().data() + plane / c * b * 4;
    std::vector<int64_t> order, chosen;
    for (int64_t i = 0; i < b; i++)
      if (s[i] > static_cast<float>(l.score)) order.push_back(i);
    std::sort(order.begin(), order.end(),
              [&](int64_t x, int64_t y) { return s[x] != s[y] ? s[x] > s[y] : x < y; });
    for (const int64_t i : order) {
      if (static_cast<int64_t>(chosen.size()) == l.most) break;
      if (std::none_of(chosen.begin(), chosen.end(), [&](int64_t k) {
            return intersection_over_union(image + i * 4, image + k * 4, l.center) > l.iou;
          }))
        chosen.push_back(i);
    }
    for (const int64_t i : chosen) rows.push_back({plane / c, plane % c, i});
  }
  rows.resize(static_cast<size_t>(n * c * std::min(l.most, b)), {-1, -1, -1});
  return rows;
}

TEST(NonMaxSuppression, RandomBoxesOfSeveralImagesAndClasses) {
  std::mt19937 rng(5);
  std::uniform_real_distribution<float> place(0, 10), size(0.5f, 4);
  for (const int64_t count : {1, 7, 60})
    for (const Limits& l : {Limits{}, Limits{3, 0.3}, Limits{100, 0}, Limits{100, 1}, Limits{0},
                            Limits{5, 0.4, 0.5}, Limits{100, 0.5, 2}, Limits{20, 0.3, 0.2, true}}) {
      Tensor boxes = Tensor::zeros(DType::f32, {2, count, 4});
      const auto v = boxes.mutable_values<float>();
      for (size_t i = 0; i < v.size(); i += 4) {
        v[i] = place(rng), v[i + 1] = place(rng);
        v[i + 2] = size(rng) + (l.center ? 0 : v[i]),
              v[i + 3] = size(rng) + (l.center ? 0 : v[i + 1]);
        // Corners may be any two that face each other.
        if (!l.center && rng() % 2) std::swap(v[i], v[i + 2]);
        if (!l.center && rng() % 2) std::swap(v[i + 1], v[i + 3]);
      }
      Tensor scores = Tensor::zeros(DType::f32, {2, 3, count});
      for (float& s : scores.mutable_values<float>()) s = static_cast<float>(rng() % 20) / 20;
      EXPECT_EQ(found(boxes, scores, l), expected(boxes, scores, l))
          << count << " boxes, " << l.most << " of each class, IoU " << l.iou;
    }
}

TEST(NonMaxSuppression, BoxesThatTouchOrAreEmptyDoNotOverlap) {
  // 0 and 1 share an edge, 2 is a line within 0, 3 a point within 0, 4 covers half of 0, 5 is 0.
  const Tensor boxes = Tensor::of<float>(
      {1, 6, 4}, {0, 0, 2, 2, 2, 0, 4, 2, 0, 1, 2, 1, 1, 1, 1, 1, 0, 0, 1, 2, 0, 0, 2, 2});
  const Tensor scores = Tensor::of<float>({1, 1, 6}, {0.9f, 0.8f, 0.7f, 0.6f, 0.5f, 0.4f});
  const Rows all = found(boxes, scores, {.iou = 0});
  EXPECT_EQ(all, (Rows{{0, 0, 0}, {0, 0, 1}, {0, 0, 2}, {0, 0, 3}, {-1, -1, -1}, {-1, -1, -1}}));
  // Exactly the threshold is no overlap.
  EXPECT_EQ(found(boxes, scores, {.iou = 0.5})[4], (std::array<int64_t, 3>{0, 0, 4}));
  EXPECT_EQ(found(boxes, scores, {.iou = 0.5})[5], (std::array<int64_t, 3>{-1, -1, -1}));
}

TEST(NonMaxSuppression, ConstantBoxesLeaveNoRowOver) {
  const Tensor boxes = Tensor::of<float>({1, 3, 4}, {0, 0, 2, 2, 0, 0, 2, 2, 5, 5, 6, 6});
  const Tensor scores = Tensor::of<float>({1, 1, 3}, {0.5f, 0.9f, 0.1f});
  const Tensor y = test::run_node(
      {.op = "NonMaxSuppression",
       .inputs = {boxes, scores, test::ints({9}), Tensor::of<float>({1}, {0.5f})}})[0];
  EXPECT_EQ(rows_of(y), (Rows{{0, 0, 1}, {0, 0, 2}}));
}

TEST(NonMaxSuppression, RefusesMismatchedShapesAndThresholds) {
  const auto code = [](Shape boxes, Shape scores, float iou) {
    try {
      test::infer_node(
          {.op = "NonMaxSuppression",
           .inputs = {test::random_floats(std::move(boxes)), test::random_floats(std::move(scores)),
                      test::ints({9}), Tensor::of<float>({1}, {iou})},
           .runtime = {0, 1}});
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::ok;
  };
  EXPECT_EQ(code({1, 3, 4}, {1, 2, 3}, 0.5f), ErrorCode::ok);
  EXPECT_EQ(code({1, 3, 4}, {1, 2, 3}, 1), ErrorCode::ok);
  EXPECT_EQ(code({1, 3, 4}, {1, 2, 3}, 1.5f), ErrorCode::invalid_argument);
  EXPECT_EQ(code({1, 3, 4}, {1, 2, 3}, -0.5f), ErrorCode::invalid_argument);
  EXPECT_EQ(code({1, 3, 5}, {1, 2, 3}, 0.5f), ErrorCode::invalid_argument);
  EXPECT_EQ(code({2, 3, 4}, {1, 2, 3}, 0.5f), ErrorCode::invalid_argument);
  EXPECT_EQ(code({1, 4, 4}, {1, 2, 3}, 0.5f), ErrorCode::invalid_argument);
  EXPECT_EQ(code({1, 3, 4}, {1, 3}, 0.5f), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace poprt::ops
