#include "base/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "base/error.h"
#include "support/error_code.h"
#include "support/recorded_lines.h"

namespace poprt {
namespace {

using test::code_of;

TEST(Tensor, ZerosIsZeroAndAligned) {
  const Tensor t = Tensor::zeros(DType::f32, {3, 5});
  EXPECT_EQ(t.bytes(), 60u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data()) % 64, 0u);
  for (const float v : t.values<float>()) EXPECT_EQ(v, 0.0f);
}

TEST(Tensor, DefaultIsUndefined) {
  EXPECT_FALSE(Tensor().defined());
  EXPECT_TRUE(Tensor::scalar(1.0f).defined());
}

TEST(Tensor, StoresItsValues) {
  const Tensor t = Tensor::of<int32_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(t.dtype(), DType::s32);
  EXPECT_EQ(t.values<int32_t>()[3], 4);
  EXPECT_EQ(Tensor::scalar(2.5).count(), 1);
  EXPECT_EQ(code_of([] { Tensor::of<float>({3}, {1, 2}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { t.values<float>(); }), ErrorCode::internal);
}

TEST(Tensor, RefusesSizesThatOverflow) {
  EXPECT_EQ(code_of([] { Tensor::zeros(DType::f32, {int64_t{1} << 62, 4}); }),
            ErrorCode::out_of_range);
  EXPECT_EQ(code_of([] { Tensor::zeros(DType::f32, {-1}); }), ErrorCode::out_of_range);
}

TEST(Tensor, ViewKeepsItsOwner) {
  auto bytes = std::make_shared<std::vector<float>>(4, 1.5f);
  const std::weak_ptr<std::vector<float>> watch = bytes;
  {
    const Tensor t = Tensor::view(DType::f32, {2, 2}, bytes->data(), 16, bytes);
    const Tensor copy = t;
    bytes.reset();
    EXPECT_FALSE(watch.expired());
    EXPECT_EQ(copy.values<float>()[3], 1.5f);
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Tensor, ViewChecksItsSize) {
  const float data[4] = {};
  EXPECT_EQ(code_of([&] { Tensor::view(DType::f32, {5}, data, 16, nullptr); }),
            ErrorCode::data_loss);
  EXPECT_EQ(code_of([&] { Tensor::view(DType::f32, {3}, data, 16, nullptr); }),
            ErrorCode::data_loss);
}

TEST(Tensor, ReshapeSharesBytes) {
  const Tensor t = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor r = t.reshaped({3, 2});
  EXPECT_EQ(r.data(), t.data());
  EXPECT_EQ(r.shape(), (Shape{3, 2}));
  EXPECT_EQ(code_of([&] { t.reshaped({4}); }), ErrorCode::invalid_argument);
}

TEST(Tensor, ReadsSubByteIntegers) {
  Tensor s4 = Tensor::zeros(DType::s4, {3});
  static_cast<uint8_t*>(s4.mutable_data())[0] = 0x8f;  // low nibble first: -1, -8
  static_cast<uint8_t*>(s4.mutable_data())[1] = 0x07;
  EXPECT_EQ(s4.to_int64s(), (std::vector<int64_t>{-1, -8, 7}));
  Tensor u4 = Tensor::zeros(DType::u4, {2});
  static_cast<uint8_t*>(u4.mutable_data())[0] = 0x8f;
  EXPECT_EQ(u4.to_int64s(), (std::vector<int64_t>{15, 8}));
  Tensor s2 = Tensor::zeros(DType::s2, {5});
  static_cast<uint8_t*>(s2.mutable_data())[0] = 0b11100100;
  static_cast<uint8_t*>(s2.mutable_data())[1] = 0b10;
  EXPECT_EQ(s2.to_int64s(), (std::vector<int64_t>{0, 1, -2, -1, -2}));
}

TEST(Tensor, ReadsIntegersOfAllWidths) {
  EXPECT_EQ(Tensor::of<int8_t>({1}, {-3}).to_int64s()[0], -3);
  EXPECT_EQ(Tensor::of<uint8_t>({1}, {250}).to_int64s()[0], 250);
  EXPECT_EQ(Tensor::of<int16_t>({1}, {-300}).to_int64s()[0], -300);
  EXPECT_EQ(Tensor::of<uint16_t>({1}, {65000}).to_int64s()[0], 65000);
  EXPECT_EQ(Tensor::of<uint32_t>({1}, {4000000000u}).to_int64s()[0], 4000000000);
  EXPECT_EQ(Tensor::of<int64_t>({1}, {-5}).to_int64s()[0], -5);
  EXPECT_EQ(Tensor::of<bool>({2}, {true, false}).to_int64s(), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(code_of([] { Tensor::scalar(1.0f).to_int64s(); }), ErrorCode::invalid_argument);
}

TEST(Tensor, ReadsFloatsOfAllWidths) {
  EXPECT_EQ(Tensor::scalar(0.1f).to_doubles()[0], static_cast<double>(0.1f));
  EXPECT_EQ(Tensor::scalar(0.1).to_doubles()[0], 0.1);
  EXPECT_EQ(Tensor::scalar(UINT64_MAX).to_doubles()[0], 0x1p64);
  EXPECT_EQ(Tensor::scalar(to_f16(1.5f)).to_doubles()[0], 1.5);
  EXPECT_EQ(Tensor::scalar(to_bf16(-2.0f)).to_doubles()[0], -2.0);
  Tensor f4 = Tensor::zeros(DType::f4e2m1, {2});
  static_cast<uint8_t*>(f4.mutable_data())[0] = 0xf2;  // codes 2 and 15
  EXPECT_EQ(f4.to_doubles(), (std::vector<double>{1.0, -6.0}));
  EXPECT_EQ(code_of([] { Tensor::strings({1}, {"a"}).to_doubles(); }), ErrorCode::invalid_argument);
}

// The sums of fixed bytes that are read as each type, and of these values as integers.
TEST(Tensor, RecordedValuesOfEveryType) {
  test::RecordedLines found;
  for (int i = 1; i < kDTypeCount; i++) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::string || dtype == DType::c64 || dtype == DType::c128) continue;
    for (const int64_t count : {48, 7, 1, 0}) {
      Tensor t = Tensor::zeros(dtype, {count});
      auto* bytes = static_cast<uint8_t*>(t.mutable_data());
      for (uint64_t k = 0; k < t.bytes(); k++) bytes[k] = static_cast<uint8_t>(k * 37 + 11);
      std::string line = fmt::format("{} of {} bytes", count, t.bytes());
      double sum = 0, weight = 1;
      for (const double v : t.to_doubles()) sum += std::isfinite(v) ? v * weight++ : 1;
      line += fmt::format(", {:.9g}", sum);
      try {
        sum = 0, weight = 1;
        for (const int64_t v : t.to_int64s()) sum += static_cast<double>(v) * weight++;
        line += fmt::format(", {:.9g} as integers", sum);
      } catch (const Error& e) {
        line += ", " + e.message();
      }
      found[std::string(dtype_name(dtype))].insert(line);
    }
  }
  test::expect_recorded(found, POPRT_TEST_DATA "/tensor_values.txt",
                        "What bytes are in every type: tensor_test.cpp.");
}

TEST(Tensor, SameMeansTypeShapeAndBytes) {
  const Tensor a = Tensor::of<float>({2}, {1, 2});
  EXPECT_TRUE(a.same_as(Tensor::of<float>({2}, {1, 2})));
  EXPECT_FALSE(a.same_as(Tensor::of<float>({2}, {1, 3})));
  EXPECT_FALSE(a.same_as(Tensor::of<float>({2, 1}, {1, 2})));
  EXPECT_FALSE(a.same_as(Tensor::of<double>({1}, {1})));
  EXPECT_TRUE(Tensor::strings({1}, {"a"}).same_as(Tensor::strings({1}, {"a"})));
  EXPECT_FALSE(Tensor::strings({1}, {"a"}).same_as(Tensor::strings({1}, {"b"})));
  EXPECT_TRUE(Tensor::zeros(DType::f32, {0}).same_as(Tensor::zeros(DType::f32, {0})));
}

TEST(Tensor, ErrorsNameTheShapesAndNumbers) {
  const auto message = [](const std::function<void()>& f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  const Tensor t = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(message([&] { t.reshaped({4, 1}); }),
            "cannot view [2,3] as [4,1]: 6 elements against 4");
  EXPECT_EQ(message([&] { Tensor::view(DType::f16, {2, 3}, t.data(), 24, nullptr); }),
            "a f16 tensor [2,3] needs 12 bytes, found 24");
  EXPECT_EQ(message([] { Tensor::of<float>({3}, {1, 2}); }), "shape [3] needs 3 values, found 2");
  EXPECT_EQ(message([] { Tensor::strings({1, 2}, {"a"}); }), "shape [1,2] needs 2 values, found 1");
  EXPECT_EQ(message([&] { t.to_int64s(); }), "expected an integer tensor, found f32");
  EXPECT_EQ(message([&] { t.values<int32_t>(); }), "tensor is f32, read as s32");
  EXPECT_EQ(message([] { Tensor::zeros(DType::f32, {2, -3}); }),
            "shape [2,?] has an unknown or negative dimension");
}

}  // namespace
}  // namespace poprt
