#include "core/ops/run_node.h"
#include "core/ops/sub_byte.h"

namespace poprt::test {
namespace {

int64_t reflected(int64_t i, int64_t n) {
  while (i < 0 || i >= n) {
    if (n == 1) return 0;
    i = i < 0 ? -i : 2 * (n - 1) - i;
  }
  return i;
}

TEST(Pad, EveryModeAndSizeWithNegativePads) {
  std::mt19937 rng(2);
  for (const std::string mode : {"constant", "edge", "reflect", "wrap"})
    for (const DType dtype : kSizes)
      for (int trial = 0; trial < 10; trial++) {
        const Shape shape = {1 + static_cast<int64_t>(rng() % 4), 2, 3,
                             1 + static_cast<int64_t>(rng() % 5)};
        std::vector<int64_t> pads(8);
        for (size_t i = 0; i < 8; i++) pads[i] = i % 4 == 1 ? 0 : static_cast<int64_t>(rng() % 5);
        if (mode == "reflect")  // at most the size of the axis minus one
          for (size_t i = 0; i < 8; i++) pads[i] = std::min(pads[i], shape[i % 4] - 1);
        if (shape[3] > 2) pads[3] = -1;
        if (shape[3] > 2) pads[7] = -1;
        const Tensor x = random_bytes(dtype, shape), fill = random_bytes(dtype, {}, 9);
        const Tensor y = run_node({"Pad", 19, {{"mode", mode}}, {x, ints(pads), fill}, 1, {2}})[0];
        expect_moved(
            y, x,
            [&](std::vector<int64_t> o) -> std::optional<std::vector<int64_t>> {
              for (size_t d = 0; d < 4; d++) {
                o[d] -= pads[d];
                const bool inside = o[d] >= 0 && o[d] < shape[d];
                if (inside) continue;
                if (mode == "constant") return std::nullopt;
                if (mode == "edge") o[d] = o[d] < 0 ? 0 : shape[d] - 1;
                if (mode == "wrap") o[d] = ((o[d] % shape[d]) + shape[d]) % shape[d];
                if (mode == "reflect") o[d] = reflected(o[d], shape[d]);
              }
              return o;
            },
            fill);
      }
}

// Two rows of any number of bytes are each repeated.
TEST(Pad, RepeatsRowsOfAnyWidth) {
  for (int64_t width = 1; width <= 17; width++)
    for (const DType dtype : {DType::u8, DType::f16}) {
      const Tensor x = random_bytes(dtype, {2, width});
      const Tensor y =
          run_node({"Pad", 19, {{"mode", std::string("edge")}}, {x, ints({1, 0, 1, 0})}})[0];
      expect_moved(y, x, [](const std::vector<int64_t>& o) -> std::optional<std::vector<int64_t>> {
        return std::vector<int64_t>{o[0] / 2, o[1]};
      });
    }
}

TEST(Pad, ElementsSmallerThanAByte) {
  const Tensor x = Tensor::zeros(DType::f32, {3, 5}), fill = Tensor::zeros(DType::f32, {});
  for (const std::string mode : {"constant", "edge", "reflect", "wrap"})
    expect_moves_sub_byte({"Pad", 25, {{"mode", mode}}, {x, ints({1, -1, 2, 2}), fill}}, {0, 2});
  expect_moves_sub_byte({"Pad", 25, {}, {x, ints({0, 20000, 0, 1})}}, {0});
}

TEST(Pad, TakesAxesAndDefaultsToZero) {
  const Tensor x = Tensor::of<float>({1, 2}, {1, 2});
  const Tensor y = run_node({"Pad", 18, {}, {x, ints({1, 2}), Tensor(), ints({-1})}})[0];
  EXPECT_EQ(y.to_doubles(), (std::vector<double>{0, 1, 2, 0, 0}));
}

TEST(Pad, ReadsAttributesBeforeOpset11) {
  const Tensor x = Tensor::of<f16_t>({2}, {to_f16(1), to_f16(2)});
  const Tensor y =
      run_node({"Pad", 2, {{"pads", std::vector<int64_t>{1, 1}}, {"value", 7.5f}}, {x}})[0];
  EXPECT_EQ(y.to_doubles(), (std::vector<double>{7.5, 1, 2, 7.5}));
}

TEST(Pad, FillsAndCopiesLongAxes) {
  const Tensor x = random_bytes(DType::f32, {2, 20000}), fill = random_bytes(DType::f32, {}, 4);
  const Tensor y = run_node({"Pad", 13, {}, {x, ints({0, 3, 1, -2}), fill}})[0];
  expect_moved(
      y, x,
      [](std::vector<int64_t> o) -> std::optional<std::vector<int64_t>> {
        o[1] -= 3;
        if (o[0] > 1 || o[1] < 0) return std::nullopt;
        return o;
      },
      fill);
}

TEST(Pad, FillsAnEmptyInput) {
  const Tensor y = run_node(
      {"Pad", 13, {}, {Tensor::zeros(DType::f32, {0}), ints({1, 1}), Tensor::scalar(3.0f)}})[0];
  EXPECT_EQ(y.to_doubles(), (std::vector<double>{3, 3}));
  EXPECT_THROW(infer_node({"Pad",
                           13,
                           {{"mode", std::string("edge")}},
                           {Tensor::zeros(DType::f32, {0}), ints({1, 1})}}),
               Error);
}

TEST(Pad, NegativePadsCutBeforeTheOthersTake) {
  const Tensor x = Tensor::of<float>({4}, {0, 1, 2, 3});
  const auto padded = [&](const char* mode, std::vector<int64_t> pads) {
    return run_node({"Pad", 19, {{"mode", std::string(mode)}}, {x, ints(pads)}})[0].to_doubles();
  };
  EXPECT_EQ(padded("wrap", {-2, 2}), (std::vector<double>{2, 3, 2, 3}));
  EXPECT_EQ(padded("wrap", {3, -1}), (std::vector<double>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(padded("edge", {-2, 2}), (std::vector<double>{2, 3, 3, 3}));
  EXPECT_EQ(padded("edge", {2, -2}), (std::vector<double>{0, 0, 0, 1}));
  EXPECT_EQ(padded("reflect", {-1, 2}), (std::vector<double>{1, 2, 3, 2, 1}));
}

TEST(Pad, ReflectsNoMoreThanThereIs) {
  const auto padded = [](int64_t size, std::vector<int64_t> pads) {
    return infer_node({"Pad",
                       13,
                       {{"mode", std::string("reflect")}},
                       {Tensor::zeros(DType::f32, {size}), ints(pads)}});
  };
  EXPECT_EQ(padded(3, {2, 2}).shape, Shape{7});
  EXPECT_THROW(padded(3, {3, 0}), Error);
  EXPECT_THROW(padded(3, {0, 3}), Error);
  EXPECT_THROW(padded(1, {1, 0}), Error);
  EXPECT_THROW(padded(4, {-2, 2}), Error);
}

TEST(Pad, RefusesMorePadsThanAxesAndTooManyNegativeOnes) {
  const Tensor x = Tensor::zeros(DType::f32, {2});
  EXPECT_THROW(infer_node({"Pad", 13, {}, {x, ints({1, 1, 1, 1})}}), Error);
  EXPECT_THROW(infer_node({"Pad", 13, {}, {x, ints({-2, -1})}}), Error);
}

}  // namespace
}  // namespace poprt::test
