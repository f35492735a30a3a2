#include "core/ops/built_node.h"

namespace poprt::ops {
namespace {

struct Dropped {
  std::vector<double> x, y, mask;
};

Dropped drop(Tensor x, Tensor ratio, std::map<std::string, ir::Attribute, std::less<>> attributes,
             bool constant_ratio = false) {
  BuiltNode c("Dropout", "",
              {{x, false}, {std::move(ratio), constant_ratio}, {Tensor::scalar(true), true}},
              std::move(attributes), 13, 2);
  const auto got = c.run();
  EXPECT_EQ(got[0].dtype(), x.dtype());
  EXPECT_EQ(got[1].dtype(), DType::boolean);
  return {x.to_doubles(), got[0].to_doubles(), got[1].to_doubles()};
}

template <class T>
Tensor numbers(int64_t count) {
  std::vector<T> v(static_cast<size_t>(count));
  for (size_t i = 0; i < v.size(); i++) v[i] = static_cast<T>(1 + static_cast<double>(i) / 7);
  return Tensor::of<T>({count}, std::span<const T>(v));
}

TEST(Dropout, TrainingDropsTheRatioAndScalesTheRest) {
  for (const double ratio : {0.0, 0.25, 0.5, 0.9}) {
    const auto check = [&](const Dropped& d, double tolerance) {
      double dropped = 0;
      for (size_t i = 0; i < d.x.size(); i++) {
        ASSERT_NEAR(d.y[i], d.mask[i] != 0 ? d.x[i] / (1 - ratio) : 0,
                    tolerance * d.x[i] / (1 - ratio));
        dropped += d.mask[i] == 0;
      }
      // Five standard deviations.
      const double n = static_cast<double>(d.x.size());
      EXPECT_NEAR(dropped, n * ratio, 5 * std::sqrt(n * ratio * (1 - ratio)));
    };
    const Tensor single = Tensor::scalar(static_cast<float>(ratio)), wide = Tensor::scalar(ratio);
    for (const bool constant : {false, true}) {
      check(drop(numbers<float>(20000), single, {}, constant), 1e-6);
      check(drop(numbers<double>(20000), wide, {}, constant), 1e-15);
      check(drop(numbers<double>(20000), single, {}, constant), 1e-6);
    }
  }
}

TEST(Dropout, TrainingWithoutARatioDropsHalf) {
  const Dropped d = drop(numbers<float>(10000), {}, {});
  double kept = 0;
  for (const double m : d.mask) kept += m;
  EXPECT_NEAR(kept, 5000, 250);
}

TEST(Dropout, ASeedRepeatsItsMaskAndAnotherDoesNot) {
  const auto mask = [](int64_t seed) {
    return drop(numbers<float>(500), {}, {{"seed", seed}}).mask;
  };
  EXPECT_EQ(mask(1), mask(1));
  EXPECT_NE(mask(1), mask(2));
}

TEST(Dropout, InferencePassesEverything) {
  const Tensor x = numbers<float>(100);
  for (const int64_t opset : {7, 10, 12, 13}) {
    BuiltNode c("Dropout", "", {{x, false}}, {}, opset, 2);
    const auto got = c.run();
    EXPECT_TRUE(got[0].same_as(x));
    for (const double m : got[1].to_doubles()) ASSERT_EQ(m, 1);
  }
}

TEST(Dropout, TrainingModeMustBeOneConstant) {
  const Tensor x = numbers<float>(4), two = Tensor::of<bool>({2}, {true, true});
  for (const auto& [mode, constant] : {std::pair(Tensor::scalar(true), false), {two, true}}) {
    BuiltNode c("Dropout", "", {{x, false}, {Tensor(), false}, {mode, constant}}, {}, 13);
    EXPECT_THROW(c.run(), Error);
  }
}

}  // namespace
}  // namespace poprt::ops
