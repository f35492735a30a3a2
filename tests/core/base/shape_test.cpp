#include "base/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "base/checked.h"
#include "base/error.h"
#include "support/error_code.h"

namespace poprt {
namespace {

constexpr int64_t kBig = int64_t{1} << 40;

using test::code_of;

TEST(Shape, CountsElements) {
  EXPECT_EQ(element_count(Shape{}), 1);
  EXPECT_EQ(element_count(Shape{2, 3, 4}), 24);
  EXPECT_EQ(element_count(Shape{5, 0}), 0);
}

TEST(Shape, CountRefusesOverflowAndUnknown) {
  EXPECT_EQ(code_of([] { element_count(Shape{kBig, kBig}); }), ErrorCode::out_of_range);
  EXPECT_EQ(code_of([] { element_count(Shape{2, kUnknownDim}); }), ErrorCode::out_of_range);
  EXPECT_EQ(code_of([] { element_count(Shape{-7}); }), ErrorCode::out_of_range);
}

TEST(Shape, StaticMeansNoUnknownDimension) {
  EXPECT_TRUE(is_static(Shape{}));
  EXPECT_TRUE(is_static(Shape{0, 4}));
  EXPECT_FALSE(is_static(Shape{2, kUnknownDim}));
}

TEST(Shape, Prints) {
  EXPECT_EQ(shape_string(Shape{}), "[]");
  EXPECT_EQ(shape_string(Shape{2, kUnknownDim, 3}), "[2,?,3]");
}

TEST(Shape, Broadcasts) {
  EXPECT_EQ(broadcast_shapes(Shape{2, 1, 3}, Shape{4, 1}), (Shape{2, 4, 3}));
  EXPECT_EQ(broadcast_shapes(Shape{}, Shape{4, 1}), (Shape{4, 1}));
  EXPECT_EQ(broadcast_shapes(Shape{0}, Shape{1}), (Shape{0}));
}

TEST(Shape, BroadcastsUnknownDimensions) {
  EXPECT_EQ(broadcast_shapes(Shape{kUnknownDim}, Shape{1}), (Shape{kUnknownDim}));
  EXPECT_EQ(broadcast_shapes(Shape{kUnknownDim}, Shape{5}), (Shape{5}));
  EXPECT_EQ(broadcast_shapes(Shape{5}, Shape{kUnknownDim}), (Shape{5}));
  EXPECT_EQ(broadcast_shapes(Shape{1}, Shape{kUnknownDim}), (Shape{kUnknownDim}));
}

TEST(Shape, BroadcastErrorNamesBothShapes) {
  try {
    broadcast_shapes(Shape{2, 3}, Shape{2, 4});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_NE(e.message().find("[2,3]"), std::string::npos);
    EXPECT_NE(e.message().find("[2,4]"), std::string::npos);
  }
}

// Compares all pairs of small shapes with the rule of ONNX: from the right, sizes are equal, 1 or
// unknown.
TEST(Shape, BroadcastsEveryPairOfSmallShapes) {
  std::vector<Shape> shapes = {{}};
  for (size_t i = 0; i < shapes.size(); i++)
    if (shapes[i].size() < 3)
      for (const int64_t d : {-1, 0, 1, 2, 3}) {
        shapes.push_back(shapes[i]);
        shapes.back().push_back(d);
      }
  for (const Shape& a : shapes)
    for (const Shape& b : shapes) {
      std::optional<Shape> wanted(std::in_place, std::max(a.size(), b.size()));
      for (size_t k = 1; wanted && k <= wanted->size(); k++) {
        const int64_t x = k <= a.size() ? a[a.size() - k] : 1,
                      y = k <= b.size() ? b[b.size() - k] : 1;
        if (x != y && x > 1 && y > 1)
          wanted.reset();
        else if (x != y && x * y == 0 && std::min(x, y) == 0 && std::max(x, y) > 1)
          wanted.reset();
        else
          (*wanted)[wanted->size() - k] = x == y ? x : x == 1 ? y : y == 1 ? x : std::max(x, y);
      }
      std::optional<Shape> found;
      try {
        found = broadcast_shapes(a, b);
      } catch (const Error&) {
      }
      ASSERT_EQ(found, wanted) << shape_string(a) << " with " << shape_string(b);
    }
}

TEST(Shape, StridesAreRowMajor) {
  EXPECT_EQ(contiguous_strides(Shape{2, 3, 4}), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_TRUE(contiguous_strides(Shape{}).empty());
}

TEST(Shape, NormalizesAxes) {
  EXPECT_EQ(normalize_axis(-1, 3), 2);
  EXPECT_EQ(normalize_axis(-3, 3), 0);
  EXPECT_EQ(normalize_axis(2, 3), 2);
  EXPECT_EQ(code_of([] { normalize_axis(3, 3); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { normalize_axis(-4, 3); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { normalize_axis(0, 0); }), ErrorCode::invalid_argument);
}

TEST(Checked, OverflowIsAnError) {
  EXPECT_EQ(checked_add<uint64_t>(3, 4), 7u);
  EXPECT_EQ(checked_mul<int64_t>(-3, 4), -12);
  EXPECT_EQ(code_of([] { checked_add<uint64_t>(~uint64_t{0}, 1); }), ErrorCode::out_of_range);
  EXPECT_EQ(code_of([] { checked_mul<int64_t>(std::numeric_limits<int64_t>::min(), -1); }),
            ErrorCode::out_of_range);
}

TEST(Checked, AlignsUp) {
  EXPECT_EQ(align_up(0, 64), 0u);
  EXPECT_EQ(align_up(1, 64), 64u);
  EXPECT_EQ(align_up(64, 64), 64u);
  EXPECT_EQ(code_of([] { align_up(~uint64_t{0}, 64); }), ErrorCode::out_of_range);
}

}  // namespace
}  // namespace poprt
