#include "program/weight_form.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace poprt::program {
namespace {

struct Scaled {
  float by;
  bool operator==(const Scaled&) const = default;
  void operator()(WeightForm::Sources from, WeightForm::Bytes to) const {
    const auto out = as_array<float>(to);
    for (size_t i = 0; i < out.size(); i++) out[i] = from[0].values<float>()[i] * by;
  }
};

struct AlsoScaled : Scaled {
  bool operator==(const AlsoScaled&) const = default;
};

Tensor numbers(int64_t count, float first = 0) {
  Tensor t = Tensor::zeros(DType::f32, {count});
  for (float& x : t.mutable_values<float>()) x = first++;
  return t;
}

void expect_equal(const WeightForm& a, const WeightForm& b) {
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
}

TEST(WeightForm, ContentsMakeFormsEqualNotAddresses) {
  for (const int64_t count : {0, 1, 3, 100, 5000})
    expect_equal({{numbers(count)}, Scaled{2}}, {{numbers(count)}, Scaled{2}});
}

TEST(WeightForm, FormsDifferByMakerParametersAndTensors) {
  const Tensor t = numbers(5000);
  const WeightForm form({t}, Scaled{2});
  EXPECT_NE(form, WeightForm({t}, Scaled{3}));
  EXPECT_NE(form, WeightForm({t}, AlsoScaled{{2}}));
  EXPECT_NE(form, WeightForm({t, t}, Scaled{2}));
  EXPECT_NE(form, WeightForm({t.reshaped({50, 100})}, Scaled{2}));
  for (const size_t at : {0, 777, 4999}) {  // the fingerprint does not read every number
    Tensor other = numbers(5000);
    other.mutable_values<float>()[at] += 1;
    EXPECT_NE(form, WeightForm({other}, Scaled{2})) << at;
  }
}

TEST(WeightForm, PlainBytesHaveNoTypeAndShape) {
  const Tensor t = numbers(6);
  expect_equal(WeightForm::plain(t), WeightForm::plain(t.reshaped({2, 3})));
  expect_equal(WeightForm::plain(t),
               WeightForm::plain(Tensor::view(DType::s32, {6}, t.data(), t.bytes(),
                                              std::make_shared<const Tensor>(t))));
  EXPECT_NE(WeightForm::plain(t), WeightForm::plain(numbers(6, 1)));
  EXPECT_NE(WeightForm::plain(t), WeightForm({t}, Scaled{1}));
}

// The last piece may be shorter than the others; the bytes after it are not read.
TEST(WeightForm, DoesNotReadBytesAfterATensor) {
  for (const int64_t size : {1, 5, 8, 13, 1029}) {
    const auto form = [&](uint8_t tail) {
      const auto all = std::make_shared<std::vector<uint8_t>>(static_cast<size_t>(size) + 64, 7);
      std::fill(all->begin() + size, all->end(), tail);
      return WeightForm::plain(
          Tensor::view(DType::u8, {size}, all->data(), static_cast<size_t>(size), all));
    };
    expect_equal(form(1), form(2));
  }
}

TEST(WeightForm, FillsFromItsTensors) {
  std::vector<float> out(3);
  WeightForm({numbers(3)}, Scaled{2}).fill(std::as_writable_bytes(std::span(out)));
  EXPECT_EQ(out, (std::vector<float>{0, 2, 4}));
}

}  // namespace
}  // namespace poprt::program
