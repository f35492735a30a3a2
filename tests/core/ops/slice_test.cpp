#include <limits>

#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

// Index by index. A start in front of the first place is clamped to it also if the step is
// negative, in ONNX Runtime but not in Python.
std::vector<int64_t> indices(int64_t start, int64_t end, int64_t step, int64_t n) {
  if (start < 0) start += n;
  if (end < 0) end += n;
  start = std::clamp<int64_t>(start, 0, step > 0 ? n : n - 1);
  end = std::clamp<int64_t>(end, step > 0 ? 0 : -1, step > 0 ? n : n - 1);
  std::vector<int64_t> at;
  for (int64_t i = start; step > 0 ? i < end : i > end; i += step) at.push_back(i);
  return at;
}

TEST(Slice, AgreesWithIndexLists) {
  std::mt19937 rng(5);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng() % static_cast<uint64_t>(high - low + 1));
  };
  for (int trial = 0; trial < 300; trial++) {
    const Shape shape = {pick(1, 5), pick(1, 5), pick(1, 9)};
    const Tensor x = random_bytes(kSizes[rng() % kSizes.size()], shape);
    std::vector<int64_t> starts, ends, steps;
    std::vector<std::vector<int64_t>> at;
    for (size_t d = 0; d < 3; d++) {
      starts.push_back(pick(-12, 12));
      ends.push_back(pick(-12, 12));
      steps.push_back(pick(1, 3) * (rng() % 2 ? 1 : -1));
      at.push_back(indices(starts[d], ends[d], steps[d], shape[d]));
    }
    const Tensor y =
        run_node({"Slice", 13, {}, {x, ints(starts), ints(ends), ints({0, 1, 2}), ints(steps)}})[0];
    for (size_t d = 0; d < 3; d++) ASSERT_EQ(y.shape()[d], static_cast<int64_t>(at[d].size()));
    expect_moved(y, x, [&](std::vector<int64_t> o) {
      for (size_t d = 0; d < 3; d++) o[d] = at[d][static_cast<size_t>(o[d])];
      return std::optional(o);
    });
  }
}

TEST(Slice, ClampsExtremeBounds) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max(),
                    kMin = std::numeric_limits<int64_t>::min();
  const Tensor x = Tensor::of<int32_t>({4}, {0, 1, 2, 3});
  const auto slice = [&](int64_t start, int64_t end, int64_t step) {
    return run_node({"Slice", 13, {}, {x, ints({start}), ints({end}), ints({0}), ints({step})}})[0]
        .to_int64s();
  };
  EXPECT_EQ(slice(1, kMax, 1), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(slice(kMax, kMin, -1), (std::vector<int64_t>{3, 2, 1, 0}));
  EXPECT_EQ(slice(kMin, kMax, kMax), (std::vector<int64_t>{0}));
  EXPECT_EQ(slice(-1, kMin, kMin), (std::vector<int64_t>{3}));
  EXPECT_EQ(slice(-1, kMin, -3), (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(slice(-10, -20, -1), (std::vector<int64_t>{0}));
}

TEST(Slice, OfNothingIsNothing) {
  for (const int64_t start : {-2, -1, 0, 1})
    EXPECT_EQ(run_node({"Slice",
                        13,
                        {},
                        {Tensor::zeros(DType::f32, {0}), ints({start}), ints({-9}), ints({0}),
                         ints({-1})}})[0]
                  .shape(),
              Shape{0});
}

TEST(Slice, ReadsAttributesBeforeOpset10) {
  const Tensor x = Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5});
  const Tensor y = run_node({"Slice",
                             1,
                             {{"starts", std::vector<int64_t>{1}},
                              {"ends", std::vector<int64_t>{1000}},
                              {"axes", std::vector<int64_t>{1}}},
                             {x}})[0];
  EXPECT_EQ(y.to_doubles(), (std::vector<double>{1, 2, 4, 5}));
}

TEST(Slice, KeepsAxesThatAreNotSlicedWhenBoundsAreUnknown) {
  const Tensor x = Tensor::zeros(DType::f32, {2, 3});
  EXPECT_EQ(infer_node({"Slice", 13, {}, {x, ints({0}), ints({1}), ints({1})}, 1, {1, 2}}).shape,
            (Shape{2, kUnknownDim}));
}

TEST(Slice, RefusesZeroStepsAndDoubledAxes) {
  const Tensor x = Tensor::zeros(DType::f32, {2, 3});
  EXPECT_THROW(infer_node({"Slice", 13, {}, {x, ints({0}), ints({1}), ints({1}), ints({0})}}),
               Error);
  EXPECT_THROW(infer_node({"Slice", 13, {}, {x, ints({0, 0}), ints({1, 1}), ints({1, -1})}}),
               Error);
  EXPECT_THROW(infer_node({"Slice", 13, {}, {x, ints({0, 0}), ints({1})}}), Error);
}

}  // namespace
}  // namespace poprt::test
