#include "runtime/runner/open_sizes.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace poprt::runtime {
namespace {

using program::kOpen;
using Sizes = OpenSizes::Sizes;

OpenSizes ids_and_mask() {
  return OpenSizes(
      {{{"ids", DType::s32, {kOpen, kOpen}, {"batch", "length"}},
        {"mask", DType::f32, {kOpen, 1, kOpen}, {"batch", "", "length"}},
        {"image", DType::u8, {kOpen, 3}, {"image:0", ""}}},
       {{"y", DType::f32, {kOpen, 10}, {"batch", ""}}, {"z", DType::f32, {kOpen}, {""}}}});
}

InputBinding shaped(const char* name, const Shape& shape) {
  return {name, 0, nullptr, 0, shape.data(), shape.size()};
}
InputBinding sized(const char* name, uint64_t bytes) { return {name, 0, nullptr, bytes}; }

std::string failure(auto&& f) {
  try {
    f();
  } catch (const Error& e) {
    return std::string(error_code_name(e.code())) + ": " + e.what();
  }
  return "none";
}

TEST(OpenSizes, ShapesAndBytesDetermineSizes) {
  const OpenSizes open = ids_and_mask();
  EXPECT_EQ(open.names(), (std::vector<std::string>{"batch", "length", "image:0"}));
  const Shape ids{2, 7}, image{5, 3};
  const InputBinding by_shape[] = {shaped("image", image), shaped("ids", ids)};
  EXPECT_EQ(open.of_request(by_shape, nullptr), (Sizes{2, 7, 5}));
  // 15 bytes are 5 rows of image. The sizes of ids follow only with those of another input.
  const Shape mask{2, 1, 7};
  const InputBinding with_mask[] = {sized("ids", 56), sized("image", 15), shaped("mask", mask)};
  EXPECT_EQ(open.of_request(with_mask, nullptr), (Sizes{2, 7, 5}));
  const InputBinding ambiguous[] = {sized("ids", 56), sized("image", 15), sized("mask", 56)};
  const Sizes first{7, 2, 5}, other{3, 2, 5};
  EXPECT_EQ(open.of_request(ambiguous, &first), first);
  EXPECT_EQ(failure([&] { open.of_request(ambiguous, &other); }),
            "invalid_argument: input 'ids': 56 bytes do not determine its shape: give the shape, "
            "too");
}

// The bytes of both inputs are those of the first sizes.
TEST(OpenSizes, AGivenShapeContradictsTheFirstSizes) {
  const OpenSizes open({{{"a", DType::f32, {kOpen, kOpen}, {"m", "n"}},
                         {"b", DType::f32, {kOpen, kOpen}, {"p", "q"}}},
                        {{"ya", DType::f32, {kOpen, kOpen}, {"m", "n"}}}});
  const Sizes first{7, 2, 3, 4};
  const Shape same{7, 2}, other{2, 7};
  const InputBinding a_same[] = {{"a", 0, nullptr, 56, same.data(), 2}, sized("b", 48)};
  EXPECT_EQ(open.of_request(a_same, &first), first);
  const InputBinding a_other[] = {{"a", 0, nullptr, 56, other.data(), 2}, sized("b", 48)};
  EXPECT_EQ(failure([&] { open.of_request(a_other, &first); }),
            "invalid_argument: input 'b': 48 bytes do not determine its shape: give the shape, "
            "too");
}

TEST(OpenSizes, ContradictionsAreRefused) {
  const OpenSizes open = ids_and_mask();
  const auto refused = [&](std::vector<InputBinding> inputs) {
    return failure([&] { open.of_request(inputs, nullptr); });
  };
  const Shape ids{2, 7}, other{3, 1, 7}, wrong{2, 2, 7}, negative{-1, 7}, image{5, 3};
  EXPECT_EQ(refused({shaped("ids", ids), shaped("mask", other)}),
            "invalid_argument: input 'mask': dimension 'batch' is 3, another one is 2");
  EXPECT_EQ(refused({shaped("mask", wrong)}),
            "invalid_argument: input 'mask': expected f32[?,1,?] (? is any size), given [2,2,7]");
  EXPECT_EQ(refused({shaped("ids", ids)}),
            "invalid_argument: input 'image' is missing: no other input determines dimension "
            "'image:0'");
  EXPECT_EQ(refused({shaped("ids", negative), shaped("image", image)}),
            "invalid_argument: dimension 'batch' is -1: expected 1 or more");
  EXPECT_EQ(refused({sized("image", 16)}),
            "invalid_argument: input 'image': 16 bytes are not a multiple of 3, which is u8[?,3]");
  EXPECT_EQ(refused({{{}, 7, nullptr, 0}}), "not_found: there is no input 7; the model has 3");
}

// A row of 3 elements has 12 bits, and one of 1 element 4 bits.
TEST(OpenSizes, RowsMayEndWithinAByte) {
  const auto of = [](int64_t columns) {
    return OpenSizes({{{"x", DType::u4, {kOpen, columns}, {"n", ""}}},
                      {{"y", DType::u4, {kOpen, columns}, {"n", ""}}}});
  };
  const auto rows = [](const OpenSizes& open, uint64_t bytes) {
    const InputBinding x[] = {sized("x", bytes)};
    return open.of_request(x, nullptr).front();
  };
  const OpenSizes three = of(3), one = of(1);
  for (int64_t n = 1; n < 20; n++)
    EXPECT_EQ(rows(three, static_cast<uint64_t>(n * 3 + 1) / 2), n) << n;
  EXPECT_EQ(failure([&] { rows(three, 4); }),
            "invalid_argument: input 'x': 4 bytes are not those of whole rows of 12 bits, which is "
            "u4[?,3]");
  EXPECT_EQ(failure([&] { rows(one, 4); }),
            "invalid_argument: input 'x': 4 bytes do not determine its shape: give the shape, too");
}

TEST(OpenSizes, ShapesFollowFromSizes) {
  const OpenSizes open = ids_and_mask();
  EXPECT_EQ(open.inputs({2, 7, 5}), (std::vector<Shape>{{2, 7}, {2, 1, 7}, {5, 3}}));
  EXPECT_EQ(open.outputs({2, 7, 5}), std::nullopt) << "the size of z has no name";
  EXPECT_EQ(open.text({2, 7, 5}), "batch 2, length 7, image:0 5");
  EXPECT_EQ(open.size_at(1, 2), 1);
  EXPECT_EQ(open.size_at(1, 1), -1);
  EXPECT_EQ(open.of_shapes({{"ids", {2, 7}}, {"image", {5, 3}}}), (Sizes{2, 7, 5}));
  EXPECT_EQ(failure([&] { open.of_shapes({{"idz", {2, 7}}}); }).substr(0, 9), "not_found");
}

}  // namespace
}  // namespace poprt::runtime
